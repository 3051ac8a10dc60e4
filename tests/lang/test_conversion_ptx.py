"""Conversions of narrow numbers are few instructions of PTX."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from compiling import nvrtc
from tilewright import cute


@cute.kernel
def conversion_kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i] = x[i].to(y.element_type)


@cute.jit
def conversion(x: cute.Tensor, y: cute.Tensor):
    conversion_kernel(x, y).launch(block=[8, 1, 1])


def ptx(x, y, arch):
    return cute.compile(conversion, x, y, options=f"--gpu-arch {arch}").ptx


@nvrtc
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16])
def test_a_float_becomes_a_small_integer_without_a_branch(dtype):
    x, y = np.array([300.7, -1, -300, 1e10, np.nan, -np.inf, 70000, 0.5], np.float32), np.zeros(8, dtype)
    conversion(x, y)
    bounds = np.iinfo(dtype)
    assert y.tolist() == [int(np.clip(np.nan_to_num(v, nan=0), bounds.min, bounds.max)) for v in x.tolist()]
    text = ptx(x, y, "sm_90a")
    assert "cvt.rzi.s32.f32" in text
    assert "bra" not in text


@nvrtc
def test_a_float_of_8_bits_is_widened_by_one_instruction():
    x, y = cute.runtime.make_fake_compact_tensor(cutlass.Float8E4M3FN, (8,)), np.zeros(8, np.float32)
    assert "cvt.rn.f16x2.e4m3x2" in ptx(x, y, "sm_90a")
    assert "cvt.rn.f16x2.e4m3x2" not in ptx(x, y, "sm_80")
