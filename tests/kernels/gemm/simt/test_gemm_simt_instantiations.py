"""Plans of gemm_simt compile for every architecture, without spills, and multiply and load as much as they say.

And which plans are chosen.
"""

from __future__ import annotations

import math
import re

import pytest

from test_device_gemm_simt_host import seed_parts
from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Float64, Int8
from tilewright.cute import size
from tilewright.devices import H200, DeviceFacts
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.simt import build as gemm_simt
from tilewright.kernels.gemm.simt.kernel import SIMT
from tilewright.kernels.gemm.simt.tiles import SimtTiles
from tilewright.runtime.compiler import compile_program

ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a")
ALIGNED, ODD = (16, 16, 16), (4, 4, 4)
TILES, SHARED, LOOSE = SimtTiles.of(H200).tiles, SimtTiles.of(H200).shared, SimtTiles.of(H200).loose
REGISTERS = 65536  # of a multiprocessor
EVERYTHING = Epilogue(alpha=2, beta=1, bias="n", bias_type=Float32, bias_stride=1, activation="gelu_tanh")


def plans():
    """Named plans of every tile, of every way of loading, and of every element type once."""
    yield "along k", gemm_simt.choose(problem_of(4096, 4096, 4096, Float32), ALIGNED)
    yield "along m and n", gemm_simt.choose(problem_of(4096, 4096, 4096, Float32, a="m", b="n"), ALIGNED)
    turned = problem_of(4095, 4097, 4103, Float32)._replace(a_strides=(1, 4096), b_strides=(1, 4352))
    yield "turned copies", gemm_simt.choose(turned, (16, 16, 4), padded=(True, True))
    yield "odd rows", gemm_simt.choose(problem_of(4095, 4097, 4103, Float32, b="n"), ODD)
    for tile in (*TILES[2:], *LOOSE):
        plan = gemm_simt._plan(problem_of(64, 64, 64, Float32), ALIGNED, tile)
        yield f"{tile.extents(4)} in {tile.sliced_k}{' loose' if tile.stages else ''}", plan
    for tile in SHARED:
        plan = gemm_simt._plan(problem_of(256, 256, 8192, Float32, b="n"), ALIGNED, tile, 528)
        yield f"shared {tile.extents(4)}", plan
    for dtype in (Float64, Float16, BFloat16, Int8, Float8E4M3FN):
        problem = problem_of(256, 256, 256, dtype, epilogue=EVERYTHING if dtype is Float16 else None)
        yield dtype.__name__, gemm_simt._plan(problem, ALIGNED, TILES[5])
    yield "K in 64 bits", gemm_simt.choose(problem_of(4096, 4096, 1 << 31, Float32, a="m", b="n"), ALIGNED)
    problem = problem_of(1024, 1024, 1024, Float32, b="n")
    yield "seed 002", gemm_simt.given(problem, *seed_parts(), 1)


PLANS = dict(plans())


@pytest.fixture(scope="module")
def programs(compiler):
    """All plans, compiled together, by architecture."""
    names = [plan.name for plan in PLANS.values()]
    return {arch: compile_program(SIMT.stem, names, arch) for arch in ARCHITECTURES}


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_nothing_is_spilled(programs, arch):
    report = programs[arch].report
    for name, plan in PLANS.items():
        found = report[plan.name]
        assert (found.spill_bytes, found.stack_bytes) == (0, 0), name
        assert 0 < -(-found.registers // 8) * 8 * plan.threads * plan.ctas_per_sm <= REGISTERS, name


BODY = re.compile(r"\.entry (\w+)\(.*?\n\{\n(.*?)\n\}\n", re.S)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", [name for name, plan in PLANS.items() if plan.problem.a_type is Float32])
def test_the_main_loop(programs, arch, name):
    """A step along K multiplies every row with every column, and reads its fragments by the widest accesses."""
    program, plan = programs[arch], PLANS[name]
    body = dict(BODY.findall(program.ptx))[program.lowered[plan.name]]
    rows, columns, depth = size(plan.rows, mode=[1]), size(plan.columns, mode=[1]), plan.tiler_mnk[2]
    steps = depth // plan.sliced_k
    steps = 8 if steps % 8 == 0 else steps  # that are unrolled
    assert len(re.findall(r"\bfma\.rn\.f32\b", body)) == rows * columns * steps
    widths = {operand: plan.fragment_vector(operand) for operand in "ab"}
    assert set(widths.values()) == {4 if name != "seed 002" else 1}
    early = 1 if plan.stages > 1 else 0  # the first fragments of all
    wanted = (rows // widths["a"] + columns // widths["b"]) * (steps + early)
    if plan.smem_c is not None and plan.out_vector == 4:  # sums are read there, too
        wanted += len(re.findall(r"\bst\.global\.(?:\w+\.)*v4\.\w+\b", body)) * plan.sliced_k
    kind = r"v4\.\w+" if name != "seed 002" else r"[bf]32"
    assert len(re.findall(rf"\bld\.shared\.{kind}\b", body)) == wanted
    for operand in "ab":
        _, vector, _ = plan.copy_layout(operand)
        loose = name in ("odd rows", "seed 002") or name.endswith("loose")
        assert vector == (1 if loose and (name, operand) != ("seed 002", "b") else 4)


def test_k_is_counted_in_32_bits_where_it_can_be():
    plans = [gemm_simt.choose(problem_of(64, 64, k, Float32), ALIGNED) for k in ((1 << 30) - 1, 1 << 30)]
    assert [plan.name.endswith(", int64, true>>") for plan in plans] == [False, True]
    assert [plan.replace(stream_k_ctas=0).name.endswith(", int64>>") for plan in plans] == [False, True]


def test_what_is_registered():
    chosen = PLANS.values()
    assert {plan.stages for plan in chosen} == {1, 2, 3, 4, 5, 6}
    assert {plan.tiler_mnk[:2] for plan in chosen} >= {tile.extents(4) for tile in TILES if tile.ctas > 1}
    assert {plan.problem.acc_type.__name__ for plan in chosen} == {"Float32", "Float64", "Int32"}


@pytest.mark.parametrize("order", ["mn", "mk", "kn", "kk"])
def test_smaller_problems_get_smaller_tiles_in_more_slices(order):
    problems = [problem_of(n, n, n, Float32, a=order[0], b=order[1]) for n in (8192, 2048, 1024, 512, 128)]
    plans = [gemm_simt.choose(problem, ALIGNED) for problem in problems]
    areas, sliced_k = [math.prod(plan.tiler_mnk[:2]) for plan in plans], [plan.sliced_k for plan in plans]
    assert areas == sorted(areas, reverse=True)
    assert sliced_k == sorted(sliced_k)
    assert areas[0] > areas[-1]
    assert sliced_k[0] == 1 < sliced_k[-1]


@pytest.mark.parametrize("order", ["mn", "mk", "kn", "kk"])
def test_misaligned_rows_come_in_steps_of_8_by_single_elements(order):
    plan = gemm_simt.choose(problem_of(4095, 4097, 4103, Float32, a=order[0], b=order[1]), ODD)
    assert (plan.tiler_mnk[2], plan.copy_layout("a")[1], plan.copy_layout("b")[1]) == (8, 1, 1)
    assert plan.stages == (2 if plan.totals else 3)


@pytest.mark.parametrize(
    "facts",
    [
        DeviceFacts("NVIDIA A100", 80, 108, 166912),
        DeviceFacts("NVIDIA GeForce RTX 4090", 89, 128, 101376),
        DeviceFacts("Tesla T4", 75, 40, 65536),
    ],
    ids=lambda facts: facts.name,
)
def test_the_ctas_of_a_tile_share_a_multiprocessor(facts):
    problem = problem_of(4096, 4096, 2048, Float32, a="m", b="n")
    plan = gemm_simt.choose(problem, ALIGNED, facts)
    assert plan.ctas_per_sm > 1
    assert plan.ctas_per_sm * (plan.shared_bytes + 1024) <= facts.shared_bytes + 1024
    variants = gemm_simt.variants(problem, ALIGNED, facts)
    assert variants[0] == plan
    assert max(x.shared_bytes for x in variants) <= facts.shared_bytes
