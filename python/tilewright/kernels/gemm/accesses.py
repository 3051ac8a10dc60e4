"""The memory instructions of a GEMM plan: what its kernel executes, and how often.

Who addresses what is taken from the plan's tables, by which the CPU runs it too; how often, from the kernels' loops.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from tilewright._cached import cached_property
from tilewright._registry import Lazy
from tilewright.analysis.totals.accesses import AccessedTensor, Accesses
from tilewright.analysis.totals.totals import WARP, Group, Mode, Repeated, Tally, groups
from tilewright.kernels.common.recent import make_room
from tilewright.kernels.kernel import kernel_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.analysis.totals.accesses import Requests
    from tilewright.analysis.totals.totals import Booleans, Integers
    from tilewright.kernels.gemm.advice import Remedies
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.tables import GemmTables

__all__ = ["Launch", "gemm_accesses"]

T = TypeVar("T")

KEPT = 64  # plans whose tables are kept
ACCESS, LINE = 16, 128  # bytes


def gemm_accesses(
    plan: GemmPlan,
    addresses: tuple[int, int, int, int],
    requests: Callable[[Any, Launch], Sequence[Requests | MemoryInstruction]],
    remedies: Remedies,
) -> Accesses:
    """The accesses of a plan of one launch, for tensors A, B, C and bias at these addresses, as passed to kernels.gemm.

    `requests`: those of the kernel, where C has elements; `remedies`: as `advice_on_gemm` takes them.
    """
    p, (a, b, c, bias) = plan.problem, addresses
    if plan.swapped:
        a, b = b, a
    found = requests(plan, Launch(plan, (a, b, c, bias))) if p.m * p.n * p.batches else []
    whole = p.undivided
    tensors = (
        AccessedTensor("A", a, (p.m, whole.k, *whole.batch), whole.a_strides, int(p.a_type.bits) // 8),
        AccessedTensor("B", b, (p.n, whole.k, *whole.batch), whole.b_strides, int(p.b_type.bits) // 8),
        AccessedTensor("C", c, (p.m, p.n, *p.batch), p.c_strides, int(p.c_type.bits) // 8),
    )
    advice = functools.partial(Lazy("tilewright.kernels.gemm.advice:advice_on_gemm"), plan, remedies)
    return Accesses(kernel_of(plan).stem, found, tensors, advice, plan)


class Side(NamedTuple):
    """A, B or C: its modes within a tile, and the tiles of a launch in which its elements are accessed."""

    size: int  # bytes of an element
    steps: Integers  # bytes from one row, and one column, to the next
    groups: list[Group]
    address: int


class Launch:
    """How often a plan's kernel does what, and where the tensors are."""

    def __init__(self, plan: GemmPlan, addresses: tuple[int, int, int, int]) -> None:
        self.plan, self.addresses, self.kept = plan, addresses, kept_of(plan)
        p, (bm, bn, bk) = plan.problem, plan.tiler_mnk
        self.m_tiles, self.n_tiles, self.k_tiles = -(-p.m // bm), -(-p.n // bn), -(-p.k // bk)
        self.tiles = self.m_tiles * self.n_tiles * p.batches
        whole = p.undivided  # parts of K follow each other, and all but the last one have whole steps
        self.steps = self.m_tiles * self.n_tiles * whole.batches * -(-whole.k // bk)

    @property
    def tables(self) -> GemmTables:
        """The plan's tables, which do not depend on the tensors."""
        return self.kept.tables

    def part(self, name: str, make: Callable[[], T]) -> T:
        """A part of the tables, where the rest is not needed; it is made where it is not kept."""
        parts = self.kept.parts
        if name not in parts:
            parts[name] = make()
        found: T = parts[name]
        return found

    def repeated(self, name: str, times: Sequence[int], make: Callable[[], Sequence[Tally]]) -> Repeated:
        """What tallies of this name count, so many times; they are made where they are not kept."""
        units = self.kept.units.get(name)
        if units is None:
            units = self.kept.units[name] = make()
        return Repeated(units, times)

    @cached_property
    def a(self) -> Side:
        """A, K tile by K tile, once for each tile along N."""
        p, (bm, _, bk) = self.plan.problem.undivided, self.plan.tiler_mnk
        return self._side(0, p.a_type, (p.m, p.k), (bm, bk), p.a_strides, self.n_tiles)

    @cached_property
    def b(self) -> Side:
        """B, K tile by K tile, once for each tile along M."""
        p, (_, bn, bk) = self.plan.problem.undivided, self.plan.tiler_mnk
        return self._side(1, p.b_type, (p.n, p.k), (bn, bk), p.b_strides, self.m_tiles)

    @cached_property
    def c(self) -> Side:
        """C, tile by tile."""
        p, (bm, bn, _) = self.plan.problem, self.plan.tiler_mnk
        return self._side(2, p.c_type, (p.m, p.n), (bm, bn), p.c_strides, 1)

    def stages(self, which: int, elements: tuple[int, int]) -> Iterator[tuple[Group, int]]:
        """The tiles of A (0) or B (1), and where the stage of each begins in shared memory, modulo 128 bytes.

        `elements`: from one stage to the next, of A and of B.
        """
        side, count = (self.a, self.b)[which], self.plan.stages
        step = elements[which] * side.size
        before = -(-elements[0] * self.a.size * count // ACCESS) * ACCESS if which == 1 else 0
        if step % LINE == 0:
            yield from ((group, before % LINE) for group in side.groups)
            return
        p, tiler = self.plan.problem.undivided, self.plan.tiler_mnk
        extents, tile = ((p.m, p.n)[which], p.k), (tiler[which], tiler[2])
        dtype, strides = ((p.a_type, p.a_strides), (p.b_type, p.b_strides))[which]
        times = (self.n_tiles, self.m_tiles)[which]
        for group in self._side(which, dtype, extents, tile, strides, times, one_by_one=True).groups:
            yield group, (before + group.tiles[1] % self.k_tiles % count * step) % LINE

    def _side(
        self, which: int, dtype: Any, extents: tuple[int, int], tile: tuple[int, int], strides: tuple[int, ...],
        times: int, one_by_one: bool = False,
    ) -> Side:  # fmt: skip
        size, address = int(dtype.bits) // 8, self.addresses[which]
        batch = self.plan.problem.batch[: len(strides) - 2]
        k_tiles = -(-extents[1] // tile[1])
        modes = [
            Mode(-(-extent // step), step, extent, step * stride * size, alone=alone)
            for extent, step, stride, alone in zip(extents, tile, strides, (0, k_tiles * one_by_one), strict=False)
        ]
        modes += [Mode(e, 1, e, d * size) for e, d in zip(batch, strides[2:], strict=True)]
        steps = np.array(strides[:2], np.int64) * size
        return Side(size, steps, groups(modes, address, times), address)

    def bias_groups(self) -> list[Group]:
        """The tiles of C by where the bias's elements of a tile begin, and where C ends in them."""
        p, tiler = self.plan.problem, self.plan.tiler_mnk
        along = 0 if p.epilogue.bias == "m" else 1
        modes = [
            Mode(-(-extent // tile), tile, extent, tile * self.bias_step if i == along else 0)
            for i, (extent, tile) in enumerate(((p.m, tiler[0]), (p.n, tiler[1])))
        ]
        return groups(modes, self.addresses[3], p.batches)

    @property
    def bias_step(self) -> int:
        """Bytes from one element of the bias to the next."""
        epilogue = self.plan.problem.epilogue
        return epilogue.bias_stride * self.bias_size

    @property
    def bias_size(self) -> int:
        """Bytes of an element of the bias."""
        dtype = self.plan.problem.epilogue.bias_type
        return int(dtype.bits) // 8 if dtype is not None else 0


class Kept:
    """What of a plan's analysis does not depend on the tensors: its tables, and what was made of them."""

    def __init__(self, plan: GemmPlan) -> None:
        self.plan = plan
        self.parts: dict[str, Any] = {}
        self.units: dict[str, Sequence[Tally]] = {}
        self.advice: dict[str, str] = {}

    @cached_property
    def tables(self) -> GemmTables:
        """The plan's tables."""
        return self.plan.tables()


_kept: dict[str, Kept] = {}


def kept_of(plan: GemmPlan) -> Kept:
    """By the name of the plan's kernel, which has everything in it that its tables depend on but the work."""
    found = _kept.pop(plan.name, None)
    if found is None:
        found = Kept(plan)
        make_room(_kept, KEPT)
    _kept[plan.name] = found
    return found


def tables_of(plan: GemmPlan) -> GemmTables:
    """A plan's tables, but for the work, which may be that of another problem."""
    return kept_of(plan).tables


def by_warps(x: Any) -> Any:
    """(threads, accesses, ...) as requests (accesses * warps, 32): threads that do not exist have the last one's."""
    threads = x.shape[0]
    whole = -(-threads // WARP) * WARP
    if whole > threads:
        x = np.concatenate([x, np.repeat(x[-1:], whole - threads, axis=0)])
    return np.ascontiguousarray(x.reshape(whole, -1).T).reshape(-1, WARP).astype(np.int64)


def exists(threads: int, accesses: int) -> Booleans:
    """Which lanes of such requests are threads."""
    warps = -(-threads // WARP)
    lanes = np.arange(warps * WARP) < threads
    return np.broadcast_to(lanes, (accesses, warps * WARP)).reshape(-1, WARP)


class Lanes:
    """The lanes of a table's accesses, as requests: coordinates, and which of them exist."""

    def __init__(self, coord: Any) -> None:
        self.first, self.second = by_warps(coord[..., 0]), by_warps(coord[..., 1])
        self.exists = exists(coord.shape[0], coord.shape[1]) & (self.first >= 0)

    def offsets(self, side: Side) -> Integers:
        """Where they are in the tensor, from the tile's first element on."""
        found: Integers = self.first * side.steps[0] + self.second * side.steps[1]
        return found

    def inside(self, group: Group, more: int = 0) -> Booleans:
        """Whether they are inside of the tensor, and `more` columns behind them too."""
        made: Booleans = self.exists & (self.first < group.high[0]) & (self.second + more < group.high[1])
        return made
