"""Structs in memory: `@cute.struct` classes whose fields are numbers, `MemRange[T, n]`, `Align[X, bytes]`, structs.

    @cute.struct
    class Storage:
        barriers: cute.struct.MemRange[cutlass.Int64, 4]
        a: cute.struct.Align[cute.struct.MemRange[cutlass.Float16, 1024], 128]

Fields lie as in C: each at the next multiple of its alignment, the whole a multiple of the greatest.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright._boundary import at_boundary, shown
from tilewright.cute.tensors.pointer import Pointer, recast_ptr
from tilewright.cute.tensors.tensor import Tensor, as_layout
from tilewright.numeric import Numeric
from tilewright.numeric.base import require_dtype

if TYPE_CHECKING:
    from types import FrameType
    from typing import TypeVar

    T = TypeVar("T")

__all__ = ["Struct", "is_struct", "native_struct", "struct", "union"]


class _Range(NamedTuple):
    dtype: type[Numeric]
    length: int


class _Aligned(NamedTuple):
    of: Any
    alignment: int


def _pair(form: str, item: Any) -> tuple[Any, Any]:
    if not isinstance(item, tuple) or len(item) != 2:
        raise TypeError(f"struct.{form}: expected two entries in the brackets, but got {shown(item)}")
    return item


class _MemRangeMaker:
    def __getitem__(self, item: tuple[type[Numeric], int]) -> _Range:
        dtype, count = _pair("MemRange[type, n]", item)
        require_dtype("struct.MemRange", dtype)
        if not hasattr(count, "__index__") or count < 0:
            raise ValueError(f"struct.MemRange: the count is an integer of at least 0, but got {count!r}")
        return _Range(dtype, int(count))


class _AlignMaker:
    def __getitem__(self, item: tuple[Any, int]) -> _Aligned:
        of, alignment = _pair("Align[.., bytes]", item)
        if not hasattr(alignment, "__index__") or alignment < 1 or alignment & (alignment - 1):
            raise ValueError(f"struct.Align: an alignment is a power of two in bytes, but got {alignment!r}")
        return _Aligned(of, int(alignment))


class Field(NamedTuple):
    """Where a field lies, in bytes, and what it is: a number's type, a range, a struct."""

    offset: int
    kind: Any


class MemRange:
    """An array in a struct."""

    def __init__(self, pointer: Pointer, count: int) -> None:
        self._pointer, self._count = pointer, count

    def data_ptr(self) -> Pointer:
        """The pointer to its first element."""
        return self._pointer

    def get_tensor(self, layout: Any, swizzle: Any = None, dtype: type[Numeric] | None = None) -> Tensor:
        """A tensor over the array; `swizzle` permutes the bytes of its addresses."""
        return Tensor(recast_ptr(self._pointer, swizzle, dtype), as_layout(layout))

    def __getitem__(self, index: Any) -> Any:
        return (self._pointer + index).load()

    def __setitem__(self, index: Any, value: Any) -> None:
        (self._pointer + index).store(value)

    def __len__(self) -> int:
        return self._count


class Scalar:
    """A number in a struct: `.ptr` points to it."""

    def __init__(self, pointer: Pointer) -> None:
        self.ptr = pointer


class Struct:
    """What classes under @cute.struct become: a view of memory, made of a pointer to it."""

    __fields__: dict[str, Field]
    __sizeof__: int  # type: ignore[assignment]  # CuTeDSL has it so: bytes
    __alignof__: int

    def __init__(self, pointer: Pointer) -> None:
        object.__setattr__(self, "_pointer", pointer)

    @classmethod
    def size_in_bytes(cls) -> int:
        """The bytes of the struct, a multiple of its alignment."""
        size: Any = cls.__sizeof__
        return int(size)

    def _at(self, field: Field, dtype: type[Numeric]) -> Pointer:
        pointer: Any = object.__getattribute__(self, "_pointer")
        return recast_ptr(pointer + field.offset, dtype=dtype)

    def __getattr__(self, name: str) -> Any:
        field = type(self).__fields__.get(name)
        if field is None:
            known = ", ".join(type(self).__fields__)
            raise AttributeError(f"{type(self).__name__} has no field {name}; it has {known}")
        if isinstance(field.kind, _Range):
            return MemRange(self._at(field, field.kind.dtype), field.kind.length)
        if is_struct(field.kind):
            return field.kind(object.__getattribute__(self, "_pointer") + field.offset)
        return Scalar(self._at(field, field.kind))

    def __setattr__(self, name: str, value: Any) -> None:
        field = type(self).__fields__.get(name)
        if field is None or not (isinstance(field.kind, type) and issubclass(field.kind, Numeric)):
            raise AttributeError(f"{type(self).__name__}.{name}: only a number of the struct is assigned")
        self._at(field, field.kind).store(value)

    @property
    def ptr(self) -> Pointer:
        """The pointer to the struct."""
        pointer: Pointer = object.__getattribute__(self, "_pointer")
        return pointer


def is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _resolved(annotation: Any, where: str) -> tuple[Any, int, int]:
    """(kind, bytes, alignment) of a field."""
    if isinstance(annotation, _Aligned):
        kind, size, alignment = _resolved(annotation.of, where)
        return kind, size, max(alignment, annotation.alignment)
    if isinstance(annotation, _Range):
        return annotation, -(-annotation.length * annotation.dtype.bits // 8), max(annotation.dtype.bits // 8, 1)
    if is_struct(annotation):
        return annotation, annotation.__sizeof__, annotation.__alignof__
    if isinstance(annotation, type) and issubclass(annotation, Numeric):
        size = max(annotation.bits // 8, 1)
        return annotation, size, size
    raise TypeError(
        f"struct: field {where} is {annotation!r}; expected a number's type, struct.MemRange[type, n], "
        "struct.Align[.., bytes] or another struct"
    )


def _made(cls: type, overlay: bool, frame: FrameType) -> type[Struct]:
    fields, end, greatest = {}, 0, 1
    for name, annotation in inspect.get_annotations(cls).items():
        if isinstance(annotation, str):  # of a module with `from __future__ import annotations`
            annotation = eval(annotation, frame.f_globals, dict(frame.f_locals))
        kind, size, alignment = _resolved(annotation, f"{cls.__name__}.{name}")
        offset = 0 if overlay else -(-end // alignment) * alignment
        fields[name] = Field(offset, kind)
        end, greatest = max(end, offset + size), max(greatest, alignment)
    return type(
        cls.__name__,
        (Struct,),
        {
            "__fields__": fields,
            "__sizeof__": -(-end // greatest) * greatest,
            "__alignof__": greatest,
            "__doc__": cls.__doc__,
            "__module__": cls.__module__,
        },
    )


class _Decorator:
    """`@cute.struct`, and what its annotations are made with: `cute.struct.MemRange[T, n]`, `cute.struct.Align[X, n]`.

    Align counts bytes. Raises TypeError for what is no class, and for fields of another kind; ValueError for an
    alignment that is no power of two and for a negative count. Source: CuTeDSL `cute.struct`, `cute.union`.

    >>> from tilewright import Float16, Int64, cute
    >>> @cute.struct
    ... class Storage:
    ...     barriers: cute.struct.MemRange[Int64, 3]
    ...     tile: cute.struct.Align[cute.struct.MemRange[Float16, 64], 128]
    >>> Storage.size_in_bytes(), Storage.__alignof__
    (256, 128)
    """

    MemRange = _MemRangeMaker()
    Align = _AlignMaker()

    def __init__(self, overlay: bool) -> None:
        self._overlay = overlay

    def __call__(self, cls: type) -> type[Struct]:
        if not isinstance(cls, type):
            raise TypeError(f"{'union' if self._overlay else 'struct'}: expected a class, but got {shown(cls)}")
        return _made(cls, self._overlay, sys._getframe(1))


struct = _Decorator(overlay=False)
union = _Decorator(overlay=True)


def native_struct(cls: type[T]) -> type[T]:
    """A class of values whose fields may change: a dataclass that keeps each field's numeric type.

    It lies in no memory. Its objects are arguments of kernels and @cute.jit functions, and go through branches and
    round loops field by field. Raises TypeError for what is no class, for a field without a default behind one with a
    default, and where a field is set to what its type does not take. Source: CuTeDSL documentation, structs as
    arguments.

    >>> from tilewright import Float32, Int32, cute
    >>> @cute.native_struct
    ... class Mean:
    ...     total: Float32
    ...     count: Int32 = 0
    >>> mean = Mean(total=2)
    >>> mean.count = 2.5
    >>> type(mean.total), int(mean.count)
    (Float32, 2)
    """
    if not isinstance(cls, type):
        raise TypeError(f"native_struct: expected a class, but got {shown(cls)}")
    try:
        made = dataclasses.dataclass(cls)
    except TypeError as error:
        raise TypeError(f"native_struct: {cls.__name__}: {error}") from None
    found = inspect.get_annotations(cls)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") == at_boundary.__module__:
        frame = frame.f_back
    dtypes = {}
    for name, kind in found.items():
        if isinstance(kind, str) and frame is not None:
            try:
                kind = eval(kind, frame.f_globals, dict(frame.f_locals))
            except Exception:  # a name that only a type checker sees
                continue
        if isinstance(kind, type) and issubclass(kind, Numeric) and hasattr(kind, "width"):
            dtypes[name] = kind

    def set_field(self: Any, name: str, value: Any) -> None:
        dtype = dtypes.get(name)
        object.__setattr__(self, name, value if dtype is None or isinstance(value, dtype) else dtype(value))

    made.__setattr__ = set_field  # type: ignore[method-assign]
    return made
