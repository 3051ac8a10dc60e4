"""Measures what plans are chosen by on a GPU, and writes the file of this device beside those of the others.

python benchmarks/fit_device.py [--dry] [--quick] [--name NAME] [--out FOLDER]

The plans themselves are measured: a large copy gives the memory's bandwidth, a large problem in every tile the tiles'
rates, and problems of several sizes the numbers of the cost models, by least squares from the H200's on. A model that
is nearer to the times may yet choose worse: where it chooses no better plans than the H200's numbers, these hold, and
the file says so. What is not measured (tiles and configurations, gemm_sm80, when sums are promoted, copies, GEMVs) is
left out of the file, too. The file is NAME.py in python/tilewright/kernels/devices, NAME that of the device, by which
it is found, or the beginning of it that is given. `--dry` needs no GPU: plans take what the H200's models expect.
benchmarks/fit_compare.py measures what the file chooses beside what the H200's numbers choose.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import itertools
import math
import multiprocessing
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from fit_numbers import Values, error_of, fitted, rounded, section_text
from tilewright import BFloat16, Float32, kernels
from tilewright.devices import H200, DeviceFacts
from tilewright.kernels import devices
from tilewright.kernels.copy.plan import CopyPlan
from tilewright.kernels.devices import COMPLETE, own_names
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.problem import GemmProblem, problem_of
from tilewright.kernels.gemm.simt import cost as simt
from tilewright.kernels.gemm.simt.build import plan_of_tile
from tilewright.kernels.gemm.simt.tiles import SimtTiles, accesses_of, tiles_for
from tilewright.kernels.gemm.sm90 import cost as sm90
from tilewright.kernels.gemm.sm90.choose import plan_of, shared

FOLDER = Path(__file__).parents[1] / "python/tilewright/kernels/devices"
ALIGNED = (256, 256, 256)
LARGE, COPIED = 4096, 12288  # extents of a matrix that is multiplied, and of one that is copied
HOPELESS = 4.0  # times as long as the best of a problem is expected to take: not measured
# M, N, K of what the models are fitted to; the first QUICK of them tell most.
SM90_SHAPES = (
    (512, 512, 512), (4096, 4096, 4096), (8192, 64, 4096), (1024, 1024, 1024), (1000, 1000, 1000), (2048, 2048, 2048),
    (8192, 8192, 1024), (4096, 16, 4096), (4096, 256, 14336), (512, 512, 16384), (4096, 4096, 64),
)  # fmt: skip
SIMT_SHAPES = (
    (256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (1500, 1500, 4096), (2048, 2048, 2048), (3000, 3000, 3000),
    (300, 300, 16384), (64, 4096, 4096), (256, 4096, 4096), (4096, 4096, 512),
)  # fmt: skip
QUICK = 4  # shapes
BETTER = 0.01  # of the time, at least, that plans chosen by fitted numbers save: less is what two fits differ by
SM90_FIXED = ("few_tiles", "starving", "quads", "l2_bytes", "outstanding")  # no sizes, but of what there is so many
SIMT_FIXED = ("products", "few_sums", "least_terms", "most_parts", "turned")

Clock = Callable[[Any], float]


class Fit(NamedTuple):
    """What was fitted, whether to take it instead of the H200's numbers, and how well it and they do, in words."""

    sections: dict[str, Values]
    is_better: bool
    said: str


class Sample(NamedTuple):
    """A configuration or choice for a problem, its plan, and the seconds that it took."""

    what: Any
    problem: GemmProblem
    plan: Any
    seconds: float


def sm90_samples(clock: Clock, facts: DeviceFacts, shapes: Sequence[tuple[int, int, int]]) -> Iterator[Sample]:
    """The configurations of gemm_sm90 that are not hopeless, also with shared tiles, for each of the shapes."""
    numbers = sm90.Sm90Configs.of(facts)
    for m, n, k in shapes:
        p = problem_of(m, n, k, BFloat16)
        configs = numbers.configs
        configs += tuple(one for one in (shared(config, p, facts) for config in configs) if one is not None)
        plans = [(config, plan_of(config, p, (True, True), ALIGNED, facts)) for config in configs]
        found = [(config, plan, sm90.config_cost(config, p, facts).seconds) for config, plan in plans if plan]
        least = min(expected for _, _, expected in found)
        for config, plan, expected in found:
            if expected <= HOPELESS * least:
                yield Sample(config, p, plan, clock(plan))


def simt_samples(clock: Clock, facts: DeviceFacts, shapes: Sequence[tuple[int, int, int]]) -> Iterator[Sample]:
    """The tiles of gemm_simt for Float32 along K that are not hopeless, without shares and with one for each place."""
    numbers = SimtTiles.of(facts)
    for m, n, k in shapes:
        p = problem_of(m, n, k, Float32)
        choices = []
        for tile in (*tiles_for(p, facts), *tiles_for(p, facts, numbers.loose)):
            choices += [simt.Choice(tile, stream_k_ctas) for stream_k_ctas in (0, facts.multiprocessors * tile.ctas)]
        times = [simt.choice_cost(p, choice, facts).without("launch") for choice in choices]
        for choice, expected in zip(choices, times, strict=True):
            if expected <= HOPELESS * min(times):
                plan = plan_of_tile(p, ALIGNED, choice.tile, facts, choice.stream_k_ctas)
                yield Sample(choice, p, plan, clock(plan))


def simt_seconds(sample: Sample, facts: DeviceFacts, model: simt.SimtModel, rates: dict[Any, float]) -> float:
    """What the model expects of a sample, where tiles have these rates."""
    tile = sample.what.tile
    choice = sample.what._replace(tile=tile._replace(rate=rates.get(tile, tile.rate)))
    straight = sum(x.is_async and x.vector > 1 for x in accesses_of(sample.problem, ALIGNED, (False, False), 16, True))
    return simt.choice_cost(sample.problem, choice, facts, straight, model).without("launch")


def fit_simt(clock: Clock, facts: DeviceFacts, shapes: Sequence[tuple[int, int, int]]) -> Fit:
    """SIMT_TILES with the rates of tiles on a large problem, then SIMT_MODEL."""
    tiles, model = dict(base("SIMT_TILES")), base("SIMT_MODEL")
    numbers, start = SimtTiles.of(facts), simt.SimtModel(model, "SIMT_MODEL")
    large, rates = problem_of(LARGE, LARGE, LARGE, Float32), {}
    for name, kept in (("tiles", numbers.tiles), ("loose", numbers.loose)):
        rows = []
        for tile, row in zip(kept, tiles[name], strict=True):
            plan = plan_of_tile(large, ALIGNED, tile, facts)
            sample = Sample(simt.Choice(tile), large, plan, clock(plan))
            rates[tile] = rounded(simt_seconds(sample, facts, start, {tile: 1.0}) / sample.seconds)
            rows.append((*row[:5], rates[tile], *row[6:]))
        tiles[name] = tuple(rows)
    samples = list(simt_samples(clock, facts, shapes))

    def predict(values: Values) -> list[float]:
        trial = simt.SimtModel(values, "SIMT_MODEL")
        return [simt_seconds(sample, facts, trial, rates) for sample in samples]

    given = [simt_seconds(sample, facts, start, {}) for sample in samples]
    values, is_better, said = fit(samples, model, [x for x in model if x not in SIMT_FIXED], predict, given)
    return Fit({"SIMT_TILES": tiles, "SIMT_MODEL": values}, is_better, said)


def fit_sm90(clock: Clock, facts: DeviceFacts, shapes: Sequence[tuple[int, int, int]]) -> Fit:
    """SM90_MODEL."""
    samples, model = list(sm90_samples(clock, facts, shapes)), base("SM90_MODEL")

    def predict(values: Values) -> list[float]:
        trial = sm90.Sm90Model(values, "SM90_MODEL")
        return [sm90.config_cost(sample.what, sample.problem, facts, trial).seconds for sample in samples]

    values, is_better, said = fit(samples, model, [x for x in model if x not in SM90_FIXED], predict, predict(model))
    return Fit({"SM90_MODEL": values}, is_better, said)


def fit(
    samples: list[Sample],
    start: Values,
    names: Sequence[str],
    predict: Callable[[Values], list[float]],
    given: Sequence[float],
) -> tuple[Values, bool, str]:
    """The values that fit the samples, whether they choose better than what was `given`, the H200's, and how well."""
    measured = [sample.seconds for sample in samples]
    found = fitted(start, names, predict, measured)
    values = {**start, **{name: rounded(found[name]) for name in names}}
    (error, longer), (error_before, longer_before) = (
        (error_of(predicted, measured), longer_than_best(samples, predicted)) for predicted in (predict(values), given)
    )
    shapes = len({sample.problem for sample in samples})
    said = (
        f"Fitted to {len(samples)} launches of {shapes} shapes: off by {error:.1%}, and what is chosen takes\n"
        f"{longer:.1%} longer than the best of all. The H200's numbers: off by {error_before:.1%}, and "
        f"{longer_before:.1%} longer."
    )
    return values, longer_before - longer >= BETTER, said


def longer_than_best(samples: list[Sample], predicted: Sequence[float]) -> float:
    """How much longer than the best of all takes what is chosen by these predictions, on the mean of the problems."""
    longer = []
    for problem in dict.fromkeys(sample.problem for sample in samples):
        own = [(p, x.seconds) for p, x in zip(predicted, samples, strict=True) if x.problem == problem]
        longer.append(min(own)[1] / min(seconds for _, seconds in own) - 1)
    return statistics.fmean(longer)


def fit_memory(clock: Clock) -> tuple[Values, Values]:
    """RATES with the bandwidth of a copy, and PADDED, by which copies of operands take as long as on the H200.

    Operands that are worth copying are small: they come from the L2 and go there. Padded GEMMs tell no better number,
    since it stands for copies that are turned and for others.
    """
    import torch

    x = torch.empty(COPIED, COPIED, dtype=torch.bfloat16)
    bandwidth = 2 * x.numel() * x.itemsize / clock(kernels.tiled_copy.plan(x, x.clone())) / 1e12
    rates, padded = base("RATES"), base("PADDED")
    copies = padded["copies"] * rates["bandwidth"] / bandwidth
    return rounded({**rates, "bandwidth": bandwidth}), rounded({**padded, "copies": copies})


def base(section: str) -> Values:
    """The H200's section."""
    return getattr(importlib.import_module(f"{devices.__name__}.{COMPLETE}"), section)  # type: ignore[no-any-return]


def text_of(facts: DeviceFacts, clock: Clock, when: str, quick: bool) -> str:
    """The text of the device's file."""
    some = slice(QUICK if quick else None)
    by_model = {
        "gemm_simt: the rates of its tiles, and how long a tile takes": fit_simt(clock, facts, SIMT_SHAPES[some]),
        "gemm_sm90: the model, in clocks unless said otherwise": fit_sm90(clock, facts, SM90_SHAPES[some]),
    }
    rates, padded = fit_memory(clock)
    source = (FOLDER / f"{COMPLETE}.py").read_text()
    parts = [
        f'"""{facts.name}: what benchmarks/fit_device.py measured on one. What is not here is the H200\'s."""',
        f'DEVICE = "{facts.name}"\nMEASURED = "{when}"',
        section_text(source, "RATES", rates, f"The H200's, but for `bandwidth`, measured {when}."),
        section_text(source, "PADDED", padded, "Copies of operands: they take as long as on the H200."),
    ]
    for what, (sections, is_better, said) in by_model.items():
        comment = f"{what}. Of {when}.\n{said}"
        if is_better:
            parts += [section_text(source, name, values, comment) for name, values in sections.items()]
        else:
            parts.append("\n".join(f"# {x}" for x in f"{comment}\nSo the H200's numbers hold.".splitlines()))
    return "\n\n".join(parts) + "\n"


# ---- clocks ----


def expected_clock(facts: DeviceFacts) -> Clock:
    """Seconds as the models expect them: what `--dry` and tests have in place of a GPU."""

    def seconds(plan: Any) -> float:
        if isinstance(plan, CopyPlan):
            moved = 2 * plan.problem.element_bytes * math.prod(plan.problem.extents)
            return moved / (Rates.of(facts).bandwidth * 1e12)
        if plan.kernel_name == "sm90":
            return sm90.cost(plan, facts).seconds
        tiles = (*SimtTiles.of(facts).tiles, *SimtTiles.of(facts).loose)
        key = plan.tiler_mnk[:2], plan.sliced_k
        found = [x for x in tiles if (x.extents(4), x.sliced_k) == key]
        tile = found[-1] if len(found) > 1 and plan.stages > 3 else found[0]
        sample = Sample(simt.Choice(tile, plan.stream_k_ctas), plan.problem, plan, 0.0)
        return simt_seconds(sample, facts, simt.SimtModel.of(facts), {})

    return seconds


def compile_one(plan: Any, arch: str) -> None:
    plan.compile(arch)


def compile_all(plans: Iterable[Any], arch: str) -> None:
    """Leave the programs of plans in the disk cache: compiled by as many processes as there are cores."""
    singles = (one for plan in plans for one in getattr(plan, "single_plans", (plan,)))
    kernels = {(type(one), one.name): one for one in singles}
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(compile_one, kernels.values(), itertools.repeat(arch)))


def gpu_clock(options: argparse.Namespace, facts: DeviceFacts) -> Clock:
    """Median seconds of a launch, over operands that are rotated past the L2, in a graph's replay."""
    import torch

    import gpu

    expected = expected_clock(facts)
    types = {"BFloat16": torch.bfloat16, "Float32": torch.float32}

    kept: dict[Any, list[list[Any]]] = {}  # of the last problem

    def tensors(extents: Sequence[int], strides: Sequence[int], dtype: Any, sets: int) -> list[Any]:
        count = 1 + sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
        flat = (torch.randn(count, device="cuda").to(types[str(dtype)]) for _ in range(sets))
        return [x.as_strided(tuple(extents), tuple(strides)) for x in flat]

    def operands(p: Any, sets: int) -> list[list[Any]]:
        if isinstance(p, GemmProblem):
            strides, types_of = (p.a_strides, p.b_strides, p.c_strides), (p.a_type, p.b_type, p.c_type)
            sides: Any = zip(((p.m, p.k), (p.n, p.k), (p.m, p.n)), strides, types_of, strict=True)
        else:
            sides = (p.extents, p.src_strides, "BFloat16"), (p.extents, p.dst_strides, "BFloat16")
        return [tensors(*side, sets) for side in sides]

    def seconds(plan: Any) -> float:
        p, is_copy = plan.problem, isinstance(plan, CopyPlan)
        moved = 2 * p.element_bytes * math.prod(p.extents) if is_copy else p.moved_bytes
        sets = gpu.sets_past_cache(moved, options)
        if p not in kept:
            kept.clear()
            kept[p] = operands(p, sets)
        call = kernels.tiled_copy if is_copy else kernels.gemm
        issue = gpu.rotating(lambda *tensors: call(*tensors, plan=plan), *kept[p])
        contestant = gpu.Contestant("plan", issue)
        timings = gpu.race([contestant], sets, moved, options, guess=expected(plan), rounds=7, sample=1e-3)
        return float(timings["plan"].median)

    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dry", action="store_true", help="plans take what the H200's models expect: needs no GPU")
    parser.add_argument("--quick", action="store_true", help="fewer shapes")
    parser.add_argument("--name", help="the file's name: for all devices whose names begin so")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder for the file")
    options = parser.parse_args()
    today = datetime.date.today().isoformat()
    if options.dry:
        facts, clock, when = H200._replace(name="NVIDIA dry run"), expected_clock(H200), f"{today}, by no device"
    else:
        from tilewright import _core
        from tilewright.kernels.common.launch import facts_of

        facts = facts_of(0)
        clock = gpu_clock(options, facts)
        when = f"{today}, CUDA driver {_core.cuda.driver_version()}"
    if facts.capability // 10 != 9:
        parser.error(f"{facts.name} has no wgmma (sm_{facts.capability}): only devices of sm_90 are fitted so far")
    names = own_names(facts.name)
    if options.name not in (None, *names):
        parser.error(f"{facts.name} would not find a file named {options.name}; it is to be one of {', '.join(names)}")
    if not options.dry:  # all plans that will be measured, at the same time
        expected, plans = expected_clock(facts), []
        text_of(facts, lambda plan: plans.append(plan) or expected(plan), when, options.quick)
        compile_all(plans, facts.arch)
    path = options.out / f"{options.name or names[0]}.py"
    path.write_text(text_of(facts, clock, when, options.quick))
    print(f"{path} has the numbers of {facts.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
