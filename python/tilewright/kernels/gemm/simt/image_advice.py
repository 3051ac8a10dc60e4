"""The image of sums in shared memory by which gemm_simt writes C: the padding under which it conflicts the least."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.analysis.access import warp_accesses
from tilewright.kernels.analyze.occupancy import occupancy
from tilewright.kernels.gemm.accesses import by_warps, exists, kept_of
from tilewright.kernels.gemm.simt.accesses import taken_together

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from tilewright.kernels.gemm.simt.plan import GemmSimt

    Integers = npt.NDArray[np.int64]

__all__ = ["best_image"]

ROW_OF_BANKS = 128  # bytes, after which paddings repeat


class ImageChoice(NamedTuple):
    """A layout of the sums, and the wavefronts of writing and reading a whole tile; `before`: those of the plan's."""

    layout: _core.Layout
    wavefronts: int
    before: int


def best_image(plan: GemmSimt) -> ImageChoice | None:
    """The padded image of the fewest wavefronts, of those with which as many CTAs fit a multiprocessor.

    None where no image takes fewer than the plan's.

    >>> from tilewright import Float32, cute
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> plan = choose(problem_of(64, 64, 512, Float32), (16, 16, 16))
    >>> best_image(plan)  # rows of 16 columns are padded by 4 already
    >>> best = best_image(plan.replace(smem_c=cute.parse("(32,16,8):(16,1,512)")))
    >>> print(best.layout, best.wavefronts, best.before)
    (32,16,8):(20,1,640) 512 640
    """
    before = _wavefronts(plan, [plan.smem_c])[0]
    choices = list(_images(plan))
    ranked = sorted(
        zip(_wavefronts(plan, choices), choices, strict=True), key=lambda x: (x[0], int(_core.cosize(x[1])))
    )
    room = _room(plan)
    for wavefronts, layout in ranked:
        if wavefronts >= before:
            return None
        try:
            if _room(plan.replace(smem_c=layout)) >= room:
                return ImageChoice(layout, wavefronts, before)
        except LayoutError:  # neighbouring sums would not be aligned
            continue
    return None


def _room(plan: GemmSimt) -> int:
    return occupancy(plan).limits["shared memory"]


def _images(plan: GemmSimt) -> Iterator[Any]:
    """Columns next to each other, and rows some elements further from each other than they must be."""
    from tilewright.kernels.gemm.simt.layouts import ACCESS, neighbours

    (rows, columns), size = plan.tiler_mnk[:2], int(plan.problem.acc_type.bits) // 8
    for more in range(0, ROW_OF_BANKS // size, neighbours(plan.columns, ACCESS // size)):
        pitch = columns + more
        yield _core.make_layout((rows, columns, plan.sliced_k), stride=(pitch, 1, pitch * rows))


def _wavefronts(plan: GemmSimt, images: list[Any]) -> list[int]:
    """Those of each image: all threads write their sums, and read what they write to C, of a tile inside of it."""
    from tilewright.kernels.gemm.simt.layouts import ACCESS, neighbours

    tables, size = kept_of(plan).tables, int(plan.problem.acc_type.bits) // 8
    strides = np.array([image.stride for image in images], np.int64)
    width = neighbours(plan.columns, ACCESS // size)
    sums = tables.mma.c_coord.reshape(len(tables.mma.c_coord), -1, 2)[:, ::width]
    slice_of = np.broadcast_to(tables.mma.thread[:, None, 3:4], (*sums.shape[:2], 1))
    total = _cost("store", width * size, np.concatenate([sums, slice_of], axis=2), strides * size)
    together = np.array([taken_together(plan, image) for image in images])
    for part in set(together.tolist()):
        step = np.arange(0, plan.out_vector, part)
        along = np.zeros((len(step), 2), np.int64)
        along[:, plan.out_mode] = step
        taken = (tables.store.coord[:, :, None] + along).reshape(len(tables.store.coord), -1, 2)
        for k in range(plan.sliced_k):
            places = np.concatenate([taken, np.full((*taken.shape[:2], 1), k)], axis=2)
            of_part = together == part
            total[of_part] += _cost("load", part * size, places, strides[of_part] * size)
    found: list[int] = total.tolist()
    return found


def _cost(op: str, width: int, coordinates: Integers, strides: Integers) -> Integers:
    """Wavefronts of accesses (threads, accesses) at coordinates (row, column, slice), under each of some strides."""
    lanes = np.stack([by_warps(coordinates[..., mode]) for mode in range(3)], axis=-1)
    made = exists(*coordinates.shape[:2])
    addresses = np.moveaxis(lanes @ strides.T, -1, 0)  # (images, requests, lanes)
    found = warp_accesses(np.ascontiguousarray(addresses), width, memory="shared", op=op, active=made)
    total: Integers = found.wavefronts.sum(axis=1)
    return total
