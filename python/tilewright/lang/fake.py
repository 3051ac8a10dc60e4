"""Arguments to compile with where there is no data yet: fake tensors and streams, and extents known at calls only.

n = cute.sym_int(divisibility=8)
x = cute.runtime.make_fake_compact_tensor(cutlass.Float32, (n, 128), stride_order=(1, 0), assumed_align=16)
compiled = cute.compile(launch, x)      # needs no GPU
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._boundary import integer
from tilewright.cute.tensors.pointer import AddressSpace, Pointer, require_alignment
from tilewright.cute.tensors.tensor import Tensor
from tilewright.numeric import Int32, Int64, Numeric
from tilewright.numeric.base import require_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "FakeStream",
    "SymInt",
    "make_fake_compact_tensor",
    "make_fake_stream",
    "make_fake_tensor",
    "sym_int",
    "sym_int32",
    "sym_int64",
]


class SymInt:
    """An integer that calls say: its width, and a number that divides it.

    Raises as sym_int. Source: CuTeDSL `cute.SymInt`.

    >>> SymInt(64, 8)
    SymInt(64 bits, divisibility 8)
    """

    def __init__(self, width: int = 32, divisibility: int = 1) -> None:
        self.width, self.divisibility = _checked("SymInt", width, divisibility)

    def __repr__(self) -> str:
        return f"SymInt({self.width} bits, divisibility {self.divisibility})"

    def leaf(self) -> Int32 | Int64:
        """A dynamic leaf of a layout with what is known of it; its value stands for any."""
        return (Int32 if self.width == 32 else Int64)._make(self.divisibility, self.divisibility)


def _checked(function: str, width: Any, divisibility: Any) -> tuple[int, int]:
    """Both as integers of Python; ValueError in the name of the function that was called."""
    bits, number = integer(width), integer(divisibility)
    if bits not in (32, 64):
        raise ValueError(f"{function}: width is {width!r}; expected 32 or 64")
    most = (1 << bits - 1) - 1
    if number is None or not 1 <= number <= most:
        raise ValueError(
            f"{function}: divisibility is {divisibility!r}; expected an integer of at least 1, up to {most}"
        )
    return bits, number


def sym_int(width: int = 32, *, divisibility: int = 1) -> SymInt:
    """An extent or stride that calls say, of 32 bits unless `width` is 64, a multiple of `divisibility`.

    Raises ValueError for a width other than 32 and 64, and for a divisibility that is no integer of at least 1 or does
    not fit into the width. Source: CuTeDSL `cute.sym_int`.

    >>> sym_int(divisibility=8)
    SymInt(32 bits, divisibility 8)
    """
    return SymInt(*_checked("sym_int", width, divisibility))


def sym_int32(divisibility: int = 1) -> SymInt:
    """An extent or stride of 32 bits that calls say.

    Raises as sym_int. Source: CuTeDSL `cute.sym_int32`.

    >>> sym_int32()
    SymInt(32 bits, divisibility 1)
    """
    return SymInt(*_checked("sym_int32", 32, divisibility))


def sym_int64(divisibility: int = 1) -> SymInt:
    """An extent or stride of 64 bits that calls say.

    Raises as sym_int. Source: CuTeDSL `cute.sym_int64`.

    >>> sym_int64()
    SymInt(64 bits, divisibility 1)
    """
    return SymInt(*_checked("sym_int64", 64, divisibility))


class FakeStream:
    """Stands for a stream that calls say."""


def make_fake_stream(*, use_tvm_ffi_env_stream: bool = False) -> FakeStream:
    """A stream to compile with; calls run on the current one, or on the one that they pass."""
    return FakeStream()


def _leaves(tree: Any) -> Any:
    if isinstance(tree, (tuple, list)):
        return tuple(map(_leaves, tree))
    return tree.leaf() if isinstance(tree, SymInt) else tree


def make_fake_tensor(
    dtype: type[Numeric],
    shape: Sequence[Any],
    stride: Sequence[Any],
    *,
    memspace: AddressSpace = AddressSpace.gmem,
    assumed_align: int | None = None,
) -> Tensor:
    """A tensor to compile with: static integers of its shape and stride are fixed, SymInts are those of each call.

    >>> from tilewright import Float32
    >>> print(make_fake_tensor(Float32, (sym_int(), 8), (8, 1), assumed_align=16))
    tensor<ptr<f32, gmem, align<16>> o (?,8):(8,1)>
    """
    require_dtype("make_fake_tensor", dtype)
    alignment = max(dtype.bits // 8, 1) if assumed_align is None else assumed_align
    require_alignment("make_fake_tensor", alignment)
    layout = _core.make_layout(_leaves(shape), stride=_leaves(stride))
    return Tensor(Pointer(dtype, 0, memspace, alignment), layout)


def make_fake_compact_tensor(
    dtype: type[Numeric],
    shape: Sequence[Any],
    *,
    stride_order: Sequence[int] | None = None,
    memspace: AddressSpace = AddressSpace.gmem,
    assumed_align: int | None = None,
    use_32bit_stride: bool = False,
) -> Tensor:
    """A compact tensor to compile with; stride_order has 0 for the innermost mode, and is column-major by default.

    >>> from tilewright import Float32
    >>> print(make_fake_compact_tensor(Float32, (sym_int(), sym_int(divisibility=4)), stride_order=(1, 0)))
    tensor<ptr<f32, gmem> o (?,?{div=4}):(?{i64 div=4},1)>
    """
    extents = _leaves(shape)
    order = tuple(range(len(extents))) if stride_order is None else tuple(stride_order)
    if sorted(order) != list(range(len(extents))):
        raise ValueError(f"make_fake_compact_tensor: stride_order {order} must name 0 to {len(extents) - 1} once each")
    strides: list[Any] = [1] * len(extents)
    size: Any = 1
    for mode in sorted(range(len(extents)), key=lambda i: order[i]):
        strides[mode] = size
        size = size * extents[mode]
        if isinstance(size, Int32) and not use_32bit_stride:
            size = Int64._make(int(size), size._div)
    return make_fake_tensor(dtype, extents, strides, memspace=memspace, assumed_align=assumed_align)
