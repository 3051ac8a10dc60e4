"""Plans of gemm_sm80: their tables against float64, bank conflicts, choices, given objects, what the compiler makes."""

from __future__ import annotations

import itertools
import math
import pickle
import re

import numpy as np
import pytest

from gemm_sm80_plans import Memory, compare, small_plans
from tilewright import (
    BFloat16,
    Float8E4M3FN,
    Float16,
    Float32,
    Float64,
    Int8,
    TFloat32,
    cute,
)
from tilewright._core import LayoutError
from tilewright.analysis.bank_conflicts import wavefronts_of
from tilewright.cute.atoms.mma_ops import MmaF16BF16Op, MmaF64Op
from tilewright.devices import DEVICES, H200
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.host import run_on_host
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm80.build import choose, given, variants
from tilewright.kernels.gemm.sm80.choose import build, operation
from tilewright.kernels.gemm.sm80.cost import Accesses, Sm80Numbers, Sm80Tile, tile_cost
from tilewright.kernels.gemm.sm80.fragments import WARP
from tilewright.kernels.gemm.sm80.operand import coordinates_of
from tilewright.runtime.compiler import compile_program

ALIGNED = (16, 16, 16)
ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a")
MAJORS = [(a, b) for a in "km" for b in "kn"]
NARROW = Sm80Numbers.of(H200).narrow


# ---- on the CPU, through the tables ----


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_tables_multiply(thorough):
    for plan, shift in small_plans(thorough):
        memory = Memory(plan.problem, shift=shift)
        report = run_on_host(plan, *memory.addresses(), check=True, move=False)
        assert report, f"{report}, in the {plan}"
        run_on_host(plan, *memory.addresses())
        compare(memory, plan)


@pytest.mark.parametrize(("a", "b"), MAJORS)
def test_tiles_of_float64_with_sides_of_96_multiply(a, b):
    """Sides that are no power of two: of whole tiles and beyond them, without bank conflicts of fragments."""
    for tile in Sm80Numbers.of(H200).float64:
        for m, n, k in ((192, 256, 32), (200, 202, 18)) if 96 in (tile.bm, tile.bn) else ():
            problem = problem_of(m, n, k, Float64, a=a, b=b)
            plan = build(problem, operation(problem, 90), tile, ALIGNED)
            memory = Memory(problem)
            assert run_on_host(plan, *memory.addresses(), check=True, move=False), str(plan)
            run_on_host(plan, *memory.addresses())
            compare(memory, plan)
            assert all(got == least for side in plan.sides for got, least in fragment_wavefronts(side)), str(plan)


def narrow_plans(m, n, k, dtype, **epilogue):
    """Plans of all narrow tiles whose operands come by 4 bytes, by single elements, or one in each way."""
    for a, b in (("k", "k"), ("m", "n")):
        for pads in ((2, 2, 0), (1, 1, 0), (1, 2, 0), (2, 1, 0)):
            problem = problem_of(m, n, k, dtype, a=a, b=b, pads=pads, **epilogue)
            found = variants(problem, (4, 4, dtype.bits // 8))
            yield from {(plan.tiler_mnk, plan.stages, plan.min_ctas): plan for plan in found}.values()


def test_narrow_tiles_multiply():
    for plan in narrow_plans(70, 66, 134, BFloat16):
        memory = Memory(plan.problem)
        assert run_on_host(plan, *memory.addresses(), check=True, move=False), str(plan)
        run_on_host(plan, *memory.addresses())
        compare(memory, plan)


# ---- shared memory ----


def fragment_wavefronts(side, k_block=0):
    """(wavefronts, least possible) of a warp's first access to its fragments, over all k blocks."""
    copy, size = side.fragment, side.bits // 8
    thread = coordinates_of(copy.thread)[:WARP]
    accesses = int(cute.size(copy.access, mode=[0]))
    found = []
    for step in coordinates_of(copy.access)[k_block * accesses : (k_block + 1) * accesses]:
        addresses = [int(side.smem((int(row), int(k), 0))) * size for row, k in thread + step]
        if copy.kind == "plain":
            width = copy.units * size
            found.append((wavefronts_of(addresses, width), max(WARP * width // 128, 1)))
        else:  # a matrix of 8 rows of 16 bytes is one wavefront
            count = sum(wavefronts_of(addresses[8 * j : 8 * j + 8], 16) for j in range(copy.units))
            found.append((count, copy.units))
    return found


def load_wavefronts(side):
    thread, value = coordinates_of(side.load_tv[0])[:WARP], coordinates_of(side.load_tv[1])
    size = side.bits // 8
    found = []
    for step in value[:: side.vector]:
        addresses = [int(side.smem((int(row), int(k), 0))) * size for row, k in thread + step]
        width = side.vector * size
        found.append((wavefronts_of(addresses, width), WARP * width // 128))
    return found


@pytest.mark.parametrize(("a", "b"), [("k", "n"), ("m", "k")])
@pytest.mark.parametrize("dtype", [Float16, TFloat32, Float64, Int8, Float8E4M3FN])
def test_shared_memory_meets_no_bank_conflicts(dtype, a, b):
    plans = variants(problem_of(4096, 4096, 4096, dtype, a=a, b=b), ALIGNED)
    for plan in {(plan.tiler_mnk, plan.tiled_mma): plan for plan in plans}.values():
        for side in plan.sides:
            for kind, found in (("load", load_wavefronts(side)), ("fragment", fragment_wavefronts(side))):
                assert all(count == least for count, least in found), (kind, side.operand, found, str(plan))


def test_the_layouts_are_those_of_the_public_api():
    """For 16-bit elements, the lanes' addresses are those of make_tiled_copy_A and _B with ldmatrix."""
    for a, b in MAJORS:
        plan = choose(problem_of(4096, 4096, 4096, Float16, a=a, b=b), ALIGNED)
        for side, make in zip(plan.sides, (cute.make_tiled_copy_A, cute.make_tiled_copy_B), strict=True):
            op = cute.nvgpu.warp.LdMatrix8x8x16bOp(transpose=side.mode == 0, num_matrices=4)
            copy = make(cute.make_copy_atom(op, Float16), plan.tiled_mma)
            tile = cute.make_identity_layout(copy.tiler_mn)
            expected = coordinates_of(cute.composition(tile, copy.layout_src_tv_tiled[0]))
            np.testing.assert_array_equal(coordinates_of(side.fragment.thread), expected, str(plan))


def test_known_shared_layouts():
    """As published for CuTe's tensorop_gemm of Float16 and 128x128x32."""
    plan = choose(problem_of(4096, 4096, 4096, Float16, a="m"), ALIGNED)
    assert str(plan.smem_a) == "S<3,3,3> o 0 o ((64,2),(8,4),(1,4)):((1,512),(64,1024),(0,4096))"
    assert str(plan.smem_b) == "S<2,3,3> o 0 o ((8,32),(32,1),(1,4)):((32,256),(1,0),(0,8192))"


# ---- choices ----


def test_accesses_are_as_wide_as_the_alignment_allows():
    for alignment, pad, bits in (
        (16, 0, 128),
        (8, 0, 64),
        (16, 4, 64),
        (4, 0, 32),
        (16, 2, 32),
        (2, 0, 16),
        (16, 1, 16),
    ):
        plan = choose(problem_of(512, 512, 512, Float16, pads=(pad, pad, 0)), (alignment, alignment, 16))
        for side in plan.sides:
            assert (side.vector * side.bits, side.is_async) == (bits, bits >= 32)


def test_small_problems_get_small_tiles():
    tiles = [choose(problem_of(n, n, n, Float16), ALIGNED).tiler_mnk[:2] for n in (8192, 1024, 256)]
    areas = [m * n for m, n in tiles]
    assert areas == sorted(areas, reverse=True)
    assert areas[0] > areas[-1]


@pytest.mark.parametrize(
    ("problem", "alignment", "parts", "tile"),
    [
        (problem_of(32, 1968, 8718, Float16), 256, 8, (32, 128)),  # 17.3 us; C transposed 20.4; of copies 30.6
        (problem_of(38, 4096, 4096, BFloat16, pads=(64, 64, 0)), 4, 8, (64, 256)),  # 20.0; of copies 28.4
        (problem_of(256, 512, 18236, Float16), 256, 16, (128, 128)),  # 23.2; of copies 33.7
        (problem_of(16, 4096, 4094, BFloat16), 256, 4, (16, 128)),  # 14.5; of copies 27.9
        (problem_of(40, 1017, 93, BFloat16), 256, 1, (32, 32)),  # 4.7; in tiles of 64 by 64 6.3
        (problem_of(2000, 77, 300, BFloat16, b="n"), 256, 1, (32, 32)),  # 7.4; of copies 9.2
        (problem_of(284232, 16, 208, Float16, pads=(1, 1, 0)), 256, 1, (128, 32)),  # 63.9 in two stages; 64x32 112.4
        (problem_of(125776, 57, 101, BFloat16, b="n"), 256, 1, (64, 64)),  # 36.4; of copies 47.4
    ],
)
def test_rows_that_are_not_aligned_have_the_plan_that_was_measured_to_be_the_fastest(problem, alignment, parts, tile):
    """On an H200, of the plans that were timed."""
    plan = choose_gemm(problem, (alignment, alignment, 256), H200)
    assert (getattr(plan, "parts", 1), plan.kernel_plan.kernel_name) == (parts, "sm80")
    assert plan.kernel_plan.tiler_mnk[:2] == tile


def test_ctas_work_while_one_waits_for_elements():
    """Where there are several on a multiprocessor; and the more elements a thread waits for, the longer it takes."""
    tile = Sm80Tile(32, 32, 128, (2, 2), 5, 3, 0.3)
    loose, numbers = Accesses((2, 2), (False, False), 1), Sm80Numbers.of(H200)
    alone, three = (tile_cost(problem_of(32 * count, 32, 4096, BFloat16), tile, loose, H200) for count in (132, 396))
    assert alone.waves == three.waves == 1
    assert alone.fetched > three.fetched > 0
    assert tile.held(2, loose) == 32
    at_once = tile_cost(problem_of(32, 32, 4096, BFloat16), tile._replace(warps=(2, 4)), loose, H200)
    assert alone.fetched - at_once.fetched == pytest.approx(
        64 * numbers.crowded * (32 - numbers.at_ease) / numbers.clock
    )


def test_a_thread_loads_no_more_elements_than_it_can_hold():
    for pad, by_registers in ((2, False), (1, True)):
        problem = problem_of(1000, 1000, 1000, BFloat16, pads=(pad, pad, 0))
        found = {plan.tiler_mnk[:2] for plan in variants(problem, (4, 4, 256))}
        held = {(x.bm, x.bn): (x.bm + x.bn) * x.bytes_k / 2 / (32 * math.prod(x.warps)) for x in NARROW}
        assert found == {
            tile for tile, elements in held.items() if not by_registers or elements <= Sm80Numbers.of(H200).held
        }
        assert (len(found) < len(held)) == by_registers


@pytest.mark.parametrize("arch", [arch for arch, facts in DEVICES.items() if facts.capability >= 80])
def test_shared_memory_holds_all_ctas_of_a_narrow_tile(arch):
    for dtype, pad in itertools.product((BFloat16, TFloat32, Int8), (1, 2)):
        for m, n, k in ((40, 1017, 93), (16, 4096, 4094), (1000, 1000, 777)):
            plan = choose(problem_of(m, n, k, dtype, pads=(pad, pad, 0)), (4, 4, 4), DEVICES[arch])
            assert plan is not None
            if dtype is not Int8:
                assert plan.min_ctas * plan.shared_bytes <= DEVICES[arch].shared_bytes, str(plan)


def test_what_a_device_lacks():
    old = H200._replace(capability=80, shared_bytes=163 * 1024)
    assert choose(problem_of(512, 512, 512, Float8E4M3FN), ALIGNED, old) is None
    assert choose(problem_of(512, 512, 512, Float32), ALIGNED, old) is None
    assert choose(problem_of(512, 512, 512, Float64), ALIGNED, old).tiled_mma.op == MmaF64Op((8, 8, 4))
    small = old._replace(capability=86, shared_bytes=99 * 1024)
    for dtype in (Float16, Float64, Int8, TFloat32):
        for plan in variants(problem_of(4096, 4096, 4096, dtype), ALIGNED, small):
            assert plan.shared_bytes <= small.shared_bytes, str(plan)


def test_plans_are_values():
    problem = problem_of(512, 512, 512, Float16, batch=(3,))
    plan = choose(problem, ALIGNED)
    assert plan == choose(problem, ALIGNED) == pickle.loads(pickle.dumps(plan))
    assert hash(plan) == hash(pickle.loads(pickle.dumps(plan)))
    assert plan.replace(run_length=4) != plan
    assert plan.name == plan.for_problem(problem_of(1024, 512, 512, Float16)).name


def test_a_run_needs_the_alignment():
    plan = choose(problem_of(512, 512, 512, Float16), ALIGNED)
    plan.require(1 << 20, 1 << 20, 1 << 20, "test")
    for i, name in enumerate(("mA", "mB", "mC")):
        addresses = [1 << 20] * 3
        addresses[i] += 2
        with pytest.raises(ValueError, match=f"{name} begins at 0x100002, which is no multiple of 16"):
            plan.require(*addresses, "test")
    with pytest.raises(ValueError, match="mode 0 of mA has the stride 513, 1026 bytes"):
        plan.for_problem(problem_of(512, 512, 512, Float16, pads=(1, 0, 0))).require(0, 0, 0, "test")


# ---- given objects ----


def tiled(shape=(16, 8, 16), atoms=(2, 2, 1), permutation=(32, 32, 16)):
    return cute.make_tiled_mma(MmaF16BF16Op(Float16, Float32, shape), atoms, permutation)


@pytest.mark.parametrize(
    ("atoms", "permutation"),
    [
        ((1, 1, 1), None),
        ((2, 2, 1), (32, 32, 16)),
        ((2, 2, 1), (64, 32, 32)),
        ((4, 1, 1), None),
        ((1, 3, 1), (32, 48, 16)),
    ],
)
@pytest.mark.parametrize(("a", "b"), [("k", "k"), ("m", "n")])
def test_a_given_tiled_mma_multiplies(a, b, atoms, permutation):
    problem = problem_of(70, 52, 72, Float16, a=a, b=b, out=Float32)
    tile = (64, 96, 32)
    plan = given(problem, tiled(atoms=atoms, permutation=permutation), None, None, tile, 3)
    assert plan.tiler_mnk == tile
    memory = Memory(problem)
    assert run_on_host(plan, *memory.addresses(), check=True, move=False)
    run_on_host(plan, *memory.addresses())
    compare(memory, plan)


def test_given_copies_are_taken():
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float16, num_bits_per_copy=64)
    copy = cute.make_tiled_copy_tv(atom, cute.parse("(16,8):(8,1)"), cute.parse("(1,4):(4,1)"))
    problem = problem_of(70, 52, 72, Float16, out=Float32)
    plan = given(problem, tiled(), copy, copy, (64, 64, 32), 2)
    assert plan.tiled_copy_a is copy
    memory = Memory(problem)
    assert run_on_host(plan, *memory.addresses(), check=True, move=False)
    run_on_host(plan, *memory.addresses())
    compare(memory, plan)


def test_what_does_not_fit_is_refused():
    problem = problem_of(512, 512, 512, Float16)
    with pytest.raises(LayoutError, match="128 along N, no multiple of the 96"):
        given(problem, tiled(atoms=(1, 4, 1), permutation=(16, 96, 16)), None, None, (64, 128, 32), 3)
    with pytest.raises(LayoutError, match="several atoms along K"):
        given(problem, tiled(atoms=(1, 1, 2), permutation=None), None, None, (64, 64, 32), 3)
    with pytest.raises(ValueError, match="stages is 1"):
        given(problem, tiled(), None, None, (64, 64, 32), 1)
    with pytest.raises(TypeError, match="MmaF64Op"):
        given(problem, cute.make_tiled_mma(MmaF64Op((8, 8, 4)), (2, 2, 1)), None, None, (64, 64, 16), 3)
    half, mma = problem._replace(acc_type=Float16), cute.make_tiled_mma(MmaF16BF16Op(Float16, Float16, (16, 8, 16)))
    with pytest.raises(TypeError, match="sums in Float16"):
        given(half, mma, None, None, (64, 64, 32), 3)
    plan = choose(problem, ALIGNED)
    with pytest.raises(LayoutError, match="smem_a"):
        plan.replace(smem_a=cute.make_layout((128, 32, 4), stride=(1, 128, 4096)))
    with pytest.raises(LayoutError, match="a place of its own"):
        plan.replace(smem_b=cute.make_layout((*plan.tiler_mnk[1:], 4), stride=(32, 1, 0)))


# ---- what the compiler makes of it ----


def instantiations(arch, thorough):
    """Plans of all tiles, types and majors, and of every way through the kernel."""
    facts = H200._replace(capability=int(re.sub(r"\D", "", arch)), shared_bytes=163 * 1024)
    for dtype in (Float16, TFloat32, Float64, Int8, Float8E4M3FN):
        for a, b in MAJORS if thorough and dtype is Float64 else [("k", "k"), ("m", "n")] if thorough else [("m", "k")]:
            plan = choose(problem_of(4096, 4096, 4096, dtype, a=a, b=b), ALIGNED, facts)
            if plan is not None:
                yield plan
        plan = choose(problem_of(1001, 1003, 1005, dtype), ALIGNED, facts)  # through registers
        if plan is not None and (thorough or dtype in (Float16, Int8)):
            yield plan
    for n in (128, 1024) if thorough else ():
        yield choose(problem_of(n, n, n, BFloat16), ALIGNED, facts)
    epilogue = Epilogue(alpha=0.5, beta=2, bias="n", bias_type=Float32, bias_stride=1, activation="gelu")
    yield choose(problem_of(4095, 4097, 4104, Float16, epilogue=epilogue), ALIGNED, facts)
    if thorough:
        yield choose(problem_of(4096, 4096, 4096, Float16, c="m", epilogue=epilogue), ALIGNED, facts)


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_nothing_is_spilled(compiler, arch, thorough):
    plans = list(instantiations(arch, thorough))
    program = compile_program("gemm_sm80", [plan.name for plan in plans], arch)
    for plan in plans:
        found = program.report[plan.name]
        assert (found.spill_bytes, found.stack_bytes) == (0, 0), str(plan)
        assert found.registers * plan.threads * plan.min_ctas <= 65536, str(plan)
    ptx = program.ptx
    for wanted in ("ldmatrix.sync.aligned.m8n8.x4.shared", "ldmatrix.sync.aligned.m8n8.x4.trans", "cp.async.cg"):
        assert wanted in ptx


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("arch", ARCHITECTURES[:2])
def test_what_narrow_tiles_spill(compiler, arch, thorough):
    """Nothing, but for those of which a multiprocessor has four."""
    epilogue = Epilogue(0.5, 2, "n", Float32, 1, "gelu")
    plans = list({plan.name: plan for plan in narrow_plans(1002, 1006, 1010, BFloat16, epilogue=epilogue)}.values())
    plans = [
        plan for i, plan in enumerate(plans) if thorough or i % 9 == 3 * (arch == "sm_80")
    ]  # all tiles are among them
    report = compile_program("gemm_sm80", [plan.name for plan in plans], arch).report
    for plan in plans:
        assert report[plan.name].stack_bytes <= (180 if plan.min_ctas == 4 else 0), str(plan)
    assert {plan.min_ctas for plan in plans} == {1, 2, 3, 4}


@pytest.mark.parametrize("arch", ARCHITECTURES[:2])
def test_tiles_of_float64_with_sides_of_96_spill_nothing(compiler, arch):
    tiles = [tile for tile in Sm80Numbers.of(H200).float64 if 96 in (tile.bm, tile.bn)]
    assert len(tiles) == 3
    op = operation(problem_of(96, 96, 96, Float64), int(re.sub(r"\D", "", arch)))
    epilogue = Epilogue(0.5, 2, "n", Float64, 1, "gelu")
    plans = [
        build(problem_of(999, 1002, 1000, Float64, a=a, b=b, epilogue=epilogue), op, tile, ALIGNED)
        for tile in tiles
        for a, b in (("k", "k"), ("m", "n"))
    ]
    report = compile_program("gemm_sm80", [plan.name for plan in plans], arch).report
    for plan in plans:
        assert (report[plan.name].spill_bytes, report[plan.name].stack_bytes) == (0, 0), str(plan)
