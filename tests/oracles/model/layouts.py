"""Layouts as plain functions, by brute force.

A shape is an int or a nested tuple of ints; a stride has the same nesting, its leaves are ints or `Basis`. Nothing here
calls the library under test.

The rule of evaluation is CuTe's: a one-dimensional coordinate is split colexicographically over the leaves of the
shape, and the last leaf takes whatever is left, so a layout goes on past its size along its last leaf.

Values are ints, or, for strides with a basis, dicts from a path (outermost mode first) to a non-zero int.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

MAX_POINTS = 1 << 20  # no test evaluates more coordinates than this


@dataclass(frozen=True)
class Basis:
    """`value` along the axis at `path`; the path has the outermost mode first."""

    value: int
    path: tuple[int, ...]

    def __str__(self) -> str:
        return "@".join([str(self.value), *map(str, reversed(self.path))])


@dataclass(frozen=True)
class Layout:
    shape: Any
    stride: Any

    def __str__(self) -> str:
        return f"{text(self.shape)}:{text(self.stride)}"


def text(x: Any) -> str:
    """CuTe's notation of a nested tuple."""
    if isinstance(x, tuple):
        return "(" + ",".join(text(e) for e in x) + ")"
    return "_" if x is None else str(x)


def leaves(x: Any) -> list[Any]:
    if isinstance(x, tuple):
        return [leaf for e in x for leaf in leaves(e)]
    return [x]


@lru_cache(1 << 12)
def flat(x: Any) -> tuple[Any, ...]:
    """The leaves, of what is asked for at one index after the other."""
    return tuple(leaves(x))


def product(x: Any) -> int:
    result = 1
    for leaf in leaves(x):
        result *= leaf
    return result


def modes(x: Any) -> list[Any]:
    """The top-level modes of a nested tuple or of a layout; a leaf is its own only mode."""
    if isinstance(x, Layout):
        if not isinstance(x.shape, tuple):
            return [x]
        return [Layout(s, d) for s, d in zip(x.shape, x.stride, strict=True)]
    return list(x) if isinstance(x, tuple) else [x]


def join(layouts: list[Layout]) -> Layout:
    return Layout(tuple(x.shape for x in layouts), tuple(x.stride for x in layouts))


def pairs(layout: Layout) -> list[tuple[int, Any]]:
    """The leaves as (shape, stride)."""
    return list(zip(leaves(layout.shape), leaves(layout.stride), strict=True))


def size(layout: Layout) -> int:
    return product(layout.shape)


def depth(x: Any) -> int:
    return 1 + max((depth(e) for e in x), default=0) if isinstance(x, tuple) else 0


def congruent(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) != isinstance(b, tuple):
        return False
    return not isinstance(a, tuple) or (len(a) == len(b) and all(map(congruent, a, b)))


def refines(coarse: Any, fine: Any) -> bool:
    """Every leaf of `coarse` is replaced in `fine` by a leaf or tuple of the same product."""
    if not isinstance(coarse, tuple):
        return coarse == product(fine)
    return isinstance(fine, tuple) and len(coarse) == len(fine) and all(map(refines, coarse, fine))


# ---- values ----------------------------------------------------------------------------------------------------------


def as_value(axes: dict[tuple[int, ...], int]) -> Any:
    axes = {path: v for path, v in axes.items() if v}
    if not axes:
        return 0
    return axes[()] if list(axes) == [()] else axes


def axes_of(value: Any) -> dict[tuple[int, ...], int]:
    return dict(value) if isinstance(value, dict) else {(): value}


def add(a: Any, b: Any) -> Any:
    if not isinstance(a, dict) and not isinstance(b, dict):
        return a + b
    total = axes_of(a)
    for path, v in axes_of(b).items():
        total[path] = total.get(path, 0) + v
    return as_value(total)


def times(n: int, stride: Any) -> Any:
    """n steps of a stride leaf."""
    if isinstance(stride, Basis):
        return as_value({stride.path: n * stride.value})
    return n * stride


def quotient(a: int, b: int) -> int:
    """C's division: towards zero."""
    return -(-a // b) if a < 0 else a // b


def coordinates(index: int, shape: Any) -> list[int]:
    """The leaf coordinates of a one-dimensional coordinate; the last leaf is not wrapped."""
    extents = flat(shape)
    digits = []
    for extent in extents[:-1]:
        rest = quotient(index, extent)
        digits.append(index - rest * extent)
        index = rest
    return [*digits, index] if extents else []


def at(layout: Layout, index: int) -> Any:
    """The layout at a one-dimensional coordinate."""
    value: Any = 0
    for digit, stride in zip(coordinates(index, layout.shape), flat(layout.stride), strict=True):
        value = add(value, times(digit, stride))
    return value


def at_coord(layout: Layout, coord: Any) -> Any:
    """The layout at a nested coordinate, whose leaves may stand for whole tuples of the shape."""
    if not isinstance(coord, tuple):
        return at(layout, coord)
    value: Any = 0
    for c, mode in zip(coord, modes(layout), strict=True):
        value = add(value, at_coord(mode, c))
    return value


def at_value(layout: Layout, value: Any) -> Any:
    """The layout at what another layout returned: an index, or a coordinate given by its axes."""
    if not isinstance(value, dict):
        return at(layout, value)
    total: Any = 0
    for path, v in value.items():
        mode = layout
        for i in path:
            mode = modes(mode)[i]
        total = add(total, at(mode, v))
    return total


def offsets(layout: Layout) -> list[Any]:
    """All values in the order of the one-dimensional coordinate."""
    if size(layout) > MAX_POINTS:
        raise ValueError(f"{layout} has too many coordinates for the model")
    values: list[Any] = [0]
    for extent, stride in pairs(layout):
        steps = [times(i, stride) for i in range(extent)]
        if any(isinstance(x, dict) for x in steps) or any(isinstance(x, dict) for x in values):
            values = [add(v, step) for step in steps for v in values]
        else:
            values = [v + step for step in steps for v in values]
    return values


def cosize(layout: Layout) -> int:
    return 1 + sum((s - 1) * abs(d) for s, d in pairs(layout))


def distinct(layout: Layout) -> list[Any]:
    """The values of the layout, each where it first appears."""
    found = {tuple(sorted(v.items())) if isinstance(v, dict) else v: v for v in reversed(offsets(layout))}
    return list(reversed(found.values()))


def injective(layout: Layout) -> bool:
    return len(distinct(layout)) == size(layout)


def swizzle(bits: int, base: int, shift: int, offset: int) -> int:
    """XOR of the Z bits with the Y bits; a negative shift moves them the other way."""
    mask = ((1 << bits) - 1) << (base + max(0, shift))
    selected = offset & mask
    return offset ^ (selected >> shift if shift >= 0 else selected << -shift)


@cache
def swizzled(bits: int, base: int, shift: int) -> tuple[int, ...]:
    """The swizzle of the first 4096 offsets."""
    return tuple(swizzle(bits, base, shift, offset) for offset in range(1 << 12))


# ---- slices ----------------------------------------------------------------------------------------------------------


def kept(layout: Layout, coord: Any) -> list[Layout]:
    """The modes that an underscore (None) of the coordinate keeps."""
    if coord is None:
        return [layout]
    if not isinstance(coord, tuple):
        return []
    return [m for c, mode in zip(coord, modes(layout), strict=True) for m in kept(mode, c)]


def fill_leaves(profile: Any, values: list[Any]) -> Any:
    """The nesting of `profile` with other leaves."""
    rest = list(values)

    def take(x: Any) -> Any:
        return tuple(map(take, x)) if isinstance(x, tuple) else rest.pop(0)

    return take(profile)


def fill(coord: Any, values: list[int]) -> Any:
    """The coordinate with its underscores replaced, in order, by `values`."""
    if coord is None:
        return values.pop(0)
    return tuple(fill(c, values) for c in coord) if isinstance(coord, tuple) else coord
