"""The memory instructions of gemm_sm80: twin of kernels/gemm_sm80.cuh, tile_load.cuh, fragment.cuh and tile_store.cuh.

Its accesses to shared memory are spelled out in PTX, so their widths are those of the plan.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright._registry import Lazy
from tilewright.analysis.totals.cp_async import AsyncTally
from tilewright.analysis.totals.totals import Repeated, Tally
from tilewright.kernels.gemm.accesses import Lanes, Launch, Side, by_warps, exists, gemm_accesses
from tilewright.kernels.gemm.partitions import stage_image, sum_coordinates
from tilewright.kernels.gemm.sm80.operand import coordinates_of
from tilewright.kernels.gemm.sm80.tables import load_of, store_of

if TYPE_CHECKING:
    from tilewright.analysis.totals.accesses import Accesses, Requests
    from tilewright.analysis.totals.totals import Group, Integers
    from tilewright.kernels.gemm.advice import Remedies
    from tilewright.kernels.gemm.sm80.operand import Side as Operand
    from tilewright.kernels.gemm.sm80.plan import GemmSm80
    from tilewright.kernels.gemm.tables import LoadTable, StoreTable

ROW, WORD = 16, 4  # bytes of a row of a matrix; of what a bias has where there is none

# What to do about conflicts in shared memory.
REMEDIES: Remedies = dict.fromkeys("AB", Lazy("tilewright.kernels.gemm.sm80.advice:swizzle"))


def accesses(plan: GemmSm80, addresses: tuple[int, int, int, int]) -> Accesses:
    """All accesses of a launch, for A, B, C and bias at these addresses."""
    return gemm_accesses(plan, addresses, _requests, REMEDIES)


def _requests(plan: GemmSm80, launch: Launch) -> list[Requests]:
    """All of them, in the order of the kernel."""
    found: list[Requests] = []
    for name, side, own in zip("AB", (launch.a, launch.b), plan.sides, strict=True):
        image = launch.part(f"image {name}", functools.partial(stage_image, own.smem, *own.tile))
        load = launch.part(f"load {name}", functools.partial(load_of, own, image))
        found += _loads(plan, launch, name, load, side, own)
        found.append(_fragments(launch, name, side.size, own, image))
    store = launch.part("store", lambda: store_of(plan, sum_coordinates(plan.tiled_mma, plan.tiler_mnk[:2])))
    return found + (_direct_store if plan.store_tv is None else _shared_store)(plan, launch, store)


def _loads(plan: GemmSm80, launch: Launch, name: str, load: LoadTable, side: Side, own: Operand) -> list[Requests]:
    """From global to shared memory: by whole accesses past the registers, or element by element."""
    vector = load.smem.shape[2]
    width = vector * side.size
    lanes = Lanes(load.coord)
    offsets = lanes.offsets(side)
    if own.is_async:
        tally, to = AsyncTally(f"load {name}", width), by_warps(load.smem[..., 0]) * side.size
        elements = plan.sides[0].stage_elements, plan.sides[1].stage_elements
        for group, stage in launch.stages("AB".index(name), elements):
            count = _inside(group, lanes, load.mode, vector)
            reads = lanes.exists & (count > 0)
            tally.add(offsets, to + stage, reads, lanes.exists, group.residues, count * side.size)
        return [tally.source, tally.destination]
    loads = Tally(f"load {name}", "global", "load", side.size)
    for group in side.groups:
        count = _inside(group, lanes, load.mode, vector)
        for j in range(vector):
            step = j * int(side.steps[load.mode])
            loads.add(offsets + step, lanes.exists & (count > j), group.residues)

    def puts() -> list[Tally]:
        tally = Tally(f"write {name} to shared", "shared", "store", side.size)
        for j in range(vector):
            tally.add(by_warps(load.smem[..., j]) * side.size, lanes.exists, {0: 1})
        return [tally]

    return [loads, launch.repeated(f"put {name}", [launch.steps], puts)]


def _inside(group: Group, lanes: Lanes, mode: int, vector: int) -> Integers:
    """How many elements of each access are inside of the tensor."""
    left = group.high[0] - lanes.first, group.high[1] - lanes.second
    return np.where(left[1 - mode] > 0, np.clip(left[mode], 0, vector), 0)


def _fragments(launch: Launch, name: str, size: int, own: Operand, image: Any) -> Requests:
    """From shared memory into the registers of mma.sync: those of the next k block while the present one multiplies."""
    copy = own.fragment

    def blocks() -> list[Tally]:
        thread, access = coordinates_of(copy.thread), coordinates_of(copy.access)
        at = thread[:, None] + access[None]
        address = image[at[..., 0], at[..., 1]] * size
        found = []
        for count in (address.shape[1], int(_core.size(copy.access, mode=[0]))):
            if copy.kind == "plain":
                found.append(Tally(f"read {name}", "shared", "load", copy.units * size))
            else:
                sass = "" if copy.kind == "ldmatrix" else f"LDSM.16.MT88.{copy.units}"
                found.append(Tally(f"read {name}", "shared", "ldmatrix", ROW, matrices=copy.units, sass=sass))
            lanes = by_warps(address[:, :count])
            found[-1].add(lanes, np.ones(lanes.shape, bool), {0: 1})
        return found

    # The first block once more, before the loop.
    early = launch.tiles if launch.k_tiles else 0
    return launch.repeated(f"read {name}", [launch.steps, early], blocks)


def _bias(launch: Launch) -> Tally:
    size = launch.bias_size or WORD
    return Tally("load bias", "global", "load", size)


def _direct_store(plan: GemmSm80, launch: Launch, store: StoreTable) -> list[Requests]:
    """Every thread writes its sums one by one."""
    p, side, size = plan.problem, launch.c, launch.c.size
    lanes = Lanes(store.coord)
    offsets = lanes.offsets(side)
    bias = _bias(launch)
    reads = Tally("load C", "global", "load", size)
    writes = Tally("store C", "global", "store", size)
    for group in side.groups:
        made = lanes.inside(group)
        if p.epilogue.beta != 0:
            reads.add(offsets, made, group.residues)
        writes.add(offsets, made, group.residues)
    if p.epilogue.bias is not None:
        at = lanes.first if p.epilogue.bias == "m" else lanes.second
        for group in launch.bias_groups():
            bias.add(at * launch.bias_step, lanes.inside(group), group.residues)
    return [bias, reads, writes]


def _shared_store(plan: GemmSm80, launch: Launch, store: StoreTable) -> list[Requests]:
    """The sums through shared memory, and out of it by wide accesses along n; at the end of C element by element."""
    p, side = plan.problem, launch.c
    assert store.smem_write is not None
    assert store.smem_read is not None
    acc, vector = int(p.acc_type.bits) // 8, plan.store_vector
    pair, part = plan._write_width(), min(vector, ROW // acc)
    smem_write, smem_read = store.smem_write, store.smem_read

    def puts() -> list[Tally]:
        tally, write = Tally("write C to shared", "shared", "store", pair * acc), smem_write[:, ::pair]
        tally.add(by_warps(write) * acc, exists(*write.shape), {0: 1})
        return [tally]

    lanes = Lanes(store.coord)

    @functools.cache
    def places() -> list[Integers]:
        return [by_warps(smem_read[..., j]) * acc for j in range(0, vector, part)]

    def takes(group: Group) -> list[Tally]:
        tally, inside = Tally("read C from shared", "shared", "load", part * acc), lanes.inside(group)
        for at in places():
            tally.add(at, inside, {0: 1})
        return [tally]

    put = launch.repeated("put C", [launch.tiles], puts)
    # What is read depends on where C ends in a tile.
    parts = [
        launch.repeated(f"take C {group.high}", [sum(group.residues.values())], functools.partial(takes, group))
        for group in side.groups
    ]
    take = Repeated([unit for x in parts for unit in x.units], [count for x in parts for count in x.times])
    width, size = vector * side.size, side.size
    offsets = lanes.offsets(side)
    splits = p.n % vector != 0
    bias = _bias(launch)
    reads = Tally("load C", "global", "load", width)
    writes = Tally("store C", "global", "store", width)
    read_edges = Tally("load C, edges", "global", "load", size)
    write_edges = Tally("store C, edges", "global", "store", size)
    for group in side.groups:
        made = lanes.inside(group)
        whole = made & lanes.inside(group, vector - 1) if splits else made
        if p.epilogue.beta != 0:
            reads.add(offsets, whole, group.residues)
        writes.add(offsets, whole, group.residues)
        for j in range(vector if splits else 0):
            cut = made & ~whole & lanes.inside(group, j)
            if p.epilogue.beta != 0:
                read_edges.add(offsets + j * int(side.steps[1]), cut, group.residues)
            write_edges.add(offsets + j * int(side.steps[1]), cut, group.residues)
    if p.epilogue.bias is not None:
        along = 0 if p.epilogue.bias == "m" else 1
        at = (lanes.first, lanes.second)[along]
        for group in launch.bias_groups():
            made = lanes.inside(group)
            whole = made & lanes.inside(group, vector - 1) if splits else made
            for j in range(vector):
                if along == 1 or j == 0:  # the same for all of an access
                    bias.add((at + along * j) * launch.bias_step, whole, group.residues)
                if splits:
                    bias.add(
                        (at + along * j) * launch.bias_step, made & ~whole & lanes.inside(group, j), group.residues
                    )
    return [put, take, bias, reads, writes, read_edges, write_edges]
