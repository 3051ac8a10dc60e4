"""Arguments of traced functions: which leaves of them a program takes as parameters, and what is fixed in it.

A Form says what an argument is. It is read once, from the arguments that a function is traced with; for later calls it
says whether other arguments fit it, and gives the patterns of their leaves.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import operator
import types as python_types
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

from tilewright import _core, numeric
from tilewright._boundary import shown
from tilewright._core import program
from tilewright._registry import Lazy
from tilewright.cute.atoms.tma_atom import TmaAtom
from tilewright.cute.int_tuple import Coord, Shape, Stride, Tile, text
from tilewright.cute.runtime import import_array
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.cute.tensors.runtime_tensor import RuntimeTensor
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.tensors.traced_pointer import TracedPointer, pointer_type
from tilewright.lang.fake import FakeStream
from tilewright.lang.leaves import all_leaves, leaf_values, number_of, rebuilt
from tilewright.numeric import Boolean, Float32, Int32, Int64, Numeric

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

__all__ = [
    "Constexpr",
    "Form",
    "Leaves",
    "form_of",
    "is_constexpr",
    "numeric_annotation",
    "plain_number",
    "register_jit_arg_adapter",
    "signature_of",
]


class Constexpr:
    """Marks a parameter that is a compile-time constant: `tile: Constexpr[int]`."""

    def __class_getitem__(cls, item: Any) -> Any:
        return GenericAlias(cls, item)


class Memory(NamedTuple):
    """The memory behind a pointer argument of one call: its bytes, its owner's device, the tensor's layout in it."""

    parameter: int
    begin: int
    bytes: int
    device: tuple[int, int]
    read_only: bool
    name: str
    origin: int
    bits: int
    layout: Any
    owner: Any


@dataclasses.dataclass
class Leaves:
    """What the arguments of one call put in for the parameters: patterns of 64 bits, and the memory of pointers."""

    values: list[Any] = dataclasses.field(default_factory=list)
    memory: list[Memory] = dataclasses.field(default_factory=list)
    addresses: list[tuple[int, str]] = dataclasses.field(default_factory=list)  # of pointers whose owner is unknown
    stream: int | None = None
    stream_device: int | None = None  # where the stream says it
    events: dict[str, int] = dataclasses.field(default_factory=dict)  # handles, by the names of their parameters

    def add(self, value: Any) -> None:
        self.values.append(value)


class Form:
    """What an argument is. `name` is the user's name of it, `mA` or `sizes[0]`."""

    name: str

    def key(self) -> Hashable:
        """Equal keys: one program serves both."""
        raise NotImplementedError

    def parameters(self) -> Iterator[tuple[str, Any]]:
        """The name and type of each parameter that it takes."""
        return iter(())

    def build(self, symbols: Iterator[Any]) -> Any:
        """The argument as the traced function sees it; of a result, as the caller does."""
        raise NotImplementedError

    def read(self, value: Any, leaves: Leaves) -> None:
        """Add the leaves of an argument of this form; TypeError or ValueError, which name it, where it has another."""
        raise NotImplementedError


class Static(Form):
    """Something that the program has fixed: a type, a callable, a static layout, a Constexpr value, None."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value

    def key(self) -> Hashable:
        try:
            hash(self.value)
        except TypeError:
            return ("contents", _contents(self.value))
        if _is_array(self.value):  # which has a hash, but for where it lies
            return ("contents", _contents(self.value))
        return ("static", type(self.value), self.value)

    @property
    def holds_arrays(self) -> bool:
        """Whether it has arrays, whose elements are in the program."""
        return _has_arrays(self.value)

    def build(self, symbols: Iterator[Any]) -> Any:
        return self.value

    def read(self, value: Any, leaves: Leaves) -> None:
        same = value is self.value
        if not same:
            try:
                same = type(value) is type(self.value) and bool(value == self.value)
            except Exception:
                same = False
        if not same:
            raise ValueError(
                f"{self.name} is {value!r}, but the function was compiled for {self.value!r}, which is fixed in it; "
                "compile it for the new value"
            )


def _contents(value: Any) -> Hashable:
    """What a list, a dict or another object without a hash holds now: after a change it is another constant."""
    kind = type(value)
    if isinstance(value, (tuple, list)):
        return kind, tuple(map(_contents, value))
    if isinstance(value, dict):
        return kind, tuple([(key, _contents(x)) for key, x in value.items()])
    if isinstance(value, set):
        return kind, frozenset(value)
    if dataclasses.is_dataclass(value):
        return kind, tuple([_contents(getattr(value, field.name)) for field in dataclasses.fields(value)])
    if isinstance(value, bytearray):
        return kind, bytes(value)
    if _is_array(value):
        return kind, str(value.dtype), tuple(value.shape), _bytes(value)
    try:
        hash(value)
    except TypeError:
        return kind, id(value)
    return kind, value


def _has_arrays(value: Any) -> bool:
    parts = _parts(value)
    return _is_array(value) if parts is None else any(_has_arrays(part) for _, part in parts[0](value))


def _is_array(value: Any) -> bool:
    return hasattr(value, "__dlpack__") and hasattr(value, "dtype") and not isinstance(value, Tensor)


def _bytes(array: Any) -> Any:
    """What an array of NumPy or torch holds; of another one, which it is."""
    try:
        return (array if hasattr(array, "tobytes") else array.detach().cpu().numpy()).tobytes()
    except (AttributeError, TypeError, RuntimeError):
        return id(array)


class StreamForm(Form):
    """A CUDA stream, of torch, of CUDA's Python bindings, or the number of one: where a call's kernels are launched."""

    def __init__(self, name: str) -> None:
        self.name = name

    def key(self) -> Hashable:
        return ("stream",)

    def build(self, symbols: Iterator[Any]) -> Any:
        return self

    def read(self, value: Any, leaves: Leaves) -> None:
        if isinstance(value, (StreamForm, FakeStream)):
            return
        handle = int(getattr(value, "cuda_stream", value)) or 1
        if leaves.stream not in (None, handle):
            raise ValueError(
                f"{self.name}: this stream is not that of another argument, and all launches of one call go to one "
                "stream; write a @cute.jit function for each"
            )
        leaves.stream = handle
        leaves.stream_device = getattr(getattr(value, "device", None), "index", None)


def is_stream(value: Any) -> bool:
    """Whether a value is a stream: one of torch, of CUDA's Python bindings, or one to compile with."""
    return isinstance(value, FakeStream) or type(value).__name__ in _STREAMS


def _says_stream(annotation: Any) -> bool:
    """Whether a parameter is annotated as a stream."""
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return name.split(".")[-1] in _STREAMS


_STREAMS = ("CUstream", "cudaStream_t", "Stream", "ExternalStream")


class EventForm(Form):
    """A CUDA event, of torch or of CUDA's Python bindings, which a launch records."""

    def __init__(self, name: str) -> None:
        self.name = name

    def key(self) -> Hashable:
        return ("event",)

    def build(self, symbols: Iterator[Any]) -> Any:
        return self

    def read(self, value: Any, leaves: Leaves) -> None:
        if not isinstance(value, EventForm):
            leaves.events[self.name] = int(getattr(value, "cuda_event", value))


def is_event(value: Any) -> bool:
    """Whether a value is a CUDA event."""
    return isinstance(value, EventForm) or type(value).__name__ in ("CUevent", "cudaEvent_t", "Event")


class Number(Form):
    """A number of one type."""

    def __init__(self, name: str, dtype: type[Numeric], div: int = 1) -> None:
        self.name, self.dtype, self.div = name, dtype, div

    def key(self) -> Hashable:
        return ("number", self.dtype, self.div)

    def parameters(self) -> Iterator[tuple[str, Any]]:
        yield self.name, program.number(self.dtype.__name__)

    def build(self, symbols: Iterator[Any]) -> Any:
        return number_of(self.dtype, next(symbols), self.div)

    def read(self, value: Any, leaves: Leaves) -> None:
        if isinstance(value, Numeric) and is_symbol(value._value):
            leaves.add(value._value)
            return
        # A number that is known while tracing, and one of a call.
        value = plain_number(value)
        if not isinstance(value, (bool, int, float, Numeric)) and not hasattr(value, "__index__"):
            raise TypeError(f"{self.name}: expected {self.dtype}, but got {value!r} of type {type(value).__name__}")
        number = value if type(value) is self.dtype else self.dtype(value)
        most = self.dtype.max if self.dtype.is_integer and self.dtype.width > 1 else None
        if most is not None and not isinstance(value, Numeric) and not -most - 1 <= value <= most:
            raise ValueError(f"{self.name} is {value}, beyond {self.dtype}: annotate the parameter with cutlass.Int64")
        if self.div != 1 and int(number._value) % self.div:
            raise ValueError(
                f"{self.name} is {int(number._value)}, but the function was compiled for multiples of {self.div}"
            )
        leaves.add(self.dtype._encode(number._value))


class PointerForm(Form):
    """A pointer: its type, space and alignment are fixed, the address is a parameter."""

    def __init__(self, name: str, pointer: Pointer, in_kernel: bool) -> None:
        self.name = name
        self.dtype, self.alignment = pointer.dtype, pointer.alignment
        self.memspace = pointer.memspace
        self.swizzle = getattr(pointer, "swizzle", None)
        if in_kernel and self.memspace in (AddressSpace.rmem, AddressSpace.smem):
            where = "registers" if self.memspace is AddressSpace.rmem else "shared memory"
            raise TypeError(
                f"{name} lies in {where}, which is made inside a kernel and ends with it: pass an array, such as "
                "NumPy's or torch's"
            )
        if in_kernel and self.memspace is AddressSpace.generic:
            self.memspace = AddressSpace.gmem

    def key(self) -> Hashable:
        return ("pointer", self.dtype, self.memspace, self.alignment, self.swizzle)

    def parameters(self) -> Iterator[tuple[str, Any]]:
        yield self.name, pointer_type(self.dtype, self.memspace, self.alignment, self.swizzle)

    def build(self, symbols: Iterator[Any]) -> Any:
        symbol = next(symbols)
        if isinstance(symbol, Pointer):  # of a result, which is a pointer of the caller's
            return symbol
        return TracedPointer(self.dtype, symbol, self.memspace, self.alignment, self.swizzle)

    def read(self, value: Any, leaves: Leaves, layout: Any = None) -> None:
        if not isinstance(value, Pointer):
            raise TypeError(f"{self.name}: expected a pointer, but got {type(value).__name__}")
        if value.dtype is not self.dtype:
            raise TypeError(f"{self.name}: expected elements of type {self.dtype}, but they are {value.dtype}")
        symbol = getattr(value, "symbol", None)
        if symbol is not None:
            leaves.add(symbol)
            return
        address = value.toint()
        if address % self.alignment:
            raise ValueError(
                f"{self.name}: the address 0x{address:x} is no multiple of {self.alignment} bytes, for which the "
                "function was compiled"
            )
        memory = value._memory
        if memory is not None:
            found = Memory(
                len(leaves.values), memory.begin, memory.end - memory.begin, memory.dlpack_device, memory.read_only,
                self.name, address, self.dtype.bits, layout, memory,
            )  # fmt: skip
            leaves.memory.append(found)
        elif layout is not None and address == 0:
            raise ValueError(f"{self.name} has no memory: it is a fake tensor, to compile with; pass one that has data")
        elif self.memspace is AddressSpace.gmem and address:
            leaves.addresses.append((address, self.name))
        leaves.add(address)


class LayoutForm(Form):
    """A layout with dynamic leaves: each of them is a parameter."""

    def __init__(self, name: str, layout: Any) -> None:
        self.name, self.layout = name, layout
        self._leaves, self._profile = leaf_values(layout), _profile(layout)
        self._key = ("layout", str(layout))
        self.numbers = [
            Number(f"{name}.{where}", type(leaf), leaf._div)
            for where, leaf in all_leaves(layout)
            if isinstance(leaf, (Int32, Int64))
        ]

    def key(self) -> Hashable:
        return self._key

    def parameters(self) -> Iterator[tuple[str, Any]]:
        for number in self.numbers:
            yield from number.parameters()

    def build(self, symbols: Iterator[Any]) -> Any:
        return rebuilt(self.layout, iter([number.build(symbols) for number in self.numbers]))

    def read(self, value: Any, leaves: Leaves) -> None:
        theirs = leaf_values(value)
        if len(theirs) != len(self._leaves) or _profile(value) != self._profile:
            raise ValueError(f"{self.name}: expected a layout such as {self.layout}, but got {value}")
        numbers = iter(self.numbers)
        for i, (their, our) in enumerate(zip(theirs, self._leaves, strict=True)):
            if isinstance(our, (Int32, Int64)):
                number = next(numbers)
                if type(their) is not int:
                    number.read(their, leaves)
                    continue
                dtype: Any = number.dtype
                if not -dtype.max - 1 <= their <= dtype.max:
                    raise ValueError(
                        f"{number.name} is {their}, beyond the {dtype.width} bits that it has in the function; reshape "
                        "the tensor into more modes, or use from_dlpack(.., use_32bit_stride=False)"
                    )
                if their % number.div:
                    number.read(their, leaves)  # says so
                leaves.add(their & ((1 << dtype.width) - 1))
            elif their != our or (isinstance(their, Numeric) and is_symbol(their._value)):
                where = [path for path, _ in all_leaves(self.layout)][i]
                raise ValueError(
                    f"{self.name}.{where} is {_shown(their)}, but the function was compiled for {_shown(our)}, which "
                    "is fixed in it; compile it for a tensor with a dynamic layout (mark_layout_dynamic), or again"
                )


class TensorForm(Form):
    """A tensor: a pointer and a layout."""

    def __init__(self, name: str, tensor: Tensor, in_kernel: bool) -> None:
        self.name = name
        self.iterator: Form = form_of(tensor.iterator, None, name, in_kernel, is_fixed=True)
        self.layout = LayoutForm(name, tensor.layout)
        self._key = ("tensor", self.iterator.key(), self.layout.key())

    def key(self) -> Hashable:
        return self._key

    def parameters(self) -> Iterator[tuple[str, Any]]:
        yield from self.iterator.parameters()
        yield from self.layout.parameters()

    def build(self, symbols: Iterator[Any]) -> Any:
        return Tensor(self.iterator.build(symbols), self.layout.build(symbols))

    def read(self, value: Any, leaves: Leaves) -> None:
        if not isinstance(value, Tensor):
            if not hasattr(value, "__dlpack__"):
                raise TypeError(f"{self.name}: expected a tensor, but got {value!r} of type {type(value).__name__}")
            value = import_array(value, self.name)
        if isinstance(self.iterator, PointerForm):
            self.iterator.read(value.iterator, leaves, value.layout)
        else:
            self.iterator.read(value.iterator, leaves)
        self.layout.read(value.layout, leaves)


class TmaForm(Form):
    """An atom of TMA: its boxes are fixed, the tensor map is a parameter. Only a @cute.jit function has one."""

    def __init__(self, name: str, atom: TmaAtom) -> None:
        self.name, self.atom = name, atom

    def key(self) -> Hashable:
        return ("tma", self.atom)

    def parameters(self) -> Iterator[tuple[str, Any]]:
        yield self.name, program.tensor_map()

    def build(self, symbols: Iterator[Any]) -> Any:
        return self.atom.with_symbol(next(symbols))

    def read(self, value: Any, leaves: Leaves) -> None:
        if not isinstance(value, TmaAtom) or value != self.atom:
            raise TypeError(f"{self.name}: expected the TMA atom {self.atom!r}, but got {value!r}")
        leaves.add(value.symbol)


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


class Group(Form):
    """A tuple, list, dict, dataclass, NamedTuple or namespace: its parts, one by one."""

    def __init__(self, name: str, parts: list[Form], kind: type, build: Callable[[list[Any]], Any], of: Any) -> None:
        self.name, self.parts, self.kind, self._build, self._of = name, parts, kind, build, of

    def key(self) -> Hashable:
        return ("group", self.kind, *(part.key() for part in self.parts))

    def parameters(self) -> Iterator[tuple[str, Any]]:
        for part in self.parts:
            yield from part.parameters()

    def build(self, symbols: Iterator[Any]) -> Any:
        return self._build([part.build(symbols) for part in self.parts])

    def read(self, value: Any, leaves: Leaves) -> None:
        parts = self._of(value) if isinstance(value, self.kind) else None
        if parts is None or len(parts) != len(self.parts):
            raise TypeError(
                f"{self.name}: expected a {self.kind.__name__} of {len(self.parts)} parts, but got {value!r}"
            )
        for form, (_, part) in zip(self.parts, parts, strict=True):
            form.read(part, leaves)


# ---- from a value to its form ----


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
        return _number(value, dtype, name, where)
    if isinstance(value, (str, bytes, type, enum.Enum)):
        return Static(name, value)
    if is_stream(value) or isinstance(value, StreamForm) or (isinstance(value, int) and _says_stream(annotation)):
        return StreamForm(name)
    if is_event(value):
        return EventForm(name)
    if type(value) in _adapters:
        return Adapted(name, value, in_kernel)
    # Extents and coordinates that Python knows are fixed where they are said to be such.
    is_fixed = is_fixed or _is_profile(annotation)
    if isinstance(value, Numeric):
        return _number(value, type(value), name)
    if isinstance(value, (bool, int, float)) and is_fixed:
        return Static(name, value)
    if isinstance(value, (bool, int, float)):
        return Number(name, Boolean if isinstance(value, bool) else Int32 if isinstance(value, int) else Float32)
    if isinstance(value, Tensor):
        return TensorForm(name, value, in_kernel)
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
    parts = _parts(value)
    if parts is not None:
        of, build = parts
        inner = [
            form_of(part, hint, f"{name}{path}", in_kernel, where=f"{where}{path}", is_fixed=is_fixed)
            for (path, part), hint in zip(of(value), _hints(value, annotation), strict=True)
        ]
        if any(not isinstance(part, Static) for part in inner):
            return Group(name, inner, type(value), build, of)
    return Static(name, value)


_array_forms: dict[Hashable, TensorForm] = {}


def array_form(tensor: RuntimeTensor, name: str, in_kernel: bool) -> TensorForm:
    """The form of an imported array with a dynamic layout, as if marked by mark_layout_dynamic: one for each kind."""
    pointer, shape, stride = tensor.iterator, tensor.layout.shape, tensor.layout.stride
    lead = tensor._leading_dim(None)
    kinds = tuple([1 if i == lead else 0 if d == 0 else 2 for i, d in enumerate(stride)])
    key = (name, in_kernel, pointer.dtype, pointer.memspace, pointer.alignment, kinds)
    form = _array_forms.get(key)
    if form is None or max(shape, default=0) > Int32.max:
        marked = RuntimeTensor._imported(pointer, tensor.layout, False).mark_layout_dynamic()
        form = _array_forms[key] = TensorForm(name, marked, in_kernel)
    return form


_foreign_form = Lazy("tilewright.lang.foreign:foreign_form")


def _is_profile(annotation: Any) -> bool:
    """Whether a parameter is annotated as a shape, stride, coordinate or tile."""
    return any(annotation == kind for kind in (Shape, Stride, Coord, Tile))


def is_constexpr(annotation: Any) -> bool:
    """Whether a parameter is marked as a compile-time constant."""
    if isinstance(annotation, str):
        return annotation.split("[")[0].split(".")[-1] == "Constexpr"
    return annotation is Constexpr or get_origin(annotation) is Constexpr


def numeric_annotation(annotation: Any) -> type[Numeric] | None:
    """The numeric type that a parameter is annotated with."""
    if isinstance(annotation, str):
        annotation = getattr(numeric, annotation.split(".")[-1], None)
    if isinstance(annotation, type) and issubclass(annotation, Numeric) and hasattr(annotation, "width"):
        return annotation
    return None


def is_symbol(value: Any) -> bool:
    return isinstance(value, program.Symbol)


def plain_number(value: Any) -> Any:
    """A scalar of NumPy as Python's number; anything else as it is.

    >>> import numpy
    >>> plain_number(numpy.float32(0.5)), plain_number(numpy.bool_(True))
    (0.5, True)
    """
    if type(value).__module__ != "numpy" or not hasattr(value, "item") or hasattr(value, "__dlpack__"):
        return value
    number = value.item()
    return number if isinstance(number, (bool, int, float)) else value


def _number(value: Any, dtype: type[Numeric], name: str, where: str = "") -> Number:
    if not isinstance(value, (bool, int, float, Numeric)):
        try:
            operator.index(value)
        except TypeError:
            try:
                float(value)
                is_number = not isinstance(value, str | bytes)
            except (TypeError, ValueError):
                is_number = False
            if not is_number:
                raise TypeError(f"{where or name}: expected {dtype}, but got {shown(value)}") from None
    if isinstance(value, float) and dtype.is_integer and value != value // 1:
        raise TypeError(f"{where or name}: expected {dtype}, but got {value}, which is none; round it: int({name})")
    return Number(name, dtype, value._div if isinstance(value, dtype) and isinstance(value, (Int32, Int64)) else 1)


def _hints(value: Any, annotation: Any) -> list[Any]:
    """The annotations of the parts of a value, None where there is none."""
    count = len(_parts(value)[0](value))  # type: ignore[index]
    if dataclasses.is_dataclass(value):
        return [field.type for field in dataclasses.fields(value)]
    if hasattr(value, "_fields"):
        return [type(value).__annotations__.get(field) for field in value._fields]
    if isinstance(annotation, dict):  # of keyword arguments, by name
        return list(annotation.values())
    args = get_args(annotation)
    if isinstance(value, list) and len(args) == 1:
        return list(args) * count
    return list(args) if len(args) == count else [None] * count


def _parts(value: Any) -> tuple[Callable[[Any], list[tuple[str, Any]]], Callable[[list[Any]], Any]] | None:
    """How a container is split into parts with their paths, and built again."""
    kind = type(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields: Any = value._fields
        return (lambda v: [(f".{f}", getattr(v, f)) for f in fields]), (lambda parts: kind(*parts))
    if isinstance(value, (tuple, list)):
        return (lambda v: [(f"[{i}]", x) for i, x in enumerate(v)]), (lambda parts: kind(parts))
    if isinstance(value, dict):
        keys = list(value)
        return (lambda v: [(f"[{k!r}]", v[k]) for k in keys]), (lambda parts: kind(zip(keys, parts, strict=True)))
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]

        def build(parts: list[Any]) -> Any:
            made = object.__new__(kind)
            for field, part in zip(names, parts, strict=True):
                object.__setattr__(made, field, part)
            return made

        return (lambda v: [(f".{f}", getattr(v, f)) for f in names]), build
    if isinstance(value, python_types.SimpleNamespace):
        fields = list(vars(value))
        return (
            (lambda v: [(f".{f}", getattr(v, f)) for f in fields]),
            (lambda parts: kind(**dict(zip(fields, parts, strict=True)))),
        )
    return None


# ---- layouts ----


def _profile(layout: Any) -> Any:
    if isinstance(layout, _core.ComposedLayout):
        return str(layout.inner), _profile(layout.outer)

    def of(tree: Any) -> Any:
        return tuple(map(of, tree)) if isinstance(tree, tuple) else None

    return of(layout.shape)


def _shown(leaf: Any) -> str:
    return text(leaf) if not isinstance(leaf, Numeric) else "dynamic" if is_symbol(leaf._value) else str(int(leaf))


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature, with annotations that are text evaluated where they can be."""
    try:
        return inspect.signature(function, eval_str=True)
    except Exception:  # a name that only a type checker sees
        return inspect.signature(function)
