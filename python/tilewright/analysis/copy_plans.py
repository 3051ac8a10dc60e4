"""The memory instructions of a copy plan: what kernels/tiled_copy.cuh executes, and how often.

Every instruction here is one, or one loop, of that kernel; the tests compare the classes with the SASS. Two of them are
the compiler's choice: of an access with steps it leaves out the words that nobody uses, and it moves reads of shared
memory into the branch that stores what they bring, unless two stores share them.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.analysis.async_totals import AsyncTally
from tilewright.analysis.totals import Group, Mode, Residues, Tally, groups, of_first, pair, split
from tilewright.kernels.gemm_partitions import points

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.analysis.totals import Booleans, Integers
    from tilewright.kernels.copy_plan import CopyPlan

__all__ = ["copy_instructions"]

WARP, LINE, WORD, ACCESS = 32, 128, 4, 16
KEPT = 64  # plans whose instructions are kept


def copy_instructions(
    plan: CopyPlan, src_address: int = 0, dst_address: int = 0, src_memory: tuple[int, int] | None = None
) -> list[MemoryInstruction]:
    """What each instruction of a launch costs, for tensors at these addresses.

    `src_memory`: where the source's elements begin and end, beyond which nothing is read.

    >>> import numpy
    >>> from tilewright import kernels
    >>> a = numpy.zeros((64, 64), numpy.float32)
    >>> [(x.name, x.sass, x.requests) for x in copy_instructions(kernels.tiled_copy.plan(a, a.copy()))]
    [('load', 'LDG.E.128', 32), ('store', 'STG.E.128', 32)]
    """
    begin, end = src_memory or _reach(plan, src_address)
    line = src_address // LINE * LINE
    return list(_instructions(plan, src_address - line, dst_address % LINE, (begin - line, end - line)))


@functools.lru_cache(maxsize=KEPT)
def _instructions(
    plan: CopyPlan, src_address: int, dst_address: int, src_memory: tuple[int, int]
) -> tuple[MemoryInstruction, ...]:
    """The same; every count repeats after a line."""
    size = plan.problem.element_bytes
    launch = _Launch(plan, src_address, dst_address, src_memory)
    store = Tally("store", "global", "store", plan.store_vector * size)
    load_edges, store_edges = (Tally(f"{op}, edges", "global", op, size) for op in ("load", "store"))
    load = (
        AsyncTally("load", plan.load_vector * size) if plan.is_async else Tally("load", "global", "load", _read(plan))
    )
    loads = [load.source, load.destination] if isinstance(load, AsyncTally) else [load]
    if plan.kernel == "direct":
        for group, part in launch.parts():
            _direct(plan, launch, group, part, (load, load_edges, store, store_edges))
        return _made([*loads, store, load_edges, store_edges])
    put, take = (
        Tally(name, "shared", op, count * size)
        for name, op, count in (
            ("put into shared", "store", plan.smem_store),
            ("take from shared", "load", plan.smem_load),
        )
    )
    put_edges, take_edges = (Tally(f"{x.name}, edges", "shared", x.op, size) for x in (put, take))
    for group, part in launch.parts(target=False):
        _staged_load(plan, launch, group, part, (load, put, load_edges, put_edges))
    for group, part in launch.parts(source=False):
        _staged_store(plan, launch, group, part, (take, store, take_edges, store_edges))
    return _made([*loads, put, load_edges, put_edges, take, store, take_edges, store_edges])


def _made(tallies: Sequence[Any]) -> tuple[MemoryInstruction, ...]:
    """The instructions that are executed."""
    return tuple(x for x in (tally.instruction() for tally in tallies) if x is not None)


def _reach(plan: CopyPlan, address: int) -> tuple[int, int]:
    p = plan.problem
    ends = [(e - 1) * d * p.element_bytes for e, d in zip(p.extents, p.src_strides, strict=True)]
    address += p.src_offset * p.element_bytes
    return address + sum(min(x, 0) for x in ends), address + sum(max(x, 0) for x in ends) + p.element_bytes


def _joins(plan: CopyPlan) -> bool:
    """Whether an access is two aligned ones, shifted into each other."""
    width = plan.load_vector * plan.problem.element_bytes
    return plan.src_step == 1 and not plan.src_aligned and width == ACCESS


def _narrowed(plan: CopyPlan) -> bool:
    """Whether an access with steps has words that nobody uses."""
    return plan.src_step > 1 and plan.src_step * plan.problem.element_bytes > WORD


def _read(plan: CopyPlan) -> int:
    """The bytes of an access of the source."""
    size = plan.problem.element_bytes
    if _joins(plan):
        return ACCESS
    if not plan.src_aligned or plan.src_step < 1:
        return size
    return max(size, WORD) if _narrowed(plan) else plan.load_vector * plan.src_step * size


class _Launch:
    """Tiles of a launch, and the addresses of coordinates in them."""

    def __init__(self, plan: CopyPlan, src_address: int, dst_address: int, memory: tuple[int, int]) -> None:
        p = plan.problem
        self.plan, self.size = plan, p.element_bytes
        self.src, self.dst = (
            address + offset * p.element_bytes
            for address, offset in ((src_address, p.src_offset), (dst_address, p.dst_offset))
        )
        self.memory = memory
        self._accesses: dict[tuple[Any, int], tuple[Integers, Booleans]] = {}
        self.checked = plan.predicated or plan.dst_shift > 0
        self.steps = np.array([p.src_strides, p.dst_strides], np.int64) * self.size
        alone = [0] * len(plan.tile)
        if _joins(plan):  # what reaches over the end of the source's memory is in its first or last tiles
            alone = [
                1 + -(-3 * ACCESS // max(abs(d) * t * self.size, 1)) if d else 0
                for d, t in zip(p.src_strides, plan.tile, strict=True)
            ]
        self.alone = alone
        self.modes = [
            Mode(
                tiles, tile, extent, pair(tile * int(s), tile * int(d)), alone=alone[i],
                back=plan.dst_shift if i == plan.dst_mode else 0,
                ahead=int(plan.src_step > 1 and i == plan.src_mode),
            )
            for i, (tiles, tile, extent, s, d) in enumerate(
                zip(plan.tiles, plan.tile, p.extents, *self.steps, strict=True)
            )
        ]  # fmt: skip

    def parts(self, source: bool = True, target: bool = True) -> Iterator[tuple[Group, _Part]]:
        """Tiles of which the source's side, or the destination's, does the same; with what that depends on.

        Who reads what depends on the residue of the source to 16 bytes where accesses are joined, and where rows of the
        destination begin on that of the destination.
        """
        of_src = ACCESS - 1 if source and _joins(self.plan) else 0
        of_dst = self.plan.dst_shift * self.size - 1 if target and self.plan.dst_shift else 0
        for group in groups(self.modes, pair(self.src, self.dst)):
            kinds: dict[tuple[int, int], Residues] = {}
            for residue, count in group.residues.items():
                src, dst = split(residue)
                kinds.setdefault((src & of_src, dst & of_dst), {})[residue] = count
            origin = None
            if source and self._at_end(group):
                first = np.array([t * i for t, i in zip(self.plan.tile, group.tiles, strict=True)], np.int64)
                origin = self.src + int(self.steps[0] @ first)
            for (src, dst), residues in kinds.items():
                yield group, _Part(residues, src, dst, origin)

    def accesses(self, tv: Any, step: int) -> tuple[Integers, Booleans]:
        """(accesses, warps * 32, rank): the first coordinate of each access; and which threads exist."""
        if (tv, step) not in self._accesses:
            self._accesses[tv, step] = _coordinates(tv, len(self.plan.tile), step)
        return self._accesses[tv, step]

    def _at_end(self, group: Group) -> bool:
        """Whether a tile may touch the end of the source's memory."""
        return _joins(self.plan) and all(
            not alone or i < alone or i >= mode.tiles - alone
            for i, alone, mode in zip(group.tiles, self.alone, self.modes, strict=True)
        )


class _Part:
    """Tiles of a group with the same residues of `src` and `dst`; `origin`: the source's address, if it matters."""

    def __init__(self, residues: Residues, src: int, dst: int, origin: int | None) -> None:
        self.residues, self.src, self.dst, self.origin = residues, src, dst, origin
        self.of_src, self.of_dst = of_first(residues, 0), of_first(residues, 1)
        self.tiles = {0: sum(residues.values())}


def _coordinates(tv: Any, rank: int, step: int) -> tuple[Integers, Booleans]:
    threads, values = points(tv[0], rank), points(tv[1], rank)[::step]
    count = -(-len(threads) // WARP) * WARP
    exists = np.arange(count) < len(threads)
    padded = np.zeros((count, rank), np.int64)
    padded[: len(threads)] = threads
    return padded[None] + values[:, None], np.broadcast_to(exists, (len(values), count))


def _inside(group: Group, c: Integers, mode: int, count: int) -> Booleans:
    """Whether `count` coordinates from c on along a mode are inside of the tensor."""
    found = np.ones(c.shape[:-1], bool)
    for i, (low, high) in enumerate(zip(group.low, group.high, strict=True)):
        found &= (c[..., i] >= low) & (c[..., i] + (count - 1 if i == mode else 0) < high)
    return found


def _along(c: Integers, mode: int, by: Any) -> Integers:
    moved = c.copy()
    moved[..., mode] += by
    return moved


def _elements(c: Integers, mode: int, steps: range) -> Integers:
    """(steps, ...): the coordinates so many steps further along a mode."""
    moved = np.repeat(c[None], len(steps), axis=0)
    moved[..., mode] += np.array(steps).reshape(-1, *(1,) * (c.ndim - 1))
    return moved


def _warps(x: Any) -> Any:
    """(requests, 32)"""
    return x.reshape(-1, WARP)


def _surrounded(launch: _Launch, part: _Part, offset: Integers) -> Booleans:
    """Whether both aligned accesses around 16 bytes are within the source's memory."""
    if part.origin is None:
        return np.ones(offset.shape, bool)
    begin, end = launch.memory
    at = part.origin + offset
    first = at & -ACCESS
    inside: Booleans = (first >= begin) & (np.where(first == at, first + ACCESS, first + 2 * ACCESS) <= end)
    return inside


def _gap(plan: CopyPlan, launch: _Launch, part: _Part, c: Integers) -> Any:
    """By how many elements the destination's row begins behind a multiple of dst_shift."""
    if not plan.dst_shift:
        return 0
    row = c.copy()
    row[..., plan.dst_mode] = 0
    return (part.dst + row @ launch.steps[1]) // launch.size & (plan.dst_shift - 1)


def _count_loads(plan: CopyPlan, launch: _Launch, part: _Part, tally: Tally, offset: Integers, whole: Booleans) -> None:
    """The accesses that read what begins at these offsets."""
    if _joins(plan):
        at = part.src + offset
        first = at & -ACCESS
        residues = {r - part.src: n for r, n in part.of_src.items()}
        for address in (first, np.where(at != first, first + ACCESS, first)):
            tally.add(_warps(address), _warps(whole), residues)
        return
    if not plan.src_aligned or plan.src_step < 1 or _narrowed(plan):
        stride = int(launch.steps[0][plan.src_mode])
        for j in range(plan.load_vector if stride else 1):
            tally.add(_warps(offset + j * stride), _warps(whole), part.of_src)
        return
    tally.add(_warps(offset), _warps(whole), part.of_src)


def _direct(plan: CopyPlan, launch: _Launch, group: Group, part: _Part, tallies: tuple[Any, ...]) -> None:
    load, load_edges, store, store_edges = tallies
    mode, vector = plan.src_mode, plan.load_vector
    c, exists = launch.accesses(plan.load_tv, vector)
    c = _along(c, mode, -_gap(plan, launch, part, c))
    src, dst = c @ launch.steps[0], c @ launch.steps[1]
    whole = exists & _inside(group, c, mode, vector + (plan.src_step > 1)) if launch.checked else exists
    if _joins(plan):
        whole = whole & _surrounded(launch, part, src)
    _count_loads(plan, launch, part, load, src, whole)
    store.add(_warps(dst), _warps(whole), part.of_dst)
    if vector == 1 and plan.src_step <= 1:
        return
    others = exists & ~whole
    if others.any():
        e = _elements(c, mode, range(vector))
        made = others & _inside(group, e, mode, 1) if launch.checked else np.broadcast_to(others, e.shape[:-1])
        load_edges.add(_warps(e @ launch.steps[0]), _warps(made), part.of_src)
        store_edges.add(_warps(e @ launch.steps[1]), _warps(made), part.of_dst)


class _Shared:
    """Byte addresses in shared memory, of coordinates of the tile there."""

    def __init__(self, plan: CopyPlan) -> None:
        composed = isinstance(plan.smem, _core.ComposedLayout)
        layout = plan.smem.outer if composed else plan.smem
        stride = layout.stride if isinstance(layout.stride, tuple) else (layout.stride,)
        self.steps = np.array([int(d) for d in stride], np.int64)
        self.offset = int(plan.smem.offset) if composed else 0
        self.swizzle = plan.smem.inner if composed else None
        self.size = plan.problem.element_bytes

    def __call__(self, c: Integers) -> Integers:
        at: Integers = c @ self.steps + self.offset
        if self.swizzle is not None:
            mask = ((1 << self.swizzle.num_bits) - 1) << self.swizzle.num_base
            shift = self.swizzle.num_shift
            at = at ^ (at >> shift & mask if shift >= 0 else (at & mask) << -shift)
        return at * self.size


def _staged_load(plan: CopyPlan, launch: _Launch, group: Group, part: _Part, tallies: tuple[Any, ...]) -> None:
    load, put, load_edges, put_edges = tallies
    mode, vector, shared = plan.src_mode, plan.load_vector, _Shared(plan)
    at, exists = launch.accesses(plan.load_tv, vector)
    c = _along(at, plan.dst_mode, -plan.dst_shift)
    src = c @ launch.steps[0]
    whole = exists & _inside(group, c, mode, vector) if launch.checked else exists
    if _joins(plan):
        whole = whole & _surrounded(launch, part, src)
    if plan.is_async:
        load.add(_warps(src), _warps(shared(at)), _warps(whole), _warps(whole), part.of_src)
    else:
        _count_loads(plan, launch, part, load, src, whole)
        first = _elements(at, mode, range(0, vector, plan.smem_store))
        put.add(_warps(shared(first)), _warps(np.broadcast_to(whole, first.shape[:-1])), part.tiles)
    others = exists & ~whole
    if not (launch.checked or not plan.src_aligned) or not others.any():
        return
    e = _elements(c, mode, range(vector))
    made = others & _inside(group, e, mode, 1) if launch.checked else np.broadcast_to(others, e.shape[:-1])
    load_edges.add(_warps(e @ launch.steps[0]), _warps(made), part.of_src)
    put_edges.add(_warps(shared(_along(e, plan.dst_mode, plan.dst_shift))), _warps(made), part.tiles)


def _staged_store(plan: CopyPlan, launch: _Launch, group: Group, part: _Part, tallies: tuple[Any, ...]) -> None:
    take, store, take_edges, store_edges = tallies
    mode, vector, shared = plan.dst_mode, plan.store_vector, _Shared(plan)
    at, exists = launch.accesses(plan.store_tv, vector * plan.smem_load)
    gap = _gap(plan, launch, part, at)
    c = _along(at, mode, -gap)
    rows = [_along(c, plan.src_mode, w) for w in range(plan.smem_load)]
    whole = [exists & _inside(group, x, mode, vector) if launch.checked else exists for x in rows]
    taken = whole[0] if plan.smem_load == 1 else exists
    values = _elements(c, mode, range(plan.dst_shift, plan.dst_shift + vector))
    take.add(_warps(shared(values)), _warps(np.broadcast_to(taken, values.shape[:-1])), part.tiles)
    for x, all_of_it in zip(rows, whole, strict=True):
        store.add(_warps(x @ launch.steps[1]), _warps(all_of_it), part.of_dst)
        others = exists & ~all_of_it
        if others.any():
            e = _elements(x, mode, range(vector))
            made = others & _inside(group, e, mode, 1)
            take_edges.add(_warps(shared(_along(e, mode, plan.dst_shift))), _warps(made), part.tiles)
            store_edges.add(_warps(e @ launch.steps[1]), _warps(made), part.of_dst)
