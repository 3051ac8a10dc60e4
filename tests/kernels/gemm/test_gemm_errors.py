"""What a GEMM refuses, word for word."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from cpu_device import OnDevice
from tilewright import Float16, Float32, Int4, cute, kernels
from tilewright.cute.nvgpu import CopyUniversalOp, MmaUniversalOp, warp
from tilewright.cute.runtime import from_dlpack

torch = pytest.importorskip("torch")


def zeros(*shape, dtype="f4"):
    """An array that begins at a multiple of 64 bytes."""
    size = np.dtype(dtype).itemsize
    raw = np.zeros(int(np.prod(shape)) * size + 64, np.uint8)
    first = -raw.ctypes.data % 64
    return np.ndarray(shape, dtype, raw, first)


A, B, C = zeros(3, 4), zeros(5, 4), zeros(3, 5)
square = zeros(8, 8)


def misaligned(rows, columns):
    raw = np.zeros(rows * columns * 4 + 64, np.uint8)
    return np.ndarray((rows, columns), np.float32, raw, -raw.ctypes.data % 64 + 1)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def strided(shape, strides):
    return np.lib.stride_tricks.as_strided(np.zeros(10**5, np.float32), shape, [4 * d for d in strides])


def on_device(array, device):
    return OnDevice(from_dlpack(array), device)


def packed(*shape):
    return cute.make_rmem_tensor(shape, Int4)


def half(*shape):
    return torch.zeros(shape, dtype=torch.bfloat16)


def float8(*shape):
    return torch.zeros(shape).to(torch.float8_e4m3fn)


def fma(*atoms):
    return cute.make_tiled_mma(MmaUniversalOp(Float32), cute.make_layout(atoms))


def mma(sums=Float32):
    return cute.make_tiled_mma(warp.MmaF16BF16Op(Float16, sums, (16, 8, 16)), (2, 2, 1))


def f16(*shape):
    return torch.zeros(shape, dtype=torch.float16)


def copy(dtype):
    atom = cute.make_copy_atom(CopyUniversalOp(), dtype)
    return cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8)), cute.make_layout((1, 1)))


def plan():
    return kernels.gemm.plan(A, B)


def plan80():
    return kernels.gemm.plan(f16(256, 256), f16(256, 256), arch="sm_80")


def plan90():
    return kernels.gemm.plan(f16(256, 256), f16(256, 256))


ERRORS = Path(__file__).with_name("gemm_errors.txt")
LINES = ERRORS.read_text().splitlines() if ERRORS.exists() else []
CASES = list(zip(LINES[::2], LINES[1::2], strict=True))


@pytest.mark.parametrize(("call", "expected"), CASES, ids=[call for call, _ in CASES])
def test_text_of_errors(call, expected, monkeypatch):
    monkeypatch.setattr(tw._core.cuda, "driver_path", lambda: None)
    with pytest.raises((ValueError, TypeError, RuntimeError)) as caught:
        eval(call, globals())
    text = re.sub(r"0x[0-9a-f]+", "0x..", str(caught.value))
    assert f"    {type(caught.value).__name__}: {text}" == expected
