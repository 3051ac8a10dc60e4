"""The memory instructions of gemm_sm90: twin of kernels/gemm_sm90.cuh and its headers.

What the copy engine and the tensor cores access has no lanes: boxes of a tensor (boxes.py), and rows of 32 bytes of
shared memory. Lanes access C and the bias, and shared memory where sums leave through it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tilewright.analysis.boxes import LEAST, SECTOR, Lines, least_of
from tilewright.analysis.instructions import MemoryInstruction
from tilewright.analysis.totals.totals import WARP, Mode, Tally, groups
from tilewright.kernels.gemm.accesses import Lanes, Launch, by_warps, gemm_accesses
from tilewright.kernels.gemm.sm90.lines import lines_of_c
from tilewright.kernels.gemm.sm90.stores import BY_BOXES
from tilewright.kernels.gemm.sm90.tables import fragments_of, sum_coordinates

if TYPE_CHECKING:
    from tilewright.analysis.totals.accesses import Accesses
    from tilewright.analysis.totals.totals import Integers
    from tilewright.kernels.gemm.sm90.plan import GemmSm90

GROUP = 128  # threads of a warpgroup
ROWS, SPAN = 64, 128  # of an instruction; bytes of a row of a box
BANKS = 128  # bytes of all banks
WGMMA = {"Float16": "HGMMA", "BFloat16": "HGMMA", "TFloat32": "HGMMA", "Int8": "IGMMA", "Uint8": "IGMMA"}


def accesses(plan: GemmSm90, addresses: tuple[int, int, int, int]) -> Accesses:
    """All accesses of a launch, for A, B, C and bias at these addresses."""
    return gemm_accesses(plan, addresses, _requests, {})


def _requests(plan: GemmSm90, launch: Launch) -> list[Tally | MemoryInstruction]:
    """All of them, in the order of the kernel."""
    loads: list[Tally | MemoryInstruction] = [*_boxes(plan, launch), *_fragments(plan, launch), *_wgmma(plan, launch)]
    return [*_bias(plan, launch), *loads, *_exchange(plan), *_parts(plan), *_stores(plan, launch)]


def _cluster_tiles(plan: GemmSm90) -> int:
    """Tiles that CTAs take, those of a cluster that lie outside of C included."""
    return math.prod(plan.tiles()) * plan.cluster_mn[0] * plan.cluster_mn[1] * plan.problem.batches


def _boxes(plan: GemmSm90, launch: Launch) -> list[MemoryInstruction]:
    """What the copy engine brings: of CTAs that share a tile, each a part to all of them."""
    p, found = plan.problem.undivided, []  # of parts of K the steps behind its end bring zeros
    k_tiles = launch.k_tiles * plan.problem.batches // p.batches
    tiles_m, tiles_n = plan.tiles()
    (cluster_m, cluster_n), (a, b) = plan.cluster_mn, plan.operands()
    times_b = plan.ctas if plan.held_b else tiles_m  # B that stays comes once a CTA, not once a tile
    sides = (
        ("A", a, p.m, p.a_type, p.a_strides, cluster_n, a.brought(p.m, tiles_m * cluster_m, plan.ragged[0]), tiles_n),
        ("B", b, p.n, p.b_type, p.b_strides, cluster_m, b.brought(p.n, tiles_n * cluster_n, plan.ragged[1]), times_b),
    )
    for i, (name, side, rows, dtype, strides, sharers, brought, times) in enumerate(sides):
        each = times * k_tiles * p.batches
        shown = " and ".join(f"{count * each} boxes of {size} bytes" for count, size in brought if count)
        shared = f", each to {sharers} CTAs" if sharers > 1 else ""
        size = int(dtype.bits) // 8
        batch = [(extent, stride * size) for extent, stride in zip(p.batch, strides[2:], strict=True)]
        if side.k_major:
            count = [(rows, strides[0] * size), *batch]
            outside = sum(number * box for number, box in brought) // SPAN - rows
            lines = Lines(p.k * size, count, launch.addresses[i], SPAN, k_tiles, outside, "rows")
        else:
            count, depth = [(p.k, strides[1] * size), *batch], k_tiles * plan.tiler_mnk[2]
            boxes = sum(number for number, _ in brought) // side.parts
            lines = Lines(rows * size, count, launch.addresses[i], SPAN, boxes, depth - p.k, "columns")
        op, least = "multicast" if sharers > 1 else "load", least_of(dtype)
        sass = f"UTMALDG.{2 + len(plan.problem.batch)}D{'.MULTICAST' if sharers > 1 else ''}"
        requests, note = sum(number for number, _ in brought) * each, f"{shown}{shared}, with a swizzle of {SPAN} bytes"
        found.append(_moved(f"load {name}", sass, lines, op, requests, note, times, sharers, least))
    return found


def _moved(
    name: str, sass: str, lines: Lines, op: str, requests: int, note: str, times: int = 1, receivers: int = 1,
    least: int = LEAST,
) -> MemoryInstruction:  # fmt: skip
    """An instruction of boxes with what they cost."""
    access = lines.access(op, times, receivers, least)
    return MemoryInstruction.of_engine(
        name, sass, "tma", access.bytes_inside, requests=requests, moved=access.sectors * SECTOR,
        sectors=(access.sectors, access.ideal_sectors), note=note, remedy=lines.remedy(op, least),
    )  # fmt: skip


def _wgmma(plan: GemmSm90, launch: Launch) -> list[MemoryInstruction]:
    """What the tensor cores read: 64 rows of A and all of B, 32 bytes of K by one instruction.

    A plan has boxes swizzled by 128 bytes only, of which eight rows of 16 bytes lie in different banks.
    """
    p, (bm, bn, bk) = plan.problem, plan.tiler_mnk
    steps = bk * int(p.a_type.bits) // 8 // 32
    count = _cluster_tiles(plan) * launch.k_tiles * steps * (bm // ROWS)
    k = 32 * 8 // int(p.a_type.bits)
    sass = f"{WGMMA.get(p.a_type.__name__, 'QGMMA')}.64x{bn}x{k}"
    found = []
    for name, rows in (("A", ROWS), ("B", bn))[plan.from_registers :]:
        note = f"{count} instructions read {rows} rows of 32 bytes, swizzled by {SPAN} bytes: no bank conflicts"
        size = count * rows * 32
        found.append(
            MemoryInstruction.of_engine(
                f"read {name}", sass, "wgmma", size, requests=count * GROUP // WARP, memory="shared", note=note,
                wavefronts=(size // BANKS, size // BANKS),
            )
        )  # fmt: skip
    return found


def _fragments(plan: GemmSm90, launch: Launch) -> list[Tally]:
    """A that goes through registers: of every instruction a thread's two rows in two columns of K, 8 bytes each."""
    if not plan.from_registers:
        return []
    fragment = launch.part("fragments", lambda: fragments_of(plan, plan.operands()[0]))
    size = int(plan.problem.a_type.bits) // 8
    read = Tally("read A", "shared", "load", 2 * size)
    at = by_warps(fragment[..., ::2].reshape(len(fragment), -1)) * size
    # In ping-pong the table has the threads of one of the consumers, which do a tile each.
    read.add(at, np.ones(at.shape, bool), {0: _cluster_tiles(plan) * launch.k_tiles})
    return [read]


def _exchange(plan: GemmSm90) -> list[Tally | MemoryInstruction]:
    """CTAs that share a tile along K: each sends the others what they finish, and reads what they have sent."""
    if plan.split_k == 1:
        return []
    bm, bn, _ = plan.tiler_mnk
    units = bm // ROWS // plan.consumers * bn // 8  # of a consumer: 64 rows by 8 columns, 16 bytes of a thread
    warps = plan.consumers * GROUP // WARP
    clusters = math.prod(plan.tiles()) * plan.problem.batches
    sent = clusters * (plan.split_k - 1) * units * warps
    take = Tally("read sums", "shared", "load", 16)
    lanes = np.arange(WARP)[None] * 16
    # What was sent is read once: a CTA that finishes nothing, since there are fewer units than CTAs, reads nothing.
    take.add(lanes, np.ones((1, WARP), bool), {0: sent})
    note = f"{sent} requests of a warp; they go to other CTAs' shared memory"
    return [
        MemoryInstruction.of_engine("send sums", "STAS.128", "tma", sent * WARP * 16, memory="shared", note=note),
        take,
    ]


def _parts(plan: GemmSm90) -> list[Tally | MemoryInstruction]:
    """Clusters that share tiles along K: the sums of a share's first tile are left where another one has its first
    step, and added there. How often a flag is looked at until they are there, by one lane, is not known before."""
    if plan.stream_k_ctas == 0:
        return []
    left = sum(first > 0 for _, first, _ in plan.stream_k.parts) * plan.cluster
    units = plan.tiler_mnk[0] // ROWS * plan.tiler_mnk[1] // 8  # 64 rows by 8 columns, 16 bytes of a thread
    lanes, found = np.arange(WARP)[None] * 16, list[Tally | MemoryInstruction]()
    for op in ("store", "load"):
        tally = Tally(f"{op} parts", "global", op, 16)
        if left:
            tally.add(lanes, np.ones((1, WARP), bool), {0: left * units * GROUP // WARP})
        found.append(tally)
    return found


def _bias(plan: GemmSm90, launch: Launch) -> list[Tally]:
    """Fetched before the multiplication: a row of the tile into shared memory, or each thread's rows into registers."""
    p = plan.problem
    if p.epilogue.bias is None:
        return []
    bm, bn, _ = plan.tiler_mnk
    thread, sharing = np.arange(GROUP), plan.sharing
    others = math.prod(plan.cluster_mn) * math.prod(plan.tiles()) * p.batches * plan.split_k
    fetch = Tally("load bias", "global", "load", launch.bias_size)
    if p.epilogue.bias == "n":
        at = np.arange(-(-bn // GROUP))[:, None] * GROUP + thread
        mode = Mode(launch.n_tiles, bn, p.n, bn * launch.bias_step, ahead=at.size - bn)
        times = others // (plan.tiles()[1] * plan.cluster_mn[1]) * sharing
    else:
        row, following = _rows(plan, launch)
        consumer, half = np.arange(sharing)[:, None, None, None] * ROWS, np.arange(2)[:, None] * following
        block = np.arange(bm // ROWS // sharing)[:, None, None] * ROWS * sharing
        at = consumer + block + half + row
        mode = Mode(launch.m_tiles, bm, p.m, bm * launch.bias_step)
        times = others // (plan.tiles()[0] * plan.cluster_mn[0])
    lanes: Integers = at.reshape(-1, WARP)
    for group in groups([mode], launch.addresses[3], times):
        fetch.add(lanes * launch.bias_step, lanes < group.high[0], group.residues)
    if p.epilogue.bias == "m":
        return [fetch]
    size = _compute_bytes(plan)
    share = Tally("write bias to shared", "shared", "store", size)
    share.add(lanes * size, lanes < bn, {0: others * sharing})
    return [fetch, share]


def _rows(plan: GemmSm90, launch: Launch) -> tuple[Integers, int]:
    """The first row of each thread of a warpgroup among its 64, and how far its second one is."""
    rows = _sums(plan, launch)[:GROUP, :4, 0]  # two sums in the first row, and two in the second one
    return rows[:, 0], int(rows[0, 2] - rows[0, 0])


def _compute_bytes(plan: GemmSm90) -> int:
    """Bytes of a number of the epilogue."""
    from tilewright.kernels.gemm.epilogue import compute_type

    return int(compute_type(plan.problem).bits) // 8


def _sums(plan: GemmSm90, launch: Launch) -> Integers:
    """(threads, sums, 2): the (m, n) of every sum in the tile; neighbouring columns follow each other."""
    coord = launch.part("sums", lambda: sum_coordinates(plan))
    return coord.reshape(len(coord), -1, 2).astype(np.int64)


def _stores(plan: GemmSm90, launch: Launch) -> list[Tally | MemoryInstruction]:
    """From registers, two neighbouring columns or one at a time; or through shared memory in boxes or lines."""
    if plan.store in BY_BOXES:
        return _boxes_of_c(plan, launch)
    if plan.store == "lines":
        return [*lines_of_c(plan, launch, _compute_bytes(plan))]
    p, side = plan.problem, launch.c
    lanes = Lanes(_sums(plan, launch)[:, ::2])
    offsets = lanes.offsets(side)
    found: list[Tally | MemoryInstruction] = []
    if p.epilogue.bias == "n":
        size = 2 * _compute_bytes(plan)
        take = Tally("read bias", "shared", "load", size)
        for group in side.groups:
            take.add(lanes.second * (size // 2), lanes.inside(group), {0: sum(group.residues.values())})
        found.append(take)
    for name, op in (("load C", "load"), ("store C", "store")):
        if op == "load" and p.epilogue.beta == 0:
            continue
        single = Tally(name + ", edges" * (plan.store == "pairs"), "global", op, side.size)
        wide = Tally(name, "global", op, 2 * side.size) if plan.store == "pairs" else None
        for group in side.groups:
            first, both = lanes.inside(group), lanes.inside(group, 1)
            if wide is None:
                single.add(offsets, first, group.residues)
                single.add(offsets + int(side.steps[1]), both, group.residues)
            else:
                wide.add(offsets, both, group.residues)
                single.add(offsets, first & ~both, group.residues)
        found += [single] if wide is None else [wide, single]
    return found


def _boxes_of_c(plan: GemmSm90, launch: Launch) -> list[Tally | MemoryInstruction]:
    """A warp has 16 rows of a box, into which it puts 16 columns at once by stmatrix, or 8 bytes of a lane.

    C that is added comes in the same boxes, and is read by the lanes that then write there.
    """
    p, (bm, bn, _) = plan.problem, plan.tiler_mnk
    size = int(p.c_type.bits) // 8
    count = _cluster_tiles(plan) * (bm // ROWS) * (bn // plan.box_columns)
    lane = np.arange(WARP)
    units = np.arange(plan.box_columns // 8)[:, None]
    # Of 8 columns the bias is read for each of a thread's two rows, but that some write both of them at once.
    halves = 1
    if size == 2:
        op, width, matrices = "stmatrix", 16, 4
        if plan.store == "columns":  # of an odd number of units the last one twice
            n: Integers = np.minimum(units[::2] + lane // 16, units[-1]) * 8 + lane % 8
            rows: Integers = n * SPAN + ((lane // 8 % 2 ^ lane % 8) << 4)
        else:
            rows = lane % 16 * SPAN + ((units[::2] + lane // 16 ^ lane % 8) << 4)
    else:
        op, width, matrices = "store", 8, 0
        first, following = _rows(plan, launch)
        if plan.store == "columns":
            own, column = first[:WARP], np.arange(2)[:, None, None] ^ lane % 4 // 2
            n = 8 * units + lane % 4 * 2 + column
            rows = (n * SPAN + ((own // 4 ^ n % 8) << 4) + own % 4 * size).reshape(-1, WARP)
        else:
            halves, own = 2, first[:WARP] + np.arange(2)[:, None, None] * following
            units = units ^ 2 * (lane // (8 if plan.from_registers else 4) % 2)
            rows = (own * SPAN + ((2 * units + lane % 4 // 2 ^ own % 8) << 4) + lane % 2 * 8).reshape(-1, WARP)
    everyone, times = np.ones(rows.shape, bool), {0: count * GROUP // WARP}
    # Of elements of 4 bytes a box along M is brought and stored in two halves, of 32 rows each.
    parts, spans = (size // 2, plan.box_columns) if plan.store == "columns" else (1, ROWS)
    tiles_m, tiles_n = (tiles * beside for tiles, beside in zip(plan.tiles(), plan.cluster_mn, strict=True))
    batch = [(extent, stride * size) for extent, stride in zip(p.batch, p.c_strides[2:], strict=True)]
    if plan.store == "columns":
        lengths, step = (p.m, p.n), p.c_strides[1]
        covered = tiles_m * bm, tiles_n * bn
    else:
        lengths, step = (p.n, p.m), p.c_strides[0]
        covered = tiles_n * bn, tiles_m * bm
    lines = Lines(
        lengths[0] * size, [(lengths[1], step * size), *batch], launch.addresses[2], SPAN, covered[0] * size // SPAN,
        covered[1] - lengths[1], "columns" if plan.store == "columns" else "rows",
    )  # fmt: skip
    requests = count * parts
    note = f"{requests} boxes of {spans * SPAN} bytes, with a swizzle of {SPAN} bytes"

    def moved(name: str, sass: str, op: str) -> MemoryInstruction:
        return _moved(name, f"{sass}.{2 + len(p.batch)}D", lines, op, requests, note)

    found: list[Tally | MemoryInstruction] = []
    if p.epilogue.beta != 0:
        found.append(moved("load C", "UTMALDG", "load"))
        take = Tally("read C from shared", "shared", "ldmatrix" if size == 2 else "load", width, matrices=matrices)
        take.add(rows, everyone, times)
        found.append(take)
    if p.epilogue.bias == "n":
        bias = Tally("read bias", "shared", "load", 2 * _compute_bytes(plan))
        boxes = np.arange(bn // plan.box_columns)[:, None, None] * plan.box_columns
        columns = ((boxes + units * 8 + lane % 4 * 2) * _compute_bytes(plan)).reshape(-1, WARP)
        bias.add(
            columns, np.ones(columns.shape, bool), {0: _cluster_tiles(plan) * (bm // ROWS) * (GROUP // WARP) * halves}
        )
        found.append(bias)
    put = Tally("write C to shared", "shared", op, width, matrices=matrices)
    put.add(rows, everyone, times)
    return [*found, put, moved("store C", "UTMASTG", "store")]
