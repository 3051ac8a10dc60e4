"""Tensors: an iterator and a layout, tensor(c) = iterator[layout(c)].

What the iterator is decides what an element is: a Pointer gives memory, an integer gives the counting tensor iterator +
layout(c), and a coordinate gives an identity tensor, whose elements are coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._boundary import integer, shown
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.cute.layout_error import renamed
from tilewright.cute.tensors.coordinate import Coordinate, index_error
from tilewright.cute.tensors.pointer import AddressSpace, Pointer, recast_ptr
from tilewright.cute.vectors.tensor_ssa import TensorSSA, size_of
from tilewright.numeric import Int4, Int32, Int64, Numeric
from tilewright.numeric.base import require_dtype
from tilewright.numeric.traced import is_traced

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np

    from tilewright._core import ScaledBasis, Swizzle
    from tilewright._typing import AnyLayout, SupportsDLPack
    from tilewright.cute.int_tuple import Coord, Shape

__all__ = ["Tensor", "as_layout", "as_tensor", "make_identity_tensor", "make_tensor", "offset_range", "recast_tensor"]


class Tensor:
    """iterator o layout: tensor[c] is the element at layout(c), tensor[.., None, ..] the tensor of the modes kept.

    Indexing an element of memory checks the coordinate against the shape and gives a Python number; integers, tuples of
    integers and nested tuples are coordinates, in colexicographic order. The elements of a counting tensor are integers
    and those of an identity tensor coordinates; they have no bounds.

    Raises IndexError for a coordinate out of range, LayoutError for one that does not fit the shape, RuntimeError for
    elements of memory of unknown size, TypeError for what is no coordinate, iterator or layout. Source: CuTe `Tensor`.

    >>> from tilewright import cute
    >>> tensor = cute.make_tensor(100, cute.make_layout((4, (2, 3)), stride=(6, (1, 2))))
    >>> tensor[1, (1, 2)], tensor[5], str(tensor[None, 3])
    (111, 107, 'tensor<103 o (4):(6)>')
    """

    __slots__ = ("iterator", "layout")
    iterator: Any
    layout: Any

    def __init__(self, iterator: Any, layout: Any) -> None:
        self.iterator = iterator if isinstance(iterator, _ITERATORS) else _as_iterator("Tensor", iterator)
        if not isinstance(layout, (_core.Layout, _core.ComposedLayout)):
            raise TypeError(f"Tensor: expected a layout, but got {shown(layout)}; make_tensor takes a shape, too")
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
    def _dtype(self) -> type[Numeric] | None:
        """The same, by the name that programs take it by, too."""
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
        size = _core.size(self.shape)
        if is_traced(size):
            raise TypeError(
                f"{self}: its number of elements is known only at run time, so that Python does not walk through them: "
                "write `for i in cutlass.range(cute.size(t))` and t[i]"
            )
        return (self[i] for i in range(int(size)))

    def __len__(self) -> int:
        raise TypeError(f"len: {self} has cute.size(t) elements, and the extents t.shape")

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, coord: Any) -> Any:
        if _has_none(coord):
            try:
                layout, offset = _core.slice_and_offset(coord, self.layout)
            except (LayoutError, TypeError) as error:
                raise index_error(self, coord, error) from None
            return Tensor(self._moved(offset, coord), layout)
        if isinstance(self.iterator, Pointer):
            return self._pointer_to(coord).load()
        element = self._moved(self._offset(coord), coord)
        return tuple(element) if isinstance(element, Coordinate) else element

    def _offset(self, coord: Any) -> Any:
        try:
            return self.layout(coord)
        except (LayoutError, TypeError) as error:
            raise index_error(self, coord, error) from None

    def _moved(self, offset: Any, coord: Any) -> Any:
        try:
            return self.iterator + offset
        except LayoutError as error:
            raise LayoutError(
                f"{self}[{text(coord)}]: {error}; strides that are basis elements, as make_identity_layout's, move a "
                "coordinate"
            ) from None

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
        from tilewright.cute.tensors.export import device_of

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
        from tilewright.cute.tensors.export import export

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
        offset = self._offset(coord)
        return pointer + (offset if pointer.is_traced else int(offset))

    def _check_range(self, coord: Any, shape: Any, whole: Any, path: tuple[int, ...]) -> None:
        if isinstance(coord, float) or getattr(type(coord), "is_float", False):
            raise TypeError(
                f"{self}: an index is an integer, but got {type(coord).__name__} {coord}: `//` divides to an integer, "
                "`/` to a Float32; Int32(x) converts"
            )
        if isinstance(coord, (tuple, list)):
            if isinstance(shape, tuple) and len(coord) == len(shape):
                for i, (c, s) in enumerate(zip(coord, shape, strict=True)):
                    self._check_range(c, s, whole, (*path, i))
            return  # what does not fit the profile is an error of the layout
        if not hasattr(coord, "__index__"):
            return  # and so is what is no integer
        size = _core.size(shape)
        if is_traced(coord) or is_traced(size):
            return  # known when the kernel runs, which checks the address
        extent = int(size)
        if not 0 <= coord < extent:
            mode = f" of mode {','.join(map(str, path))}" if path else ""
            raise IndexError(
                f"{self}[{text(whole)}]: coordinate {int(coord)}{mode} is out of range; "
                f"shape {text(self.shape)} allows 0 to {extent - 1} there"
            )

    def fill(self, value: object) -> None:
        """Store one number in every element: tensor[c] = value.

        >>> from tilewright import Float32, cute
        >>> tensor = cute.make_rmem_tensor((2, 2), Float32)
        >>> tensor.fill(1.5)
        >>> list(tensor)
        [1.5, 1.5, 1.5, 1.5]
        """
        pointer: Any = self._memory_iterator("store to")
        if pointer.is_traced:
            size_of(self.shape, "fill")  # raises where it is not static
            pointer.fill_all(self.layout, value)
            return
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

    def load(self, *, loc: object = None, ip: object = None) -> TensorSSA:
        """All elements as a vector of the tensor's shape, in colexicographic order: load()[i] = tensor[i].

        Raises LayoutError for a shape that is not static. At the prompt numpy.asarray gives the elements as a flat
        array; types that NumPy lacks become float32, which holds every value of theirs. Source: CuTeDSL `Tensor.load`.

        >>> from tilewright import Int32, cute
        >>> tensor = cute.make_rmem_tensor(cute.make_layout((2, 2), stride=(2, 1)), Int32)
        >>> tensor.store([1, 2, 3, 4])
        >>> print(tensor.load(), list(tensor.load()), tensor[1])
        tensor_value<vector<4xi32> o (2, 2)> [1, 2, 3, 4] 2
        """
        pointer: Any = self._memory_iterator("load from")
        if pointer.is_traced:
            size_of(self.shape)  # raises where it is not static
            return TensorSSA(pointer.load_all(self.layout), self.shape, pointer.dtype)
        return TensorSSA(self._elements(), self.shape, pointer.dtype)

    def _elements(self) -> np.ndarray[Any, Any]:
        """All elements as a flat NumPy array in colexicographic order."""
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

    def store(self, value: TensorSSA | Tensor | Iterable[object], *, loc: object = None, ip: object = None) -> None:
        """Store the elements of a vector in colexicographic order: tensor[i] = value[i].

        The vector has as many elements as the tensor, of its element type: `vector.to(tensor.element_type)`. At the
        prompt a sequence of numbers will do. Raises ValueError for another number of elements, TypeError for another
        type. Source: CuTeDSL `Tensor.store`.
        """
        pointer: Any = self._memory_iterator("store to")
        if isinstance(value, TensorSSA):
            self._require_elements_of(value)
            if pointer.is_traced:
                pointer.store_all(self.layout, value.symbol)
                return
        elif pointer.is_traced and not isinstance(value, Tensor):
            raise ValueError(f"{self}.store: expected a TensorSSA, but got {value!r}; fill(x) stores one number")
        if isinstance(value, Tensor):
            if pointer.is_traced or value.iterator.is_traced:
                self.store(value.load())
                return
            value = value._elements()
        values: Any = value._value if isinstance(value, TensorSSA) else value
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

    def _require_elements_of(self, vector: TensorSSA) -> None:
        if vector.dtype is not self.element_type:
            raise TypeError(
                f"{self}.store: the vector {vector} has elements of {vector.dtype}; convert them first: "
                f"v.to({self.element_type})"
            )
        size = size_of(self.shape, "store")
        if len(vector) != size:
            raise ValueError(
                f"{self}.store: expected {size} values, but got {len(vector)}; fill(x) stores one number everywhere"
            )


def _has_none(coord: Any) -> bool:
    """Whether a coordinate keeps a mode; a Python slice is an error, because it means something else in CuTe."""
    if isinstance(coord, (tuple, list)):
        return sum(map(_has_none, coord)) > 0  # look at every one
    if isinstance(coord, slice) or coord is Ellipsis:
        raise TypeError(
            "a tensor is indexed by integers and None: write t[None, 0] to keep mode 0; there is no ':' or '...'"
        )
    return coord is None


_ITERATORS = (Pointer, Coordinate, Int32, Int64)


def _as_iterator(function: str, x: Any) -> Any:
    """An iterator of a tensor; a tuple becomes a Coordinate and any integer Python's."""
    if isinstance(x, _ITERATORS):
        return x
    if isinstance(x, tuple) and _core.is_int_tuple(x):
        return Coordinate(x)
    if not isinstance(x, Numeric) and (number := integer(x)) is not None:
        return number
    raise TypeError(
        f"{function}: expected the iterator to be a Pointer, an integer or a coordinate, but got {shown(x)}; "
        "from_dlpack makes a tensor of an array"
    )


def as_layout(x: Any) -> Any:
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


def make_tensor(
    iterator: Pointer | Coord | ScaledBasis, layout: AnyLayout | Shape, *, loc: object = None, ip: object = None
) -> Tensor:
    """The tensor iterator o layout; a shape in place of a layout means its compact column-major layout.

        make_tensor(iterator, layout)[c] = *(iterator + layout(c))

    The iterator is a Pointer, an integer (tensor[c] = iterator + layout(c)) or a coordinate. Raises TypeError for
    another one and for what is no layout, LayoutError for a shape whose extents are not positive integers.
    Source: CuTe C++ `make_tensor`.

    >>> from tilewright import cute
    >>> print(cute.make_tensor(0, (2, 3)))
    tensor<0 o (2,3):(1,2)>
    """
    begin = _as_iterator("make_tensor", iterator)
    if isinstance(layout, Tensor):  # its elements are no modes
        raise TypeError(f"make_tensor: expected a layout or a shape, but got the Tensor {layout}; pass its .layout")
    over = as_layout(layout)
    return Tensor(begin.under(over) if isinstance(begin, Pointer) else begin, over)


def make_identity_tensor(shape: Shape, *, loc: object = None, ip: object = None) -> Tensor:
    """The tensor of coordinates of a shape: tensor[c] = c.

    Raises LayoutError for extents that are not positive integers, TypeError for other kinds.
    Source: CuTe C++ `make_identity_tensor`.

    >>> from tilewright import cute
    >>> tensor = cute.make_identity_tensor((8, 4))
    >>> print(tensor, tensor[9])
    tensor<(0,0) o (8,4):(1@0,1@1)> (1, 1)
    """
    try:
        layout = _core.make_identity_layout(shape)
    except LayoutError as error:
        raise renamed(error, "make_identity_tensor") from None
    except TypeError as error:
        raise TypeError(str(error).replace("make_identity_layout", "make_identity_tensor", 1)) from None
    zeros = _zeros(layout.shape)
    return Tensor(Coordinate(zeros) if isinstance(zeros, tuple) else zeros, layout)


def _zeros(shape: Any) -> Any:
    return tuple(_zeros(s) for s in shape) if isinstance(shape, tuple) else 0


def recast_tensor(
    src: SupportsDLPack, dtype: type[Numeric], swizzle_: Swizzle | None = None, *, loc: object = None, ip: object = None
) -> Tensor:
    """The same memory seen as another element type, its layout recast from old to new bits.

        recast_tensor(t, T).layout = recast_layout(T.bits, old bits, t.layout)

    Raises LayoutError where the layout cannot be recast. Source: CuTe C++ `cute::recast`.

    >>> from tilewright import Float16, Float32, cute
    >>> print(cute.recast_tensor(cute.make_rmem_tensor((4, 2), Float32), Float16))
    tensor<ptr<f16, rmem, align<32>> o (8,2):(1,8)>
    """
    tensor = as_tensor(src, "recast_tensor", "src")
    pointer = tensor._memory_iterator("recast")
    require_dtype("recast_tensor", dtype)
    layout = _core.recast_layout(dtype.bits, pointer.dtype.bits, tensor.layout)
    return Tensor(recast_ptr(pointer, swizzle_, dtype), layout)


def offset_range(layout: Any) -> tuple[int, int]:
    """The least and the greatest offset of any layout."""
    if isinstance(layout, _core.ComposedLayout):
        offsets = layout.offsets()
        return int(offsets.min()), int(offsets.max())
    least, greatest = _core.offset_range(layout)
    return least, greatest
