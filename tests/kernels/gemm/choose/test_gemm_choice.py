"""The rule by which plans are chosen, and the model behind it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Float64, Int8, LayoutError, TFloat32, kernels
from tilewright.devices import DEVICES, H200
from tilewright.kernels.gemm.choose.choose import choose_gemm, ranked
from tilewright.kernels.gemm.choose.estimate import estimate
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.composite.padded import PaddedGemm
from tilewright.kernels.gemm.composite.padding import pad
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.simt import build as gemm_simt
from tilewright.kernels.gemm.simt.plan import by_cp_async
from tilewright.kernels.gemm.sm90.cases import Config, cases_of

ALIGNED = (16, 16, 16)


def chosen(m, n, k, dtype, facts=H200, alignments=ALIGNED, **options):
    return choose_gemm(problem_of(m, n, k, dtype, **options), alignments, facts)


@pytest.mark.parametrize(
    ("dtype", "kernel"),
    [(Float16, "sm90"), (BFloat16, "sm90"), (TFloat32, "sm90"), (Float8E4M3FN, "sm90"), (Int8, "sm90"),
     (Float64, "sm80"), (Float32, "simt")],
)  # fmt: skip
@pytest.mark.parametrize("size", [1024, 4096])
def test_the_kernel_for_a_type(dtype, kernel, size):
    assert kernel == chosen(size, size, size, dtype).kernel_name


@pytest.mark.parametrize("dtype", [Float16, BFloat16, TFloat32, Float8E4M3FN, Int8, Float64, Float32])
@pytest.mark.parametrize(("m", "n", "k"), [(0, 64, 64), (64, 0, 64), (0, 0, 0), (64, 64, 0)])
def test_a_problem_without_elements_has_a_plan(m, n, k, dtype):
    problem = chosen(m, n, k, dtype).problem
    assert {(m, n, k), (n, m, k)} >= {(problem.m, problem.n, problem.k)}


@pytest.mark.parametrize(
    ("arch", "kernel"), [("sm_75", "simt"), ("sm_80", "sm80"), ("sm_86", "sm80"), ("sm_100a", "sm80")]
)
def test_the_kernel_for_a_device(arch, kernel):
    plan = chosen(1024, 1024, 1024, Float16, DEVICES[arch])
    assert kernel == plan.kernel_name
    plan.require_device(DEVICES[arch])
    assert chosen(1024, 1024, 1024, TFloat32, DEVICES["sm_75"]).problem.a_type is Float32


@pytest.mark.parametrize("arch", DEVICES)
@pytest.mark.parametrize("dtype", [Float16, BFloat16, TFloat32, Float8E4M3FN, Int8, Float64, Float32])
def test_every_device_offers_the_kind_of_plan_that_is_chosen(arch, dtype):
    found = ranked(problem_of(256, 256, 256, dtype), ALIGNED, DEVICES[arch])
    assert {plan.problem.a_type for plan in found} == {chosen(256, 256, 256, dtype, DEVICES[arch]).problem.a_type}
    for plan in found:
        plan.require_device(DEVICES[arch])


def test_what_is_asked_for_in_vain_is_said_with_what_there_is():
    x = np.zeros((64, 64), np.float32)
    with pytest.raises(ValueError, match=r"no kernel has a plan of 4 stages for these tensors, but of 2, 3; with"):
        kernels.gemm.plan(x, x, arch="sm_75", allow_tf32=True, stages=4)
    plan = kernels.gemm.plan(x, x, arch="sm_75", allow_tf32=True, stages=3)
    assert (plan.stages, plan.problem.a_type) == (3, Float32)
    assert plan.run(x, x).shape == (64, 64)


SOME = ((4096, 4096), (14336, 4096), (4096, 14336), (1024, 4096), (6144, 4096), (40000, 1024))


def test_a_and_b_change_places():
    for m, n, c, swapped in (
        (4096, 4096, "n", False),
        (4096, 4096, "m", True),
        (16, 4096, "n", True),
        (4096, 16, "n", False),
        (16, 4096, "m", True),
        (4096, 16, "m", False),
        (16, 16, "n", False),
    ):
        plan = chosen(m, n, 4096, BFloat16, c=c)
        assert plan.swapped == swapped, (m, n, c)
        rows = plan.problem.m
        assert rows == (n if swapped else m)


@pytest.mark.parametrize("m", [65, 80, 96, 129, 160])
def test_rows_that_fill_no_tile_are_the_columns_of_one(m):
    plan = chosen(m, 4096, 14336, BFloat16)
    assert plan.problem.n == m
    assert plan.tiles()[1] == 1 or plan.tiler_mnk[1] * plan.tiles()[1] - m < 64
    assert plan.ragged[1] or plan.tiler_mnk[1] - m < 8
    assert chosen(4096, m, 14336, BFloat16, c="m").problem.n == m


def test_both_ways_are_asked_for():
    ways = {m: [chosen(m, n, k, BFloat16).swapped for n, k in SOME] for m in (64, 2500)}
    assert all(ways[64])
    assert len(set(ways[2500])) == 2, "each way is expected to be the faster one of some problem"
    assert chosen(2304, 2304, 2304, BFloat16, b="n").swapped  # on an H200 37.2 us; as it lies 42.0
    adds = Epilogue(beta=1.0)  # C is read, too, and that by single elements where it lies across
    assert not any(chosen(200, n, k, BFloat16, epilogue=adds).swapped for n, k in SOME)


def test_rows_along_k_are_turned_for_fma_where_that_takes_less_time_than_it_gains():
    plan = chosen(4095, 4201, 4103, Float32)
    assert isinstance(plan, PaddedGemm)
    assert (plan.is_turned, plan.gemm.kernel_name, plan.sides) == (True, "simt", (True, True))
    assert (plan.gemm.problem.a_strides, plan.gemm.problem.b_strides) == ((1, 4096), (1, 4352))
    assert plan.for_problem(problem_of(4095, 4096, 4101, Float32)).gemm.problem.b_strides == (1, 4096)
    assert (plan.gemm.fragment_vector("a"), plan.gemm.copy_layout("a")[1:], plan.gemm.out_vector) == (4, (4, 0), 1)
    assert plan.gemm.smem_c is not None  # C's rows are misaligned, and written out of shared memory
    assert chosen(4095, 4201, 4103, Float32, a="m").sides == (True, True)
    assert chosen(4096, 4201, 4096, Float32, alignments=(4, 16, 16)).sides == (True, False)
    for aligned in (chosen(4096, 4096, 4096, Float32), chosen(257, 259, 261, Float32)):
        assert aligned.kernel_name == "simt"
    for shape in ((38, 4096, 14336), (120, 4096, 4096)):  # 163 us and 98 us; as they lie 178 and 107
        few = chosen(*shape, Float32, b="n")
        assert (few.sides, few.gemm.tiler_mnk, few.gemm.sliced_k) == ((True, False), (64, 64, 16), 2)
    assert isinstance(chosen(4096, 4096, 4096, Float32, alignments=(4, 16, 16)), PaddedGemm)
    assert chosen(4095, 4201, 4103, Float32, a="m", b="n").sides == (True, True)


@pytest.mark.parametrize("shape", [(5, 4096, 4096), (16, 4096, 4096), (64, 4096, 1000), (512, 512, 512)])
def test_small_tiles_of_fma_come_element_by_element_along_k(shape):
    """Their warps share the steps along K, and more of these are on their way than where elements are turned."""
    plan, large = chosen(*shape, Float32), chosen(4096, 4096, 4096, Float32)
    assert math.prod(plan.tiler_mnk[:2]) < math.prod(large.tiler_mnk[:2])
    assert plan.sliced_k > large.sliced_k == 1
    assert plan.stages >= 4
    assert by_cp_async(plan.tiled_copy_a)
    assert by_cp_async(plan.tiled_copy_b)
    assert (plan.copy_layout("a")[1], plan.copy_layout("b")[1]) == (1, 1)
    assert chosen(*shape, Float32, b="n").stages < 4  # measured only where both are along K
    assert chosen(*shape, Float32, DEVICES["sm_75"]).stages < 4  # no cp.async


def test_fewer_stages_where_shared_memory_is_smaller():
    small = DEVICES["sm_89"]
    plan, large = chosen(64, 4096, 1000, Float32, small), chosen(64, 4096, 1000, Float32)
    assert plan.stages < large.stages
    plan.require_device(small)
    large.require_device(small)  # one CTA of it at a time
    with pytest.raises(LayoutError, match="use fewer stages"):
        large.require_device(small._replace(shared_bytes=large.shared_bytes - 1))


@pytest.mark.parametrize("k", [4096, 4103])
@pytest.mark.parametrize("alignments", [(16, 16, 16), (2, 16, 16), (16, 2, 16)])
def test_copies_only_where_they_are_needed(k, alignments):
    plan = chosen(4096, 4096, k, BFloat16, alignments=alignments)
    sides = (k == 4103 or alignments[0] == 2, k == 4103 or alignments[1] == 2)
    if sides == (False, False):
        assert not isinstance(plan, PaddedGemm)
    else:
        assert isinstance(plan, PaddedGemm)
        assert plan.sides == sides
        assert plan.gemm.kernel_name == "sm90"


@pytest.mark.parametrize(("a", "b", "c"), [("m", "k", "n"), ("k", "n", "n"), ("m", "k", "m"), ("k", "n", "m")])
def test_tf32_along_m_or_n_comes_through_registers(a, b, c):
    """That operand is A of the kernel, so C is transposed where it is B; C is stored in boxes along either mode."""
    plan = chosen(4096, 4096, 4096, TFloat32, a=a, b=b, c=c)
    assert plan.kernel_name == "sm90"
    assert plan.from_registers
    assert plan.swapped == (b == "n")
    assert plan.store == ("columns" if plan.swapped == (c == "n") else "boxes")


def test_of_two_operands_of_tf32_along_m_and_n_one_is_copied():
    assert chosen(4096, 4096, 4096, TFloat32, a="m", b="n").sides == (False, True)
    assert chosen(1024, 8192, 4096, TFloat32, a="m", b="n").sides == (True, False)  # the smaller one
    plan = chosen(4096, 4096, 4095, TFloat32, a="m")
    assert plan.sides == (False, True)  # only B's rows are not aligned
    assert plan.gemm.from_registers


@pytest.mark.parametrize("dtype", [Float8E4M3FN, Int8])
@pytest.mark.parametrize(("a", "b"), [("m", "k"), ("k", "n"), ("m", "n")])
def test_operands_that_wgmma_takes_along_k_only(dtype, a, b):
    plan = chosen(4096, 4096, 4096, dtype, a=a, b=b)
    assert isinstance(plan, PaddedGemm)
    assert plan.sides == (a == "m", b == "n")


def test_small_problems_are_not_copied():
    for size in (32, 64):
        assert not isinstance(chosen(size, size, size - 1, BFloat16), PaddedGemm)
    assert isinstance(chosen(1024, 1024, 1023, BFloat16), PaddedGemm)


def test_without_products_nothing_is_copied():
    plan = chosen(4096, 4096, 0, BFloat16, alignments=(2, 2, 2))
    assert not isinstance(plan, PaddedGemm)
    assert plan.kernel_name == "sm80"


def test_a_copy_of_a_broadcast_operand():
    p = problem_of(64, 64, 100, Float16, batch=(3, 5))
    p = p._replace(a_strides=(*p.a_strides[:3], 0))
    padded, alignments = pad(p, (2, 2, 2), (True, True))
    assert padded.a_strides == (128, 1, 8192, 0)
    assert padded.b_strides == (128, 1, 8192, 3 * 8192)
    assert alignments == (128, 128, 2)


def test_problems_change_places_and_back():
    p = problem_of(3, 5, 7, Int8, a="m", b="n", c="m", batch=(2, 4), epilogue=Epilogue(bias="m", bias_type=Float32))
    assert p.swapped().swapped() == p
    assert p.swapped().epilogue.bias == "n"
    assert (p.flops, p.batches) == (2 * 3 * 5 * 7 * 8, 8)
    assert p.moved_bytes == 8 * (3 * 7 + 5 * 7 + 4 * 3 * 5)


def seconds(*problem):
    return estimate(*problem).seconds


def test_the_model():
    p = problem_of(4096, 4096, 4096, BFloat16)
    good = seconds(p, (128, 256, 64), "sm90", H200)
    assert 1e-4 < good < 4e-4
    assert seconds(p, (128, 256, 64), "sm80", H200) > good
    assert seconds(p, (128, 256, 64), "simt", H200) > 5 * good
    assert seconds(problem_of(128, 4096, 4096, BFloat16), (128, 256, 64), "sm90", H200) < good
    few = problem_of(1, 128256, 4096, BFloat16)
    assert seconds(few, (16, 128, 64), "sm90", H200) > few.moved_bytes / 4.8e12
    long = problem_of(128, 128, 1 << 16, BFloat16)
    assert seconds(long, (128, 128, 64), "sm90", H200, 8) < seconds(long, (128, 128, 64), "sm90", H200)


def test_all_plans_of_a_problem():
    plans = ranked(problem_of(1024, 1024, 1024, BFloat16), ALIGNED, H200)
    assert {plan.kernel_name for plan in plans} == set(Rates.of(H200).kernels)
    assert {plan.swapped for plan in plans} == {False, True}
    assert plans[0].kernel_name == "sm90"
    for plan in plans:
        plan.require_device(H200)


def test_long_sums_of_fp32_are_promoted():
    """Sums of fewer terms have smaller rounding errors: along M and N, where cuBLAS has them, too."""
    for k, promoted in ((960, False), (4088, True), (8192, True)):
        plan = chosen(4096, 4096, k, Float32, a="m", b="n")
        m, n, step = plan.tiler_mnk
        assert (plan.promote > 0) == promoted
        assert plan.promote * step < k
        assert plan.shared_bytes == plan.stages * (m + n) * step * 4 + (m * n * 4 if promoted else 0)
    assert chosen(4096, 4096, 8192, Float32, a="m").promote == 0


def test_sums_of_single_elements_are_promoted():
    """Rows that are not aligned leave as much room for totals as others do."""
    plan = gemm_simt.choose(problem_of(777, 1777, 2777, Float32), (4, 4, 4), H200)
    assert 0 < plan.promote * plan.tiler_mnk[2] < 2777
    assert plan.totals
    assert plan.stages == 2


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89"])
def test_totals_leave_room_for_the_ctas_of_a_multiprocessor(arch):
    """On an A100 in two stages, on smaller ones there are none."""
    facts = DEVICES[arch]
    for n, k in ((4096, 4096), (4097, 8192)):
        plan = chosen(n, n, k, Float32, facts, a="m", b="n")
        plan.require_device(facts)
        gemm = getattr(plan, "kernel_plan", plan)
        assert (gemm.promote > 0, gemm.stages) == ((True, 2) if arch == "sm_80" else (False, gemm.stages))
        assert gemm.ctas_per_sm * (gemm.shared_bytes + 1024) <= facts.shared_bytes + 1024


def test_columns_are_boxes_to_the_model_too():
    """They go by TMA: plans whose sums leave from registers start later."""
    plan = chosen(2048, 2048, 1024, TFloat32, a="m", c="m")
    assert (plan.store, plan.swapped) == ("columns", False)
    other = chosen(2048, 2048, 1024, TFloat32, a="m", c="n")
    assert (plan.tiler_mnk, plan.split_k) == (other.tiler_mnk, other.split_k)


def test_stages_where_rows_do_not_begin_at_lines():
    """Fewer of 64 by 128 are on their way, as they come more slowly; others as many as there is room for."""
    for dtype in (Float16, BFloat16, TFloat32):
        out = Float32 if dtype is TFloat32 else None
        broken, whole = (choose_gemm(problem_of(n, n, n, dtype, out=out), (256,) * 3, H200) for n in (1000, 1024))
        if broken.tiler_mnk[:2] == whole.tiler_mnk[:2] == (64, 128):
            assert broken.stages < whole.stages, dtype
    config = Config(64, 128, 1)
    broken, whole = (cases_of((config,), problem_of(1000, 1000, k, Float16), H200).stages[0] for k in (1000, 1024))
    assert broken < whole


def test_tiles_that_are_taken_together_where_c_takes_the_time():
    def group(m, k):
        return choose_gemm(problem_of(m, m, k, BFloat16, batch=(16,)), (256,) * 3, H200).group

    groups = [group(m, 64) for m in (512, 2048, 4096, 8192)]
    assert groups == sorted(groups)
    assert groups[0] < groups[-1] < group(4096, 1024)


def test_plans_of_host_arrays_do_not_depend_on_their_allocation():
    """An array there begins at 16, 32 or 64 bytes as it happens; a plan for a GPU is to be the same each time."""
    memory = np.zeros(2 * (512 * 512 + 64), np.float16)
    first = -memory.ctypes.data // 2 % 64
    plans = set()
    for offset in (0, 8, 16, 32):
        a, b = (memory[i + first + offset :][: 512 * 512].reshape(512, 512) for i in (0, 512 * 512))
        plan = kernels.gemm.plan(a, b)
        plans.add((plan, plan.why()[1].seconds))
    assert len(plans) == 1
