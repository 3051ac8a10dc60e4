"""TensorSSA: the elements of a tensor as one immutable value, with arithmetic element by element.

At the prompt the elements are a NumPy array, in a kernel a vector of the program. Both are flat, in colexicographic
order of the shape; the shape is known while tracing.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from tilewright import _core
from tilewright._core import LayoutError
from tilewright._registry import Lazy
from tilewright.cute.int_tuple import require_coord, require_shape, text
from tilewright.cute.tensors.coordinate import index_error
from tilewright.cute.vectors.operators import Operators
from tilewright.cute.vectors.shapes import broadcast_shape, groups_of, indices_from, kept_shape
from tilewright.numeric import Boolean, Int32, Int64, Numeric
from tilewright.numeric.base import require_dtype
from tilewright.numeric.traced import Symbol, arithmetic, compare, constant, convert, emit, is_tracing, type_of, unary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from tilewright.cute.int_tuple import Coord, Shape

__all__ = ["ReductionOp", "TensorSSA", "as_vector", "full", "size_of"]

Operand: TypeAlias = "TensorSSA | Numeric | float"
# A vector where an operand is one; else a number.
Value: TypeAlias = Any

# NumPy is imported when the first vector is made at the prompt.
_eager = "tilewright.cute.vectors.eager:"
_array_of, _operate, _compare = Lazy(_eager + "array_of"), Lazy(_eager + "operate"), Lazy(_eager + "compare")
_convert, _bitcast, _reduce = Lazy(_eager + "convert"), Lazy(_eager + "bitcast"), Lazy(_eager + "reduce")


MOST_ELEMENTS = 1 << 26  # of a vector at the prompt; a thread has some 1000


class ReductionOp(Enum):
    """What joins the elements of a reduction: their sum, product, largest or smallest.

    >>> print(ReductionOp.ADD)
    ReductionOp.ADD
    """

    ADD = "add"
    MUL = "mul"
    MAX = "max"
    MIN = "min"


_REDUCTIONS = {ReductionOp.ADD: "+", ReductionOp.MUL: "*", ReductionOp.MAX: "max", ReductionOp.MIN: "min"}


def size_of(shape: Any, function: str = "load") -> int:
    """The number of elements of a static shape."""
    size = _core.size(shape)
    if not isinstance(size, int):
        raise LayoutError(
            f"{function}: a vector has a static shape, but got {text(shape)}; slice the tensor first (t[i, None], "
            "cute.local_tile) or make it by from_dlpack, which fixes its extents"
        )
    if size > MOST_ELEMENTS:
        raise LayoutError(
            f"{function}: a vector of shape {text(shape)} has {size} elements, and at most {MOST_ELEMENTS} are taken"
        )
    return size


class TensorSSA(Operators):
    """A vector with a shape: what Tensor.load gives. Immutable; operators work element by element and broadcast.

    The other operand is a vector, a number or a Python number; the result has the type that numbers would have. Shapes
    are matched from the last mode on, and an extent of 1 goes with any. A comparison gives Booleans. Where all elements
    are known, numpy.asarray gives them in colexicographic order.

    Raises ValueError for shapes that do not broadcast, IndexError for an element out of range, TypeError where a vector
    is a condition. Source: CuTeDSL `cute.TensorSSA`.

    >>> import numpy
    >>> from tilewright import Int32, cute
    >>> tensor = cute.make_rmem_tensor((2, 3), Int32)
    >>> tensor.store(range(6))
    >>> vector = tensor.load()
    >>> print(vector, numpy.asarray(vector * 2 + 1), numpy.asarray(vector > 2))
    tensor_value<vector<6xi32> o (2, 3)> [ 1  3  5  7  9 11] [False False False  True  True  True]
    """

    __slots__ = ("_value", "dtype", "shape")
    __array_priority__ = 1000  # an array on the left leaves the operator to the vector
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, shape: Any, dtype: type[Numeric]) -> None:
        self._value = value
        self.shape = shape
        self.dtype = dtype

    @property
    def element_type(self) -> type[Numeric]:
        """The type of the elements, as dtype."""
        return self.dtype

    @property
    def is_traced(self) -> bool:
        """Whether the elements are known at run time only."""
        return type(self._value) is Symbol

    @property
    def symbol(self) -> Any:
        """The elements as a value of the program."""
        if type(self._value) is Symbol:
            return self._value
        elements = [constant(self.dtype, x) for x in self._value.tolist()]
        return elements[0] if len(elements) == 1 else emit("pack", elements)

    def _like(self, value: Any, dtype: type[Numeric] | None = None) -> TensorSSA:
        return TensorSSA(value, self.shape, self.dtype if dtype is None else dtype)

    # ---- what Python sees --------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return f"tensor_value<vector<{len(self)}x{self.dtype.name}> o {self.shape!r}>"

    def __repr__(self) -> str:
        return str(self) if self.is_traced else f"TensorSSA({self._value.tolist()}, {self.shape!r}, {self.dtype})"

    def __len__(self) -> int:
        return size_of(self.shape)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        """The elements as a flat NumPy array in colexicographic order; TypeError in a kernel."""
        if type(self._value) is Symbol:
            raise TypeError(f"{self}: the elements are known only at run time; store them in a tensor to see them")
        array: np.ndarray[Any, Any] = self._value if dtype is None else self._value.astype(dtype)
        return array.copy() if copy else array

    def __bool__(self) -> bool:
        raise TypeError(
            f"bool({self}): a vector is no condition; use cute.any_(v), cute.all_(v) or cute.where(v, x, y)"
        )

    def __getitem__(self, coord: Any) -> Any:
        """The element at a coordinate, a number, or the vector of the modes where the coordinate is None."""
        layout = _core.make_layout(self.shape)
        try:
            if isinstance(coord, str):  # no notation here, as in a tensor's brackets
                raise TypeError
            part, offset = (
                _core.slice_and_offset(coord, layout) if _core.has_underscore(coord) else (None, layout(coord))
            )
        except (LayoutError, TypeError) as error:
            raise index_error(self, coord, error) from None
        if part is None:
            return self._element(offset, coord)
        if isinstance(offset, (Int32, Int64)) and offset.is_traced:
            elements = [self._element(offset + i, coord)._value for i in part.offsets().tolist()]
            return TensorSSA(emit("pack", elements) if len(elements) > 1 else elements[0], part.shape, self.dtype)
        return TensorSSA(self._taken([int(offset) + i for i in part.offsets().tolist()]), part.shape, self.dtype)

    def _element(self, index: Any, coord: Any) -> Any:
        if isinstance(index, (Int32, Int64)) and index.is_traced:
            if len(self) == 1:
                return self.dtype._of(self.symbol)
            return self.dtype._of(emit("extract", (self.symbol, index.to(Int32)._value)))
        if not 0 <= index < len(self):
            raise IndexError(f"{self}[{text(coord)}]: shape {text(self.shape)} has no such element")
        if not self.is_traced:
            element = self._value[int(index)]
            return element.item() if hasattr(element, "item") else element
        if len(self) == 1:
            return self.dtype._of(self._value)
        return self.dtype._of(emit("extract", (self._value,), ints=(int(index),)))

    def _taken(self, indices: list[int]) -> Any:
        """The value of a vector of some elements."""
        if not self.is_traced:
            return self._value[indices]
        if len(self) == 1:
            return self._value if len(indices) == 1 else emit("splat", (self._value,), type=self._type(len(indices)))
        if len(indices) == 1:
            return emit("extract", (self._value,), ints=indices)
        if len(set(indices)) == 1:
            element = emit("extract", (self._value,), ints=indices[:1])
            return emit("splat", (element,), type=self._type(len(indices)))
        return emit("shuffle", (self._value,), ints=indices)

    def _type(self, lanes: int) -> Any:
        return type_of(self.dtype, lanes)

    # ---- shape and type ----------------------------------------------------------------------------------------------

    def to(self, dtype: type[Numeric]) -> TensorSSA:
        """The elements as another type, as Numeric.to converts numbers. Source: CuTeDSL `TensorSSA.to`.

        >>> from tilewright import Float32, Int8, cute
        >>> list(cute.full(3, 2.7, Float32).to(Int8))
        [2, 2, 2]
        """
        require_dtype("to", dtype)
        if dtype is self.dtype:
            return self
        if self.is_traced:
            return self._like(convert(self._value, dtype), dtype)
        return self._like(_convert(self.dtype, dtype, self._value), dtype)

    def bitcast(self, dtype: type[Numeric]) -> TensorSSA:
        """The same bits as elements of another type; the shape is recast as a layout is.

        Raises LayoutError where the shape cannot be recast. Source: CuTeDSL `TensorSSA.bitcast`.

        >>> from tilewright import Float32, Uint16, cute
        >>> [hex(x) for x in cute.full(1, 1.0, Float32).bitcast(Uint16)]
        ['0x0', '0x3f80']
        """
        require_dtype("bitcast", dtype)
        if len(self) == 1 and dtype.bits < self.dtype.bits:  # an extent of 1 has no stride of 1, which would grow
            shape: Any = self.dtype.bits // dtype.bits
        else:
            shape = _core.recast_layout(dtype.bits, self.dtype.bits, _core.make_layout(self.shape)).shape
        if size_of(shape, "bitcast") * dtype.bits != len(self) * self.dtype.bits:
            raise LayoutError(f"bitcast({self}, {dtype}): the elements do not fill whole ones of {dtype.bits} bits")
        if self.is_traced:
            return TensorSSA(emit("bitcast", (self._value,), type=type_of(dtype, size_of(shape))), shape, dtype)
        return TensorSSA(_bitcast(self.dtype, dtype, self._value), shape, dtype)

    def reshape(self, shape: Shape) -> TensorSSA:
        """The same elements, in colexicographic order, in another shape of the same size.

        >>> from tilewright import Float32, cute
        >>> print(cute.full((2, 6), 1, Float32).reshape((3, 4)))
        tensor_value<vector<12xf32> o (3, 4)>
        """
        shape = require_shape("reshape", shape)
        if size_of(shape, "reshape") != len(self):
            raise ValueError(
                f"reshape({self}, {text(shape)}): the shape has {size_of(shape)} elements, not {len(self)}"
            )
        return TensorSSA(self._value, shape, self.dtype)

    def broadcast_to(self, shape: Shape) -> TensorSSA:
        """Extents of 1 repeated up to those of a shape; modes that are missing are added behind, as in CuTe.

        Raises ValueError where an extent is neither 1 nor that of the shape. Source: CuTeDSL `TensorSSA.broadcast_to`.

        >>> from tilewright import Float32, cute
        >>> print(cute.full((2, 1), 1, Float32).broadcast_to((2, 3)))
        tensor_value<vector<6xf32> o (2, 3)>
        """
        return self._repeated(require_shape("broadcast_to", shape), pad_left=False)

    def _repeated(self, shape: Any, *, pad_left: bool) -> TensorSSA:
        indices = indices_from(self.shape, shape, pad_left=pad_left)
        return self if indices is None else TensorSSA(self._taken(list(indices)), shape, self.dtype)

    # ---- arithmetic --------------------------------------------------------------------------------------------------

    def _pair(self, other: Any, swap: bool, symbol: str) -> tuple[TensorSSA, TensorSSA, type[Numeric]] | None:
        """The operands in one shape, and the type that they are computed in; a number has that of the result."""
        if isinstance(other, TensorSSA):
            number: Any = other.dtype._of(0)
        elif isinstance(other, (Numeric, int, float)):
            number = other
        else:
            return None
        common = self.dtype._of(0)._common(number)
        if common is None:
            return None
        a, b = self, as_vector(other, common._under(symbol) or common)
        shape = broadcast_shape(a.shape, b.shape, f"TensorSSA {symbol} TensorSSA")
        a, b = a._repeated(shape, pad_left=True), b._repeated(shape, pad_left=True)
        return (b, a, common) if swap else (a, b, common)

    def _binary(self, other: Any, symbol: str, swap: bool = False) -> Any:
        pair = self._pair(other, swap, symbol)
        if pair is None:
            return NotImplemented
        a, b, common = pair
        dtype = common._under(symbol)
        if dtype is None:
            raise TypeError(f"{symbol} needs two vectors of integers, but got {a.dtype} and {b.dtype}")
        a, b = a.to(dtype), b.to(dtype)
        if a.is_traced or b.is_traced:
            exponent = other if symbol == "**" and not swap and isinstance(other, (int, float)) else b.symbol
            return a._like(arithmetic(symbol, dtype, a.symbol, exponent))
        return a._like(_operate(symbol, dtype, a._value, b._value))

    def _compare(self, other: Any, symbol: str) -> Any:
        pair = self._pair(other, False, symbol)
        if pair is None:
            return NotImplemented
        a, b, common = pair
        a, b = a.to(common), b.to(common)
        if a.is_traced or b.is_traced:
            return a._like(compare(symbol, common, a.symbol, b.symbol), Boolean)
        return a._like(_compare(symbol, a._value, b._value), Boolean)

    def apply_op(self, op: Callable[..., TensorSSA], other: Operand) -> TensorSSA:
        """The result of a function of two operands, such as operator.add."""
        result: TensorSSA = op(self, other)
        return result

    def __neg__(self) -> Any:
        if self.is_traced and self.dtype is not Boolean:
            return self._like(unary("neg", self.dtype, self._value))
        return self._binary(0 if self.dtype.zero.__class__ is int else -0.0, "-", swap=True)

    def __pos__(self) -> TensorSSA:
        return self

    def __abs__(self) -> Any:
        if self.is_traced:
            return self._like(unary("abs", self.dtype, self._value))
        return self._like(abs(self._value))

    def __invert__(self) -> Any:
        if self.dtype._under("^") is None:
            raise TypeError(f"~ needs a vector of integers, but got {self.dtype}")
        if self.is_traced:
            return self._like(unary("not", self.dtype, self._value))
        return self._like(~self._value)

    def reduce(
        self,
        op: ReductionOp,
        init_val: Numeric | float,
        reduction_profile: Coord = 0,
        *,
        loc: object = None,
        ip: object = None,
    ) -> Value:
        """Join elements: of each group init_val op x0 op x1 .., the elements in colexicographic order.

        The profile has None for the modes that stay. With an integer for a mode, or for all, it is reduced: all of them
        give a number. The sum has this order at the prompt and in a kernel. Source: CuTeDSL `TensorSSA.reduce`.

        >>> import numpy
        >>> from tilewright import Float32, cute
        >>> tensor = cute.make_rmem_tensor((2, 3), Float32)
        >>> tensor.store([1, 4, 2, 5, 3, 6])  # the rows 1 2 3 and 4 5 6
        >>> vector = tensor.load()
        >>> vector.reduce(cute.ReductionOp.ADD, 0.0, 0), list(vector.reduce(cute.ReductionOp.ADD, 0.0, (None, 1)))
        (21.0, [6.0, 15.0])
        """
        if not isinstance(op, ReductionOp):
            raise TypeError(f"reduce: expected op to be a cute.ReductionOp, but got {op!r}")
        profile = require_coord("reduce", "reduction_profile", reduction_profile)
        groups, count = groups_of(self.shape, profile)
        shape = kept_shape(self.shape, profile)
        init = self.dtype(init_val)
        if self.is_traced or init.is_traced:
            start = TensorSSA(init._value, 1, self.dtype) if init.is_traced else full(1, init, self.dtype)
            value = emit(
                "reduce",
                (self.symbol, start.broadcast_to(count).symbol),
                ints=groups,
                text=op.value,
            )
            return self.dtype._of(value) if shape is None else TensorSSA(value, shape, self.dtype)
        array = _reduce(_REDUCTIONS[op], self.dtype, self._value, init._value, groups, count)
        return array[0].item() if shape is None else TensorSSA(array, shape, self.dtype)


def as_vector(x: Any, dtype: type[Numeric]) -> TensorSSA:
    """A vector as it is, or a number as a vector of one element of the type."""
    if isinstance(x, TensorSSA):
        return x
    return full(1, x, dtype)


def full(
    shape: Shape, fill_value: Numeric | float, dtype: type[Numeric], *, loc: object = None, ip: object = None
) -> TensorSSA:
    """A vector with one number in every element.

    Raises TypeError for a fill_value that is no number, a dtype that is no element type and a shape that is none;
    LayoutError where the shape is not static, or its extents are not positive, or it has more than 2^26 elements.
    Source: CuTeDSL `cute.full`.

    >>> from tilewright import Float32, cute
    >>> list(cute.full((2, 2), 1.5, Float32))
    [1.5, 1.5, 1.5, 1.5]
    """
    require_dtype("full", dtype)
    shape = require_shape("full", shape)
    number = dtype(fill_value)
    size = size_of(shape, "full")
    if min(_core.flatten_to_tuple(shape), default=1) < 1:
        raise LayoutError(f"full: the shape {text(shape)} has an extent below 1; extents are positive")
    if not is_tracing():
        return TensorSSA(_array_of(dtype, [number._value] * size), shape, dtype)
    element = number._value if number.is_traced else constant(dtype, number._value)
    return TensorSSA(element if size == 1 else emit("splat", (element,), type=type_of(dtype, size)), shape, dtype)
