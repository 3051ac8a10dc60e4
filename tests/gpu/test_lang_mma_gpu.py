"""mma.sync, ldmatrix and stmatrix of kernels in Python, on a GPU: what the CPU's execution gives, to rounding."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
import warp_gemms
from mma_operations import WARP
from tilewright import _core, cute
from warp_gemms import FORMS, PLAIN, SWIZZLED, copies, elements, tensor

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]
CAPABILITY = (
    0
    if not torch.cuda.is_available()
    else 10 * torch.cuda.get_device_capability()[0] + (torch.cuda.get_device_capability()[1])
)


def least(op):
    return int(op.arch.removeprefix("sm_"))


def on_gpu(array):
    return torch.from_numpy(array).cuda()


@pytest.mark.parametrize("op", WARP, ids=str)
def test_every_instruction_multiplies(op):
    if least(op) > CAPABILITY:
        pytest.skip(f"the device has no {op.instruction}")
    rng = np.random.default_rng(3)
    m, n, k = (x * r for x, r in zip(op.shape_mnk, (4, 4, 3), strict=True))
    (kept_a, a), (kept_b, b) = elements(rng, (m, k), op.a_dtype), elements(rng, (n, k), op.b_dtype)
    kept_c, c = elements(rng, (m, n), op.acc_dtype)
    kept = [on_gpu(x) for x in (kept_a, kept_b, kept_c, np.zeros_like(kept_c))]
    a_type, b_type = (cutlass.Float32 if t is cutlass.TFloat32 else t for t in (op.a_dtype, op.b_dtype))
    types = (a_type, b_type, op.acc_dtype, op.acc_dtype)
    tiled_mma = cute.make_tiled_mma(op, (2, 2, 1))
    warp_gemms.tile(*(tensor(x, t) for x, t in zip(kept, types, strict=True)), tiled_mma)
    found, wanted = kept[3].cpu().numpy(), a @ b.T + c
    if op.acc_dtype is cutlass.Int32:
        np.testing.assert_array_equal(found, wanted.astype(np.int64).astype(np.uint32).view(np.int32))
        return
    size = np.abs(a) @ np.abs(b).T + np.abs(c)
    # Float8 products are aligned to the largest and cut off at 14 bits.
    is_float8 = op.a_dtype in (cutlass.Float8E4M3FN, cutlass.Float8E5M2)
    epsilon = {cutlass.Float16: 2**-10, cutlass.Float32: 2**-12 if is_float8 else 2**-20, cutlass.Float64: 2**-50}
    assert (np.abs(found - wanted) <= 4 * epsilon[op.acc_dtype] * size).all()


@pytest.mark.parametrize(("matrices", "transpose"), FORMS)
@pytest.mark.parametrize("swizzle", [PLAIN, SWIZZLED], ids=str)
@pytest.mark.skipif(CAPABILITY < 90, reason="no stmatrix")
def test_what_is_loaded_is_stored_again(matrices, transpose, swizzle):
    load, store = copies(matrices, transpose)
    shape = (16, 8 * matrices)
    outer = cute.make_layout(shape) if transpose else cute.make_layout(shape, stride=(shape[1], 1))
    layout = cute.make_composed_layout(swizzle, 0, outer)
    src = torch.arange(128 * matrices, dtype=torch.float16, device="cuda").reshape(shape)
    dst = torch.zeros_like(src)
    warp_gemms.through_matrices(cute.from_dlpack(src), cute.from_dlpack(dst), layout, load, store)
    assert torch.equal(src, dst)


@pytest.mark.parametrize("swizzle", [PLAIN, SWIZZLED], ids=str)
def test_a_product_by_cp_async_and_ldmatrix(swizzle):
    rng = np.random.default_rng(0)
    (kept_a, a), (kept_b, b) = (elements(rng, (32, 96), cutlass.BFloat16) for _ in range(2))
    kept_a, kept_b, c = (on_gpu(x) for x in (kept_a, kept_b, np.zeros((32, 32), np.float32)))
    arguments = (*(tensor(x, cutlass.BFloat16) for x in (kept_a, kept_b)), tensor(c, cutlass.Float32))
    warp_gemms.staged(*arguments, swizzle, "")
    np.testing.assert_allclose(c.cpu().numpy(), a @ b.T, rtol=1e-4, atol=1e-3)


def test_the_example_is_right_on_a_large_problem():
    import runpy

    from places import ROOT

    program = runpy.run_path(str(ROOT / "examples" / "gemm_mma_sync.py"))
    torch.manual_seed(0)
    a, b = (torch.randn(x, 1000, device="cuda").bfloat16() for x in (2000, 3000))
    c = torch.empty(2000, 3000, device="cuda", dtype=torch.bfloat16)
    program["gemm"](*(cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b, c)))
    wanted = a.double() @ b.double().T
    assert float((c.double() - wanted).norm() / wanted.norm()) < 3e-3
