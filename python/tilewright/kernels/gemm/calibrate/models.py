"""The numbers of a device from the times of its plans: the sections of its file."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.kernels.common.calibration import FIXED
from tilewright.kernels.devices import packaged
from tilewright.kernels.gemm.calibrate.fit import error_of, fitted, rounded
from tilewright.kernels.gemm.calibrate.samples import ALIGNED, ENOUGH, problem_bytes, tiles_of
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.simt import cost as simt
from tilewright.kernels.gemm.simt.tiles import accesses_of
from tilewright.kernels.gemm.sm90 import cost as sm90
from tilewright.kernels.gemm.sm90.cases import cases_of, stacked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.calibrate.fit import Values
    from tilewright.kernels.gemm.calibrate.samples import Sample

    Timed = tuple[Sample, float]

__all__ = ["Fit", "expected", "fits"]

BETTER = 0.01  # of the time, at least, that plans chosen by fitted numbers save: less is what two fits differ by


class Fit(NamedTuple):
    """What was measured, in words, the sections with its numbers, and whether to take them or the package's."""

    subject: str
    sections: dict[str, Values]
    is_better: bool
    said: str


def fits(timed: list[Timed], facts: DeviceFacts, until: float) -> list[Fit]:
    """What the times tell about the memory and each model; of too few times nothing but that they are too few.

    At the time.monotonic() `until` fitting ends; the models have equal parts of the time until then.
    """

    def of(section: str) -> list[Timed]:
        return [x for x in timed if x[0].section == section]

    now = time.monotonic()
    is_hopper = facts.capability // 10 == 9
    half = now + (until - now) / 2 if is_hopper else until
    found = [_memory(of("RATES")[0], facts), _simt(of("SIMT_TILES"), of("SIMT_MODEL"), facts, half)]
    return [*found, _sm90(of("SM90_MODEL"), facts, until)] if is_hopper else found


def expected(sample: Sample, facts: DeviceFacts) -> float:
    """The seconds that a sample is expected to take by the numbers of a device: what a made-up device takes."""
    if sample.section == "RATES":
        return sum(problem_bytes(sample.problem)) / (Rates.of(facts).bandwidth * 1e12)
    if sample.section == "SM90_MODEL":
        return float(sm90.config_cost(sample.what, sample.problem, facts).seconds)
    rates = {tile._replace(rate=0.0): tile.rate for _, _, tile in tiles_of(facts)}
    tile = sample.what.tile
    return _simt_seconds(sample, facts, simt.SimtModel.of(facts), {tile: rates[tile._replace(rate=0.0)]})


def _memory(timed: Timed, facts: DeviceFacts) -> Fit:
    """RATES with the bandwidth of a copy: of the memory's, copies of operands reach what they reach elsewhere."""
    sample, seconds = timed
    bandwidth = sum(problem_bytes(sample.problem)) / seconds / 1e12
    sections = {"RATES": {**packaged("RATES", facts), "bandwidth": bandwidth}}
    return Fit(
        "the memory's bandwidth", rounded(sections), True, f"{bandwidth:.3g} TB/s. Other rates are the package's."
    )


def _simt_seconds(sample: Sample, facts: DeviceFacts, model: simt.SimtModel, rates: dict[Any, float]) -> float:
    """What the model expects of a sample, where tiles have these rates."""
    tile = sample.what.tile
    choice = sample.what._replace(tile=tile._replace(rate=rates.get(tile, tile.rate)))
    ways = accesses_of(sample.problem, ALIGNED, (False, False), 16, facts.capability >= 80)
    straight = sum(x.is_async and x.vector > 1 for x in ways)
    is_promoted = sample.plan.promote > 0
    return float(simt.choice_cost(sample.problem, choice, facts, straight, model, is_promoted).without("launch"))


def _simt(large: list[Timed], timed: list[Timed], facts: DeviceFacts, until: float) -> Fit:
    """SIMT_TILES with the rates of tiles on a large problem, then SIMT_MODEL."""
    subject = "gemm_simt: the rates of its tiles, and how long a tile takes"
    if not large or _shapes(timed) < ENOUGH:
        return _too_few(subject, timed)
    tiles, model = dict(packaged("SIMT_TILES", facts)), packaged("SIMT_MODEL", facts)
    start, rates = simt.SimtModel(model, "SIMT_MODEL"), {}
    places = {tile: (name, place) for name, place, tile in tiles_of(facts)}
    for sample, seconds in large:
        tile = sample.what.tile
        name, place = places[tile]
        rates[tile] = rounded(_simt_seconds(sample, facts, start, {tile: 1.0}) / seconds)
        rows = list(tiles[name])
        rows[place] = (*rows[place][:5], rates[tile], *rows[place][6:])
        tiles[name] = tuple(rows)

    def predict(values: Values) -> list[float]:
        trial = simt.SimtModel(values, "SIMT_MODEL")
        return [_simt_seconds(sample, facts, trial, rates) for sample, _ in timed]

    given = [_simt_seconds(sample, facts, start, {}) for sample, _ in timed]
    values, is_better, said = _fit(timed, model, predict, given, until)
    return Fit(subject, {"SIMT_TILES": tiles, "SIMT_MODEL": values}, is_better, said)


def _sm90(timed: list[Timed], facts: DeviceFacts, until: float) -> Fit:
    """SM90_MODEL."""
    subject = "gemm_sm90: the model, in clocks unless said otherwise"
    if _shapes(timed) < ENOUGH:
        return _too_few(subject, timed)
    model = packaged("SM90_MODEL", facts)
    cases = stacked([cases_of((sample.what,), sample.problem, facts) for sample, _ in timed])

    def predict(values: Values) -> list[float]:
        found: list[float] = sm90.costs(cases, facts, sm90.Sm90Model(values, "SM90_MODEL")).seconds.tolist()
        return found

    values, is_better, said = _fit(timed, model, predict, predict(model), until)
    return Fit(subject, {"SM90_MODEL": values}, is_better, said)


def _shapes(timed: list[Timed]) -> int:
    return len({sample.problem for sample, _ in timed})


def _too_few(subject: str, timed: list[Timed]) -> Fit:
    return Fit(subject, {}, False, f"Not fitted: in the time there was, {_shapes(timed)} shapes were measured.")


def _fit(
    timed: list[Timed],
    start: Values,
    predict: Callable[[Values], list[float]],
    given: Sequence[float],
    until: float,
) -> tuple[Values, bool, str]:
    """The values that fit the times, whether they choose better than what was `given`, the package's, and how well."""
    measured, names = [seconds for _, seconds in timed], [name for name in start if name not in FIXED]
    found = fitted(start, names, predict, measured, until)
    values = {**start, **{name: rounded(found[name]) for name in names}}
    (error, longer), (error_before, longer_before) = (
        (error_of(predicted, measured), _longer_than_best(timed, predicted)) for predicted in (predict(values), given)
    )
    said = (
        f"Fitted to {len(timed)} launches of {_shapes(timed)} shapes: off by {error:.1%}, and what is chosen takes\n"
        f"{longer:.1%} longer than the best of all. The package's numbers: off by {error_before:.1%}, and "
        f"{longer_before:.1%} longer."
    )
    return values, longer_before - longer >= BETTER, said


def _longer_than_best(timed: list[Timed], predicted: Sequence[float]) -> float:
    """How much longer than the best of all takes what is chosen by these predictions, on the mean of the problems."""
    longer = []
    for problem in dict.fromkeys(sample.problem for sample, _ in timed):
        own = [(p, x) for p, (sample, x) in zip(predicted, timed, strict=True) if sample.problem == problem]
        longer.append(min(own)[1] / min(seconds for _, seconds in own) - 1)
    return statistics.fmean(longer)
