"""Tensors of one's own in register memory, and how many bytes a layout takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from tilewright import _core
from tilewright._boundary import shown
from tilewright._core import LayoutError
from tilewright._registry import Lazy
from tilewright.cute.layout_error import layout_error, renamed
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.cute.tensors.tensor import Tensor, as_layout, as_tensor, offset_range
from tilewright.numeric import Numeric
from tilewright.numeric.base import require_dtype
from tilewright.numeric.traced import is_tracing

if TYPE_CHECKING:
    from tilewright._core import Layout
    from tilewright._typing import AnyLayout, SupportsDLPack
    from tilewright.cute.int_tuple import Shape

__all__ = ["make_fragment_like", "make_rmem_tensor", "make_rmem_tensor_like", "size_in_bytes"]

RMEM_ALIGNMENT = 32
_frame_pointer = Lazy("tilewright.cute.tensors.traced_pointer:frame_pointer")
MOST_BYTES = 1 << 28  # a thread has some 1000; tests on the CPU keep whole matrices


def make_rmem_tensor(
    layout_or_shape: AnyLayout | Shape, dtype: type[Numeric], *, loc: object = None, ip: object = None
) -> Tensor:
    """A tensor of its own in register memory, aligned to 32 bytes; at the prompt ordinary memory stands for it.

    In a kernel its elements are not set; at the prompt they are zeros. Raises LayoutError for a layout that is not
    static. Source: CuTeDSL `cute.make_rmem_tensor`.

    >>> from tilewright import Float32, cute
    >>> print(cute.make_rmem_tensor((4, 2), Float32))
    tensor<ptr<f32, rmem, align<32>> o (4,2):(1,4)>
    """
    require_dtype("make_rmem_tensor", dtype)
    if isinstance(layout_or_shape, Tensor):
        raise TypeError(
            f"make_rmem_tensor: expected a layout or a shape, but got the Tensor {layout_or_shape}; "
            "make_rmem_tensor_like makes one like it"
        )
    layout = as_layout(layout_or_shape)
    if not _core.is_static(layout):
        raise LayoutError(
            f"make_rmem_tensor({layout}): registers need a static layout; use Python integers for its leaves"
        )
    least, greatest = offset_range(layout)
    first, last = least * dtype.bits // 8, -(-(greatest + 1) * dtype.bits // 8)  # bytes, from offset 0
    first -= first % RMEM_ALIGNMENT
    if last - first > MOST_BYTES:
        raise LayoutError(
            f"make_rmem_tensor({layout}): the offsets take {last - first} bytes of registers, and a tensor there takes "
            f"at most {MOST_BYTES}; make a smaller one for each thread"
        )
    if is_tracing():
        begin = first * 8 // dtype.bits
        pointer = _frame_pointer(dtype, greatest + 1 - begin, RMEM_ALIGNMENT)
        return Tensor(pointer - begin if begin else pointer, layout)
    memory = _core.Memory.allocate(last - first, RMEM_ALIGNMENT)
    return Tensor(Pointer(dtype, memory.address - first, AddressSpace.rmem, RMEM_ALIGNMENT, memory), layout)


def make_rmem_tensor_like(
    src: SupportsDLPack | AnyLayout, dtype: type[Numeric] | None = None, *, loc: object = None, ip: object = None
) -> Tensor:
    """A register tensor with the shape and the order of strides of another tensor, compact and not swizzled.

    Raises TypeError for what is no Tensor or layout, and without an element type; LayoutError for a layout that is not
    static, and for a composed layout that is not swizzled. Source: CuTe C++ `make_tensor_like`.

    >>> from tilewright import Float16, Float32, cute
    >>> print(cute.make_rmem_tensor_like(cute.make_layout((4, 2), stride=(8, 1)), Float16))
    tensor<ptr<f16, rmem, align<32>> o (4,2):(2,1)>
    """
    layout, dtype = _layout_and_dtype("make_rmem_tensor_like", src, dtype)
    if isinstance(layout, _core.ComposedLayout):
        if not isinstance(layout.inner, _core.Swizzle):
            raise layout_error(
                "make_rmem_tensor_like",
                (layout,),
                "a register tensor is made like a composed layout only where its inner function is a swizzle; pass "
                "its .outer",
            )
        layout = layout.outer
    return make_rmem_tensor(_core.make_layout_like(layout), dtype)


@overload
def make_fragment_like(src: AnyLayout, dtype: None = None, *, loc: object = None, ip: object = None) -> Layout: ...
@overload
def make_fragment_like(src: AnyLayout, dtype: type[Numeric], *, loc: object = None, ip: object = None) -> Tensor: ...
@overload
def make_fragment_like(
    src: SupportsDLPack, dtype: type[Numeric] | None = None, *, loc: object = None, ip: object = None
) -> Tensor: ...
def make_fragment_like(
    src: SupportsDLPack | AnyLayout, dtype: type[Numeric] | None = None, *, loc: object = None, ip: object = None
) -> Tensor | Layout:
    """A register tensor like another tensor, its mode 0 (the elements of one atom) compact and first.

    Of a layout, without an element type: the layout alone. Raises TypeError for what is no Tensor or layout, and for a
    tensor of coordinates without dtype; LayoutError for a tensor that is not static, and for a composed layout that is
    not swizzled. Source: CuTe C++ `make_fragment_like`.

    >>> from tilewright import Float32, cute
    >>> print(cute.make_fragment_like(cute.make_layout(((4, 2), 3, 5), stride=((1, 8), 160, 32)), Float32))
    tensor<ptr<f32, rmem, align<32>> o ((4,2),3,5):((1,4),40,8)>
    """
    if dtype is None and isinstance(src, (_core.Layout, _core.ComposedLayout)):
        return _fragment_layout(src)
    layout, dtype = _layout_and_dtype("make_fragment_like", src, dtype)
    return make_rmem_tensor(_fragment_layout(layout), dtype)


def _fragment_layout(layout: Any) -> Layout:
    try:
        return _core.make_fragment_like_layout(layout)
    except LayoutError as error:
        raise renamed(error, "make_fragment_like") from None


def _layout_and_dtype(function: str, src: Any, dtype: type[Numeric] | None) -> tuple[Any, type[Numeric]]:
    if not isinstance(src, (_core.Layout, _core.ComposedLayout)):
        src = as_tensor(src, function, "src")
        dtype = src.element_type if dtype is None else dtype
        src = src.layout
    if dtype is None:
        raise TypeError(f"{function}: {src} has no element type; pass dtype")
    require_dtype(function, dtype)
    return src, dtype


def size_in_bytes(dtype: type[Numeric], layout: AnyLayout | None, *, loc: object = None, ip: object = None) -> int:
    """The bytes that the offsets 0 to cosize(layout) - 1 take: ceil(cosize * bits / 8); None takes 0.

    Raises TypeError for a dtype that is no element type and a layout that is none, LayoutError where the cosize does
    not fit into 64 bits. Source: CuTeDSL `cute.size_in_bytes`.

    >>> from tilewright import Float16, cute
    >>> cute.size_in_bytes(Float16, cute.make_layout((4, 8), stride=(10, 1)))
    76
    """
    require_dtype("size_in_bytes", dtype)
    if layout is None:
        return 0
    try:
        return -(-int(_core.cosize(layout)) * dtype.bits // 8)
    except LayoutError as error:
        raise renamed(error, "size_in_bytes") from None
    except TypeError:
        raise TypeError(
            f"size_in_bytes: expected layout to be a layout, but got {shown(layout)}; make_layout makes one of a shape"
        ) from None
