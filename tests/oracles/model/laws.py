"""The laws of the layout algebra as predicates: each returns None, or what is broken, with the first counter-example.

Only values count here (and the profile where a law speaks of it); the exact structure is the golden vectors' business.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

from . import layouts as m
from .layouts import Layout


@dataclass(frozen=True)
class Broken:
    law: str
    coordinate: int | None = None
    got: Any = None
    expected: Any = None

    def __str__(self) -> str:
        where = "" if self.coordinate is None else f" at {self.coordinate}: got {self.got}, expected {self.expected}"
        return self.law + where


def compare(law: str, got: list[Any], expected: list[Any]) -> Broken | None:
    if got == expected:
        return None
    for i, (g, e) in enumerate(zip(got, expected, strict=True)):
        if g != e:
            return Broken(law, i, g, e)
    return None


def positive(layout: Layout) -> Broken | None:
    if all(s > 0 for s in m.leaves(layout.shape)):
        return None
    return Broken(f"shape {m.text(layout.shape)} has an extent that is not positive")


def same_function(a: Layout, r: Layout) -> Broken | None:
    if bad := positive(r):
        return bad
    if m.size(a) != m.size(r):
        return Broken(f"size {m.size(r)} differs from {m.size(a)}")
    return compare("R(i) = A(i)", m.offsets(r), m.offsets(a))


def same_image(a: Layout, r: Layout) -> Broken | None:
    """The same values in the order in which A first takes them."""
    return positive(r) or compare("the values of A in order", m.distinct(r), m.distinct(a))


# ---- composition -----------------------------------------------------------------------------------------------------


def composition(a: Layout, b: Layout, r: Layout) -> Broken | None:
    """R(i) = A(B(i)) for all i < |B|, and the shape of R refines the shape of B."""
    if bad := positive(r):
        return bad
    if m.size(r) != m.size(b):
        return Broken(f"size {m.size(r)} differs from that of the right operand, {m.size(b)}")
    if not m.refines(b.shape, r.shape):
        return Broken(f"shape {m.text(r.shape)} does not refine {m.text(b.shape)}")
    return compare("R(i) = A(B(i))", m.offsets(r), [m.at_value(a, v) for v in m.offsets(b)])


def as_layout(tiler: Any) -> Layout:
    """A leaf of a tiler as a layout: n is n:1."""
    return tiler if isinstance(tiler, Layout) else Layout(tiler, 1)


def composition_tiler(a: Layout, tiler: Any, r: Layout) -> Broken | None:
    """By mode: every leaf of the tiler composes with its mode of A, None keeps the mode, further modes are dropped."""
    if tiler is None:
        return None if a == r else Broken(f"an untouched mode changed from {a} to {r}")
    if not isinstance(tiler, tuple):
        return composition(a, as_layout(tiler), r)
    if len(m.modes(r)) != len(tiler) or len(m.modes(a)) < len(tiler):
        return Broken(f"rank {len(m.modes(r))} differs from that of the tiler, {len(tiler)}")
    for mode, t, result in zip(m.modes(a), tiler, m.modes(r), strict=False):
        if bad := composition_tiler(mode, t, result):
            return bad
    return None


# ---- complement ------------------------------------------------------------------------------------------------------


def translates(tile: set[int], end: int) -> list[int] | None:
    """The only set C, below `end`, such that every index below `end` is t + c in one way; None if there is none."""
    covered: set[int] = set()
    starts = []
    for start in range(end):
        if start in covered:
            continue
        moved = {start + t for t in tile}
        if moved & covered or 0 not in tile:
            return None
        starts.append(start)
        covered |= moved
    return starts


def tileable(a: Layout, end: int) -> bool:
    """Whether copies of the image, moved by the offsets of a layout, make up all indices below `end`.

    So the modes fill what lies below the next one, each stride being a multiple of where those below it end.
    """
    reached = 1
    for extent, stride in sorted((x for x in m.pairs(a) if x[0] > 1 and x[1] > 0), key=lambda x: x[1]):
        if stride % reached:
            return False
        reached = extent * stride
    return translates(set(m.offsets(a)), end) is not None


def complement(a: Layout, cotarget: Any, r: Layout) -> Broken | None:
    """R increases, meets A only in 0, and reaches the end of the cotarget; (A, R) is injective if A is, and covers the
    cotarget if A can tile it."""
    if bad := positive(r):
        return bad
    image, rest = m.offsets(a), m.offsets(r)
    for i in range(1, len(rest)):
        if rest[i] <= rest[i - 1]:
            return Broken("R(i) > R(i-1)", i, rest[i], f"more than {rest[i - 1]}")
    if shared := (set(image) & set(rest)) - {0}:
        return Broken(f"the images meet in {min(shared)}")
    tile = set(image)
    both = [x + y for y in rest for x in sorted(tile)]
    if len(set(both)) != len(both) and len(tile) == len(image):
        return Broken("(A, R) is injective")
    end = m.product(cotarget)
    reached = max([s * d for s, d in [*m.pairs(a), *m.pairs(r)] if s > 1 and d > 0], default=1)
    missing = set(range(end)) - set(both)
    if reached < end and missing:
        return Broken(f"(A, R) ends at {reached}, below {end}")
    if tileable(a, end) and missing:
        return Broken(f"(A, R) covers {min(missing)}")
    return None


# ---- inverses --------------------------------------------------------------------------------------------------------


def right_inverse(a: Layout, r: Layout) -> Broken | None:
    return positive(r) or compare("A(R(i)) = i", [m.at(a, v) for v in m.offsets(r)], list(range(m.size(r))))


def left_inverse(a: Layout, r: Layout) -> Broken | None:
    """L(A(i)) = i where A is injective; where A repeats itself L finds one of the coordinates: A(L(A(i))) = A(i)."""
    if bad := positive(r):
        return bad
    values = m.offsets(a)
    found = [m.at(r, v) for v in values]
    if len(set(values)) == len(values):
        return compare("L(A(i)) = i", found, list(range(len(values))))
    return compare("A(L(A(i))) = A(i)", [m.at(a, i) for i in found], values)


def nullspace(a: Layout, r: Layout) -> Broken | None:
    if bad := positive(r):
        return bad
    values = [m.at(a, v) for v in m.offsets(r)]
    if bad := compare("A(N(i)) = 0", values, [0] * len(values)):
        return bad
    nonzero = m.join([Layout(1, 0), *(Layout(s, d) for s, d in m.pairs(a) if d != 0)])
    if m.injective(nonzero) and m.size(r) * len(set(m.offsets(a))) != m.size(a):
        return Broken(f"|N| = {m.size(r)}, but |A| / |im A| = {m.size(a)} / {len(set(m.offsets(a)))}")
    return None


def max_common(a: Layout, b: Layout, r: Layout) -> Broken | None:
    return right_inverse(a, r) or right_inverse(b, r)


# ---- division --------------------------------------------------------------------------------------------------------


def division(a: Layout, tiler: Any, r: Layout) -> Broken | None:
    """R = A o (T, T*) at every coordinate inside A, and nothing of A is lost; a tile may overhang.

    T* is the complement of T by brute force: the only increasing sequence of starts at which copies of T tile.
    """
    tile = as_layout(tiler)
    if bad := positive(r):
        return bad
    step, inside = m.size(tile), m.size(a)
    if m.size(r) % step:
        return Broken(f"size {m.size(r)} of the result is not a multiple of that of the tile, {step}")
    image = m.offsets(tile)
    starts = translates(set(image), inside)
    if starts is None:
        return Broken(f"copies of {tile} do not tile {inside} elements")
    count = m.size(r) // step
    if count < len(starts):
        return Broken(f"{count} copies of the tile lose elements of A: {len(starts)} are needed")
    got = m.offsets(r)
    for j, start in enumerate(starts):
        for i, t in enumerate(image):
            index = start + t
            if 0 <= index < inside and got[j * step + i] != m.at(a, index):
                return Broken("R(i) = A((T,T*)(i))", j * step + i, got[j * step + i], m.at(a, index))
    return None


def by_mode(law: Any, a: Layout, tiler: Any, r: Layout) -> Broken | None:
    """`law` for every leaf of the tiler and its mode of A; None and further modes keep the mode."""
    if tiler is None:
        return None if a == r else Broken(f"an untouched mode changed from {a} to {r}")
    if not isinstance(tiler, tuple):
        result: Broken | None = law(a, tiler, r)
        return result
    if len(m.modes(r)) != len(m.modes(a)) or len(tiler) > len(m.modes(a)):
        return Broken(f"rank {len(m.modes(r))} differs from that of A, {len(m.modes(a))}")
    for mode, t, result_mode in zip(m.modes(a), [*tiler, *[None] * len(m.modes(a))], m.modes(r), strict=False):
        if bad := by_mode(law, mode, t, result_mode):
            return bad
    return None


def logical(form: str, tiler: Any, r: Layout, head: int) -> Layout:
    """A zipped, tiled or flat result regrouped as the logical one: ((t0,r0),(t1,r1),...).

    A part of rank 1 is never unpacked. `head` is the rank of the tile part where a leaf tiler leaves it open.
    """
    top = m.modes(r)
    if form == "logical" or (form == "zipped" and not isinstance(tiler, tuple)):
        return r
    if form == "flat":
        n = len(tiler) if isinstance(tiler, tuple) else head
        tile, rest = (top[0] if n == 1 else m.join(top[:n])), top[n:]
    else:
        tile, rest = top[0], top[1:]
    others = rest[0] if len(rest) == 1 else m.join(rest)
    if not isinstance(tiler, tuple):
        return m.join([tile, others])
    tiles, rests = m.modes(tile), m.modes(others)
    together = [logical("zipped", t, m.join([x, y]), 0) for t, x, y in zip(tiler, tiles, rests, strict=False)]
    return m.join([*together, *rests[len(tiler) :]])


def head_rank(r: Layout, tile_size: int) -> int:
    """How many leading modes make up a tile of that size."""
    n = 1
    while m.product(tuple(x.shape for x in m.modes(r)[:n])) < tile_size:
        n += 1
    return n


def divide(form: str, a: Layout, tiler: Any, r: Layout) -> Broken | None:
    leaf = tiler is not None and not isinstance(tiler, tuple)
    head = head_rank(r, m.size(as_layout(tiler))) if form == "flat" and leaf else 0
    return by_mode(division, a, tiler, logical(form, tiler, r, head))


# ---- products --------------------------------------------------------------------------------------------------------


def starts_of(block: Layout, end: int, count: int) -> list[list[int]]:
    """The first `count` elements of complements of the block: by tiling, if it tiles, and from the gaps between its
    modes, the smallest stride first; a mode of extent 1 counts only where the extent is a run-time integer."""
    if (found := translates(set(m.offsets(block)), end)) is not None and len(found) >= count:
        starts = [found[:count]]
    else:
        starts = []
    for least in (2, 1):
        gaps, reached = [], 1
        for extent, stride in sorted((p for p in m.pairs(block) if p[0] >= least and p[1]), key=lambda p: p[1]):
            if stride < reached:
                break
            gaps.append((stride // reached, reached))
            reached = stride * extent
        else:
            shape, strides = (*(g for g, _ in gaps), count), (*(d for _, d in gaps), reached)
            starts.append([m.at(Layout(shape, strides), k) for k in range(count)])
    return starts


def splits(coarse: Any, fine: Any) -> bool:
    """Every leaf of `coarse` is a run of leaves of `fine`, whatever the nesting."""
    ends, total = set(), 1
    for s in m.leaves(fine):
        ends.add(total := total * s)
    total = 1
    return all((total := total * s) in ends for s in m.leaves(coarse))


def replication(a: Layout, tiler: Any, r: Layout) -> Broken | None:
    """R = (A, A* o B): mode 0 is A, mode 1 has B's shape."""
    b = as_layout(tiler)
    if bad := positive(r):
        return bad
    if len(m.modes(r)) != 2 or m.pairs(m.modes(r)[0]) != m.pairs(a):
        return Broken(f"mode 0 of {r} is {a}")
    copies = m.modes(r)[1]
    if m.size(copies) != m.size(b) or not splits(b.shape, copies.shape):
        return Broken(f"the shape of mode 1 {copies} refines that of {b}")
    steps = m.offsets(b)
    starts = starts_of(a, m.size(a) * m.cosize(b), max(steps) + 1)
    if not starts:
        return Broken(f"{a} overlaps itself, so it has no complement")
    broken = [compare("R1(j) = A*(B(j))", m.offsets(copies), [complement[s] for s in steps]) for complement in starts]
    return None if None in broken else broken[0]


def multiply(form: str, a: Layout, tiler: Any, r: Layout) -> Broken | None:
    return by_mode(replication, a, tiler, logical(form, tiler, r, len(m.modes(a))))


def padded(layout: Layout, rank: int) -> Layout:
    have = m.modes(layout)
    return m.join([*have, *[Layout(1, 0)] * (rank - len(have))])


def unzipped(r: Layout, block_first: bool) -> Layout:
    """((x0,y0),(x1,y1),...) as ((x0,x1,...),(y0,y1,...)), block first."""
    split = [m.modes(mode) for mode in m.modes(r)]
    if any(len(p) != 2 for p in split):
        raise ValueError(f"{r} has a mode that is no pair")
    first, second = m.join([p[0] for p in split]), m.join([p[1] for p in split])
    return m.join([first, second] if block_first else [second, first])


def paired_product(kind: str, block: Layout, tiler: Layout, r: Layout) -> Broken | None:
    """Blocked and raked: the logical product of the padded operands, zipped mode by mode."""
    rank = max(len(m.modes(block)), len(m.modes(tiler)))
    return replication(padded(block, rank), padded(tiler, rank), unzipped(r, kind == "blocked"))


def layout_tv(thr: Layout, val: Layout, r: dict[str, Any]) -> Broken | None:
    """The TV layout inverts the raked product: (thread, value) names each element of the tile once."""
    mn, tv = r["layout_mn"], r["layout_tv"]
    if bad := paired_product("raked", thr, val, mn):
        return bad
    if tuple(m.size(x) for x in m.modes(mn)) != tuple(r["tiler_mn"]):
        return Broken(f"tiler {r['tiler_mn']} is the size of each mode of {mn}")
    if [m.size(x) for x in m.modes(tv)] != [m.size(thr), m.size(val)]:
        return Broken(f"the sizes of {tv} are threads and values")
    return compare("MN(TV(i)) = i", [m.at(mn, v) for v in m.offsets(tv)], list(range(m.size(tv))))


def ordered(shape: Any, order: Any) -> Layout:
    """Each leaf steps over all leaves of lower order; an order leaf stands for a whole mode and counts up in it."""
    ranks: list[Any] = []

    def rank(s: Any, o: Any) -> None:
        if isinstance(o, tuple):
            for pair in zip(s, o, strict=True):
                rank(*pair)
        else:
            ranks.extend((o, i) for i in range(len(m.leaves(s))))

    rank(shape, order)
    extents = m.leaves(shape)
    strides = [m.product(tuple(s for s, r in zip(extents, ranks, strict=True) if r < mine)) for mine in ranks]
    return Layout(tuple(extents), tuple(0 if s == 1 else d for s, d in zip(extents, strides, strict=True)))


def tile_to_shape(block: Layout, target: Any, order: Any, r: Layout) -> Broken | None:
    """The blocked product with the copies in the given order; each mode has the target's size."""
    if bad := positive(r):
        return bad
    targets = [m.product(t) for t in (target if isinstance(target, tuple) else (target,))]
    if [m.size(x) for x in m.modes(r)] != targets:
        return Broken(f"the modes of {r} have the sizes {m.text(target)}")
    blocks = [m.size(x) for x in m.modes(padded(block, len(targets)))]
    counts = tuple(t // s for t, s in zip(targets, blocks, strict=True))
    default = tuple(range(len(targets)))
    return paired_product("blocked", block, ordered(counts, default if order is None else order), r)


# ---- recast ----------------------------------------------------------------------------------------------------------


def upcast(a: Layout, n: int, r: Layout) -> Broken | None:
    """R counts groups of n: a leaf of stride d < n packs n/d coordinates into one, and A(c) lies in group R(c').

    Group R(c') starts at A's first element there. Where the stride is not known before run time the extent stays.
    """
    if bad := positive(r):
        return bad
    if not m.congruent(a.shape, r.shape):
        return Broken(f"{r} has the profile of {a}")
    packs = []
    for (s, d), extent in zip(m.pairs(a), m.leaves(r.shape), strict=True):
        pack = min(s, n // abs(d)) if d and n % abs(d) == 0 else 1
        if extent not in (s, -(-s // pack)):
            return Broken(f"extent {extent} is {s} / {pack}")
        packs.append(pack if extent == -(-s // pack) else 1)
    strides = m.leaves(r.stride)
    got = []
    for i in range(m.size(a)):
        digits = m.coordinates(i, a.shape)
        got.append(sum(c // k * d for c, k, d in zip(digits, packs, strides, strict=True)))
    if bad := compare("R(c') = floor(A(c) / n)", got, [v // n for v in m.offsets(a)]):
        return bad
    first = Layout(r.shape, m.fill_leaves(r.shape, [k * d for k, (_, d) in zip(packs, m.pairs(a), strict=True)]))
    return compare("n R(c') = A(first c of c')", [n * v for v in m.offsets(r)], m.offsets(first))


def downcast(a: Layout, n: int, r: Layout) -> Broken | None:
    """R counts parts of 1/n, each once: along the leaf of stride 1 element v has the parts n v to n v + n - 1."""
    if bad := positive(r):
        return bad
    if not m.congruent(a.shape, r.shape):
        return Broken(f"{r} has the profile of {a}")
    if m.size(r) != n * m.size(a):
        return Broken(f"{m.size(a)} elements have {n * m.size(a)} parts, but the size is {m.size(r)}")
    units = [d == 1 and extent == s * n for (s, d), extent in zip(m.pairs(a), m.leaves(r.shape), strict=True)]
    extents = [s * n if unit else s for (s, _), unit in zip(m.pairs(a), units, strict=True)]
    if extents != m.leaves(r.shape):
        return Broken(f"{r} has the extents {m.text(tuple(extents))}")
    strides = m.leaves(r.stride)
    part = strides[units.index(True)] if True in units else 0
    got, expected = [], []
    for i, v in enumerate(m.offsets(a)):
        digits = [c * n if unit else c for c, unit in zip(m.coordinates(i, a.shape), units, strict=True)]
        first = sum(c * d for c, d in zip(digits, strides, strict=True))
        got += [first + k * part for k in range(n)]
        expected += [n * v + k for k in range(n)]
    return compare("R(n c + k) = n A(c) + k", got, expected)


def recast(a: Layout, old_bits: int, new_bits: int, r: Layout) -> Broken | None:
    """The same memory: an upcast, a downcast, or, where neither width divides the other, the same bits, none twice."""
    common = gcd(old_bits, new_bits)
    parts, group = old_bits // common, new_bits // common
    if group == 1:
        return downcast(a, parts, r)
    if parts == 1:
        return upcast(a, group, r)
    if bad := positive(r):
        return bad
    if m.size(a) * parts != m.size(r) * group:
        return Broken(f"{m.size(r)} elements of {new_bits} bits are not {m.size(a)} of {old_bits}")
    before = {parts * v + k for v in m.offsets(a) for k in range(parts)}
    after = {group * v + k for v in m.offsets(r) for k in range(group)}
    return None if before == after else Broken("the two cover different bits")


# ---- slices and coordinates ------------------------------------------------------------------------------------------


def slice_and_offset(a: Layout, coord: Any, r: Layout, offset: Any) -> Broken | None:
    """A with its fixed coordinates, at x, is the slice at x plus the offset."""
    free = m.kept(a, coord)
    whole = m.join(free)
    if m.size(whole) != m.size(r):
        return Broken(f"size {m.size(r)} differs from that of the kept modes, {m.size(whole)}")
    got, expected = [], []
    values = m.offsets(r)
    for i, value in enumerate(values):
        rest, digits = i, []
        for mode in free:
            digits.append(rest % m.size(mode))
            rest //= m.size(mode)
        got.append(m.add(value, offset))
        expected.append(m.at_coord(a, m.fill(coord, digits)))
    return compare("R(x) + offset = A(c, x)", got, expected)
