"""What the library answers to a case, judged: wrong, needlessly refused, or right.

Each check draws one case, and returns how the case was decided and what became of it. What is wrong raises Finding.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from model import existence
from model import layouts as m
from model.layouts import Layout
from strategies import as_cute, as_model
from tilewright import LayoutError, cute

from . import cases, vectors
from .vectors import Axes, Values, coarsest, values

# Coordinates that NumPy looks at in a case; beyond, isl decides.
MOST = 1 << 16


class Finding(AssertionError):
    """A wrong answer, or a refusal where there is an answer."""


class TooLargeError(Exception):
    """More than NumPy should look at in one case."""


def asked(operation: Callable[..., Any], *operands: Any) -> tuple[Any, Any]:
    """What the library answers, and what CuTe does: each a layout of the model, or the error."""
    ours: Any
    theirs: Any
    try:
        ours = as_model(operation(*operands))
    except LayoutError as error:
        ours = error
    try:
        with cute.unchecked():
            theirs = as_model(operation(*operands))
    except LayoutError as error:
        theirs = error
    return ours, theirs


def text(*operands: Any) -> str:
    return ", ".join(m.text(x) if isinstance(x, tuple) else str(x) for x in operands)


def judge(case: str, ours: Any, theirs: Any, exists: bool, right: Callable[[Layout], bool]) -> str:
    """`exists`: there is an answer. `right`: whether a layout is one."""
    if not isinstance(ours, Layout):
        if "does not fit into 64 bits" in str(ours):
            return "overflow, which the error says"
        if exists:
            raise Finding(f"needless refusal: {case}: {ours}")
        return "refused"
    if not right(ours):
        raise Finding(f"wrong: {case} = {ours}")
    if isinstance(theirs, Layout) and ours != theirs and right(theirs):
        raise Finding(f"CuTe is right and another form was given: {case} = {ours}, CuTe {theirs}")
    if not exists:
        raise Finding(f"the oracle knows no answer: {case} = {ours}")
    return "same as CuTe's" if ours == theirs else "beyond CuTe"


def positive(layout: Layout) -> bool:
    return all(s > 0 for s in m.leaves(layout.shape))


# ---- composition -----------------------------------------------------------------------------------------------------


def certificate(case: str, a: Layout, b: Layout, axes: Axes, error: LayoutError) -> None:
    """Two coordinates without a common digit whose values do not add up, and remedies that work."""
    message = str(error)
    if "would have several entries" in message:
        return
    found = re.search(r"A\(B\((\d+)\+(\d+)\)\) = (.*?), but A\(B\(\1\)\) \+ A\(B\(\2\)\) = ", message)
    if found is None:
        raise Finding(f"no certificate: {case}: {message}")
    i, j = map(int, found.groups()[:2])
    if min(i, j) <= 0 or i + j >= m.size(b):
        raise Finding(f"bad certificate: {case}: {message}")
    whole, left, right = (value_at(a, b, k) for k in (i + j, i, j))
    if m.add(left, right) == whole:
        raise Finding(f"wrong certificate: {case}: {message}")
    for remedy in re.findall(r"(?:an answer is|larger one is) (\d+:-?\d+(?:@\d+)*)", message):
        try:
            cute.composition(as_cute(a), cute.parse(remedy))
        except LayoutError as again:
            raise Finding(f"the remedy {remedy} does not work: {case}: {message}; {again}") from None


def value_at(a: Layout, b: Layout, i: int) -> Any:
    return m.at_value(a, m.at(b, i))


def right_composition(a: Layout, b: Layout, axes: Axes, wanted: Values) -> Callable[[Layout], bool]:
    def right(r: Layout) -> bool:
        if not positive(r) or m.size(r) != m.size(b) or not m.refines(b.shape, r.shape):
            return False
        return set(vectors.axes_of(r)) <= {*axes, ()} and bool((values(r, axes_with(axes, r)) == wanted).all())

    return right


def axes_with(axes: Axes, r: Layout) -> Axes:
    return axes if set(vectors.axes_of(r)) <= set(axes) or vectors.axes_of(r) == [()] else [*axes, ()]


def composition(random: Random) -> tuple[str, str]:
    large = random.random() < 0.3
    while True:
        a = cases.layout(random, large)
        b = cases.right_of(random, a, MOST if large and random.random() < 0.05 else 512)
        if cases.fit_into_64_bits(a, b):
            break
    kind = "NumPy"
    if random.random() < 0.12:
        a, b = cases.with_basis(random, a, b)
        kind = "NumPy, basis strides"
    return kind, judge_composition(a, b)


def judge_composition(a: Layout, b: Layout) -> str:
    axes = vectors.axes_of(a)
    wanted, exists = vectors.composed(a, b, axes)
    case = f"composition({text(a, b)})"
    ours, theirs = asked(cute.composition, as_cute(a), as_cute(b))
    became = judge(case, ours, theirs, exists, right_composition(a, b, axes, wanted))
    if became == "refused":
        certificate(case, a, b, axes, ours)
    elif became == "beyond CuTe" and m.size(b) > 1:
        coarse(case, ours, theirs, b)
    return became


def coarse(case: str, ours: Layout, theirs: Any, b: Layout) -> None:
    """Where a leaf of B got a form of its own, no two modes of it can be one."""
    if not isinstance(b.shape, tuple) and str(cute.coalesce(as_cute(ours))) != str(as_cute(ours)):
        raise Finding(f"not the coarsest form: {case} = {ours}")


def composition_by_sets(random: Random) -> tuple[str, str]:
    """More elements than anybody lists: isl extends the layout of each leaf where it first differs."""
    while True:
        a = cases.layout(random, True, rank=4)
        b = cases.right_of(random, a, 1 << 40, negative=False)
        if len(m.leaves(b.shape)) <= 3 and cases.fit_into_64_bits(a, b):
            break
    case = f"composition({text(a, b)})"
    parts = [existence.coarsest_by_sets(a, s, d) for s, d in m.pairs(b)]
    exists = all(part is not None for part in parts) and existence.sums_by_sets(a, b)
    ours, theirs = asked(cute.composition, as_cute(a), as_cute(b))
    return "isl", judge(case, ours, theirs, exists, lambda r: existence.is_composition_by_sets(a, b, r))


# ---- divisions -------------------------------------------------------------------------------------------------------


def starts_of(image: list[int], end: int) -> list[int] | None:
    """The only starts below `end` at which copies of the image make up all of [0, end); None where there are none."""
    tile = np.unique(np.array(image))
    covered = np.zeros(end + int(tile[-1]), bool)
    starts, first = [], 0
    while first < end:
        moved = first + tile
        if tile[0] != 0 or covered[moved].any():
            return None
        covered[moved] = True
        starts.append(first)
        if len(starts) * len(image) > 1 << 22 or len(starts) > 1 << 13:
            raise TooLargeError
        free = covered[first:end].argmin()
        if covered[first + free]:
            break
        first += int(free)
    return starts


def layout_starts(starts: list[int]) -> Layout | None:
    modes = coarsest(np.array(starts)[:, None])
    if modes is None:
        return None
    return m.join([Layout(s, int(d[0])) for s, d in modes]) if modes else Layout(1, 0)


def right_division(a: Layout, b: Layout, starts: list[int]) -> Callable[[Layout], bool]:
    """R(i, j) = A(B(i) + start_j) wherever that lies in A, and no element of A is lost."""
    axes: Axes = [()]

    def right(r: Layout) -> bool:
        tile = m.size(b)
        if not positive(r) or m.size(r) % tile or m.size(r) < tile * len(starts):
            return False
        index = (np.array(starts)[:, None] + np.array(m.offsets(b))[None, :]).reshape(-1)
        inside = (index >= 0) & (index < m.size(a))
        got = vectors.at(r, np.arange(len(index)), axes)
        return bool((got == vectors.at(a, index, axes))[inside].all())

    return right


def divide(random: Random) -> tuple[str, str]:
    large = random.random() < 0.03
    while True:
        a = cases.layout(random, large, rank=5)
        b = cases.tile_for(random, a, large and random.random() < 0.5)
        if m.size(a) <= (1 << 20 if large else 512) and m.size(b) <= 1 << 14:
            break
    if m.size(a) // m.size(b) > 4096:
        return "skipped", "too many tiles"
    return "NumPy", judge_divide(a, b)


def judge_divide(a: Layout, b: Layout) -> str:
    case = f"logical_divide({text(a, b)})"
    ours, theirs = asked(cute.logical_divide, as_cute(a), as_cute(b))
    starts = starts_of(m.offsets(b), m.size(a))
    if starts is None:
        if isinstance(ours, Layout):
            raise Finding(f"copies do not tile, and yet: {case} = {ours}")
        return "refused"
    right = right_division(a, b, starts)
    rest = layout_starts(starts)
    exists = rest is not None and vectors.composed(a, m.join([b, rest]), [()])[1]
    if not exists and isinstance(ours, Layout) and right(ours):
        return "right inside A, where (B, B*) overhangs"
    return judge(case, ours, theirs, exists, right)


# ---- products --------------------------------------------------------------------------------------------------------


def gaps(block: Layout, count: int) -> Layout | None:
    """A* with room for `count` places, from the gaps between the modes of A; None where modes overlap."""
    extents, strides, reached = [], [], 1
    for extent, stride in sorted((p for p in m.pairs(block) if p[0] > 1 and p[1]), key=lambda p: p[1]):
        if stride < reached:
            return None
        extents.append(stride // reached)
        strides.append(reached)
        reached = stride * extent
    return m.join([*(Layout(s, d) for s, d in zip(extents, strides, strict=True)), Layout(count, reached)])


def apart(a: Layout, b: Layout, r: Layout) -> bool:
    """Whether R is a copy of A for each element of B, at one place for equal values of B, and apart for others.

    Where B has values below 0, too, A* counts from 0 in both directions, and copies at v and -v may meet.
    """
    copies = values(r, [()]).reshape(m.size(b), m.size(a))
    if (copies - copies[:, :1] != np.array(m.offsets(a))).any():
        return False
    places = {(v, int(p)) for v, p in zip(m.offsets(b), copies[:, 0], strict=True)}
    if min(m.offsets(b)) < 0 < max(m.offsets(b)):
        return len({v for v, _ in places}) == len(places)
    image = np.unique(np.array(m.offsets(a)))
    taken = (np.array([p for _, p in places])[:, None] + image).reshape(-1)
    return len({v for v, _ in places}) == len(places) and len(np.unique(taken)) == len(taken)


def product(random: Random) -> tuple[str, str]:
    large = random.random() < 0.03
    while True:
        a, b = cases.block(random, large), cases.block(random, large and random.random() < 0.5)
        if m.size(a) * m.size(b) <= (1 << 18 if large else 2048):
            break
    return "NumPy", judge_product(a, b)


def judge_product(a: Layout, b: Layout) -> str:
    case = f"logical_product({text(a, b)})"
    ours, theirs = asked(cute.logical_product, as_cute(a), as_cute(b))
    axes: Axes = [()]
    rest = gaps(a, 1 + max(map(abs, m.offsets(b))))
    if rest is None:
        if isinstance(ours, Layout) and not apart(a, b, ours):
            raise Finding(f"wrong: {case} = {ours}")
        return "beyond CuTe, the modes of A overlap" if isinstance(ours, Layout) else "refused, the modes of A overlap"
    placed, exists = vectors.composed(rest, b, axes)
    wanted = (placed[:, None, :] + values(a, axes)[None, :, :]).reshape(-1, 1)

    def right(r: Layout) -> bool:
        return positive(r) and m.size(r) == len(wanted) and bool((values(r, axes) == wanted).all())

    return judge(case, ours, theirs, exists, right)


# ---- complements and inverses ----------------------------------------------------------------------------------------


def complement(random: Random) -> tuple[str, str]:
    large = random.random() < 0.03
    while True:
        a = cases.block(random, large)
        most = 1 << 18 if large else 512
        end = m.cosize(a) * random.choice((1, 1, 2, 3, 4, 12)) + random.choice((0, 0, 0, 1, 5))
        if m.size(a) <= most and end <= 4 * most and end // m.size(a) < 256:
            return "NumPy", judge_complement(a, end)


def judge_complement(a: Layout, end: int) -> str:
    """R increases and meets A in 0 only, (A, R) is injective where A is; where copies of A can make up [0, end), R
    has their starts."""
    case = f"complement({text(a, end)})"
    ours, theirs = asked(cute.complement, as_cute(a), end)
    image = np.unique(np.array(m.offsets(a)))
    starts = starts_of(m.offsets(a), end)
    rest = layout_starts(starts) if starts is not None else None
    injective = len(image) == m.size(a)

    def right(r: Layout) -> bool:
        if not positive(r):
            return False
        got = values(r, [()])[:, 0]
        if (np.diff(got) <= 0).any() or len(np.intersect1d(got, image)) > 1:
            return False
        both = (got[:, None] + image[None, :]).reshape(-1)
        if injective and len(np.unique(both)) != len(both):
            return False
        if rest is not None:
            return len(got) >= len(starts) and bool((got[: len(starts)] == starts).all())
        return True

    if rest is None and isinstance(ours, Layout) and right(ours):
        return "right, with holes"
    return judge(case, ours, theirs, rest is not None, right)


def right_inverse(random: Random) -> tuple[str, str]:
    """A(R(i)) = i, and no leaf of A continues what R reaches."""
    large = random.random() < 0.1
    a = cases.layout(random, large)
    case = f"right_inverse({text(a)})"
    ours, theirs = asked(cute.right_inverse, as_cute(a))
    axes: Axes = [()]

    def right(r: Layout) -> bool:
        if not positive(r) or m.size(r) > 1 << 20:
            return False
        inside = values(r, axes)[:, 0]
        return bool((vectors.at(a, inside, axes)[:, 0] == np.arange(len(inside))).all())

    if isinstance(ours, Layout) and m.size(ours) > 1 << 20:
        return "skipped", "too many elements"
    return "NumPy", judge(case, ours, theirs, True, right)


def left_inverse(random: Random) -> tuple[str, str]:
    while True:
        a = cases.layout(random, False, rank=4)
        if 2 <= m.size(a) <= 96 and max(map(abs, m.offsets(a))) <= 400:
            return "linear equations", judge_left_inverse(a)


def judge_left_inverse(a: Layout) -> str:
    """L(A(i)) = i where A is injective; where A repeats itself by strides 0, A(L(A(i))) = A(i)."""
    case = f"left_inverse({text(a)})"
    ours, theirs = asked(cute.left_inverse, as_cute(a))
    offsets = np.array(m.offsets(a))
    injective = len(np.unique(offsets)) == len(offsets)
    axes: Axes = [()]

    def right(r: Layout) -> bool:
        if not positive(r):
            return False
        found = vectors.at(r, offsets, axes)[:, 0]
        if injective:
            return bool((found == np.arange(len(offsets))).all())
        return bool((vectors.at(a, found, axes)[:, 0] == offsets).all())

    if not injective:
        if isinstance(ours, Layout):
            return judge(case, ours, theirs, True, right)
        return "refused"
    exists = inverse_exists(offsets)
    return judge(case, ours, theirs, exists, right)


def chains(bound: int) -> list[list[int]]:
    """Marks 1 = m_0 | m_1 | ... with prime quotients, until a mark exceeds the bound."""
    primes = [p for p in range(2, bound + 2) if all(p % q for q in range(2, p))]

    def after(mark: int) -> list[list[int]]:
        nexts = [mark * p for p in primes if mark * p <= bound]
        return [[mark, *rest] for x in nexts for rest in after(x)] if nexts else [[mark]]

    return after(1)


CHAINS: dict[int, list[list[int]]] = {}


def inverse_exists(offsets: Values) -> bool:
    """Whether some layout takes offsets[i] to i: for each chain of marks these are linear equations in its strides."""
    bound = int(np.abs(offsets).max())
    chain_list = CHAINS.setdefault(bound, chains(bound) if bound > 1 else [[1]])
    return any(solvable(digits_of(offsets, chain)) for chain in chain_list)


def digits_of(offsets: Values, chain: list[int]) -> list[list[int]]:
    rows = []
    for i, offset in enumerate(offsets):
        rest, sign, row = abs(int(offset)), -1 if offset < 0 else 1, []
        for mark, following in zip(chain, [*chain[1:], None], strict=True):
            digit = rest // mark if following is None else rest // mark % (following // mark)
            row.append(sign * digit)
        rows.append([*row, i])
    return rows


def solvable(rows: list[list[int]]) -> bool:
    """Whether integers solve the equations, each a row with its right side last: by columns to Hermite's form."""
    width = len(rows[0]) - 1
    # Columns are combined: x = U y; rows are then solved one after another.
    matrix = [row[:width] for row in rows]
    target = [row[width] for row in rows]
    done = 0
    solution: list[int] = []
    for k, row in enumerate(matrix):
        pivots = [j for j in range(done, width) if matrix[k][j]]
        while len(pivots) > 1:
            least = min(pivots, key=lambda j: abs(matrix[k][j]))
            for j in pivots:
                if j != least:
                    factor = matrix[k][j] // matrix[k][least]
                    for line in matrix:
                        line[j] -= factor * line[least]
            pivots = [j for j in range(done, width) if matrix[k][j]]
        rest = target[k] - sum(row[j] * y for j, y in enumerate(solution))
        if not pivots:
            if rest:
                return False
            continue
        j = pivots[0]
        for line in matrix:
            line[done], line[j] = line[j], line[done]
        if rest % row[done]:
            return False
        solution.append(rest // row[done])
        done += 1
    return True


# ---- disjoint images -------------------------------------------------------------------------------------------------


def disjoint(random: Random) -> tuple[str, str]:
    large = random.random() < 0.05
    while True:
        a, b = (cases.layout(random, large, rank=4) for _ in range(2))
        if m.size(a) <= MOST and m.size(b) <= MOST:
            break
    x, y = (values(c, [()])[:, 0] for c in (a, b))
    span = max(1, int(max(x.max() - x.min(), y.max() - y.min())))
    met = int(x[random.randrange(len(x))] - y[random.randrange(len(y))])
    offset = random.choice((0, random.randint(-span, span), met))
    offset += random.choice((0, 0, 1, -1))
    verdict = cute.is_disjoint(as_cute(a), as_cute(b), offset)
    listed = len(np.intersect1d(x, y + offset)) == 0
    if bool(verdict) != listed:
        raise Finding(f"is_disjoint({text(a, b, offset)}) = {verdict}")
    if not verdict:
        i, j, shared = verdict.witness
        if not int(x[i]) == shared == offset + int(y[j]):
            raise Finding(f"is_disjoint({text(a, b, offset)}): {verdict.witness} do not meet")
    return "NumPy", "disjoint" if listed else "meet"


def disjoint_by_sets(random: Random) -> tuple[str, str]:
    """Images that nobody lists, beside isl."""

    def drawn(common: int) -> Layout:
        rank = random.randint(1, 3)
        extents = tuple(random.choice((2, 3, 5, 8, 64, 1000, 1 << 20)) for _ in range(rank))
        return Layout(extents, tuple(common * random.randint(1, 1 << random.randint(1, 14)) for _ in extents))

    common = random.choice((1, 1, 6, 1024))
    a, b = drawn(common), drawn(common)
    offset = random.randint(-(1 << 18), 1 << 18) // common * common + random.choice((0, 0, 1))
    meet = existence.images_meet_by_sets(a, b, offset)
    verdict = cute.is_disjoint(as_cute(a), as_cute(b), offset)
    if bool(verdict) == meet:
        raise Finding(f"is_disjoint({text(a, b, offset)}) = {verdict}")
    return "isl", "meet" if meet else "disjoint"


CHECKS: dict[str, Callable[[Random], tuple[str, str]]] = {
    "composition": composition,
    "composition_by_sets": composition_by_sets,
    "divide": divide,
    "product": product,
    "complement": complement,
    "right_inverse": right_inverse,
    "left_inverse": left_inverse,
    "disjoint": disjoint,
    "disjoint_by_sets": disjoint_by_sets,
}


def run(name: str, count: int, seed: int) -> tuple[Counter[tuple[str, str]], list[str]]:
    """So many random cases: what became of them, and the findings."""
    became: Counter[tuple[str, str]] = Counter()
    findings = []
    for k in range(count):
        random = Random(f"{name} {seed} {k}")
        try:
            became[CHECKS[name](random)] += 1
        except TooLargeError:
            became["skipped", "too large"] += 1
        except existence.UndecidedError:
            became["isl", "took too long"] += 1
        except (Finding, LayoutError) as finding:
            became[("", "findings")] += 1
            findings.append(f"{name} {seed} {k}: {finding}")
    return became, findings
