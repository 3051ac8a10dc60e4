"""Pointers: an address with the type of its elements, its memory space, and what is known of its alignment."""

from __future__ import annotations

import math
import operator
from contextvars import ContextVar
from enum import Enum
from typing import TYPE_CHECKING, Any

from tilewright._boundary import shown
from tilewright._notebook import drawn
from tilewright._registry import Lazy
from tilewright.numeric import Int32, Int64, Numeric
from tilewright.numeric.base import require_dtype
from tilewright.numeric.traced import is_tracing

if TYPE_CHECKING:
    from tilewright._core import Swizzle
    from tilewright._typing import AnyLayout

__all__ = ["AddressSpace", "Pointer", "aligned_after", "make_ptr", "recast_ptr", "require_alignment"]


# Whether elements are loaded as numbers of their type, as in a kernel, and not as Python's.
typed_elements: ContextVar[bool] = ContextVar("typed_elements", default=False)


class AddressSpace(Enum):
    """Where memory lies: anywhere, or in global, shared, register or tensor memory.

    >>> print(AddressSpace.gmem)
    gmem
    """

    generic = 0
    gmem = 1
    smem = 3
    rmem = 5
    tmem = 6

    def __str__(self) -> str:
        return self.name


@drawn
class Pointer:
    """The address of an element: its type, memory space, and the alignment in bytes that is known without looking.

    Arithmetic counts in elements. `pointer + n` keeps what is known of the alignment: the greatest common divisor of
    the old alignment and the step in bytes, where a dynamic step counts by its known divisor alone.

    Raises RuntimeError where elements are read or written and the size of their memory is not known. Source: CuTeDSL
    `cute.Pointer`.

    >>> from tilewright import Float32, cute
    >>> print(cute.make_ptr(Float32, 0x1000, assumed_align=16) + 2)
    ptr<f32, generic, align<8>>
    """

    __slots__ = ("_bits", "_memory", "alignment", "dtype", "memspace")

    def __init__(
        self,
        dtype: type[Numeric],
        address: int,
        memspace: AddressSpace = AddressSpace.generic,
        alignment: int | None = None,
        memory: Any = None,
    ) -> None:
        self.dtype = dtype
        self.memspace = memspace
        self.alignment = _natural_alignment(dtype) if alignment is None else alignment
        self._bits = 8 * address
        self._memory = memory  # keeps its owner alive and knows its bounds

    @property
    def value_type(self) -> type[Numeric]:
        """The element type, as `dtype`."""
        return self.dtype

    def under(self, layout: AnyLayout) -> Pointer:
        """The pointer of a tensor of this layout."""
        return self

    @property
    def is_traced(self) -> bool:
        """Whether the address is known at run time only."""
        return False

    @property
    def max_alignment(self) -> int:
        """The alignment in bytes that is known, as `alignment`."""
        return self.alignment

    def toint(self) -> int:
        """The address in bytes (of the byte that holds the first bit)."""
        return self._bits >> 3

    def _moved(self, bits: int, alignment: int) -> Pointer:
        pointer = Pointer(self.dtype, 0, self.memspace, alignment, self._memory)
        pointer._bits = bits
        return pointer

    def in_global_memory(self) -> Pointer:
        """The same pointer in gmem where the address space was generic: how a kernel sees its arguments."""
        pointer = self._moved(self._bits, self.alignment)
        if self.memspace is AddressSpace.generic:
            pointer.memspace = AddressSpace.gmem
        return pointer

    def recast(self, dtype: type[Numeric], swizzle: Swizzle | None) -> Pointer:
        """The same address with another element type; what recast_ptr does."""
        if swizzle is not None:
            raise TypeError(f"recast_ptr: pointers carry no swizzle; use make_composed_layout({swizzle}, 0, layout)")
        pointer = self._moved(self._bits, self.alignment)
        pointer.dtype = dtype
        return pointer

    def __add__(self, offset: Any) -> Pointer:
        try:
            step = operator.index(offset)
        except TypeError:
            return NotImplemented
        return self._moved(self._bits + step * self.dtype.bits, aligned_after(self.alignment, offset, self.dtype))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Pointer):
            return (self._bits - other._bits) // self.dtype.bits
        return self + -other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pointer):
            return NotImplemented
        return (self._bits, self.dtype, self.memspace) == (other._bits, other.dtype, other.memspace)

    def __hash__(self) -> int:
        return hash((self._bits, self.dtype, self.memspace))

    def align(self, min_align: int) -> Pointer:
        """The pointer at the next multiple of min_align bytes.

        >>> from tilewright import Float32, cute
        >>> str(cute.make_ptr(Float32, 0x1004).align(16)), hex(cute.make_ptr(Float32, 0x1004).align(16).toint())
        ('ptr<f32, generic, align<16>>', '0x1010')
        """
        require_alignment("align", min_align)
        unit = 8 * min_align
        return self._moved(-(-self._bits // unit) * unit, max(min_align, self.alignment))

    def _accessible(self, action: str) -> Any:
        memory = self._memory
        if memory is None:
            raise RuntimeError(
                f"cannot {action} {self} at 0x{self.toint():016x}: the pointer was made from an address, so the size "
                "of its memory is not known; make the tensor with from_dlpack instead"
            )
        if not memory.on_host:
            raise RuntimeError(
                f"cannot {action} {self} at 0x{self.toint():016x}: this is device memory of {memory.device}, which the "
                "CPU does not access; copy the array to the CPU first"
            )
        if action == "store to" and memory.read_only:
            raise ValueError(
                f"cannot store to {self} at 0x{self.toint():016x}: its owner exported the memory as read-only; "
                "copy the array first"
            )
        return memory

    def load(self) -> float:
        """The element as a Python bool, int or float. IndexError outside the owner's memory."""
        memory = self._accessible("load from")
        address, shift, bits = self._bits >> 3, self._bits & 7, self.dtype.bits
        if bits <= 64:
            found = memory.load(address, shift, bits)
        else:
            found = memory.load(address, 0, 64) | memory.load(address + 8, 0, bits - 64) << 64
        value: float = self.dtype._decode(found)
        return self.dtype._of(value) if typed_elements.get() else value  # type: ignore[return-value]

    def store(self, value: object) -> None:
        """Write a number as the element. IndexError outside the owner's memory, ValueError where it is read-only."""
        memory = self._accessible("store to")
        address, shift, bits = self._bits >> 3, self._bits & 7, self.dtype.bits
        pattern = self.dtype._encode(value._value if isinstance(value, Numeric) else value)
        for start in range(0, bits, 64):
            memory.store(address + start // 8, shift, min(bits - start, 64), pattern >> start & 0xFFFFFFFFFFFFFFFF)

    def __getitem__(self, offset: Any) -> Any:
        return (self + offset).load()

    def __setitem__(self, offset: Any, value: Any) -> None:
        (self + offset).store(value)

    def _facts(self) -> str:
        known = f", align<{self.alignment}>" if self.alignment != _natural_alignment(self.dtype) else ""
        return f"{self.dtype.name}, {self.memspace}{known}"

    @property
    def type(self) -> str:
        """The type as CuTeDSL's compiler writes it."""
        return f"!cute.{self}"

    def __str__(self) -> str:
        return f"ptr<{self._facts()}>"

    __repr__ = __str__


def aligned_after(alignment: int, offset: Any, dtype: type[Numeric]) -> int:
    """The alignment in bytes that a pointer keeps after a step of `offset` elements."""
    known = offset._div if isinstance(offset, (Int32, Int64)) else operator.index(offset)
    return max(math.gcd(8 * alignment, known * dtype.bits) // 8, 1)


def _natural_alignment(dtype: type[Numeric]) -> int:
    return max(dtype.bits // 8, 1)


def require_alignment(function: str, alignment: Any) -> None:
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"{function}: an alignment is a power of two in bytes, but got {alignment!r}")


_address_pointer = Lazy("tilewright.cute.tensors.traced_pointer:address_pointer")


def make_ptr(
    dtype: type[Numeric],
    value: int | Pointer,
    mem_space: AddressSpace = AddressSpace.generic,
    *,
    assumed_align: int | None = None,
    loc: object = None,
    ip: object = None,
) -> Pointer:
    """A pointer to an address in bytes, or to that of a pointer; at the prompt its memory has no known owner.

    Its elements can be accessed in kernels only. Raises TypeError for what is no address, ValueError for one below 0
    and for one that lacks the assumed alignment (bytes; the element's size by default).
    Source: CuTeDSL `cute.make_ptr`.

    >>> from tilewright import AddressSpace, Float16, cute
    >>> print(cute.make_ptr(Float16, 0x1000, AddressSpace.gmem, assumed_align=16))
    ptr<f16, gmem, align<16>>
    """
    require_dtype("make_ptr", dtype)
    alignment = _natural_alignment(dtype) if assumed_align is None else assumed_align
    require_alignment("make_ptr", alignment)
    if isinstance(value, Pointer):
        value = value.toint()
    if is_tracing():
        return _address_pointer(dtype, value, mem_space, alignment)  # type: ignore[no-any-return]
    if isinstance(value, bool):
        raise TypeError(f"make_ptr: expected value to be int | Pointer, but got {shown(value)}")
    address = operator.index(value)
    if address < 0:
        raise ValueError(f"make_ptr: the address is {address}; an address is at least 0")
    if address % alignment:
        raise ValueError(f"make_ptr: the address 0x{address:016x} is not a multiple of the alignment {alignment}")
    return Pointer(dtype, address, mem_space, alignment)


def recast_ptr(
    ptr: Pointer,
    swizzle_: Swizzle | None = None,
    dtype: type[Numeric] | None = None,
    *,
    loc: object = None,
    ip: object = None,
) -> Pointer:
    """The same address seen as another element type.

    In a kernel a swizzle is one of the address in bytes, S<B,M,S> as of make_swizzle, and every access through the
    pointer is at the swizzled address. The `inner` of a layout counts elements of the pointer's new type. Elsewhere a
    swizzle belongs into the layout (make_composed_layout). Raises TypeError there for a swizzle, and for what is no
    Pointer or no element type. Source: CuTeDSL `cute.recast_ptr`.

    >>> from tilewright import Float16, Float32, cute
    >>> print(cute.recast_ptr(cute.make_ptr(Float32, 64, assumed_align=16), dtype=Float16))
    ptr<f16, generic, align<16>>
    """
    if not isinstance(ptr, Pointer):
        raise TypeError(f"recast_ptr: expected ptr to be a Pointer, but got {shown(ptr)}; tensor.iterator is one")
    if isinstance(swizzle_, type) and dtype is None:
        raise TypeError(f"recast_ptr: expected swizzle_ to be a Swizzle, but got {swizzle_!r}; pass dtype={swizzle_!r}")
    if dtype is None:
        if swizzle_ is None:
            return ptr
        dtype = ptr.dtype
    require_dtype("recast_ptr", dtype)
    return ptr.recast(dtype, swizzle_)
