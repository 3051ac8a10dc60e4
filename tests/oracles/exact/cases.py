"""Random operands: nested, up to rank 5, extents up to 2^20."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Any

from model import layouts as m
from model.layouts import Layout

SMALL = (1, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8)


def nest(random: Random, leaves: list[Any]) -> Any:
    """The leaves in a random tree."""
    if len(leaves) == 1:
        return (leaves[0],) if random.random() < 0.05 else leaves[0]
    cuts = sorted(random.sample(range(1, len(leaves)), random.randint(1, len(leaves) - 1)))
    parts = [leaves[i:j] for i, j in zip([0, *cuts], [*cuts, len(leaves)], strict=True)]
    return tuple(nest(random, part) for part in parts)


def layout_of(random: Random, extents: list[int], strides: list[Any]) -> Layout:
    shape = nest(random, extents)
    return Layout(shape, m.fill_leaves(shape, strides))


def extents_of(random: Random, rank: int, large: bool) -> list[int]:
    extents = [random.choice(SMALL) for _ in range(rank)]
    if large:
        for _ in range(random.randint(1, rank)):
            top = 1 << random.randint(3, 20)
            extents[random.randrange(rank)] = random.choice((top, random.randint(1, top), top // 8 * 3, top - 1))
    return [max(1, e) for e in extents]


def strides_of(random: Random, extents: list[int], negative: bool = True) -> list[int]:
    """Compact in some order, with gaps, with carries that cancel, or any."""
    kind = random.randrange(5)
    if kind == 0:
        return [random.choice((0, 1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 24)) for _ in extents]
    if kind == 1:
        signs = (1, 1, -1) if negative else (1,)
        return [random.randint(0, 1 << random.randint(1, 20)) * random.choice(signs) for _ in extents]
    strides = [0] * len(extents)
    order = list(range(len(extents)))
    if kind != 4:
        random.shuffle(order)
    reached = random.choice((0, 1, 1, 2)) if kind == 4 else random.choice((1, 1, 1, 2))
    for k in order:
        strides[k] = reached
        reached = reached * extents[k]
        if kind == 3:
            reached *= random.choice((1, 1, 2, 3))
        if kind == 4:
            reached += random.choice((-2, -1, 0, 1, 1, 2))
    return strides


def layout(random: Random, large: bool, rank: int = 5, negative: bool = True) -> Layout:
    while True:
        extents = extents_of(random, random.randint(1, rank), large)
        if prod(extents) <= 1 << 40:
            return layout_of(random, extents, strides_of(random, extents, negative))


def reach(layout: Layout) -> int:
    """No offset of the layout is beyond."""
    return sum((s - 1) * abs(d) for s, d in m.pairs(layout))


def fit_into_64_bits(a: Layout, b: Layout) -> bool:
    """Whether A(B(i)) does, by a wide margin."""
    return reach(b) * max(1, *(abs(d) for _, d in m.pairs(a))) < 1 << 60 and reach(a) < 1 << 60


def stride_into(random: Random, extents: list[int]) -> int:
    """Near a partial product of the extents, a divisor of one, or any."""
    size = prod(extents)
    near = random.choice(
        (prod(extents[: random.randint(0, len(extents))]), random.choice(SMALL), size // 2, random.randint(0, size))
    )
    if random.random() < 0.4:
        near *= random.choice((2, 3, 4, 6))
    return max(0, near + random.choice((0, 0, 0, 0, -1, 1)))


def right_of(random: Random, a: Layout, most: int, negative: bool = True) -> Layout:
    """A right operand for composition with A, of at most so many elements."""
    extents, strides = [], []
    for _ in range(random.choice((1, 1, 2, 2, 3, 4, 5))):
        extent = random.choice(SMALL)
        if most > 4096 and random.random() < 0.5:
            top = 1 << random.randint(2, 20)
            extent = random.choice((top, top // 4 * 3, random.randint(1, top)))
        if extent == 0 or extent * prod(extents) > most:
            continue
        extents.append(extent)
        sign = -1 if negative and random.random() < 0.08 else 1
        strides.append(sign * stride_into(random, m.leaves(a.shape)))
    if not extents:
        extents, strides = [2], [1]
    return layout_of(random, extents, strides)


def with_basis(random: Random, a: Layout, b: Layout) -> tuple[Layout, Layout]:
    """Strides of B name modes of A, or those of A entries of its codomain."""
    if random.random() < 0.5 and isinstance(a.shape, tuple):
        strides = []
        for d in m.leaves(b.stride):
            path = (random.randrange(len(a.shape)),)
            inner = a.shape[path[0]]
            if isinstance(inner, tuple) and random.random() < 0.5:
                path = (*path, random.randrange(len(inner)))
            strides.append(m.Basis(d, path) if d else 0)
        # A coordinate is a number or names modes on one level: not both.
        paths = {d.path for d in strides if d != 0}
        if not any(p != q and p == q[: len(p)] for p in paths for q in paths):
            b = Layout(b.shape, m.fill_leaves(b.shape, strides))
        return a, b
    strides = [m.Basis(d, (random.randrange(2),)) if d else 0 for d in m.leaves(a.stride)]
    return Layout(a.shape, m.fill_leaves(a.shape, strides)), b


def block(random: Random, large: bool, rank: int = 3) -> Layout:
    """A tile or block: no negative strides, most of them without overlap."""
    extents = extents_of(random, random.randint(1, rank), large)
    return layout_of(random, extents, strides_of(random, extents, negative=False))


def tile_for(random: Random, a: Layout, large: bool) -> Layout:
    """A tile that fits into A: modes cut out of those of A, or any."""
    if random.random() < 0.4:
        return block(random, large)
    extents, modes, reached = m.leaves(a.shape), [], 1
    for extent in extents:
        cut = random.choice([d for d in (1, 2, 3, 4, 6, 8, extent) if extent % d == 0] + [random.choice(SMALL)])
        start = reached * random.choice([d for d in (1, 1, 2, 3) if extent % (d * cut) == 0] or [1])
        modes.append((cut, start))
        reached *= extent
    random.shuffle(modes)
    kept = modes[: random.randint(1, min(3, len(modes)))]
    return layout_of(random, [s for s, _ in kept], [d for _, d in kept])
