"""Shared memory of a kernel: an allocator, and structs that lie in it.

    storage = cutlass.utils.SmemAllocator().allocate(SharedStorage)
    sA = storage.a.get_tensor(layout)

Offsets are fixed while tracing: the kernel's shared memory is one block, and every allocation follows the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.tensors.pointer import AddressSpace, Pointer, recast_ptr
from tilewright.cute.tensors.tensor import Tensor, as_layout, offset_range
from tilewright.cute.tensors.traced_pointer import shared_pointer
from tilewright.lang import debug
from tilewright.lang.library.struct import Struct, is_struct
from tilewright.lang.trace import traced
from tilewright.numeric import Int8, Numeric
from tilewright.numeric.base import require_dtype

if TYPE_CHECKING:
    from tilewright._core import Swizzle

__all__ = ["SmemAllocator"]


class SmemAllocator:
    """Allocates shared memory of the kernel that is traced.

    Several allocators of one kernel go on from the same place. The memory is aligned to 1024 bytes.
    Source: CuTeDSL `cutlass.utils.SmemAllocator`.
    """

    def allocate(self, size_or_type: Any, byte_alignment: int = 1) -> Any:
        """So many bytes (a pointer to Int8), one number of a type (a pointer to it), or a struct."""
        if is_struct(size_or_type):
            alignment = max(byte_alignment, size_or_type.__alignof__)
            return size_or_type(self._pointer(size_or_type.__sizeof__, alignment, Int8))
        if isinstance(size_or_type, type) and issubclass(size_or_type, Numeric):
            return self.allocate_array(size_or_type, 1, byte_alignment)
        return self._pointer(_bytes("allocate: size", size_or_type), byte_alignment, Int8)

    def allocate_array(self, element_type: type[Numeric], num_elems: int = 1, byte_alignment: int = 1) -> Pointer:
        """A pointer to so many elements of a type."""
        require_dtype("allocate_array", element_type)
        bits = _bytes("allocate_array: num_elems", num_elems) * element_type.bits
        natural = max(element_type.bits // 8, 1)
        return self._pointer(-(-bits // 8), max(byte_alignment, natural), element_type)

    def allocate_tensor(
        self, element_type: type[Numeric], layout: Any, byte_alignment: int = 1, swizzle: Swizzle | None = None
    ) -> Tensor:
        """A tensor of a layout; `swizzle` permutes the bytes of its addresses.

        It gets the bytes of all offsets that the layout has, as `cosize` of a swizzled layout does not say: those
        below zero, too, and the whole of the blocks that a swizzle permutes.
        """
        layout = as_layout(layout)
        if not _core.is_static(layout):
            raise TypeError(
                f"allocate_tensor({layout}): shared memory needs a static layout: make its extents Constexpr, or take "
                "the most that is needed"
            )
        require_dtype("allocate_tensor", element_type)
        byte_alignment = _bytes("allocate_tensor: byte_alignment", byte_alignment)
        block = _permuted_bytes(swizzle, element_type)
        alignment = max(byte_alignment, element_type.bits // 8, 1, block)
        least, greatest = offset_range(layout)
        below = _rounded_up(-min(least, 0) * element_type.bits, 8 * alignment) // 8
        above = _rounded_up((greatest + 1) * element_type.bits, 8 * block) // 8
        pointer = self._pointer(below + above, alignment, element_type)
        return Tensor(recast_ptr(pointer + below * 8 // element_type.bits, swizzle), layout)

    def _pointer(self, size: int, alignment: int, dtype: type[Numeric]) -> Pointer:
        here = debug.place()
        if here is not None:
            memory = here.block.allocate(here.number, lambda: _core.Memory.allocate(max(size, 1), max(alignment, 16)))
            return Pointer(dtype, memory.address, AddressSpace.smem, alignment, memory)
        trace = traced("SmemAllocator.allocate()")
        if not trace.in_kernel:
            raise RuntimeError("SmemAllocator.allocate(): shared memory is a kernel's; allocate it in a @cute.kernel")
        offset = trace.shared.allocate(size, alignment)
        return shared_pointer(dtype, offset, _known_alignment(offset, trace.shared.BASE_ALIGNMENT), size)


def _rounded_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


def _permuted_bytes(swizzle: Swizzle | None, dtype: type[Numeric]) -> int:
    """The bytes of an aligned block in which a swizzle of addresses keeps every byte."""
    if swizzle is None:
        return 1
    if isinstance(swizzle, _core.LayoutSwizzle):  # it counts elements
        swizzle = _core.recast_layout(8, dtype.bits, swizzle)
    return 1 << (swizzle.num_base + swizzle.num_bits + max(-swizzle.num_shift, 0))


def _known_alignment(offset: int, base: int) -> int:
    return min(base, offset & -offset) if offset else base


def _bytes(what: str, value: Any) -> int:
    try:
        return int(value.__index__())
    except (AttributeError, TypeError):
        raise TypeError(f"{what} has to be an integer that is known while tracing, but got {value!r}") from None


def alloc_smem(
    element_type: type[Numeric],
    size_in_elems: int,
    alignment: int | None = None,
    *,
    loc: object = None,
    ip: object = None,
) -> Pointer:
    """A pointer to shared memory for so many elements of a type, as `SmemAllocator.allocate_array` gives.

    alignment: in bytes, by default that of an element. TypeError for a size that is known only at run time,
    RuntimeError outside of a kernel.

    >>> import numpy
    >>> from tilewright import Float32, cute
    >>> @cute.kernel
    ... def reverse(x: cute.Tensor):
    ...     i, _, _ = cute.arch.thread_idx()
    ...     shared = cute.make_tensor(alloc_smem(Float32, 4), 4)
    ...     shared[i] = x[i]
    ...     cute.arch.sync_threads()
    ...     x[i] = shared[3 - i]
    >>> x = numpy.arange(4, dtype=numpy.float32)
    >>> reverse(x).launch(block=4)
    >>> x.tolist()
    [3.0, 2.0, 1.0, 0.0]
    """
    return SmemAllocator().allocate_array(element_type, size_in_elems, 1 if alignment is None else alignment)


__all__ += ["Struct", "alloc_smem"]
