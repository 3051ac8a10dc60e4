"""A and B in a plan of gemm_sm80: from global to shared memory, and from there into registers."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright._cached import cached_property
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.device_types import device_type, numeric_type
from tilewright.kernels.gemm.sm80.fragments import contiguous_mode, fragment_copy, modes_of, value_coordinates

if TYPE_CHECKING:
    from tilewright.kernels.gemm.sm80.fragments import FragmentCopy

MOST_SHARED = 1 << 20  # bytes; beyond them it is of no use to look at every element


class Side:
    """A or B in a plan; its tile has the modes (rows, k)."""

    def __init__(
        self, operand: str, tile: tuple[int, int], rows: int, dtype: Any, strides: tuple[int, ...], tiled_copy: Any,
        smem: Any, mma: Any,
    ) -> None:  # fmt: skip
        self.operand, self.tile, self.rows, self.dtype, self.strides = operand, tile, rows, dtype, strides
        self.tiled_copy, self.smem, self.mma = tiled_copy, smem, mma
        self.bits = int(dtype.bits)
        self.is_async = tiled_copy.op.instruction.startswith("cp.async")
        self.vector = int(_core.size(tiled_copy.layout_src_tv, mode=[1]))

    @cached_property
    def load_tv(self) -> Any:
        """(thread, value) to (row, k), the values of one access first."""
        thread, values, rest = self.tiled_copy.tidfrg_S(_core.make_identity_layout(self.tile))
        return _core.make_layout([thread, _core.coalesce(_core.make_layout([values, rest]))])

    @property
    def mode(self) -> int:
        """The mode along which the elements of an access lie: 0 rows, 1 k."""
        if self.vector > 1:
            return 0 if modes_of(self.load_tv[1])[0][1] else 1
        return 0 if self.strides[0] == 1 and self.strides[1] != 1 else 1

    @cached_property
    def fragment(self) -> FragmentCopy:
        """Shared memory to registers."""
        return fragment_copy(self.mma, self.operand, self.tile, self.smem, self.bits)

    @property
    def stage_elements(self) -> int:
        """Elements from one stage to the next."""
        return int(self.smem((0, 0, 1))) if int(_core.size(self.smem, mode=[2])) > 1 else int(_core.cosize(self.smem))

    @property
    def k_blocks(self) -> int:
        """Atoms of a step along K."""
        return int(_core.size(value_coordinates(self.mma, self.operand, self.tile), mode=[2]))

    def load_type(self) -> str:
        """The device type of the copy to shared memory."""
        threads, values = (int(_core.size(self.load_tv, mode=[mode])) for mode in (0, 1))
        return (
            f"TileLoad<{numeric_type(self.dtype)}, {device_type(self.smem)}, {device_type(self.load_tv)}, "
            f"{guard(threads, self.mma.size)}, {values // self.vector}, {self.vector}, {self.mode}, "
            f"{self.mode if self.strides[self.mode] == 1 else -1}, {flag(self.is_async)}, "
            f"{flag(self.rows % self.tile[0] != 0)}>"
        )

    def fragment_type(self) -> str:
        """The device type of the reads from shared memory."""
        return self.fragment.type(numeric_type(self.dtype), self.smem)

    def shown_access(self) -> str:
        """Text such as cp.async, 128 bits along k."""
        along = f" along {('m' if self.operand == 'A' else 'n', 'k')[self.mode]}" if self.vector > 1 else ""
        return f"{'cp.async' if self.is_async else 'through registers'}, {self.vector * self.bits} bits{along}"


def flag(value: bool) -> str:
    return str(bool(value)).lower()


def guard(threads: int, all_threads: int) -> int:
    """The template argument for a part of the threads: 0 where it is all of them."""
    return 0 if threads == all_threads else threads


def side_fits(side: Side, stages: int, threads: int) -> None:
    """LayoutError where an operand's layouts do not hold its tile."""
    _fits(side.operand, side.tile, side.dtype, side.tiled_copy, side.smem, side.mma, stages, threads)


@lru_cache(maxsize=256)  # the answer is the same for tensors of all sizes
def _fits(
    operand: str, tile: tuple[int, int], dtype: Any, tiled_copy: Any, smem: Any, mma: Any, stages: int, threads: int
) -> None:
    side = Side(operand, tile, 0, dtype, (0, 0), tiled_copy, smem, mma)
    name = side.operand.lower()
    shape = tuple(int(_core.size(side.smem, mode=[mode])) for mode in range(_core.rank(side.smem.shape)))
    if shape != (*side.tile, stages):
        raise LayoutError(
            f"GemmSm80: smem_{name} is {side.smem} with extents {text(shape)}, but a tile and the stages are "
            f"{text((*side.tile, stages))}"
        )
    size = math.prod(shape) * side.bits // 8
    if size > MOST_SHARED:
        raise LayoutError(
            f"GemmSm80: smem_{name} takes {size} bytes for {stages} tiles {text(side.tile)}, more shared memory than "
            "any device has; use fewer stages or a smaller tile"
        )
    if tiled_copy.value_type.bits != side.bits:
        raise TypeError(
            f"GemmSm80: tiled_copy_{name} copies {tiled_copy.value_type}, but {side.operand} has elements of {dtype}; "
            "use an atom of their size"
        )
    copied = int(_core.size(side.load_tv, mode=[0]))
    if copied > threads:
        raise LayoutError(
            f"GemmSm80: tiled_copy_{name} has {copied} threads, but the TiledMma has {threads}; use at most as many"
        )
    if side.is_async and side.vector * side.bits not in (32, 64, 128):
        raise LayoutError(
            f"GemmSm80: tiled_copy_{name} copies {side.vector * side.bits} bits at once, but cp.async has 32, 64 or 128"
        )
    image = side.smem.offsets()
    stage = math.prod(side.tile)
    span = 1
    if isinstance(side.smem, _core.ComposedLayout):
        inner = side.smem.inner
        span = 1 << (inner.num_bits + inner.num_base + abs(inner.num_shift))
    if len(np.unique(image)) != image.size or (stages > 1 and side.stage_elements % span):
        raise LayoutError(
            f"GemmSm80: smem_{name} = {side.smem} must give each element a place of its own, and stages that begin at "
            f"multiples of the swizzle's {span} elements"
        )
    together = contiguous_mode(side.smem, side.tile, 128 // side.vector)
    if side.vector > 1 and side.is_async and together != side.mode:
        raise LayoutError(
            f"GemmSm80: cp.async puts {side.vector} neighbours along mode {side.mode} next to each other, but "
            f"smem_{name} = {side.smem} does not keep them together; use a layout that is contiguous along that mode"
        )
    _require_separable(side, image[:stage])


def _require_separable(side: Side, image: Any) -> None:
    """LayoutError where the offset of a thread's value is not what the kernel makes of the thread's and the value's.

    It adds the value's part behind the swizzle, but for the bits that the swizzle reads or changes: see SharedTile in
    kernels/tilewright/tile_load.cuh.
    """
    swizzled = isinstance(side.smem, _core.ComposedLayout)
    outer, inner = (side.smem.outer, side.smem.inner) if swizzled else (side.smem, None)
    linear, image = (x.reshape(side.tile, order="F").astype(np.int64) for x in (_first_stage(outer, image), image))
    touched = _touched(inner)
    for what, thread, values in (
        (f"tiled_copy_{side.operand.lower()}", side.load_tv[0], side.load_tv[1]),
        ("the TiledMma", side.fragment.thread, side.fragment.access),
    ):
        first, steps = coordinates_of(thread), coordinates_of(values)
        both = first[:, None] + steps[None]
        if (both >= np.array(side.tile)).any():
            raise LayoutError(f"GemmSm80: {what} leads out of the tile {text(side.tile)}")
        added = linear[steps[:, 0], steps[:, 1]][None]
        offset = linear[first[:, 0], first[:, 1]][:, None] + (added & touched)
        if inner is not None:
            mask = ((1 << inner.num_bits) - 1) << inner.num_base
            shift = inner.num_shift
            offset ^= (offset >> shift) & mask if shift >= 0 else (offset & mask) << -shift
        if (offset + (added & ~touched) != image[both[..., 0], both[..., 1]]).any():
            raise LayoutError(
                f"GemmSm80: in smem_{side.operand.lower()} = {side.smem}, the offsets of the threads and of the values "
                f"of {what} do not add up; use extents that are powers of two"
            )


def _first_stage(layout: Any, like: Any) -> Any:
    return layout.offsets()[: len(like)]


def _touched(swizzle: Any) -> int:
    """The bits of an offset that a swizzle reads or changes."""
    if swizzle is None:
        return 0
    changed: int = ((1 << swizzle.num_bits) - 1) << swizzle.num_base
    read: int = changed << abs(swizzle.num_shift)
    return changed | read


def coordinates_of(layout: Any) -> Any:
    """(n, 2): the (row, k) of all coordinates of a layout."""
    flat = modes_of(layout)
    points = np.zeros((1, 2), np.int64)
    for extent, row, k in flat:
        points = (points[None] + np.arange(extent)[:, None, None] * np.array([row, k])).reshape(-1, 2)
    return points
