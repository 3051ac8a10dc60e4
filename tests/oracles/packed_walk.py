"""A packed copy walked through as a GPU would run it: kernels/tilewright/packed_copy.cuh, thread by thread."""

from __future__ import annotations

import itertools
import math

from plan_walk import Walk
from tilewright.kernels.copy.packed import packed_of_plan

THREADS, READ = 256, 16


def walk_packed(plan, src, dst, memory):
    """As plan_walk.walk_copy."""
    p, tile, walk = plan.problem, packed_of_plan(plan), Walk()
    size, store, rank = tile.bytes, plan.store_vector * p.element_bytes, len(tile.tile)
    src, dst = src + p.src_offset * p.element_bytes, dst + p.dst_offset * p.element_bytes
    count, put = store // size, max(size, 4)
    if all((tile.shared[i] - tile.src[i]) % READ == 0 for i in tile.run_modes):
        put = READ
    puts = READ // put
    image, tables = tile.image(store)[0], tile.tables
    run, runs, *others = plan._grid()
    # Tiles in the order in which CTAs take them: a stretch along mode 0, then the other modes, then the next stretch.
    order = [
        (first + stretch * run, *reversed(rest))
        for stretch in range(runs)
        for rest in itertools.product(*(range(n) for n in reversed(others)))
        for first in range(run)
    ]
    columns = [[*c][::-1] for c in itertools.product(*(range(t) for t in reversed(tile.tile[1 : tile.dst_run_modes])))]
    offsets = [sum(c * d for c, d in zip(column, tile.shared[1:], strict=False)) for column in columns]
    offsets = [offsets[0], *offsets, offsets[-1]]
    for cta in range(plan.ctas):
        for i in range(len(offsets)):
            walk.access("place columns", "shared", "store", 4, (cta, i // THREADS), i % THREADS, tables[2] + 4 * i)
        for k in range(plan.tiles_of_cta):
            if cta * plan.tiles_of_cta + k >= len(order):
                break
            place = cta, k
            origin = [c * t for c, t in zip(order[cta * plan.tiles_of_cta + k], tile.tile, strict=True)]
            end = [max(min(e - o, t), 0) for e, o, t in zip(tile.extents, origin, tile.tile, strict=True)]
            at = [
                base + sum(o * d for o, d in zip(origin, steps, strict=True))
                for base, steps in ((src, tile.src), (dst, tile.dst))
            ]
            begin = image + READ + at[0] % put

            def runs_of(modes, steps, address, which, place=place, end=end, begin=begin):
                found = []
                for i, c in enumerate(itertools.product(*(range(tile.tile[m]) for m in reversed(modes)))):
                    c = dict(zip(modes, reversed(c), strict=True))
                    inside = min(end) > 0 and all(x < end[m] for m, x in c.items())
                    where = (*place, "runs", which, i // THREADS)
                    walk.access("place runs", "shared", "store", 16, where, i % THREADS, tables[which] + 16 * i)
                    found.append(
                        (
                            address + sum(x * steps[m] for m, x in c.items()),
                            begin + sum(x * tile.shared[m] for m, x in c.items()), inside,
                        )
                    )  # fmt: skip
                return found

            length = size + sum((e - 1) * d for e, d, x in zip(end, tile.shared, tile.in_run, strict=True) if x)
            words = tile.src_words
            sources = runs_of(tile.run_modes, tile.src, at[0], 0)
            reads = len(sources) * words

            def is_alone(address, length=length):
                last = -(-(address + length) // READ) * READ
                return size < READ and (address // READ * READ < memory[0] or last > memory[1])

            batch = 1 if any(inside and is_alone(address) for address, _, inside in sources) else 4
            for begin, n, t in itertools.product(range(0, reads, batch * THREADS), range(batch), range(THREADS)):
                if begin + t < reads:  # beyond the last one, the last one is looked up
                    index = min(begin + n * THREADS + t, reads - 1) // words
                    walk.access("look up runs", "shared", "load", 16, (*place, begin, n), t, tables[0] + 16 * index)
            for i in range(reads):
                t, turn = i % THREADS, (*place, "load", i // THREADS)
                address, shared, inside = sources[i // words]
                first = i % words * READ - address % READ
                if not inside or first >= length:
                    continue
                if is_alone(address):
                    for n, j in enumerate(range(max(first, 0), min(first + READ, length), size)):
                        walk.access("load, edges", "global", "load", size, (*turn, n), t, address + j)
                        walk.access("put into shared, edges", "shared", "store", size, (*turn, n), t, shared + j)
                    continue
                walk.access("load", "global", "load", READ, turn, t, address + first)
                for j in range(puts):
                    to = shared + first + (j + t // 8) % puts * put
                    walk.access("put into shared", "shared", "store", put, (*turn, j), t, to)

            elements, words = math.prod(end[: tile.dst_run_modes]), tile.dst_words(store)
            targets = runs_of(tuple(range(tile.dst_run_modes, rank)), tile.dst, at[1], 1)
            for i in range(len(targets) * words):
                t, turn = i % THREADS, (*place, "store", i // THREADS)
                address, shared, inside = targets[i // words]
                walk.access("look up runs", "shared", "load", 16, turn, t, tables[1] + 16 * (i // words))
                first = i % words * count - address % store // size
                if not inside or first >= elements:
                    continue
                column, row = divmod(first + tile.tile[0], tile.tile[0])
                for j in (0, 1) if len(columns) > 1 else ():
                    walk.access("look up columns", "shared", "load", 4, (*turn, j), t, tables[2] + 4 * (column + j))
                for j in range(count):
                    step = (j - (t % 32 * count // 32 if store >= 4 else 0)) % count
                    if len(columns) == 1:
                        offset = (first + step) * tile.shared[0]
                    elif row + step < tile.tile[0]:
                        offset = offsets[column] + (row + step) * tile.shared[0]
                    else:
                        offset = offsets[column + 1] + (row + step - tile.tile[0]) * tile.shared[0]
                    walk.access("take from shared", "shared", "load", size, (*turn, j), t, shared + offset)
                low, high = max(-first, 0), min(elements - first, count)
                if (low, high) == (0, count):
                    walk.access("store", "global", "store", store, turn, t, address + first * size)
                    continue
                at_byte, bytes_left = low * size, (high - low) * size
                name = "store, edges"
                if store < 4 or (low > 0 and high < count):
                    for n, j in enumerate(range(low, high)):
                        # Every element has an instruction of its own where a word is shorter than 4 bytes, else a loop.
                        where = (*turn, "each", j if store < 4 else n)
                        walk.access(name, "global", "store", size, where, t, address + (first + j) * size)
                    continue
                # By powers of two: at the front the shortest first, at the back the longest.
                for width in (w for w in (1, 2, 4, 8) if size <= w < store and bytes_left & w):
                    behind = bytes_left & (width - 1) if low else bytes_left & -(2 * width)
                    to = address + first * size + at_byte + behind
                    walk.access(name, "global", "store", width, (*turn, width), t, to)
    return walk.totals()
