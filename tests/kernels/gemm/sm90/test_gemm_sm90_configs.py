"""All configurations of gemm_sm90 at once: what they cost, what splits store, and the largest ones compiled."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Int8, LayoutError, TFloat32
from tilewright.devices import H200
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90.cases import cases_of, stacked
from tilewright.kernels.gemm.sm90.choose import Config, Sm90Configs, _majors, choose, plan_of, shared
from tilewright.kernels.gemm.sm90.conditions import stores_of
from tilewright.kernels.gemm.sm90.cost import Sm90Model, config_cost, cost, costs, one_of
from tilewright.kernels.gemm.sm90.plan import N_EXTENTS
from tilewright.kernels.gemm.sm90.stores import BY_BOXES, STORES

ALIGNED = (256, 256, 256)
CONFIGS = Sm90Configs.of(H200).configs
SHARED = Config(128, 256, cluster=(2, 1), stream_k_ctas=132), Config(128, 128, stream_k_ctas=132)
# Types, and the contiguous modes of A and B that wgmma reads.
TYPES = [(BFloat16, "kk"), (BFloat16, "kn"), (Float16, "mn"), (TFloat32, "kk"), (TFloat32, "mk"), (Int8, "kk")]


def problems(count, seed):
    drawn = random.Random(seed)
    for i in range(count):
        dtype, orders = TYPES[i % len(TYPES)]
        m, n, k = (max(8, int(2 ** drawn.uniform(4, 14)) // 8 * 8) for _ in range(3))
        k = -(-k // 16) * 16  # rows of bytes begin at multiples of 16, too
        options = {"a": orders[0], "b": orders[1], "c": drawn.choice("nnm"), "batch": drawn.choice(((), (), (3,)))}
        epilogue = Epilogue() if dtype is Int8 else drawn.choice((Epilogue(), Epilogue(2.0, 1.0, "n", Float32, 1)))
        yield problem_of(m, n - drawn.choice((0, 0, 3)) * (orders[1] == "k"), k, dtype, epilogue=epilogue, **options)
    yield problem_of(83136, 24, 128, BFloat16)
    yield problem_of(100, 50000, 64, BFloat16)


# ---- costs -----------------------------------------------------------------------------------------------------------


def test_the_costs_of_many_are_those_of_each():
    """Alone, among the others, and stacked with those of other problems."""
    configs, together, alone = (*CONFIGS, *SHARED), [], []
    for problem in problems(18, 1):
        cases = cases_of(configs, problem, H200)
        found = costs(cases, H200)
        each = [config_cost(config, problem, H200) for config in configs]
        assert [one_of(found, i) for i in range(len(configs))] == each
        np.testing.assert_allclose(found.seconds, [one.seconds for one in each], rtol=1e-12)
        together.append(cases)
        alone += each
    found = costs(stacked(together), H200)
    assert [one_of(found, i) for i in range(len(alone))] == alone


def test_cases_are_what_plans_have():
    """The stages that fit, B that stays, how C is stored and in how many boxes; and the plan costs as much."""
    for problem in problems(12, 2):
        majors = _majors(problem, ALIGNED)
        cases = cases_of(CONFIGS, problem, H200, (256,) * 3)
        for i, config in enumerate(CONFIGS):
            plan = plan_of(config, problem, majors, ALIGNED, H200)
            if plan is None:
                continue
            assert (plan.stages, plan.held_b, plan.store) == (cases.stages[i], cases.held[i], STORES[cases.store[i]])
            assert config.resident * (plan.shared_bytes + 1024) <= H200.shared_bytes + 1024, config
            blocks = config.bM // 64 // plan.sharing
            if plan.store in BY_BOXES:
                assert cases.boxes[i] == blocks * config.bN // plan.box_columns // config.split_k
            assert cost(plan, H200) == config_cost(config, problem, H200)


def test_integers_have_fewer_widths():
    """wgmma of bytes has no 40 columns, for which the model would be asked and the atom would raise."""
    problem = problem_of(4096, 40, 4096, Int8)
    for bN in N_EXTENTS:
        plan = plan_of(Config(64, bN, 1), problem, (True, True), ALIGNED, H200)
        assert (plan is None) == (bN > 24 and bN % 16 > 0)
    for n in range(8, 264, 8):
        assert choose(problem_of(4096, n, 4096, Int8), ALIGNED) is not None
    assert plan_of(Config(64, 40, 1), problem_of(4096, 40, 4096, Float8E4M3FN), (True, True), ALIGNED, H200)


# ---- splits ----------------------------------------------------------------------------------------------------------


def finished(bM, bN, split_k, consumers):
    """The units of 8 columns by 64 rows that each CTA of a split finishes of a consumer's, as Sm90Split has them."""
    units = bM // 64 // consumers * bN // 8
    own = -(-units // split_k)
    return [max(min(own, units - rank * own), 0) for rank in range(split_k)]


def test_ctas_that_finish_other_parts_than_others_never_store_by_boxes():
    """What they have no sums of would be written: found on a GPU with 64x24 among four, whose last CTA has no unit."""
    assert finished(64, 24, 4, 1) == [1, 1, 1, 0]
    boxes = dict.fromkeys("nm", 0)
    problems = {c: problem_of(4096, 4096, 4096, BFloat16, c=c) for c in "nm"}
    paired = problem_of(4096, 4096, 4096, TFloat32, a="m", c="m")
    floats = problem_of(4096, 4096, 4096, BFloat16, out=Float32)
    for consumers, blocks, bN, split_k in itertools.product((1, 2, 3), (1, 2, 4), N_EXTENTS, range(2, 9)):
        bM = 64 * consumers * blocks
        parts = finished(bM, bN, split_k, consumers)
        for problem, rows in ((problems["n"], False), (problems["m"], False), (floats, False), (paired, True)):
            found = stores_of(problem, bM, bN, split_k, consumers, 256, rows)
            if len(set(parts)) > 1:
                assert not set(found) & set(BY_BOXES), (bM, bN, split_k, consumers)
            else:
                boxes["m" if problem.c_strides[0] == 1 else "n"] += found[0] in BY_BOXES
    assert min(boxes.values()) > 50  # of those that finish as much


def test_a_plan_of_such_a_split_is_refused():
    problem = problem_of(4096, 4096, 4096, BFloat16, c="m")
    plan = plan_of(Config(64, 24, 1, split_k=4), problem, (True, True), ALIGNED, H200)
    assert plan.store == "singles"
    with pytest.raises(LayoutError, match="of 4 CTAs each finishes columns that are no boxes of 8"):
        plan.replace(store="columns")


# ---- compiled --------------------------------------------------------------------------------------------------------

EPILOGUES = {
    "plain": Epilogue(),
    "beta": Epilogue(2.0, 0.5),
    "bias": Epilogue(bias="m", bias_type=Float32, bias_stride=1),
    "gelu": Epilogue(2.0, 0.5, "n", Float32, 1, "gelu"),
}


def largest():
    """Of configurations with as many consumers, in clusters, splits or alone, that with the most sums of a thread."""
    kinds = {}
    for config in CONFIGS:
        sharing = 1 if config.ping_pong else config.consumers
        kind = config.consumers, config.ping_pong, config.cluster != (1, 1), config.split_k > 1
        kinds.setdefault(kind, []).append((config.bM * config.bN // sharing, config.bN, config))
    return [max(found)[-1] for found in kinds.values()]


@pytest.mark.parametrize(
    ("m", "n", "k", "b", "swapped", "tile", "split_k"),
    [
        (185, 4096, 14336, "n", True, (64, 192), 2),  # 37.3 us; A and B as they are 54.4
        (256, 3072, 8192, "k", False, (128, 96), 2),  # 27.4; 64 by 192 34.0
        (100, 5120, 5120, "k", False, (128, 80), 2),  # 17.7; 64 by 160 21.5
    ],
)
def test_few_clusters_ask_for_the_same_rows_of_the_larger_operand(m, n, k, b, swapped, tile, split_k):
    """On an H200. The memory brings the weights, and what several clusters ask for then takes longer."""
    plan = choose_gemm(problem_of(m, n, k, BFloat16, b=b), ALIGNED, H200)
    assert (plan.swapped, plan.tiler_mnk[:2], plan.split_k) == (swapped, tile, split_k)
    again = config_cost(Config(64, 192, 1, split_k=2), problem_of(256, 3072, 8192, BFloat16), H200)
    once = config_cost(Config(64, 192, 1, split_k=2), problem_of(3072, 256, 8192, BFloat16), H200)
    assert again.memory - once.memory == pytest.approx(2 * 3072 * 8192 * 2 / Sm90Model.of(H200).again)


@pytest.mark.parametrize(
    ("m", "tile", "cluster"),
    [
        (80, (128, 80), (4, 1)),  # 32.2 us; in two CTAs along K 35.3
        (128, (128, 128), (1, 8)),  # 33.7 us; in clusters of two 35.1
        (129, (128, 144), (4, 1)),  # 34.6 us; in clusters of two 36.0
    ],
)
def test_few_rows_are_brought_to_large_clusters(m, tile, cluster):
    """On an H200. The memory brings the weights, the L2 the same few rows to all CTAs."""
    plan = choose_gemm(problem_of(m, 14336, 4096, BFloat16), ALIGNED, H200)
    assert (plan.tiler_mnk[:2], plan.cluster_mn, plan.split_k) == (tile, cluster, 1)


def test_few_rows_that_break_sectors_are_asked_for_more_often():
    """On an H200 tiles of 128 by 32 take 2.9 us for 128 columns, 4.7 for 88."""
    hot = {
        n: config_cost(Config(128, 32), problem_of(3952, n, 128, BFloat16, b="n").swapped(), H200).hot
        for n in (88, 128)
    }
    assert hot[88] > 4 * hot[128]
    shared = config_cost(Config(128, 32, cluster=(1, 4)), problem_of(3952, 88, 128, BFloat16, b="n").swapped(), H200)
    assert shared.hot == pytest.approx(hot[88] / 4)


def test_splits_begin_each_wave_anew():
    """On an H200 80x14336x4096 takes 35.3 us in 112 tiles of two CTAs each, 32.2 where no tile is split."""
    launch = [
        config_cost(Config(128, 80, split_k=split), problem_of(14336, 80, 4096, BFloat16), H200).launch
        for split in (1, 2)
    ]
    model = Sm90Model.of(H200)
    assert launch[1] - launch[0] == pytest.approx((model.split + model.anew) / model.clock)


@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("config", largest(), ids=str)
def test_the_largest_compile_without_spills(compiler, config, epilogue):
    """With tiles at the end that are whole, and that are not: then producers have more to count."""
    whole = config.bM * config.cluster[0] * 8, config.bN * config.cluster[1] * 8
    for m, n in (whole, (4104, 4104)):
        problem = problem_of(m, n, 4096, BFloat16, epilogue=EPILOGUES[epilogue])
        plan = plan_of(config, problem, (True, True), ALIGNED, H200)
        program = plan.compile("sm_90a")
        report = program.report[plan.name]
        assert (report.spill_bytes, report.stack_bytes) == (0, 0)
        assert "C75" not in program.log, "the compiler serialises wgmma or ignores setmaxnreg"


@pytest.mark.parametrize(("cluster", "bN"), [((2, 1), 144), ((1, 2), 176), ((2, 1), 192)])
def test_the_producer_beside_three_consumers_has_registers_enough(compiler, cluster, bN):
    """With 32 of them it spilled where both sides are ragged."""
    plan = plan_of(
        Config(192, bN, 3, cluster=cluster), problem_of(4096, 4104, 4096, BFloat16), (True, True), ALIGNED, H200
    )
    assert plan.ragged == (True, True)
    report = plan.compile("sm_90a").report[plan.name]
    assert (report.spill_bytes, report.stack_bytes) == (0, 0)


def test_clusters_that_stay_all_find_room():
    """Of four CTAs and more they have 120 of an H200's 132 multiprocessors; what is left over would begin late."""
    for cluster, workers in (((1, 1), 132), ((2, 1), 132), ((2, 2), 120), ((4, 2), 120)):
        config = Config(64, 64, 1, cluster=cluster)
        plan = plan_of(config, problem_of(8192, 8192, 512, BFloat16), (True, True), ALIGNED, H200)
        assert (plan.workers, plan.ctas) == (workers, workers)
        assert cost(plan, H200) == config_cost(config, plan.problem, H200)


def test_rows_that_begin_at_no_sector_cost_more():
    """Than those that begin at no line of the L2; whether they do is up to their pitch and their address."""
    config, found = Config(128, 128), {}
    for k, address in ((512, 128), (528, 128), (520, 128), (512, 32), (512, 16)):
        case = cases_of((config,), problem_of(4096, 4096, k, BFloat16), H200, (address, address, 128))
        found[k, address] = (costs(case, H200).l2 / case.steps).item()
    whole, lines, sectors = found[512, 128], found[528, 128], found[520, 128]
    assert whole < lines < sectors
    assert found[512, 32] == pytest.approx(lines)
    assert found[512, 16] == pytest.approx(sectors)


def test_tiles_beyond_the_largest_share_no_k():
    """640x14336x4096 by 256 by 160 with shares took 1.33 times as long as by other tiles without, on an H200."""
    problem = problem_of(14336, 640, 4096, BFloat16, c="m")
    assert shared(Config(256, 160, cluster=(2, 1)), problem, H200) is None
    assert shared(Config(128, 256, cluster=(2, 1)), problem, H200) is not None
