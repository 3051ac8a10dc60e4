# Generated from the C++ module by `make stubs`; do not edit.
"""
The C++ core of tilewright: IntTuple, Layout and the layout algebra.
"""

from __future__ import annotations

import collections.abc
import typing

import numpy
import numpy.typing
import typing_extensions
from tilewright.cute.operands import CoordLike, IntTupleLike, LayoutLike, Modes, Operand, TilerLike

from . import analysis, cuda, host, picture, program

__all__: list[str] = [
    "ComposedLayout",
    "Condition",
    "E",
    "IntTuple",
    "Layout",
    "LayoutError",
    "LayoutSwizzle",
    "Memory",
    "ScaledBasis",
    "Swizzle",
    "Verdict",
    "analysis",
    "append",
    "append_ones",
    "assume",
    "basis_get",
    "basis_value",
    "blocked_product",
    "ceil_div",
    "coalesce",
    "coalesce_shape",
    "colex_less",
    "compact_major",
    "complement",
    "composition",
    "condition",
    "coshape",
    "cosize",
    "crd2crd",
    "crd2idx",
    "cuda",
    "depth",
    "dice",
    "domain_distribute",
    "domain_offset",
    "downcast",
    "elem_less",
    "elem_scale",
    "equivalent",
    "evenly_divides",
    "explained",
    "filter",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "flatten",
    "flatten_to_tuple",
    "front",
    "get",
    "get_divisibility",
    "get_nonswizzle_portion",
    "get_swizzle_portion",
    "group_modes",
    "has_scaled_basis",
    "has_underscore",
    "host",
    "idx2crd",
    "image",
    "image_within",
    "increment_coord",
    "inner_product",
    "is_admissible",
    "is_bijective",
    "is_compatible",
    "is_congruent",
    "is_disjoint",
    "is_injective",
    "is_int_tuple",
    "is_integer",
    "is_major",
    "is_static",
    "is_tractable",
    "is_weakly_congruent",
    "leading_dim",
    "left_inverse",
    "lex_less",
    "logical_divide",
    "logical_product",
    "make_basis_like",
    "make_composed_layout",
    "make_fragment_like_layout",
    "make_identity_layout",
    "make_layout",
    "make_layout_image_mask",
    "make_layout_left",
    "make_layout_like",
    "make_layout_right",
    "make_layout_tv",
    "make_ordered_layout",
    "make_swizzle",
    "max_alignment",
    "max_common_layout",
    "max_common_vector",
    "nullspace",
    "offset_range",
    "parse",
    "picture",
    "prepend",
    "prepend_ones",
    "product",
    "product_each",
    "product_like",
    "program",
    "raked_product",
    "rank",
    "recast_layout",
    "repeat",
    "repeat_as_tuple",
    "repeat_like",
    "replace",
    "right_inverse",
    "round_up",
    "select",
    "shape",
    "shape_div",
    "size",
    "slice_",
    "slice_and_offset",
    "sorted_layout",
    "swizzle_from_masks",
    "take",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "unchecked",
    "unflatten",
    "unwrap",
    "upcast",
    "with_shape",
    "wrap",
    "zip_layouts",
    "zipped_divide",
    "zipped_product",
]

class LayoutError(ValueError):
    """
    A layout operation whose condition does not hold.

    Attributes: operation (name), operands (CuTe notation), counterexample (coordinate, CuTe's answer, the right answer) or None.

    >>> from tilewright import cute
    >>> try:
    ...     cute.composition(cute.parse('(3,4):(4,1)'), cute.parse('4:2'))
    ... except cute.LayoutError as error:
    ...     print(error.operation, error.operands, error.counterexample)
    composition ('(3,4):(4,1)', '4:2') (2, 1, 5)
    """

    counterexample: typing.Any
    operands: typing.ClassVar[tuple[typing.Any, ...]]
    operation: typing.ClassVar[str]

class IntTuple(tuple[typing.Any, ...]):
    """
    A nested tuple of integers: a tuple whose str() is CuTe's text.

    Raises: TypeError for what is no iterable.
    Source: CuTe `IntTuple`.

    >>> import tilewright.cute as cute
    >>> print(cute.make_layout((4, (2, 3))).shape)
    (4,(2,3))
    >>> cute.make_layout((4, (2, 3))).shape == (4, (2, 3))
    True
    """

    def __str__(self) -> str:
        """
        Return str(self).
        """

    def _repr_html_(self) -> str:
        """
        The picture for a notebook, in HTML; None, so that the text is shown, where there is no picture.
        """

class Layout:
    """
    A function from coordinates to offsets, given by a shape and a congruent stride.

        L = S:D,   L(c) = sum over leaves of c_k * d_k

    Made by make_layout, parse and the algebra. A coordinate is an integer, `layout(i)`, mode 0 fastest, or a tuple,
    `layout(i, j)`; None keeps a mode: `layout(None, j)` is a Layout. There is no check of bounds: past its size a layout
    goes on with its last stride. Offsets count elements.

    `layout[i]` is mode i, len() the rank; layouts compare, hash and pickle. str() is CuTe's text, `?` a dynamic integer.
    Raises: LayoutError when a coordinate does not fit the shape.
    Source: CuTe `Layout`; CUTLASS docs, media/docs/cpp/cute/01_layout.md.

    Examples:
        >>> layout = cute.make_layout((4, (2, 3)), stride=(6, (1, 2)))
        >>> layout, layout(5), layout(1, (1, 0)), layout(1, 1), layout(None, 3)
        ((4,(2,3)):(6,(1,2)), 7, 7, 7, (4):(6))
        >>> layout.shape, layout.stride, layout[1], len(layout)
        ((4, (2, 3)), (6, (1, 2)), (2,3):(1,2), 2)
    """

    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """
        Call self as a function.
        """

    def __eq__(self, arg0: object) -> bool: ...
    def __getitem__(self, mode: typing.SupportsIndex) -> Layout:
        """
        Mode i, a Layout; from the end where i is negative.
        """

    def __hash__(self) -> int: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        """ """

    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    def _repr_html_(self) -> str:
        """
        The picture for a notebook, in HTML; None, so that the text is shown, where there is no picture.
        """

    def get_1d_coord(self, offset: typing.Any) -> typing.Any:
        """
        The 1-D coordinate with a given offset.

            L(L.get_1d_coord(x)) = x for x in the image of L; otherwise as get_hier_coord

        Args:
            offset: an int, in elements.
        Returns: an int, mode 0 fastest.
        Raises: as get_hier_coord.
        Source: CuTe C++ `Layout::get_1d_coord`.

        Examples:
            >>> cute.parse("(4,3):(3,1)").get_1d_coord(5)
            9
        """

    def get_flat_coord(self, offset: typing.Any) -> typing.Any:
        """
        The coordinate with a given offset, one integer per mode.

            L(L.get_flat_coord(x)) = x for x in the image of L; otherwise as get_hier_coord

        Args:
            offset: an int, in elements.
        Returns: a flat tuple with one integer per mode.
        Raises: as get_hier_coord.
        Source: CuTe `Layout.get_flat_coord`.

        Examples:
            >>> cute.parse("(4,(2,3)):(1,(4,8))").get_flat_coord(13)
            (1, 3)
        """

    def get_hier_coord(self, offset: typing.Any) -> typing.Any:
        """
        The coordinate with a given offset, in the layout's own nesting.

            L(L.get_hier_coord(x)) = x for x in the image of L; otherwise the digits c_k = (x / d_k) mod s_k

        Args:
            offset: an int, in elements.
        Returns: a coordinate congruent with the shape; of several the one that counts first.
        Raises: LayoutError for basis strides, or where strides do not nest and the layout has more than 2^22 elements.
        Source: CuTe `Layout.get_hier_coord`.

        Examples:
            >>> cute.parse("(4,3):(3,1)").get_hier_coord(5), cute.idx2crd(5, (4, 3))
            ((1, 2), (1, 1))
            >>> cute.parse("(4,(2,3)):(1,(4,8))").get_hier_coord(13)
            (1, (1, 1))
        """

    def offsets(self, out: numpy.typing.NDArray[numpy.int64] | None = None) -> numpy.typing.NDArray[numpy.int64]:
        """
        All offsets in colexicographic order, as a NumPy array.

            offsets()[i] = L(i) for i < |L|

        Args:
            out: a contiguous int64 array of size(L) elements to fill; by default a new one.
        Returns: the array, int64, one-dimensional unless `out` has another shape; in elements.
        Raises: LayoutError for basis strides; ValueError or TypeError when `out` does not fit.
        Source: tilewright.

        Examples:
            >>> cute.parse("(4,2):(1,8)").offsets().tolist()
            [0, 1, 2, 3, 8, 9, 10, 11]
        """

    @property
    def max_alignment(self) -> int:
        """
        The alignment, in elements, that every repetition of the contiguous part keeps.
        """

    @property
    def shape(self) -> typing.Any:
        """
        Extents: an int or nested tuple.
        """

    @property
    def stride(self) -> typing.Any:
        """
        Strides, congruent with the shape.
        """

class Swizzle:
    """
    A permutation of offsets that XORs b bits, the Z bits, with b others, the Y bits.

        S<b,m,s>:  s >= 0:  x ^ ((x & Y) >> s)    with Z = bits m .. m+b-1,  Y = Z << s
                   s < 0:   x ^ ((x & Y) << -s)   with Y = bits m .. m+b-1,  Z = Y << -s

    It is its own inverse and a bijection on every aligned block of 2^(b+m+|s|) offsets; runs of 2^m stay together.
    Args:
        b, m, s: number of bits, base, shift; |s| >= b, bits up to 62.
    Calling it with an integer, in elements, gives the swizzled one. num_bits, num_base, num_shift; y_mask, z_mask.
    Raises: LayoutError when the parameters are out of range.
    Source: CuTe `Swizzle`.

    Examples:
        >>> swizzle = cute.Swizzle(2, 0, 3)
        >>> swizzle, [swizzle(i) for i in range(8, 12)], swizzle.y_mask, swizzle.z_mask
        (S<2,0,3>, [9, 8, 11, 10], 24, 3)
    """

    def __init__(self, b: typing.SupportsIndex, m: typing.SupportsIndex, s: typing.SupportsIndex) -> None:
        """ """

    def __call__(self, offset: typing.SupportsIndex) -> typing.Any:
        """
        The offset with its bits changed.
        """

    def __eq__(self, arg0: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        """ """

    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    def _repr_html_(self) -> str:
        """
        The picture for a notebook, in HTML; None, so that the text is shown, where there is no picture.
        """

    @property
    def num_base(self) -> int: ...
    @property
    def num_bits(self) -> int: ...
    @property
    def num_shift(self) -> int: ...
    @property
    def y_mask(self) -> int:
        """
        The bits that are read.
        """

    @property
    def z_mask(self) -> int:
        """
        The bits that are changed.
        """

class LayoutSwizzle(Swizzle):
    """
    The swizzle of a ComposedLayout, its `inner`: it counts the elements of that layout.

    A pointer's swizzle counts bytes. As `swizzle=` of a pointer to elements of 2^k bytes S<b,m,s> is S<b,m+k,s>, so that
    the pointer with it and the layout's outer part reach what the whole layout reaches.

    Examples:
        >>> layout = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
        >>> layout.inner, layout.inner == cute.make_swizzle(3, 3, 3)
        (S<3,3,3>, True)
    """

class ComposedLayout:
    """
    A layout behind another function: a swizzled tile of shared memory, for example.

        R(c) = inner(offset + outer(c))

    Made by make_composed_layout, by composition with a Swizzle, and by parse. It is called, indexed, compared and pickled
    like a Layout; the operations of the algebra work on the outer layout. inner is a Swizzle, a Layout or a Python
    callable, offset an integer or coordinate, outer a Layout, shape that of the outer layout.
    Raises: LayoutError when a coordinate does not fit the shape; TypeError where it is constructed.
    Source: CuTe `ComposedLayout`.

    Examples:
        >>> layout = cute.composition(cute.make_swizzle(2, 0, 3), cute.parse("(8,8):(8,1)"))
        >>> layout, layout(1, 0), layout.inner, layout.outer
        (S<2,0,3> o 0 o (8,8):(8,1), 9, S<2,0,3>, (8,8):(8,1))
    """

    def __call__(self, *args: typing.Any, **kwargs: typing.Any) -> typing.Any:
        """
        Call self as a function.
        """

    def __eq__(self, arg0: object) -> bool: ...
    def __getitem__(self, mode: typing.SupportsIndex) -> ComposedLayout:
        """
        Mode i, with the same inner function; from the end where i is negative.
        """

    def __hash__(self) -> int: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        """ """

    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    def _repr_html_(self) -> str:
        """
        The picture for a notebook, in HTML; None, so that the text is shown, where there is no picture.
        """

    def offsets(self, out: numpy.typing.NDArray[numpy.int64] | None = None) -> numpy.typing.NDArray[numpy.int64]:
        """
        All offsets in colexicographic order, as a NumPy array.

            offsets()[i] = L(i) for i < |L|

        Args:
            out: a contiguous int64 array of size(L) elements to fill; by default a new one.
        Returns: the array, int64, one-dimensional unless `out` has another shape; in elements.
        Raises: LayoutError for basis strides; ValueError or TypeError when `out` does not fit.
        Source: tilewright.

        Examples:
            >>> cute.parse("(4,2):(1,8)").offsets().tolist()
            [0, 1, 2, 3, 8, 9, 10, 11]
        """

    @property
    def inner(self) -> typing.Any: ...
    @property
    def is_normal(self) -> bool:
        """
        Whether the inner function is a swizzle, so that the outer layout's domain is indexed by integers.
        """

    @property
    def offset(self) -> typing.Any: ...
    @property
    def outer(self) -> Layout: ...
    @property
    def shape(self) -> typing.Any: ...

class ScaledBasis:
    """
    A multiple of a basis element: a stride that steps along one mode of a coordinate.

        v@i@j..: the coordinate that is v in mode i of mode j .. and 0 elsewhere

    Args:
        value: an integer v.
        mode: an int or a sequence of ints, the path from the innermost mode to the outermost.
    Attributes value and mode; n * e scales; is_static() asks for a static value.
    Raises: LayoutError when a mode lies outside 0 to 4096.
    Source: CuTe `ScaledBasis`.

    Examples:
        >>> e = cute.ScaledBasis(2, (1, 0))
        >>> e, e.value, e.mode, 3 * e
        (2@1@0, 2, (1, 0), 6@1@0)
        >>> cute.make_layout((4, 3), stride=(cute.E(0), cute.ScaledBasis(2, 1)))(1, 2)
        (1, 4)
    """

    def __init__(self, value: typing.SupportsIndex, mode: Modes) -> None:
        """ """

    def __eq__(self, arg0: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __mul__(self, factor: typing.SupportsIndex) -> ScaledBasis:
        """ """

    def __reduce__(self) -> tuple[typing.Any, ...]:
        """ """

    def __repr__(self) -> str: ...
    def __rmul__(self, factor: typing.SupportsIndex) -> ScaledBasis:
        """ """

    def __str__(self) -> str: ...
    def is_static(self) -> bool:
        """
        Whether the value is known ahead.
        """

    @property
    def mode(self) -> tuple[typing.Any, ...]:
        """
        Modes from the innermost to the outermost.
        """

    @property
    def value(self) -> typing.Any: ...

class unchecked:
    """
    A `with` block in which operations skip the checks of their laws and give CuTe's own answers.

        with cute.unchecked():  R may break R(i) = A(B(i)) and its kin

    What CuTe rejects stays an error. It holds for the thread that entered it; blocks nest.
    Source: tilewright; see docs/differences.md.

    Examples:
        >>> a, b = cute.parse("(3,4):(4,1)"), cute.parse("4:2")
        >>> with cute.unchecked():
        ...     r = cute.composition(a, b)
        >>> r, [r(i) for i in range(4)], [a(b(i)) for i in range(4)]
        ((2,2):(8,1), [0, 8, 1, 9], [0, 8, 5, 2])
    """

    def __init__(self) -> None:
        """ """

    def __enter__(self) -> typing_extensions.CapsuleType:
        """ """

    def __exit__(self, type: typing.Any, value: typing.Any, traceback: typing.Any) -> typing_extensions.CapsuleType:
        """ """

class Condition:
    """
    For which values of the dynamic integers in its operands an operation answers right.

        holds(values)  =>  the answer satisfies the law of the operation;  where `exact` is true, <=>

    `str()` is the text that explain shows; `predicate` alone is the condition, in the names of `unknowns`.

    >>> from tilewright import Int32, cute
    >>> found = cute.explain("composition", "(128,8):(1,1000)", cute.make_layout(Int32(192))).condition
    >>> found.predicate, found.unknowns, found.values
    ('n <= 128 or 128 | n', {'n': 'size(B)'}, {'n': 192})
    >>> found.holds(), found.holds({"n": 256}), found.exact
    (False, True, True)
    """

    def __reduce__(self) -> tuple[typing.Any, ...]:
        """ """

    def __repr__(self) -> str: ...
    def __str__(self) -> str: ...
    def holds(self, values: typing.Any = None) -> bool:
        """
        Whether the predicate holds for the values of unknowns, a dict; what it lacks is as in the operands.
        """

    @property
    def exact(self) -> bool:
        """
        Whether the answer is wrong wherever the predicate does not hold.
        """

    @property
    def predicate(self) -> str:
        """
        The condition as text: divides `|`, `<=`, `>=`, `==`, `and`, `or`; `true` where it always holds.
        """

    @property
    def provided(self) -> str:
        """
        Where `exact` is false: it is wrong there if this holds.
        """

    @property
    def unknowns(self) -> dict[str, typing.Any]:
        """
        What each name in the predicate stands for.
        """

    @property
    def values(self) -> dict[str, typing.Any]:
        """
        The values that the operands have.
        """

class Verdict:
    """
    The answer to a question about layouts: true or false in a condition, with the reason of a no.
    """

    def __bool__(self) -> bool: ...
    def __reduce__(self) -> tuple[typing.Any, ...]:
        """ """

    def __repr__(self) -> str: ...
    @property
    def holds(self) -> bool: ...
    @property
    def reason(self) -> str:
        """
        Why not; empty where it holds.
        """

    @property
    def witness(self) -> typing.Any:
        """
        What shows a no: coordinates and values; each function says which. None where there are none.
        """

class Memory:
    """
    A block of memory and what keeps it alive: a tensor of another library, or an allocation.
    """

    @staticmethod
    def allocate(
        size: typing.SupportsInt | typing.SupportsIndex, alignment: typing.SupportsInt | typing.SupportsIndex
    ) -> Memory:
        """
        Zeroed memory of `size` bytes at a multiple of `alignment`.
        """

    @staticmethod
    def device_name(
        type: typing.SupportsInt | typing.SupportsIndex, id: typing.SupportsInt | typing.SupportsIndex
    ) -> str:
        """
        `cpu`, `cuda:0`, ... of DLPack's type and id.
        """

    @staticmethod
    def from_capsule(capsule: typing.Any) -> Memory:
        """
        Take over the tensor in a DLPack capsule, versioned or not.
        """

    def __reduce__(self) -> typing.Any: ...
    def load(
        self,
        address: typing.SupportsInt | typing.SupportsIndex,
        shift: typing.SupportsInt | typing.SupportsIndex,
        bits: typing.SupportsInt | typing.SupportsIndex,
    ) -> int:
        """
        The bits of the element that begins `shift` bits after a byte address.
        """

    def store(
        self,
        address: typing.SupportsInt | typing.SupportsIndex,
        shift: typing.SupportsInt | typing.SupportsIndex,
        bits: typing.SupportsInt | typing.SupportsIndex,
        value: typing.SupportsInt | typing.SupportsIndex,
    ) -> None:
        """
        Replace the bits of the element that begins `shift` bits after a byte address.
        """

    def to_capsule(
        self,
        *,
        address: typing.SupportsInt | typing.SupportsIndex,
        shape: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        strides: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        dtype: tuple[
            typing.SupportsInt | typing.SupportsIndex,
            typing.SupportsInt | typing.SupportsIndex,
            typing.SupportsInt | typing.SupportsIndex,
        ],
        device: tuple[typing.SupportsInt | typing.SupportsIndex, typing.SupportsInt | typing.SupportsIndex],
        copied: bool,
        minor: typing.SupportsInt | typing.SupportsIndex,
    ) -> typing.Any:
        """
        A DLPack capsule of elements of this memory, which it keeps alive: of version 1.minor, or if that is -1 not versioned.
        """

    @property
    def address(self) -> int:
        """
        Byte address of the element at offset 0.
        """

    @property
    def begin(self) -> int:
        """
        Address of the first byte that belongs to an element.
        """

    @property
    def device(self) -> str:
        """
        `cpu`, `cuda:0`, ...
        """

    @property
    def dlpack_device(self) -> tuple[typing.Any, ...]:
        """
        DLPack device type and id.
        """

    @property
    def dtype(self) -> tuple[typing.Any, ...]:
        """
        DLPack type code, bits and lanes.
        """

    @property
    def end(self) -> int:
        """
        Address of the first byte after the elements.
        """

    @property
    def on_host(self) -> bool:
        """
        Whether the CPU can read it.
        """

    @property
    def padded(self) -> bool:
        """
        Whether each element of a sub-byte type fills a byte.
        """

    @property
    def read_only(self) -> bool: ...
    @property
    def shape(self) -> tuple[typing.Any, ...]: ...
    @property
    def strides(self) -> tuple[typing.Any, ...]:
        """
        In elements.
        """

def E(mode: Modes) -> ScaledBasis:
    """
    A basis element: the stride that steps by one along one mode of a coordinate.

        E(i) = 1@i = (0,..,0,1,0,..) with the 1 in mode i

    Args:
        mode: an int or a sequence of ints, the path from the innermost mode to the outermost.
    Returns: a ScaledBasis.
    Raises: LayoutError when a mode lies outside 0 to 4096.
    Source: CuTe `E`.

    Examples:
        >>> cute.E(1), cute.E([0, 1]), 3 * cute.E(1)
        (1@1, 1@0@1, 3@1)
    """

def _collision(layout: LayoutLike) -> tuple[int, int] | None:
    """
    Two 1-D coordinates that share an offset, or None.
    """

def _layout(shape: typing.Any, stride: typing.Any) -> Layout:
    """
    The layout with this shape and stride, for pickle.
    """

def _register(*, int32: typing.Any, int64: typing.Any, tensor: typing.Any) -> None:
    """
    Tell the core the Python classes of dynamic integers and tensors.
    """

def _verdict(holds: bool, reason: str, witness: typing.Any) -> Verdict:
    """
    The verdict of these parts, for pickle.
    """

def append(
    x: Operand,
    elem: Operand,
    up_to_rank: typing.SupportsIndex | None = None,
    *,
    loc: typing.Any = None,
    ip: typing.Any = None,
) -> typing.Any:
    """
    The object with a mode added at the end, once or until it has a given rank.

        append((a,b), m) = (a,b,m),   append((a,b), m, 4) = (a,b,m,m)

    Args:
        x: a tuple (of anything), Layout, ComposedLayout or Tensor; a leaf is one mode.
        elem: the mode: for layouts a Layout.
        up_to_rank: the rank to reach; by default rank(x) + 1.
    Returns: an object of the same kind as x.
    Raises: ValueError when x has more modes; TypeError when elem is no Layout where x is one.
    Source: CuTe `append`.

    Examples:
        >>> cute.append(cute.parse("(4,2):(1,4)"), cute.parse("3:8")), cute.append((4, 2), 1, 4)
        ((4,2,3):(1,4,8), (4, 2, 1, 1))
    """

def append_ones(
    x: Operand, up_to_rank: typing.SupportsIndex | None = None, *, loc: typing.Any = None, ip: typing.Any = None
) -> typing.Any:
    """
    The object with modes of extent 1 (of layouts 1:0) added at the end.

        append_ones(x, r) = append(x, 1, r)

    Args:
        x: a tuple, Layout, ComposedLayout or Tensor.
        up_to_rank: the rank to reach; by default rank(x) + 1.
    Returns: an object of the same kind as x.
    Raises: ValueError when x has more modes.
    Source: CuTe `append_ones`.

    Examples:
        >>> cute.append_ones(cute.parse("(4,2):(1,4)"), up_to_rank=4), cute.append_ones((4, 2))
        ((4,2,1,1):(1,4,0,0), (4, 2, 1))
    """

def assume(
    x: typing.SupportsIndex, divby: typing.SupportsIndex | None = None, *, loc: typing.Any = None, ip: typing.Any = None
) -> typing.Any:
    """
    A dynamic integer together with a number that is known to divide it.

        assume(x, divby=n): n | x

    Args:
        x: an integer. A static one comes back as it is.
        divby: the divisor n; None leaves x alone.
    Returns: an integer of the same value.
    Raises: LayoutError when n does not divide the value; TypeError for a tuple.
    Source: CuTe `assume`.

    Examples:
        >>> print(cute.make_layout((cute.assume(Int32(8), divby=4), 2)))
        (?{div=4},2):(1,?{div=4})
    """

def basis_get(element: ScaledBasis | typing.SupportsIndex | str, tuple: IntTupleLike) -> typing.Any:
    """
    The part of a tuple that a basis element points at.

        basis_get(v@i@j, t) = mode i of mode j of t,   basis_get(n, t) = t

    Args:
        element: a ScaledBasis or an integer.
        tuple: an integer or nested tuple.
    Returns: an integer or nested tuple.
    Raises: LayoutError when a mode does not exist.
    Source: CuTe `basis_get`.

    Examples:
        >>> cute.basis_get(cute.E([0, 1]), (2, (3, 4))), cute.basis_get(cute.E(0), (2, (3, 4)))
        (3, 2)
    """

def basis_value(element: ScaledBasis | typing.SupportsIndex | str) -> typing.Any:
    """
    The number that scales a basis element.

        basis_value(v@i) = v,   basis_value(n) = n

    Args:
        element: a ScaledBasis or an integer.
    Returns: an integer.
    Raises: TypeError for other kinds.
    Source: CuTe `basis_value`.

    Examples:
        >>> cute.basis_value(3 * cute.E(1)), cute.basis_value(5)
        (3, 5)
    """

def blocked_product(
    block: LayoutLike, tiler: TilerLike, *, loc: typing.Any = None, ip: typing.Any = None
) -> typing.Any:
    """
    The product mode by mode, the block innermost: whole blocks side by side.

        logical_product of the operands padded to one rank, zipped: ((b0,t0),(b1,t1),..)

    Args:
        block: a Layout, ComposedLayout or Tensor.
        tiler: a Layout or an extent: the order and number of the copies.
    Returns: an object of the same kind; the sizes of the modes multiply.
    Raises: as logical_product.
    Source: CuTe `blocked_product`.

    Examples:
        >>> cute.blocked_product(cute.parse("(2,5):(5,1)"), cute.parse("(3,4):(1,3)"))
        ((2,3),(5,4)):((5,10),(1,30))
    """

def ceil_div(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    How many tiles cover a shape, mode by mode.

        ceil_div(a, b) = ceil(a / b) per mode; modes beyond b stay; one integer b for a tuple a is used up mode by mode
        ceil_div(a, B) = shape(complement(B, a)) for a Layout B: mode 1 of zipped_divide(make_layout(a), B)

    Args:
        a: an integer or nested tuple, in elements.
        b: an integer, a Layout, or a tuple of them with at most as many modes.
    Returns: tiles per mode.
    Raises: LayoutError for a divisor of 0, or when b has more modes; as complement.
    Source: CuTe `ceil_div`.

    Examples:
        >>> cute.ceil_div((10, 6), (4, 4)), cute.ceil_div((10, 6), 4), cute.ceil_div((10, 6), 20)
        ((3, 2), (3, 6), (1, 3))
        >>> cute.ceil_div((16, 32), cute.parse("(4,8):(1,4)")), cute.ceil_div((16, 32), (cute.parse("4:2"), 8))
        (16, ((2, 2), 4))
    """

def coalesce(
    layout: Operand, target_profile: IntTupleLike | None = None, *, loc: typing.Any = None, ip: typing.Any = None
) -> typing.Any:
    """
    The same function with the fewest modes that static integers prove.

        R(i) = L(i) for i < |L|, |R| = |L|: static extents of 1 vanish, s0:d, s1:s0*d become s0*s1:d

    Args:
        layout: a Layout, ComposedLayout, Tensor, or a shape (see `coalesce_shape`).
        target_profile: a tuple coalesces mode by mode and keeps the modes; modes beyond it stay.
    Returns: an object of the same kind, flat up to the profile. Dynamic extents and strides stay.
    Raises: LayoutError when the profile has more modes.
    Source: CuTe `coalesce`; CUTLASS docs, media/docs/cpp/cute/02_layout_algebra.md.

    Examples:
        >>> layout = cute.parse("(2,(1,6)):(1,(6,2))")
        >>> cute.coalesce(layout), cute.coalesce(layout, target_profile=(1, 1))
        (12:1, (2,6):(1,2))
        >>> cute.coalesce(cute.make_layout((Int32(4), 2)))
        (?,2):(1,?)
    """

def coalesce_shape(shape: Operand) -> typing.Any:
    """
    The extents multiplied as far as static and dynamic ones do not mix.

        product(coalesce_shape(s)) = product(s): neighbouring static extents multiply, and so do dynamic ones

    Args:
        shape: an integer or nested tuple.
    Returns: an integer or a flat tuple.
    Raises: LayoutError when a product does not fit into 64 bits; TypeError for other kinds.
    Source: CuTe C++ `coalesce` of a shape.

    Examples:
        >>> cute.coalesce_shape((4, (1, 2))), str(cute.coalesce_shape((Int32(4), 1, 2, 3)))
        (8, '(?,6)')
    """

def colex_less(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> bool:
    """
    Whether a comes before b in colexicographic order: the last mode decides first.

        a < b where a_k < b_k at the last k with a_k != b_k; so counts a layout: idx2crd(i) < idx2crd(i+1)

    Args:
        a, b: integers or nested tuples.
    Returns: a bool.
    Raises: LayoutError when an integer faces a tuple.
    Source: CuTe C++ `colex_less`.

    Examples:
        >>> cute.colex_less((1, 2), (2, 1)), cute.colex_less((2, 1), (1, 2))
        (False, True)
    """

def compact_major(shape: IntTupleLike, start: IntTupleLike = 1, major: str = "left") -> typing.Any:
    """
    The strides of a compact layout that starts with a given stride.

        left: d_k = start * product of the extents before k;   right: of the extents after k

    Args:
        shape: an int or nested tuple of extents.
        start: an integer, or one per mode: then each mode starts anew.
        major: 'left' (mode 0 fastest) or 'right'.
    Returns: strides congruent with the shape; 0 for a static extent of 1.
    Raises: ValueError for another `major`; LayoutError when shape and start do not fit.
    Source: CuTe C++ `compact_major`.

    Examples:
        >>> cute.compact_major((4, (2, 3))), cute.compact_major((4, (2, 3)), 2, "right")
        ((1, (4, 8)), (12, (6, 2)))
    """

def complement(
    layout: LayoutLike, cotarget: Operand | None = None, *, loc: typing.Any = None, ip: typing.Any = None
) -> typing.Any:
    """
    The layout of what L leaves over below M: where copies of L go.

        R(i-1) < R(i), im(L) and im(R) meet in 0 only, (L, R) is injective if L is;
        (L, R) is a bijection onto [0, M) where is_admissible(L, M)

    With basis strides the law holds in each entry of the codomain, which M and R have in their profile.
    Args:
        layout: L: a Layout, ComposedLayout (its outer layout) or Tensor.
        cotarget: M, in elements: an int, a shape (divided mode by mode) or a Layout; by default coshape(filter(L)).
    Returns: a coalesced Layout. Where the sizes do not divide, it rounds up.
    Where modes of L overlap, R is the least layout whose copies of L make up [0, M), each offset in one of them. Where a
    shape that L does not divide mode by mode would end below M, R is the complement within its product. docs/theory.md
    proves both.
    Raises: LayoutError when modes of L overlap and there is no such layout, with two copies that meet, when a stride is
        negative, or M is not positive.
    Source: CuTe `complement`; CUTLASS docs, media/docs/cpp/cute/02_layout_algebra.md.

    Examples:
        >>> cute.complement(cute.parse("4:2"), 24), cute.complement(cute.parse("(2,2):(1,6)"), 24)
        ((2,3):(1,8), (3,2):(2,12))
        >>> cute.complement(cute.parse("4:1"), (6, 4)), cute.complement(cute.parse("(4,6):(1,4)"), 24)
        (8:4, 1:0)
        >>> cute.complement(cute.parse("(2,4):(2@0,1@1)"), (8, 8))
        ((2,2),2):((1@0,4@0),4@1)
    """

def composition(lhs: Operand, rhs: TilerLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The layout that applies B, then A.

        R = A o B:  R(i) = A(B(i)) for i < |B|, and the shape of R refines that of B;
        past its size A goes on with its last stride

    Args:
        lhs: A: a Layout, ComposedLayout, Tensor or Swizzle.
        rhs: B: a Layout, an extent n (n:1), or a tuple of these and None, which composes mode by mode: None keeps a mode,
            modes of A beyond the tuple are dropped. With a Layout, a Swizzle or a swizzled layout on the left also a Swizzle, with the first two a
            swizzled layout.
    Returns: a Layout; a ComposedLayout, Swizzle or Tensor where A or B is one.
    Raises: LayoutError when no layout is A o B, with CuTe's smallest wrong coordinate and a certificate, i and j with
        A(B(i+j)) != A(B(i)) + A(B(j)); of dynamic integers when CuTe's answer is wrong; TypeError for other kinds.
    Source: CuTe `composition`; CUTLASS docs, media/docs/cpp/cute/02_layout_algebra.md.

    Examples:
        >>> cute.composition(cute.parse("(6,2):(8,2)"), cute.parse("(4,3):(3,1)"))
        ((2,2),3):((24,2),8)
        >>> cute.composition(cute.parse("(12,(4,8)):(59,(13,1))"), (3, 8))
        (3,(4,2)):(59,(13,1))
        >>> cute.composition(cute.make_swizzle(2, 0, 3), cute.parse("(8,8):(8,1)"))
        S<2,0,3> o 0 o (8,8):(8,1)
    """

def condition(operation: str, operands: typing.Any) -> typing.Any:
    """
    The Condition of operation(*operands), given by the operation's name.

    None where no operand is dynamic, or where no condition is derived: for swizzles, basis strides but in compositions,
    negative strides beside others, dynamic gaps between the modes of a tile or block, and cotargets that are tuples.
    """

def coshape(layout: LayoutLike) -> typing.Any:
    """
    The smallest shape that holds every offset, from 0 on.

        plain strides: sum of (s-1) * |d| over the modes, plus 1; basis strides: the same for every component

    Args:
        layout: a Layout or Tensor.
    Returns: an integer, or a tuple of them where the offsets are coordinates.
    Raises: LayoutError when a number does not fit into 64 bits.
    Source: CuTe C++ `coshape`.

    Examples:
        >>> cute.coshape(cute.parse("(4,2):(1,8)")), cute.coshape(cute.make_identity_layout((4, 3)))
        (12, (4, 3))
    """

def cosize(x: Operand, mode: Modes | None = None, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The number of offsets that a layout spans, in elements.

        sum of (s-1) * |d| over the modes, plus 1; where no stride is negative: the greatest offset plus 1

    Args:
        x: a Layout, ComposedLayout (its outer layout) or Tensor.
        mode: the path of a mode; cosize[i](x) means the same.
    Returns: an integer. `offset_range` tells where the offsets lie.
    Raises: LayoutError when it does not fit into 64 bits; TypeError for a shape.
    Source: CuTe `cosize`.

    Examples:
        >>> cute.cosize(cute.parse("(4,2):(1,8)")), cute.cosize[1](cute.parse("(4,2):(1,8)"))
        (12, 9)
    """

def crd2crd(coord: CoordLike, src_shape: Operand, dst_shape: Operand) -> typing.Any:
    """
    The coordinate of one shape at the place of a coordinate of another.

        crd2idx(crd2crd(c, S, T), T) = crd2idx(c, S), mode by mode where all three are tuples

    Args:
        coord: a coordinate of the source shape.
        src_shape, dst_shape: integers or nested tuples.
    Returns: a coordinate congruent with dst_shape.
    Raises: LayoutError when the ranks differ.
    Source: CuTe C++ `crd2crd`.

    Examples:
        >>> cute.crd2crd((3, 2), (4, 6), (4, (2, 3))), cute.crd2crd(11, 24, (4, 6))
        ((3, (0, 1)), (3, 2))
    """

def crd2idx(
    coord: CoordLike,
    layout: Operand,
    stride: IntTupleLike | None = None,
    *,
    loc: typing.Any = None,
    ip: typing.Any = None,
) -> typing.Any:
    """
    The offset of a coordinate: sum of coordinate times stride.

        crd2idx(c, S:D) = sum c_k * d_k; an integer in place of a tuple counts its mode colexicographically, mode 0 fastest

    Args:
        coord: an integer or nested tuple, at most as nested as the shape.
        layout: a Layout, ComposedLayout or Tensor, or a shape: then its compact column-major strides are meant.
        stride: strides congruent with `layout`, where that is a shape.
    Returns: an integer, in elements; a coordinate where the strides are basis elements. There is no check of bounds.
    Raises: LayoutError when the coordinate does not fit the shape.
    Source: CuTe `crd2idx`.

    Examples:
        >>> cute.crd2idx((1, (0, 2)), (4, (2, 3))), cute.crd2idx((1, (0, 2)), cute.parse("(4,(2,3)):(6,(3,1))"))
        (17, 8)
        >>> cute.crd2idx(5, (4, 3), (3, 1))
        4
    """

def depth(x: Operand, mode: Modes | None = None, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    How deeply tuples are nested; of an integer 0.

        depth(n) = 0,   depth((a,b,..)) = 1 + max(depth(a), depth(b), ..)

    Args:
        x: an integer, tuple, Layout, ComposedLayout or Tensor.
        mode: the path of a mode; depth[i](x) means the same.
    Returns: an int, at most 64.
    Raises: LayoutError when a mode does not exist, and for tuples nested deeper than 64; TypeError for other kinds.
    Source: CuTe `depth`.

    Examples:
        >>> cute.depth((4, (2, 3))), cute.depth(4)
        (2, 0)
    """

def dice(x: Operand, dicer: CoordLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The modes where a coordinate has an integer: what `slice_` drops.

        modes of dice(x, c) and of slice_(x, c) together are those of x

    Args:
        x: a tuple, Layout, ComposedLayout or Tensor.
        dicer: None (drop), an integer (keep), or a tuple of these per mode.
    Returns: an object of the same kind. `():()` where nothing is kept.
    Raises: LayoutError when the coordinate does not fit the shape.
    Source: CuTe `dice`.

    Examples:
        >>> cute.dice(cute.parse("(4,(2,3)):(1,(4,8))"), (None, (0, None)))
        (2):(4)
    """

def domain_distribute(shape: IntTupleLike, b: typing.SupportsIndex) -> Layout:
    """
    The layout that deals b threads over a shape, mode 0 first.

        per leaf: gcd(extent, what is left of b) threads, with the leaf's stride in the compact layout of the shape

    Args:
        shape: an int or nested tuple of static extents.
        b: the number of threads, a static int.
    Returns: a coalesced Layout from threads to 1-D coordinates of the shape; its size divides b.
    Raises: LayoutError for dynamic or non-positive integers.
    Source: CuTe C++ `domain_distribute`.

    Examples:
        >>> cute.domain_distribute((6, 8), 16), cute.domain_distribute((128, 16), 256)
        ((2,8):(1,6), 256:1)
    """

def domain_offset(coord: CoordLike, tensor: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The tensor or layout with its origin moved to a coordinate.

        domain_offset(c, T)(x) = T(c + x), added mode by mode, for c + x inside T

    Args:
        coord: a coordinate of the tensor.
        tensor: a Tensor, Layout or ComposedLayout.
    Returns: the tensor with the same layout and its iterator moved; of a layout the pair (layout, offset in elements). A
        composed layout takes the offset inside, and 0 is left.
    Raises: LayoutError when the coordinate does not fit the shape.
    Source: CuTe `domain_offset`.

    Examples:
        >>> cute.domain_offset((1, 2), cute.make_identity_tensor((4, 8)))
        tensor<(1,2) o (4,8):(1@0,1@1)>
        >>> cute.domain_offset((1, 2), cute.parse("(4,8):(8,1)"))
        ((4,8):(8,1), 10)
    """

def downcast(layout: Operand, n: typing.SupportsIndex) -> typing.Any:
    """
    The same memory counted in elements 1/n as wide.

        R(n * c + k) = n * L(c) + k for k < n, c along the mode of stride 1;   upcast(downcast(L, n), n) = L

    Args:
        layout: a Layout with a static stride of 1, a Swizzle, or a layout composed with either.
        n: a positive int; a power of two for swizzles.
    Returns: an object of the same kind; offsets in narrow elements.
    Raises: LayoutError when no mode has the static stride 1, or more than one.
    Source: CuTe C++ `downcast`.

    Examples:
        >>> cute.downcast(cute.parse("(2,4):(1,2)"), 4), cute.downcast(cute.make_swizzle(3, 4, 3), 4)
        ((8,4):(1,8), S<3,6,3>)
    """

def elem_less(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    Whether every leaf of a is less than the leaf of b: a coordinate inside a shape.

        all a_k < b_k; False where a has more modes, modes of b beyond a do not count

    Args:
        a: a coordinate.
        b: a shape, or a Layout or Tensor, whose shape counts.
    Returns: a bool, in a kernel a Boolean where it depends on what is known at run time only. This is no order: neither of
        (0,3) and (1,2) is less.
    Raises: LayoutError when an integer faces a tuple.
    Source: CuTe `elem_less`; the predicate of a ragged tile.

    Examples:
        >>> cute.elem_less((1, 2), (2, 3)), cute.elem_less((0, 3), (4, 3))
        (True, False)
    """

def elem_scale(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    Each leaf of one tuple times the size of the part of another that it faces.

        elem_scale(n, b) = n * product(b),   elem_scale((a0,a1,..), (b0,b1,..)) = (elem_scale(a0,b0),..)

    Args:
        a: an integer or nested tuple.
        b: a tuple, Layout or Tensor (its shape) whose profile is the same or finer.
    Returns: integers in the profile of a.
    Raises: LayoutError when a tuple faces an integer, or the ranks differ.
    Source: CuTe C++ `elem_scale`.

    Examples:
        >>> cute.elem_scale((4, 2), (2, (3, 5)))
        (8, 30)
    """

def equivalent(a: LayoutLike, b: LayoutLike) -> Verdict:
    """
    Whether two layouts are the same function of the 1-D coordinate.

        |a| = |b| and a(i) = b(i) for i < |a|; the nesting does not count, dynamic integers count by their values

    Args:
        a, b: Layouts, ComposedLayouts or Tensors.
    Returns: a Verdict: true or false in a condition, with the `reason` of a no and the `witness`: the smallest
        (i, a(i), b(i)) that differ, or None.
    Raises: LayoutError where more than 2^22 values of composed layouts would have to be compared one by one.
    Source: tilewright.

    Examples:
        >>> cute.equivalent(cute.parse("(2,(1,6)):(1,(6,2))"), cute.parse("12:1"))
        True
        >>> verdict = cute.equivalent(cute.parse("(4,2):(1,4)"), cute.parse("(4,2):(1,5)"))
        >>> verdict, verdict.witness
        (False (at coordinate 4 the values are 4 and 5), (4, 4, 5))
    """

def evenly_divides(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> bool:
    """
    Whether tiles cover a shape without overhang.

        size(a) == size(b) * size(ceil_div(a, b))

    Args:
        a: the shape, an integer or nested tuple.
        b: the tile, an integer, a Layout, or a tuple of them.
    Returns: a bool; False when b has more modes than a.
    Raises: LayoutError for a divisor of 0, when a size does not fit into 64 bits, and as complement for a Layout b;
        TypeError for other kinds.
    Source: CuTe C++ `evenly_divides`.

    Examples:
        >>> cute.evenly_divides((8, 6), (4, 3)), cute.evenly_divides((8, 6), (4, 4))
        (True, False)
    """

def explained(operation: typing.Any, operands: typing.Any) -> tuple[typing.Any, ...]:
    """
    Call operation(*operands) and record what the core does.

    (lines, result, error): the derivation as lines, the call first and the result, or the message of `error`, last. One of
    result and error, a LayoutError, is None.

        >>> from tilewright import _core
        >>> lines, result, error = _core.explained(_core.coalesce, (_core.parse("(2,4):(1,2)"),))
        >>> print(*lines[2:], sep="\\n")
          2:1 and 4:2: 2*1 = 2, merged: 8:1
        result: 8:1
    """

def filter(
    layout: Operand, target_profile: IntTupleLike | None = None, *, loc: typing.Any = None, ip: typing.Any = None
) -> typing.Any:
    """
    The layout without repetition by stride 0, coalesced.

        im(R) = im(L): coalesce(filter_zeros(L))

    Args:
        layout: a Layout, ComposedLayout or Tensor.
        target_profile: a tuple filters mode by mode; modes beyond it stay.
    Returns: an object of the same kind.
    Raises: LayoutError when the profile has more modes than the layout; TypeError for other kinds.
    Source: CuTe `filter`.

    Examples:
        >>> cute.filter(cute.parse("(4,2,3):(1,0,4)")), cute.filter(cute.parse("((4,2),3):((1,0),4)"), (1, 1))
        (12:1, (4,3):(1,4))
    """

def filter_zeros(
    layout: Operand, target_profile: IntTupleLike | None = None, *, loc: typing.Any = None, ip: typing.Any = None
) -> typing.Any:
    """
    The layout with extent 1 wherever the stride is the static 0.

        im(R) = im(L), shape and stride keep their nesting

    Args:
        layout: a Layout, ComposedLayout or Tensor.
        target_profile: a nested tuple in place of the strides: extents become 1 where it is 0.
    Returns: an object of the same kind.
    Raises: LayoutError when a tuple of the profile has not as many modes as the shape there; TypeError for other kinds.
    Source: CuTe `filter_zeros`.

    Examples:
        >>> cute.filter_zeros(cute.parse("(4,2,3):(1,0,4)")), cute.filter_zeros(cute.parse("(4,2,3):(1,5,4)"), (1, 0, 1))
        ((4,1,3):(1,0,4), (4,1,3):(1,5,4))
    """

def flat_divide(target: LayoutLike, tiler: TilerLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The division with all tile modes, then all rest modes, side by side.

        logical_divide regrouped: (t0,t1,..,r0,r1,..,l,..)

    Args:
        target: a Layout, ComposedLayout or Tensor.
        tiler: as for zipped_divide.
    Returns: an object of the same kind.
    Raises: as logical_divide.
    Source: CuTe `flat_divide`.

    Examples:
        >>> cute.flat_divide(cute.parse("(4,6):(1,4)"), (2, 3))
        (2,3,2,2):(1,4,2,12)
    """

def flat_product(block: LayoutLike, tiler: TilerLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The product with all block modes, then all tiler modes, side by side.

        logical_product regrouped: (b0,b1,..,t0,t1,..)

    Args:
        block: a Layout, ComposedLayout or Tensor.
        tiler: as for zipped_product.
    Returns: an object of the same kind.
    Raises: as logical_product.
    Source: CuTe `flat_product`.

    Examples:
        >>> cute.flat_product(cute.parse("(2,5):(5,1)"), cute.parse("(3,4):(1,3)"))
        (2,5,3,4):(5,1,10,30)
    """

def flatten(x: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The leaves in order, without nesting.

        flatten(L)(i) = L(i) for layouts; flatten((4,(2,3))) = (4,2,3), a leaf stays a leaf

    Args:
        x: an integer, nested tuple, Layout, ComposedLayout (its outer layout is flattened) or Tensor.
    Returns: the same kind of object with depth at most 1.
    Raises: TypeError for other kinds.
    Source: CuTe `flatten`.

    Examples:
        >>> cute.flatten((4, (2, 3))), cute.flatten(4)
        ((4, 2, 3), 4)
        >>> cute.flatten(cute.parse("(4,(2,3)):(1,(4,8))"))
        (4,2,3):(1,4,8)
    """

def flatten_to_tuple(a: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The leaves in order as a tuple, also where the argument is a leaf.

        flatten_to_tuple(n) = (n),   flatten_to_tuple(t) = flatten(t)

    Args:
        a: an integer or nested tuple.
    Returns: a tuple of leaves.
    Raises: TypeError for a layout and other kinds.
    Source: CuTe `flatten_to_tuple`.

    Examples:
        >>> cute.flatten_to_tuple((4, (2, 3))), cute.flatten_to_tuple(4)
        ((4, 2, 3), (4,))
    """

def front(x: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The first leaf.

        front((a,..)) = front(a),   front(leaf) = leaf

    Args:
        x: anything, or a nested tuple of it.
    Returns: the leaf.
    Raises: ValueError for an empty tuple.
    Source: CuTe `front`.

    Examples:
        >>> cute.front(((7, 2), 3))
        7
    """

def get(x: Operand, mode: Modes | None = None, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    One mode, found by a path.

        get(x, mode=[i,j,..]) = mode .. of mode j of mode i of x

    Args:
        x: an integer, tuple, Layout, ComposedLayout or Tensor.
        mode: an int or a sequence of ints; get[i,j](x) means the same. The empty path gives x.
    Returns: the mode: an integer or tuple, or an object of the same kind as x.
    Raises: LayoutError when a mode does not exist.
    Source: CuTe `get`.

    Examples:
        >>> layout = cute.parse("(4,(2,3)):(1,(4,8))")
        >>> cute.get(layout, mode=[1]), cute.get[1, 0](layout)
        ((2,3):(4,8), 2:4)
    """

def get_divisibility(x: typing.SupportsIndex, *, loc: typing.Any = None, ip: typing.Any = None) -> int:
    """
    The largest number that is known to divide an integer.

        n | x for n = get_divisibility(x)

    Args:
        x: an integer. Of a static one its magnitude is known, of a dynamic one what `assume` and arithmetic say.
    Returns: an int.
    Raises: TypeError for anything but an integer.
    Source: CuTe `get_divisibility`.

    Examples:
        >>> x = cute.assume(Int32(8), divby=4)
        >>> cute.get_divisibility(x), cute.get_divisibility(x * 3), cute.get_divisibility(12)
        (4, 12, 12)
    """

def get_nonswizzle_portion(layout: LayoutLike, *, loc: typing.Any = None, ip: typing.Any = None) -> Layout:
    """
    The outer layout of a swizzled layout; a plain layout itself.

        L = get_swizzle_portion(L) o offset o get_nonswizzle_portion(L)

    Args:
        layout: a Layout, ComposedLayout or Tensor.
    Returns: a Layout.
    Raises: TypeError for other kinds.
    Source: CuTe `get_nonswizzle_portion`.

    Examples:
        >>> cute.get_nonswizzle_portion(cute.parse("S<3,4,3> o 0 o (8,64):(64,1)"))
        (8,64):(64,1)
    """

def get_swizzle_portion(layout: LayoutLike, *, loc: typing.Any = None, ip: typing.Any = None) -> Swizzle:
    """
    The swizzle of a layout; of a plain layout the identity S<0,4,3>.

        L = get_swizzle_portion(L) o offset o get_nonswizzle_portion(L)

    Args:
        layout: a Layout, ComposedLayout or Tensor.
    Returns: a Swizzle.
    Raises: TypeError when the inner function is no swizzle.
    Source: CuTe `get_swizzle_portion`.

    Examples:
        >>> cute.get_swizzle_portion(cute.parse("S<3,4,3> o 0 o (8,64):(64,1)"))
        S<3,4,3>
        >>> cute.get_swizzle_portion(cute.parse("(8,64):(64,1)"))
        S<0,4,3>
    """

def group_modes(
    x: Operand,
    begin: typing.SupportsIndex,
    end: typing.SupportsIndex | None = None,
    *,
    loc: typing.Any = None,
    ip: typing.Any = None,
) -> typing.Any:
    """
    The modes from begin to end, end excluded, nested as one mode.

        group_modes((a,b,c,d), 1, 3) = (a,(b,c),d); the function of a layout stays the same

    Args:
        x: a tuple (of anything), Layout, ComposedLayout or Tensor.
        begin, end: ints; negative ones count from the back, end=None means the rank.
    Returns: an object of the same kind as x, of rank rank(x) - (end - begin) + 1.
    Raises: ValueError when the range is empty or leaves the rank.
    Source: CuTe `group_modes`.

    Examples:
        >>> cute.group_modes(cute.parse("(2,3,4):(1,2,6)"), 1, 3), cute.group_modes((2, 3, 4), 0, 2)
        ((2,(3,4)):(1,(2,6)), ((2, 3), 4))
    """

def has_scaled_basis(x: Operand) -> bool:
    """
    Whether a stride has a basis element: whether offsets are coordinates.

    Args:
        x: a nested tuple of strides, a Layout, ComposedLayout or Tensor (its layout).
    Returns: a bool.
    Raises: TypeError for other kinds.
    Source: CuTe `has_scaled_basis`.

    Examples:
        >>> cute.has_scaled_basis(cute.make_identity_layout((4, 3))), cute.has_scaled_basis((1, 4))
        (True, False)
    """

def has_underscore(x: Operand) -> bool:
    """
    Whether a coordinate has a None, CuTe's underscore: whether it slices.

    Args:
        x: an integer, None, nested tuple or Layout.
    Returns: a bool; False for a Layout.
    Raises: TypeError for other kinds.
    Source: CuTe `has_underscore`.

    Examples:
        >>> cute.has_underscore((1, (None, 2))), cute.has_underscore((1, 2))
        (True, False)
    """

def idx2crd(
    idx: CoordLike, shape: Operand, stride: IntTupleLike | None = None, *, loc: typing.Any = None, ip: typing.Any = None
) -> typing.Any:
    """
    The coordinate of a shape that an index counts, mode 0 fastest.

        crd2idx(idx2crd(i, S), S) = i; the last mode is not wrapped. With a stride: c_k = (i / d_k) mod s_k

    Args:
        idx: an integer, or a tuple that is taken mode by mode.
        shape: a nested tuple, Layout or Tensor, whose shape counts.
        stride: congruent with the shape: then idx is an offset, see `Layout.get_hier_coord`.
    Returns: a coordinate congruent with the shape.
    Raises: LayoutError when the index does not fit the shape.
    Source: CuTe `idx2crd`.

    Examples:
        >>> cute.idx2crd(5, (4, (2, 3))), cute.idx2crd(12, (4, 2))
        ((1, (1, 0)), (0, 3))
        >>> cute.idx2crd(5, (4, 3), (3, 1))
        (1, 2)
    """

def image(layout: LayoutLike) -> numpy.typing.NDArray[numpy.int64]:
    """
    The distinct offsets of a layout, sorted.

        {L(i) : i < |L|}

    Args:
        layout: a Layout, ComposedLayout or Tensor of at most 2^30 elements.
    Returns: a one-dimensional NumPy array, int64, in elements.
    Raises: LayoutError for basis strides or a larger layout.
    Source: tilewright.

    Examples:
        >>> cute.image(cute.parse("(4,2):(1,2)")).tolist()
        [0, 1, 2, 3, 4, 5]
    """

def image_within(layout: LayoutLike, begin: typing.SupportsIndex, end: typing.SupportsIndex) -> Verdict:
    """
    Whether all offsets of a layout lie in an interval.

        begin <= L(i) < end for all i < |L|

    Args:
        layout: a Layout, ComposedLayout or Tensor.
        begin, end: ints, in elements.
    Returns: a Verdict: true or false in a condition, with the `reason` of a no and the `witness`: (i, L(i)) outside.
    Raises: LayoutError for basis strides, and for a composed layout of more than 2^24 elements.
    Source: tilewright.

    Examples:
        >>> cute.image_within(cute.parse("(4,8):(1,64)"), 0, 512)
        True
        >>> cute.image_within(cute.parse("(4,8):(1,64)"), 0, 451)
        False (coordinate 31 has the offset 451, outside [0, 451))
    """

def increment_coord(coord: CoordLike, shape: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The next coordinate, mode 0 fastest; the last mode goes on past its extent.

        increment_coord(c, S) = idx2crd(crd2idx(c, S) + 1, S)

    Args:
        coord: a coordinate congruent with the shape.
        shape: an integer or nested tuple.
    Returns: a coordinate.
    Raises: LayoutError when the two are not congruent.
    Source: CuTe `increment_coord`.

    Examples:
        >>> cute.increment_coord((3, 0), (4, 2)), cute.increment_coord((3, 1), (4, 2))
        ((0, 1), (0, 2))
    """

def inner_product(a: Operand, b: Operand) -> typing.Any:
    """
    The sum of products of leaves that face each other.

        inner_product(a, b) = sum over leaves of a_k * b_k; of a coordinate and a stride: the offset in elements

    Args:
        a, b: congruent integers or nested tuples.
    Returns: an integer, or a basis element where b has one.
    Raises: LayoutError when the profiles differ, or when a sum or product does not fit into 64 bits.
    Source: CuTe C++ `inner_product`.

    Examples:
        >>> cute.inner_product((1, (0, 2)), (6, (3, 1)))
        8
    """

def is_admissible(layout: LayoutLike, cotarget: typing.SupportsIndex) -> Verdict:
    """
    Whether a layout and a cotarget are admissible for complementation.

        with the modes sorted by stride: s_{k-1} * d_{k-1} | d_k for every k, and s_n * d_n | M

    Then (L, complement(L, M)) is a bijection onto [0, M).
    Args:
        layout: a Layout.
        cotarget: M, an int, in elements.
    Returns: a Verdict: true or false in a condition, with the `reason` of a no.
    Raises: TypeError for a swizzled layout and other kinds, and for a cotarget that is no integer.
    Source: docs/seeds.md, article 004; CuTe does not check it.

    Examples:
        >>> cute.is_admissible(cute.parse("(4,2):(1,8)"), 16)
        True
        >>> cute.is_admissible(cute.parse("(4,2):(1,6)"), 24)
        False (the modes with smaller strides fill 4 offsets, which does not divide the stride 6)
    """

def is_bijective(layout: LayoutLike) -> bool:
    """
    Whether the offsets are exactly 0 to size - 1, each once.

        L is injective and im(L) = [0, |L|); for basis strides: every coordinate of the coshape, each once

    Args:
        layout: a Layout, ComposedLayout or Tensor.
    Returns: a bool. A thread-value layout that is bijective deals every element to one thread.
    Raises: LayoutError as is_injective does, and for a swizzled layout of more than 2^24 elements that is no whole number
        of the swizzle's periods.
    Source: tilewright.

    Examples:
        >>> cute.is_bijective(cute.parse("(4,8):(8,1)")), cute.is_bijective(cute.parse("(4,8):(9,1)"))
        (True, False)
        >>> cute.is_bijective(cute.parse("S<3,0,3> o 0 o (8,8):(8,1)"))
        True
    """

def is_compatible(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> bool:
    """
    Whether every coordinate of the shape a is one of the shape b: b refines a.

        n <= b where n == size(b);   (a0,a1,..) <= (b0,b1,..) where the ranks agree and every a_k <= b_k

    Args:
        a, b: integers, nested tuples, or Layouts and Tensors, whose shapes count.
    Returns: a bool.
    Raises: LayoutError when a size does not fit into 64 bits; TypeError for other kinds.
    Source: CuTe C++ `compatible`; CUTLASS docs, media/docs/cpp/cute/01_layout.md.

    Examples:
        >>> cute.is_compatible(24, (4, 6)), cute.is_compatible((4, 6), (4, (2, 3))), cute.is_compatible((4, 6), 24)
        (True, True, False)
    """

def is_congruent(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> bool:
    """
    Whether two tuples have the same nesting.

        leaf ~ leaf;   (a0,a1,..) ~ (b0,b1,..) where the ranks agree and every a_k ~ b_k

    Args:
        a, b: integers, nested tuples, or Layouts and Tensors, whose shapes count.
    Returns: a bool.
    Raises: TypeError for other kinds.
    Source: CuTe `is_congruent`.

    Examples:
        >>> cute.is_congruent((4, (2, 3)), (1, (4, 8))), cute.is_congruent((4, 6), (1, (4, 8)))
        (True, False)
    """

def is_disjoint(a: LayoutLike, b: LayoutLike, offset: typing.SupportsIndex = 0) -> Verdict:
    """
    Whether the images of two layouts have no offset in common.

        a(i) != offset + b(j) for all i < |a|, j < |b|

    Exact for layouts of any size: it decides whether bounded multiples of the strides add up to the offset
    (docs/theory.md).
    Args:
        a, b: Layouts, ComposedLayouts or Tensors.
        offset: what is added to the offsets of b, an int, in elements.
    Returns: a Verdict: true or false in a condition, with the `reason` of a no and the `witness`: (i, j, a(i)), two 1-D
        coordinates and the offset that they share.
    Raises: LayoutError where strides that do not nest exceed the budget of that search, and for composed layouts of more
        than 2^24 elements that have not the same swizzle.
    Source: tilewright.

    Examples:
        >>> even, odd = cute.parse("(4,8):(2,64)"), cute.parse("(4,8):(2,64)")
        >>> cute.is_disjoint(even, odd, 1)
        True
        >>> verdict = cute.is_disjoint(cute.parse("4:3"), cute.parse("4:5"), 4)
        >>> verdict, verdict.witness
        (False (coordinates 3 and 1 share the offset 9), (3, 1, 9))
    """

def is_injective(layout: LayoutLike) -> bool:
    """
    Whether no two coordinates share an offset.

        L(i) = L(j) only for i = j

    Args:
        layout: a Layout, ComposedLayout or Tensor.
    Returns: a bool.
    Exact for layouts of any size, also with a swizzle: it decides whether bounded multiples of the strides add up to 0
    (docs/theory.md).
    Raises: LayoutError where strides that do not nest exceed the budget of that search, and for a composed layout without a
        swizzle of more than 2^24 elements.
    Source: tilewright.

    Examples:
        >>> cute.is_injective(cute.parse("(4,2):(1,8)")), cute.is_injective(cute.parse("(4,2):(1,2)"))
        (True, False)
    """

def is_int_tuple(x: typing.Any) -> bool:
    """
    Whether an object is an integer or a nested tuple of integers.

    Args:
        x: any object; lists count as tuples.
    Returns: a bool.
    Raises: nothing: of any object there is an answer.
    Source: CuTe `is_int_tuple`.

    Examples:
        >>> cute.is_int_tuple((3, (4, Int32(1)))), cute.is_int_tuple((3, None))
        (True, False)
    """

def is_integer(x: typing.Any) -> bool:
    """
    Whether an object is an integer, static or dynamic; a bool is not.

    Args:
        x: any object.
    Returns: a bool.
    Raises: nothing: of any object there is an answer.
    Source: CuTe `is_integer`.

    Examples:
        >>> cute.is_integer(3), cute.is_integer(Int32(3)), cute.is_integer((3,))
        (True, True, False)
    """

def is_major(mode: Modes, stride: IntTupleLike, *, loc: typing.Any = None, ip: typing.Any = None) -> bool:
    """
    Whether a mode has a static stride of 1.

        is_major(i, D): some leaf of D_i is the static 1

    Args:
        mode: an int, or the path of a mode.
        stride: a nested tuple of strides.
    Returns: a bool.
    Raises: LayoutError when the mode does not exist.
    Source: CuTe `is_major`.

    Examples:
        >>> cute.is_major(1, (8, 1)), cute.is_major(0, (8, 1)), cute.is_major(0, ((2, 1), 8))
        (True, False, True)
    """

def is_static(x: Operand) -> bool:
    """
    Whether every integer of an object is static, that is a Python int.

        True where no leaf is an Int32 or Int64

    Args:
        x: an integer, nested tuple, ScaledBasis, Swizzle, Layout, ComposedLayout or Tensor (its layout).
    Returns: a bool.
    Raises: TypeError for other kinds.
    Source: CuTe `is_static`.

    Examples:
        >>> cute.is_static(cute.make_layout((4, 2))), cute.is_static(cute.make_layout((4, Int32(2))))
        (True, False)
    """

def is_tractable(layout: LayoutLike) -> Verdict:
    """
    Whether the modes of a layout nest, in the order of their strides.

        with the modes sorted by stride: d_k = 0, or s_k * d_k | d_{k+1}, for every k

    These are the layouts that come from maps of tuples in *Categorical Foundations for CuTe Layouts* (arXiv 2601.05972), whose
    composition by mutual refinement is one of those that `composition` has.

    Args:
        layout: a Layout or Tensor.
    Returns: a Verdict, with the reason of a no.
    Raises: TypeError for a ComposedLayout.
    Source: tilewright.

    Examples:
        >>> cute.is_tractable("(4,8):(8,1)"), cute.is_tractable("(4,2):(1,6)")
        (True, False (the mode 4:1 ends at 4, which does not divide the stride 6))
    """

def is_weakly_congruent(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> bool:
    """
    Whether the nesting of b is that of a or finer.

        leaf <= anything;   (a0,a1,..) <= (b0,b1,..) where the ranks agree and every a_k <= b_k

    Args:
        a, b: integers, nested tuples, or Layouts and Tensors, whose shapes count.
    Returns: a bool.
    Raises: TypeError for other kinds.
    Source: CuTe `is_weakly_congruent`.

    Examples:
        >>> cute.is_weakly_congruent((4, 6), (1, (4, 8))), cute.is_weakly_congruent((1, (4, 8)), (4, 6))
        (True, False)
    """

def leading_dim(shape: Operand, stride: IntTupleLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The mode with the static stride 1, where elements lie next to each other.

        the first leaf with stride 1 and extent other than the static 1

    Args:
        shape, stride: congruent tuples.
    Returns: the index of the mode, a tuple of indices where it is nested, or None.
    Raises: LayoutError when shape and stride are not congruent.
    Source: CuTe `leading_dim`.

    Examples:
        >>> cute.leading_dim((4, 3), (3, 1)), cute.leading_dim((4, (2, 3)), (8, (1, 2))), cute.leading_dim((4, 3), (2, 8))
        (1, (1, 0), None)
    """

def left_inverse(layout: LayoutLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The layout that finds the coordinate of an offset.

        L(A(i)) = i for i < |A| where A is injective; where it repeats by stride 0, A(L(A(i))) = A(i)

    Args:
        layout: A: a Layout with static strides, a Swizzle, or a layout composed with a Swizzle or Layout and an integer
            offset.
    Returns: a Layout (a Swizzle of a Swizzle, composed for a composed one). Offsets that A skips map to some coordinate. With
        basis strides it has the profile of A's codomain.
    There is an answer wherever a layout satisfies the law (docs/theory.md): CuTe's, whose radices are the strides, else one
    with other radices, sought among 4096 chains of them.
    Raises: LayoutError when two coordinates have one offset, when no layout has the values or 4096 chains do not decide it,
        when a stride is dynamic, or a swizzle breaks the law; TypeError for other kinds.
    Source: CuTe `left_inverse`.

    Examples:
        >>> cute.left_inverse(cute.parse("(3,2):(4,1)")), cute.left_inverse(cute.parse("(2,2):(2,5)"))
        ((4,3):(3,1), (2,4):(0,1))
    """

def lex_less(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> bool:
    """
    Whether a comes before b in lexicographic order: the first mode decides first.

        a < b where a_k < b_k at the first k with a_k != b_k; a tuple comes after its own beginning

    Args:
        a, b: integers or nested tuples.
    Returns: a bool.
    Raises: LayoutError when an integer faces a tuple.
    Source: CuTe C++ `lex_less`.

    Examples:
        >>> cute.lex_less((1, 2), (2, 1)), cute.lex_less((1, 2), (1, 2))
        (True, False)
    """

def logical_divide(
    target: LayoutLike, tiler: TilerLike, *, loc: typing.Any = None, ip: typing.Any = None
) -> typing.Any:
    """
    The layout split into tiles: mode 0 runs in the tile, mode 1 over the tiles.

        A / B = A o (B, B*),  B* = complement(B, shape(coalesce(A))); by mode for a tuple: ((t0,r0),(t1,r1),..,l,..)

    Args:
        target: A: a Layout, ComposedLayout or Tensor.
        tiler: B: a Layout, an extent n (n:1), None (leave the mode), or a tuple of these, one per mode; modes beyond stay.
    Returns: an object of the same kind. A ragged tile overhangs: then the size grows and the user predicates.
    Raises: LayoutError when R(i) != A((B,B*)(i)) somewhere inside A, an element is lost, or the tiler has too many modes.
    Source: CuTe `logical_divide`; CUTLASS docs, media/docs/cpp/cute/02_layout_algebra.md.

    Examples:
        >>> cute.logical_divide(cute.parse("(4,2,3):(2,1,8)"), cute.parse("4:2"))
        ((2,2),(2,3)):((4,1),(2,8))
        >>> cute.logical_divide(cute.parse("(4,6):(1,4)"), (2, 3))
        ((2,2),(3,2)):((1,2),(4,12))
    """

def logical_product(block: Operand, tiler: TilerLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    Copies of a block: mode 0 is the block, mode 1 says where the copies go.

        A x B = (A, A* o B),  A* = complement(A, |A| * cosize(B)); by mode for a tuple: ((b0,t0),(b1,t1),..)

    Args:
        block: A: a Layout, ComposedLayout or Tensor.
        tiler: B: a Layout, an extent n (n:1), None (leave the mode), or a tuple of these, one per mode; modes beyond stay.
            Of a Layout also a swizzled layout with offset 0.
    Returns: an object of the same kind (swizzled by a swizzled tiler), injective if A and B are.
    Raises: LayoutError when no layout is A* o B, the complement leaves too little room, or the tiler has too many modes.
    Source: CuTe `logical_product`; CUTLASS docs, media/docs/cpp/cute/02_layout_algebra.md.

    Examples:
        >>> cute.logical_product(cute.parse("(2,2):(4,1)"), cute.parse("6:1"))
        ((2,2),(2,3)):((4,1),(2,8))
    """

def make_basis_like(shape: IntTupleLike) -> typing.Any:
    """
    The basis element of every leaf: the strides of an identity layout.

        make_basis_like((a,(b,c))) = (1@0,(1@0@1,1@1@1)),   make_basis_like(n) = 1

    Args:
        shape: an integer or nested tuple; only its nesting counts.
    Returns: strides congruent with the shape.
    Raises: TypeError for a layout and other kinds.
    Source: CuTe C++ `make_basis_like`.

    Examples:
        >>> cute.make_basis_like((2, (3, 4)))
        (1@0, (1@0@1, 1@1@1))
    """

def make_composed_layout(
    inner: Swizzle | LayoutLike | collections.abc.Callable[..., typing.Any],
    offset: CoordLike,
    outer: LayoutLike,
    *,
    loc: typing.Any = None,
    ip: typing.Any = None,
) -> ComposedLayout:
    """
    The layout that applies an outer layout, adds an offset, and applies an inner function.

        R(c) = inner(offset + outer(c))

    Args:
        inner: a Swizzle, a Layout, or a Python callable of an integer or coordinate.
        offset: an integer, in elements of the outer layout's offsets, or a coordinate congruent with them.
        outer: a Layout.
    Returns: a ComposedLayout.
    Raises: LayoutError when a swizzle would get coordinates; TypeError for another kind of inner function.
    Source: CuTe `make_composed_layout`.

    Examples:
        >>> layout = cute.make_composed_layout(cute.make_swizzle(2, 0, 3), 0, cute.parse("(4,8):(8,1)"))
        >>> layout, layout(1, 0)
        (S<2,0,3> o 0 o (4,8):(8,1), 9)
        >>> cute.make_composed_layout(lambda c: c[0] + 10 * c[1], (1, 0), cute.make_identity_layout((8, 4)))(2, 3)
        33
    """

def make_fragment_like_layout(layout: LayoutLike) -> Layout:
    """
    The layout of registers that hold a partition: mode 0 compact and first.

        mode 0 (the elements of one atom) is column-major, a stride of 0 in it stays 0; the other modes follow compactly in
        the order of their strides

    Args:
        layout: a Layout, a swizzled layout or a Tensor.
    Returns: a Layout of the same mode sizes, without a swizzle.
    Raises: LayoutError when a product does not fit into 64 bits, and for a composed layout that is not swizzled; TypeError
        for other kinds.
    Source: CuTe C++ `make_fragment_like` of a layout.

    Examples:
        >>> cute.make_fragment_like_layout(cute.parse("((4,2),3,5):((1,8),160,32)"))
        ((4,2),3,5):((1,4),40,8)
    """

def make_identity_layout(shape: IntTupleLike, *, loc: typing.Any = None, ip: typing.Any = None) -> Layout:
    """
    The layout that maps every coordinate to itself.

        L(c) = c: the stride of each leaf is its basis element; an integer i gives the coordinate idx2crd(i, S)

    Args:
        shape: an int or nested tuple of positive extents.
    Returns: a Layout; for an integer shape n:1.
    Raises: LayoutError when an extent is not positive.
    Source: CuTe `make_identity_layout`.

    Examples:
        >>> layout = cute.make_identity_layout((4, 3))
        >>> layout, layout(5), cute.make_identity_layout((2, (3, 4)))
        ((4,3):(1@0,1@1), (1, 1), (2,(3,4)):(1@0,(1@0@1,1@1@1)))
    """

def make_layout(
    shape: Operand, *, stride: IntTupleLike | None = None, loc: typing.Any = None, ip: typing.Any = None
) -> typing.Any:
    """
    A layout from a shape and a stride, or from layouts as its modes.

        make_layout(S, stride=D) = S:D;   make_layout([A, B, ..]) = (A, B, ..) with (c, d) -> A(c) + B(d)

    Args:
        shape: an int or nested tuple of positive extents, a Layout (becomes one mode), or an iterable of Layouts.
        stride: congruent with the shape, in elements; by default compact, mode 0 fastest, 0 for a static extent of 1.
    Returns: a Layout.
    Raises: LayoutError when an extent is not positive, when shape and stride are not congruent or nested deeper than 64, or
        when a product does not fit into 64 bits; TypeError for other kinds.
    Source: CuTe `make_layout`.

    Examples:
        >>> cute.make_layout((4, 8)), cute.make_layout((4, 8), stride=(8, 1)), cute.make_layout((24, 1))
        ((4,8):(1,4), (4,8):(8,1), (24,1):(1,0))
        >>> cute.make_layout([cute.parse("(2,4):(1,2)"), cute.parse("2:8")]), cute.make_layout((Int32(4), 8))
        (((2,4),2):((1,2),8), (?,8):(1,?))
    """

def make_layout_image_mask(
    layout: LayoutLike, coord: CoordLike, mode: typing.SupportsIndex, *, loc: typing.Any = None, ip: typing.Any = None
) -> int:
    """
    The set of offsets of one mode as a bit mask: the blocks of a multicast.

        bit k is set where k = L(c) for some coordinate of the mode, the other modes fixed

    Args:
        layout: a Layout of cosize at most 16: coordinates of a cluster to block numbers.
        coord: the coordinate of the other modes; its entry at `mode` does not count.
        mode: the mode that varies, an int.
    Returns: an int of 16 bits.
    Raises: ValueError when the cosize is above 16.
    Source: CuTe `make_layout_image_mask`.

    Examples:
        >>> bin(cute.make_layout_image_mask(cute.parse("(2,4):(1,2)"), (1, 0), mode=1))
        '0b10101010'
    """

def make_layout_left(shape: IntTupleLike) -> Layout:
    """
    The compact layout of a shape with mode 0 fastest: column-major.

        d_k = product of the extents before k

    Args:
        shape: an int or nested tuple of positive extents.
    Returns: a Layout; a static extent of 1 has stride 0.
    Raises: LayoutError when an extent is not positive or a product does not fit into 64 bits.
    Source: CuTe C++ `make_layout(shape, LayoutLeft{})`.

    Examples:
        >>> cute.make_layout_left((4, (2, 3)))
        (4,(2,3)):(1,(4,8))
    """

def make_layout_like(layout: LayoutLike, *, loc: typing.Any = None, ip: typing.Any = None) -> Layout:
    """
    The compact layout of the same shape with the strides in the same order.

        strides sort as those of L do; a stride of 0 stays 0

    Args:
        layout: a Layout or Tensor.
    Returns: a Layout of the same shape.
    Raises: LayoutError when a product does not fit into 64 bits; TypeError for a swizzled layout and other kinds.
    Source: CuTe `make_layout_like`.

    Examples:
        >>> cute.make_layout_like(cute.parse("(4,3):(100,7)")), cute.make_layout_like(cute.parse("(4,2,3):(6,0,1)"))
        ((4,3):(3,1), (4,2,3):(3,0,1))
    """

def make_layout_right(shape: IntTupleLike) -> Layout:
    """
    The compact layout of a shape with the last mode fastest: row-major.

        d_k = product of the extents after k

    Args:
        shape: an int or nested tuple of positive extents.
    Returns: a Layout; a static extent of 1 has stride 0.
    Raises: LayoutError when an extent is not positive or a product does not fit into 64 bits.
    Source: CuTe C++ `make_layout(shape, LayoutRight{})`.

    Examples:
        >>> cute.make_layout_right((4, (2, 3)))
        (4,(2,3)):(6,(3,1))
    """

def make_layout_tv(
    thr_layout: LayoutLike, val_layout: LayoutLike, *, loc: typing.Any = None, ip: typing.Any = None
) -> tuple[typing.Any, Layout]:
    """
    The thread-value layout of a tile that threads and values make up by a raked product.

        M = raked_product(thr, val):  tiler = product_each(shape(M)),  tv = right_inverse(M) o (|thr|, |val|)
        tv(t, v) is the 1-D coordinate in the tile of value v of thread t:  M(tv(t, v)) = t + |thr| * v

    Args:
        thr_layout: Layout from coordinates to threads.
        val_layout: Layout from coordinates to the values of one thread.
    Returns: (tiler, tv): the extents of the tile, a tuple, and the layout.
    Raises: LayoutError with a counter-example where M lacks one of the offsets t + |thr| * v; as logical_product.
    Source: CuTe `make_layout_tv`.

    Examples:
        >>> cute.make_layout_tv(cute.parse("(2,3):(3,1)"), cute.parse("(2,2):(2,1)"))
        ((4, 6), ((3,2),(2,2)):((8,2),(4,1)))
    """

def make_ordered_layout(
    shape: IntTupleLike, order: IntTupleLike, *, loc: typing.Any = None, ip: typing.Any = None
) -> Layout:
    """
    The compact layout of a shape whose modes are fastest in a given order.

        d_k = product of the sizes of all modes of lower order; a mode whose order is one integer is column-major inside

    Args:
        shape: an int or nested tuple of positive extents.
        order: integers, 0 the fastest, as nested as the shape or less.
    Returns: a Layout; a static extent of 1 has stride 0.
    Raises: LayoutError when the order does not fit the shape.
    Source: CuTe `make_ordered_layout`.

    Examples:
        >>> cute.make_ordered_layout((4, 32), order=(1, 0)), cute.make_ordered_layout((2, 3, 4), order=(2, 0, 1))
        ((4,32):(32,1), (2,3,4):(12,1,3))
        >>> cute.make_ordered_layout((2, (3, 4)), order=(1, 0))
        (2,(3,4)):(12,(1,3))
    """

def make_swizzle(
    b: typing.SupportsIndex,
    m: typing.SupportsIndex,
    s: typing.SupportsIndex,
    *,
    loc: typing.Any = None,
    ip: typing.Any = None,
) -> Swizzle:
    """
    The swizzle S<b,m,s>: b bits from bit m on are XORed with those s places higher.

        x ^ ((x & Y) >> s), see `Swizzle`; b = 0 is the identity and always S<0,4,3>

    Args:
        b, m, s: number of bits, base, shift; |s| >= b.
    Returns: a Swizzle.
    Raises: LayoutError when the parameters are out of range.
    Source: CuTe `make_swizzle`.

    Examples:
        >>> cute.make_swizzle(3, 4, 3), cute.make_swizzle(0, 2, 3), cute.make_swizzle(2, 0, 3)(8)
        (S<3,4,3>, S<0,4,3>, 9)
    """

def max_alignment(layout: LayoutLike) -> int:
    """
    The alignment that every repetition of the contiguous part of a layout keeps.

        gcd of the length of the contiguous run from offset 0 and the strides of all modes outside of it; 2^M of a swizzle
        S<B,M,S>; of a swizzled layout gcd of both and the offset

    Args:
        layout: a Layout, ComposedLayout, Swizzle or Tensor.
    Returns: an int, in elements.
    Raises: LayoutError when a dynamic stride is not a multiple of it.
    Source: CuTe C++ `max_alignment`.

    Examples:
        >>> cute.max_alignment(cute.parse("(8,4):(1,16)")), cute.max_alignment(cute.parse("(8,4):(1,12)"))
        (8, 4)
    """

def max_common_layout(a: LayoutLike, b: LayoutLike, *, loc: typing.Any = None, ip: typing.Any = None) -> Layout:
    """
    The 1-D coordinates that are contiguous in both of two layouts: one vector copy.

        a(R(i)) = i = b(R(i)) for i < |R|; of a composed layout a(R(i)) = a(R(0)) + i

    Args:
        a, b: Layouts, swizzled layouts or Tensors.
    Returns: a Layout, as large as static integers prove; 1:0 where there is none.
    Raises: LayoutError with a counter-example when CuTe's answer breaks the law; for an inner function that is no swizzle.
    Source: CuTe `max_common_layout`.

    Examples:
        >>> cute.max_common_layout(cute.parse("(4,8):(8,1)"), cute.parse("(4,8):(8,1)"))
        (8,4):(4,1)
        >>> cute.max_common_layout(cute.parse("(4,8):(1,4)"), cute.parse("(4,8):(1,8)"))
        4:1
    """

def max_common_vector(a: LayoutLike, b: LayoutLike, *, loc: typing.Any = None, ip: typing.Any = None) -> int:
    """
    The number of elements that one vector copy between two layouts may move.

        |max_common_layout(a, b)|; where both have the same swizzle, that of their outer layouts, whose elements the swizzle
        permutes in both

    Args:
        a, b: Layouts, swizzled layouts or Tensors.
    Returns: an int, in elements; the alignment of the pointers is not considered.
    Raises: as max_common_layout.
    Source: CuTe `max_common_vector`.

    Examples:
        >>> a, b = cute.parse("(4,8):(1,4)"), cute.parse("(4,8):(1,8)")
        >>> cute.max_common_vector(a, b), cute.max_common_vector(a, cute.parse("(4,8):(8,1)"))
        (4, 1)
    """

def nullspace(layout: LayoutLike, *, loc: typing.Any = None, ip: typing.Any = None) -> Layout:
    """
    The coordinates that a layout maps to 0: its modes with stride 0.

        A(N(i)) = 0 for i < |N|;   |N| * |im A| = |A| where the other modes are injective

    Args:
        layout: A: a Layout, ComposedLayout or Tensor.
    Returns: a Layout of 1-D coordinates of A; 1:0 where no stride is 0, and for a composed layout, as in CuTe.
    Raises: LayoutError when a product does not fit into 64 bits; TypeError for other kinds.
    Source: CuTe `nullspace`.

    Examples:
        >>> cute.nullspace(cute.parse("(4,2,3):(0,1,0)")), cute.nullspace(cute.parse("4:1"))
        ((4,3):(1,8), 1:0)
    """

def offset_range(layout: LayoutLike) -> tuple[int, int]:
    """
    The least and the greatest offset of a layout.

        min = sum of (s-1) * d over the modes with d < 0,   max = the same with d > 0

    Args:
        layout: a Layout or Tensor.
    Returns: the pair (min, max) of ints, in elements.
    Raises: LayoutError when a number does not fit into 64 bits; TypeError for a ComposedLayout.
    Source: tilewright; with negative strides it says more than CuTe's `cosize`.

    Examples:
        >>> cute.offset_range(cute.parse("(4,2):(1,-8)"))
        (-8, 3)
    """

def parse(text: str) -> typing.Any:
    """
    The object that a text in CuTe notation describes.

        parse(str(x)) = x for static x

    Args:
        text: an int tuple `(4,_)`, a layout `(4,8):(8,1)`, `(8,4):(1@0,1@1)`, a swizzle `S<3,4,3>`, or a composed layout
            `S<3,4,3> o 0 o (8,64):(64,1)`.
    Returns: an int or tuple, Layout, Swizzle or ComposedLayout.
    Raises: LayoutError with the position of what cannot be read; a dynamic `?` has no value.
    Source: tilewright.

    Examples:
        >>> cute.parse("(4,(2,3)):(1,(4,8))"), cute.parse("(4,_)"), cute.parse("S<2,0,3> o 0 o (8,8):(8,1)")
        ((4,(2,3)):(1,(4,8)), (4, None), S<2,0,3> o 0 o (8,8):(8,1))
    """

def prepend(
    x: Operand,
    elem: Operand,
    up_to_rank: typing.SupportsIndex | None = None,
    *,
    loc: typing.Any = None,
    ip: typing.Any = None,
) -> typing.Any:
    """
    The object with a mode added in front, once or until it has a given rank.

        prepend((a,b), m) = (m,a,b),   prepend((a,b), m, 4) = (m,m,a,b)

    Args:
        x: a tuple (of anything), Layout, ComposedLayout or Tensor; a leaf is one mode.
        elem: the mode: for layouts a Layout.
        up_to_rank: the rank to reach; by default rank(x) + 1.
    Returns: an object of the same kind as x.
    Raises: ValueError when x has more modes; TypeError when elem is no Layout where x is one.
    Source: CuTe `prepend`.

    Examples:
        >>> cute.prepend(cute.parse("4:1"), cute.parse("1:0"), 3), cute.prepend((4, 2), 8)
        ((1,1,4):(0,0,1), (8, 4, 2))
    """

def prepend_ones(
    x: Operand, up_to_rank: typing.SupportsIndex | None = None, *, loc: typing.Any = None, ip: typing.Any = None
) -> typing.Any:
    """
    The object with modes of extent 1 (of layouts 1:0) added in front.

        prepend_ones(x, r) = prepend(x, 1, r)

    Args:
        x: a tuple, Layout, ComposedLayout or Tensor.
        up_to_rank: the rank to reach; by default rank(x) + 1.
    Returns: an object of the same kind as x.
    Raises: ValueError when x has more modes.
    Source: CuTe `prepend_ones`.

    Examples:
        >>> cute.prepend_ones(cute.parse("(4,2):(1,4)"), up_to_rank=3), cute.prepend_ones((4, 2))
        ((1,4,2):(0,1,4), (1, 4, 2))
    """

def product(a: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The product of all leaves.

        product((n0,n1,..)) = product(n0) * product(n1) * ..,   product(()) = 1

    Args:
        a: an integer or nested tuple.
    Returns: an integer, dynamic where a factor is.
    Raises: LayoutError when the product does not fit into 64 bits.
    Source: CuTe `product`.

    Examples:
        >>> cute.product((4, (2, 3)))
        24
    """

def product_each(a: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The product of each mode: how large each mode is.

        product_each((a,b,..)) = (product(a),product(b),..)

    Args:
        a: an integer (one mode) or nested tuple.
    Returns: a flat tuple with one integer per mode.
    Raises: LayoutError when a product does not fit into 64 bits; TypeError for other kinds.
    Source: CuTe `product_each`.

    Examples:
        >>> cute.product_each((4, (2, 3))), cute.product_each(4)
        ((4, 6), (4,))
    """

def product_like(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The product of each part that faces a leaf of another tuple.

        product_like(a, g) = product(a) where g is a leaf, else mode by mode

    Args:
        a: a nested tuple.
        b: the guide g, whose profile is the same as a's or coarser.
    Returns: integers in the profile of the guide.
    Raises: LayoutError when the ranks of a tuple and its guide differ.
    Source: CuTe `product_like`.

    Examples:
        >>> cute.product_like((2, (3, 4), 5), (0, 0, 0))
        (2, 12, 5)
    """

def raked_product(block: LayoutLike, tiler: TilerLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The product mode by mode, the tiler innermost: the elements of the blocks interleaved.

        logical_product of the operands padded to one rank, zipped the other way: ((t0,b0),(t1,b1),..)

    Args:
        block: a Layout, ComposedLayout or Tensor.
        tiler: a Layout or an extent: the order and number of the copies.
    Returns: an object of the same kind; the sizes of the modes multiply.
    Raises: as logical_product.
    Source: CuTe `raked_product`.

    Examples:
        >>> cute.raked_product(cute.parse("(2,5):(5,1)"), cute.parse("(3,4):(1,3)"))
        ((3,2),(4,5)):((10,5),(30,1))
    """

def rank(x: Operand, mode: Modes | None = None, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The number of modes; of an integer 1.

        rank((a,b,c)) = 3,   rank(n) = 1

    Args:
        x: an integer, tuple, Layout, ComposedLayout or Tensor.
        mode: the path of a mode; rank[i](x) means the same.
    Returns: an int.
    Raises: LayoutError when a mode does not exist; TypeError for other kinds.
    Source: CuTe `rank`.

    Examples:
        >>> cute.rank((4, (2, 3))), cute.rank[1]((4, (2, 3))), cute.rank(4)
        (2, 2, 1)
    """

def recast_layout(
    new_type_bits: typing.SupportsIndex,
    old_type_bits: typing.SupportsIndex,
    layout: Operand,
    *,
    loc: typing.Any = None,
    ip: typing.Any = None,
) -> typing.Any:
    """
    The layout of the same memory seen as elements of another width.

        upcast(L, n) for new = n * old, downcast(L, n) for old = n * new, else both: upcast, then downcast

    Args:
        new_type_bits, old_type_bits: widths of the elements, in bits.
        layout: a Layout, a Swizzle, or a layout composed with either.
    Returns: an object of the same kind; offsets in new elements.
    Raises: as upcast and downcast; also when the number of bits would change.
    Source: CuTe `recast_layout`.

    Examples:
        >>> cute.recast_layout(16, 8, cute.parse("(2,3,4):(1,2,6)")), cute.recast_layout(8, 16, cute.parse("(2,3):(1,2)"))
        ((1,3,4):(1,1,3), (4,3):(1,4))
    """

def repeat(x: typing.Any, n: typing.SupportsIndex) -> typing.Any:
    """
    The argument n times, as a tuple; once is the argument itself.

        repeat(x, n) = (x, x, .., x),   repeat(x, 1) = x

    Args:
        x: anything.
        n: an int from 1 to 2^20.
    Returns: a tuple, or x.
    Raises: ValueError for another n.
    Source: CuTe `repeat`.

    Examples:
        >>> cute.repeat(8, 3), cute.repeat(8, 1)
        ((8, 8, 8), 8)
    """

def repeat_as_tuple(x: typing.Any, n: typing.SupportsIndex) -> typing.Any:
    """
    The argument n times, always as a tuple.

        repeat_as_tuple(x, n) = (x, x, .., x)

    Args:
        x: anything.
        n: an int from 1 to 2^20.
    Returns: a tuple of n.
    Raises: ValueError for another n.
    Source: CuTe `repeat_as_tuple`.

    Examples:
        >>> cute.repeat_as_tuple(8, 3), cute.repeat_as_tuple(8, 1)
        ((8, 8, 8), (8,))
    """

def repeat_like(x: typing.Any, target: IntTupleLike) -> typing.Any:
    """
    The argument at every leaf of a tuple.

        repeat_like(x, (a,(b,c))) = (x,(x,x))

    Args:
        x: anything.
        target: a nested tuple; only its nesting counts.
    Returns: a tuple congruent with the target, or x where that is a leaf.
    Raises: LayoutError for a target that is nested deeper than 64; any other object counts as a leaf.
    Source: CuTe `repeat_like`.

    Examples:
        >>> cute.repeat_like(None, (4, (2, 3)))
        (None, (None, None))
    """

def replace(layout: LayoutLike, i: typing.SupportsIndex, mode: LayoutLike) -> typing.Any:
    """
    The layout with another layout in the place of one mode.

        replace((L0,..,Li,..), i, M) = (L0,..,M,..)

    Args:
        layout: a Layout, ComposedLayout or Tensor.
        i: the mode, an int.
        mode: a Layout.
    Returns: an object of the same kind as `layout`.
    Raises: LayoutError when mode i does not exist.
    Source: CuTe C++ `replace`.

    Examples:
        >>> cute.replace(cute.parse("(4,2):(1,4)"), 1, cute.parse("3:8"))
        (4,3):(1,8)
    """

def right_inverse(layout: LayoutLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The layout that finds a coordinate for the offsets 0, 1, 2, .. as far as they are contiguous.

        A(R(i)) = i for i < |R|; with basis strides A(R(c)) = c for the coordinates c of R, which has the codomain's profile

    Args:
        layout: A: a Layout, a Swizzle, or a layout composed with a Swizzle or Layout and an integer offset.
    Returns: a Layout (a Swizzle of a Swizzle, composed for a composed one), as large as static strides prove; 1:0 where there is no stride 1.
    Raises: LayoutError with a counter-example when CuTe's answer breaks the law (swizzles); TypeError for other kinds.
    Source: CuTe `right_inverse`.

    Examples:
        >>> cute.right_inverse(cute.parse("(4,8):(8,1)")), cute.right_inverse(cute.parse("(3,2):(4,1)"))
        ((8,4):(4,1), 2:3)
        >>> cute.right_inverse(cute.parse("(4,5):(1@1,1@0)"))
        (5,4):(4,1)
    """

def round_up(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The smallest multiple that covers a shape, mode by mode.

        round_up(a, b) = ceil(a / b) * b per leaf; modes beyond b stay

    Args:
        a: an integer or nested tuple, in elements.
        b: integers in the same profile; a tuple may have fewer modes.
    Returns: integers in the profile of a.
    Raises: LayoutError for a divisor of 0, or when a tuple faces an integer.
    Source: CuTe `round_up`.

    Examples:
        >>> cute.round_up((10, 6), (4, 4)), cute.round_up((10, 6), (4,))
        ((12, 8), (12, 6))
    """

def select(x: Operand, mode: Modes | None = None, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    Some modes of the top level, in the order given.

        select(x, mode=[i,j,..]) = (x_i, x_j, ..)

    Args:
        x: a tuple (of anything), Layout, ComposedLayout or Tensor.
        mode: an int or a sequence of ints; select[i,j](x) means the same.
    Returns: an object of the same kind as x.
    Raises: ValueError when a mode does not exist.
    Source: CuTe `select`.

    Examples:
        >>> cute.select(cute.parse("(4,(2,3)):(1,(4,8))"), mode=[1, 0]), cute.select[0, 2]((5, 6, 7))
        (((2,3),4):((4,8),1), (5, 7))
    """

def shape(x: Operand, mode: Modes | None = None, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The shape of an object, or of one mode of it.

        shape(S:D) = S

    Args:
        x: a Layout, ComposedLayout, Tensor, or a shape itself.
        mode: an int or a sequence of ints, the path of a mode.
    Returns: an integer or nested tuple.
    Raises: LayoutError when a mode does not exist.
    Source: CuTe `shape`.

    Examples:
        >>> cute.shape(cute.parse("(4,(2,3)):(1,(4,8))"), mode=[1])
        (2, 3)
    """

def shape_div(a: Operand, b: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The shape that is left when steps of b elements are taken through a, mode 0 first.

        shape_div(n, d) = n / d where d | n, 1 where n | d; one integer d for a tuple is used up mode by mode

    Args:
        a: an integer or nested tuple, in elements.
        b: an integer, a tuple in a's profile (then mode by mode), or a Layout, whose shape counts.
    Returns: integers in the profile of a.
    Raises: LayoutError when neither number divides the other (for dynamic integers by their values).
    Source: CuTe `shape_div`.

    Examples:
        >>> cute.shape_div(12, 3), cute.shape_div(3, 12), cute.shape_div((6, 4), 12)
        (4, 1, (1, 2))
        >>> cute.shape_div((12, 4), (3, 8))
        (4, 1)
    """

def size(x: Operand, mode: Modes | None = None, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The number of elements: the product of the extents.

        |L| = product(shape(L)); size(x, mode=[i,j]) is that of mode j of mode i

    Args:
        x: an integer, Layout, ComposedLayout or Tensor, or a nested tuple of them; a TiledCopy or TiledMma gives its
            threads.
        mode: an int or a sequence of ints, the path of a mode; size[i,j](x) means the same.
    Returns: an integer, dynamic where an extent is.
    Raises: LayoutError when a mode does not exist.
    Source: CuTe `size`.

    Examples:
        >>> layout = cute.parse("(4,(2,3)):(1,(4,8))")
        >>> cute.size(layout), cute.size(layout, mode=[1]), cute.size[1, 0](layout)
        (24, 6, 2)
    """

def slice_(x: Operand, coord: CoordLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The modes where a coordinate has None; the offset of the other modes is dropped.

        L(fill(c, x)) = slice_(L, c)(x) + offset, see `slice_and_offset`; of a tensor the offset moves the iterator

    Args:
        x: a tuple, Layout, ComposedLayout or Tensor.
        coord: None (keep), an integer (drop), or a tuple of these per mode.
    Returns: an object of the same kind; a swizzled layout may become a plain one. `():()` where nothing is kept.
    Raises: LayoutError when the coordinate does not fit the shape, or a swizzled slice fits no layout.
    Source: CuTe `slice_`.

    Examples:
        >>> cute.slice_(cute.parse("(4,(2,3)):(1,(4,8))"), (None, (0, None)))
        (4,3):(1,8)
        >>> cute.slice_((4, 8), (2, None)), cute.slice_(cute.make_tensor(100, cute.parse("(4,8):(8,1)")), (2, None))
        ((8,), tensor<116 o (8):(1)>)
    """

def slice_and_offset(
    coord: CoordLike, layout: LayoutLike, *, loc: typing.Any = None, ip: typing.Any = None
) -> tuple[typing.Any, typing.Any]:
    """
    The modes where a coordinate has None, and the offset of the others.

        L(fill(c, x)) = sliced(x) + offset

    Args:
        coord: None (keep), an integer (fix), or a tuple of these per mode.
        layout: a Layout or ComposedLayout; a swizzled one that keeps no Y bit with its Z bit becomes a plain layout.
    Returns: (sliced layout, offset in elements, or a coordinate where the strides are basis elements).
    Raises: LayoutError when the coordinate does not fit the shape, or the offset carries into swizzle bits of the slice.
    Source: CuTe C++ `slice_and_offset`.

    Examples:
        >>> cute.slice_and_offset((2, None), cute.parse("(4,8):(8,1)"))
        ((8):(1), 16)
        >>> cute.slice_and_offset((2, None), cute.parse("S<2,0,3> o 0 o (8,8):(8,1)"))
        (((2,2,2)):((1,-2,4)), 18)
    """

def sorted_layout(layout: LayoutLike) -> Layout:
    """
    The flat layout with its modes in the order of their strides.

        d_0 <= d_1 <= ..; in general another function with the same image

    Args:
        layout: a Layout or Tensor.
    Returns: a Layout.
    Raises: TypeError for a swizzled layout and other kinds.
    Source: tilewright; what articles call a sorted layout.

    Examples:
        >>> cute.sorted_layout(cute.parse("(4,2,3):(6,1,2)"))
        (2,3,4):(1,2,6)
    """

def swizzle_from_masks(y: typing.SupportsIndex, z: typing.SupportsIndex) -> Swizzle:
    """
    The swizzle with given Y and Z bits.

        x ^ (bits Y of x moved to Z): b = popcount(Y) = popcount(Z), m = the lowest bit of both, s = low(Y) - low(Z)

    Args:
        y, z: masks with the same number of bits, each contiguous.
    Returns: a Swizzle.
    Raises: LayoutError when the masks are not such.
    Source: CuTe C++ `make_swizzle<Y, Z>()`.

    Examples:
        >>> cute.swizzle_from_masks(0b11000, 0b00011)
        S<2,0,3>
    """

def take(x: Operand, begin: typing.SupportsIndex, end: typing.SupportsIndex) -> typing.Any:
    """
    The modes from begin to end, end excluded.

        take((x0,x1,x2,..), b, e) = (x_b, .., x_{e-1})

    Args:
        x: a tuple (of anything), Layout, ComposedLayout or Tensor.
        begin, end: ints.
    Returns: an object of the same kind as x, of rank end - begin.
    Raises: ValueError when the range is empty or leaves the rank.
    Source: CuTe C++ `take`.

    Examples:
        >>> cute.take(cute.parse("(4,2,3):(1,4,8)"), 1, 3), cute.take((4, 2, 3), 0, 2)
        ((2,3):(4,8), (4, 2))
    """

def tile_to_shape(
    atom: LayoutLike,
    trg_shape: IntTupleLike,
    order: IntTupleLike | None = None,
    *,
    loc: typing.Any = None,
    ip: typing.Any = None,
) -> typing.Any:
    """
    Copies of a block that fill a shape.

        blocked_product(A, make_ordered_layout(S / shape(A), order)): size of mode k = S_k

    Args:
        atom: A: a Layout, ComposedLayout (a swizzled atom) or Tensor.
        trg_shape: S: an int or tuple, of the block's rank or higher.
        order: one integer per mode, 0 the fastest, or 'left' (the default: mode 0 first) or 'right'.
    Returns: an object of the same kind.
    Raises: LayoutError when the block does not divide the shape, or has more modes; as logical_product.
    Source: CuTe `tile_to_shape`.

    Examples:
        >>> atom = cute.parse("(2,2):(1,2)")
        >>> cute.tile_to_shape(atom, (8, 8)), cute.tile_to_shape(atom, (8, 8), order=(1, 0))
        (((2,4),(2,4)):((1,4),(2,16)), ((2,4),(2,4)):((1,16),(2,4)))
        >>> cute.tile_to_shape(cute.parse("S<2,0,3> o 0 o (8,4):(4,1)"), (16, 8))
        S<2,0,3> o 0 o ((8,2),(4,2)):((4,32),(1,64))
    """

def tiled_divide(target: LayoutLike, tiler: TilerLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The division with all tile modes in mode 0 and the rest modes behind it.

        logical_divide regrouped: ((t0,t1,..),r0,r1,..,l,..)

    Args:
        target: a Layout, ComposedLayout or Tensor.
        tiler: as for zipped_divide.
    Returns: an object of the same kind.
    Raises: as logical_divide.
    Source: CuTe `tiled_divide`.

    Examples:
        >>> cute.tiled_divide(cute.parse("(4,6):(1,4)"), (2, 3))
        ((2,3),2,2):((1,4),2,12)
    """

def tiled_product(block: LayoutLike, tiler: TilerLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The product with all block modes in mode 0 and the tiler modes behind it.

        logical_product regrouped: ((b0,b1,..),t0,t1,..)

    Args:
        block: a Layout, ComposedLayout or Tensor.
        tiler: as for zipped_product.
    Returns: an object of the same kind.
    Raises: as logical_product.
    Source: CuTe `tiled_product`.

    Examples:
        >>> cute.tiled_product(cute.parse("(2,5):(5,1)"), cute.parse("(3,4):(1,3)"))
        ((2,5),3,4):((5,1),10,30)
    """

def unflatten(x: Operand, profile: IntTupleLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The leaves of a flat tuple or layout put into the nesting of a profile.

        flatten(unflatten(x, p)) = x,   unflatten(flatten(x), x) = x

    Args:
        x: a flat tuple, Layout or Tensor.
        profile: a nested tuple with as many leaves as x has modes; only its nesting counts.
    Returns: the same kind of object, congruent with the profile.
    Raises: LayoutError when the profile has room for another number of modes.
    Source: CuTe `unflatten`.

    Examples:
        >>> cute.unflatten((4, 2, 3), (0, (0, 0)))
        (4, (2, 3))
        >>> cute.unflatten(cute.parse("(4,2,3):(1,4,8)"), (0, (0, 0)))
        (4,(2,3)):(1,(4,8))
    """

def unwrap(a: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The argument without the parentheses of tuples of one.

        unwrap((x)) = unwrap(x),   otherwise unwrap(x) = x

    Args:
        a: an integer or nested tuple.
    Returns: an integer or a tuple of another length than one.
    Raises: TypeError for a layout and other kinds.
    Source: CuTe C++ `unwrap`.

    Examples:
        >>> cute.unwrap(((3,),)), cute.unwrap((3, 4))
        (3, (3, 4))
    """

def upcast(layout: Operand, n: typing.SupportsIndex) -> typing.Any:
    """
    The same memory counted in elements n times as wide.

        n * R(c') = L(c) and the elements L(c) .. inside the wide one R(c'), where c' packs the coordinates c of one element

    Args:
        layout: a Layout, a Swizzle, or a layout composed with either.
        n: a positive int; a power of two for swizzles.
    Returns: an object of the same kind; offsets in wide elements.
    Raises: LayoutError when a stride and n do not divide one another, modes inside one element overlap the next, a stride
        is negative or dynamic and no multiple of n, or a swizzle would move parts of an element.
    Source: CuTe C++ `upcast`.

    Examples:
        >>> cute.upcast(cute.parse("(8,4):(1,8)"), 4), cute.upcast(cute.make_swizzle(3, 4, 3), 4)
        ((2,4):(1,2), S<3,2,3>)
    """

def with_shape(layout: LayoutLike, shape: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The layout read in another shape.

        R = L o (compact column-major layout of the shape): R(i) = L(i) for i < |shape|

    Args:
        layout: L: a Layout, ComposedLayout or Tensor.
        shape: an int or nested tuple of positive extents, or a Layout, whose shape counts.
    Returns: an object of the same kind whose shape refines the one given.
    Raises: LayoutError when no layout of such a shape is that function.
    Source: CuTe C++ `Layout::with_shape`.

    Examples:
        >>> cute.with_shape(cute.parse("(6,4):(4,1)"), (3, 8))
        (3,(2,4)):(4,(12,1))
    """

def wrap(a: Operand, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The argument as a tuple: a leaf becomes a tuple of one, a tuple stays.

        wrap(n) = (n),   wrap((n0,n1,..)) = (n0,n1,..)

    Args:
        a: an integer or nested tuple.
    Returns: a tuple.
    Raises: TypeError for a layout and other kinds.
    Source: CuTe C++ `wrap`.

    Examples:
        >>> cute.wrap(3), cute.wrap((3, 4))
        ((3,), (3, 4))
    """

def zip_layouts(*layouts: LayoutLike) -> typing.Any:
    """
    Layouts of the same rank put together mode by mode; one layout: its modes.

        zip((a0,a1,..), (b0,b1,..)) = ((a0,b0),(a1,b1),..)

    Args:
        layouts: Layouts of the same rank, or one Layout whose modes have the same rank.
    Returns: a Layout.
    Raises: LayoutError when the ranks differ.
    Source: CuTe C++ `zip`.

    Examples:
        >>> cute.zip_layouts(cute.parse("(4,2):(1,4)"), cute.parse("(3,5):(8,24)"))
        ((4,3),(2,5)):((1,8),(4,24))
    """

def zipped_divide(target: LayoutLike, tiler: TilerLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The division with all tile modes in mode 0 and all rest modes in mode 1.

        logical_divide regrouped: ((t0,t1,..),(r0,r1,..,l,..))

    Args:
        target: a Layout, ComposedLayout or Tensor.
        tiler: as for logical_divide; a mode with None must be a pair (tile, rest) already.
    Returns: an object of the same kind; R(None, (i, j)) is the tile at (i, j).
    Raises: as logical_divide.
    Source: CuTe `zipped_divide`.

    Examples:
        >>> cute.zipped_divide(cute.parse("(4,6):(1,4)"), (2, 3))
        ((2,3),(2,2)):((1,4),(2,12))
        >>> cute.zipped_divide(cute.parse("(10,6):(1,10)"), (4, 4))
        ((4,4),(3,2)):((1,10),(4,40))
    """

def zipped_product(block: LayoutLike, tiler: TilerLike, *, loc: typing.Any = None, ip: typing.Any = None) -> typing.Any:
    """
    The product with all block modes in mode 0 and all tiler modes in mode 1.

        logical_product regrouped: ((b0,b1,..),(t0,t1,..))

    Args:
        block: a Layout, ComposedLayout or Tensor.
        tiler: as for logical_product; a mode with None must be a pair already.
    Returns: an object of the same kind.
    Raises: as logical_product.
    Source: CuTe `zipped_product`.

    Examples:
        >>> cute.zipped_product(cute.parse("(2,5):(5,1)"), cute.parse("(3,4):(1,3)"))
        ((2,5),(3,4)):((5,1),(10,30))
    """

__version__: str = "0.1.0"
