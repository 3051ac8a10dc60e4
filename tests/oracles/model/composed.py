"""Composed layouts, inner(offset + outer(c)), with a swizzle or a layout inside, and their laws.

They are kept as the vectors write them: {"swizzle": (B,M,S), "offset", "layout"} or {"layout_a", "offset", "layout_b"}.
A plain layout is one too.
"""

from __future__ import annotations

from math import gcd
from typing import Any

from . import laws
from . import layouts as m
from .laws import Broken
from .layouts import Layout


def outer(x: Any) -> Layout:
    if isinstance(x, Layout):
        return x
    layout: Layout = x["layout"] if "layout" in x else x["layout_b"]
    return layout


def inside(x: Any, value: int) -> int:
    """What the outer layout's value becomes."""
    if isinstance(x, Layout):
        return value
    if "swizzle" in x:
        return m.swizzle(*x["swizzle"], x["offset"] + value)
    result: int = m.at(x["layout_a"], x["offset"] + value)
    return result


def at(x: Any, index: int) -> int:
    return inside(x, m.at(outer(x), index))


def values(x: Any) -> list[int]:
    return [inside(x, v) for v in m.offsets(outer(x))]


def layout_of_swizzle(a: Layout, swizzle: tuple[int, int, int], r: Any) -> Broken | None:
    """R(i) = A(S(i)) inside A."""
    return laws.compare("R(i) = A(S(i))", values(r), [m.at(a, m.swizzle(*swizzle, i)) for i in range(m.size(a))])


def swizzle_of_swizzle(a: Any, b: Any, r: Any) -> Broken | None:
    expected = [m.swizzle(*a, x) for x in m.swizzled(*b)]
    return laws.compare("R(x) = A(B(x))", list(m.swizzled(*r)), expected)


def recast_swizzle(a: Any, old_bits: int, new_bits: int, r: Any) -> Broken | None:
    """The same bits at the same address: with units of the common width, part k of x lies at parts A(x) + k."""
    common = gcd(old_bits, new_bits)
    law = "group R(u / group) + u % group = parts A(u / parts) + u % parts"
    return laws.compare(law, in_parts(r, new_bits // common), in_parts(a, old_bits // common))


def in_parts(swizzle: Any, parts: int) -> list[int]:
    """Where the first 4096 units lie of elements that have so many each."""
    values = m.swizzled(*swizzle)[: -(-(1 << 12) // parts)]
    return [parts * value + part for value in values for part in range(parts)][: 1 << 12]


def recast(a: Any, old_bits: int, new_bits: int, r: Any) -> Broken | None:
    """Swizzle, offset and layout each keep their bits."""
    if isinstance(r, Layout):
        r = {"swizzle": (0, 4, 3), "offset": 0, "layout": r}
    if bad := recast_swizzle(a["swizzle"], old_bits, new_bits, r["swizzle"]):
        return bad
    if a["offset"] * old_bits != r["offset"] * new_bits:
        return Broken(f"offset {r['offset']} is not {a['offset']} in elements of {new_bits} bits")
    return laws.recast(a["layout"], old_bits, new_bits, r["layout"])


def right_inverse(a: Any, r: Any) -> Broken | None:
    return laws.compare("A(R(i)) = i", [at(a, v) for v in values(r)], list(range(m.size(outer(r)))))


def left_inverse(a: Any, r: Any) -> Broken | None:
    return laws.compare("R(A(i)) = i", [at(r, v) for v in values(a)], list(range(m.size(outer(a)))))


def max_common(a: Any, b: Any, r: Layout) -> Broken | None:
    return right_inverse_of(a, r) or right_inverse_of(b, r)


def right_inverse_of(a: Any, r: Layout) -> Broken | None:
    return laws.compare("A(R(i)) = i", [at(a, v) for v in m.offsets(r)], list(range(m.size(r))))


def slice_and_offset(a: Any, coord: Any, r: Any, offset: int) -> Broken | None:
    """A with its fixed coordinates, at x, is the slice at x plus the offset."""
    free = m.kept(outer(a), coord)
    got, expected = [], []
    for i, value in enumerate(values(r)):
        rest, digits = i, []
        for mode in free:
            digits.append(rest % m.size(mode))
            rest //= m.size(mode)
        got.append(value + offset)
        expected.append(inside(a, m.at_coord(outer(a), m.fill(coord, digits))))
    return laws.compare("R(x) + offset = A(c, x)", got, expected)
