"""What regions carry of the values of this package: which numbers of the program each is made of.

Imported before anything is traced; `carry` and `control` know no kinds themselves.
"""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.tensors.traced_pointer import TracedPointer
from tilewright.cute.vectors.tensor_ssa import TensorSSA
from tilewright.lang import carry, control
from tilewright.lang.rewrite import advice
from tilewright.numeric import Boolean, Float32, Int32, Int64, Numeric, traced
from tilewright.numeric.traced import is_traced, symbol_of

__all__ = ["register_values"]


class _Word:
    """A vector or pointer of the program; what else belongs to it is known."""

    __slots__ = ("symbol",)

    def __init__(self, symbol: Any) -> None:
        self.symbol = symbol


def _dynamic_leaves(x: Any) -> list[Any]:
    """The integers of a tuple that a layout counts as dynamic."""
    if isinstance(x, tuple):
        return [leaf for part in x for leaf in _dynamic_leaves(part)]
    if isinstance(x, _core.ScaledBasis):
        return _dynamic_leaves(x.value)
    return [x] if isinstance(x, (Int32, Int64)) else []


def _with_leaves(x: Any, leaves: Any) -> Any:
    """The tuple with other dynamic integers; what was known to divide one still does."""
    if isinstance(x, tuple):
        return tuple(_with_leaves(part, leaves) for part in x)
    if isinstance(x, _core.ScaledBasis):
        return _core.ScaledBasis(_with_leaves(x.value, leaves), x.mode) if _dynamic_leaves(x.value) else x
    return type(x)._make(next(leaves)._value, x._div) if isinstance(x, (Int32, Int64)) else x


def _split_layout(layout: Any) -> tuple[Any, list[Any]]:
    return (str(layout),), _dynamic_leaves((layout.shape, layout.stride))


def _build_layout(layout: Any, parts: Any) -> Any:
    leaves = iter(parts)
    shape = _with_leaves(layout.shape, leaves)
    return _core.make_layout(shape, stride=_with_leaves(layout.stride, leaves))


def _split_composed(layout: Any) -> tuple[Any, list[Any]]:
    return (str(layout), layout.inner), [*_dynamic_leaves(layout.offset), layout.outer]


def _build_composed(layout: Any, parts: Any) -> Any:
    *offset, outer = parts
    return _core.make_composed_layout(layout.inner, _with_leaves(layout.offset, iter(offset)), outer)


def _extreme(name: str, function: Any) -> Any:
    """min or max of two operands of which one is a number or a vector of the program."""

    def choose(x: Any, y: Any) -> Any:
        swap = not isinstance(x, (Numeric, TensorSSA))
        numeric, other = (y, x) if swap else (x, y)
        return numeric._binary(other, function, name, swap) if isinstance(numeric, Numeric) else NotImplemented

    return choose


def register_values() -> None:
    """Tell `carry` and `control` of numbers, pointers, vectors, tensors and layouts."""
    carry.register_leaf(
        Numeric,
        is_dynamic=is_traced,
        symbol_of=lambda x: symbol_of(type(x), x._value),
        wrap=lambda symbol, like: type(like)._of(symbol),
    )
    carry.register_leaf(
        _Word,
        is_dynamic=lambda x: True,
        symbol_of=lambda x: x.symbol,
        wrap=lambda symbol, like: _Word(symbol),
        is_number=False,
    )
    carry.register_python_numbers({bool: Boolean, int: Int32, float: Float32})
    carry.register(
        TracedPointer,
        split=lambda p: ((p.dtype, p.memspace, p.alignment, p.swizzle), [_Word(p.symbol)]),
        build=lambda p, parts: p.with_symbol(parts[0].symbol),
        describe=str,
    )
    carry.register(
        TensorSSA,
        split=lambda v: ((v.shape, v.dtype), [_Word(v.symbol)]),
        build=lambda v, parts: TensorSSA(parts[0].symbol, v.shape, v.dtype),
        describe=str,
    )
    carry.register(
        Tensor,
        split=lambda t: ((), [t.iterator, t.layout]),
        build=lambda t, parts: Tensor(*parts),
        describe=str,
    )
    carry.register(_core.Layout, split=_split_layout, build=_build_layout, describe=str)
    carry.register(_core.ComposedLayout, split=_split_composed, build=_build_composed, describe=str)
    control.register_builtin(min, _extreme("min", min))
    control.register_builtin(max, _extreme("max", max))
    traced.advise = advice


register_values()
