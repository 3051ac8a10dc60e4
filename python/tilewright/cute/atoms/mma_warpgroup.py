"""Matrix multiply operations of a warpgroup: wgmma, 64 rows by 128 threads."""

from __future__ import annotations

from enum import Enum
from typing import Any

from tilewright.cute.atoms.mma_ops import MmaOp, Type
from tilewright.cute.atoms.mma_traits import MMA_TRAITS
from tilewright.cute.int_tuple import text
from tilewright.numeric import BFloat16, Float32, TFloat32

__all__ = [
    "MmaF8Op",
    "MmaF16BF16Op",
    "MmaI8Op",
    "MmaTF32Op",
    "OperandMajorMode",
    "OperandSource",
    "WarpgroupMmaOp",
]


class OperandSource(Enum):
    """Where the instruction reads A from.

    >>> OperandSource.RMEM.value
    'rmem'
    """

    RMEM = "rmem"
    SMEM = "smem"


class OperandMajorMode(Enum):
    """The mode along which an operand in shared memory lies side by side: K, or else M of A and N of B.

    >>> OperandMajorMode.MN.value
    'mn'
    """

    MN = "mn"
    K = "k"


class WarpgroupMmaOp(MmaOp):
    """wgmma of one kind; B, and A unless it is in registers, are read from shared memory by the instruction itself.

    Raises ValueError for a shape that the instruction does not have, and for MN-major operands that are in registers or
    not of 16 bits.
    """

    __slots__ = ("a_major_mode", "a_src", "b_major_mode")
    a_src: OperandSource
    a_major_mode: OperandMajorMode
    b_major_mode: OperandMajorMode

    def _make_from(
        self,
        kind: str,
        types: tuple[Any, ...],
        a: Type,
        b: Type,
        acc: Type,
        shape: Any,
        a_src: Any,
        a_major: Any,
        b_major: Any,
    ) -> None:
        name = f"warpgroup.{type(self).__name__}"
        _member(name, "a_src", a_src, OperandSource)
        _member(name, "a_major_mode", a_major, OperandMajorMode)
        _member(name, "b_major_mode", b_major, OperandMajorMode)
        row = f"wgmma.{kind}.{'ss' if a_src is OperandSource.SMEM else 'rs'}"
        n = _n_extent(name, row, shape)
        for field, value in (("a_src", a_src), ("a_major_mode", a_major), ("b_major_mode", b_major)):
            object.__setattr__(self, field, value)
        self._make((*types, tuple(shape), a_src, a_major, b_major), row, a, b, acc, n)
        if a_src is OperandSource.RMEM and a_major is OperandMajorMode.MN:
            raise ValueError(f"{name}: A in registers is K-major; only operands in shared memory may be MN-major")
        for operand, major in (("A", a_major), ("B", b_major)):
            if major is OperandMajorMode.MN and a.bits != 16:
                raise ValueError(
                    f"{name}: {operand} of {a} has to be K-major in shared memory; only elements of 16 bits may be "
                    "MN-major"
                )


def _member(op: str, argument: str, value: Any, kind: type[Enum]) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{op}: expected {argument} to be one of {', '.join(map(str, kind))}, but got {value!r}")


def _n_extent(op: str, row: str, shape: Any) -> int:
    traits = MMA_TRAITS[row]
    m, _, k = traits.shape_mnk
    fits = isinstance(shape, (tuple, list)) and len(shape) == 3 and shape[0] == m and shape[2] == k
    if not fits or shape[1] not in traits.n_extents:
        extents = traits.n_extents
        regular = extents == tuple(range(8, 257, 8))
        wanted = "a multiple of 8 from 8 to 256" if regular else f"one of {', '.join(map(str, extents))}"
        raise ValueError(
            f"{op}: the shape (M,N,K) is {text(shape)}, but the instruction has ({m},N,{k}), where N is {wanted}"
        )
    return int(shape[1])


class MmaF16BF16Op(WarpgroupMmaOp):
    """wgmma of Float16 or BFloat16, K = 16; BFloat16 is accumulated in Float32.

    >>> from tilewright import Float16, Float32
    >>> K = OperandMajorMode.K
    >>> MmaF16BF16Op(Float16, Float32, (64, 128, 16), OperandSource.SMEM, K, K).instruction
    'wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16'
    """

    __slots__ = ()

    def __init__(
        self,
        ab_dtype: Type,
        acc_dtype: Type,
        instruction_shape: tuple[int, int, int],
        a_src: OperandSource,
        a_major_mode: OperandMajorMode,
        b_major_mode: OperandMajorMode,
    ) -> None:
        kind = "k16.bf16" if ab_dtype is BFloat16 else "k16.f16"
        types = (ab_dtype, acc_dtype)
        self._make_from(
            kind, types, ab_dtype, ab_dtype, acc_dtype, instruction_shape, a_src, a_major_mode, b_major_mode
        )


class MmaTF32Op(WarpgroupMmaOp):
    """wgmma of TFloat32, K = 8: of a Float32 it reads the upper 19 bits.

    >>> MmaTF32Op((64, 64, 8), OperandSource.RMEM).instruction
    'wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32'
    """

    __slots__ = ()

    def __init__(
        self,
        instruction_shape: tuple[int, int, int],
        a_src: OperandSource,
        a_major_mode: OperandMajorMode = OperandMajorMode.K,
        b_major_mode: OperandMajorMode = OperandMajorMode.K,
    ) -> None:
        self._make_from(
            "k8.tf32", (), TFloat32, TFloat32, Float32, instruction_shape, a_src, a_major_mode, b_major_mode
        )


class MmaF8Op(WarpgroupMmaOp):
    """wgmma of Float8E4M3FN or Float8E5M2, one for A and one for B, K = 32.

    >>> from tilewright import Float8E4M3FN, Float8E5M2, Float32
    >>> K = OperandMajorMode.K
    >>> MmaF8Op(Float8E4M3FN, Float8E5M2, Float32, (64, 128, 32), OperandSource.SMEM, K, K).instruction
    'wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e5m2'
    """

    __slots__ = ()

    def __init__(
        self,
        a_dtype: Type,
        b_dtype: Type,
        acc_dtype: Type,
        instruction_shape: tuple[int, int, int],
        a_src: OperandSource,
        a_major_mode: OperandMajorMode = OperandMajorMode.K,
        b_major_mode: OperandMajorMode = OperandMajorMode.K,
    ) -> None:
        types = (a_dtype, b_dtype, acc_dtype)
        self._make_from("k32.f8", types, *types, instruction_shape, a_src, a_major_mode, b_major_mode)


class MmaI8Op(WarpgroupMmaOp):
    """wgmma of Int8 or Uint8, one for A and one for B, into Int32, K = 32. Wraps around.

    >>> from tilewright import Int8, Int32, Uint8
    >>> MmaI8Op(Int8, Uint8, Int32, (64, 96, 32), OperandSource.SMEM).instruction
    'wgmma.mma_async.sync.aligned.m64n96k32.s32.s8.u8'
    """

    __slots__ = ()

    def __init__(
        self,
        a_dtype: Type,
        b_dtype: Type,
        acc_dtype: Type,
        instruction_shape: tuple[int, int, int],
        a_src: OperandSource,
        a_major_mode: OperandMajorMode = OperandMajorMode.K,
        b_major_mode: OperandMajorMode = OperandMajorMode.K,
    ) -> None:
        types = (a_dtype, b_dtype, acc_dtype)
        self._make_from("k32.i8", types, *types, instruction_shape, a_src, a_major_mode, b_major_mode)
