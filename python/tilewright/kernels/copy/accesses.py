"""The memory instructions of a copy plan: what kernels/tiled_copy.cuh executes, and how often.

Every instruction here is one, or one loop, of that kernel; the tests compare the classes with the SASS. Two of them are
the compiler's choice: of an aligned access with steps it leaves out the words that nobody uses, and it moves the read
of a single element of shared memory into the branch that stores it.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._registry import Lazy
from tilewright.analysis.totals.accesses import AccessedTensor, Accesses
from tilewright.analysis.totals.cp_async import AsyncTally
from tilewright.analysis.totals.totals import Tally
from tilewright.kernels.copy.packed_accesses import packed_tallies
from tilewright.kernels.gemm.partitions import points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.analysis.totals.totals import Integers
    from tilewright.kernels.copy.plan import CopyPlan

__all__ = ["accesses", "copy_instructions"]

LINE, WORD = 128, 4
KEPT = 64  # plans whose instructions are kept


def accesses(plan: CopyPlan, addresses: tuple[int, int]) -> Accesses:
    """All accesses of a launch, for tensors src and dst at these addresses."""
    p = plan.problem
    tensors = (
        AccessedTensor("src", addresses[0] + p.src_offset * p.element_bytes, p.extents, p.src_strides, p.element_bytes),
        AccessedTensor("dst", addresses[1] + p.dst_offset * p.element_bytes, p.extents, p.dst_strides, p.element_bytes),
    )
    advice = functools.partial(Lazy("tilewright.kernels.copy.advice:advice_on_copy"), plan)
    return Accesses(f"{plan.kernel} copy", copy_instructions(plan, *addresses), tensors, advice, plan)


def copy_instructions(plan: CopyPlan, src_address: int = 0, dst_address: int = 0) -> list[MemoryInstruction]:
    """What each instruction of a launch costs, for tensors at these addresses.

    >>> import numpy
    >>> from tilewright import kernels
    >>> a = numpy.zeros((64, 64), numpy.float32)
    >>> [(x.name, x.sass, x.requests) for x in copy_instructions(kernels.tiled_copy.plan(a, a.copy()))]
    [('load', 'LDG.E.128', 32), ('store', 'STG.E.128', 32)]
    """
    begin, end = _reach(plan, src_address)
    line = src_address // LINE * LINE
    return list(_instructions(plan, src_address - line, dst_address % LINE, (begin - line, end - line)))


@functools.lru_cache(maxsize=KEPT)
def _instructions(
    plan: CopyPlan, src_address: int, dst_address: int, src_memory: tuple[int, int]
) -> tuple[MemoryInstruction, ...]:
    """The same; every count repeats after a line."""
    if plan.kernel == "packed":
        return _made(plan, packed_tallies(plan, plan._grid(), src_address, dst_address, src_memory))
    size = plan.problem.element_bytes
    launch = _launch(plan, src_address, dst_address, src_memory)
    store = Tally("store", "global", "store", plan.store_vector * size)
    load_edges, store_edges = (Tally(f"{op}, edges", "global", op, size) for op in ("load", "store"))
    load = (
        AsyncTally("load", plan.load_vector * size) if plan.is_async else Tally("load", "global", "load", _read(plan))
    )
    loads = [load.source, load.destination] if isinstance(load, AsyncTally) else [load]
    if isinstance(load, Tally) and plan.kernel == "direct":
        launch.direct(
            *_dealt(plan, plan.load_tv), load=load.counts, store=store.counts, load_edges=load_edges.counts,
            store_edges=store_edges.counts,
        )  # fmt: skip
        return _made(plan, [*loads, store, load_edges, store_edges])
    put, take = (
        Tally(name, "shared", op, count * size)
        for name, op, count in (
            ("put into shared", "store", plan.smem_store),
            ("take from shared", "load", plan.smem_load),
        )
    )
    put_edges = Tally(f"{put.name}, edges", "shared", "store", size)
    shared = _shared(plan)
    launch.staged_loads(
        *_dealt(plan, plan.load_tv), shared, load=load.counts, put=put.counts, load_edges=load_edges.counts,
        put_edges=put_edges.counts,
    )  # fmt: skip
    launch.staged_stores(
        *_dealt(plan, plan.store_tv), shared, take=take.counts, store=store.counts, store_edges=store_edges.counts,
    )  # fmt: skip
    return _made(plan, [*loads, put, load_edges, put_edges, take, store, store_edges])


def _made(plan: CopyPlan, tallies: Sequence[Any]) -> tuple[MemoryInstruction, ...]:
    """The instructions that are executed."""
    made = (x for x in (tally.instruction() for tally in tallies) if x is not None)
    return tuple(_used(x, plan.src_step) if x.name == "load" and skips(plan) else x for x in made)


def skips(plan: CopyPlan) -> bool:
    """Whether an access of the source moves elements that nobody uses, between those that are copied."""
    return (
        plan.src_step > 1 and plan.src_aligned and plan.kernel != "packed" and not _narrowed(plan) and not plan.is_async
    )


def _used(x: MemoryInstruction, step: int) -> MemoryInstruction:
    """The same, where one element of `step` is useful."""
    first, worst = (r and r._replace(useful_bytes=r.useful_bytes // step) for r in (x.first, x.worst))
    return x._replace(bytes_useful=x.bytes_useful // step, first=first, worst=worst)


def _reach(plan: CopyPlan, address: int) -> tuple[int, int]:
    """Where the source's elements begin and end, beyond which nothing is read."""
    p = plan.problem
    ends = [(e - 1) * d * p.element_bytes for e, d in zip(p.extents, p.src_strides, strict=True)]
    address += p.src_offset * p.element_bytes
    return address + sum(min(x, 0) for x in ends), address + sum(max(x, 0) for x in ends) + p.element_bytes


def _joined(plan: CopyPlan) -> int:
    """Where an access is two aligned ones, shifted into each other, the bytes of one of these; else 0."""
    width = plan.load_vector * plan.src_step * plan.problem.element_bytes
    joins = not plan.src_aligned and plan.load_vector > 1 and width >= WORD
    return width if joins and (plan.src_step == 1 or plan.src_step * plan.problem.element_bytes <= WORD) else 0


def _narrowed(plan: CopyPlan) -> bool:
    """Whether an access with steps has words that nobody uses."""
    return plan.src_step > 1 and plan.src_step * plan.problem.element_bytes > WORD


def _read(plan: CopyPlan) -> int:
    """The bytes of an access of the source."""
    size = plan.problem.element_bytes
    if _joined(plan):
        return _joined(plan)
    if not plan.src_aligned or plan.src_step < 1:
        return size
    return max(size, WORD) if _narrowed(plan) else plan.load_vector * plan.src_step * size


def _launch(plan: CopyPlan, src_address: int, dst_address: int, memory: tuple[int, int]) -> _core.analysis.CopyLaunch:
    """Tiles of a launch, and what their threads access."""
    p, size = plan.problem, plan.problem.element_bytes
    guarded = not _joined(plan) and (not plan.src_aligned or plan.src_step < 1) and not plan.is_async
    return _core.analysis.CopyLaunch(
        tiles=plan.tiles,
        tile=plan.tile,
        extents=p.extents,
        strides=[[size * d for d in strides] for strides in (p.src_strides, p.dst_strides)],
        base=(src_address + size * p.src_offset, dst_address + size * p.dst_offset),
        memory=memory,
        vector_mode=(plan.src_mode, plan.dst_mode),
        element=size,
        load_vector=plan.load_vector,
        store_vector=plan.store_vector,
        smem_store=plan.smem_store,
        smem_load=plan.smem_load,
        src_step=plan.src_step,
        dst_shift=plan.dst_shift,
        checked=plan.predicated or plan.dst_shift > 0,
        joined=_joined(plan),
        single=guarded or _narrowed(plan),
        guarded=guarded,
    )


def _dealt(plan: CopyPlan, tv: Any) -> tuple[Integers, Integers]:
    """The coordinates of the threads, and those of the values from each thread's first one on."""
    rank = len(plan.tile)
    return points(tv[0], rank), points(tv[1], rank)


def _shared(plan: CopyPlan) -> tuple[list[int], int, tuple[int, int, int] | None]:
    """Strides of shared memory, the offset and the swizzle."""
    smem = plan.smem
    assert smem is not None
    layout = smem.outer if isinstance(smem, _core.ComposedLayout) else smem
    strides = layout.stride if isinstance(layout.stride, tuple) else (layout.stride,)
    steps = [int(d) for d in strides]
    if not isinstance(smem, _core.ComposedLayout):
        return steps, 0, None
    swizzle = smem.inner
    return steps, int(smem.offset), (swizzle.num_bits, swizzle.num_base, swizzle.num_shift)
