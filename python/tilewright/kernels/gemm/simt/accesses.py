"""The memory instructions of gemm_simt: twin of kernels/gemm_simt.cuh, simt_operand.cuh and simt_store.cuh."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright._registry import Lazy
from tilewright.analysis.totals.cp_async import AsyncTally
from tilewright.analysis.totals.totals import Repeated, Tally
from tilewright.kernels.gemm.accesses import Lanes, Launch, Side, by_warps, exists, gemm_accesses
from tilewright.kernels.gemm.choose.promotion import accumulators

if TYPE_CHECKING:
    from tilewright.analysis.totals.accesses import Accesses, Requests
    from tilewright.analysis.totals.totals import Booleans, Group, Integers
    from tilewright.kernels.gemm.advice import Remedies
    from tilewright.kernels.gemm.simt.plan import GemmSimt
    from tilewright.kernels.gemm.tables import LoadTable, OperandTable

# What to do about conflicts in shared memory.
REMEDIES: Remedies = {
    "A": Lazy("tilewright.kernels.gemm.simt.advice:padding"),
    "B": Lazy("tilewright.kernels.gemm.simt.advice:padding"),
    "C": Lazy("tilewright.kernels.gemm.simt.advice:image"),
}


def accesses(plan: GemmSimt, addresses: tuple[int, int, int, int]) -> Accesses:
    """All accesses of a launch, for A, B, C and bias at these addresses."""
    return gemm_accesses(plan, addresses, _requests, REMEDIES)


def _requests(plan: GemmSimt, launch: Launch) -> list[Requests]:
    """All of them, in the order of the kernel."""
    tables = launch.tables
    found: list[Requests] = []
    for name, table, side in (("A", tables.a, launch.a), ("B", tables.b, launch.b)):
        found += _loads(plan, launch, name, table.load, side)
        found.append(_fragments(plan, launch, name, table, side.size))
    if plan.totals:
        found += _totals(plan, launch)
    if plan.problem.epilogue.bias is not None and plan.smem_c is None:
        found.append(_direct_bias(plan, launch))
    if plan.stream_k_ctas:
        found += _parts(plan)
    return found + _stores(plan, launch)


def _pieces(plan: GemmSimt, launch: Launch) -> list[int]:
    """The tiles along K of every tile of C, or of each part of one that a CTA has."""
    shared = [count for _, _, count in plan.parts_of_tiles] if plan.stream_k_ctas else []
    return shared + [launch.k_tiles] * (launch.tiles - plan.stream_k_tiles)


def _steps(plan: GemmSimt) -> int:
    """The steps along K of a thread in a tile."""
    return plan.tiler_mnk[2] // plan.sliced_k


def _loads(plan: GemmSimt, launch: Launch, name: str, load: LoadTable, side: Side) -> list[Requests]:
    """From global to shared memory; an access is inside or outside as a whole."""
    from tilewright.kernels.gemm.simt.plan import by_cp_async

    width = load.smem.shape[2] * side.size
    lanes = Lanes(load.coord)
    offsets = lanes.offsets(side)
    is_async = by_cp_async(plan.side(name.lower())[0]) and width >= 4
    if is_async:
        return _async_loads(plan, launch, name, load, width)
    loads = Tally(f"load {name}", "global", "load", width)
    for group in side.groups:
        loads.add(offsets, _made(plan, name, lanes, group), group.residues)
    # What goes through registers is written behind the last tile too, where nobody reads it.
    times = launch.tiles * launch.k_tiles
    if plan.reads_early:
        times += len(_pieces(plan, launch)) * (plan.stages - 1)

    def puts() -> list[Tally]:
        apart = load.smem.shape[2] > 1 and bool((load.smem[0, 0, 1] - load.smem[0, 0, 0]) != 1)
        tally = Tally(f"write {name} to shared", "shared", "store", side.size if apart else width)
        for j in range(load.smem.shape[2] if apart else 1):
            tally.add(by_warps(load.smem[..., j]) * side.size, lanes.exists, {0: 1})
        return [tally]

    return [loads, launch.repeated(f"put {name}", [times], puts)]


def _async_loads(plan: GemmSimt, launch: Launch, name: str, load: LoadTable, width: int) -> list[Requests]:
    """Past the registers; lanes outside of the tensor write zeros."""
    side = launch.a if name == "A" else launch.b
    lanes, tally = Lanes(load.coord), AsyncTally(f"load {name}", width)
    offsets, to = lanes.offsets(side), by_warps(load.smem[..., 0]) * side.size
    assert isinstance(plan.smem_a, _core.Layout)
    assert isinstance(plan.smem_b, _core.Layout)
    for group, stage in launch.stages("AB".index(name), (int(plan.smem_a.stride[2]), int(plan.smem_b.stride[2]))):
        tally.add(offsets, to + stage, _made(plan, name, lanes, group), lanes.exists, group.residues)
    return [tally.source, tally.destination]


def _made(plan: GemmSimt, name: str, lanes: Lanes, group: Group) -> Booleans:
    """Which lanes read in a tile of a group; behind the last row, too, where there is memory."""
    is_padded = plan.padded_a if name == "A" else plan.padded_b
    return lanes.exists & (lanes.second < group.high[1]) if is_padded else lanes.inside(group)


def _fragments(plan: GemmSimt, launch: Launch, name: str, table: OperandTable, size: int) -> Requests:
    """From shared memory; threads beyond those that multiply do as the first one does."""
    vector = plan.fragment_vector(name.lower())

    def steps() -> list[Tally]:
        fragment = table.fragment
        assert fragment is not None
        if len(fragment) < plan.threads:
            fragment = np.concatenate([fragment, np.repeat(fragment[:1], plan.threads - len(fragment), axis=0)])
        found = []
        for count in (_steps(plan), 1):
            lanes = by_warps(fragment[:, ::vector, :count, 0].reshape(len(fragment), -1)) * size
            found.append(Tally(f"read {name}", "shared", "load", vector * size))
            found[-1].add(lanes, np.ones(lanes.shape, bool), {0: 1})
        return found

    # The first step once more, before the loop.
    ahead = len(_pieces(plan, launch)) if plan.reads_early else 0
    return launch.repeated(f"read {name}", [launch.tiles * launch.k_tiles, ahead], steps)


def _totals(plan: GemmSimt, launch: Launch) -> list[Requests]:
    """To shared memory and back, one by one, each time but the last one that sums are promoted."""
    size = int(plan.problem.acc_type.bits) // 8

    def accesses(op: str) -> list[Tally]:
        lanes = np.arange(plan.threads * plan.totals, dtype=np.int64).reshape(-1, 32) * size
        tally = Tally(f"{op} totals", "shared", op, size)
        tally.add(lanes, np.ones(lanes.shape, bool), {0: 1})
        return [tally]

    times = sum(max(-(-count // plan.promote) - 1, 0) for count in _pieces(plan, launch))
    return [launch.repeated(f"{op} totals", [times], functools.partial(accesses, op)) for op in ("store", "load")]


def _parts(plan: GemmSimt) -> list[Requests]:
    """The sums of a share's first tile, left where it is another CTA's to finish, and added there. How often a flag is
    looked at until they are there, by one lane, is not known before."""
    size = int(plan.problem.acc_type.bits) // 8
    left = sum(first > 0 for _, first, _ in plan.parts_of_tiles)
    found: list[Requests] = []
    for op in ("store", "load"):
        lanes = np.arange(plan.threads * accumulators(plan), dtype=np.int64).reshape(-1, 32) * size
        tally = Tally(f"{op} parts", "global", op, size)
        if left:
            tally.add(lanes, np.ones(lanes.shape, bool), {0: left})
        found.append(tally)
    return found


def _direct_bias(plan: GemmSimt, launch: Launch) -> Tally:
    """Each thread reads those of its rows or columns; of what is outside, the last one."""
    along = 0 if plan.problem.epilogue.bias == "m" else 1
    sums = launch.tables.mma.c_coord
    coord = sums[:, :, 0, 0, 0] if along == 0 else sums[:, 0, :, 0, 1]
    lanes = by_warps(coord)
    tally = Tally("load bias", "global", "load", launch.bias_size)
    made = exists(coord.shape[0], coord.shape[1])
    for group in launch.bias_groups():
        at = np.minimum(lanes, group.high[along] - 1)
        tally.add(at * launch.bias_step, made, group.residues)
    return tally


def _stores(plan: GemmSimt, launch: Launch) -> list[Requests]:
    """C, and C before where it is added; through shared memory where there is an image of the sums."""
    p, store, side = plan.problem, launch.tables.store, launch.c
    width = plan.out_vector * side.size
    lanes = Lanes(store.coord)
    offsets = lanes.offsets(side)
    found: list[Requests] = []
    if plan.smem_c is not None:
        found += _image(plan, launch, lanes)
    reads = Tally("load C", "global", "load", width)
    writes = Tally("store C", "global", "store", width)
    for group in side.groups:
        made = lanes.inside(group)
        if p.epilogue.beta != 0:
            reads.add(offsets, made, group.residues)
        writes.add(offsets, made, group.residues)
    if plan.smem_c is not None and p.epilogue.bias is not None:
        found.append(_image_bias(plan, launch, lanes))
    return [*found, reads, writes]


def _image(plan: GemmSimt, launch: Launch, lanes: Lanes) -> list[Requests]:
    """The sums into shared memory, and out of it, slice by slice."""
    from tilewright.kernels.gemm.simt.layouts import ACCESS, neighbours

    store, size = launch.tables.store, int(plan.problem.acc_type.bits) // 8
    assert store.smem_write is not None
    assert store.smem_read is not None
    assert plan.smem_c is not None
    width, smem_write = neighbours(plan.columns, ACCESS // size), store.smem_write

    def puts() -> list[Tally]:
        put = Tally("write C to shared", "shared", "store", width * size)
        put.add(by_warps(smem_write[:, ::width]) * size, exists(len(smem_write), smem_write.shape[1] // width), {0: 1})
        return [put]

    part, smem_read = taken_together(plan, plan.smem_c), store.smem_read
    slice_step = int(plan.smem_c.stride[2]) if plan.sliced_k > 1 else 0

    @functools.cache
    def places() -> list[Integers]:
        first = [by_warps(smem_read[..., j]) for j in range(0, plan.out_vector, part)]
        return [(at + k * slice_step) * size for at in first for k in range(plan.sliced_k)]

    def takes(group: Group) -> list[Tally]:
        tally, inside = Tally("read C from shared", "shared", "load", part * size), lanes.inside(group)
        for at in places():
            tally.add(at, inside, {0: 1})
        return [tally]

    # What is read depends on where C ends in a tile.
    parts = [
        launch.repeated(f"take C {group.high}", [sum(group.residues.values())], functools.partial(takes, group))
        for group in launch.c.groups
    ]
    take = Repeated([unit for x in parts for unit in x.units], [count for x in parts for count in x.times])
    return [launch.repeated("put C", [launch.tiles], puts), take]


def taken_together(plan: GemmSimt, image: Any) -> int:
    """Neighbouring sums that the compiler reads from an image at once, where their alignment shows that it may."""
    part = min(plan.out_vector, 16 * 8 // int(plan.problem.acc_type.bits))
    row, column, step = (int(d) for d in image.stride)
    together = plan.out_mode == 1 and column == 1 and row % part == 0 and (plan.sliced_k == 1 or step % part == 0)
    return part if together else 1


def _image_bias(plan: GemmSimt, launch: Launch, lanes: Lanes) -> Tally:
    """One for each element, or one for an access along the other mode."""
    along = 0 if plan.problem.epilogue.bias == "m" else 1
    tally = Tally("load bias", "global", "load", launch.bias_size)
    at = (lanes.first, lanes.second)[along]
    for group in launch.bias_groups():
        for j in range(plan.out_vector if along == plan.out_mode else 1):
            tally.add((at + j) * launch.bias_step, lanes.inside(group), group.residues)
    return tally
