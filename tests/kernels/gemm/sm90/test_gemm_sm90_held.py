"""gemm_sm90 with B in shared memory for all tiles of a CTA: run on the CPU, its numbers, refused, and compiled."""

from __future__ import annotations

import numpy as np
import pytest

from host_gemms import Gemm, decoded, encoded
from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Int8, Int32, LayoutError, TFloat32
from tilewright.devices import H200
from tilewright.kernels.gemm.host import run_on_host
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90.cases import cases_of
from tilewright.kernels.gemm.sm90.choose import Config, _majors, choose, given, plan_of, tiled_mma_of
from tilewright.kernels.gemm.sm90.cost import config_cost, cost
from tilewright.kernels.gemm.sm90.shared_operand import smem_layout
from tilewright.runtime.compiler import compile_program
from tilewright.runtime.discovery import kernels_folder

ALIGNED = (256, 256, 256)
CONFIGS = {
    "64x16": Config(64, 16, 1),
    "64x64, two a multiprocessor": Config(64, 64, 1, resident=2, stages=6),
    "128x24": Config(128, 24),
    "128x128": Config(128, 128),
    "192x64": Config(192, 64, 3),
    "256x64": Config(256, 64),
    "ping-pong": Config(64, 64, ping_pong=True),
}
EPILOGUES = {
    "plain": Epilogue(),
    "all along n": Epilogue(2, -1, "n", Float32, 1, "relu"),
    "all along m": Epilogue(-1, 2, "m", Float32, 2),
    "bias, gelu": Epilogue(bias="n", bias_type=Float32, bias_stride=1, activation="gelu"),
}
# The type, contiguous modes of A and B, and the type of C.
TYPES = {
    "bf16": (BFloat16, "k", "k", None), "fp16 to fp32, B along N": (Float16, "m", "n", Float32),
    "tf32": (TFloat32, "k", "k", None), "tf32, A along M": (TFloat32, "m", "k", None),
    "fp8": (Float8E4M3FN, "k", "k", BFloat16), "int8": (Int8, "k", "k", Int32),
}  # fmt: skip


def enough(config):
    """Rows of so many tiles that CTAs have several."""
    return config.bM * (2 * H200.multiprocessors * config.resident + 1)


def held(config, problem):
    plan = plan_of(config, problem, _majors(problem, ALIGNED), ALIGNED, H200)
    assert plan is not None
    assert plan.held_b == -(-problem.k // plan.tiler_mnk[2])
    return plan


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("name", CONFIGS)
def test_it_computes_what_stages_of_both_compute(name, types):
    """Fewer multiprocessors do with fewer rows; a last tile is ragged, and so may be the step along K."""
    dtype, a, b, out = TYPES[types]
    config, few = CONFIGS[name], H200._replace(multiprocessors=2)
    b = b if config.bN % 64 == 0 else "k"  # boxes along N have 64 elements
    for i, epilogue in enumerate((EPILOGUES["plain"], EPILOGUES["all along n"], EPILOGUES["all along m"])):
        if epilogue.bias and dtype is Int8:
            epilogue = epilogue._replace(bias_type=Int32)
        m, n, k = config.bM * (4 * config.resident + 1) + 16 * i, config.bN - 8 * (i == 1), 16 * (3 + 5 * i)
        gemm = Gemm(m, n, k, dtype, a=a, b=b, most=1, out=out, epilogue=epilogue)
        plan = plan_of(config, gemm.problem, _majors(gemm.problem, ALIGNED), ALIGNED, few)
        assert plan.held_b == -(-k // plan.tiler_mnk[2])
        addresses = [0 if x is None else x.ctypes.data for x in (gemm.a, gemm.b, gemm.c, gemm.bias)]
        run_on_host(plan, *addresses)
        np.testing.assert_array_equal(decoded(gemm.c, gemm.problem.c_type), gemm.expected())
        gemm.c[...] = encoded(gemm.before, gemm.problem.c_type)
        report = run_on_host(plan, *addresses, check=True)
        assert report, f"{plan}\n{report}"


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_its_tables_are_those_of_stages_of_both(config):
    """Where a consumer reads B in a stage it reads it in what is held, at the same offsets."""
    plan = held(config, problem_of(enough(config), config.bN, 192, BFloat16))
    other = plan_of(config._replace(stages=plan.stages), plan.problem._replace(m=64), (True, True), ALIGNED, H200)
    assert other.held_b == 0
    mine, theirs = plan.tables().b, other.tables().b
    assert mine.stage_elements == theirs.stage_elements
    assert (mine.matrix == theirs.matrix).all()
    assert str(plan.smem_b) == str(smem_layout(BFloat16, config.bN, 64, 3, True))
    assert "stages, of A alone," in str(plan)
    assert "of A alone" not in str(other)


# ---- when B stays ----------------------------------------------------------------------------------------------------


def test_b_stays_where_ctas_have_several_tiles_one_wide():
    config = Config(128, 64)
    m = enough(config)

    def steps(m, n, k, config=config, **options):
        return int(cases_of((config,), problem_of(m, n, k, BFloat16, **options), H200).held[0])

    assert steps(m, 64, 128) == steps(m, 40, 120) == 2
    assert steps(m, 65, 128) == 0  # two tiles wide
    assert steps(m - 128, 64, 128) == 2
    assert steps(m - 256, 64, 128) == 0  # one multiprocessor has one tile only
    assert steps(m, 64, 512) == 8
    assert steps(m, 64, 520) == 0  # more steps than are held
    assert steps(m, 64, 128, batch=(2,)) == 0
    assert steps(m, 64, 128, config._replace(cluster=(2, 1))) == 0
    assert steps(m, 64, 128, config._replace(split_k=2)) == 0
    assert steps(m, 64, 128, config._replace(stream_k_ctas=132)) == 0
    assert steps(enough(Config(64, 256, 1)), 256, 512, Config(64, 256, 1)) == 0  # no room for stages of A


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_stages_of_a_are_not_fewer_for_it(config):
    for k in (64, 136, 320, 512):
        problem = problem_of(enough(config), config.bN, k, BFloat16)
        case, alone = cases_of((config,), problem, H200), cases_of((config,), problem._replace(m=64), H200)
        assert case.held[0] in (0, -(-k // 64))
        assert case.stages[0] >= min(alone.stages[0], 3)
        plan = plan_of(config, problem, (True, True), ALIGNED, H200)
        assert (plan.held_b, plan.stages) == (case.held[0], case.stages[0])
        assert config.resident * (plan.shared_bytes + 1024) <= H200.shared_bytes + 1024


def test_such_a_plan_is_chosen_and_costs_what_was_expected():
    """83136x24x128 took 31 ns a tile on an H200 while each tile brought its B."""
    problem = problem_of(83136, 24, 128, BFloat16)
    plan = choose(problem, ALIGNED)
    assert plan.held_b == 2
    assert not plan.swapped
    config = Config(128, 32)
    one = held(config, problem)
    seconds = cost(one, H200).seconds
    assert seconds == config_cost(config, problem, H200).seconds
    back = one.replace(held_b=0, smem_b=smem_layout(BFloat16, 32, 64, one.stages, True))
    assert cost(back, H200).seconds > seconds  # the plan's own fields count, not what would be chosen


def test_a_tiled_mma_that_is_given_holds_b_unless_stages_are_given():
    problem = problem_of(128 * 264, 64, 128, BFloat16)
    tiled_mma = tiled_mma_of(problem, 64, 2, (True, True))
    assert given(problem, tiled_mma, None, None, None, None, ALIGNED).held_b == 2
    assert given(problem, tiled_mma, None, None, None, 3, ALIGNED).held_b == 0


# ---- other sizes -----------------------------------------------------------------------------------------------------


def test_for_other_sizes_b_stays_where_it_can():
    config = Config(128, 64)
    plan = held(config, problem_of(enough(config), 64, 192, BFloat16))
    for m, n, k in ((enough(config), 64, 192), (100, 33, 64), (100, 64, 136)):
        assert plan.for_problem(problem_of(m, n, k, BFloat16)).held_b == 3
    for m, n, k, batch in ((4096, 64, 256, ()), (4096, 72, 64, ()), (4096, 64, 64, (2,))):
        problem = problem_of(m, n, k, BFloat16, batch=batch)
        other = plan.for_problem(problem)
        assert other.problem == problem
        assert other.held_b == 0
        assert 2 <= other.stages <= plan.stages
        assert other.shared_bytes <= H200.shared_bytes
        assert other.for_problem(plan.problem).held_b == 0
    few = held(Config(64, 64, 1, stages=20), problem_of(64 * 265, 64, 64, BFloat16))
    assert few.for_problem(problem_of(64, 64, 4096, BFloat16)).shared_bytes <= few.shared_bytes + 1024


# ---- refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"held_b": 1}, "held_b is 1, but B has 2 steps along K; use held_b=0, or as many"),
        ({"cluster_mn": (2, 1)}, "these are clusters of 2, 0 CTAs that share tiles, batches () and 64 columns"),
        ({"stream_k_ctas": 132}, "these are clusters of 1, 132 CTAs that share tiles, batches () and 64 columns"),
        ({"held_b": 3}, "smem_b S<3,3,3> o 0 o ((8,8),(64,1),(1,2)):((64,512),(1,0),(0,4096)) has 2 stages, but the"),
        ({"held_b": 0}, "has 2 stages, but the plan 3; give it with as many"),
        ({"held_b": -1}, "held_b is -1"),
    ],
)
def test_what_cannot_be_held_is_refused(change, words):
    plan = held(Config(128, 64), problem_of(128 * 265, 64, 128, BFloat16))
    with pytest.raises((LayoutError, TypeError, ValueError)) as caught:
        plan.replace(**change)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (problem_of(4096, 64, 192, BFloat16), "held_b is 2, but B has 3 steps along K"),
        (problem_of(4096, 65, 128, BFloat16), "batches () and 65 columns; use held_b=0"),
        (problem_of(4096, 64, 128, BFloat16, batch=(3,)), "batches (3) and 64 columns; use held_b=0"),
    ],
    ids=str,
)
def test_problems_whose_b_cannot_be_held_are_refused(problem, words):
    plan = held(Config(128, 64), problem_of(128 * 265, 64, 128, BFloat16))
    with pytest.raises(LayoutError, match=r"gemm_sm90: the tile \(128,64,64\): held_b is 2") as caught:
        plan.replace(problem=problem)
    assert words in str(caught.value)


# ---- compiled --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "options"), [(BFloat16, {}), (TFloat32, {"out": Float32}), (Int8, {"c": "m"})])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_shared_memory_is_what_the_kernel_has(compiler, config, dtype, options):
    """Asserted by the compiler, in a program that has nothing else."""
    text = (kernels_folder() / "gemm_sm90.cuh").read_text()
    names = []
    for i, (store, epilogue) in enumerate((s, e) for s in (None, "singles") for e in EPILOGUES.values()):
        if dtype is Int8 and epilogue.bias:
            epilogue = epilogue._replace(bias_type=Int32, activation=None)
        problem = problem_of(enough(config), config.bN, 128 // (dtype.bits // 8), dtype, epilogue=epilogue, **options)
        plan = held(config, problem)
        plan = plan if store is None else plan.replace(store=store)
        template = plan.name.removeprefix("gemm_sm90<").removesuffix(">")
        text += f"\nusing Asked{i} = {template};\nstatic_assert(sizeof(Asked{i}::Shared) == {plan.shared_bytes});\n"
        names.append(f"probe<Asked{i}>")
    compile_program("gemm_sm90", names, "sm_90a", source=text + "template <class T> __global__ void probe() {}\n")


OTHERS = [
    ("64x16", "fp8"), ("128x128", "fp8"), ("256x64", "tf32"), ("ping-pong", "tf32"), ("256x64", "tf32, A along M"),
    ("256x64", "fp16 to fp32, B along N"),
]  # fmt: skip


@pytest.mark.parametrize("epilogue", ["plain", "bias, gelu"])
@pytest.mark.parametrize(("name", "types"), [*((name, "bf16") for name in CONFIGS), *OTHERS])
def test_it_compiles_without_spills(compiler, name, types, epilogue):
    dtype, a, b, out = TYPES[types]
    config = CONFIGS[name]
    options = {"out": out, "a": a, "b": b, "epilogue": EPILOGUES[epilogue]}
    plan = held(config, problem_of(enough(config), config.bN, 256, dtype, **options))
    program = plan.compile("sm_90a")
    report = program.report[plan.name]
    assert (report.spill_bytes, report.stack_bytes) == (0, 0)
    assert "C75" not in program.log, "the compiler serialises wgmma or ignores setmaxnreg"
