"""What wgmma reads of shared memory, in a profile: the bytes of operands in swizzles of 128 bytes, 128 a wavefront."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
import warpgroup_gemms
from tilewright import analyze, cute, kernels
from tilewright.cute.nvgpu import warpgroup
from warp_gemms import elements, tensor

OPERAND = warpgroup.OperandSource
MODE = warpgroup.OperandMajorMode
F16, F32, FP8 = cutlass.Float16, cutlass.Float32, cutlass.Float8E4M3FN


def instructions(op, atoms, repeats, span=128):
    """The requests of wgmma by the bytes that each reads, of a tile of so many atoms."""
    rng = np.random.default_rng(0)
    m, n, k = (x * a * r for x, a, r in zip(op.shape_mnk, (*atoms, 1), repeats, strict=True))
    a, b = (elements(rng, shape, dtype)[0] for shape, dtype in (((m, k), op.a_dtype), ((n, k), op.b_dtype)))
    c, d = np.zeros((m, n), np.float32), np.zeros((m, n), np.float32)
    made = cute.profile(
        warpgroup_gemms.tile, tensor(a, op.a_dtype), tensor(b, op.b_dtype), tensor(c, F32), tensor(d, F32),
        *warpgroup_gemms.smem_layouts(op, m, n, k, span), cute.make_tiled_mma(op, (*atoms, 1)), False, "",
    )  # fmt: skip
    return {x.width: x for line in made.lines for x in line.instructions if x.op == "wgmma"}


def f16(n, source=OPERAND.SMEM, a_mode=MODE.K, b_mode=MODE.K):
    return warpgroup.MmaF16BF16Op(F16, F32, (64, n, 16), source, a_mode, b_mode)


@pytest.mark.parametrize("modes", [(MODE.K, MODE.K), (MODE.MN, MODE.K), (MODE.K, MODE.MN), (MODE.MN, MODE.MN)])
@pytest.mark.parametrize(("n", "atoms", "repeats"), [(192, (1, 1), (1, 1, 4)), (128, (2, 1), (2, 2, 8))])
def test_operands_cost_their_bytes(n, atoms, repeats, modes):
    found = instructions(f16(n, OPERAND.SMEM, *modes), atoms, repeats)
    count = atoms[0] * repeats[0] * repeats[1] * repeats[2]
    assert len(found) == 2
    for rows in (64, n):
        one = found[rows * 16 * 2]
        assert one.requests == 4 * count
        assert one.wavefronts == one.ideal_wavefronts == count * rows * 16 * 2 // 128
        assert one.bytes_useful == count * rows * 16 * 2


def test_bytes_of_eight_bits_cost_as_much():
    found = instructions(warpgroup.MmaF8Op(FP8, FP8, F32, (64, 32, 32), OPERAND.SMEM), (1, 1), (1, 1, 4))
    assert {width: x.wavefronts for width, x in found.items()} == {64 * 32: 4 * 16, 32 * 32: 4 * 8}


def test_registers_cost_no_shared_memory():
    (found,) = instructions(f16(64, OPERAND.RMEM), (1, 1), (1, 1, 4)).values()
    assert found.wavefronts == 4 * 16  # of B alone


@pytest.mark.parametrize("span", [16, 32, 64])
def test_other_swizzles_were_not_read_on_a_gpu_and_are_not_counted(span):
    assert instructions(f16(64), (1, 1), (1, 1, 4), span) == {}


def test_a_plan_of_the_gemm_counts_the_same_for_a_request():
    """The rule stands on the counters of plans (docs/ncu.md)."""
    a, b, c = (np.zeros(shape, np.float16) for shape in ((512, 128), (512, 128), (512, 512)))
    plan = kernels.gemm.plan(a, b, c, arch="sm_90a")
    n = plan.tiler_mnk[1]
    planned = {x.name: x for x in analyze(plan).instructions if x.op == "wgmma"}
    found = instructions(f16(n), (1, 1), (1, 1, 4))
    for rows, name in ((64, "read A"), (n, "read B")):
        ours, theirs = found[rows * 16 * 2], planned[name]
        assert ours.wavefronts * theirs.requests == theirs.wavefronts * ours.requests
