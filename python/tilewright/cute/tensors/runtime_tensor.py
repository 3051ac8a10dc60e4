"""Tensors and pointers made outside of a @cute.jit function: they show their addresses, and layouts become dynamic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._boundary import integer, shown
from tilewright._core import LayoutError
from tilewright._registry import Lazy
from tilewright.cute.tensors.pointer import Pointer, recast_ptr
from tilewright.cute.tensors.tensor import Tensor, offset_range
from tilewright.numeric import Int32, Int64
from tilewright.numeric.base import require_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tilewright.numeric import Numeric

__all__ = ["RuntimePointer", "RuntimeTensor", "spaced"]


class RuntimeTensor(Tensor):
    """A tensor imported by from_dlpack: a Tensor whose text shows its address, and whose layout can be marked dynamic.

    Its shape and stride are plain tuples. Inside a @cute.jit function it is an ordinary Tensor.
    """

    __slots__ = ("_stride_order", "_wide")
    _stride_order: tuple[int, ...] | None
    _wide: bool

    def __new__(cls, iterator: Any, layout: Any) -> Any:
        """What an operation makes of an imported tensor is an ordinary one."""
        return Tensor(iterator, layout)

    @classmethod
    def _imported(cls, pointer: Pointer, layout: Any, use_32bit_stride: bool) -> RuntimeTensor:
        self: RuntimeTensor = object.__new__(cls)
        Tensor.__init__(self, pointer, layout)
        self._wide = not use_32bit_stride
        self._stride_order = None
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _copied, (self.iterator, self.layout, self._wide, self._stride_order)

    @property
    def shape(self) -> Any:
        return tuple(self.layout.shape)

    @property
    def stride(self) -> Any:
        return tuple(self.layout.stride)

    @property
    def data_ptr(self) -> int:
        """The address of the element at offset 0."""
        return int(self.iterator.toint())

    @property
    def element_type(self) -> type[Numeric]:
        """The type of an element.

        Another type of the same width may be assigned: what stands for the bits of elements that a framework does not
        pass on, such as bytes for eight-bit floats, becomes a tensor of these. ValueError for another width.

        >>> import numpy
        >>> from tilewright import Float8E4M3FN
        >>> from tilewright.cute.runtime import from_dlpack
        >>> tensor = from_dlpack(numpy.full(2, 0x38, numpy.uint8))
        >>> tensor.element_type = Float8E4M3FN
        >>> tensor[0]
        1.0
        """
        return self.iterator.dtype  # type: ignore[no-any-return]

    @element_type.setter
    def element_type(self, dtype: type[Numeric]) -> None:
        require_dtype("element_type", dtype)
        if dtype.bits != self.element_type.bits:
            raise ValueError(
                f"element_type: {self} has elements of {self.element_type.bits} bits, but those of {dtype} have "
                f"{dtype.bits}; use recast_tensor, which changes the layout, too"
            )
        self.iterator = recast_ptr(self.iterator, dtype=dtype)

    def __str__(self) -> str:
        shape, stride = (spaced(x) for x in (self.shape, self.stride))
        return f"Tensor<0x{self.data_ptr:016x}@{self.memspace} o {shape}:{stride}>"

    def traced(self) -> Tensor:
        """The tensor as a @cute.jit function sees it."""
        return Tensor(self.iterator, self.layout)

    def _dynamic_stride(self, value: int, div: int = 1) -> Any:
        return (Int64 if self._wide else Int32)._make(value, div)

    def _require_32_bits(self, function: str) -> None:
        least, greatest = offset_range(self.layout)
        if not self._wide and not -(2**31) <= least <= greatest < 2**31:
            raise LayoutError(
                f"{function}: {self} reaches offsets from {least} to {greatest}, which 32-bit strides do not hold; "
                "use from_dlpack(.., use_32bit_stride=False)"
            )

    def _require_extents(self, function: str, modes: Iterable[int]) -> None:
        """Extents that become dynamic have 32 bits."""
        for mode in modes:
            if int(self.shape[mode]) > Int32.max:
                raise LayoutError(
                    f"{function}: the extent {int(self.shape[mode])} of mode {mode} of {self} does not fit the 32 bits "
                    "of a dynamic extent; reshape the tensor into more modes"
                )

    def mark_layout_dynamic(self, leading_dim: int | None = None) -> RuntimeTensor:
        """Make all of the layout dynamic, except the leading dimension's stride 1 and strides of 0.

        Changes the tensor and returns it. leading_dim may count from the back; by default it is the only dimension of
        stride 1, or among several the only one of extent above 1; none leaves every stride dynamic. Raises LayoutError
        where it cannot be deduced or has another stride. Source: CuTeDSL documentation, framework integration.

        >>> import numpy
        >>> from tilewright.cute.runtime import from_dlpack
        >>> print(from_dlpack(numpy.zeros((4, 8), numpy.float32)).mark_layout_dynamic().layout)
        (?,?):(?{i64},1)
        """
        return self._marked(leading_dim)

    def _marked(self, leading_dim: int | None = None, is_argument: bool = False) -> RuntimeTensor:
        """mark_layout_dynamic, also of an argument that nobody marked."""
        self._require_32_bits("mark_layout_dynamic")
        self._require_extents("mark_layout_dynamic", range(len(self.shape)))
        lead = self._leading_dim(leading_dim, is_argument)
        shape, stride = self.shape, self.stride
        if shape:
            self.layout = _core.make_layout(
                tuple(Int32(int(s)) for s in shape),
                stride=tuple(
                    int(d) if i == lead or d == 0 else self._dynamic_stride(int(d)) for i, d in enumerate(stride)
                ),
            )
        return self

    def _leading_dim(self, leading_dim: int | None, is_argument: bool = False) -> int | None:
        """The leading dimension; of an argument whose extents are all 1 the last one of stride 1."""
        shape, stride = self.shape, self.stride
        if leading_dim is not None:
            if integer(leading_dim) is None:
                raise TypeError(
                    f"mark_layout_dynamic: expected leading_dim to be an integer, but got {shown(leading_dim)}"
                )
            if not -len(stride) <= leading_dim < len(stride):
                raise LayoutError(
                    f"mark_layout_dynamic: leading_dim {leading_dim} is out of range for {self}, "
                    f"which has {len(stride)} dimensions"
                )
            lead = leading_dim % len(stride)
            if stride[lead] != 1:
                raise LayoutError(
                    f"mark_layout_dynamic: Expected strides[leading_dim] == 1, but got {int(stride[lead])} "
                    f"(leading_dim {leading_dim} of {self})"
                )
            return lead
        ones = [i for i, d in enumerate(stride) if d == 1]
        if len(ones) > 1:
            large = [i for i in ones if shape[i] > 1]
            if is_argument and not large:
                return ones[-1]
            if len(large) != 1:
                raise LayoutError(
                    f"mark_layout_dynamic: the dimensions {', '.join(map(str, ones))} of {self} all have stride 1, and "
                    f"{'none' if not large else 'more than one'} has an extent above 1; pass leading_dim"
                )
            ones = large
        return ones[0] if ones else None

    def mark_compact_shape_dynamic(
        self, mode: int, stride_order: tuple[int, ...] | None = None, divisibility: int = 1
    ) -> RuntimeTensor:
        """Make one extent of a compact layout dynamic, and with it the strides that it determines.

        Changes the tensor and returns it. stride_order names the dimensions from the outermost to the innermost, like
        torch's dim_order(); by default it follows the strides, which must then differ. The stride of an extent of 1
        becomes 0. Raises LayoutError for a layout that is not compact in that order, an extent that is not a
        multiple of divisibility, or offsets beyond 2^31 along a static stride. Source: CuTeDSL documentation, framework
        integration.

        >>> import numpy
        >>> from tilewright.cute.runtime import from_dlpack
        >>> tensor = from_dlpack(numpy.zeros((16, 4, 8, 2), numpy.float32).transpose(2, 1, 0, 3))
        >>> print(tensor.mark_compact_shape_dynamic(mode=0, divisibility=2).layout)
        (?{div=2},4,16,2):(2,?{i64 div=4},?{i64 div=16},1)
        """
        name = "mark_compact_shape_dynamic"
        self._require_32_bits(name)
        shape, stride, rank = self.shape, self.stride, len(self.shape)
        if integer(mode) is None:
            raise TypeError(f"{name}: expected mode to be an integer, but got {shown(mode)}")
        if not 0 <= mode < rank:
            raise LayoutError(f"{name}: mode {mode} is out of range [0, {rank}) of {self}")
        divisor = integer(divisibility) or 0
        if divisor < 1 or shape[mode] % divisor:
            raise LayoutError(
                f"{name}: the extent {int(shape[mode])} of mode {mode} of {self} is not divisible by {divisibility}; "
                "pass a divisibility that it has"
            )
        self._require_extents(name, (mode,))
        order = self._compact_order(name, stride_order)
        extents = list(shape)
        extents[mode] = Int32._make(int(shape[mode]), divisor)
        strides: list[Any] = [0] * rank
        # Of the dimensions inside: elements, a divisor of them, whether it counts as unknown.
        size, known, dynamic = 1, 1, False
        for i in reversed(order):
            extent = extents[i]
            if int(extent) != 1 and int(stride[i]) != size:
                raise LayoutError(
                    f"{name}: {self} is not compact in the stride order {spaced(order)} (outermost first): mode {i} "
                    f"has stride {int(stride[i])}, but the dimensions inside it have {size} elements"
                )
            if isinstance(extent, Int32) or extent != 1:
                strides[i] = self._dynamic_stride(size, known) if dynamic else size
                size *= int(extent)
                known *= extent._div if isinstance(extent, Int32) else extent
                dynamic = dynamic or isinstance(extent, Int32)
        furthest = (int(shape[mode]) - 1) * int(strides[mode])
        if furthest > Int32.max and isinstance(strides[mode], int):
            raise LayoutError(
                f"{name}: mode {mode} of {self} reaches offset {furthest}, but offsets of a dynamic extent and a "
                "static stride have 32 bits; use mark_layout_dynamic, whose strides have 64"
            )
        self.layout = _core.make_layout(tuple(extents), stride=tuple(strides))
        self._stride_order = order
        return self

    def _compact_order(self, name: str, stride_order: tuple[int, ...] | None) -> tuple[int, ...]:
        rank = len(self.shape)
        if stride_order is None:
            if self._stride_order is not None:
                return self._stride_order
            strides = [int(d) for d in self.stride]
            if len(set(strides)) < rank:
                raise LayoutError(
                    f"{name}: several modes of {self} have the same stride, so their order cannot be deduced; "
                    "pass stride_order"
                )
            return tuple(sorted(range(rank), key=lambda i: -strides[i]))
        order = tuple(stride_order)
        if sorted(order) != list(range(rank)):
            raise LayoutError(f"{name}: stride_order {spaced(order)} must name each of the {rank} modes of {self} once")
        if self._stride_order not in (None, order):
            raise LayoutError(
                f"{name}: stride_order {spaced(order)} differs from {spaced(self._stride_order)}, "
                f"the order in which {self} was marked before"
            )
        return order


_traced = "tilewright.cute.tensors.traced_pointer:"
_pointer_type, _traced_pointer = Lazy(_traced + "pointer_type"), Lazy(_traced + "TracedPointer")


class RuntimePointer(Pointer):
    """A pointer made outside of a @cute.jit function: its text shows its address."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"Ptr<0x{self.toint():016x}@{self.memspace}>"

    __repr__ = __str__

    def traced(self) -> Pointer:
        """The pointer as a @cute.jit function sees it."""
        return self + 0

    # What objects that hold a pointer pass on where they are arguments themselves (lang/foreign.py).

    @property
    def _pointer(self) -> int:
        return self.toint()

    def __c_pointers__(self) -> list[Any]:
        """Where the address lies in memory."""
        from ctypes import c_uint64, pointer  # lazy: few programs ask

        return [pointer(c_uint64(self.toint()))]

    def __get_mlir_types__(self) -> list[Any]:
        """The program's type of the pointer."""
        return [_pointer_type(self.dtype, self.memspace, self.alignment)]

    def __new_from_mlir_values__(self, values: Any) -> Pointer:
        """The pointer of a program that is the one value."""
        (value,) = values
        symbol = getattr(value, "symbol", value)
        return _traced_pointer(self.dtype, symbol, self.memspace, self.alignment)  # type: ignore[no-any-return]


def spaced(x: Any) -> str:
    """A tuple as Python writes it, dynamic leaves as CuTe does."""
    if len(x) == 1:
        return f"({x[0]},)"
    return "(" + ", ".join(map(str, x)) + ")"


def _copied(pointer: Pointer, layout: Any, wide: bool, stride_order: Any) -> RuntimeTensor:
    tensor = RuntimeTensor._imported(pointer, layout, not wide)
    tensor._stride_order = stride_order
    return tensor
