"""The CUDA C++ of mma.sync, ldmatrix and stmatrix, compiled for the host: the bits that the CPU's execution gives."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

import tilewright as cutlass
import warp_gemms
from cpu_device import COMPILER
from cpu_lang import HostKernels
from kernel_batches import launch_of
from places import ROOT
from tilewright import cute
from warp_gemms import FORMS, PLAIN, SWIZZLED, copies, elements, tensor

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


def both(tmp_path, function, result, given, *constants):
    """What the emitted text and the CPU's execution leave in an array."""
    compiled = cute.compile(function, *given, *constants)
    found = []
    result[...] = 0
    kernels = HostKernels([compiled.traced.program], tmp_path)
    (name,) = kernels.parameters
    launch = launch_of(compiled, given)
    kernels(name, *(np.uint64(x) for x in launch.arguments), grid=launch.grid, block=launch.block)
    found.append(result.copy())
    result[...] = 0
    with cute.on_cpu(check=False):
        compiled(*given)
    found.append(result.copy())
    return found


@pytest.mark.parametrize("swizzle", [PLAIN, SWIZZLED], ids=str)
def test_a_product_in_stages(tmp_path, swizzle):
    rng = np.random.default_rng(1)
    (kept_a, a), (kept_b, b) = (elements(rng, (32, 96), cutlass.BFloat16) for _ in range(2))
    c = np.zeros((32, 32), np.float32)
    operands = (tensor(kept_a, cutlass.BFloat16), tensor(kept_b, cutlass.BFloat16), tensor(c, cutlass.Float32))
    text, executed = both(tmp_path, warp_gemms.staged, c, operands, swizzle, "")
    np.testing.assert_array_equal(text, executed)
    np.testing.assert_allclose(text, a @ b.T, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("matrices", "transpose"), FORMS)
def test_matrices_there_and_back(tmp_path, matrices, transpose):
    load, store = copies(matrices, transpose)
    shape = (16, 8 * matrices)
    outer = cute.make_layout(shape) if transpose else cute.make_layout(shape, stride=(shape[1], 1))
    layout = cute.make_composed_layout(SWIZZLED, 0, outer)
    src = np.arange(16 * 8 * matrices, dtype=np.float16).reshape(shape)
    dst = np.zeros_like(src)
    arguments = (cute.from_dlpack(src), cute.from_dlpack(dst), layout, load, store)
    for found in both(tmp_path, warp_gemms.through_matrices, dst, arguments):
        np.testing.assert_array_equal(found, src)


@pytest.mark.parametrize("along_k", [(True, True), (False, True), (True, False), (False, False)], ids=str)
def test_the_example(tmp_path, along_k):
    torch = pytest.importorskip("torch")
    m, n, k = 72, 72, 168
    program = runpy.run_path(str(ROOT / "examples" / "gemm_mma_sync.py"))
    torch.manual_seed(0)
    a, b = (
        torch.randn(x, k).bfloat16() if lies_along_k else torch.randn(k, x).bfloat16().T
        for x, lies_along_k in zip((m, n), along_k, strict=True)
    )
    c = torch.zeros(m, n, dtype=torch.bfloat16)
    arguments = [cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b, c)]
    text, executed = both(tmp_path, program["gemm"], c.view(torch.int16).numpy(), arguments)
    np.testing.assert_array_equal(text, executed)
    c.view(torch.int16).numpy()[...] = text
    torch.testing.assert_close(c, (a.double() @ b.double().T).bfloat16(), rtol=1e-2, atol=1e-3)
