"""Random layouts for the properties: small enough to enumerate and to print.

A drawn layout is the model's; `as_cute` builds the library's, with some leaves dynamic if asked. Pairs of operands come
in three kinds: admissible by construction (a call may not refuse them), off by one from that, and free.

A strategy that is made for one draw costs Hypothesis more than the draw, for it is validated and labelled first. So the
strategies that examples draw from are kept, and what depends on a layout drawn before is a function of `draw`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st

import tilewright as tw
from drawing import booleans, composite, integers, unwrapped
from model import layouts as m
from model import values
from model.layouts import Layout
from tilewright import cute

T = TypeVar("T")

orders = cache(lambda count: unwrapped(st.permutations(range(count))))


def element(draw: st.DrawFn, elements: Sequence[T]) -> T:
    """One of these, the first where it can be: sampled_from(elements)."""
    return elements[draw(integers(0, len(elements) - 1))]


def shuffled(draw: st.DrawFn, elements: Sequence[T]) -> list[T]:
    """These in any order: permutations(elements)."""
    return [elements[i] for i in draw(orders(len(elements)))]


EXTENTS = (1, 2, 3, 4, 5, 6, 7, 8, 16)
MAX_SIZE = 512
MAX_DEPTH = 4

ADMISSIBLE, OFF_BY_ONE, FREE = "admissible", "off by one", "free"
# Hypothesis draws the first element where it can: 3 of 10, 3 of 10, 4 of 10.
KINDS = unwrapped(st.sampled_from([ADMISSIBLE] * 3 + [OFF_BY_ONE] * 3 + [FREE] * 4))


@cache
def trees(leaves: int, depth: int, wraps: int) -> tuple[Any, ...]:
    """All nestings with that many leaves (each 0), at most `depth` levels and `wraps` tuples of one element."""
    found: list[Any] = [0] if leaves == 1 else []
    if depth == 0:
        return tuple(found)
    if wraps:
        found += [(t,) for t in trees(leaves, depth - 1, wraps - 1)]
    for first in range(1, leaves):
        for head in trees(first, depth - 1, wraps):
            for rest in trees(leaves - first, depth, wraps - singles(head)):
                tail = rest if isinstance(rest, tuple) and len(rest) > 1 else (rest,)
                found.append((head, *tail))
    allowed = {t for t in found if m.depth(t) <= depth and singles(t) <= wraps}
    return tuple(sorted(allowed, key=lambda t: (singles(t), m.depth(t), str(t))))


def singles(tree: Any) -> int:
    return (len(tree) == 1) + sum(map(singles, tree)) if isinstance(tree, tuple) else 0


def profiles(max_leaves: int = 5) -> st.SearchStrategy[Any]:
    """Nestings of depth up to 4, the simple ones first: Hypothesis shrinks towards the start of a list."""
    return unwrapped(st.one_of(*(st.sampled_from(trees(n, MAX_DEPTH, 1)) for n in range(1, max_leaves + 1))))


PROFILES = profiles()
FITTING = {room: [e for e in EXTENTS if e <= room] for room in range(1, EXTENTS[-1] + 1)}


@cache
@composite
def shapes(draw: st.DrawFn, max_size: int = MAX_SIZE) -> Any:
    nesting = draw(PROFILES)
    room, extents = max_size, []
    for _ in m.leaves(nesting):
        extents.append(element(draw, FITTING[min(room, EXTENTS[-1])]))
        room //= extents[-1]
    return m.fill_leaves(nesting, extents)


def compact_strides(draw: st.DrawFn, shape: Any, gaps: bool = False, zeros: bool = False) -> Any:
    """A compact layout in any order of the modes; with gaps between them, with some strides 0."""
    extents = m.leaves(shape)
    strides, reached = [0] * len(extents), 1
    for i in shuffled(draw, range(len(extents))):
        if zeros and draw(booleans):
            continue
        if gaps:
            reached *= element(draw, (1, 1, 2, 3))
        strides[i] = reached
        reached *= extents[i]
    return m.fill_leaves(shape, strides)


def free_strides(draw: st.DrawFn, shape: Any, negative: bool = True) -> Any:
    """0, 1, products of extents, and their neighbours, of either sign."""
    products = sorted({p * e for p in m.leaves(values.compact(shape).stride) for e in EXTENTS if p * e <= 2 * MAX_SIZE})
    pools = (0, 1), products, [p + step for p in products for step in (1, -1)]
    strides = []
    for _ in m.leaves(shape):
        sign = -1 if negative and draw(booleans) else 1
        strides.append(sign * element(draw, element(draw, pools)))
    return m.fill_leaves(shape, strides)


@cache
@composite
def layouts(draw: st.DrawFn, max_size: int = MAX_SIZE, negative: bool = True) -> Layout:
    """Any layout: compact, with gaps, with stride 0, or with arbitrary strides."""
    shape = draw(shapes(max_size))
    kind = draw(integers(0, 3))
    if kind == 3:
        return Layout(shape, free_strides(draw, shape, negative))
    return Layout(shape, compact_strides(draw, shape, gaps=kind > 0, zeros=kind > 1))


@cache
@composite
def injective_layouts(draw: st.DrawFn, max_size: int = MAX_SIZE, gaps: bool = True) -> Layout:
    """Layouts whose sorted modes nest: every stride is a multiple of the extent below it."""
    shape = draw(shapes(max_size))
    return Layout(shape, compact_strides(draw, shape, gaps))


@cache
def divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def divided(draw: st.DrawFn, domain: Layout) -> Layout:
    """A layout into the domain's indices with which it composes exactly: its modes are runs of the domain's modes, cut
    at a divisor, in any order."""
    extents, runs, reached = m.leaves(domain.shape), [], 1
    i = 0
    while i < len(extents):
        j = i + 1 if draw(booleans) else draw(integers(i + 1, len(extents)))
        size = m.product(tuple(extents[i:j]))
        if j == i + 1:  # one mode of the domain: any divisor of it, from any multiple of another
            cut = element(draw, divisors(size))
            runs += [(cut, reached), (size // cut, reached * cut)]
        else:
            runs.append((size, reached))
        reached *= size
        i = j
    chosen = [Layout(s, d) for s, d in shuffled(draw, runs)[: draw(integers(1, len(runs)))]]
    inner = draw(integers(0, len(chosen) - 1))  # the modes before `inner` stay at the top, the rest is nested
    return m.join([*chosen[:inner], m.join(chosen[inner:])]) if inner else m.join(chosen)


dividing = composite(divided)


def off_by_one(draw: st.DrawFn, layout: Layout) -> Layout:
    """One extent or one stride moved by one."""
    extents, strides = m.leaves(layout.shape), m.leaves(layout.stride)
    i, step = draw(integers(0, len(extents) - 1)), element(draw, (1, -1))
    if draw(booleans):
        extents[i] = max(1, extents[i] + step)
    else:
        strides[i] += step
    return Layout(m.fill_leaves(layout.shape, extents), m.fill_leaves(layout.stride, strides))


@cache
@composite
def compositions(draw: st.DrawFn) -> tuple[str, Layout, Layout]:
    """(kind, A, B)"""
    kind, a = draw(KINDS), draw(layouts())
    if kind == FREE:
        return kind, a, draw(layouts(max_size=64))
    b = divided(draw, a)
    return kind, a, b if kind == ADMISSIBLE else off_by_one(draw, b)


def tiler(draw: st.DrawFn, a: Layout, kind: str) -> Any:
    """A tiler for A: an extent or a layout for the whole, or one tiler for each of its first modes."""
    modes = m.modes(a)
    if isinstance(a.shape, tuple) and draw(booleans):
        count = draw(integers(1, len(modes)))
        return tuple(tiler(draw, mode, kind) for mode in modes[:count])
    if draw(booleans):
        extent = element(draw, divisors(m.leaves(a.shape)[0]))  # a part of the first leaf always fits
        return extent if kind == ADMISSIBLE else max(1, extent + element(draw, (-1, 0, 1, 2)))
    if kind == FREE:
        return draw(layouts(max_size=32, negative=False))
    tile = divided(draw, a)
    return tile if kind == ADMISSIBLE else off_by_one(draw, tile)


@cache
@composite
def divisions(draw: st.DrawFn) -> tuple[str, Layout, Any]:
    """(kind, A, tiler)"""
    kind, a = draw(KINDS), draw(layouts(max_size=256))
    return kind, a, tiler(draw, a, kind)


@cache
@composite
def products(draw: st.DrawFn) -> tuple[str, Layout, Layout]:
    """(kind, block, tiler): compact blocks and tilers always go together."""
    kind = draw(KINDS)
    block = draw(injective_layouts(max_size=32, gaps=kind != ADMISSIBLE))
    second = draw(injective_layouts(max_size=16, gaps=False))
    if kind == FREE:
        return kind, draw(layouts(max_size=32, negative=False)), draw(layouts(max_size=16, negative=False))
    return kind, off_by_one(draw, block) if kind == OFF_BY_ONE else block, second


# The simple ones first.
SWIZZLES = [
    (bits, base, shift)
    for bits in range(5)
    for base in range(6)
    for shift in sorted(range(-5, 6), key=lambda shift: (abs(shift), -shift))
    if abs(shift) >= bits
]
swizzles = unwrapped(st.sampled_from(SWIZZLES))


def coordinate(draw: st.DrawFn, shape: Any, underscores: bool = False) -> Any:
    """A coordinate inside the shape, as deep as the shape or less; with None for some modes if asked."""
    if underscores and draw(booleans):
        return None
    if isinstance(shape, tuple) and draw(booleans):
        return tuple(coordinate(draw, s, underscores) for s in shape)
    return draw(integers(0, m.product(shape) - 1))


coordinates = composite(coordinate)


# ---- to the library --------------------------------------------------------------------------------------------------


def as_cute(x: Any, dynamic: frozenset[int] = frozenset()) -> Any:
    """The library's object; leaves (shape first, then stride) with an index in `dynamic` become run-time integers."""
    if isinstance(x, Layout):
        count = len(m.leaves(x.shape))
        shape = _marked(x.shape, dynamic, 0)
        return cute.make_layout(shape, stride=_marked(x.stride, dynamic, count))
    if isinstance(x, tuple):
        return tuple(as_cute(e) for e in x)
    return cute.ScaledBasis(x.value, tuple(reversed(x.path))) if isinstance(x, m.Basis) else x


def _marked(x: Any, dynamic: frozenset[int], first: int) -> Any:
    leaves = enumerate(m.leaves(x), first)
    return m.fill_leaves(x, [tw.Int64(leaf) if i in dynamic else as_cute(leaf) for i, leaf in leaves])


# Which leaves are dynamic: none in most examples.
marks = st.one_of(st.just(frozenset()), st.just(frozenset()), st.frozensets(st.integers(0, 11), max_size=6))


def as_model(x: Any) -> Any:
    """The library's object, with the values of its run-time integers."""
    if isinstance(x, cute.Layout):
        return Layout(as_model(x.shape), as_model(x.stride))
    if isinstance(x, tuple):
        return tuple(as_model(e) for e in x)
    if isinstance(x, cute.ScaledBasis):
        return m.Basis(as_model(x.value), tuple(reversed(x.mode)))
    return x if x is None or isinstance(x, int) else x._value
