"""Small worlds of compositions, looked at whole: which are layouts follows from linear equations in A's strides.

f(i) = A(d i) is a layout on [0, s) if and only if for some ordered factorisation of s into primes, with the partial
products m_l, f(i) is the sum of digit_l(i) f(m_l) for all i. For fixed extents and s:d that is linear in the strides
of A, and decided for all strides at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from math import prod
from random import Random

import numpy as np
from numpy.typing import NDArray

from model import layouts as m
from strategies import as_model
from tilewright import LayoutError, cute

Table = NDArray[np.int64]


def factorisations(s: int) -> Iterator[list[int]]:
    """The partial products of every order of the primes of s."""
    if s == 1:
        yield [1]
        return
    for p in range(2, s + 1):
        if s % p == 0 and all(p % q for q in range(2, p)):
            for rest in factorisations(s // p):
                yield [1, *(p * mark for mark in rest)]


def digits_in(extents: Sequence[int], x: Table) -> Table:
    """One row for each extent; the last does not wrap."""
    rows = []
    for extent in extents[:-1]:
        x, digit = np.divmod(x, extent)
        rows.append(digit)
    return np.array([*rows, x])


def are_layouts(extents: Sequence[int], s: int, d: int, strides: Table) -> NDArray[np.bool_]:
    """For each row of strides, whether A(d i) for i < s is a layout."""
    i = np.arange(s)
    digits = digits_in(extents, d * i)
    found = np.zeros(len(strides), bool)
    for marks in factorisations(s):
        quotients = [q // p for p, q in pairwise(marks)]
        split = digits_in([*quotients, 1], i)[: len(quotients)] if quotients else np.zeros((0, s), np.int64)
        difference = digits - digits[:, marks[: len(quotients)]] @ split
        difference = np.unique(difference, axis=1)
        found |= ~(strides @ difference).any(axis=1)
    return found


def inside(size: int) -> Iterator[tuple[int, int]]:
    """All s:d with 2 <= s and d >= 1 whose last offset is below the size."""
    for d in range(1, size):
        for s in range(2, (size - 1) // d + 2):
            yield s, d


def explore(extents: Sequence[int], steps: Sequence[int]) -> tuple[Counter[str], list[str]]:
    """All A of these extents with strides among the steps, with every s:d inside: how many there are, and findings."""
    return judge(extents, np.array(list(product(steps, repeat=len(extents)))))


def drawn(random: Random, rows: int = 64) -> tuple[Counter[str], list[str]]:
    """Random extents and so many random strides of them: some are small, some compact, some of any size and sign."""
    extents = [random.choice((2, 2, 3, 4, 5, 6, 8)) for _ in range(random.randint(1, 4))]
    while prod(extents) > 64:
        extents.pop()
    compact = [prod(extents[:k]) for k in range(len(extents))]

    def stride() -> int:
        kind = random.random()
        if kind < 0.4:
            return random.randint(0, 12)
        return (
            random.choice(compact) * random.choice((1, 1, 2, 3)) if kind < 0.85 else random.randint(-(1 << 20), 1 << 20)
        )

    return judge(extents, np.array([[stride() for _ in extents] for _ in range(rows)]))


def judge(extents: Sequence[int], strides: Table) -> tuple[Counter[str], list[str]]:
    """All A of these extents with each row of strides, with every s:d inside."""
    layouts = [cute.make_layout(tuple(extents), stride=tuple(map(int, row))) for row in strides]
    count: Counter[str] = Counter()
    findings = []
    for s, d in inside(prod(extents)):
        exists = are_layouts(extents, s, d, strides)
        values = strides @ digits_in(extents, d * np.arange(s))
        right = cute.make_layout(s, stride=d)
        count["cases"] += len(layouts)
        count["layouts"] += int(exists.sum())
        for k, a in enumerate(layouts):
            try:
                answer = cute.composition(a, right)
            except LayoutError:
                count["refused"] += 1
                if exists[k]:
                    count["needlessly refused"] += 1
                    findings.append(f"{a} o {s}:{d} is refused")
                continue
            if cute.size(answer) != s or (offsets_of(answer) != values[k]).any():
                count["wrong"] += 1
                findings.append(f"{a} o {s}:{d} = {answer}")
    return count, findings


def offsets_of(layout: cute.Layout) -> Table:
    total = np.zeros(1, np.int64)
    for extent, stride in m.pairs(as_model(layout)):
        total = (np.arange(extent)[:, None] * stride + total).reshape(-1)
    return total
