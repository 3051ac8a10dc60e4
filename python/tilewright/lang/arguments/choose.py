"""From a value and its annotation to the form of an argument."""

from __future__ import annotations

import enum
import inspect
from types import GenericAlias
from typing import TYPE_CHECKING, Any, get_origin

from tilewright import _core
from tilewright._registry import Lazy
from tilewright.cute.atoms.tma_atom import TmaAtom
from tilewright.cute.int_tuple import Coord, Shape, Stride, Tile
from tilewright.cute.runtime import import_array
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.tensor import Tensor
from tilewright.lang.arguments.fixed import Static
from tilewright.lang.arguments.form import Form
from tilewright.lang.arguments.launching import EventForm, StreamForm, TmaForm, is_event, is_stream, says_stream
from tilewright.lang.arguments.numbers import Number, is_symbol, number_form, numeric_annotation, plain_number
from tilewright.lang.arguments.parts import Group, hints_of, parts_of
from tilewright.lang.arguments.tensors import LayoutForm, PointerForm, TensorForm, array_form
from tilewright.numeric import Boolean, Float32, Int32, Numeric

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from tilewright.lang.arguments.form import Leaves

__all__ = ["Adapted", "Constexpr", "form_of", "is_constexpr", "register_jit_arg_adapter", "signature_of"]


class Constexpr:
    """Marks a parameter that is a compile-time constant: `tile: Constexpr[int]`."""

    def __class_getitem__(cls, item: Any) -> Any:
        return GenericAlias(cls, item)


def is_constexpr(annotation: Any) -> bool:
    """Whether a parameter is marked as a compile-time constant."""
    if isinstance(annotation, str):
        return annotation.split("[")[0].split(".")[-1] == "Constexpr"
    return annotation is Constexpr or get_origin(annotation) is Constexpr


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature, with annotations that are text evaluated where they can be."""
    try:
        return inspect.signature(function, eval_str=True)
    except Exception:  # a name that only a type checker sees
        return inspect.signature(function)


_adapters: dict[type, Callable[[Any], Any]] = {}


def register_jit_arg_adapter(kind: type) -> Callable[[Any], Any]:
    """A decorator: the class or function makes arguments of the objects of a class that cannot be changed.

    It is called with the object, and gives what is an argument already: an array, numbers, an object with
    __c_pointers__ and __get_mlir_types__. Source: CuTeDSL documentation, arguments of JIT functions.

    >>> from tilewright import Int32, cute, register_jit_arg_adapter
    >>> class Metres:
    ...     def __init__(self, n):
    ...         self.n = n
    >>> @register_jit_arg_adapter(Metres)
    ... def number_of_metres(metres):
    ...     return Int32(metres.n)
    >>> @cute.jit
    ... def twice(length):
    ...     return length * 2
    >>> int(twice(Metres(4)))
    8
    """

    def register(adapter: Any) -> Any:
        _adapters[kind] = adapter
        return adapter

    return register


class Adapted(Form):
    """What a registered adapter makes of an argument of another library's class."""

    def __init__(self, name: str, value: Any, in_kernel: bool) -> None:
        self.name, self.kind = name, type(value)
        self._form = form_of(_adapters[self.kind](value), None, name, in_kernel)

    def key(self) -> Hashable:
        types = getattr(self._form, "types", None)  # of a struct, whose key is one object
        return ("adapted", self.kind, self._form.key() if types is None else tuple(map(str, types)))

    def parameters(self) -> Iterator[tuple[str, Any]]:
        return self._form.parameters()

    def build(self, symbols: Iterator[Any]) -> Any:
        return self._form.build(symbols)

    def read(self, value: Any, leaves: Leaves) -> None:
        if type(value) is not self.kind:
            raise TypeError(f"{self.name}: expected a {self.kind.__name__}, but got {value!r}")
        self._form.read(_adapters[self.kind](value), leaves)


def form_of(
    value: Any, annotation: Any, name: str, in_kernel: bool = False, *, where: str = "", is_fixed: bool = False
) -> Form:
    """The form of an argument, which its annotation may tell: `n: Int32`, `tile: Constexpr[int]`.

    `where` names the argument in errors. Numbers of Python and NumPy and arrays of other libraries become
    parameters, but where what is Python's is fixed.
    """
    if is_constexpr(annotation) or value is None:
        if isinstance(value, Numeric) and is_symbol(value._value):
            raise TypeError(
                f"{where or name}: a Constexpr is known while tracing, but this {type(value)} is known only at run "
                f"time: annotate the parameter so ({name}: {type(value)}), or make it Constexpr where it comes from"
            )
        return Static(name, value)
    value = plain_number(value)
    dtype = numeric_annotation(annotation)
    if dtype is not None and type(value) not in _adapters:
        return number_form(value, dtype, name, where)
    if isinstance(value, (str, bytes, type, enum.Enum)):
        return Static(name, value)
    if is_stream(value) or isinstance(value, StreamForm) or (isinstance(value, int) and says_stream(annotation)):
        return StreamForm(name)
    if is_event(value):
        return EventForm(name)
    if type(value) in _adapters:
        return Adapted(name, value, in_kernel)
    # Extents and coordinates that Python knows are fixed where they are said to be such.
    is_fixed = is_fixed or _is_profile(annotation)
    if isinstance(value, Numeric):
        return number_form(value, type(value), name)
    if isinstance(value, (bool, int, float)) and is_fixed:
        return Static(name, value)
    if isinstance(value, (bool, int, float)):
        return Number(name, Boolean if isinstance(value, bool) else Int32 if isinstance(value, int) else Float32)
    if isinstance(value, Tensor):
        iterator = form_of(value.iterator, None, name, in_kernel, is_fixed=True)
        return TensorForm(name, iterator, value.layout)
    if isinstance(value, TmaAtom):
        return TmaForm(name, value)
    if isinstance(value, Pointer):
        return PointerForm(name, value, in_kernel)
    if isinstance(value, (_core.Layout, _core.ComposedLayout)):
        form = LayoutForm(name, value)
        return form if form.numbers else Static(name, value)
    if hasattr(value, "__dlpack__") and not is_fixed:
        return array_form(import_array(value, where or name), name, in_kernel)
    if not is_fixed and hasattr(value, "__new_from_mlir_values__") and not isinstance(value, type):
        return _foreign_form(value, name, in_kernel)  # type: ignore[no-any-return]
    parts = parts_of(value)
    if parts is not None:
        of, build = parts
        inner = [
            form_of(part, hint, f"{name}{path}", in_kernel, where=f"{where}{path}", is_fixed=is_fixed)
            for (path, part), hint in zip(of(value), hints_of(value, annotation), strict=True)
        ]
        if any(not isinstance(part, Static) for part in inner):
            return Group(name, inner, type(value), build, of)
    return Static(name, value)


_foreign_form = Lazy("tilewright.lang.foreign:foreign_form")


def _is_profile(annotation: Any) -> bool:
    """Whether a parameter is annotated as a shape, stride, coordinate or tile."""
    return any(annotation == kind for kind in (Shape, Stride, Coord, Tile))
