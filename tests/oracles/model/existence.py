"""Whether values are those of a layout, and of which: by looking at every one of them, or by integer sets (isl)."""

from __future__ import annotations

from collections.abc import Sequence

from . import layouts as m
from .layouts import Layout


def coarsest(values: Sequence[int]) -> list[tuple[int, int]] | None:
    """The modes of the coarsest layout with these values, None where there is none. Their number is |values|."""
    size = len(values)
    if size == 1:
        return []
    step = values[1]
    run = next((i for i, v in enumerate(values) if v != i * step), size)
    if size % run:
        return None
    head = list(values[:run])
    if any([v - values[j] for v in values[j : j + run]] != head for j in range(run, size, run)):
        return None
    rest = coarsest(values[::run])
    return None if rest is None else [(run, step), *rest]


def composes(a: Layout, b: Layout) -> bool:
    """Whether A o B is a layout whose shape refines that of B. The strides are integers."""
    parts = [[m.at(a, d * i) for i in range(s)] for s, d in m.pairs(b)]
    if any(coarsest(part) is None for part in parts):
        return False
    sums = [0]
    for part in parts:
        sums = [v + w for w in part for v in sums]
    return sums == [m.at(a, v) for v in m.offsets(b)]


# ---- integer sets ----------------------------------------------------------------------------------------------------

# isl takes milliseconds for most of these questions, and minutes for one in a thousand.
MOST_OPERATIONS = 3_000_000


class UndecidedError(Exception):
    """isl would have taken too long."""


def is_empty(text: str) -> bool:
    """Whether the set that isl reads is empty."""
    import islpy

    context = islpy.DEFAULT_CONTEXT
    found = islpy.Set(text, context=context)
    context.reset_operations()
    context.set_max_operations(MOST_OPERATIONS)
    try:
        return bool(found.is_empty())
    except islpy.Error as error:
        raise UndecidedError(text) from error
    finally:
        context.set_max_operations(0)


def floors(a: Layout, x: str) -> str:
    """A(x) for x >= 0 as isl writes it."""
    modes, position, terms = m.pairs(a), 1, []
    for k, (s, d) in enumerate(modes):
        digit = f"floor(({x})/{position})"
        terms.append(f"{d}*({digit})" if k + 1 == len(modes) else f"{d}*(({digit}) mod {s})")
        position *= s
    return " + ".join(terms)


def first_difference(one: str, other: str, size: int) -> int | None:
    """The smallest i below the size at which two expressions in i differ."""
    import islpy

    text = f"{{ [i] : 0 <= i < {size} and {one} != {other} }}"
    if is_empty(text):
        return None
    differ = islpy.Set(text)
    return int(differ.lexmin().sample_point().get_coordinate_val(islpy.dim_type.set, 0).to_python())


def coarsest_by_sets(a: Layout, size: int, step: int) -> list[tuple[int, int]] | None:
    """The coarsest layout of A(step * i) for i < size, found by extending it where it first differs."""
    marks, wanted = [1], floors(a, f"{step}*i")
    while True:
        ends = [*marks[1:], size]
        modes = [(end // mark, m.at(a, step * mark)) for mark, end in zip(marks, ends, strict=True)]
        found = Layout(tuple(s for s, _ in modes), tuple(d for _, d in modes))
        at = first_difference(wanted, floors(found, "i"), size)
        if at is None:
            return modes
        if at % marks[-1] or size % at:
            return None
        marks.append(at)


def ranges(b: Layout, names: str) -> str:
    return " and ".join(f"0 <= {names}{k} < {s}" for k, (s, _) in enumerate(m.pairs(b)))


def sums(b: Layout, names: str) -> str:
    return " + ".join(f"{d}*{names}{k}" for k, (_, d) in enumerate(m.pairs(b)))


def variables(b: Layout, names: str) -> str:
    return ", ".join(f"{names}{k}" for k in range(len(m.pairs(b))))


def sums_by_sets(a: Layout, b: Layout) -> bool:
    """Whether A(sum of d_j i_j) is the sum of the A(d_j i_j) everywhere."""
    parts = " + ".join(f"({floors(a, f'{d}*i{k}')})" for k, (_, d) in enumerate(m.pairs(b)))
    whole = floors(a, sums(b, "i"))
    return is_empty(f"{{ [{variables(b, 'i')}] : {ranges(b, 'i')} and {whole} != {parts} }}")


def is_composition_by_sets(a: Layout, b: Layout, r: Layout) -> bool:
    """Whether R is A o B, mode by mode of B."""
    if not m.refines(b.shape, r.shape):
        return False
    pieces = parts_like(b.shape, r)
    parts = " + ".join(f"({floors(piece, f'i{k}')})" for k, piece in enumerate(pieces))
    whole = floors(a, sums(b, "i"))
    return is_empty(f"{{ [{variables(b, 'i')}] : {ranges(b, 'i')} and {whole} != {parts} }}")


def parts_like(shape: object, r: Layout) -> list[Layout]:
    """The part of R for each leaf of the shape that it refines."""
    if not isinstance(shape, tuple):
        return [r]
    return [part for s, mode in zip(shape, m.modes(r), strict=True) for part in parts_like(s, mode)]


def images_meet_by_sets(a: Layout, b: Layout, offset: int) -> bool:
    return not is_empty(
        f"{{ [{variables(a, 'x')}, {variables(b, 'y')}] : {ranges(a, 'x')} and {ranges(b, 'y')} "
        f"and {sums(a, 'x')} = {offset} + {sums(b, 'y')} }}"
    )


# ---- complements, divisions, left inverses ---------------------------------------------------------------------------


def continued(values: Sequence[int], size: int | None = None) -> list[int] | None:
    """The values of the least layout, of this size if one is given, that begins with these; None if there is none."""
    count, marks = len(values), [1]

    def at(i: int) -> int:
        total = 0
        for mark in reversed(marks):
            total += i // mark * (values[mark] if mark < count else 0)
            i %= mark
        return total

    while (new := next((i for i in range(count) if at(i) != values[i]), None)) is not None:
        if new % marks[-1]:
            return None
        marks.append(new)
    if size is None:
        size = -(-count // marks[-1]) * marks[-1]
    return None if size % marks[-1] else [at(i) for i in range(size)]


def covering(a: Layout, end: int) -> list[int] | None:
    """The offsets of the least complement that covers [0, end) with A, None if there is none."""
    image, covered = set(m.offsets(a)), set[int]()
    starts: list[int] = []
    for x in range(end):
        if x not in covered:
            starts.append(x)
            covered |= {x + v for v in image}
    whole = continued(starts)
    if whole is None or len({x + v for x in whole for v in image}) < len(whole) * len(image):
        return None
    return whole


def divides(a: Layout, tiling: Layout) -> bool:
    """Whether a layout has the values A(T(i)) wherever T(i) lies in A, and T reaches all of A."""
    size, reached = m.size(a), m.offsets(tiling)
    if not set(range(size)) <= set(reached):
        return False
    sums = [0]
    for s, d in m.pairs(tiling):
        inside = s if d == 0 else min(s, -(-size // d))
        part = continued([m.at(a, d * i) for i in range(inside)], s)
        if part is None:
            return False
        sums = [v + w for w in part for v in sums]
    return all(v == m.at(a, t) for v, t in zip(sums, reached, strict=True) if t < size)


def prime_chains(end: int) -> list[list[int]]:
    """All chains 1 | Q_1 | Q_2 | ... of numbers up to `end` with prime quotients that cannot be longer."""
    primes = [p for p in range(2, end + 1) if all(p % q for q in range(2, p))]
    found: list[list[int]] = []

    def extend(chain: list[int]) -> None:
        longer = [p for p in primes if chain[-1] * p <= end]
        if not longer:
            found.append(chain)
        for p in longer:
            extend([*chain, chain[-1] * p])

    extend([1])
    return found


def solvable(columns: list[list[int]], wanted: list[int]) -> bool:
    """Whether integer multiples of the columns add up to what is wanted."""
    columns, wanted, used = [list(c) for c in columns], list(wanted), 0
    for row in range(len(wanted)):
        while len(rest := [c for c in columns[used:] if c[row]]) > 1:
            pivot = min(rest, key=lambda c: abs(c[row]))
            for c in rest:
                if c is not pivot:
                    factor = c[row] // pivot[row]
                    c[:] = [x - factor * y for x, y in zip(c, pivot, strict=True)]
        if not rest:
            if wanted[row]:
                return False
            continue
        place = next(k for k in range(used, len(columns)) if columns[k] is rest[0])
        columns[used], columns[place] = columns[place], columns[used]
        factor, left = divmod(wanted[row], rest[0][row])
        if left:
            return False
        wanted = [x - factor * y for x, y in zip(wanted, rest[0], strict=True)]
        used += 1
    return True


def has_left_inverse(a: Layout) -> bool:
    """Whether any layout L has L(A(i)) = i, by all chains of radices up to the greatest offset."""
    offsets = m.offsets(a)
    end = max(max(map(abs, offsets)), 1)
    return any(
        solvable([[(-1 if v < 0 else 1) * (abs(v) // q) for v in offsets] for q in chain], list(range(len(offsets))))
        for chain in prime_chains(end)
    )
