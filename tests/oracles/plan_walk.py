"""Plans walked through as a GPU would run them: every CTA, every thread, every access at its own address.

Nothing is classified or multiplied here; what `tilewright.analysis` says of a launch is compared with it.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np

from lines_walk import walk_lines
from tilewright import _core
from tilewright.analysis import async_access, warp_accesses
from tilewright.analysis.layouts import sass_name
from tilewright.kernels.gemm.partitions import stage_image
from tilewright.kernels.gemm.sm80.operand import coordinates_of

FIELDS = (
    "requests", "lanes", "sectors", "ideal_sectors", "lines", "wavefronts", "ideal_wavefronts", "useful", "counted",
    "ideal_counted", "asked",
)  # fmt: skip


class Walk:
    """The requests of a launch: by instruction, CTA, warp and turn, the address of each lane."""

    def __init__(self):
        self.found = defaultdict(dict)  # (name, sass, memory, op, width, matrices): (cta, warp, turn): lane: address
        self.useful = defaultdict(dict)
        self.pairs = defaultdict(dict)  # of cp.async: (name, width): (cta, warp, turn): lane: (source, destination)

    def cp_async(self, name, width, place, thread, source, destination, useful=None):
        """`source`: None where nothing is read and zeros are written."""
        lanes = self.pairs[name, width].setdefault((*place, thread // 32), {})
        lanes[thread % 32] = source, destination, (width if useful is None else useful) if source is not None else 0

    def access(self, name, memory, op, width, place, thread, address, useful=None, matrices=0):
        key = name, memory, op, width, matrices
        self.found[key].setdefault((*place, thread // 32), {})[thread % 32] = address
        if useful is not None:
            self.useful[key].setdefault((*place, thread // 32), {})[thread % 32] = useful

    def totals(self):
        result = {}
        for (name, width), requests in self.pairs.items():
            source, destination = (np.zeros(len(FIELDS), np.int64) for _ in range(2))
            for lanes in requests.values():
                found = async_request(lanes, width)
                source += found[0]
                destination += found[1]
            for shown, memory, totals in (("", "global", source), (", into shared", "shared", destination)):
                sass = sass_name(memory, "cp.async", width)
                if totals[0]:
                    result[name + shown, sass] = dict(zip(FIELDS, totals.tolist(), strict=True))
        for key, requests in self.found.items():
            name, memory, op, width, matrices = key
            addresses = np.zeros((len(requests), 32), np.int64)
            active = np.zeros((len(requests), 32), bool)
            for i, lanes in enumerate(requests.values()):
                for lane, address in lanes.items():
                    addresses[i, lane], active[i, lane] = address, True
            mask = None if op.endswith("matrix") else active
            found = warp_accesses(addresses, width, memory=memory, op=op, active=mask, matrices=matrices or None)
            useful = int(found.useful_bytes.sum())
            if self.useful[key]:
                useful = sum(sum(lanes.values()) for lanes in self.useful[key].values())
            result[name, sass_name(memory, op, width, matrices)] = dict(
                zip(
                    FIELDS,
                    (
                        len(requests), int(found.lanes.sum()), int(found.sectors.sum()),
                        int(found.ideal_sectors.sum()), int(found.lines.sum()), int(found.wavefronts.sum()),
                        int(found.ideal_wavefronts.sum()), useful, 0, 0, 0,
                    ),
                    strict=True,
                )
            )  # fmt: skip
        return result


def async_request(lanes, width):
    """What async_access says of one request, as two rows of FIELDS; lanes that write zeros have no source."""
    sources, destinations = ([lanes[t][i] or 0 if t in lanes else 0 for t in range(32)] for i in (0, 1))
    there = [t in lanes for t in range(32)]
    reads = [t in lanes and lanes[t][0] is not None for t in range(32)]
    cache = "cg" if width == 16 else "ca"
    found = async_access(sources, destinations, width, cache=cache, active=there, reads=reads)
    rows = [0] * len(FIELDS), [0] * len(FIELDS)
    for row, x in zip(rows, (found.source, found.destination), strict=True):
        if x.lanes:
            row[:8] = 1, x.lanes, x.sectors, x.ideal_sectors, x.lines, x.wavefronts, x.ideal_wavefronts, x.useful_bytes
    rows[0][7] = sum(useful for *_, useful in lanes.values())
    rows[0][10] = found.asked_sectors if found.source.lanes else 0
    rows[1][8:10] = found.counted, found.ideal_counted
    return rows


def predicted(instructions):
    """The same of an analysis."""
    return {
        (x.name, x.sass.replace("MT88", "M88")): dict(
            zip(
                FIELDS,
                (
                    x.requests, round(x.lanes * x.requests), x.sectors, x.ideal_sectors, x.lines, x.wavefronts,
                    x.ideal_wavefronts, x.bytes_useful, x.counted or 0, x.ideal_counted or 0, x.asked_sectors or 0,
                ),
                strict=True,
            )
        )
        for x in instructions
        if x.by_lanes
    }  # fmt: skip


def _tuple(x):
    return x if isinstance(x, tuple) else (x,)


def _padded(c, rank):
    c = tuple(int(x) for x in _tuple(c))
    return (*c, *(0,) * (rank - len(c)))


def walk_copy(plan, src, dst, memory):
    """kernels/tiled_copy.cuh, line by line."""
    p, walk = plan.problem, Walk()
    rank, size = len(plan.tile), p.element_bytes
    src, dst = src + p.src_offset * size, dst + p.dst_offset * size
    checked = plan.predicated or plan.dst_shift > 0
    span = plan.load_vector * plan.src_step * size  # of an access that is joined of two aligned ones
    joins = not plan.src_aligned and plan.load_vector > 1 and span >= 4
    joins = joins and (plan.src_step == 1 or plan.src_step * size <= 4)
    at_once = plan.is_async or (plan.src_aligned and plan.src_step >= 1)

    def table(tv, step):
        threads, values = (int(_core.size(tv, mode=[i])) for i in (0, 1))
        own = [_padded(tv(t, 0), rank) for t in range(threads)]
        return own, [_padded(tv(0, v), rank) for v in range(0, values, step)]

    def moved(c, mode, by):
        return tuple(x + by if i == mode else x for i, x in enumerate(c))

    def linear(c):
        layout = plan.smem.outer if isinstance(plan.smem, _core.ComposedLayout) else plan.smem
        at = sum(x * int(d) for x, d in zip(c, _tuple(layout.stride), strict=True))
        return (int(plan.smem.inner(at + int(plan.smem.offset))) if layout is not plan.smem else at) * size

    loads, stores = table(plan.load_tv, plan.load_vector), table(plan.store_tv, plan.store_vector * plan.smem_load)
    for cta, tile in enumerate(itertools.product(*(range(n) for n in plan.tiles))):
        origin = [i * t for i, t in zip(tile, plan.tile, strict=True)]

        def inside(c, mode, count, origin=origin):
            return all(
                o + x >= 0 and o + x + (count - 1 if i == mode else 0) < e
                for i, (x, o, e) in enumerate(zip(c, origin, p.extents, strict=True))
            )

        def at(c, side, origin=origin):
            base, strides = ((src, p.src_strides), (dst, p.dst_strides))[side]
            return base + size * sum((x + o) * d for x, o, d in zip(c, origin, strides, strict=True))

        def gap_of(c, mode, origin=origin):
            if not plan.dst_shift:
                return 0
            row = at(moved(c, mode, -c[mode]), 1)
            return row // size & (plan.dst_shift - 1)

        def those_inside(c, mode, vector):
            """Of the elements of an access."""
            return [j for j in range(vector) if not checked or inside(moved(c, mode, j), mode, 1)]

        def store(c, there, vector, place, t):
            if len(there) == vector:
                walk.access("store", "global", "store", vector * size, place, t, at(c, 1))
            elif vector > 1:
                for j in there:
                    to = at(moved(c, plan.dst_mode, j), 1)
                    walk.access("store, edges", "global", "store", size, (*place, "parts", j), t, to)

        def load(c, there, place, t):
            """Whether an access is read."""
            vector = plan.load_vector
            address, step = at(c, 0), p.src_strides[plan.src_mode] * size
            behind = plan.src_step > 1 and address + vector * plan.src_step * size > memory[1]
            if not there or (at_once and (len(there) < vector or behind)):
                return False
            if joins:
                first = address & -span
                last = first + (span if first == address else 2 * span)
                if not (first >= memory[0] and last <= memory[1]):
                    return False
                walk.access("load", "global", "load", span, (*place, 0), t, first)
                walk.access("load", "global", "load", span, (*place, 1), t, first + span * (first != address))
            elif plan.src_aligned and plan.src_step >= 1:
                if plan.src_step * size > 4 and plan.src_step > 1:  # words that nobody uses are left out
                    for j in range(plan.load_vector):
                        walk.access("load", "global", "load", 4, (*place, j), t, address + j * step)
                else:
                    walk.access("load", "global", "load", plan.load_vector * plan.src_step * size, place, t, address)
            else:
                for j in there if plan.src_step != 0 else [0]:
                    walk.access("load", "global", "load", size, (*place, j), t, address + j * step)
            return True

        if plan.kernel == "direct":
            mode, vector = plan.src_mode, plan.load_vector
            for t, own in enumerate(loads[0]):
                for k, step in enumerate(loads[1]):
                    c = tuple(map(sum, zip(own, step, strict=True)))
                    c = moved(c, mode, -gap_of(c, mode))
                    there = those_inside(c, mode, vector)
                    if load(c, there, (cta, k), t):
                        store(c, there, vector, (cta, k), t)
                        continue
                    for j in there if at_once or joins else []:
                        e = moved(c, mode, j)
                        walk.access("load, edges", "global", "load", size, (cta, k, j), t, at(e, 0))
                        walk.access("store, edges", "global", "store", size, (cta, k, j), t, at(e, 1))
            continue
        mode, vector = plan.src_mode, plan.load_vector
        for t, own in enumerate(loads[0]):
            for k, step in enumerate(loads[1]):
                place = tuple(map(sum, zip(own, step, strict=True)))
                c = moved(place, plan.dst_mode, -plan.dst_shift)
                there = those_inside(c, mode, vector)
                if plan.is_async:
                    if len(there) == vector:
                        walk.cp_async("load", vector * size, (cta, k), t, at(c, 0), linear(place))
                        continue
                elif load(c, there, (cta, k), t):
                    for j in range(0, vector, plan.smem_store):
                        width, to = plan.smem_store * size, linear(moved(place, mode, j))
                        walk.access("put into shared", "shared", "store", width, (cta, k, j), t, to)
                    continue
                for j in there if at_once or joins else []:
                    e, to = moved(c, mode, j), linear(moved(place, mode, j))
                    walk.access("load, edges", "global", "load", size, (cta, k, j), t, at(e, 0))
                    walk.access("put into shared, edges", "shared", "store", size, (cta, k, j), t, to)
        mode, vector = plan.dst_mode, plan.store_vector
        for t, own in enumerate(stores[0]):
            for k, step in enumerate(stores[1]):
                place = tuple(map(sum, zip(own, step, strict=True)))
                c = moved(place, mode, -gap_of(place, mode))
                there = [those_inside(moved(c, plan.src_mode, w), mode, vector) for w in range(plan.smem_load)]
                for j in range(vector if plan.smem_load * vector > 1 or there[0] else 0):
                    width, to = plan.smem_load * size, linear(moved(c, mode, plan.dst_shift + j))
                    walk.access("take from shared", "shared", "load", width, (cta, k, j), t, to)
                for w in range(plan.smem_load):
                    store(moved(c, plan.src_mode, w), there[w], vector, (cta, k, w), t)
    return walk.totals()


class _Gemm:
    """What all GEMM kernels share: tiles, addresses, the epilogue's bias."""

    def __init__(self, plan, addresses):
        self.plan, self.p, self.tables, self.walk = plan, plan.problem, plan.tables(), Walk()
        self.addresses = addresses
        p, (bm, bn, bk) = self.p, plan.tiler_mnk
        self.tile = bm, bn, bk
        self.k_tiles = -(-p.k // bk)
        self.sizes = [int(t.bits) // 8 for t in (p.a_type, p.b_type, p.c_type)]
        self.acc = int(p.acc_type.bits) // 8
        self.bias_size = int(p.epilogue.bias_type.bits) // 8 if p.epilogue.bias is not None else 0

    def ctas(self):
        p, (bm, bn, _) = self.p, self.tile
        batches = list(itertools.product(*(range(e) for e in p.batch)))
        places = itertools.product(batches, range(-(-p.n // bn)), range(-(-p.m // bm)))
        yield from ((i, m * bm, n * bn, batch) for i, (batch, n, m) in enumerate(places))

    def at(self, which, first, second, batch):
        strides = (self.p.a_strides, self.p.b_strides, self.p.c_strides)[which]
        offset = first * strides[0] + second * strides[1] + sum(x * d for x, d in zip(batch, strides[2:], strict=True))
        return self.addresses[which] + offset * self.sizes[which]

    def read_bias(self, place, t, m, n):
        if self.bias_size:
            at = (m if self.p.epilogue.bias == "m" else n) * self.p.epilogue.bias_stride
            address = self.addresses[3] + at * self.bias_size
            self.walk.access("load bias", "global", "load", self.bias_size, place, t, address)


def pieces_of(plan, tile, tiles, steps, cluster=1):
    """Where the parts of a tile of C begin and end along K, by the shares that it lies in."""
    if not plan.stream_k_ctas:
        return [(0, steps)]
    workers, (together, count) = plan.stream_k_ctas // cluster, plan.stream_k.group
    in_step = plan.kernel_name == "sm90" and plan.problem.k * plan.problem.a_type.bits // 8 >= 12288
    shared = tiles % workers if in_step else tiles - max(tiles // workers - 1, 0) * workers
    assert in_step or (together, count) == (shared, workers)
    if tile >= shared:
        return [(0, steps)]
    least, longer = divmod(together * steps, count)
    begins = [first * steps + i * least + min(i, longer) for first in range(0, shared, together) for i in range(count)]
    assert len(begins) <= workers
    cuts = sorted({0, steps, *(begin - tile * steps for begin in begins if 0 < begin - tile * steps < steps)})
    return list(itertools.pairwise(cuts))


def walk_simt(plan, addresses=(0, 0, 0, 0)):
    """kernels/gemm_simt.cuh with simt_operand.cuh, simt_stream_k.cuh and simt_store.cuh."""
    from tilewright.kernels.gemm.simt.layouts import neighbours
    from tilewright.kernels.gemm.simt.plan import by_cp_async

    g = _Gemm(plan, addresses)
    walk, p, bk = g.walk, g.p, g.tile[2]
    steps = bk // plan.sliced_k
    early = plan.stages > 1 and steps % 2 == 0
    ctas = list(g.ctas())
    for tile, (cta, m0, n0, batch) in enumerate(ctas):
        for begin, end in pieces_of(plan, tile, len(ctas), g.k_tiles):
            place = cta, begin
            for which, name, first, extent, padded in (
                (0, "A", m0, p.m, plan.padded_a), (1, "B", n0, p.n, plan.padded_b)
            ):  # fmt: skip
                table = (g.tables.a, g.tables.b)[which]
                load, size = table.load, g.sizes[which]
                before = which * -(-g.tables.a.stage_elements * g.sizes[0] * plan.stages // 16) * 16
                vector = load.smem.shape[2]
                is_async = by_cp_async(plan.side(name.lower())[0]) and vector * size >= 4
                together = vector == 1 or load.smem[0, 0, 1] - load.smem[0, 0, 0] == 1
                rounds = end - begin + (plan.stages - 1 if early and not is_async else 0)
                for turn in range(rounds):
                    stage = turn % plan.stages * table.stage_elements
                    for t, i in np.ndindex(load.coord.shape[:2]):
                        row, k = (int(x) for x in load.coord[t, i])
                        at, to = (*place, turn, i), (stage + int(load.smem[t, i, 0])) * size
                        width, depth = vector * size, (begin + turn) * bk + k
                        reads = (padded or first + row < extent) and depth < p.k and begin + turn < end
                        where = g.at(which, first + row, depth, batch) if reads else None
                        if is_async:
                            walk.cp_async(f"load {name}", width, at, t, where, to + before)
                            continue
                        if reads:
                            walk.access(f"load {name}", "global", "load", width, at, t, where)
                        if together:
                            walk.access(f"write {name} to shared", "shared", "store", width, at, t, to)
                        else:
                            for j in range(vector):
                                to = (stage + int(load.smem[t, i, j])) * size
                                walk.access(f"write {name} to shared", "shared", "store", size, (*at, j), t, to)
                wide = plan.fragment_vector(name.lower())
                count, depth = table.fragment.shape[1:3]
                reads = [(turn, step) for turn in range(end - begin) for step in range(depth)]
                if early:
                    reads.append((end - begin, 0))
                for (turn, step), value in itertools.product(reads, range(0, count, wide)):
                    for t in range(plan.threads):
                        own = t if t < len(table.fragment) else 0
                        at = turn % plan.stages * table.stage_elements + int(table.fragment[own, value, step, 0])
                        at *= size
                        walk.access(f"read {name}", "shared", "load", wide * size, (*place, turn, step, value), t, at)
            for turn in range(plan.promote, end - begin, plan.promote or 1) if plan.totals else ():
                for i, t in np.ndindex(plan.totals, plan.threads):
                    at = (i * plan.threads + t) * g.acc
                    for op in ("store", "load"):
                        walk.access(f"{op} totals", "shared", op, g.acc, (*place, turn, i), t, at)
            sums = plan.rows.shape[1], plan.columns.shape[1]
            for i, t in np.ndindex(math.prod(map(_core.size, sums)), plan.threads) if begin > 0 else ():
                for op in ("store", "load"):
                    walk.access(f"{op} parts", "global", op, g.acc, (*place, i), t, (i * plan.threads + t) * g.acc)
        store, size, vector = g.tables.store, g.sizes[2], plan.out_vector
        coord = g.tables.mma.c_coord
        if plan.smem_c is None and p.epilogue.bias is not None:
            rows = coord[:, :, 0, 0, 0] if p.epilogue.bias == "m" else coord[:, 0, :, 0, 1]
            for t, i in np.ndindex(rows.shape):
                m = min(m0 + int(rows[t, i]), p.m - 1)
                n = min(n0 + int(rows[t, i]), p.n - 1)
                g.read_bias((cta, i), t, m, n)
        if plan.smem_c is not None:
            wide = neighbours(plan.columns, 16 // g.acc)
            for t, i in np.ndindex(store.smem_write.shape):
                if i % wide == 0:
                    at = int(store.smem_write[t, i]) * g.acc
                    walk.access("write C to shared", "shared", "store", wide * g.acc, (cta, i), t, at)
        for t, i in np.ndindex(store.coord.shape[:2]):
            m, n = m0 + int(store.coord[t, i, 0]), n0 + int(store.coord[t, i, 1])
            if m >= p.m or n >= p.n:
                continue
            where = g.at(2, m, n, batch)
            if p.epilogue.beta != 0:
                walk.access("load C", "global", "load", vector * size, (cta, i), t, where)
            walk.access("store C", "global", "store", vector * size, (cta, i), t, where)
            if plan.smem_c is None:
                continue
            part = min(vector, 16 // g.acc) if plan.out_mode == 1 else 1
            for j, k in itertools.product(range(0, vector, part), range(plan.sliced_k)):
                at = int(store.smem_read[t, i, j]) + (k * int(plan.smem_c.stride[2]) if k else 0)
                walk.access("read C from shared", "shared", "load", part * g.acc, (cta, i, j, k), t, at * g.acc)
            for j in range(vector if "mn".index(p.epilogue.bias or "n") == plan.out_mode else 1):
                g.read_bias((cta, i, j), t, m + j * (plan.out_mode == 0), n + j * (plan.out_mode == 1))
    return walk.totals()


def walk_sm80(plan, addresses=(0, 0, 0, 0)):
    """kernels/gemm_sm80.cuh with tile_load.cuh, fragment.cuh and tile_store.cuh."""
    g = _Gemm(plan, addresses)
    walk, p, (_, _, bk) = g.walk, g.p, g.tile
    for cta, m0, n0, batch in g.ctas():
        for which, name, first, extent in ((0, "A", m0, p.m), (1, "B", n0, p.n)):
            table, side, size = (g.tables.a, g.tables.b)[which], plan.sides[which], g.sizes[which]
            load, vector = table.load, table.load.smem.shape[2]
            before = which * g.tables.a.stage_elements * g.sizes[0] * plan.stages
            depth = min(p.k, p.whole_k - batch[-1] * p.k) if p.whole_k else p.k
            k_tiles = -(-depth // bk)
            for turn in range(k_tiles):
                stage = turn % plan.stages * table.stage_elements
                for t, i in np.ndindex(load.coord.shape[:2]):
                    row, k = (int(x) for x in load.coord[t, i])
                    inside = [
                        first + row + j * (load.mode == 0) < extent and turn * bk + k + j * (load.mode == 1) < depth
                        for j in range(vector)
                    ]
                    where = g.at(which, first + row, turn * bk + k, batch)
                    if side.is_async:
                        to = (stage + int(load.smem[t, i, 0])) * size + before
                        where = where if inside[0] else None
                        walk.cp_async(f"load {name}", vector * size, (cta, turn, i), t, where, to, sum(inside) * size)
                        continue
                    for j in range(vector):
                        place, to = (cta, turn, i, j), (stage + int(load.smem[t, i, j])) * size
                        if inside[j]:
                            at = g.at(which, first + row + j * (load.mode == 0), turn * bk + k + j * load.mode, batch)
                            walk.access(f"load {name}", "global", "load", size, place, t, at)
                        walk.access(f"write {name} to shared", "shared", "store", size, place, t, to)
            copy, image = side.fragment, stage_image(side.smem, *side.tile)
            thread, access = coordinates_of(copy.thread), coordinates_of(copy.access)
            blocks = int(_core.size(copy.access, mode=[1]))
            reads = [(turn, block) for turn in range(k_tiles) for block in range(blocks)]
            if k_tiles:
                reads.append((k_tiles, 0))
            per = len(access) // blocks
            for (turn, block), i, t in itertools.product(reads, range(per), range(len(thread))):
                row, k = thread[t] + access[block * per + i]
                at = (turn % plan.stages * table.stage_elements + int(image[row, k])) * size
                if copy.kind == "plain":
                    walk.access(f"read {name}", "shared", "load", copy.units * size, (cta, turn, block, i), t, at)
                else:
                    place = cta, turn, block, i
                    walk.access(f"read {name}", "shared", "ldmatrix", 16, place, t, at, matrices=copy.units)
        store, size, vector = g.tables.store, g.sizes[2], plan.store_vector
        direct = plan.store_tv is None
        if direct:
            vector = pair = part = 1
        else:
            pair, part = plan._write_width(), min(vector, 16 // g.acc)
            for t, i in np.ndindex(store.smem_write.shape):
                if i % pair == 0:
                    at = int(store.smem_write[t, i]) * g.acc
                    walk.access("write C to shared", "shared", "store", pair * g.acc, (cta, i), t, at)
        for t, i in np.ndindex(store.coord.shape[:2]):
            m, n = m0 + int(store.coord[t, i, 0]), n0 + int(store.coord[t, i, 1])
            if m >= p.m or n >= p.n:
                continue
            for j in range(0, 0 if direct else vector, part):
                at = int(store.smem_read[t, i, j]) * g.acc
                walk.access("read C from shared", "shared", "load", part * g.acc, (cta, i, j), t, at)
            whole = n + vector <= p.n
            for j in range(1 if whole else vector):
                if n + j >= p.n:
                    continue
                width, edges = (vector * size, "") if whole else (size, ", edges")
                where = g.at(2, m, n + j, batch)
                if p.epilogue.beta != 0:
                    walk.access(f"load C{edges}", "global", "load", width, (cta, i, j), t, where)
                walk.access(f"store C{edges}", "global", "store", width, (cta, i, j), t, where)
                for v in range(vector if whole and p.epilogue.bias == "n" else 1):
                    g.read_bias((cta, i, j + v, whole), t, m, n + j + v)
    return walk.totals()


STMATRIX = "ldmatrix", "stmatrix"  # by which C is read and written


def walk_sm90(plan, addresses=(0, 0, 0, 0)):
    """The lanes of kernels/gemm_sm90.cuh with sm90_store.cuh and sm90_stream_k.cuh."""
    g = _Gemm(plan, addresses)
    walk, p, (bm, bn, _) = g.walk, g.p, g.tile
    tiles_m, tiles_n = (n * c for n, c in zip(plan.tiles(), plan.cluster_mn, strict=True))
    batches = list(itertools.product(*(range(e) for e in p.batch)))
    sharing = 1 if plan.ping_pong else plan.consumers
    units = bm // 64 // sharing * bn // 8
    sums = g.tables.mma.c_coord.reshape(len(g.tables.mma.c_coord), -1, 2)
    size, compute, by_boxes = g.sizes[2], 4, plan.store in ("boxes", "columns")
    for cta, (batch, n_tile, m_tile) in enumerate(itertools.product(batches, range(tiles_n), range(tiles_m))):
        m0, n0 = m_tile * bm, n_tile * bn
        if plan.split_k > 1:
            own = -(-units // plan.split_k)
            for rank, sender, unit, t in itertools.product(
                range(plan.split_k), range(plan.split_k - 1), range(own), range(128 * plan.consumers)
            ):
                if rank * own + unit >= units:  # the last CTAs finish less, or nothing
                    continue
                at = (((sender * plan.consumers + t // 128) * 4 + t % 128 // 32) * own + unit) * 512 + t % 32 * 16
                walk.access("read sums", "shared", "load", 16, (cta, rank, sender, unit), t, at)
        for rank, t in itertools.product(range(plan.split_k), range(128 * sharing)):
            if p.epilogue.bias == "n":
                for i in range(-(-bn // 128)):
                    at = i * 128 + t % 128
                    if n0 + at < p.n:
                        g.read_bias((cta, rank, i), t, 0, n0 + at)
                    if at < bn:
                        place = cta, rank, i
                        walk.access("write bias to shared", "shared", "store", compute, place, t, at * compute)
            elif p.epilogue.bias == "m":
                for i in range(2 * (bm // 64 // sharing)):
                    m = m0 + t // 128 * 64 + int(sums[t % 128, 2 * (i % 2), 0]) + i // 2 * 64 * sharing
                    if m < p.m:
                        g.read_bias((cta, rank, i), t, m, 0)
        fragment = g.tables.a.fragment
        # Tiles in columns of all rows: a plan that shares them has one group along M.
        columns, rows = plan.tiles()[::-1]
        cluster_m, cluster_n = plan.cluster_mn
        tile = (cta // (tiles_m * tiles_n) * columns + n_tile // cluster_n) * rows + m_tile // cluster_m
        pieces = pieces_of(plan, tile, rows * columns * len(batches), -(-p.k // g.tile[2]), plan.cluster)
        for (begin, _), unit, t in itertools.product(pieces, range(units), range(128 * sharing)):
            if begin > 0:
                at = (unit * 128 * sharing + t) * 16
                for name, op in (("store parts", "store"), ("load parts", "load")):
                    walk.access(name, "global", op, 16, (cta, begin, unit), t, at)
        for t, i in itertools.product(range(len(sums)), range(0, 0 if fragment is None else fragment[0].size, 2)):
            at = 4 * int(fragment[t].flat[i])
            assert int(fragment[t].flat[i + 1]) * 4 == at + 4
            for k in range(-(-p.k // g.tile[2])):
                walk.access("read A", "shared", "load", 8, (cta, k, i), t, at)
        if plan.store == "lines":
            walk_lines(walk, plan, g, cta, m0, n0, batch)
            continue
        for t, i in itertools.product(range(len(sums)), range(0, sums.shape[1], 2)):
            m, n = m0 + int(sums[t, i, 0]), n0 + int(sums[t, i, 1])
            place, here = (cta, i), m < p.m and n < p.n
            if plan.store == "columns" and size == 4:
                column = i % 4 // 2  # of the pair: this column of both rows
                m, n = m0 + int(sums[t, i - 2 * column, 0]), n + column
                at = m % 64 // 32 * 4096 + n % 32 * 128 + ((m % 32 // 4 ^ n % 8) << 4) + m % 4 * 4
                place = cta, i - 2 * column, column ^ t % 4 // 2
                if p.epilogue.beta != 0:
                    walk.access("read C from shared", "shared", "load", 8, place, t, at)
                walk.access("write C to shared", "shared", "store", 8, place, t, at)
                if p.epilogue.bias == "n" and column == 0:
                    walk.access("read bias", "shared", "load", 2 * compute, place[:2], t, (n - n0) * compute)
                continue
            if by_boxes:
                at = None
                if plan.store == "columns":  # 16 columns of 16 rows, or of the last unit of an odd number 8
                    lane, unit, of = t % 32, int(sums[t, i, 1]) // 8 % (plan.box_columns // 8), plan.box_columns // 8
                    if i % 4 == 0 and unit % 2 == 0:
                        column = min(unit + lane // 16, of - 1) * 8 + lane % 8
                        at, ops = column * 128 + ((t // 32 % 4 * 2 + lane // 8 % 2 ^ column % 8) << 4), STMATRIX
                        width = 16
                elif i % 8 == 0 and size == 2:  # 16 columns of 16 rows
                    lane = t % 32
                    row, chunk = lane % 16, n % 64 // 8 + lane // 16
                    at, ops, width = (
                        (t // 32 % 4 * 16 + row) * 128 + ((chunk ^ row % 8) << 4),
                        STMATRIX,
                        16,
                    )
                elif size == 4:
                    row, column = m % 64, n % 32
                    ahead = t // (4 if fragment is None else 8) % 2
                    place = cta, i ^ 8 * ahead  # such lanes are two units of 4 sums ahead
                    at, ops, width = row * 128 + ((column // 4 ^ row % 8) << 4) + column % 4 * 4, ("load", "store"), 8
                if at is not None:
                    matrices = 4 if size == 2 else 0
                    if p.epilogue.beta != 0:
                        walk.access("read C from shared", "shared", ops[0], width, place, t, at, matrices=matrices)
                    walk.access("write C to shared", "shared", ops[1], width, place, t, at, matrices=matrices)
            once = size == 4 or i % 4 == 0  # both rows of a thread by one stmatrix
            if p.epilogue.bias == "n" and (once if by_boxes else here):
                walk.access("read bias", "shared", "load", 2 * compute, place, t, (n - n0) * compute)
            if not here:
                continue
            both = n + 1 < p.n
            ways = [("load C", "load")] if p.epilogue.beta != 0 else []
            for name, op in [*ways, ("store C", "store")] if not by_boxes else []:
                if plan.store != "singles" and both:
                    walk.access(name, "global", op, 2 * size, place, t, g.at(2, m, n, batch))
                    continue
                for j in range(2 if both else 1):
                    shown = name if plan.store == "singles" else f"{name}, edges"
                    walk.access(shown, "global", op, size, (cta, i, j), t, g.at(2, m, n + j, batch))
    return walk.totals()


WALKS = {"simt": walk_simt, "sm80": walk_sm80, "sm90": walk_sm90}
