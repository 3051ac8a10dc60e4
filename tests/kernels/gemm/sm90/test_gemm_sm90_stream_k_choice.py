"""When gemm_sm90 shares tiles along K: where its model expects that to save much of the time."""

from __future__ import annotations

import pytest

from tilewright import BFloat16
from tilewright.devices import H200
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.sm90.choose import Config, Sm90Configs, _rank, considered, plan_of, shared
from tilewright.kernels.gemm.sm90.cost import config_cost
from tilewright.kernels.gemm.sm90.cost import cost as expected

ALIGNED = (256, 256, 256)


@pytest.mark.parametrize(("m", "n", "k"), [(1536, 3072, 8192), (2304, 2304, 2304)])
def test_tiles_that_do_not_come_in_whole_rounds_may_be_shared(m, n, k):
    """Where that is expected to save a twentieth of the time of a configuration; another one may be faster still."""
    problem, config = problem_of(m, n, k, BFloat16), Config(128, 256, cluster=(2, 1))
    one = shared(config, problem, H200)
    assert one is not None
    plan = plan_of(one, problem, (True, True), ALIGNED, H200)
    assert (plan.kernel_name, plan.stream_k_ctas) == ("sm90", 132)
    assert plan.stream_k.tiles % plan.stream_k.workers
    alone = config_cost(config, problem, H200).seconds
    assert expected(plan, H200).seconds < Sm90Configs.of(H200).shared_gain * alone


@pytest.mark.parametrize(
    ("m", "n", "k"), [(4096, 4096, 4096), (8192, 8192, 8192), (1000, 1000, 1000), (128, 4096, 4096), (4224, 4096, 256)]
)
def test_whole_rounds_and_short_sums_are_not(m, n, k):
    problem = problem_of(m, n, k, BFloat16)
    assert choose_gemm(problem, ALIGNED, H200).kernel_plan.stream_k_ctas == 0
    if m >= 4096 and k >= 4096:  # hardly a wave is lost, so that nothing is looked at
        assert not any(plan.stream_k_ctas for plan, _ in considered(problem, ALIGNED, H200))


def test_the_time_of_shares_is_that_of_the_work():
    """A tile more takes as long as its part of the work, and what it costs to leave sums and to add them."""
    sharing = Config(128, 256, stream_k_ctas=132)

    def problem(rows, columns):
        return problem_of(128 * rows, 256 * columns, 4096, BFloat16)

    def time(rows, columns, config):
        return config_cost(config, problem(rows, columns), H200).without("sums")

    one, some, two = (time(*tiles, sharing) for tiles in ((11, 12), (11, 18), (22, 12)))
    assert some == pytest.approx((one + two) / 2, rel=0.03)
    assert one == pytest.approx(time(11, 12, Config(128, 256)), rel=0.001)
    assert time(19, 7, sharing) < 0.62 * time(19, 7, Config(128, 256))  # a tile more than the machine has
    cost = config_cost(sharing, problem(19, 7), H200)
    assert 2e-6 < cost.seconds - cost.without("sums") < 20e-6
    plan = plan_of(Config(128, 256), problem(19, 7), (True, True), ALIGNED, H200)
    assert plan is not None
    assert expected(plan.replace(stream_k_ctas=132), H200) == cost


def test_what_is_sorted_is_their_rank():
    problem = problem_of(1536, 3072, 8192, BFloat16)
    numbers = Sm90Configs.of(H200)
    ranks = [_rank(plan.stream_k_ctas, cost.seconds, numbers) for plan, cost in considered(problem, ALIGNED, H200)]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    ("config", "k"),
    [
        (Config(128, 128, ping_pong=True), 4096),
        (Config(128, 64, split_k=2), 4096),
        (Config(64, 32, 1, resident=2), 4096),
        (Config(64, 128, 1, cluster=(2, 2)), 4096),
        (Config(192, 192, 3), 4096),
        (Config(128, 256), 512),  # few steps
        (Config(256, 128), 4096),  # a whole round
    ],
    ids=str,
)
def test_configurations_that_are_not_tried_with_shares(config, k):
    problem = problem_of(256 * 12, 128 * 11, k, BFloat16)
    assert shared(config, problem, H200) is None
    assert shared(Config(128, 256), problem_of(1536, 3072, 8192, BFloat16), H200).stream_k_ctas == 132
