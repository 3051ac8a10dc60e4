"""The Hopper kernel's plans: each configuration run on the CPU as TMA and wgmma would, and compiled for sm_90a."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tilewright import (
    BFloat16,
    Float8E4M3FN,
    Float16,
    Float32,
    Float64,
    Int8,
    LayoutError,
    TFloat32,
    cute,
    kernels,
)
from tilewright.cute.atoms.mma_warpgroup import MmaF16BF16Op, MmaTF32Op, OperandMajorMode, OperandSource
from tilewright.devices import H200
from tilewright.kernels.gemm.host import run_on_host
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90.choose import (
    Config,
    Sm90Configs,
    _majors,
    choose,
    plan_of,
    tiled_mma_of,
    variants,
)
from tilewright.kernels.gemm.sm90.cost import config_cost
from tilewright.kernels.gemm.sm90.plan import GemmSm90
from tilewright.kernels.gemm.sm90.shared_operand import shared_operand, smem_layout

torch = pytest.importorskip("torch")

ALIGNED = (256, 256, 256)
CONFIGS = Sm90Configs.of(H200).configs
NARROW = CONFIGS[CONFIGS.index(Config(64, 80, 1, split_k=2)) :]  # of fewer columns than most, or of more
TORCH = {
    BFloat16: torch.bfloat16, Float16: torch.float16, Float32: torch.float32, TFloat32: torch.float32, Int8: torch.int8,
    Float8E4M3FN: torch.float8_e4m3fn,
}  # fmt: skip

# m, n, k, type, contiguous modes of A, B and C, output: ragged in every mode, all majors, all widths.
PROBLEMS = [
    (136, 264, 136, BFloat16, "k", "k", "n", None),
    (200, 264, 136, BFloat16, "m", "k", "n", None),
    (200, 264, 72, Float16, "k", "n", "n", Float32),
    (72, 144, 136, BFloat16, "m", "n", "n", None),
    (200, 263, 136, BFloat16, "k", "k", "m", None),
    (200, 264, 72, Float16, "k", "n", "m", None),
    (130, 100, 288, TFloat32, "k", "k", "n", None),
    (132, 200, 104, TFloat32, "m", "k", "n", None),
    (132, 200, 104, TFloat32, "m", "k", "m", None),
    (130, 100, 1040, Int8, "k", "k", "n", None),
    (130, 104, 160, Float8E4M3FN, "k", "k", "n", None),
]


def matrix(rows, k, dtype, contiguous):
    x = torch.randn(rows, k) if contiguous == "k" else torch.randn(k, rows).t()
    if dtype is Int8:
        x = (x * 30).round().clamp(-128, 127)
    return x.to(TORCH[dtype])


def run(plan, a, b, c, check=False):
    return run_on_host(plan, a.data_ptr(), b.data_ptr(), c.data_ptr(), check=check)


def plans(problem, alignments=ALIGNED):
    majors = _majors(problem, alignments)
    assert majors is not None
    found = [plan_of(config, problem, majors, alignments, H200) for config in CONFIGS]
    return [plan for plan in found if plan is not None]


@pytest.mark.parametrize(("m", "n", "k", "dtype", "a", "b", "c", "out"), PROBLEMS)
def test_every_configuration_multiplies_and_keeps_its_pipeline(m, n, k, dtype, a, b, c, out):
    torch.manual_seed(m + n + k)
    problem = problem_of(m, n, k, dtype, a=a, b=b, c=c, out=out)
    A, B = matrix(m, k, dtype, a), matrix(n, k, dtype, b)
    reference = A.double() @ B.double().t()
    found = plans(problem)
    assert len(found) > 15
    found = found[:: 1 if (m, a) == (136, "k") else 4]
    for plan in found:
        C = torch.full((m, n) if c == "n" else (n, m), 7, dtype=TORCH.get(problem.c_type, torch.int32))
        C = C if c == "n" else C.t()
        run(plan, A, B, C)
        error = ((C.double() - reference).norm() / reference.norm()).item()
        assert error < (3e-3 if dtype is not Int8 else 1e-12), plan
        assert run(plan, A, B, C, check=True), plan


def test_batches_and_what_is_broadcast_over_them():
    torch.manual_seed(0)
    A, B = torch.randn(3, 130, 72).half(), torch.randn(100, 72).half()
    problem = problem_of(130, 100, 72, Float16, batch=(3,))._replace(b_strides=(72, 1, 0))
    for plan in plans(problem)[::6]:
        C = torch.zeros(3, 130, 100, dtype=torch.float16)
        run(plan, A, B, C)
        np.testing.assert_allclose(C.double(), A.double() @ B.double().t(), rtol=2e-3, atol=2e-2)


def test_products_of_tf32_are_of_rounded_operands():
    """TMA rounds to the nearest; what is cut off instead would be off by more than a unit of the 10th bit."""
    problem = problem_of(64, 8, 32, TFloat32)
    A, B = torch.full((64, 32), 1 + 0.75 * 2.0**-10), torch.ones(8, 32)
    C = torch.zeros(64, 8)
    run(choose(problem, ALIGNED), A, B, C)
    assert (C == 32 * (1 + 2.0**-10)).all()


# ---- what is chosen ----


def test_what_tma_cannot_bring_is_left_to_other_kernels():
    assert choose(problem_of(64, 64, 63, BFloat16), ALIGNED) is None  # rows of 126 bytes
    assert choose(problem_of(64, 64, 64, BFloat16), (8, 256, 256)) is None
    assert choose(problem_of(64, 64, 64, TFloat32, b="n"), ALIGNED) is None
    assert choose(problem_of(64, 64, 64, Float64), ALIGNED) is None
    assert choose(problem_of(64, 64, 0, BFloat16), ALIGNED) is None
    reversed_rows = problem_of(64, 64, 64, BFloat16)._replace(a_strides=(-64, 1))
    assert choose(reversed_rows, ALIGNED) is None


def test_the_address_and_rows_of_c_decide_how_it_is_stored():
    def store(problem, alignment=256):
        return choose(problem, (256, 256, alignment)).store

    assert store(problem_of(1024, 1024, 512, BFloat16)) == "boxes"
    assert store(problem_of(1024, 1024, 512, BFloat16), 8) == "lines"
    assert store(problem_of(1024, 1024, 512, BFloat16), 2) == "lines"
    assert store(problem_of(1024, 1022, 512, BFloat16, b="k")) == "lines"
    assert store(problem_of(1024, 1023, 512, BFloat16)) == "lines"
    # Rows of 1020 elements in rows of 1024: TMA would write the four behind them.
    assert store(problem_of(1024, 1020, 512, BFloat16, pads=(0, 0, 4))) == "lines"
    assert store(problem_of(1024, 1024, 512, BFloat16, c="m")) == "columns"
    for problem, alignment in (
        (problem_of(512, 512, 512, BFloat16, c="m"), 8),
        (problem_of(508, 512, 512, BFloat16, c="m", pads=(0, 0, 4)), 256),  # columns of 1016 bytes
        (problem_of(512, 512, 512, BFloat16, c="m", pads=(0, 0, 4)), 256),  # that begin at 8 bytes
        (problem_of(512, 512, 512, BFloat16, c="m", out=Float32), 256),
        (problem_of(512, 512, 512, Int8, c="m", out=Int8), 256),
    ):
        assert store(problem, alignment) == "singles"
    # Rows of a few bytes are not worth a way through shared memory.
    assert store(problem_of(512, 6, 4096, BFloat16)) == "pairs"
    assert store(problem_of(512, 7, 4096, BFloat16)) == "singles"


def test_large_problems_get_large_tiles_and_small_ones_fill_the_device():
    large = choose(problem_of(8192, 8192, 8192, BFloat16), ALIGNED)
    small = choose(problem_of(1024, 1024, 1024, BFloat16), ALIGNED)
    gemv = choose(problem_of(4096, 1, 4096, BFloat16), ALIGNED)
    areas = [plan.tiler_mnk[0] * plan.tiler_mnk[1] for plan in (large, small, gemv)]
    assert areas == sorted(areas, reverse=True)
    for plan in (large, small, gemv):
        assert 0.9 * H200.multiprocessors <= plan.ctas <= H200.multiprocessors
    assert gemv.tiler_mnk[1] == 8
    assert gemv.split_k > 1
    bM, bN, _ = large.tiler_mnk
    (found, *_) = [x for x in CONFIGS if (x.bM, x.bN, x.cluster) == (bM, bN, large.cluster_mn)]
    times = {x: config_cost(x, large.problem, H200).seconds for x in (found, *CONFIGS)}
    assert times[found] == min(times.values())
    assert variants(large.problem, ALIGNED)[0] == large


@pytest.mark.parametrize(
    ("k_major", "sharers", "rows", "beside", "last", "ragged"),
    [
        (True, 1, 256, 1, 128, False),
        (True, 1, 257, 1, 8, True),
        (True, 1, 249, 1, 128, False),  # 121 rows, in eights as many as all of them
        (True, 2, 257, 1, 8, True),  # one of two CTAs brings rows behind the end
        (True, 2, 200, 1, 40, True),
        (True, 4, 500, 1, 32, False),
        (True, 1, 384, 2, 128, True),  # the last tile of a cluster of two has no rows
        (False, 1, 1000, 1, 64, False),
        (False, 1, 190, 1, 64, True),  # one box of two
    ],
)
def test_boxes_of_the_last_tile(k_major, sharers, rows, beside, last, ragged):
    layout = smem_layout(BFloat16, 128, 64, 2, k_major)
    operand = shared_operand(layout, BFloat16, 128, 64, k_major, sharers)
    inside = (rows - 1) % 128 + 1
    assert operand.is_ragged(rows, beside) == ragged
    box = operand.last_box(rows)
    assert box == ((64, last) if k_major else (64, 64))
    if k_major:
        assert box[1] % 8 == 0
        assert inside <= box[1] * sharers <= 128


def test_the_parameter_holds_a_map_more_where_the_last_tile_is_smaller():
    for rows, maps, end in ((256, [(0, 0, 0), (1, 128, 0)], 256), (257, [(0, 0, 0), (0, 128, 0), (1, 320, 0)], 448)):
        plan = plan_of(Config(128, 128), problem_of(rows, 256, 64, BFloat16), (True, True), ALIGNED, H200)
        assert plan.tensor_maps() == [*maps, (2, end, 0)]
        assert plan.pointers()[0] == (2, end + 128, 0)
        assert plan.name.count("true>") == (rows == 257)


def test_short_kernels_overlap_the_one_before():
    assert choose(problem_of(1024, 1024, 1024, BFloat16), ALIGNED).programmatic
    assert not choose(problem_of(8192, 8192, 8192, BFloat16), ALIGNED).programmatic


def test_a_plan_is_its_fields_and_changes_by_replace():
    plan = choose(problem_of(512, 512, 512, BFloat16), ALIGNED)
    other = plan.replace(group=4)
    assert other != plan
    assert other.name == plan.name
    assert other.replace(group=plan.group) == plan
    assert "wgmma.mma_async.sync.aligned.m64" in str(plan)
    assert str(plan.smem_a) in str(plan)
    assert plan.shared_bytes <= H200.shared_bytes


# ---- what is refused ----


def plan_for(**fields):
    base = plan_of(CONFIGS[1], problem_of(512, 512, 512, BFloat16), (True, True), ALIGNED, H200)
    return base.replace(**fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"tiler_mnk": (128, 128, 64)}, "an instruction has 256 columns"),
        ({"tiler_mnk": (96, 256, 64)}, "bM must be a multiple of 64 rows of 2 warpgroups"),
        ({"tiler_mnk": (128, 256, 32)}, "bK of BFloat16 must be 64"),
        ({"tiler_mnk": (256, 256, 64)}, "a warpgroup adds up at most 64 x 320"),
        ({"cluster_mn": (4, 4)}, "at most 8 CTAs in a cluster"),
        ({"split_k": 2, "cluster_mn": (2, 1)}, "CTAs that share a tile along K are a cluster of their own"),
        ({"split_k": 2}, "of 2 CTAs each gets 65536 bytes of sums, more than a stage, 49152"),
        ({"ping_pong": True}, "in ping-pong each has its own"),
        ({"stages": 3}, "has 4 stages, but the plan 3"),
        ({"stages": 1}, "there must be two stages or more"),
        ({"smem_a": cute.make_layout((128, 64, 4))}, "TMA puts it at"),
        ({"smem_b": smem_layout(BFloat16, 256, 64, 4, False)}, "TMA puts it at"),
    ],
)
def test_fields_that_the_kernel_does_not_take_are_refused(fields, words):
    with pytest.raises(LayoutError, match="gemm_sm90") as caught:
        plan_for(**fields)
    assert words in str(caught.value)


def test_the_first_element_that_lies_elsewhere_is_named():
    with pytest.raises(LayoutError) as caught:
        plan_for(smem_a=smem_layout(BFloat16, 128, 64, 4, False))
    assert caught.value.counterexample == (0, 1, 0)
    assert "element (0,1) of stage 0 lies at 72, but TMA puts it at 1" in str(caught.value)


def test_types_and_kinds_that_do_not_fit_are_refused():
    problem = problem_of(512, 512, 512, Float16)
    with pytest.raises(TypeError, match="the problem has Float16"):
        plan_for(problem=problem)
    with pytest.raises(TypeError, match="expected tiled_mma to be a TiledMma of wgmma"):
        plan_for(tiled_mma=cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (16, 16, 1)))
    with pytest.raises(TypeError, match="store is 'rows'"):
        plan_for(store="rows")
    two = tiled_mma_of(problem_of(64, 64, 64, BFloat16), 256, 1, (True, True))
    with pytest.raises(LayoutError, match="adds up at most"):
        plan_for(tiled_mma=two, tiler_mnk=(128, 256, 64))


# ---- A through registers ----


def registers_for(along="n", **fields):
    problem = problem_of(512, 512, 512, TFloat32, a="m", c=along)
    return plan_of(CONFIGS[1], problem, (False, True), ALIGNED, H200).replace(**fields)


def test_the_threads_rows_are_those_that_the_kernel_reads():
    """kernels/tilewright/sm90_rows.cuh: two rows next to each other; half a warp reads 16 bytes in eight places."""
    plan = registers_for()
    coord = plan.tables().mma.c_coord.reshape(256, -1, 2)
    lane = np.arange(256)
    warp, group = lane % 128 // 32, lane % 32 // 4
    first = warp // 2 * 32 + warp % 2 * 8 + group % 2 * 2 + group // 2 % 2 * 16 + group // 4 * 4 + lane // 128 * 64
    assert (coord[:, 0, 0] == first).all()
    assert (coord[:, 2, 0] == first + 1).all()
    read = plan.tables().a.fragment[:16].reshape(16, -1, 2)  # 8 bytes of each lane, one access after the other
    assert (read[..., 1] == read[..., 0] + 1).all()
    banks = np.sort(read.transpose(1, 0, 2).reshape(-1, 32) % 32)
    assert (banks == np.arange(32)).all(), "each access of half a warp reads every bank once"


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"store": "columns"}, ValueError, "can be stored as boxes, but the plan stores columns"),
        (
            {"tiled_mma": cute.make_tiled_mma(MmaTF32Op((64, 256, 8), OperandSource.RMEM), (2, 1, 1))},
            LayoutError,
            "the permutation ((2,2,2),2,(2,2),2):((2,16,4),1,(8,32),64) of M",
        ),
        (
            {"tiled_mma": cute.make_tiled_mma(MmaTF32Op((64, 256, 8), OperandSource.SMEM), (2, 1, 1))},
            LayoutError,
            "TMA puts it at",
        ),
        ({"smem_a": smem_layout(TFloat32, 128, 32, 4, True)}, LayoutError, "TMA puts it at"),
    ],
)
def test_what_does_not_go_through_registers_is_refused(fields, error, words):
    with pytest.raises(error) as caught:
        registers_for(**fields).require(256, 512, 1024, "plan.run")
    assert words in str(caught.value)


def test_other_types_do_not_go_through_registers():
    op = MmaF16BF16Op(BFloat16, Float32, (64, 256, 16), OperandSource.RMEM, OperandMajorMode.K, OperandMajorMode.K)
    with pytest.raises(ValueError, match="gets A from registers, which the kernel does for elements of 32 bits"):
        plan_for(tiled_mma=cute.make_tiled_mma(op, (2, 1, 1)))
    with pytest.raises(LayoutError, match="boxes of C have elements of 32 bits, and elsewhere those along M have 16"):
        plan_for(problem=problem_of(512, 512, 512, BFloat16, out=Float32), store="columns")
    with pytest.raises(ValueError, match="can be stored as boxes, but the plan stores columns"):
        plan_for(store="columns").require(256, 256, 256, "plan.run")


def test_a_tiled_mma_that_is_given_goes_through_registers():
    tiled_mma = tiled_mma_of(problem_of(128, 128, 64, TFloat32, a="m"), 128, 1, (False, True))
    torch.manual_seed(0)
    a, b = torch.randn(64, 128).t(), torch.randn(132, 64)
    plan = kernels.gemm.plan(a, b, tiled_mma=tiled_mma, allow_tf32=True, arch="sm_90a")
    assert (plan.kernel_name, plan.from_registers, plan.store) == ("sm90", True, "boxes")
    expected = a.double() @ b.double().t()
    assert (plan.run(a, b).double() - expected).norm() < 1e-3 * expected.norm()


def test_three_warpgroups_have_registers_for_fewer_sums():
    problem = problem_of(512, 512, 512, BFloat16)
    three = tiled_mma_of(problem, 256, 3, (True, True))
    with pytest.raises(LayoutError, match="of three warpgroups each adds up at most 64 x 192"):
        plan_for(tiled_mma=three, tiler_mnk=(192, 256, 64))


def test_what_32_bits_cannot_count_is_refused():
    plan = plan_for()
    long = plan.problem._replace(m=2**31 - 100, a_strides=(512, 1), c_strides=(512, 1))
    with pytest.raises(ValueError, match=r"plan\.run: M, N and K are 2147483548, 512 and 512.* in 31 bits"):
        plan.for_problem(long).require(256, 256, 256, "plan.run")


@pytest.mark.parametrize(
    ("change", "addresses", "words"),
    [
        ({}, (8, 256, 256), "mA (512,512):(512,1): it begins at a multiple of 8 bytes"),
        ({"b_strides": (511, 1)}, (256, 256, 256), "mB (512,512):(511,1): its stride 511 takes 1022 bytes"),
        ({"a_strides": (1, 512)}, (256, 256, 256), "its stride along K is 512, but must be 1"),
        ({"c_strides": (513, 1)}, (256, 256, 256), "can be stored as lines, but the plan stores boxes"),
        ({}, (256, 256, 4), "can be stored as lines, but the plan stores boxes"),
    ],
)
def test_tensors_that_break_what_the_plan_relies_on_are_refused(change, addresses, words):
    plan = plan_for()
    plan.require(256, 512, 1024, "plan.run")
    with pytest.raises(ValueError, match=r"plan\.run") as caught:
        plan.for_problem(plan.problem._replace(**change)).require(*addresses, "plan.run")
    assert words in str(caught.value)


# ---- compiled ----

EPILOGUES = {
    "plain": Epilogue(),
    "bias, relu": Epilogue(2.0, 0.5, "n", Float32, 1, "relu"),
    "gelu": Epilogue(activation="gelu"),
}


def compiled(plan: GemmSm90):
    program = plan.compile("sm_90a")
    return program, program.report[plan.name]


@pytest.mark.parametrize("along", ["n", "m"])
@pytest.mark.parametrize("config", CONFIGS[:10:3], ids=str)
def test_fragments_are_read_while_wgmma_runs(compiler, config, along):
    problem = problem_of(4096, 4096, 4096, TFloat32, a="m", c=along)
    plan = plan_of(config, problem, (False, True), ALIGNED, H200)
    program, report = compiled(plan)
    assert (report.spill_bytes, report.stack_bytes) == (0, 0)
    assert re.search(
        rf"m64n{config.bN}k8\.f32\.tf32\.tf32 \{{[^}}]*\}}, \{{(%r\d+, ){{3}}%r\d+\}}, %rd\d+", program.ptx
    )
    assert "C75" not in program.log, "the compiler serialises wgmma or ignores setmaxnreg"


@pytest.mark.parametrize("config", CONFIGS[::5] + NARROW)
def test_configurations_compile_without_spills(compiler, config):
    plan = plan_of(config, problem_of(4096, 4096, 4096, BFloat16), (True, True), ALIGNED, H200)
    program, report = compiled(plan)
    assert (report.spill_bytes, report.stack_bytes) == (0, 0)
    assert f"wgmma.mma_async.sync.aligned.m64n{config.bN}k16.f32.bf16.bf16" in program.ptx
    assert "C75" not in program.log, "the compiler serialises wgmma or ignores setmaxnreg"


@pytest.mark.parametrize("name", EPILOGUES)
@pytest.mark.parametrize("dtype", [Float16, TFloat32, Int8, Float8E4M3FN])
def test_types_and_epilogues_compile_without_spills(compiler, name, dtype):
    problem = problem_of(4096, 4096, 4096, dtype, epilogue=EPILOGUES[name])
    program, report = compiled(plan_of(CONFIGS[6], problem, (True, True), ALIGNED, H200))
    assert report.spill_bytes == 0
    assert "wgmma" in program.ptx
    assert "cp.async.bulk.tensor" in program.ptx


def test_operands_along_m_and_n_are_transposed_by_the_instruction(compiler):
    plan = plan_of(CONFIGS[0], problem_of(4096, 4096, 4096, BFloat16, a="m", b="n"), (False, False), ALIGNED, H200)
    _, report = compiled(plan)
    assert report.spill_bytes == 0
    a, b = plan.operands()
    assert (a.leading, a.stride, b.boxes) == (8192, 1024, 4)
