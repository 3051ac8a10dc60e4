"""Copy plans for the CPU, sound and broken ones, drawn at random; and what the broken ones should be told."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
from hypothesis import strategies as st

from tilewright import cute
from tilewright._core import host

L = cute.parse
KINDS = (
    "never_written",
    "written_twice",
    "wrong",
    "read_before_write",
    "shared_written_twice",
    "outside_shared",
    "outside_tile",
    "not_contiguous",
    "misaligned_load",
    "misaligned_store",
)
SIZES = {1: "i1", 2: "i2", 4: "i4", 8: "i8", 16: "c16"}


def plan_of(src, dst, **fields):
    """The plan that copies one array to another, mode m being axis -1-m."""
    size = src.itemsize
    strides = [tuple(step // size for step in array.strides[::-1]) for array in (src, dst)]
    plan = {
        "src_address": src.ctypes.data,
        "dst_address": dst.ctypes.data,
        "element_bytes": size,
        "extents": src.shape[::-1],
        "src_strides": strides[0],
        "dst_strides": strides[1],
        "load_vector": 1,
        "store_vector": 1,
        "smem": None,
        "src_mode": 0,
        "dst_mode": 0,
        "dst_shift": 0,
        **fields,
    }
    plan.setdefault("store_tv", plan["load_tv"])
    return plan


def counts(report):
    assert tuple(report) == KINDS
    for found in report.values():
        assert len(found["first"]) == min(found["count"], 8)
    return {kind: found["count"] for kind, found in report.items() if found["count"]}


def numbers(shape, dtype="i4"):
    return np.arange(1, math.prod(shape) + 1).astype(dtype).reshape(shape)


def assert_copies(src, dst, **fields):
    """run_copy and check_copy both copy, and nothing is wrong."""
    for copy in (host.run_copy, host.check_copy):
        dst[...] = 0
        report = copy(**plan_of(src, dst, **fields))
        np.testing.assert_array_equal(dst, src)
        assert report is None or counts(report) == {}


def at(shape, dtype, misalignment, pitch=None):
    """An array whose element 0 lies `misalignment` elements behind a multiple of 64 bytes, with a row pitch."""
    pitch = pitch or shape[1]
    size = np.dtype(dtype).itemsize
    memory = np.zeros(shape[0] * pitch * size + 64 + misalignment * size, "u1")
    start = -memory.ctypes.data % 64 + misalignment * size
    return memory[start : start + shape[0] * pitch * size].view(dtype).reshape(shape[0], pitch)[:, : shape[1]]


# ---- sound plans ----


@st.composite
def views(draw, extents, dtype, source):
    """An array of these extents: modes in any order in memory, with steps, backwards, with gaps, at any address."""
    order = draw(st.permutations(range(len(extents))))
    steps = [draw(st.sampled_from((1, 1, 1, -1, 2, -2))) for _ in extents]
    memory = [extents[m] * abs(steps[m]) + draw(st.sampled_from((0, 0, 1, 3))) for m in order]
    start = draw(st.integers(0, 16 // np.dtype(dtype).itemsize))
    flat = np.zeros(math.prod(memory) + start, dtype)
    if source:
        flat[...] = np.arange(1, len(flat) + 1).astype(dtype)
    array = flat[start:].reshape(memory)
    slices = [slice(0, extents[m] * abs(steps[m]), abs(steps[m])) for m in order]
    array = array[tuple(slices)][tuple(slice(None, None, -1 if steps[m] < 0 else 1) for m in order)]
    array = array.transpose([order.index(m) for m in range(len(extents))])
    if source and draw(st.integers(0, 4)) == 0:
        mode = draw(st.integers(0, len(extents) - 1))
        array = np.broadcast_to(array[(slice(None),) * mode + (slice(0, 1),)], extents)
    return flat, array


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


@st.composite
def thread_values(draw, box, vector=1, mode=0):
    """Each coordinate of the box once; groups of `vector` values along the mode."""
    leaves = []
    for m, extent in enumerate(box):
        step = vector if m == mode else 1
        rest = extent // step
        first = draw(st.sampled_from(divisors(rest)))
        leaves += [(first, m, step), (rest // first, m, step * first)]
    leaves = draw(st.permutations(leaves))
    split = draw(st.integers(0, len(leaves)))
    modes = [leaves[:split] or [(1, 0, 0)], [(vector, mode, 1), *leaves[split:]]]
    shape = ",".join("(" + ",".join(str(extent) for extent, _, _ in leaves) + ")" for leaves in modes)
    stride = ",".join("(" + ",".join(f"{step}@{m}" if step else "0" for _, m, step in leaves) + ")" for leaves in modes)
    return L(f"({shape}):({stride})")


@st.composite
def shared_layouts(draw, box):
    """An injective layout of the box, padded and swizzled or not."""
    order = draw(st.permutations(range(len(box))))
    strides, reached = [0] * len(box), 1
    for m in order:
        strides[m] = reached
        reached = reached * box[m] + draw(st.sampled_from((0, 0, 1, 3)))
    layout = cute.make_layout(tuple(box), stride=tuple(strides))
    bits, base, shift = draw(st.sampled_from(((1, 0, 1), (2, 1, 2), (2, 0, -3), (3, 2, 3))))
    swizzled = cute.make_composed_layout(cute.make_swizzle(bits, base, shift), 0, layout)
    fits = cute.cosize(layout) % 2 ** (bits + base + abs(shift)) == 0
    return draw(st.sampled_from((layout, swizzled))) if fits else layout


@st.composite
def sound_copies(draw):
    """(source, destination, memory of the destination, plan)"""
    dtype = draw(st.sampled_from(list(SIZES.values())))
    rank = draw(st.integers(1, 5))
    extents = tuple(draw(st.integers(1, (40, 20, 9, 6, 4)[rank - 1])) for _ in range(rank))
    _, src = draw(views(extents, dtype, source=True))
    memory, dst = draw(views(extents, dtype, source=False))
    plan = plan_of(src, dst, load_tv=None)
    tile = [draw(st.sampled_from((1, 2, 3, 4, 8)[: 6 - min(rank, 4)])) for _ in range(rank)]
    units = [[m for m in range(rank) if plan[side][m] == 1] for side in ("src_strides", "dst_strides")]
    vectors, modes, shift = [1, 1], [0, 0], 0
    staged = draw(st.booleans())
    for side in (0, 1):
        if units[side] and draw(st.booleans()):
            modes[side] = draw(st.sampled_from(units[side]))
            vectors[side] = draw(st.sampled_from((1, 2, 4)))
            if side == 1 and draw(st.booleans()):
                shift = draw(st.sampled_from((1, 2, 3, 4, 8)))
    if not staged:
        modes[1] = modes[0] = modes[0] if plan["dst_strides"][modes[0]] == 1 else 0
        vectors[1] = vectors[0] = vectors[0] if plan["dst_strides"][modes[0]] == 1 else 1
        shift = shift if plan["dst_strides"][modes[0]] == 1 else 0
    box = list(tile)
    if staged:
        box[modes[1]] += shift
    vectors[0] = math.gcd(vectors[0], box[modes[0]])
    vectors[1] = math.gcd(vectors[1], tile[modes[1]]) if staged else vectors[0]
    plan["load_tv"] = draw(thread_values(box, vectors[0], modes[0]))
    plan["store_tv"] = draw(thread_values(tile, vectors[1], modes[1])) if staged else plan["load_tv"]
    plan["smem"] = draw(shared_layouts(box)) if staged else None
    plan["tile"] = tuple(tile)
    plan["load_vector"], plan["store_vector"] = vectors
    plan["src_mode"], plan["dst_mode"] = modes
    plan["dst_shift"] = shift
    return src, dst, memory, plan


# ---- broken plans ----


def model(plan):
    """What check_copy counts, from the definition in plan.hpp: one access after the other."""
    rank = len(plan["extents"])
    modes = range(rank)
    extents, tile, smem = plan["extents"], plan["tile"], plan["smem"]
    size, s, d = plan["element_bytes"], plan["dst_shift"], plan["dst_mode"]
    box = [tile[m] + (s if s and smem and m == d else 0) for m in modes]
    pitches = [0 if extents[m] == 1 else plan["dst_strides"][m] for m in modes]
    outer = smem.outer if isinstance(smem, cute.ComposedLayout) else smem
    room = cute.cosize(outer) if smem else 0
    if isinstance(smem, cute.ComposedLayout):
        block = 1 << (smem.inner.num_bits + smem.inner.num_base + max(-smem.inner.num_shift, 0))
        room = -(-room // block) * block
    sizes = [cute.size(outer, mode=[m]) if rank > 1 else cute.size(outer) for m in modes] if smem else None
    found, written = Counter(), Counter()

    def coordinates(tv):
        for thread, value in itertools.product(range(cute.size(tv, mode=[0])), range(cute.size(tv, mode=[1]))):
            c = tv((thread, value))
            c = list(c) if isinstance(c, tuple) else [c]
            yield c + [0] * (rank - len(c))

    def sh(c):
        return (plan["dst_address"] // size + sum(c[m] * pitches[m] for m in modes if m != d)) % s if s else 0

    def inside(c):
        return all(0 <= c[m] < extents[m] for m in modes)

    def place(c):
        if any(not 0 <= c[m] < sizes[m] for m in modes):
            return None
        offset = smem(tuple(c) if rank > 1 else c[0])
        return offset if 0 <= offset < room else None

    def outside(coords, box):
        return sum(any(not 0 <= c[m] < box[m] for m in modes) for c in coords)

    loads, stores = list(coordinates(plan["load_tv"])), list(coordinates(plan["store_tv"]))
    found["outside_tile"] = outside(loads, box) + (outside(stores, tile) if smem else 0)
    tiles = [range(-(-(extents[m] + (s - 1 if s and m == d else 0)) // tile[m])) for m in modes]
    if 0 in extents:
        tiles = [range(0)]
    for index in itertools.product(*tiles[::-1]):
        origin = [i * e for i, e in zip(index[::-1], tile, strict=True)]
        image = {}
        for y in loads if smem else ():
            r = [o + c - (s if s and m == d else 0) for m, (o, c) in enumerate(zip(origin, y, strict=True))]
            if not inside(r):
                continue
            if (offset := place(y)) is None:
                found["outside_shared"] += 1
            else:
                found["shared_written_twice"] += offset in image
                image[offset] = r
        for x in stores if smem else loads:
            r = [o + c for o, c in zip(origin, x, strict=True)]
            y, shift = list(x), sh(r)
            if s:
                r[d] -= shift
                y[d] += s - shift
            if not inside(r):
                continue
            written[tuple(r)] += 1
            if not smem:
                continue
            if (offset := place(y)) is None:
                found["outside_shared"] += 1
            elif offset not in image:
                found["read_before_write"] += 1
            else:
                found["wrong"] += image[offset] != r
    found["never_written"] = math.prod(extents) - len(written)
    found["written_twice"] = sum(count > 1 for count in written.values())
    return {kind: count for kind, count in found.items() if count}


@st.composite
def broken_thread_values(draw, box):
    """Any layout with basis strides: gaps, overlaps, coordinates outside of the tile and below 0."""
    shape, stride = [], []
    for _ in range(2):
        leaves = [
            (draw(st.integers(1, 4)), draw(st.integers(-1, 4)), draw(st.integers(0, len(box) - 1)))
            for _ in range(draw(st.integers(1, 2)))
        ]
        shape.append("(" + ",".join(str(extent) for extent, _, _ in leaves) + ")")
        stride.append("(" + ",".join(f"{step}@{m}" if step else "0" for _, step, m in leaves) + ")")
    return L(f"({','.join(shape)}):({','.join(stride)})")


@st.composite
def broken_copies(draw):
    rank = draw(st.integers(1, 3))
    extents = tuple(draw(st.integers(0 if rank == 1 else 1, (20, 7, 4)[rank - 1])) for _ in range(rank))
    _, src = draw(views(extents, "i4", source=True))
    memory, dst = draw(views(extents, "i4", source=False))
    tile = tuple(draw(st.integers(1, 4)) for _ in range(rank))
    staged = draw(st.booleans())
    modes = [draw(st.integers(0, rank - 1)) for _ in range(2)]
    shift = draw(st.sampled_from((0, 0, 2, 3)))
    box = list(tile)
    if staged:
        box[modes[1]] += shift
    load = draw(thread_values(box) if draw(st.booleans()) else broken_thread_values(box))
    store = draw(thread_values(tile) if draw(st.booleans()) else broken_thread_values(box)) if staged else load
    smem = None
    if staged:
        strides = tuple(draw(st.integers(-1, 6)) for _ in box)
        extra = draw(st.integers(-1, 2))
        smem = cute.make_layout(tuple(max(1, e + extra) for e in box), stride=strides)
        smem = draw(st.sampled_from((smem, shared_layouts(box))))
        smem = draw(smem) if isinstance(smem, st.SearchStrategy) else smem
        if isinstance(smem, cute.Layout) and draw(st.booleans()):
            smem = cute.make_composed_layout(cute.make_swizzle(1, 0, 1), draw(st.integers(-2, 3)), smem)
    fields = {"tile": tile, "load_tv": load, "store_tv": store, "smem": smem, "src_mode": modes[0]}
    return src, memory, dst, plan_of(src, dst, dst_mode=modes[1], dst_shift=shift, **fields)
