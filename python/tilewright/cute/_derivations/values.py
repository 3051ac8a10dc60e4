"""What the derivations compute with: leaves, and layouts as pairs (shape, stride) of nested tuples.

A static leaf is a Python int; a dynamic integer and a basis stride are the two small classes below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Dynamic:
    """A dynamic integer and the value it has now."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __str__(self) -> str:
        return f"?{self.value}"


class Basis:
    """A stride along the axis `mode` (innermost first)."""

    __slots__ = ("mode", "value")

    def __init__(self, value: Any, mode: tuple[int, ...]) -> None:
        self.value = value
        self.mode = mode

    def __str__(self) -> str:
        return "@".join(map(str, (self.value, *self.mode)))


# ---- arithmetic of leaves: static op static is static, 0 * x and 0 / x are 0, the rest is dynamic ----


def known(*xs: Any) -> bool:
    """Statically known, as plain integers."""
    return all(isinstance(x, int) for x in xs)


def is_(x: Any, value: int) -> bool:
    """Statically known to be the value."""
    return isinstance(x, int) and x == value


def same(a: Any, b: Any) -> bool:
    """Statically known to be equal."""
    if isinstance(a, Basis) and isinstance(b, Basis):
        return a.mode == b.mode and same(a.value, b.value)
    return known(a, b) and bool(a == b)


def value_of(x: Any) -> int:
    return x if isinstance(x, int) else int(x.value)


def combine(f: Callable[[int, int], int], a: Any, b: Any) -> Any:
    result = f(value_of(a), value_of(b))
    return result if known(a, b) else Dynamic(result)


def plus(a: Any, b: Any) -> Any:
    return combine(lambda x, y: x + y, a, b)


def times(a: Any, b: Any) -> Any:
    if isinstance(b, Basis):
        return Basis(times(a, b.value), b.mode)
    if isinstance(a, Basis):
        return Basis(times(a.value, b), a.mode)
    return 0 if is_(a, 0) or is_(b, 0) else combine(lambda x, y: x * y, a, b)


def over(a: Any, b: Any) -> Any:
    return 0 if is_(a, 0) else combine(lambda x, y: x // y, a, b)


def ceil_div(a: Any, b: Any) -> Any:
    return combine(lambda x, y: -(-x // y), a, b)


def magnitude(x: Any) -> Any:
    return abs(x) if isinstance(x, int) else Dynamic(abs(x.value))


# ---- nested tuples, and pairs of them ----


def leaves(x: Any) -> list[Any]:
    return [leaf for e in x for leaf in leaves(e)] if isinstance(x, tuple) else [x]


def product(shape: Any) -> Any:
    total: Any = 1
    for leaf in leaves(shape):
        total = times(total, leaf)
    return total


def modes_of(pair: Any) -> list[Any]:
    shape, stride = pair
    return list(zip(shape, stride, strict=True)) if isinstance(shape, tuple) else [pair]


def flat_modes(pair: Any) -> list[Any]:
    return list(zip(leaves(pair[0]), leaves(pair[1]), strict=True))


def join(pairs: Sequence[Any]) -> Any:
    return tuple(s for s, _ in pairs), tuple(d for _, d in pairs)


def unwrapped(pairs: Sequence[Any]) -> Any:
    """The modes as one layout; a single mode stands for itself."""
    return pairs[0] if len(pairs) == 1 else join(pairs)


def cosize(pair: Any) -> Any:
    """One more than the largest offset."""
    total: Any = 1
    for s, d in flat_modes(pair):
        total = plus(total, times(plus(s, -1), magnitude(d)))
    return total


def text(x: Any) -> str:
    """CuTe's text of a leaf or nested tuple."""
    return "(" + ",".join(map(text, x)) + ")" if isinstance(x, tuple) else "_" if x is None else str(x)


def layout(pair: Any) -> str:
    """CuTe's text of a layout."""
    return f"{text(pair[0])}:{text(pair[1])}"


def tiler_text(tiler: Any) -> str:
    if isinstance(tiler, list):
        return "(" + ",".join(map(tiler_text, tiler)) + ")"
    return "_" if tiler is None else layout(tiler)


def mode_name(path: tuple[int, ...]) -> str:
    return f"mode {path[0] if len(path) == 1 else text(path)}"
