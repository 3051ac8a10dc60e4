"""How the package's values go through branches and round loops: which symbols they hold, and what of them is fixed."""

from __future__ import annotations

import builtins
from math import gcd
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.atoms.mma_atom import MmaAtom
from tilewright.cute.tensors.pointer import AddressSpace
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.tensors.traced_pointer import TracedPointer, pointer_type
from tilewright.cute.vectors.tensor_ssa import TensorSSA
from tilewright.lang.carry import register, register_leaf, register_python_numbers
from tilewright.lang.control import register_builtin, register_symbol
from tilewright.lang.leaves import all_leaves, number_of, rebuilt
from tilewright.numeric import Boolean, Float32, Int32, Int64, Numeric
from tilewright.numeric.traced import Symbol, is_traced, symbol_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__: list[str] = []


def _register_leaves() -> None:
    register_leaf(
        Numeric,
        is_dynamic=lambda x: type(x._value) is Symbol,
        symbol_of=lambda x: symbol_of(type(x), x._value),
        # What divides the number is known in one place, not behind a branch or round a loop.
        wrap=lambda symbol, like: number_of(type(like), symbol),
    )
    register_python_numbers({bool: Boolean, int: Int32, float: Float32})
    register_leaf(
        TracedPointer,
        is_dynamic=lambda x: True,
        symbol_of=lambda x: x.symbol,
        wrap=lambda symbol, like: like.with_symbol(symbol),
        is_number=False,
        weaker=_weaker_pointer,
        weaken=lambda pointer, like: pointer.aligned_to_only(like.alignment),
    )
    register_leaf(
        Symbol,
        is_dynamic=lambda x: True,
        symbol_of=lambda x: x,
        wrap=lambda symbol, like: symbol,
        is_number=False,
    )


def _weaker_pointer(first: TracedPointer, second: TracedPointer) -> Any:
    """The first with the alignment that both have, where nothing else tells them apart."""
    alignment = gcd(first.alignment, second.alignment)
    kinds = [pointer_type(x.dtype, x.memspace, alignment, x.swizzle) for x in (first, second)]
    if kinds[0] != kinds[1]:
        return None
    return TracedPointer(first.dtype, first.symbol, first.memspace, alignment, first.swizzle)


def _weaker_layout(first: Any, second: Any) -> Any:
    """The first, its dynamic leaves divisible by what divides both, where nothing else tells the layouts apart."""
    both = [_layout_leaves(first), _layout_leaves(second)]
    if [type(leaf) for leaf in both[0]] != [type(leaf) for leaf in both[1]]:
        return None
    divisors = [gcd(x._div, y._div) for x, y in zip(*both, strict=True)]
    weaker = [
        rebuilt(layout, iter([type(x)._make(x._value, div) for x, div in zip(leaves, divisors, strict=True)]))
        for layout, leaves in zip((first, second), both, strict=True)
    ]
    return weaker[0] if str(weaker[0]) == str(weaker[1]) else None


def _layout_leaves(layout: Any) -> list[Any]:
    return [leaf for _, leaf in all_leaves(layout) if isinstance(leaf, (Int32, Int64))]


def _split_layout(layout: Any) -> tuple[Any, Sequence[Any]]:
    leaves = _layout_leaves(layout)
    return (str(layout) if leaves else layout), leaves


def _with_leaves(layout: Any, leaves: Sequence[Any]) -> Any:
    """The layout with other dynamic leaves; what divides each is said by the layout's text, and stays."""
    old = _layout_leaves(layout)
    return rebuilt(layout, iter([type(was)._make(now._value, was._div) for was, now in zip(old, leaves, strict=True)]))


def _register_parts() -> None:
    for kind in (_core.Layout, _core.ComposedLayout):
        register(
            kind,
            split=_split_layout,
            build=_with_leaves,
            describe=lambda x: f"{type(x).__name__} {x}",
            weaker=_weaker_layout,
        )
    register(
        Tensor,
        split=lambda x: (type(x.iterator), (x.iterator, x.layout)),
        build=lambda x, parts: Tensor(*parts),
        describe=str,
    )
    register(
        TensorSSA,
        split=lambda x: ((x.shape, x.dtype), (x.symbol,)),
        build=lambda x, parts: TensorSSA(parts[0], x.shape, x.dtype),
        describe=str,
    )
    register(
        MmaAtom,
        split=lambda x: (tuple(x._fields), tuple(x._fields.values())),
        build=_with_fields,
        assign=lambda x, parts: x._fields.update(zip(x._fields, parts, strict=True)),
        describe=str,
        if_called=True,
    )


def _with_fields(atom: Any, parts: Sequence[Any]) -> Any:
    new = object.__new__(type(atom))
    for base in type(atom).__mro__:
        for name in vars(base).get("__slots__", ()):
            if hasattr(atom, name):
                setattr(new, name, getattr(atom, name))
    new._fields = dict(zip(atom._fields, parts, strict=True))
    return new


def _extreme(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    name = function.__name__

    def of_two(x: Any, y: Any) -> Any:
        if is_traced(x) or is_traced(y):
            number, other = (x, y) if isinstance(x, Numeric) else (y, x)
            return number._binary(other, function, name)
        return function(x, y)

    return of_two


def _frame_of(tensor: Tensor) -> Any:
    """Where a thread's own memory begins."""
    pointer = tensor.iterator
    is_frame = pointer.__class__ is TracedPointer and pointer.memspace is AddressSpace.rmem
    return pointer.symbol if is_frame else None


_register_leaves()
register_symbol(Tensor, _frame_of)
_register_parts()
register_builtin(min, _extreme(builtins.min))
register_builtin(max, _extreme(builtins.max))
