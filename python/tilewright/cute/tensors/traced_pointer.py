"""Pointers whose address is known at run time only: what a kernel's tensors start from.

Loads, stores and pointer arithmetic are operations of the program that is traced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core, numeric
from tilewright.cute.tensors.pointer import AddressSpace, Pointer, aligned_after, require_alignment
from tilewright.numeric import Int32, Int64, Integer, Numeric, Uint8
from tilewright.numeric.traced import emit, symbol_of

if TYPE_CHECKING:
    from tilewright._core import Swizzle
    from tilewright._typing import AnyLayout

__all__ = ["TracedPointer", "address_pointer", "frame_pointer", "pointer_of", "pointer_type", "shared_pointer"]


def pointer_type(dtype: type[Numeric], memspace: AddressSpace, alignment: int, swizzle: Swizzle | None = None) -> Any:
    """The program's type of a pointer; the swizzle is of the address in bytes."""
    bits = None if swizzle is None else (swizzle.num_bits, swizzle.num_base, swizzle.num_shift)
    return _core.program.pointer(dtype.__name__, str(memspace), alignment, bits)


def pointer_of(symbol: Any) -> TracedPointer:
    """The pointer whose value in the program this is: of `pointer.llvm_ptr`."""
    kind = symbol.type
    return TracedPointer(getattr(numeric, kind.scalar), symbol, AddressSpace[kind.space], kind.align)


class TracedPointer(Pointer):
    """A pointer of the program that is traced; a swizzle of its own permutes the bytes of every address.

    `room`: the bytes of the allocation of shared memory that it begins, where it begins one.
    """

    __slots__ = ("room", "swizzle", "symbol")

    def __init__(
        self,
        dtype: type[Numeric],
        symbol: Any,
        memspace: AddressSpace,
        alignment: int | None = None,
        swizzle: Swizzle | None = None,
        room: int | None = None,
    ) -> None:
        super().__init__(dtype, 0, memspace, alignment)
        self.room = room
        self.symbol = symbol
        self.swizzle = None if swizzle is None or swizzle.num_bits == 0 else swizzle

    def with_symbol(self, symbol: Any) -> TracedPointer:
        """A pointer of the same type."""
        return TracedPointer(self.dtype, symbol, self.memspace, self.alignment, self.swizzle)

    def aligned_to_only(self, alignment: int) -> TracedPointer:
        """The same address, of which a smaller alignment is known."""
        if alignment == self.alignment:
            return self
        return self._recast(self.dtype, self.memspace, alignment, self.swizzle)

    @property
    def is_traced(self) -> bool:
        return True

    @property
    def llvm_ptr(self) -> Any:
        """The pointer as a value of the program, an operand of inline assembly."""
        return self.symbol

    def ir_value(self, *, loc: object = None, ip: object = None) -> Any:
        """The same as llvm_ptr."""
        return self.symbol

    def toint(self) -> Any:
        return Int64._make(emit("address", (self.symbol,)), self.alignment)

    def in_global_memory(self) -> Pointer:
        if self.memspace is not AddressSpace.generic:
            return self
        return self._recast(self.dtype, AddressSpace.gmem, self.alignment, self.swizzle)

    def _recast(
        self, dtype: type[Numeric], memspace: AddressSpace, alignment: int, swizzle: Swizzle | None
    ) -> TracedPointer:
        symbol = emit("recast", (self.symbol,), type=pointer_type(dtype, memspace, alignment, swizzle))
        return TracedPointer(dtype, symbol, memspace, alignment, swizzle, self.room)

    def under(self, layout: AnyLayout) -> Pointer:
        """The pointer of a tensor of this layout.

        It stays within the allocation that it begins, if that has room for the layout. Elsewhere it may reach into the
        next one, as a tensor does that is laid over the memory of several others.
        """
        if self.memspace is not AddressSpace.smem:
            return self
        room = self.room if self.room is not None and _core.is_static(layout) else 0
        if room and int(_core.cosize(layout)) * self.dtype.bits <= 8 * room:
            return self
        kind = pointer_type(self.dtype, self.memspace, self.alignment, self.swizzle)
        return self.with_symbol(emit("recast", (self.symbol,), type=kind, ints=(1,)))

    def recast(self, dtype: type[Numeric], swizzle: Swizzle | None) -> Pointer:
        if isinstance(swizzle, _core.LayoutSwizzle):  # it counts elements
            swizzle = _core.recast_layout(8, dtype.bits, swizzle)
        return self._recast(dtype, self.memspace, self.alignment, self.swizzle if swizzle is None else swizzle)

    def __add__(self, offset: Any) -> Pointer:
        if isinstance(offset, Integer) and not isinstance(offset, (Int32, Int64)):
            offset = offset.to(Int32 if offset.width < 32 else Int64)
        if isinstance(offset, (Int32, Int64)):
            step = symbol_of(type(offset), offset._value)
        elif isinstance(offset, int):
            step = symbol_of(Int32 if -(1 << 31) <= offset < 1 << 31 else Int64, offset)
        else:
            return NotImplemented
        alignment = aligned_after(self.alignment, offset, self.dtype)
        kind = pointer_type(self.dtype, self.memspace, alignment, self.swizzle)
        symbol = emit("offset", (self.symbol, step), type=kind)
        return TracedPointer(self.dtype, symbol, self.memspace, alignment, self.swizzle)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Pointer):
            return (self.toint() - other.toint()) * 8 // self.dtype.bits
        return self + -other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TracedPointer):
            return NotImplemented
        return (self.symbol, self.dtype) == (other.symbol, other.dtype)

    def __hash__(self) -> int:
        return hash((self.symbol, self.dtype))

    def align(self, min_align: int) -> Pointer:
        require_alignment("align", min_align)
        if self.alignment % min_align == 0:
            return self
        beyond = -self.toint() & (min_align - 1)
        kind = pointer_type(Uint8, self.memspace, 1)
        address = emit("offset", (emit("recast", (self.symbol,), type=kind), beyond._value), type=kind)
        return TracedPointer(Uint8, address, self.memspace, 1)._recast(
            self.dtype, self.memspace, min_align, self.swizzle
        )

    def load(self) -> Any:
        return self.dtype._of(emit("load", accesses=(self.symbol,)))

    def store(self, value: object) -> None:
        emit("store", (self._element(value),), accesses=(self.symbol,))

    def _element(self, value: Any) -> Any:
        """The symbol of a number to be stored."""
        number = self.dtype(value)
        return symbol_of(self.dtype, number._value)

    def load_all(self, layout: Any) -> Any:
        """The symbol of all elements of a layout, a vector in colexicographic order."""
        return emit("load", accesses=((self.symbol, layout),))

    def store_all(self, layout: Any, vector: Any) -> None:
        emit("store", (vector,), accesses=((self.symbol, layout),))

    def fill_all(self, layout: Any, value: object) -> None:
        emit("fill", (self._element(value),), accesses=((self.symbol, layout),))

    def _facts(self) -> str:
        swizzle = "" if self.swizzle is None else f", {self.swizzle}"
        return super()._facts() + swizzle


def frame_pointer(dtype: type[Numeric], elements: int, alignment: int) -> TracedPointer:
    """Registers of a thread: so many elements, whose contents are unknown."""
    kind = pointer_type(dtype, AddressSpace.rmem, alignment)
    return TracedPointer(dtype, emit("frame", type=kind, ints=(elements, alignment)), AddressSpace.rmem, alignment)


def shared_pointer(dtype: type[Numeric], offset: int, alignment: int, size: int) -> TracedPointer:
    """The shared memory of the CTA from a byte on, so many bytes."""
    kind = pointer_type(dtype, AddressSpace.smem, alignment)
    symbol = emit("shared", type=kind, ints=(offset, size))
    return TracedPointer(dtype, symbol, AddressSpace.smem, alignment, room=size)


def address_pointer(dtype: type[Numeric], address: Any, memspace: AddressSpace, alignment: int) -> TracedPointer:
    """The pointer to an address in bytes, a Python or a traced integer."""
    number = Int64(address)
    kind = pointer_type(dtype, memspace, alignment)
    symbol = emit("to_pointer", (symbol_of(Int64, number._value),), type=kind)
    return TracedPointer(dtype, symbol, memspace, alignment)
