"""GEMMs on the CPU against NumPy in double precision: shapes, strides, types, batches and epilogues."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from tilewright import BFloat16, Float16, Float32, cute, kernels
from tilewright.cute.nvgpu import MmaUniversalOp, warp, warpgroup
from tilewright.cute.runtime import from_dlpack
from tilewright.kernels.devices import h200
from tilewright.kernels.gemm.choose.choose import Rule
from tilewright.kernels.gemm.composite.padded import PaddedGemm
from tilewright.kernels.gemm.run import fit

torch = pytest.importorskip("torch")

EXTENTS = (1, 2, 3, 7, 16, 17, 31, 64, 127, 128, 129)
# Type of A and B, types of C, and the relative error of one product.
TYPES = {
    "float16": (torch.float16, (torch.float16, torch.float32)),
    "bfloat16": (torch.bfloat16, (torch.bfloat16, torch.float32, torch.float16)),
    "float32": (torch.float32, (torch.float32, torch.bfloat16)),
    "float64": (torch.float64, (torch.float64, torch.float32)),
    "float8_e4m3fn": (torch.float8_e4m3fn, (torch.bfloat16, torch.float32, torch.float8_e4m3fn)),
    "float8_e5m2": (torch.float8_e5m2, (torch.bfloat16,)),
    "int8": (torch.int8, (torch.int32, torch.float32)),
    "uint8": (torch.uint8, (torch.int32,)),
}
ACTIVATIONS = {
    None: lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + np.exp(np.minimum(-x, 700))),
}


def random(rng, shape, dtype):
    """Random numbers of a type: normal ones, or small integers."""
    if dtype in (torch.int8, torch.uint8, torch.int32):
        return torch.from_numpy(rng.integers(-8 if dtype != torch.uint8 else 0, 9, shape)).to(dtype)
    return torch.from_numpy(rng.standard_normal(shape)).to(dtype)


def laid_out(rng, values, backwards=True):
    """The same values with other strides: modes in any order in memory, with gaps, backwards, from any element on."""
    order = rng.permutation(values.dim())
    shape = [values.shape[i] + int(rng.choice((0, 0, 1, 8))) for i in order]
    memory = torch.zeros(math.prod(shape) + 16, dtype=values.dtype)
    start = int(rng.choice((0, 0, 1, 8)))
    view = memory[start : start + math.prod(shape)].view(shape).permute([int(i) for i in np.argsort(order)])
    view = view[tuple(slice(0, n) for n in values.shape)]
    if backwards and values.dtype in (torch.float32, torch.float64) and rng.random() < 0.2:
        array = view.numpy()[::-1]
        array[...] = values.numpy()
        return array
    view.copy_(values)
    return view


def double(x):
    return x.astype(np.float64) if isinstance(x, np.ndarray) else x.to(torch.float64).numpy()


def tolerance(dtype):
    return 0.5 if dtype == torch.int32 else torch.finfo(dtype).eps


def close(found, expected, scale, dtype, depth):
    """Whether the result is as near as its type and sums of so many products in single precision allow."""
    sums = 2.0**-52 if found.dtype == torch.float64 and dtype == torch.float64 else 2.0**-23
    error = np.abs(double(found) - expected)
    least = 1 if found.dtype == torch.int32 else torch.finfo(found.dtype).smallest_normal
    bound = tolerance(found.dtype) * (np.abs(expected) * (found.dtype != torch.int32) + least)
    return (error <= bound + (math.sqrt(depth) + 4) * sums * scale).all()


SEEDS = [*range(80), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(80, 600))]


@pytest.mark.parametrize("seed", SEEDS)
def test_any_gemm(seed):
    rng = np.random.default_rng(seed)
    name = list(TYPES)[seed % len(TYPES)]
    dtype, outs = TYPES[name]
    m, n, k = (int(rng.choice(EXTENTS)) for _ in range(3))
    batch = [(), (), (2,), (3, 2)][rng.integers(4)]
    a_batch, b_batch = (
        tuple(1 if rng.random() < 0.3 else e for e in batch[: len(batch) - (rng.random() < 0.2)]) for _ in range(2)
    )
    out = outs[rng.integers(len(outs))]
    a = laid_out(rng, random(rng, (m, k, *a_batch), dtype))
    b = laid_out(rng, random(rng, (n, k, *b_batch), dtype))
    c = laid_out(rng, random(rng, (m, n, *batch), torch.float32).to(out))
    alpha, beta = (float(rng.choice(x)) for x in ((1, 1, 0.5, -2), (0, 0, 1, 0.5)))
    activation = list(ACTIVATIONS)[rng.integers(5)] if out != torch.int32 else None
    bias = None
    if rng.random() < 0.5:
        shape = ((n,), (1, n), (m, 1))[rng.integers(3)]
        bias = random(rng, shape, {"float64": torch.float64}.get(name, out if out == torch.int32 else torch.float32))

    wide = [double(x).reshape(*x.shape, *(1,) * (2 + len(batch) - len(x.shape))) for x in (a, b)]
    sums = np.einsum("mk...,nk...->mn...", *wide)
    scale = np.einsum("mk...,nk...->mn...", *map(np.abs, wide)) * abs(alpha) + 1
    total = alpha * sums + (beta * double(c) if beta else 0)
    if bias is not None:
        flat = double(bias)
        flat = flat[None, :] if flat.ndim == 1 else flat
        total = total + flat.reshape(*flat.shape, *(1,) * len(batch))
    expected = ACTIVATIONS[activation](np.broadcast_to(total, c.shape))
    if out == torch.float8_e4m3fn:
        expected = np.clip(expected, -448, 448)
    returned = kernels.gemm(a, b, c, alpha=alpha, beta=beta, bias=bias, activation=activation)
    assert returned is c
    found = torch.from_numpy(c.copy()) if isinstance(c, np.ndarray) else c
    assert close(found, expected, scale, dtype, k), (name, out, (m, n, k), batch)


def matrices(m, n, k, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((n, k)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_result_is_made(dtype):
    a, b = matrices(33, 20, 17, dtype)
    c = kernels.gemm(a, b)
    assert (type(c), c.dtype, c.shape, c.flags.c_contiguous) == (np.ndarray, dtype, (33, 20), True)
    np.testing.assert_allclose(c, a.astype("f8") @ b.T.astype("f8"), rtol=1e-2, atol=2e-2)
    wide = kernels.gemm(a, b, out_dtype=np.float32)
    assert wide.dtype == np.float32
    assert kernels.gemm(a, b, out_dtype=Float32).dtype == np.float32


def test_the_result_that_is_made_of_a_batch_has_rows():
    a, b = torch.randn(5, 4, 3, 2), torch.randn(6, 4, 1, 2)
    c = kernels.gemm(a, b)
    assert c.shape == (5, 6, 3, 2)
    assert c.stride() == (6, 1, 60, 30)
    torch.testing.assert_close(c, torch.einsum("mkxy,nky->mnxy", a, b[:, :, 0]))


@pytest.mark.parametrize(
    ("dtype", "result"),
    [(torch.float8_e5m2, torch.bfloat16), (torch.int8, torch.int32), (torch.bfloat16, torch.bfloat16)],
)
def test_the_type_that_is_made(dtype, result):
    a, b = torch.ones(3, 4).to(dtype), torch.ones(5, 4).to(dtype)
    c = kernels.gemm(a, b)
    assert c.dtype == result
    assert (c.float() == 4).all()


def test_mixed_types():
    a, b = torch.full((3, 4), -2, dtype=torch.int8), torch.full((5, 4), 200, dtype=torch.uint8)
    assert (kernels.gemm(a, b) == -1600).all()
    a, b = torch.full((3, 4), 0.5).to(torch.float8_e5m2), torch.full((5, 4), 3.0).to(torch.float8_e4m3fn)
    assert (kernels.gemm(a, b).float() == 6).all()


def test_tf32_only_where_it_is_allowed():
    a, b = matrices(128, 96, 200)
    expected = a.astype("f8") @ b.T.astype("f8")
    scale = np.abs(a) @ np.abs(b).T
    exact, rounded = (np.abs(kernels.gemm(a, b, allow_tf32=tf32) - expected) / scale for tf32 in (False, True))
    assert exact.max() < 2**-20
    assert 2**-16 < rounded.max() < 2**-10
    plan = kernels.gemm.plan(a, b, allow_tf32=True)
    np.testing.assert_array_equal(kernels.gemm(a, b, plan=plan), kernels.gemm(a, b, allow_tf32=True))


def test_nothing_to_add():
    """K = 0: what is left is the epilogue."""
    a, b, c = np.zeros((3, 0), np.float32), np.zeros((4, 0), np.float32), np.full((3, 4), -2, np.float32)
    kernels.gemm(a, b, c, beta=0.5, bias=np.arange(4, dtype=np.float32), activation="relu")
    np.testing.assert_array_equal(c, [[0, 0, 1, 2]] * 3)
    c[...] = np.nan
    assert (kernels.gemm(a, b, c) == 0).all()


@pytest.mark.parametrize("shape", [(0, 4, 3), (4, 0, 3), (0, 0, 0)])
def test_nothing_to_write(shape):
    m, n, k = shape
    c = np.zeros((m, n), np.float32)
    assert kernels.gemm(np.zeros((m, k), np.float32), np.zeros((n, k), np.float32), c) is c
    assert kernels.gemm(np.zeros((m, k), np.float32), np.zeros((n, k), np.float32)).shape == (m, n)
    empty = kernels.gemm(np.zeros((2, k, 0), np.float32), np.zeros((3, k, 0), np.float32))
    assert empty.shape == (2, 3, 0)


def test_c_is_not_read_where_beta_is_0():
    a, b = matrices(20, 20, 20)
    c = np.full((20, 20), np.nan, np.float32)
    kernels.gemm(a, b, c, beta=0.0)
    np.testing.assert_allclose(c, a @ b.T, rtol=1e-4, atol=1e-4)


def test_nan_stays():
    a, b = matrices(20, 20, 20)
    a[3, 4] = np.nan
    c = kernels.gemm(a, b, activation="relu")
    assert np.isnan(c[3]).all()
    assert not np.isnan(np.delete(c, 3, 0)).any()


def test_what_lies_around_c_is_left_alone():
    a, b = matrices(37, 29, 21)
    memory = np.full((64, 64), 7, np.float32)
    kernels.gemm(a, b, memory[3:40, 5:34])
    expected = np.full((64, 64), 7, np.float32)
    expected[3:40, 5:34] = a @ b.T
    np.testing.assert_allclose(memory, expected, rtol=1e-4, atol=1e-4)


def test_tensors_of_the_library():
    a, b = matrices(16, 8, 12)
    c = np.zeros((16, 8), np.float32)
    kernels.gemm(from_dlpack(a), from_dlpack(b), from_dlpack(c))
    np.testing.assert_allclose(c, a @ b.T, rtol=1e-4, atol=1e-4)
    kernels.gemm(from_dlpack(a), from_dlpack(b), cute.make_tensor(from_dlpack(c).iterator, cute.parse("(16,8):(8,1)")))
    np.testing.assert_allclose(c, a @ b.T, rtol=1e-4, atol=1e-4)


def test_runs_are_equal_bit_for_bit():
    a, b = matrices(100, 90, 300)
    first = kernels.gemm(a, b)
    for _ in range(3):
        np.testing.assert_array_equal(kernels.gemm(a, b), first)


# ---- plans ----


def test_a_plan_is_run_again():
    a, b = matrices(100, 60, 40)
    plan = kernels.gemm.plan(a, b, alpha=2, activation="relu")
    expected = np.maximum(2 * a @ b.T, 0)
    np.testing.assert_allclose(plan.run(a, b), expected, rtol=1e-4, atol=1e-4)
    c = np.zeros_like(expected)
    bound = plan.bind(a, b, c)
    bound()
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)
    assert plan.run(a, b, c, check=True)
    other_a, other_b = matrices(31, 44, 52, seed=1)
    np.testing.assert_allclose(plan.run(other_a, other_b), np.maximum(2 * other_a @ other_b.T, 0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(kernels.gemm(other_a, other_b, plan=plan), other_a @ other_b.T, rtol=1e-4, atol=1e-4)


def test_a_plan_of_c_transposed_is_run_again():
    a, b = matrices(100, 90, 40)
    plan = kernels.gemm.plan(a, b, np.zeros((90, 100), np.float32).T)
    assert plan.swapped
    for m, n, k in ((100, 90, 40), (72, 97, 36)):
        a, b = matrices(m, n, k)
        c = np.zeros((n, m), np.float32).T
        plan.run(a, b, c)
        np.testing.assert_allclose(c, a @ b.T, rtol=1e-4, atol=1e-4)
        assert plan.run(a, b, c, check=True)


def test_a_plan_for_its_own_sizes_is_the_plan_itself():
    """Of one kernel or of several, also of C transposed: a call by it plans no copies, and makes no name once more."""
    for m, n, k, rows in ((100, 60, 40, True), (100, 90, 40, False), (129, 129, 1027, True)):
        a, b = (x.astype(np.float16) for x in matrices(m, n, k))
        c = np.zeros((m, n), np.float16) if rows else np.zeros((n, m), np.float16).T
        plan = kernels.gemm.plan(a, b, c, arch="sm_90a")
        assert fit(plan, "plan.run", a, b, c)[0] is plan
        assert fit(plan, "plan.run", a, b[:33], c[:, :33])[0] is not plan


def test_a_plan_is_a_value():
    a, b = matrices(100, 60, 40)
    plan = kernels.gemm.plan(a, b)
    assert plan == kernels.gemm.plan(*matrices(100, 60, 40, seed=1))
    assert plan != kernels.gemm.plan(a, b, alpha=2)
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert hash(pickle.loads(pickle.dumps(plan))) == hash(plan)
    assert plan.replace(stages=plan.stages) == plan
    with pytest.raises(AttributeError, match=r"plan\.replace\(stages=\.\.\.\)"):
        plan.stages = 3
    assert str(plan.problem) in str(plan)


def test_a_tiler_alone_chooses_a_plan():
    a, b = matrices(100, 60, 40)
    first = kernels.gemm.plan(a, b)
    for plan in {p.tiler_mnk: p for p in (first, kernels.gemm.plan(a, b, tiler_mnk=(128, 128, 8)))}.values():
        again = kernels.gemm.plan(a, b, tiler_mnk=plan.tiler_mnk, stages=plan.stages)
        assert (again.tiler_mnk, again.stages) == (plan.tiler_mnk, plan.stages)
        np.testing.assert_allclose(
            kernels.gemm(a, b, tiler_mnk=plan.tiler_mnk, stages=plan.stages), a @ b.T, rtol=1e-4, atol=1e-4
        )


def test_the_configuration_of_the_simt_tutorials():
    """128 by 128 by 8 with 256 threads, 8 by 8 products each, copies of single elements through cp.async."""
    mma = cute.make_tiled_mma(MmaUniversalOp(Float32), cute.make_layout((16, 16, 1), stride=(16, 1, 0)))
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 8), stride=(8, 1)), cute.make_layout((1, 1)))
    a, b = matrices(200, 150, 37)
    c = kernels.gemm(a, b, tiled_mma=mma, tiled_copy_a=copy, tiled_copy_b=copy, tiler_mnk=(128, 128, 8), stages=3)
    np.testing.assert_allclose(c, a @ b.T, rtol=1e-4, atol=1e-4)


def tiled_mmas():
    """(TiledMma, type of the tensors, tiler) for each kernel."""
    yield cute.make_tiled_mma(MmaUniversalOp(Float32), cute.make_layout((16, 16, 1))), "float32", (64, 64, 16)
    yield cute.make_tiled_mma(MmaUniversalOp(Float16, Float32), cute.make_layout((16, 16, 1))), "float16", (64, 64, 16)
    for op, dtype in (
        (warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16)), "bfloat16"),
        (warp.MmaF16BF16Op(Float16, Float32, (16, 8, 8)), "float16"),
        (warp.MmaTF32Op((16, 8, 8)), "float32"),
    ):
        yield cute.make_tiled_mma(op, (2, 2, 1), (32, 32, 16)), dtype, (64, 128, 32)
    smem, along_k = warpgroup.OperandSource.SMEM, warpgroup.OperandMajorMode.K
    op = warpgroup.MmaF16BF16Op(BFloat16, Float32, (64, 64, 16), smem, along_k, along_k)
    yield cute.make_tiled_mma(op), "bfloat16", (64, 64, 64)


@pytest.mark.parametrize(("mma", "dtype", "tiler"), list(tiled_mmas()), ids=lambda x: str(getattr(x, "op", x)))
def test_a_given_tiled_mma(mma, dtype, tiler):
    a, b = (torch.randn(rows, 72).to(getattr(torch, dtype)) for rows in (100, 90))
    expected = a.double() @ b.double().T
    plan = kernels.gemm.plan(a, b, tiled_mma=mma, tiler_mnk=tiler)
    assert (plan.tiled_mma, plan.tiler_mnk, plan.problem.acc_type) == (mma, tiler, mma.op.acc_dtype)
    c = kernels.gemm(a, b, tiled_mma=mma, tiler_mnk=tiler)
    torch.testing.assert_close(c.double(), expected, rtol=2e-2, atol=6e-2)
    assert torch.equal(plan.run(a, b), c)
    assert torch.equal(kernels.gemm(a, b, plan=plan), c)
    assert plan.run(a, b, check=True)


# ---- the rule ----


def half(*shape):
    """An array of torch that begins at a multiple of 64 bytes."""
    return torch.randn(shape).to(torch.bfloat16)


@pytest.mark.parametrize(("m", "n", "k"), [(65, 67, 33), (130, 129, 258), (70, 71, 5)])
def test_rows_that_are_turned(m, n, k, monkeypatch):
    rule = Rule({**h200.RULE, "loose": 1e9, "loose_across": 1e9}, "RULE")  # also where it takes longer
    monkeypatch.setattr(Rule, "of", lambda facts: rule)
    a, b = torch.randn(m, k), torch.randn(n, k)
    a[:, -1], b[0] = float("inf"), float("nan")  # nothing of them may come into other sums
    plan = kernels.gemm.plan(a, b)
    assert isinstance(plan, PaddedGemm)
    assert plan.is_turned
    assert (plan.gemm.padded_a, plan.gemm.padded_b) == (True, True)
    expected = a.double() @ b.double().t()
    for _ in range(2):
        assert torch.allclose(plan.run(a, b).double(), expected, rtol=1e-5, atol=1e-4, equal_nan=True)
    assert plan.run(a, b, check=True)
    other = [x[: x.shape[0] // 2].contiguous() for x in (a, b)]
    assert torch.allclose(
        plan.run(*other).double(), other[0].double() @ other[1].double().t(), equal_nan=True, rtol=1e-4
    )


def test_rows_that_are_not_aligned_are_padded():
    a, b = half(511, 515), half(513, 515)
    plan = kernels.gemm.plan(half(4095, 4103), half(4097, 4103))
    assert isinstance(plan, PaddedGemm)
    assert plan.copy_a is not None
    assert plan.copy_b is not None
    assert plan.gemm.kernel_name == "sm90"
    assert "copy of A" in str(plan)
    assert pickle.loads(pickle.dumps(plan)) == plan
    found = kernels.gemm(a, b, plan=plan, out_dtype=torch.bfloat16)
    torch.testing.assert_close(found.float(), a.float() @ b.float().T, rtol=8e-3, atol=1e-2)
    assert plan.run(a, b, check=True)
