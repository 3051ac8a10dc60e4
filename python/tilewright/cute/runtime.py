"""Tensors of other libraries, through DLPack."""

from __future__ import annotations

import sys
from typing import Any

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute import tensor as _tensor
from tilewright.cute.tensor import AddressSpace, Pointer, Tensor, offset_range
from tilewright.numeric import Float32, Int32, Int64, Numeric, TFloat32, from_dlpack_code

__all__ = ["from_dlpack", "make_ptr", "nullptr"]

# DLPack devices; what they are called in memory terms.
_GLOBAL_MEMORY = (2, 10, 13)  # CUDA, ROCm, CUDA managed
_CUDA_MEMORY = (2, 13)

# DLPack type codes in words. The first seven have several widths.
_CODES = (
    *("int", "uint", "float", "opaque", "bfloat", "complex", "bool"),
    *("float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2"),
    *("float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"),
)


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

    def __str__(self) -> str:
        shape, stride = (_spaced(x) for x in (self.shape, self.stride))
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

    def mark_layout_dynamic(self, leading_dim: int | None = None) -> RuntimeTensor:
        """Make all of the layout dynamic, except the leading dimension's stride 1 and strides of 0.

        Changes the tensor and returns it. leading_dim may count from the back; by default it is the only dimension of
        stride 1, or among several the only one of extent above 1; none leaves every stride dynamic. Raises LayoutError
        where it cannot be deduced or has another stride. Source: CuTeDSL documentation, framework integration.

        >>> import numpy
        >>> print(from_dlpack(numpy.zeros((4, 8), numpy.float32)).mark_layout_dynamic().layout)
        (?,?):(?{i64},1)
        """
        self._require_32_bits("mark_layout_dynamic")
        lead = self._leading_dim(leading_dim)
        shape, stride = self.shape, self.stride
        if shape:
            self.layout = _core.make_layout(
                tuple(Int32(int(s)) for s in shape),
                stride=tuple(
                    int(d) if i == lead or d == 0 else self._dynamic_stride(int(d)) for i, d in enumerate(stride)
                ),
            )
        return self

    def _leading_dim(self, leading_dim: int | None) -> int | None:
        shape, stride = self.shape, self.stride
        if leading_dim is not None:
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
        becomes 0. Raises LayoutError for a layout that is not compact in that order, or an extent that is not a
        multiple of divisibility. Source: CuTeDSL documentation, framework integration.

        >>> import numpy
        >>> tensor = from_dlpack(numpy.zeros((16, 4, 8, 2), numpy.float32).transpose(2, 1, 0, 3))
        >>> print(tensor.mark_compact_shape_dynamic(mode=0, divisibility=2).layout)
        (?{div=2},4,16,2):(2,?{i64 div=4},?{i64 div=16},1)
        """
        name = "mark_compact_shape_dynamic"
        self._require_32_bits(name)
        shape, stride, rank = self.shape, self.stride, len(self.shape)
        if not 0 <= mode < rank:
            raise LayoutError(f"{name}: mode {mode} is out of range [0, {rank}) of {self}")
        if not isinstance(divisibility, int) or divisibility < 1 or shape[mode] % divisibility:
            raise LayoutError(
                f"{name}: the extent {int(shape[mode])} of mode {mode} of {self} is not divisible by {divisibility}; "
                "pass a divisibility that it has"
            )
        order = self._compact_order(name, stride_order)
        extents = list(shape)
        extents[mode] = Int32._make(int(shape[mode]), divisibility)
        strides: list[Any] = [0] * rank
        size, known, dynamic = (
            1,
            1,
            False,
        )  # of the dimensions inside: elements, a divisor of them, whether it counts as unknown
        for i in reversed(order):
            extent = extents[i]
            if int(extent) != 1 and int(stride[i]) != size:
                raise LayoutError(
                    f"{name}: {self} is not compact in the stride order {_spaced(order)} (outermost first): mode {i} "
                    f"has stride {int(stride[i])}, but the dimensions inside it have {size} elements"
                )
            if isinstance(extent, Int32) or extent != 1:
                strides[i] = self._dynamic_stride(size, known) if dynamic else size
                size *= int(extent)
                known *= extent._div if isinstance(extent, Int32) else extent
                dynamic = dynamic or isinstance(extent, Int32)
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
            raise LayoutError(
                f"{name}: stride_order {_spaced(order)} must name each of the {rank} modes of {self} once"
            )
        if self._stride_order not in (None, order):
            raise LayoutError(
                f"{name}: stride_order {_spaced(order)} differs from {_spaced(self._stride_order)}, "
                f"the order in which {self} was marked before"
            )
        return order


class RuntimePointer(Pointer):
    """A pointer made outside of a @cute.jit function: its text shows its address."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"Ptr<0x{self.toint():016x}@{self.memspace}>"

    __repr__ = __str__

    def traced(self) -> Pointer:
        """The pointer as a @cute.jit function sees it."""
        return self + 0


def _spaced(x: Any) -> str:
    """A tuple as Python writes it, dynamic leaves as CuTe does."""
    if len(x) == 1:
        return f"({x[0]},)"
    return "(" + ", ".join(map(str, x)) + ")"


def from_dlpack(
    tensor: Any,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
    *,
    enable_tvm_ffi: bool = False,
    force_tf32: bool = False,
) -> RuntimeTensor:
    """The tensor of another library, with its memory, and with its shape and strides as a static layout.

    assumed_align is the alignment in bytes to rely on, by default the element's size; the address must have it.
    use_32bit_stride says what dynamic strides become, force_tf32 sees Float32 as TFloat32; enable_tvm_ffi is ignored.
    Device memory is imported too, but its elements cannot be accessed here. The other library is told the stream of
    the kernels launched here (`work_stream`), so that they wait for what it has enqueued.

    Raises BufferError where the other library does not export the tensor or its element type has no counterpart,
    LayoutError for a tensor without elements, ValueError for a missing alignment.
    Source: CuTeDSL `cute.runtime.from_dlpack`.

    >>> import numpy
    >>> tensor = from_dlpack(numpy.arange(12, dtype=numpy.int32).reshape(3, 4))
    >>> tensor.shape, tensor.stride, tensor.element_type, tensor[1, 2]
    ((3, 4), (4, 1), Int32, 6)
    """
    return import_array(tensor, "from_dlpack: tensor", assumed_align, use_32bit_stride, force_tf32)


def import_array(
    array: Any,
    where: str,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
    force_tf32: bool = False,
) -> RuntimeTensor:
    """from_dlpack, with the words that name the argument in an error."""
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"{where}: expected an array with __dlpack__, but got {type(array).__name__}")
    memory = _export(array, where)
    dtype = _element_type(memory, where)
    if force_tf32:
        if dtype is not Float32:
            raise TypeError(f"{where}: force_tf32 needs elements of type Float32, but they are {dtype}")
        dtype = TFloat32
    shape, strides = _logical(memory, dtype, where)
    if 0 in shape:
        raise LayoutError(
            f"{where}: shape {_spaced(shape)} has no elements, and a layout needs positive extents; skip it"
        )
    natural = max(dtype.bits // 8, 1)
    address = memory.address
    if assumed_align is None:
        alignment = natural if address % natural == 0 else address & -address
    else:
        alignment = assumed_align
        _tensor._require_alignment(where, alignment)
        if address % alignment:
            raise ValueError(
                f"{where}: assumed_align is {alignment}, but the address 0x{address:016x} is a multiple of only "
                f"{address & -address} bytes; pass a smaller alignment"
            )
    space = AddressSpace.gmem if memory.dlpack_device[0] in _GLOBAL_MEMORY else AddressSpace.generic
    pointer = Pointer(dtype, address, space, alignment, memory)
    return RuntimeTensor._imported(pointer, _core.make_layout(shape, stride=strides), use_32bit_stride)


def work_stream(device: int) -> int:
    """The handle of the stream on which kernels for a CUDA device are launched: torch's current one.

    Without torch on that device it is CuPy's current stream, and without CuPy the legacy default stream, 1. It is
    never 0, which DLPack does not allow.

    >>> work_stream(0)
    1
    """
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return int(torch.cuda.current_stream(device).cuda_stream) or 1
    cupy = sys.modules.get("cupy")
    if cupy is not None:
        with cupy.cuda.Device(device):
            return int(cupy.cuda.get_current_stream().ptr) or 1
    return 1


def _export(array: Any, where: str, stream: int | None = None) -> Any:
    """The memory of an array, on which work of that stream, by default work_stream's, may begin.

    A versioned capsule is asked for first: it can say that the memory is read-only.
    """
    if type(array).__module__.startswith("numpy.ma"):
        raise TypeError(f"{where}: a masked array has elements that do not count; pass its .data, or .filled(value)")
    options: dict[str, Any] = {}
    try:
        device = array.__dlpack_device__() if hasattr(array, "__dlpack_device__") else (1, 0)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(array, torch.Tensor):
            if array.is_neg():
                raise BufferError("torch has yet to negate this view (is_neg()); call resolve_neg() first")
            if array.is_cuda and torch.cuda.current_device() != device[1]:
                with torch.cuda.device(device[1]):  # torch exports from the current device only
                    return _export(array, where, stream)
        if device[0] in _CUDA_MEMORY:
            options["stream"] = work_stream(device[1]) if stream is None else stream or 1
        elif device[0] in _GLOBAL_MEMORY:
            options["stream"] = -1  # no kernel runs there: nothing need be waited for
        try:
            capsule = array.__dlpack__(max_version=(1, 3), **options)
        except TypeError:  # a library older than DLPack 1.0
            capsule = array.__dlpack__(**options)
        return _core.Memory.from_capsule(capsule)
    except Exception as error:
        raise BufferError(f"{where}: {error}") from error


def _element_type(memory: Any, where: str) -> type[Numeric]:
    code, bits, lanes = memory.dtype
    dtype = from_dlpack_code(code, bits)
    packed = bits == 4 and lanes == 2
    padded = memory.padded and bits % 8 != 0
    if dtype is not None and (lanes == 1 or packed) and not padded:
        return dtype
    name = _CODES[code] if code < len(_CODES) else f"type code {code}"
    if code < 7 or code >= len(_CODES):
        name += f" of {bits} bits"
    if lanes != 1:
        name += f" x {lanes} lanes"
    if padded:
        name += ", each padded to a byte"
    fix = (
        "view it as its real type, with a last dimension of 2"
        if code == 5
        else "view it as an integer type of that width"
    )
    raise BufferError(f"{where}: elements of {name} have no counterpart; {fix}")


def _logical(memory: Any, dtype: type[Numeric], where: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides in elements, where one item of the exporting library packs several."""
    shape, strides, lanes = memory.shape, memory.strides, memory.dtype[2]
    if lanes == 1:
        return shape, strides
    lead = [i for i, d in enumerate(strides) if d == 1 and (shape[i] > 1 or strides.count(1) == 1)]
    if len(lead) != 1:
        raise BufferError(
            f"{where}: packed {dtype} needs one dimension of stride 1, but shape {_spaced(shape)} has the strides "
            f"{_spaced(strides)}"
        )
    return (
        tuple(s * lanes if i in lead else s for i, s in enumerate(shape)),
        tuple(d if i in lead else d * lanes for i, d in enumerate(strides)),
    )


def make_ptr(
    dtype: type[Numeric],
    value: int,
    mem_space: AddressSpace = AddressSpace.generic,
    *,
    assumed_align: int | None = None,
) -> RuntimePointer:
    """A pointer to an address in bytes, as an argument for a @cute.jit function; see `cute.make_ptr`.

    >>> from tilewright import Float32
    >>> print(make_ptr(Float32, 0x1000, AddressSpace.gmem))
    Ptr<0x0000000000001000@gmem>
    """
    pointer = _tensor.make_ptr(dtype, value, mem_space, assumed_align=assumed_align)
    return RuntimePointer(dtype, pointer.toint(), mem_space, pointer.alignment)


def nullptr(
    dtype: type[Numeric], mem_space: AddressSpace = AddressSpace.generic, *, assumed_align: int | None = None
) -> RuntimePointer:
    """The null pointer as an argument for a @cute.jit function."""
    return make_ptr(dtype, 0, mem_space, assumed_align=assumed_align)
