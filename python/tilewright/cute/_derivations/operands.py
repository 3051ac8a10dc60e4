"""Operands as the derivations take them, and the text of operands and results."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.cute._derivations.values import Basis, Dynamic, is_, layout, text


def is_dynamic(x: Any) -> bool:
    return hasattr(x, "_div")


def is_tensor(x: Any) -> bool:
    return hasattr(x, "iterator") and hasattr(x, "layout")


def as_leaf(x: Any) -> Any:
    if x is None or isinstance(x, int):
        return x
    if is_dynamic(x):
        return Dynamic(int(x._value))
    if isinstance(x, _core.ScaledBasis):
        return Basis(as_leaf(x.value), tuple(x.mode))
    raise TypeError(f"explain: expected an integer, but got {type(x).__name__}")


def as_tuple(x: Any) -> Any:
    return tuple(as_tuple(e) for e in x) if isinstance(x, (tuple, list)) else as_leaf(x)


def as_pair(x: Any) -> Any:
    """A layout, the layout of a tensor, or the compact layout of an extent."""
    if is_tensor(x):
        x = x.layout
    if isinstance(x, _core.Layout):
        return as_tuple(x.shape), as_tuple(x.stride)
    if isinstance(x, int) or is_dynamic(x):
        return as_leaf(x), 0 if is_(x, 1) else 1
    raise TypeError(f"explain: expected a Layout, but got {type(x).__name__}")


def as_tiler(x: Any) -> Any:
    """A pair, None (the mode stays whole), or a list of tilers (mode by mode)."""
    if isinstance(x, (tuple, list)):
        return [as_tiler(e) for e in x]
    return None if x is None else as_pair(x)


def as_right_operand(x: Any) -> Any:
    """The right operand of a composition: as a tiler, but the extent 1 is 1:1 there."""
    if isinstance(x, (tuple, list)):
        return [as_right_operand(e) for e in x]
    return (1, 1) if is_(x, 1) else as_tiler(x)


def result_text(x: Any) -> str:
    """A result as the last line of a derivation shows it."""
    if isinstance(x, tuple):  # of make_layout_tv
        return f"tiler {text(as_tuple(x[0]))}, layout {argument_text(x[1])}"
    return argument_text(x)


def argument_text(x: Any) -> str:
    if is_tensor(x):
        x = x.layout
    if isinstance(x, _core.Layout):
        return layout(as_pair(x))
    if isinstance(x, (tuple, list)):
        return "(" + ",".join(map(argument_text, x)) + ")"
    return text(as_leaf(x)) if x is None or isinstance(x, int) or is_dynamic(x) else str(x)
