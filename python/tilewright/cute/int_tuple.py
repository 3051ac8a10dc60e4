"""Helpers that walk nested tuples, for code that is generic over profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright._boundary import shown
from tilewright._core import Layout, ScaledBasis, is_int_tuple, is_integer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright._typing import S, T

__all__ = [
    "Coord",
    "Shape",
    "Stride",
    "Tile",
    "Tiler",
    "XTuple",
    "filter_tuple",
    "find",
    "find_if",
    "get_leaves",
    "static",
    "transform_apply",
    "transform_leaf",
    "tuple_cat",
]

# Names for annotations. A tuple nests leaves of the same kind; None stands for "all of this mode".
Shape = int | tuple[Any, ...]
Stride = int | ScaledBasis | tuple[Any, ...]
Coord = int | tuple[Any, ...] | None
Tile = int | Layout | tuple[Any, ...] | None
Tiler = Tile
XTuple = Any


def text(x: Any) -> str:
    """CuTe's text of a nested tuple: no spaces, `_` for None, `(3)` for a tuple of one."""
    if isinstance(x, (tuple, list)):
        return "(" + ",".join(text(child) for child in x) + ")"
    return "_" if x is None else str(x)


def require_coord(function: str, argument: str, x: Any, expected: str = "an integer, None") -> Any:
    """A coordinate, its lists as tuples; TypeError for another kind."""
    if isinstance(x, (tuple, list)):
        try:
            return tuple(require_coord(function, argument, part) for part in x)
        except TypeError:
            pass
    elif x is None or is_integer(x):
        return x
    raise TypeError(f"{function}: expected {argument} to be {expected} or a tuple of them, but got {shown(x)}")


def require_shape(function: str, x: Any) -> Any:
    """A shape, its lists as tuples; TypeError for another kind."""
    if not is_int_tuple(x) or isinstance(x, str):
        raise TypeError(
            f"{function}: expected shape to be an integer or a nested tuple of integers, but got {shown(x)}"
        )
    return as_tuples(x)


def as_tuples(x: Any) -> Any:
    return tuple(map(as_tuples, x)) if isinstance(x, (tuple, list)) else x


def tuple_cat(*tuples: object) -> tuple[Any, ...]:
    """Join tuples: tuple_cat(a, b) = a + b; what is not a tuple counts as a tuple of one.

    Raises nothing: any object is a tuple or counts as one. Source: CuTe C++ `cute::tuple_cat`.

    >>> tuple_cat((1, 2), 3, ((4, 5),))
    (1, 2, 3, (4, 5))
    """
    return tuple(mode for x in tuples for mode in (x if isinstance(x, tuple) else (x,)))


def transform_leaf(f: Callable[..., Any], *trees: object) -> Any:
    """Replace every leaf: transform_leaf(f, a, b)[path] = f(a[path], b[path]), for congruent trees.

    Raises TypeError where the profiles differ. Source: CuTe C++ `cute::transform_leaf`.

    >>> transform_leaf(lambda a, b: a * b, (2, (3, 4)), (10, (20, 30)))
    (20, (60, 120))
    """
    if not trees:
        raise TypeError("transform_leaf: expected at least one tuple")
    ranks = {len(tree) if isinstance(tree, tuple) else None for tree in trees}
    if ranks == {None}:
        return f(*trees)
    if len(ranks) > 1:
        raise TypeError(
            f"transform_leaf: the profiles of {' and '.join(map(text, trees))} differ; pass congruent tuples"
        )
    return tuple(transform_leaf(f, *children) for children in zip(*trees, strict=True))


def transform_apply(*args: object, f: Callable[..., S], g: Callable[..., T]) -> T:
    """Map, then reduce: transform_apply(a, b, f=f, g=g) = g(f(a[0], b[0]), f(a[1], b[1]), ...) over the top modes.

    Raises ValueError where the ranks differ. Source: CuTe C++ `cute::transform_apply`.

    >>> transform_apply((2, 3), (4, 5), f=lambda a, b: a * b, g=lambda *products: sum(products))
    23
    """
    return g(*_map_modes("transform_apply", f, args))


def filter_tuple(*args: object, f: Callable[..., Any]) -> tuple[Any, ...]:
    """Map to tuples, then join: filter_tuple(a, f=f) = f(a[0]) + f(a[1]) + ...; an empty tuple drops a mode.

    Raises ValueError where the ranks differ. Source: CuTe C++ `cute::filter_tuple`.

    >>> filter_tuple((1, 4, 1, 8), f=lambda x: () if x == 1 else (x,))
    (4, 8)
    """
    return tuple_cat(*_map_modes("filter_tuple", f, args))


def _map_modes(name: str, f: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    if not any(isinstance(x, tuple) for x in args):
        return [f(*args)]
    if len({len(x) if isinstance(x, tuple) else None for x in args}) > 1:
        raise ValueError(f"{name}: the ranks of {' and '.join(map(text, args))} differ; pass tuples of one rank")
    return [f(*modes) for modes in zip(*args, strict=True)]


def find(t: object, x: object, *, hierarchical: bool = True) -> int | tuple[int, ...] | None:
    """The position of the first leaf equal to x, None where there is none; see `find_if`.

    Raises what == of a leaf and x raises. Source: CuTe C++ `cute::find`.

    >>> find((1, (5, 2)), 2), find((1, (5, 2)), 2, hierarchical=False), find((1, 2), 7)
    ((1, 1), 2, None)
    """
    return find_if(t, lambda leaf, _: leaf == x, hierarchical=hierarchical)


def find_if(
    t: object, pred_fn: Callable[[Any, Any], bool], *, hierarchical: bool = True
) -> int | tuple[int, ...] | None:
    """The position of the first leaf with pred_fn(leaf, position), None where there is none.

    A position is an int at the top level and a tuple of ints below; with hierarchical=False it is the leaf's number in
    the flattened tuple.

    Raises TypeError for a pred_fn that cannot be called with a leaf and its position; what pred_fn raises is passed on.
    Source: CuTe C++ `cute::find_if`.

    >>> find_if((4, (1, 8)), lambda leaf, position: leaf == 1)
    (1, 0)
    """
    for number, (path, leaf) in enumerate(_paths(t)):
        position = number if not hierarchical else path[0] if len(path) == 1 else path
        if pred_fn(leaf, position):
            return position
    return None


def _paths(t: Any, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    if not isinstance(t, (tuple, list)):
        return [(path or (0,), t)]
    return [found for i, child in enumerate(t) for found in _paths(child, (*path, i))]


def get_leaves(x: object) -> list[Any]:
    """The leaves of a nested tuple, in order.

    Raises nothing: what is no tuple is a leaf. Source: CuTeDSL `cute.get_leaves`.

    >>> get_leaves((4, (2, (3,))))
    [4, 2, 3]
    """
    return [leaf for _, leaf in _paths(x)]


def static(value: object) -> Any:
    """The same numbers as static ones: Python's int, bool and float instead of Int32 and its kin.

    Other leaves stay. Raises TypeError for a number that is known only at run time. Source: CuTeDSL `cute.static`.

    >>> from tilewright import Int32
    >>> static((Int32(4), 8))
    (4, 8)
    """
    return transform_leaf(_static_leaf, value)


def _static_leaf(leaf: Any) -> Any:
    value = getattr(leaf, "_value", leaf)  # the number of a Numeric, whose module needs this one
    if value is not leaf and leaf.is_traced:
        raise TypeError(
            f"static: the value of the {type(leaf).__name__} is known only at run time; pass the number as "
            "cutlass.Constexpr"
        )
    return value
