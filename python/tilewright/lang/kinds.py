"""How the values of kernels are carried through branches and loops: numbers, pointers, vectors, layouts, tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.atoms.mma_atom import MmaAtom
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.tensors.traced_pointer import TracedPointer
from tilewright.cute.vectors.tensor_ssa import TensorSSA
from tilewright.lang.carry import register, register_leaf, register_python_numbers
from tilewright.numeric import Boolean, Float32, Int32, Int64, Numeric
from tilewright.numeric.traced import Symbol, symbol_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["number_of"]


def number_of(dtype: type[Numeric], symbol: Any, div: int = 1) -> Any:
    """The number of a type that a value of the program is."""
    return dtype._make(symbol, div) if issubclass(dtype, (Int32, Int64)) else dtype._of(symbol)


def _split_tree(tree: Any, parts: list[Any]) -> Any:
    """The static leaves of a nested tuple, `?` for each dynamic one, which goes to `parts`."""
    if isinstance(tree, tuple):
        return tuple(_split_tree(one, parts) for one in tree)
    if isinstance(tree, (Int32, Int64)):
        parts.append(tree)
        return str(tree)  # its width, and what divides it
    if isinstance(tree, _core.ScaledBasis):
        return (_split_tree(tree.value, parts), tuple(tree.mode))
    return tree


def _split_layout(layout: Any) -> tuple[Any, list[Any]]:
    parts: list[Any] = []
    if isinstance(layout, _core.ComposedLayout):
        offset = _split_tree(layout.offset, parts)
        static, outer = _split_layout(layout.outer)
        return (str(layout.inner), offset, static), parts + outer
    return (_split_tree(layout.shape, parts), _split_tree(layout.stride, parts)), parts


def _replaced(tree: Any, parts: Iterator[Any]) -> Any:
    if isinstance(tree, tuple):
        return tuple(_replaced(one, parts) for one in tree)
    if isinstance(tree, _core.ScaledBasis):
        return _core.ScaledBasis(_replaced(tree.value, parts), list(tree.mode))
    if isinstance(tree, (Int32, Int64)):
        return number_of(type(tree), next(parts)._value, tree._div)
    return tree


def rebuilt(layout: Any, parts: Sequence[Any]) -> Any:
    """The layout with its dynamic leaves replaced, in order."""
    return _rebuilt(layout, iter(parts))


def _rebuilt(layout: Any, parts: Iterator[Any]) -> Any:
    if isinstance(layout, _core.ComposedLayout):
        offset = _replaced(layout.offset, parts)
        return _core.make_composed_layout(layout.inner, offset, _rebuilt(layout.outer, parts))
    shape = _replaced(layout.shape, parts)
    return _core.make_layout(shape, stride=_replaced(layout.stride, parts))


register_leaf(
    Numeric,
    is_dynamic=lambda x: x.is_traced,
    symbol_of=lambda x: symbol_of(type(x), x._value),
    wrap=lambda symbol, like: number_of(type(like), symbol),
)
register_leaf(
    TracedPointer,
    is_dynamic=lambda x: True,
    symbol_of=lambda x: x.symbol,
    wrap=lambda symbol, like: like.with_symbol(symbol),
    is_number=False,
)
register_leaf(
    Symbol,
    is_dynamic=lambda x: True,
    symbol_of=lambda x: x,
    wrap=lambda symbol, like: symbol,
    is_number=False,
)
register_python_numbers({bool: Boolean, int: Int32, float: Float32})
for _kind in (_core.Layout, _core.ComposedLayout):
    register(_kind, split=_split_layout, build=rebuilt, describe=str)
register(
    Tensor,
    split=lambda x: (None, (x.iterator, x.layout)),
    build=lambda like, parts: Tensor(parts[0], parts[1]),
    describe=str,
)

register(
    TensorSSA,
    split=lambda x: ((x.shape, x.dtype), (x.symbol,)),
    build=lambda like, parts: TensorSSA(parts[0], like.shape, like.dtype),
    describe=str,
)


def _with_fields(atom: Any, parts: Sequence[Any]) -> Any:
    """A copy of the atom with other fields."""
    new = object.__new__(type(atom))
    for base in type(atom).__mro__:
        for name in vars(base).get("__slots__", ()):
            if hasattr(atom, name):
                setattr(new, name, getattr(atom, name))
    new._fields = dict(zip(atom._fields, parts, strict=True))
    return new


register(
    MmaAtom,
    split=lambda x: (tuple(x._fields), tuple(x._fields.values())),
    build=_with_fields,
    assign=lambda x, parts: x._fields.update(zip(x._fields, parts, strict=True)),
    describe=str,
    if_called=True,
)

__all__ += ["rebuilt"]
