"""mma.sync in kernels: every instruction, in random arrangements, beside float64 and beside the atoms at the prompt."""

from __future__ import annotations

import linecache
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as cutlass
import warp_gemms
from compiling import nvrtc
from mma_operations import WARP
from tilewright import cute
from tilewright.cute.nvgpu import warp
from warp_gemms import elements, tensor

BF16 = warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16))


def multiplied(op, atoms, repeats, seed, *, run=warp_gemms.tile):
    """(D of a kernel, A B^T + C in float64 or exact integers, the sum of magnitudes) for a random tile."""
    rng = np.random.default_rng(seed)
    m, n, k = (x * a * r for x, a, r in zip(op.shape_mnk, (*atoms, 1), repeats, strict=True))
    tiled_mma = cute.make_tiled_mma(op, (*atoms, 1))
    (kept_a, a), (kept_b, b) = elements(rng, (m, k), op.a_dtype), elements(rng, (n, k), op.b_dtype)
    kept_c, c = elements(rng, (m, n), op.acc_dtype)
    kept_d = np.zeros_like(kept_c)
    a_type, b_type = (cutlass.Float32 if t is cutlass.TFloat32 else t for t in (op.a_dtype, op.b_dtype))
    with cute.on_cpu(check=True):
        run(
            tensor(kept_a, a_type), tensor(kept_b, b_type), tensor(kept_c, op.acc_dtype),
            tensor(kept_d, op.acc_dtype), tiled_mma,
        )  # fmt: skip
    return kept_d, a @ b.T + c, np.abs(a) @ np.abs(b).T + np.abs(c)


@pytest.mark.parametrize("op", WARP, ids=str)
@pytest.mark.parametrize(("atoms", "repeats"), [((1, 1), (1, 1, 1)), ((2, 2), (1, 2, 3)), ((1, 3), (2, 1, 2))])
def test_every_instruction_multiplies(op, atoms, repeats):
    found, wanted, size = multiplied(op, atoms, repeats, 7)
    if op.acc_dtype is cutlass.Int32:
        np.testing.assert_array_equal(found, wanted.astype(np.int64).astype(np.uint32).view(np.int32))
        return
    epsilon = {cutlass.Float16: 2**-10, cutlass.Float32: 2**-22, cutlass.Float64: 2**-50}[op.acc_dtype]
    assert (np.abs(found - wanted) <= 4 * epsilon * size).all()


@given(
    op=st.sampled_from(WARP),
    atoms=st.tuples(st.integers(1, 3), st.integers(1, 2)),
    repeats=st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 3)),
    seed=st.integers(0, 1000),
)
def test_random_arrangements(op, atoms, repeats, seed):
    found, wanted, size = multiplied(op, atoms, repeats, seed)
    if op.acc_dtype is cutlass.Int32:
        np.testing.assert_array_equal(found, wanted.astype(np.int64).astype(np.uint32).view(np.int32))
    else:
        epsilon = {cutlass.Float16: 2**-10, cutlass.Float32: 2**-22, cutlass.Float64: 2**-50}[op.acc_dtype]
        assert (np.abs(found - wanted) <= 4 * epsilon * size).all()


@pytest.mark.parametrize(
    "dtype", sorted({op.a_dtype for op in WARP if op.a_dtype.is_float} - {cutlass.TFloat32}, key=str)
)
def test_operands_are_rounded_as_a_tensor_rounds(dtype):
    values = 4 * np.random.default_rng(2).normal(size=1000)
    stored = np.zeros(values.shape, warp_gemms.KEPT.get(dtype, dtype.numpy))
    tensor(stored, dtype).store(values)
    np.testing.assert_array_equal(warp_gemms.nearest(values, dtype).view(np.uint8), stored.view(np.uint8))


def test_sums_are_formed_as_the_templates_form_them():
    """In fp32, one product after the other along K: the bits of the host's execution of gemm_sm80."""
    rng = np.random.default_rng(0)
    (kept_a, a), (kept_b, b) = (elements(rng, (16, 64), cutlass.BFloat16), elements(rng, (8, 64), cutlass.BFloat16))
    c, d = np.zeros((16, 8), np.float32), np.zeros((16, 8), np.float32)
    with cute.on_cpu(check=True):
        warp_gemms.tile(
            tensor(kept_a, cutlass.BFloat16), tensor(kept_b, cutlass.BFloat16), tensor(c, cutlass.Float32),
            tensor(d, cutlass.Float32), cute.make_tiled_mma(BF16),
        )  # fmt: skip
    wanted = np.zeros((16, 8), np.float32)
    for k in range(64):
        wanted += a[:, k, None].astype(np.float32) * b[None, :, k].astype(np.float32)
    np.testing.assert_array_equal(d, wanted)


# ---- what an atom is told at run time --------------------------------------------------------------------------------


@cute.kernel
def accumulating_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, n: cutlass.Int32, tiled_mma: cute.TiledMma):
    tidx, _, _ = cute.arch.thread_idx()
    thread = tiled_mma.get_slice(tidx)
    rA, rB = tiled_mma.make_fragment_A(thread.partition_A(mA)), tiled_mma.make_fragment_B(thread.partition_B(mB))
    cute.autovec_copy(thread.partition_A(mA), rA)
    cute.autovec_copy(thread.partition_B(mB), rB)
    rC = tiled_mma.make_fragment_C(thread.partition_C(mC))
    rC.fill(100.0)
    for i in cutlass.range(n):
        tiled_mma.set(warp.Field.ACCUMULATE, i != 0)
        cute.gemm(tiled_mma, rC, rA, rB, rC)
    cute.autovec_copy(rC, thread.partition_C(mC))


@cute.jit
def accumulating(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, n: cutlass.Int32, tiled_mma: cute.TiledMma):
    accumulating_kernel(mA, mB, mC, n, tiled_mma).launch(block=[32, 1, 1])


@pytest.mark.parametrize("n", [0, 1, 3])
def test_what_is_not_accumulated_begins_at_zero(n):
    a, b, c = np.ones((16, 16), np.float16), np.ones((8, 16), np.float16), np.zeros((16, 8), np.float32)
    op = warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    with cute.on_cpu(check=True):
        accumulating(*(cute.from_dlpack(x, assumed_align=16) for x in (a, b, c)), n, cute.make_tiled_mma(op))
    assert (c == (16 * n if n else 100)).all()


# ---- text ------------------------------------------------------------------------------------------------------------


def compiled_for(op, arch, atoms=(1, 1, 1)):
    m, n, k = op.shape_mnk
    a, b = (np.zeros((x, 2 * k), warp_gemms.KEPT.get(op.a_dtype, op.a_dtype.numpy)) for x in (m, 2 * n))
    c = np.zeros((m, 2 * n), op.acc_dtype.numpy)
    a_type, b_type = (cutlass.Float32 if t is cutlass.TFloat32 else t for t in (op.a_dtype, op.b_dtype))
    arguments = (tensor(a, a_type), tensor(b, b_type), tensor(c, op.acc_dtype), tensor(c, op.acc_dtype))
    return cute.compile(warp_gemms.tile, *arguments, cute.make_tiled_mma(op, atoms), options=f"--gpu-arch {arch}")


@nvrtc
@pytest.mark.parametrize("op", WARP, ids=str)
def test_every_instruction_is_compiled(op):
    compiled = compiled_for(op, "sm_90a")
    assert compiled.spills == 0
    assert compiled.ptx.count(op.instruction) == 4  # two columns, two steps along K


def test_the_text_has_loops_and_lines_of_python():
    source = compiled_for(BF16, "sm_80").source
    assert source.count("mma.sync") == 1
    assert "for (int n = 0; n < 2; ++n)" in source
    assert '"+f"(rD[' in source
    (before,) = re.findall(r'#line (\d+) "[^"]*warp_gemms.py"\n[^#]*(?:#pragma unroll[^#]*)*mma\.sync', source)
    assert "cute.gemm(tiled_mma, rD" in linecache.getline(warp_gemms.__file__, int(before))


@nvrtc
def test_what_a_device_lacks_is_refused_by_its_line():
    words = (
        r"mma\.sync\.aligned\.m16n8k32\.\S+ of rD, rA, rB, rC \(.*warp_gemms\.py:\d+\) needs sm_89 or later, "
        "but the kernel is compiled for sm_80"
    )
    with pytest.raises(ValueError, match=words):
        compiled_for(warp.MmaFP8Op(cutlass.Float8E4M3FN, cutlass.Float32, (16, 8, 32)), "sm_80").ptx  # noqa: B018


# ---- what is refused -------------------------------------------------------------------------------------------------


@cute.kernel
def wrong_kernel(mA: cute.Tensor, what: cutlass.Constexpr):
    tiled_mma = cute.make_tiled_mma(BF16)
    rA = tiled_mma.make_fragment_A((8, 1, 1))
    rB = tiled_mma.make_fragment_B((4, 1, 1))
    rC = tiled_mma.make_fragment_C((4, 1, 1))
    if cutlass.const_expr(what == "memory"):
        rA = mA
    if cutlass.const_expr(what == "apart"):
        rB = cute.make_rmem_tensor(cute.make_layout((4, 1, 1), stride=(2, 8, 8)), cutlass.BFloat16)
    if cutlass.const_expr(what == "values"):
        rA = cute.make_rmem_tensor((4, 1, 1), cutlass.BFloat16)
    if cutlass.const_expr(what == "count"):
        rB = cute.make_rmem_tensor((4, 1, 2), cutlass.BFloat16)
    if cutlass.const_expr(what == "type"):
        rC = cute.make_rmem_tensor((4, 1, 1), cutlass.Float16)
    cute.gemm(tiled_mma, rC, rA, rB, rC)


@cute.jit
def wrong(mA: cute.Tensor, what: cutlass.Constexpr):
    wrong_kernel(mA, what).launch(block=[32, 1, 1])


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("memory", r"gemm: MmaF16BF16Op\(.*\) takes a from registers, but it is tensor<ptr<bf16, gmem"),
        ("apart", r"gemm: .* takes 2 elements of b from each register, but .* side by side; make the fragment"),
        ("values", r"gemm: mode 0 of a has 4 values, but a thread of .* has 8"),
        ("count", r"gemm: a has 1 atoms along K and b has 2"),
        ("type", r"gemm: .* takes d of Float32, but .* elements of Float16"),
    ],
)
def test_fragments_that_do_not_fit_are_named(what, words):
    a = np.zeros(8, np.uint16)
    with pytest.raises((TypeError, ValueError), match=words):
        wrong(cute.make_tensor(tensor(a, cutlass.BFloat16).iterator, cute.make_layout((8, 1, 1))), what)
