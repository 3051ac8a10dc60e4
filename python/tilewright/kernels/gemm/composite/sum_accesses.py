"""The memory instructions of a sum of parts: what kernels/sum_parts.cuh executes, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.analysis.totals.accesses import AccessedTensor, Accesses
from tilewright.analysis.totals.totals import WARP, Repeated, Tally
from tilewright.kernels.gemm.composite.sum_parts import ACCESS, THREADS

if TYPE_CHECKING:
    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.analysis.totals.totals import Booleans, Integers
    from tilewright.kernels.gemm.composite.sum_parts import SumParts

__all__ = ["accesses"]


def accesses(plan: SumParts, addresses: tuple[int, int, int]) -> Accesses:
    """The accesses of a launch, for the parts' sums, C and the bias at these addresses."""
    p, out = plan.view, int(plan.problem.c_type.bits) // 8
    threads = _Threads(plan)
    load = threads.tally("load parts", "load", ACCESS, addresses[0] + threads.sums, threads.exists)
    found: list[Any] = [Repeated([load], [plan.parts])]
    e = p.epilogue
    if e.bias is not None and e.bias_type is not None:
        size = int(e.bias_type.bits) // 8
        along = [threads.m if e.bias == "m" else threads.n + j for j in range(plan.vector)]
        at = [addresses[2] + x * (e.bias_stride * size) for x in along]
        found += threads.elements("load bias", "load", size, at, threads.exists)
    for name, op in (("read C", "load"), ("store C", "store")):
        if op == "load" and not e.beta:
            continue
        at = [addresses[1] + (threads.c + j * p.c_strides[1]) * out for j in range(plan.vector)]
        whole = threads.exists & (threads.n + plan.vector <= p.n) & plan.wide
        if plan.wide:
            found.append(threads.tally(name, op, plan.vector * out, at[0], whole))
        found += threads.elements(f"{name}, edges" if plan.wide else name, op, out, at, threads.exists & ~whole)
    tensor = AccessedTensor("C", addresses[1], (p.m, p.n, *p.batch), p.c_strides, out)
    return Accesses("sum of parts", found, (tensor,))


class _Threads:
    """Of the threads of all warps of a launch: the element of C where each begins, and its offsets."""

    def __init__(self, plan: SumParts) -> None:
        p, sums = plan.view, plan.sums
        count = np.arange(plan.ctas * THREADS).reshape(-1, WARP)
        line, across = np.divmod(count, -(-sums.length // plan.vector))
        matrix, self.m = np.divmod(line, sums.rows)
        self.exists: Booleans = count < plan.vectors
        self.n: Integers = across * plan.vector
        self.extent, self.vector = p.n, plan.vector
        self.sums: Integers = (line * sums.pitch + self.n) * (int(p.acc_type.bits) // 8)
        self.c: Integers = self.m * p.c_strides[0] + self.n * p.c_strides[1]
        for extent, stride in zip(p.batch, p.c_strides[2:], strict=True):
            matrix, index = np.divmod(matrix, extent)
            self.c = self.c + index * stride

    def tally(self, name: str, op: str, width: int, at: Integers, active: Booleans) -> Tally:
        """An instruction of all warps of which some lane is active."""
        tally = Tally(name, "global", op, width)
        used = active.any(axis=1)
        if used.any():
            tally.add(np.where(active, at, 0)[used], active[used], {0: 1})
        return tally

    def elements(
        self, name: str, op: str, size: int, at: list[Integers], active: Booleans
    ) -> list[Tally | MemoryInstruction]:
        """The same, element by element of what each thread has."""
        made = [self.tally(name, op, size, x, active & (self.n + j < self.extent)) for j, x in enumerate(at)]
        made = [x for x in made if x.instruction() is not None]
        return [Repeated(made, [1] * len(made))] if made else []  # type: ignore[list-item]
