"""What is measured, in its order: the earlier, the more of a calibration stands on it.

The plans themselves are measured: a large copy gives the memory's bandwidth, a large problem in every tile the rates of
gemm_simt's tiles, and problems of several sizes the numbers of the cost models.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.kernels.copy.choose import choose_copy
from tilewright.kernels.copy.problem import CopyProblem
from tilewright.kernels.gemm.problem import GemmProblem, problem_of
from tilewright.kernels.gemm.simt import cost as simt
from tilewright.kernels.gemm.simt.build import plan_of_tile
from tilewright.kernels.gemm.simt.tiles import SimtTiles, tiles_for
from tilewright.kernels.gemm.sm90 import cost as sm90
from tilewright.kernels.gemm.sm90.cases import Sm90Configs, cases_of
from tilewright.kernels.gemm.sm90.choose import plan_of, shared
from tilewright.numeric import BFloat16, Float32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.devices import DeviceFacts

__all__ = ["ALIGNED", "COPIED", "ENOUGH", "Sample", "steps", "tiles_of"]

ALIGNED = (256, 256, 256)  # bytes of whose multiple A, B and C begin
LARGE, COPIED = 4096, 12288  # extents of a matrix that is multiplied, and of one that is copied
HOPELESS = 4.0  # times as long as the best of a problem is expected to take: not measured
# M, N, K of what the models are fitted to. The first ENOUGH of them tell most; without these a model is not fitted.
ENOUGH = 4
SM90_SHAPES = (
    (512, 512, 512), (4096, 4096, 4096), (8192, 64, 4096), (1024, 1024, 1024), (2048, 2048, 2048), (8192, 8192, 1024),
    (4096, 256, 14336), (512, 512, 16384), (4096, 16, 4096), (1000, 1000, 1000), (4096, 4096, 64),
)  # fmt: skip
SIMT_SHAPES = (
    (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (1500, 1500, 4096), (2048, 2048, 2048), (3000, 3000, 3000),
    (300, 300, 16384), (64, 4096, 4096), (256, 4096, 4096), (4096, 4096, 512),
)  # fmt: skip


class Sample(NamedTuple):
    """A plan that is measured: for which section, the configuration or choice that it has, its problem."""

    section: str
    what: Any
    problem: Any
    plan: Any


def steps(facts: DeviceFacts) -> Iterator[list[Sample]]:
    """The plans to be measured on a device, those of a problem together."""
    yield [_copy()]
    yield list(_rates(facts))
    hopper = [] if facts.capability // 10 != 9 else [_sm90(shape, facts) for shape in SM90_SHAPES]
    others = [_simt(shape, facts) for shape in SIMT_SHAPES]
    for pair in itertools.zip_longest(hopper, others):
        yield from (list(found) for found in pair if found is not None)


def _copy() -> Sample:
    problem = CopyProblem("BFloat16", 2, (COPIED**2,), (1,), (1,), 0, 0)
    return Sample("RATES", None, problem, choose_copy(problem, *ALIGNED[:2]))


def tiles_of(facts: DeviceFacts) -> Iterator[tuple[str, int, Any]]:
    """The tiles of gemm_simt whose rates are measured: under which name and where SIMT_TILES has them, the tile."""
    numbers = SimtTiles.of(facts)
    for name, kept in (("tiles", numbers.tiles), ("loose", numbers.loose)):
        yield from ((name, place, tile) for place, tile in enumerate(kept))


def _rates(facts: DeviceFacts) -> Iterator[Sample]:
    large = problem_of(LARGE, LARGE, LARGE, Float32)
    for _, _, tile in tiles_of(facts):
        yield Sample("SIMT_TILES", simt.Choice(tile), large, plan_of_tile(large, ALIGNED, tile, facts))


def _sm90(shape: tuple[int, int, int], facts: DeviceFacts) -> Iterator[Sample]:
    """The configurations of gemm_sm90 that are not hopeless, also with shared tiles, for a shape."""
    p, configs = problem_of(*shape, BFloat16), Sm90Configs.of(facts).configs
    configs += tuple(one for one in (shared(config, p, facts) for config in configs) if one is not None)
    seconds = sm90.costs(cases_of(configs, p, facts), facts).seconds.tolist()
    plans = [(config, plan_of(config, p, (True, True), ALIGNED, facts)) for config in configs]
    found = [(config, plan, expected) for (config, plan), expected in zip(plans, seconds, strict=True) if plan]
    least = min(expected for _, _, expected in found)
    for config, plan, expected in found:
        if expected <= HOPELESS * least:
            yield Sample("SM90_MODEL", config, p, plan)


def _simt(shape: tuple[int, int, int], facts: DeviceFacts) -> Iterator[Sample]:
    """The tiles of gemm_simt for Float32 along K that are not hopeless, without shares and with one for each place."""
    p, choices = problem_of(*shape, Float32), []
    for tile in (*tiles_for(p, facts), *tiles_for(p, facts, SimtTiles.of(facts).loose)):
        choices += [simt.Choice(tile, stream_k_ctas) for stream_k_ctas in (0, facts.multiprocessors * tile.ctas)]
    times = [simt.choice_cost(p, choice, facts).without("launch") for choice in choices]
    for choice, expected in zip(choices, times, strict=True):
        if expected <= HOPELESS * min(times):
            plan = plan_of_tile(p, ALIGNED, choice.tile, facts, choice.stream_k_ctas)
            yield Sample("SIMT_MODEL", choice, p, plan)


def problem_bytes(problem: Any) -> tuple[int, int]:
    """The bytes that are read and those that are written, each once."""
    if isinstance(problem, GemmProblem):
        written = problem.m * problem.n * int(problem.c_type.bits) // 8
        return problem.moved_bytes - written, written
    count = problem.element_bytes
    for extent in problem.extents:
        count *= extent
    return count, count
