"""What kernels by wgmma choose alike, as `cutlass.utils.hopper_helpers`: operations, layouts, epilogues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright._core import size, tile_to_shape
from tilewright.cute.atoms.copy_atom import make_copy_atom
from tilewright.cute.atoms.copy_ops import CopyUniversalOp, StMatrix8x8x16bOp
from tilewright.cute.atoms.mma_warpgroup import (
    MmaF8Op,
    MmaF16BF16Op,
    MmaI8Op,
    MmaTF32Op,
    OperandMajorMode,
    OperandSource,
)
from tilewright.cute.atoms.smem_layout import SmemLayoutAtomKind, make_smem_layout_atom
from tilewright.cute.tiled.make_tiled_mma import make_tiled_mma
from tilewright.numeric import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Int8, TFloat32, Uint8

if TYPE_CHECKING:
    from tilewright._typing import AnyLayout
    from tilewright.cute.atoms.copy_atom import CopyAtom
    from tilewright.cute.tiled.tiled_mma import TiledMma
    from tilewright.numeric import Numeric
    from tilewright.utils import LayoutEnum

__all__ = [
    "compute_tile_shape_or_override",
    "get_smem_layout_atom",
    "make_smem_layout_a",
    "make_smem_layout_b",
    "make_smem_layout_epi",
    "make_trivial_tiled_mma",
    "sm90_get_smem_store_op",
]

Type = type["Numeric"]
_SPANS = (128, 64, 32)  # bytes of the swizzles, the widest first


def make_trivial_tiled_mma(
    a_dtype: Type,
    b_dtype: Type,
    a_leading_mode: OperandMajorMode,
    b_leading_mode: OperandMajorMode,
    acc_dtype: Type,
    atom_layout_mnk: Any,
    tiler_mn: tuple[int, int],
    a_source: OperandSource = OperandSource.SMEM,
    *,
    loc: object = None,
    ip: object = None,
) -> TiledMma:
    """wgmma of the element types as a TiledMma, each instruction 64 rows by `tiler_mn[1]` columns.

    Raises TypeError for types that no wgmma has. Source: CuTeDSL `utils.hopper_helpers.make_trivial_tiled_mma`.

    >>> K = OperandMajorMode.K
    >>> make_trivial_tiled_mma(Float16, Float16, K, K, Float32, (2, 1, 1), (64, 128)).get_tile_size(0)
    128
    """
    n = tiler_mn[1]
    op: Any
    if a_dtype in (Float16, BFloat16) and a_dtype is b_dtype:
        op = MmaF16BF16Op(a_dtype, acc_dtype, (64, n, 16), a_source, a_leading_mode, b_leading_mode)
    elif a_dtype in (Float32, TFloat32) and a_dtype is b_dtype:
        op = MmaTF32Op((64, n, 8), a_source, a_leading_mode, b_leading_mode)
    elif {a_dtype, b_dtype} <= {Float8E4M3FN, Float8E5M2}:
        op = MmaF8Op(a_dtype, b_dtype, acc_dtype, (64, n, 32), a_source, a_leading_mode, b_leading_mode)
    elif {a_dtype, b_dtype} <= {Int8, Uint8}:
        op = MmaI8Op(a_dtype, b_dtype, acc_dtype, (64, n, 32), a_source, a_leading_mode, b_leading_mode)
    else:
        raise TypeError(f"make_trivial_tiled_mma: no wgmma multiplies {a_dtype} by {b_dtype}; convert one of them")
    return make_tiled_mma(op, atom_layout_mnk)


def get_smem_layout_atom(
    layout: LayoutEnum, element_type: Type, major_mode_size: int, *, loc: object = None, ip: object = None
) -> SmemLayoutAtomKind:
    """The widest kind of atom whose span divides the tile's contiguous mode, of so many elements.

    Source: CuTeDSL `utils.hopper_helpers.get_smem_layout_atom`.

    >>> from tilewright.utils import LayoutEnum
    >>> get_smem_layout_atom(LayoutEnum.ROW_MAJOR, Float16, 32)
    <SmemLayoutAtomKind.K_SW64: ('k', 2)>
    """
    size = major_mode_size * element_type.bits // 8
    major = "MN" if layout.value == "col_major" else "K"
    span = next((span for span in _SPANS if size % span == 0), None)
    return SmemLayoutAtomKind[f"{major}_INTER" if span is None else f"{major}_SW{span}"]


def _stages(layout: LayoutEnum, element_type: Type, shape: tuple[int, int], stages: int, order: Any) -> AnyLayout:
    """Tiles (rows, columns) of a matrix, stage after stage."""
    is_along_rows = layout.value == "col_major"
    kind = get_smem_layout_atom(layout, element_type, shape[0] if is_along_rows else shape[1])
    order = order or ((1, 0, 2) if is_along_rows else (0, 1, 2))
    staged: AnyLayout = tile_to_shape(make_smem_layout_atom(kind, element_type), (*shape, stages), order)
    return staged


def make_smem_layout_a(
    a_layout: LayoutEnum,
    mma_tiler_mnk: tuple[int, int, int],
    a_dtype: Type,
    num_stages: int,
    *,
    loc: object = None,
    ip: object = None,
) -> AnyLayout:
    """Stages of tiles of A in shared memory, (M,K,stages), as wgmma and TMA take them.

    Source: CuTeDSL `utils.hopper_helpers.make_smem_layout_a`.

    >>> from tilewright.utils import LayoutEnum
    >>> make_smem_layout_a(LayoutEnum.ROW_MAJOR, (128, 256, 64), Float16, 2)
    S<3,3,3> o 0 o ((8,16),(64,1),(1,2)):((64,512),(1,0),(0,8192))
    """
    return _stages(a_layout, a_dtype, (mma_tiler_mnk[0], mma_tiler_mnk[2]), num_stages, None)


def make_smem_layout_b(
    b_layout: LayoutEnum,
    mma_tiler_mnk: tuple[int, int, int],
    b_dtype: Type,
    num_stages: int,
    *,
    loc: object = None,
    ip: object = None,
) -> AnyLayout:
    """The same of B, (N,K,stages)."""
    return _stages(b_layout, b_dtype, (mma_tiler_mnk[1], mma_tiler_mnk[2]), num_stages, None)


def make_smem_layout_epi(
    epi_dtype: Type,
    epi_layout: LayoutEnum,
    epi_tile: Any,
    epi_stage: int,
    smem_trg_shape: Any = None,
    smem_order: Any = None,
    *,
    loc: object = None,
    ip: object = None,
) -> AnyLayout:
    """Stages of an epilogue's tiles of C, (M,N,stages).

    Source: CuTeDSL `utils.hopper_helpers.make_smem_layout_epi`.
    """
    shape = tuple(size(extent) for extent in epi_tile)
    kind = get_smem_layout_atom(epi_layout, epi_dtype, shape[0] if epi_layout.is_m_major_c() else shape[1])
    order = smem_order or ((1, 0, 2) if epi_layout.is_m_major_c() else (0, 1, 2))
    target = smem_trg_shape or (*shape, epi_stage)
    staged: AnyLayout = tile_to_shape(make_smem_layout_atom(kind, epi_dtype), target, order)
    return staged


def sm90_get_smem_store_op(
    layout_d: LayoutEnum, elem_ty_d: Type, elem_ty_acc: Type, *, loc: object = None, ip: object = None
) -> CopyAtom:
    """What brings an epilogue's registers to shared memory: stmatrix for elements of 16 bits, else plain stores.

    Source: CuTeDSL `utils.hopper_helpers.sm90_get_smem_store_op`.

    >>> from tilewright.utils import LayoutEnum
    >>> print(sm90_get_smem_store_op(LayoutEnum.ROW_MAJOR, Float16, Float32).op)
    StMatrix8x8x16bOp(transpose=False, num_matrices=4)
    """
    if elem_ty_d.bits == 16:
        return make_copy_atom(StMatrix8x8x16bOp(layout_d.is_m_major_c(), 4), elem_ty_d)
    return make_copy_atom(CopyUniversalOp(), elem_ty_d)


def compute_tile_shape_or_override(
    tile_shape_mnk: tuple[int, int, int],
    element_type: Type,
    is_cooperative: bool = False,
    epi_tile_override: tuple[int, int] | None = None,
    *,
    loc: object = None,
    ip: object = None,
) -> tuple[int, int]:
    """The part of a tile of C that an epilogue stores at a time: all rows of the warpgroups, some columns.

    Source: CuTeDSL `utils.hopper_helpers.compute_tile_shape_or_override`.

    >>> compute_tile_shape_or_override((256, 128, 64), Float16, is_cooperative=True)
    (128, 32)
    """
    if epi_tile_override is not None:
        return epi_tile_override
    m, n, _ = tile_shape_mnk
    if is_cooperative:
        return min(128, m), min(32, n)
    return min(64, m), min(64 if element_type.bits == 8 else 32, n)
