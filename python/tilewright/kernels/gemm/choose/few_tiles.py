"""Whether C has too few tiles to fill a device, so that K may be split: asked of every product of the tensor cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.problem import MAX_BATCH

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem

__all__ = ["SplitK", "has_few_tiles", "tiles_of"]


class SplitK(Section):
    """When K is split: SPLIT_K in a device's file says more."""

    SECTION: ClassVar[str] = "SPLIT_K"
    tile: int
    least_bytes: int
    most_parts: int
    gain: float
    launch: float
    share: float


def has_few_tiles(problem: GemmProblem, facts: DeviceFacts) -> bool:
    """Whether C has tiles for at most a third of a device, and K is long enough for two parts.

    >>> from tilewright import Float16
    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> [has_few_tiles(problem_of(m, m, k, Float16), H200) for m, k in ((256, 8192), (4096, 8192), (256, 256))]
    [True, False, False]
    """
    p, numbers = problem, SplitK.of(facts)
    is_long = p.k * p.a_type.bits // 8 >= 2 * numbers.least_bytes
    return is_long and len(p.batch) < MAX_BATCH and 3 * tiles_of(p, numbers) <= facts.multiprocessors


def tiles_of(problem: GemmProblem, numbers: SplitK) -> int:
    """The tiles of C, all batches together."""
    return -(-problem.m // numbers.tile) * -(-problem.n // numbers.tile) * problem.batches
