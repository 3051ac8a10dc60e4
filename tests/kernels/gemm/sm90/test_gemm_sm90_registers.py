"""gemm_sm90 with A from registers: tiles that leave too few of them are refused, and the others spill nothing."""

from __future__ import annotations

import itertools

import pytest

from tilewright import BFloat16, Float32, LayoutError, TFloat32
from tilewright.devices import H200
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90.choose import Config, Sm90Configs, considered, plan_of, tiled_mma_of
from tilewright.kernels.gemm.sm90.plan import N_EXTENTS

ALIGNED = (256, 256, 256)
CONFIGS = Sm90Configs.of(H200).configs
EPILOGUES = {
    "plain": Epilogue(),
    "bias, relu": Epilogue(2.0, 0.5, "n", Float32, 1, "relu"),
    "bias along m": Epilogue(2.0, 0.5, "m", Float32, 1),
    "bias, gelu": Epilogue(bias="n", bias_type=Float32, bias_stride=1, activation="gelu"),
    "all": Epilogue(2.0, 0.5, "n", Float32, 1, "gelu"),
}


def paired(config, epilogue="plain", n=4096, **options):
    """The plan of a configuration with A along M; None where there is none."""
    problem = problem_of(4096, n, 4096, TFloat32, a="m", epilogue=EPILOGUES[epilogue], **options)
    return plan_of(config, problem, (False, True), ALIGNED, H200)


def largest(config, epilogue, **options):
    """The same with as many columns as are taken; `config` has any number of them."""
    plans = (paired(config._replace(bN=columns), epilogue, **options) for columns in reversed(N_EXTENTS))
    return next(plan for plan in plans if plan is not None)


WIDE, TALL, SHARED = Config(128, 0, cluster=(2, 1)), Config(256, 0, cluster=(2, 1)), Config(256, 0, stream_k_ctas=132)
THREE, ALONE, ONE = Config(192, 0, 3, cluster=(2, 1)), Config(192, 0, 3), Config(256, 0, 1)
IN_TURNS = Config(128, 0, ping_pong=True, cluster=(2, 1))
ROWS, PAIRS, SINGLES, COLUMNS = {}, {"n": 4094}, {"n": 4093, "out": BFloat16}, {"c": "m"}


@pytest.mark.parametrize(
    ("config", "epilogue", "options", "columns"),
    [
        (WIDE, "all", ROWS, 256),
        (WIDE, "bias, gelu", SINGLES, 256),
        (TALL, "plain", ROWS, 128),
        (TALL, "bias, relu", ROWS, 128),
        (TALL, "bias, gelu", ROWS, 80),
        (TALL, "bias, gelu", COLUMNS, 128),
        (TALL, "plain", PAIRS, 128),
        (TALL, "bias along m", SINGLES, 80),
        (SHARED, "bias, relu", ROWS, 128),
        (SHARED, "all", COLUMNS, 80),
        (SHARED, "plain", SINGLES, 80),
        (IN_TURNS, "bias, relu", ROWS, 128),
        (IN_TURNS, "bias along m", SINGLES, 80),
        (ALONE, "plain", ROWS, 192),
        (ALONE, "all", COLUMNS, 192),
        (THREE, "bias, relu", ROWS, 128),
        (THREE, "bias, gelu", ROWS, 112),
        (ONE, "all", ROWS, 40),
        (ONE._replace(bM=128, split_k=2), "all", SINGLES, 128),
        (ONE._replace(bM=128, cluster=(2, 1)), "bias, gelu", ROWS, 128),
    ],
    ids=str,
)
def test_the_largest_tiles_spill_nothing(compiler, config, epilogue, options, columns):
    plan = largest(config, epilogue, **options)
    assert plan.tiler_mnk[1] == columns
    assert plan.from_registers
    report = plan.compile("sm_90a").report[plan.name]
    assert (report.spill_bytes, report.stack_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("config", "epilogue", "options", "sums"),
    [
        (TALL._replace(bN=160), "plain", ROWS, (256, 320)),
        (TALL._replace(bN=144), "plain", PAIRS, (256, 288)),
        (TALL._replace(bN=128), "all", ROWS, (160, 256)),
        (SHARED._replace(bN=112), "plain", PAIRS, (160, 224)),
        (IN_TURNS._replace(bN=128), "bias, gelu", ROWS, (160, 256)),
        (THREE._replace(bN=144), "plain", ROWS, (128, 144)),
        (THREE._replace(bN=128), "bias, gelu", ROWS, (112, 128)),
        (ONE._replace(bN=64), "plain", ROWS, (160, 256)),
    ],
    ids=str,
)
def test_larger_ones_are_refused(config, epilogue, options, sums):
    """By what chooses, which goes on to the next one, and where a plan is made of them."""
    assert paired(config, epilogue, **options) is None
    least = largest(config, epilogue, **options)
    warpgroups = 1 if config.ping_pong else config.consumers
    tiled_mma = tiled_mma_of(least.problem, config.bN, warpgroups, (False, True))
    with pytest.raises(LayoutError) as caught:
        least.replace(tiled_mma=tiled_mma, tiler_mnk=(config.bM, config.bN, 32))
    assert f"gemm_sm90: the tile ({config.bM},{config.bN},32): A comes from registers" in str(caught.value)
    assert f"each of {warpgroups} warpgroups has room for 64 x {sums[0]} sums" in str(caught.value)
    assert f"stored by {least.store}, but the tile has 64 x {sums[1]}; use smaller tiles" in str(caught.value)


def test_the_store_and_the_epilogue_of_a_plan_are_looked_at():
    plan = paired(TALL._replace(bN=128))
    plan.replace(store="singles")
    with pytest.raises(LayoutError, match="A comes from registers"):
        plan.replace(store="singles", stream_k_ctas=132)
    with pytest.raises(LayoutError, match="A comes from registers"):
        plan.for_problem(plan.problem._replace(epilogue=EPILOGUES["all"]))


def test_none_of_them_is_chosen():
    """256 by 160, which spilled 320 bytes, had 0.69 of cuBLAS's speed on an H200; this has 1.10 of 128 by 160's."""
    plan = choose_gemm(problem_of(2048, 5120, 5120, TFloat32, b="n"), ALIGNED, H200)
    assert (plan.swapped, plan.from_registers, plan.store) == (True, True, "columns")
    assert (plan.tiler_mnk, plan.cluster_mn, plan.stream_k_ctas) == ((128, 256, 32), (2, 1), 132)
    for epilogue, c in itertools.product(EPILOGUES, "nm"):
        problem = problem_of(1032, 3900, 5000, TFloat32, a="m", c=c, epilogue=EPILOGUES[epilogue])
        tiles = [plan.tiler_mnk[:2] for plan, _ in considered(problem, ALIGNED, H200)]
        assert (128, 256) in tiles
        assert (256, 160) not in tiles
        assert ((256, 128) in tiles) == (c == "m" or "gelu" not in str(EPILOGUES[epilogue].activation))


def test_where_a_lies_along_k_they_are_taken():
    plan = plan_of(Config(256, 160, cluster=(2, 1)), problem_of(512, 512, 512, TFloat32), (True, True), ALIGNED, H200)
    assert plan.tiler_mnk == (256, 160, 32)
