"""Tensors: an iterator and a layout, tensor(c) = iterator[layout(c)].

What the iterator is decides what an element is: a Pointer gives memory, an integer gives the counting tensor iterator +
layout(c), and a coordinate gives an identity tensor, whose elements are coordinates.
"""

from __future__ import annotations

import math
import operator
from enum import Enum
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text, transform_leaf
from tilewright.numeric import Int4, Int32, Int64, Numeric

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

__all__ = [
    "AddressSpace",
    "Pointer",
    "Tensor",
    "inner_partition",
    "local_partition",
    "local_tile",
    "make_fragment_like",
    "make_identity_tensor",
    "make_ptr",
    "make_rmem_tensor",
    "make_rmem_tensor_like",
    "make_tensor",
    "outer_partition",
    "recast_ptr",
    "recast_tensor",
    "size_in_bytes",
]


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


class Pointer:
    """The address of an element: its type, memory space, and the alignment in bytes that is known without looking.

    Arithmetic counts in elements. `pointer + n` keeps what is known of the alignment: the greatest common divisor of
    the old alignment and the step in bytes, where a dynamic step counts by its known divisor alone.

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

    def __add__(self, offset: Any) -> Pointer:
        try:
            step = operator.index(offset)
        except TypeError:
            return NotImplemented
        known = offset._div if isinstance(offset, (Int32, Int64)) else step
        alignment = math.gcd(8 * self.alignment, known * self.dtype.bits) // 8
        return self._moved(self._bits + step * self.dtype.bits, max(alignment, 1))

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
        _require_alignment("align", min_align)
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

    def load(self) -> Any:
        """The element as a Python bool, int or float. IndexError outside the owner's memory."""
        memory = self._accessible("load from")
        address, shift, bits = self._bits >> 3, self._bits & 7, self.dtype.bits
        if bits <= 64:
            return self.dtype._decode(memory.load(address, shift, bits))
        return self.dtype._decode(memory.load(address, 0, 64) | memory.load(address + 8, 0, bits - 64) << 64)

    def store(self, value: Any) -> None:
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

    def __str__(self) -> str:
        return f"ptr<{self._facts()}>"

    __repr__ = __str__


class _Coordinate(tuple[Any, ...]):
    """The iterator of an identity tensor: a coordinate to which offsets are added mode by mode."""

    __slots__ = ()

    def __add__(self, offset: Any) -> _Coordinate:
        return _Coordinate(_add_coordinates(tuple(self), _as_coordinate(offset)))

    def __str__(self) -> str:
        return text(self)


def _as_coordinate(offset: Any) -> Any:
    """v@i@j as the coordinate with v at [j][i] and 0 before it."""
    if isinstance(offset, _core.ScaledBasis):
        coordinate = offset.value
        for mode in offset.mode:  # innermost first
            coordinate = (*(0,) * mode, coordinate)
        return coordinate
    return offset


def _add_coordinates(a: Any, b: Any) -> Any:
    if not isinstance(a, tuple) and not isinstance(b, tuple):
        return a + b
    if not isinstance(b, tuple):
        a, b = b, a
    if not isinstance(a, tuple):
        if a != 0:
            raise LayoutError(f"cannot add {text(a)} to the coordinate {text(b)}: the profiles differ")
        return tuple(b)
    short, long = sorted((a, b), key=len)
    return tuple(_add_coordinates(x, y) for x, y in zip(short, long, strict=False)) + tuple(long[len(short) :])


class Tensor:
    """iterator o layout: tensor[c] is the element at layout(c), tensor[.., None, ..] the tensor of the modes kept.

    Indexing an element of memory checks the coordinate against the shape and gives a Python number; integers, tuples of
    integers and nested tuples are coordinates, in colexicographic order. The elements of a counting tensor are integers
    and those of an identity tensor coordinates; they have no bounds.

    >>> from tilewright import cute
    >>> tensor = cute.make_tensor(100, cute.make_layout((4, (2, 3)), stride=(6, (1, 2))))
    >>> tensor[1, (1, 2)], tensor[5], str(tensor[None, 3])
    (111, 107, 'tensor<103 o (4):(6)>')
    """

    __slots__ = ("iterator", "layout")
    iterator: Any
    layout: Any

    def __init__(self, iterator: Any, layout: Any) -> None:
        self.iterator = iterator
        self.layout = layout

    @property
    def shape(self) -> Any:
        """The layout's shape."""
        return self.layout.shape

    @property
    def stride(self) -> Any:
        """The layout's stride, in elements."""
        return self.layout.stride

    @property
    def element_type(self) -> type[Numeric] | None:
        """The type of an element in memory; None where the iterator is no pointer."""
        return self.iterator.dtype if isinstance(self.iterator, Pointer) else None

    @property
    def dtype(self) -> type[Numeric] | None:
        """The same as element_type."""
        return self.element_type

    @property
    def memspace(self) -> AddressSpace:
        """Where the memory lies; generic where the iterator is no pointer."""
        return self.iterator.memspace if isinstance(self.iterator, Pointer) else AddressSpace.generic

    @property
    def leading_dim(self) -> Any:
        """The mode with stride 1: an index, a tuple of indices, or None."""
        return _core.leading_dim(self.shape, self.stride)

    @property
    def type(self) -> str:
        """The type as CuTeDSL's compiler writes it."""
        if isinstance(self.iterator, Pointer):
            return f'!cute.memref<{self.iterator._facts()}, "{self.layout}">'
        return f'!cute.coord_tensor<"{self.iterator}", "{self.layout}">'

    def __str__(self) -> str:
        return f"tensor<{self.iterator} o {self.layout}>"

    def __repr__(self) -> str:
        return str(self)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(int(_core.size(self.shape))))

    def __getitem__(self, coord: Any) -> Any:
        if _has_none(coord):
            layout, offset = _core.slice_and_offset(coord, self.layout)
            return Tensor(self.iterator + offset, layout)
        if isinstance(self.iterator, Pointer):
            return self._pointer_to(coord).load()
        element = self.iterator + self.layout(coord)
        return tuple(element) if isinstance(element, _Coordinate) else element

    def __setitem__(self, coord: Any, value: Any) -> None:
        if _has_none(coord):
            self[coord].store(value)
        else:
            self._pointer_to(coord).store(value)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's type and number of the device that has the memory; BufferError where there is no memory.

        >>> from tilewright import Float32, cute
        >>> cute.make_rmem_tensor((2, 3), Float32).__dlpack_device__()
        (1, 0)
        """
        from tilewright.cute.export import device_of

        return device_of(self)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The tensor for another library: a DLPack capsule, which shares the memory and keeps its owner alive.

        The dimensions are the leaves of the layout, so a nested mode becomes several. The capsule has a version where
        max_version is (1, 0) or later. With copy=True the consumer gets the elements for itself (CPU memory only).
        stream, for CUDA memory, is the stream on which the consumer will use the tensor: 1 is the legacy default
        stream, and what None means; 2 is the thread's default stream; 0 is not allowed. It is made to wait for the
        stream of the kernels launched here, which is torch's current one; -1 asks for no waiting. Work on another
        stream than that has to be synchronised by whoever enqueued it.

        Raises BufferError for what DLPack cannot say: a swizzled layout, computed elements, memory without an owner,
        read-only memory in the older protocol, another device. Source: Python array API standard, 2024.12.

        >>> import numpy
        >>> from tilewright import Int32, cute
        >>> tensor = cute.make_rmem_tensor((2, (2, 2)), Int32)
        >>> tensor.store(range(8))
        >>> numpy.from_dlpack(tensor)[1].tolist()
        [[1, 5], [3, 7]]
        """
        from tilewright.cute.export import export

        return export(self, stream, max_version, dl_device, copy)

    def _memory_iterator(self, action: str) -> Pointer:
        if not isinstance(self.iterator, Pointer):
            raise TypeError(
                f"cannot {action} {self}: its elements are computed, not stored; make_rmem_tensor gives memory"
            )
        return self.iterator

    def _pointer_to(self, coord: Any) -> Pointer:
        pointer = self._memory_iterator("store to")
        self._check_range(coord, self.shape, coord, ())
        return pointer + int(self.layout(coord))

    def _check_range(self, coord: Any, shape: Any, whole: Any, path: tuple[int, ...]) -> None:
        if isinstance(coord, (tuple, list)):
            if isinstance(shape, tuple) and len(coord) == len(shape):
                for i, (c, s) in enumerate(zip(coord, shape, strict=True)):
                    self._check_range(c, s, whole, (*path, i))
            return  # what does not fit the profile is an error of the layout
        if not hasattr(coord, "__index__"):
            return  # and so is what is no integer
        extent = int(_core.size(shape))
        if not 0 <= coord < extent:
            mode = f" of mode {','.join(map(str, path))}" if path else ""
            raise IndexError(
                f"{self}[{text(whole)}]: coordinate {int(coord)}{mode} is out of range; "
                f"shape {text(self.shape)} allows 0 to {extent - 1} there"
            )

    def fill(self, value: Any) -> None:
        """Store one number in every element: tensor[c] = value.

        >>> from tilewright import Float32, cute
        >>> tensor = cute.make_rmem_tensor((2, 2), Float32)
        >>> tensor.fill(1.5)
        >>> list(tensor)
        [1.5, 1.5, 1.5, 1.5]
        """
        pointer = self._memory_iterator("store to")
        data, index = self._bytes("store to")
        if index is None:
            for i in range(int(_core.size(self.shape))):
                self[i] = value
        else:
            pattern = pointer.dtype._encode(value._value if isinstance(value, Numeric) else value)
            data[index] = list(pattern.to_bytes(pointer.dtype.bits // 8, "little"))

    def _bytes(self, action: str) -> tuple[Any, Any]:
        """The bytes of the owner and, for every element, the indices of its own; None where those are not whole."""
        import numpy as np

        pointer = self._memory_iterator(action)
        memory = pointer._accessible(action)
        data = np.frombuffer(memory, np.uint8)
        size, rest = divmod(pointer.dtype.bits, 8)
        if rest or pointer._bits % 8:
            return data, None
        first = self.layout.offsets() * size + (pointer.toint() - memory.begin)
        if first.min() < 0 or first.max() + size > len(data):
            raise IndexError(f"cannot {action} {self}: an element lies outside the owner's memory")
        return data, first[:, None] + np.arange(size)

    def load(self) -> np.ndarray[Any, Any]:
        """All elements as a one-dimensional NumPy array in colexicographic order: load()[i] = tensor[i].

        Types that NumPy lacks become float32, which holds every value of theirs.

        >>> from tilewright import Int32, cute
        >>> tensor = cute.make_rmem_tensor(cute.make_layout((2, 2), stride=(2, 1)), Int32)
        >>> tensor.store([1, 2, 3, 4])
        >>> print(tensor.load(), tensor[1])
        [1 2 3 4] 2
        """
        import numpy as np

        values: np.ndarray[Any, Any]
        pointer = self._memory_iterator("load from")
        dtype = pointer.dtype
        data, index = self._bytes("load from")
        if index is None or dtype.bits > 64:
            elements = [pointer[int(offset)] for offset in self.layout.offsets()]
            return np.array(elements, object if dtype.bits > 64 else np.int8 if dtype is Int4 else np.float32)
        data = data[index]
        if dtype.numpy is not None:
            values = data.view(dtype.numpy)[:, 0]
        elif dtype.bits == 8:
            values = np.array([dtype._decode(i) for i in range(256)], np.float32)[data[:, 0]]
        else:  # the upper bits of a float32
            values = (data.view(f"uint{dtype.bits}")[:, 0].astype(np.uint32) << (32 - dtype.bits)).view(np.float32)
        return values

    def store(self, value: Any) -> None:
        """Store a sequence of size(tensor) numbers in colexicographic order: tensor[i] = value[i]."""
        pointer = self._memory_iterator("store to")
        values = value.load() if isinstance(value, Tensor) else value
        size = int(_core.size(self.shape))
        count = len(values) if hasattr(values, "__len__") and getattr(values, "ndim", 1) == 1 else None
        if count != size:
            what = f"{count}" if count is not None else f"{type(value).__name__} {value!r}"
            raise ValueError(
                f"{self}.store: expected {size} values, but got {what}; fill(x) stores one number everywhere"
            )
        data, index = self._bytes("store to")
        if (
            index is not None
            and pointer.dtype.numpy is not None
            and getattr(values, "dtype", None) == pointer.dtype.numpy
        ):
            data[index] = values.copy()[:, None].view(data.dtype)
            return
        for i, element in enumerate(values):
            self[i] = element.item() if hasattr(element, "item") else element


def _natural_alignment(dtype: type[Numeric]) -> int:
    return max(dtype.bits // 8, 1)


def _require_alignment(function: str, alignment: Any) -> None:
    if not isinstance(alignment, int) or alignment < 1 or alignment & (alignment - 1):
        raise ValueError(f"{function}: an alignment is a power of two in bytes, but got {alignment!r}")


def _require_dtype(function: str, dtype: Any) -> None:
    if not (isinstance(dtype, type) and issubclass(dtype, Numeric) and hasattr(dtype, "bits")):
        raise TypeError(f"{function}: expected an element type such as tilewright.Float32, but got {dtype!r}")


def _has_none(coord: Any) -> bool:
    """Whether a coordinate keeps a mode; a Python slice is an error, because it means something else in CuTe."""
    if isinstance(coord, (tuple, list)):
        return sum(map(_has_none, coord)) > 0  # look at every one
    if isinstance(coord, slice) or coord is Ellipsis:
        raise TypeError(
            "a tensor is indexed by integers and None: write t[None, 0] to keep mode 0; there is no ':' or '...'"
        )
    return coord is None


def _as_layout(x: Any) -> Any:
    return x if isinstance(x, (_core.Layout, _core.ComposedLayout)) else _core.make_layout(x)


def as_tensor(x: Any, function: str, argument: str = "tensor") -> Tensor:
    """A Tensor, or an array of another library as one; TypeError for anything else."""
    if isinstance(x, Tensor):
        return x
    if hasattr(x, "__dlpack__"):
        from tilewright.cute.runtime import import_array

        return import_array(x, f"{function}: {argument}")
    raise TypeError(
        f"{function}: expected {argument} to be a Tensor or an array with __dlpack__, but got {type(x).__name__}; "
        "make_tensor and from_dlpack make tensors"
    )


def make_ptr(
    dtype: type[Numeric],
    value: int,
    mem_space: AddressSpace = AddressSpace.generic,
    *,
    assumed_align: int | None = None,
    loc: Any = None,
    ip: Any = None,
) -> Pointer:
    """A pointer to an address in bytes; its memory has no known owner, so its elements cannot be accessed on the CPU.

    Raises ValueError where the address lacks the assumed alignment (bytes; the element's size by default).
    Source: CuTeDSL `cute.make_ptr`.

    >>> from tilewright import AddressSpace, Float16, cute
    >>> print(cute.make_ptr(Float16, 0x1000, AddressSpace.gmem, assumed_align=16))
    ptr<f16, gmem, align<16>>
    """
    _require_dtype("make_ptr", dtype)
    address = operator.index(value)
    alignment = _natural_alignment(dtype) if assumed_align is None else assumed_align
    _require_alignment("make_ptr", alignment)
    if address % alignment:
        raise ValueError(f"make_ptr: the address 0x{address:016x} is not a multiple of the alignment {alignment}")
    return Pointer(dtype, address, mem_space, alignment)


def recast_ptr(
    ptr: Pointer, swizzle_: Any = None, dtype: type[Numeric] | None = None, *, loc: Any = None, ip: Any = None
) -> Pointer:
    """The same address seen as another element type.

    A swizzle belongs into the layout here (make_composed_layout), so passing one is an error.
    Source: CuTeDSL `cute.recast_ptr`.

    >>> from tilewright import Float16, Float32, cute
    >>> print(cute.recast_ptr(cute.make_ptr(Float32, 64, assumed_align=16), dtype=Float16))
    ptr<f16, generic, align<16>>
    """
    if swizzle_ is not None:
        raise TypeError(f"recast_ptr: pointers carry no swizzle; use make_composed_layout({swizzle_}, 0, layout)")
    if dtype is None:
        return ptr
    _require_dtype("recast_ptr", dtype)
    pointer = ptr._moved(ptr._bits, ptr.alignment)
    pointer.dtype = dtype
    return pointer


def recast_tensor(src: Any, dtype: type[Numeric], swizzle_: Any = None, *, loc: Any = None, ip: Any = None) -> Tensor:
    """The same memory seen as another element type, its layout recast from old to new bits.

    Raises LayoutError where the layout cannot be recast. Source: CuTe C++ `cute::recast`.

    >>> from tilewright import Float16, Float32, cute
    >>> print(cute.recast_tensor(cute.make_rmem_tensor((4, 2), Float32), Float16))
    tensor<ptr<f16, rmem, align<32>> o (8,2):(1,8)>
    """
    tensor = as_tensor(src, "recast_tensor", "src")
    pointer = tensor._memory_iterator("recast")
    _require_dtype("recast_tensor", dtype)
    layout = _core.recast_layout(dtype.bits, pointer.dtype.bits, tensor.layout)
    return Tensor(recast_ptr(pointer, swizzle_, dtype), layout)


def make_tensor(iterator: Any, layout: Any, *, loc: Any = None, ip: Any = None) -> Tensor:
    """The tensor iterator o layout; a shape in place of a layout means its compact column-major layout.

    The iterator is a Pointer, an integer (tensor[c] = iterator + layout(c)) or a coordinate.
    Source: CuTe C++ `make_tensor`.

    >>> from tilewright import cute
    >>> print(cute.make_tensor(0, (2, 3)))
    tensor<0 o (2,3):(1,2)>
    """
    if isinstance(iterator, tuple):
        iterator = _Coordinate(iterator)
    elif not isinstance(iterator, (Pointer, int, Int32, Int64)):
        raise TypeError(
            f"make_tensor: expected the iterator to be a Pointer, an integer or a coordinate, but got "
            f"{type(iterator).__name__}; from_dlpack makes a tensor of an array"
        )
    return Tensor(iterator, _as_layout(layout))


def make_identity_tensor(shape: Any, *, loc: Any = None, ip: Any = None) -> Tensor:
    """The tensor of coordinates of a shape: tensor[c] = c. Source: CuTe C++ `make_identity_tensor`.

    >>> from tilewright import cute
    >>> tensor = cute.make_identity_tensor((8, 4))
    >>> print(tensor, tensor[9])
    tensor<(0,0) o (8,4):(1@0,1@1)> (1, 1)
    """
    layout = _core.make_identity_layout(shape)
    zeros = _zeros(layout.shape)
    return Tensor(_Coordinate(zeros) if isinstance(zeros, tuple) else zeros, layout)


def _zeros(shape: Any) -> Any:
    return tuple(_zeros(s) for s in shape) if isinstance(shape, tuple) else 0


RMEM_ALIGNMENT = 32


def make_rmem_tensor(layout_or_shape: Any, dtype: type[Numeric], *, loc: Any = None, ip: Any = None) -> Tensor:
    """A zeroed tensor of its own in register memory, aligned to 32 bytes; on the CPU ordinary memory stands for it.

    Raises LayoutError for a layout that is not static. Source: CuTeDSL `cute.make_rmem_tensor`.

    >>> from tilewright import Float32, cute
    >>> print(cute.make_rmem_tensor((4, 2), Float32))
    tensor<ptr<f32, rmem, align<32>> o (4,2):(1,4)>
    """
    _require_dtype("make_rmem_tensor", dtype)
    layout = _as_layout(layout_or_shape)
    if not _core.is_static(layout):
        raise LayoutError(
            f"make_rmem_tensor({layout}): registers need a static layout; use Python integers for its leaves"
        )
    least, greatest = offset_range(layout)
    first, last = least * dtype.bits // 8, -(-(greatest + 1) * dtype.bits // 8)  # bytes, from offset 0
    first -= first % RMEM_ALIGNMENT
    memory = _core.Memory.allocate(last - first, RMEM_ALIGNMENT)
    return Tensor(Pointer(dtype, memory.address - first, AddressSpace.rmem, RMEM_ALIGNMENT, memory), layout)


def offset_range(layout: Any) -> tuple[int, int]:
    """The least and the greatest offset of any layout."""
    if isinstance(layout, _core.ComposedLayout):
        offsets = layout.offsets()
        return int(offsets.min()), int(offsets.max())
    least, greatest = _core.offset_range(layout)
    return least, greatest


def make_rmem_tensor_like(src: Any, dtype: type[Numeric] | None = None, *, loc: Any = None, ip: Any = None) -> Tensor:
    """A register tensor with the shape and the order of strides of another tensor, compact.

    Source: CuTe C++ `make_tensor_like`.

    >>> from tilewright import Float16, Float32, cute
    >>> print(cute.make_rmem_tensor_like(cute.make_layout((4, 2), stride=(8, 1)), Float16))
    tensor<ptr<f16, rmem, align<32>> o (4,2):(2,1)>
    """
    layout, dtype = _layout_and_dtype("make_rmem_tensor_like", src, dtype)
    return make_rmem_tensor(_core.make_layout_like(layout), dtype)


def make_fragment_like(src: Any, dtype: type[Numeric] | None = None, *, loc: Any = None, ip: Any = None) -> Any:
    """A register tensor like another tensor, its mode 0 (the elements of one atom) compact and first.

    Of a layout, without an element type: the layout alone. Source: CuTe C++ `make_fragment_like`.

    >>> from tilewright import Float32, cute
    >>> print(cute.make_fragment_like(cute.make_layout(((4, 2), 3, 5), stride=((1, 8), 160, 32)), Float32))
    tensor<ptr<f32, rmem, align<32>> o ((4,2),3,5):((1,4),40,8)>
    """
    if dtype is None and isinstance(src, (_core.Layout, _core.ComposedLayout)):
        return _core.make_fragment_like_layout(src)
    layout, dtype = _layout_and_dtype("make_fragment_like", src, dtype)
    return make_rmem_tensor(_core.make_fragment_like_layout(layout), dtype)


def _layout_and_dtype(function: str, src: Any, dtype: type[Numeric] | None) -> tuple[Any, type[Numeric]]:
    if not isinstance(src, (_core.Layout, _core.ComposedLayout)):
        src = as_tensor(src, function, "src")
        dtype = src.element_type if dtype is None else dtype
        src = src.layout
    if dtype is None:
        raise TypeError(f"{function}: {src} has no element type; pass dtype")
    return src, dtype


def size_in_bytes(dtype: type[Numeric], layout: Any, *, loc: Any = None, ip: Any = None) -> int:
    """The bytes that the offsets 0 to cosize(layout) - 1 take: ceil(cosize * bits / 8); None takes 0.

    >>> from tilewright import Float16, cute
    >>> cute.size_in_bytes(Float16, cute.make_layout((4, 8), stride=(10, 1)))
    76
    """
    _require_dtype("size_in_bytes", dtype)
    return 0 if layout is None else -(-int(_core.cosize(layout)) * dtype.bits // 8)


def inner_partition(tensor: Any, tiler: Any, coord: Any, *, loc: Any = None, ip: Any = None) -> Tensor:
    """The tile at a coordinate of the grid of tiles: zipped_divide(tensor, tiler)[(None, ..), coord].

    A coordinate of lower rank than the grid keeps the grid's remaining modes. Raises LayoutError where the tiler does
    not divide. Source: CuTe C++ `inner_partition`.

    >>> from tilewright import cute
    >>> print(cute.inner_partition(cute.make_identity_tensor((8, 6)), (4, 2), (1, 2)))
    tensor<(4,4) o (4,2):(1@0,1@1)>
    """
    tiled = _core.zipped_divide(as_tensor(tensor, "inner_partition"), tiler)
    tile, rest = tiled.shape
    return tiled[_all_modes(tile), _pad("inner_partition", coord, rest)]  # type: ignore[no-any-return]


def outer_partition(tensor: Any, tiler: Any, coord: Any, *, loc: Any = None, ip: Any = None) -> Tensor:
    """The elements at one coordinate of every tile: zipped_divide(tensor, tiler)[coord, (None, ..)].

    Source: CuTe C++ `outer_partition`.

    >>> from tilewright import cute
    >>> print(cute.outer_partition(cute.make_identity_tensor((8, 6)), (4, 2), (1, 0)))
    tensor<(1,0) o (2,3):(4@0,2@1)>
    """
    tiled = _core.zipped_divide(as_tensor(tensor, "outer_partition"), tiler)
    tile, rest = tiled.shape
    return tiled[_pad("outer_partition", coord, tile), _all_modes(rest)]  # type: ignore[no-any-return]


def _all_modes(shape: Any) -> Any:
    rank = _core.rank(shape)
    return None if rank == 1 else (None,) * rank


def _pad(function: str, coord: Any, shape: Any) -> Any:
    """A tuple coordinate with None for the modes it leaves out; an integer is a 1-D coordinate and stays one."""
    if not isinstance(coord, tuple):
        return coord
    rank = _core.rank(shape)
    if len(coord) > rank:
        raise LayoutError(
            f"{function}: coordinate {text(coord)} has {len(coord)} modes, but shape {text(shape)} has {rank}"
        )
    return coord + (None,) * (rank - len(coord))


def _project(function: str, argument: str, x: Any, proj: Any) -> Any:
    """The modes of a tuple where proj is not None."""
    if not isinstance(proj, tuple):
        return x
    if not isinstance(x, tuple) or len(x) != len(proj):
        raise LayoutError(f"{function}: proj {text(proj)} needs {len(proj)} modes, but {argument} is {text(x)}")
    return tuple(mode for mode, keep in zip(x, proj, strict=True) if keep is not None)


def local_tile(tensor: Any, tiler: Any, coord: Any, proj: Any = None, *, loc: Any = None, ip: Any = None) -> Tensor:
    """The tile of a block: the modes of the tile, then the modes of the grid where coord has None.

    proj keeps the modes of tiler and coord where it is not None, so that one (M,N,K) tiler serves three matrices.
    Raises LayoutError where the tiler does not divide the tensor. Source: CuTe C++ `local_tile`.

    >>> from tilewright import cute
    >>> a = cute.make_identity_tensor((256, 64))
    >>> print(cute.local_tile(a, (128, 128, 8), (1, 0, None), proj=(1, None, 1)))
    tensor<(128,0) o (128,8,8):(1@0,1@1,8@1)>
    """
    tiler = _project("local_tile", "tiler", tiler, proj)
    coord = _project("local_tile", "coord", coord, proj)
    return inner_partition(as_tensor(tensor, "local_tile"), tiler, coord)


def local_partition(target: Any, tiler: Any, index: Any, proj: Any = 1, *, loc: Any = None, ip: Any = None) -> Tensor:
    """The elements of one thread: outer_partition at the coordinate where the thread layout `tiler` is index.

    proj keeps the modes of the thread layout where it is not None. Source: CuTe C++ `local_partition`.

    >>> from tilewright import cute
    >>> threads = cute.make_layout((4, 2))
    >>> print(cute.local_partition(cute.make_identity_tensor((8, 6)), threads, 5))
    tensor<(1,1) o (2,3):(4@0,2@1)>
    """
    if not isinstance(tiler, _core.Layout):
        raise TypeError(f"local_partition: expected tiler to be a Layout of threads, but got {type(tiler).__name__}")
    tensor = as_tensor(target, "local_partition", "target")
    tiler = _core.dice(tiler, proj)
    coord = tiler.get_flat_coord(index)
    tile = _core.product_each(tiler.shape) if isinstance(coord, tuple) else tiler.shape
    if isinstance(index, (Int32, Int64)):  # a dynamic index has a dynamic coordinate, except where there is only one
        coord = transform_leaf(lambda c, extent: 0 if extent == 1 else type(index)(c), coord, tile)
    if not isinstance(tile, tuple) and isinstance(tensor.shape, tuple):
        tile, coord = (tile,), (coord,)  # an integer would tile the whole tensor, not its mode 0
    return outer_partition(tensor, tile, coord)
