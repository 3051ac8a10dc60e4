"""Plans of copies and a GEMM, on the CPU and on a CUDA device, in a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.kernels.common.workspace import library_of, workspace
from tilewright.kernels.gemm.composite.padded import copy_operands
from tilewright.kernels.gemm.composite.run import CompositeLaunch, prepare

if TYPE_CHECKING:
    from tilewright.kernels.gemm.composite.padded import PackedGemm
    from tilewright.kernels.gemm.operands import GemmOperands

ALIGNMENT = 128


def copied_on_host(plan: PackedGemm, a: int, b: int) -> tuple[Any, int, int]:
    """A and B as the GEMM takes them, copied where it needs copies: what owns the copies, and the addresses."""
    from tilewright.kernels.common.host import run_on_host

    places = plan.workspace
    memory = _core.Memory.allocate(places[2], ALIGNMENT)
    found = [a, b]
    for side, copy in enumerate((plan.pack_a, plan.pack_b)):
        if copy is not None:
            place = memory.address + places[side]
            run_on_host(copy, found[side], place)
            found[side] = place
    return memory, found[0], found[1]


class PackedLaunch(CompositeLaunch):
    """Copies into a workspace, and the GEMM of what is there."""

    def __init__(self, plan: PackedGemm, operands: GemmOperands) -> None:
        from tilewright.kernels.common import launch

        super().__init__(operands)
        self.bytes = plan.workspace[2]
        self.shifts = operands.shifts
        self.library = library_of(operands.c.owner)
        self.copies: list[tuple[int, int, Any]] = []  # side, offset in the workspace, launch
        start = 1 << 61
        given, shifts = list(operands.tensors), list(operands.shifts)
        for side, copy in enumerate((plan.pack_a, plan.pack_b)):
            if copy is None:
                continue
            src, dst = copy_operands(
                plan.problem, side, plan.is_turned, operands.addresses[side], start + plan.workspace[side],
                operands.c.device,
            )  # fmt: skip
            self.copies.append((side, plan.workspace[side], launch.prepare(copy, src, dst)))
            given[side], shifts[side] = dst, 0
        a, b, c, bias = given
        assert a is not None
        assert b is not None
        assert c is not None
        replaced = operands._replace(a=a, b=b, c=c, bias=bias, shifts=(shifts[0], shifts[1], shifts[2], shifts[3]))
        self.gemm = prepare(plan.gemm, replaced)

    def launch(self, addresses: list[int], stream: int) -> None:
        """As CompositeLaunch.launch."""
        memory, start = workspace(self.device, self.bytes, stream, self.library)
        tensors = list(addresses)
        for side, offset, copy in self.copies:
            copy.launch([addresses[side] + self.shifts[side], start + offset], stream)
            tensors[side] = start + offset
        self.gemm.launch(tensors, stream)
        del memory  # what is enqueued on the stream later may have it
