"""wgmma of kernels in Python, on a GPU: every kind beside float64, and GEMMs of the examples beside torch's."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

import tilewright as cutlass
import warpgroup_gemms
from places import ROOT
from tilewright import _core, cute
from tilewright.cute.nvgpu import warpgroup
from warp_gemms import elements, tensor
from warpgroup_operations import OPERATIONS

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9, reason="wgmma is Hopper's"
    ),
]


def on_gpu(array):
    return torch.from_numpy(array).cuda()


@pytest.mark.parametrize("accumulate", [True, False])
@pytest.mark.parametrize("op", OPERATIONS, ids=str)
def test_every_kind_multiplies(op, accumulate):
    rng = np.random.default_rng(3)
    m, n, k = (x * r for x, r in zip(op.shape_mnk, (4, 2, 4), strict=True))
    (kept_a, a), (kept_b, b) = elements(rng, (m, k), op.a_dtype), elements(rng, (n, k), op.b_dtype)
    kept_c, c = elements(rng, (m, n), op.acc_dtype)
    kept = [on_gpu(x) for x in (kept_a, kept_b, kept_c, np.zeros_like(kept_c))]
    a_type, b_type = (cutlass.Float32 if t is cutlass.TFloat32 else t for t in (op.a_dtype, op.b_dtype))
    types = (a_type, b_type, op.acc_dtype, op.acc_dtype)
    warpgroup_gemms.tile(
        *(tensor(x, t) for x, t in zip(kept, types, strict=True)), *warpgroup_gemms.smem_layouts(op, m, n, k),
        cute.make_tiled_mma(op, (2, 1, 1)), accumulate, "",
    )  # fmt: skip
    c = c if accumulate else c * 0
    found, wanted = kept[3].cpu().numpy(), a @ b.T + c
    if op.acc_dtype is cutlass.Int32:
        np.testing.assert_array_equal(found, wanted.astype(np.int64).astype(np.uint32).view(np.int32))
        return
    size = np.abs(a) @ np.abs(b).T + np.abs(c)
    # Float8 products are aligned to the largest and cut off at 14 bits.
    is_float8 = op.a_dtype in (cutlass.Float8E4M3FN, cutlass.Float8E5M2)
    epsilon = {cutlass.Float16: 2**-10, cutlass.Float32: 2**-12 if is_float8 else 2**-20}
    assert (np.abs(found - wanted) <= 4 * epsilon[op.acc_dtype] * size).all()


@pytest.mark.parametrize("span", [16, 32, 64, 128])
@pytest.mark.parametrize("major", list(warpgroup.OperandMajorMode), ids=str)
def test_every_swizzle(span, major):
    op = warpgroup.MmaF16BF16Op(
        cutlass.Float16, cutlass.Float32, (64, 128, 16), warpgroup.OperandSource.SMEM, major, major
    )
    a, b = (torch.randn(128, 64, device="cuda").half() for _ in range(2))
    c, d = (torch.zeros(128, 128, device="cuda") for _ in range(2))
    layouts = warpgroup_gemms.smem_layouts(op, 128, 128, 64, span)
    tensors = [cute.from_dlpack(x, assumed_align=16) for x in (a, b, c, d)]
    warpgroup_gemms.tile(*tensors, *layouts, cute.make_tiled_mma(op), True, "")
    torch.testing.assert_close(d.double(), a.double() @ b.double().T, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("orders", ["kk", "kn", "mk", "mn"])
@pytest.mark.parametrize("name", ["gemm_wgmma", "gemm_tma_wgmma"])
def test_a_large_product_of_the_examples(name, orders):
    gemm = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["gemm"]
    clusters = [cutlass.utils.HardwareInfo().get_max_active_clusters(2)] if name == "gemm_tma_wgmma" else []
    a, b = (torch.randn(2048, 2048, device="cuda").bfloat16() for _ in range(2))
    a, b = (x if order == "k" else x.T for x, order in zip((a, b), orders, strict=True))
    c = torch.empty(2048, 2048, device="cuda", dtype=torch.bfloat16)
    gemm(*(cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b, c)), *clusters)
    torch.testing.assert_close(c, (a.double() @ b.double().T).bfloat16(), rtol=2e-2, atol=1e-2)
