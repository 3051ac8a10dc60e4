"""plan.why(): the times are those by which plans are ranked, and the bound is what would save most."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Float64, Int8, TFloat32, kernels
from tilewright.devices import DEVICES, H200
from tilewright.kernels.gemm.choose.choose import choose_gemm, expected
from tilewright.kernels.gemm.choose.cost import BOUNDS, Cost
from tilewright.kernels.gemm.choose.why import why
from tilewright.kernels.gemm.composite.padded import PaddedGemm
from tilewright.kernels.gemm.composite.padding import padding_seconds
from tilewright.kernels.gemm.composite.plan import CompositeGemm
from tilewright.kernels.gemm.composite.residue import ResidueGemm
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.simt import cost as simt_cost
from tilewright.kernels.gemm.sm80 import choose as sm80_choose
from tilewright.kernels.gemm.sm90 import choose as sm90_choose
from tilewright.kernels.gemm.sm90 import store_cost
from tilewright.kernels.gemm.sm90.cost import Config, Sm90Configs, Sm90Model, config_cost, cost, one_of

torch = pytest.importorskip("torch")

ALIGNED = (256, 256, 256)
INF = float("inf")


def shapes(count, seed):
    drawn = random.Random(seed)
    return [tuple(max(8, int(2 ** drawn.uniform(4, 13)) // 8 * 8) for _ in range(3)) for _ in range(count)]


def seconds_of(terms):
    """The time of a cost's terms, as docs/gemm.md says: written down a second time."""
    p = terms["sharpness"]

    def norm(*of):
        return sum(x**p for x in of) ** (1 / p) if p and any(of) else max(of)

    at_once = norm(*(terms[name] for name in ("multiply", "shared", "l2", "streamed", "late")))
    wave = at_once + sum(terms[name] for name in ("fetched", "begun", "stored", "summed"))
    waves = terms["start"] + terms["joined"] + terms["waves"] * wave
    return terms["launch"] + norm(waves, terms["memory"], terms["hot"]) + terms["traffic"] + terms["beside"]


def saved(cost, names):
    """What is saved if the terms of some bounds are zero."""
    terms = cost._asdict()
    for name in names:
        if name == "last wave":
            terms["waves"] = terms["filled"]
        elif name not in ("FMA", "tensor cores") or (name == "FMA") == cost.by_fma:
            terms.update(dict.fromkeys(BOUNDS[name], 0.0))
    return seconds_of(cost._asdict()) - seconds_of(terms)


def test_the_bound_is_the_term_that_saves_most():
    drawn = random.Random(1)
    found = set()
    for _ in range(2000):
        terms = {name: drawn.random() ** 4 for name in Cost._fields[:-1]}
        terms.update(
            sharpness=drawn.choice((0.0, 1.0, 4.0, 7.5)), waves=float(drawn.randint(1, 3)), by_fma=drawn.random() < 0.3
        )
        terms["filled"] = terms["waves"] - drawn.random()
        one = Cost(**terms)
        assert one.seconds == pytest.approx(seconds_of(terms))
        most = max(saved(one, [name]) for name in BOUNDS)
        names = one.bound.split(" and ")
        found.add(one.bound)
        assert saved(one, names) == pytest.approx(one.seconds - one.without(one.bound))
        assert saved(one, names) >= most - 1e-9
        assert len(names) > 1 or saved(one, names) == pytest.approx(most)
    assert found >= {*BOUNDS}


def test_only_what_takes_equally_long_is_named_together():
    assert Cost(multiply=1, l2=0.96).bound == "tensor cores and L2"
    assert Cost(multiply=1, l2=0.94).bound == "tensor cores"
    assert Cost(multiply=1, memory=1.04).bound == "tensor cores and memory"
    assert Cost(multiply=1, memory=1.5).bound == "memory"
    assert Cost(multiply=1, by_fma=True).bound == "FMA"


@pytest.mark.parametrize(
    ("bound", "changes"),
    [
        ("memory", {"memory": INF, "again": INF, "written": INF, "stream": INF}),
        ("latency", {"latency": 0, "fill": 0, "cluster": 0, "direct": 0, "begun": 0}),
        ("launch", {"launch": 0.0}),
        ("stores", {"store": INF, "box": 0}),
    ],
)
def test_a_term_without_which_a_plan_is_faster_is_a_number_of_the_device(monkeypatch, bound, changes):
    """By the model itself, with the number that the term is made of out of the way."""
    values = {name: getattr(Sm90Model.of(H200), name) for name in Sm90Model.__annotations__ if name != "SECTION"}
    changed = Sm90Model({**values, **changes}, "SM90_MODEL")
    for m, n, k in shapes(30, 2):
        p = problem_of(m, n, k, BFloat16)
        for config in Sm90Configs.of(H200).configs:
            if config.split_k == 1:
                whole = config_cost(config, p, H200)
                with monkeypatch.context() as patch:
                    if bound == "stores":  # lines pass shared memory, too
                        patch.setattr(store_cost, "SHARED", INF)
                    without = config_cost(config, p, H200, changed).seconds
                assert whole.without(bound) == pytest.approx(without, rel=1e-9), (config, p)


def test_full_waves_are_what_is_left_without_a_last_wave():
    config = Config(128, 256)
    for waves in (1, 2, 5):
        whole = config_cost(config, problem_of(128 * 132 * waves, 256, 4096, BFloat16), H200)
        more = config_cost(config, problem_of(128 * (132 * waves + 1), 256, 4096, BFloat16), H200)
        assert whole.without("last wave") == whole.seconds
        assert more.without("last wave") == pytest.approx(whole.seconds, rel=0.02)
        assert more.bound == "last wave" or waves > 1


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", [BFloat16, TFloat32, Float8E4M3FN, Int8, Float64, Float32])
def test_the_times_are_those_by_which_it_was_chosen(monkeypatch, dtype, arch):
    """What the kernels' models returned while the plan was chosen; the chosen plan takes the least of it."""
    ranked = set()

    def recorded(model):
        def model_and_record(*arguments, **options):
            found = model(*arguments, **options)
            many = isinstance(found.waves, np.ndarray)  # of configurations at once
            ranked.update(one_of(found, i) for i in range(len(found.waves))) if many else ranked.add(found)
            return found

        return model_and_record

    facts = DEVICES[arch]
    for m, n, k in shapes(6, 3):
        ranked.clear()
        with monkeypatch.context() as patch:
            for module, name in ((sm90_choose, "costs"), (sm80_choose, "tile_cost"), (simt_cost, "choice_cost")):
                patch.setattr(module, name, recorded(getattr(module, name)))
            plan = choose_gemm(problem_of(m, n, k, dtype), ALIGNED, facts)
        found = why(plan)
        assert [x.chosen for x in found] == [True] + [False] * (len(found) - 1)
        assert found[0].plan == plan
        times = [x.seconds for x in found]
        assert times[1:] == sorted(times[1:])
        if not isinstance(plan, CompositeGemm):
            assert {x.cost for x in found} <= ranked
            assert times[0] == min(times)
            assert len(found) == len({x.plan for x in found})


def test_both_ways_round_are_listed():
    found = why(choose_gemm(problem_of(200, 4096, 4096, BFloat16), ALIGNED, H200))
    assert {x.plan.swapped for x in found} == {True, False}
    assert "C transposed" in str(found)
    adds = problem_of(4096, 4096, 64, BFloat16, epilogue=Epilogue(beta=1.0))
    assert {x.plan.swapped for x in why(choose_gemm(adds, ALIGNED, H200))} == {False}


def test_plans_of_several_launches_have_their_times_too():
    p = problem_of(4095, 4097, 4103, Float16)
    plan = choose_gemm(p, (2, 2, 2), H200)
    assert isinstance(plan, PaddedGemm)
    found, copying = why(plan), padding_seconds(p, plan.sides, H200)
    assert found[0].plan == plan
    assert found[0].seconds == pytest.approx(copying + expected(plan.gemm, H200))
    assert found[0].cost.beside == copying
    (direct,) = [x for x in found if not isinstance(x.plan, PaddedGemm)]
    assert direct.seconds == expected(direct.plan, H200) > 2 * found[0].seconds  # element by element
    assert "copies of A and B" in found[0].kernel
    residue = choose_gemm(problem_of(4096, 4097, 4096, Float32), ALIGNED, H200)
    assert isinstance(residue, ResidueGemm)
    both, whole = why(residue)[:2]
    assert both.chosen
    assert both.seconds < whole.seconds
    assert not isinstance(whole.plan, ResidueGemm)
    assert "rest of columns from 4096" in both.kernel
    assert both.cost.beside > 0


def test_a_plan_that_is_no_candidate_is_listed_first():
    plan = choose_gemm(problem_of(512, 512, 512, BFloat16), ALIGNED, H200)
    other = plan.replace(group=7)
    found = other.why()
    assert found[0].chosen
    assert found[0].plan == other
    assert found[0].seconds == cost(other, H200).seconds
    assert sum(x.chosen for x in found) == 1
    assert [x.plan for x in found[1:]] == [x.plan for x in plan.why()]


def test_the_table():
    a = torch.empty(2048, 2048, dtype=torch.bfloat16)
    plan = kernels.gemm.plan(a, a.clone())
    title, heads, first, second, *rest = str(plan.why()).splitlines()
    assert title == f"{plan.problem}, on NVIDIA H200"
    assert " ".join(heads.split()) == "kernel tile cluster split-K stages CTAs predicted bound by without it"
    assert [first[0], second[0], len(rest), rest[-1][:4]] == [">", " ", 15, "and "]
    assert "NVIDIA A100" in str(plan.why("sm_80"))
    assert repr(plan.why()) == str(plan.why())
    with pytest.raises(ValueError, match=r"plan.why: arch is 'sm_90', but it must be one of"):
        plan.why("sm_90")


def test_a_cost_has_a_place_for_every_time_and_every_time_a_name():
    named = {term for terms in BOUNDS.values() for term in terms}
    assert named == {*Cost._fields} - {"filled", "sharpness", "by_fma"}
