"""A and B of gemm_sm90 in shared memory, as TMA writes and wgmma reads them.

The numbers that the kernel needs of a layout there (boxes, distances, the fields of descriptors) are found here, and a
layout that TMA does not write is refused.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.device_types import numeric_type

if TYPE_CHECKING:
    from tilewright.numeric import Numeric

SPAN = 128  # bytes of a row of a box: the swizzle's span
ATOM_ROWS = 64  # of wgmma
BOX_ROWS = 256  # that TMA brings at most


class SharedOperand(NamedTuple):
    """A layout (rows, bK, stages) of A or B in shared memory, as TMA and wgmma see it. Bytes.

    A stage consists of `boxes`, one behind the other, which TMA writes, each in `parts` along K; for wgmma 64 rows are
    `block_bytes` from the next 64, K elements of an instruction `step_bytes` from the next, and descriptors have
    `leading` and `stride`.
    """

    k_major: bool
    rows: int
    box: tuple[int, int]  # extents in elements of what TMA brings at once: contiguous mode, other mode
    boxes: int
    parts: int
    box_bytes: int
    block_bytes: int
    step_bytes: int
    leading: int
    stride: int

    @property
    def stage_bytes(self) -> int:
        return self.boxes * self.box_bytes

    def last_box(self, rows: int) -> tuple[int, int]:
        """The box of the last tile of a tensor with so many rows: those inside, in eights or all of them.

        >>> from tilewright import BFloat16
        >>> shared_operand(smem_layout(BFloat16, 128, 64, 4, True), BFloat16, 128, 64, True, 2).last_box(257)
        (64, 8)
        """
        if not self.k_major:
            return self.box
        return self.box[0], min(8 * -(-self._last(rows) // (8 * self.boxes)), self.box[1])

    def _last(self, rows: int) -> int:
        """The rows of the last tile that are inside."""
        return (rows - 1) % self.rows + 1

    def is_ragged(self, rows: int, beside: int) -> bool:
        """Whether tiles reach so far over the end that boxes are smaller or fewer there.

        `beside`: tiles of a cluster, of which some may have nothing inside.
        """
        if self.k_major:
            is_smaller = self.last_box(rows) != self.box
        else:
            is_smaller = self._last(rows) <= self.rows - self.rows // self.boxes
        return is_smaller or -(-rows // self.rows) % beside != 0

    def brought(self, rows: int, tiles: int, ragged: bool) -> list[tuple[int, int]]:
        """How many boxes of how many bytes are brought of all of `tiles` for one step along K."""
        if not ragged:
            return [(tiles * self.boxes * self.parts, self.box_bytes // self.parts)]
        whole = -(-rows // self.rows) - 1
        last = self.boxes if self.k_major else -(-self._last(rows) // (self.rows // self.boxes))
        each = self.box_bytes // self.parts
        return [(whole * self.boxes * self.parts, each), (last * self.parts, self.last_box(rows)[1] * SPAN)]

    def device_type(self, dtype: type[Numeric], ragged: bool) -> str:
        """The type that kernels/tilewright/sm90_operand.cuh has for it."""
        numbers = (self.rows, self.boxes, self.box_bytes, self.block_bytes, self.step_bytes, self.leading, self.stride)
        flags = f"1, {str(ragged).lower()}" if ragged or self.parts > 1 else "1"
        flags += f", {self.parts}" * (self.parts > 1)
        return (
            f"Sm90Operand<{numeric_type(dtype)}, {str(self.k_major).lower()}, {', '.join(map(str, numbers))}, {flags}>"
        )


def shares_boxes(rows: int, unit: int, sharers: int) -> bool:
    """Whether boxes along M or N, each of `unit` rows and of K, are work for `sharers` CTAs: whole ones, or parts.

    A part has whole groups of eight rows of 128 bytes, after which the swizzle begins anew.

    >>> [shares_boxes(64, 64, sharers) for sharers in (1, 2, 3, 4, 8)], shares_boxes(192, 64, 3)
    ([True, True, False, True, True], True)
    """
    return rows // unit % sharers == 0 or unit % (8 * sharers) == 0


@functools.lru_cache(maxsize=1024)
def smem_layout(dtype: type[Numeric], rows: int, bK: int, stages: int, k_major: bool) -> Any:
    """(rows, bK, stages): rows of 128 bytes, swizzled, along K or along M or N.

    >>> from tilewright import Float16
    >>> smem_layout(Float16, 128, 64, 4, True)
    S<3,3,3> o 0 o ((8,16),(64,1),(1,4)):((64,512),(1,0),(0,8192))
    """
    from tilewright.cute.atoms.smem_layout import SmemLayoutAtomKind, make_smem_layout_atom

    kind = SmemLayoutAtomKind.K_SW128 if k_major else SmemLayoutAtomKind.MN_SW128
    # MN-major: a box has all of K, so K goes before the rows.
    return _core.tile_to_shape(
        make_smem_layout_atom(kind, dtype), (rows, bK, stages), (0, 1, 2) if k_major else (1, 0, 2)
    )


@functools.lru_cache(maxsize=1024)
def shared_operand(layout: Any, dtype: type[Numeric], rows: int, bK: int, k_major: bool, sharers: int) -> SharedOperand:
    """What a layout in shared memory is for TMA and wgmma, where `sharers` CTAs bring a tile together.

    LayoutError where it is not what TMA writes; the first element that lies elsewhere is named.
    """
    import numpy as np

    from tilewright.cute.atoms.wgmma_layout import tma_offsets

    extents = tuple(int(_core.size(layout, mode=[mode])) for mode in range(_core.rank(layout.shape)))
    if len(extents) != 3 or extents[:2] != (rows, bK):
        raise LayoutError(
            f"gemm_sm90: {layout} in shared memory has the extents {text(extents)}, but a tile and the stages are "
            f"({rows},{bK},stages); use make_smem_layout_atom and tile_to_shape"
        )
    size = dtype.bits // 8
    inner = SPAN // size
    boxes = sharers * -(-rows // (sharers * BOX_ROWS)) if k_major else rows // inner
    parts = 1 if boxes % sharers == 0 else sharers
    if k_major:
        box = (inner, rows // boxes)
        block, step, leading, stride = ATOM_ROWS * SPAN, 32, 16, 8 * SPAN
    else:
        box = (inner, bK // parts)
        leading = bK * SPAN
        block = ATOM_ROWS // inner * leading
        step, stride = 16 * SPAN, 8 * SPAN
    operand = SharedOperand(k_major, rows, box, boxes, parts, box[1] * parts * SPAN, block, step, leading, stride)
    written = tma_offsets(inner, boxes * box[1] * parts, size, SPAN)
    offsets = written if k_major else written.reshape(boxes, bK, inner).transpose(0, 2, 1).reshape(rows, bK)
    found = np.asarray(layout.offsets())
    stages = len(found) // (rows * bK)
    found = found.reshape(rows, bK, stages, order="F")
    expected = offsets[:, :, None] + rows * bK * np.arange(stages)
    if (found != expected).any():
        row, k, stage = (int(i) for i in np.argwhere(found != expected)[0])
        error = LayoutError(
            f"gemm_sm90: in shared memory as {layout} element ({row},{k}) of stage {stage} lies at "
            f"{found[row, k, stage]}, but TMA puts it at {expected[row, k, stage]}; use make_smem_layout_atom with "
            f"{'K_SW128' if k_major else 'MN_SW128'} and tile_to_shape"
        )
        error.counterexample = (row, k, stage)
        raise error
    return operand


def majors_of(op: Any) -> tuple[bool, bool]:
    """Whether A and B lie along K in shared memory, for an operation of wgmma; A for registers does not."""
    from tilewright.cute.atoms.mma_warpgroup import OperandMajorMode, OperandSource

    in_shared = op.a_src is OperandSource.SMEM
    return in_shared and op.a_major_mode is OperandMajorMode.K, op.b_major_mode is OperandMajorMode.K
