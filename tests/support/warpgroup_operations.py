"""The kinds of wgmma that the tests of kernels multiply by."""

from __future__ import annotations

import tilewright as cutlass
from tilewright.cute.nvgpu import warpgroup

K, MN = warpgroup.OperandMajorMode.K, warpgroup.OperandMajorMode.MN
SMEM, RMEM = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM
F16, BF16, F32 = cutlass.Float16, cutlass.BFloat16, cutlass.Float32
E4M3, E5M2 = cutlass.Float8E4M3FN, cutlass.Float8E5M2
OPERATIONS = [
    *(
        warpgroup.MmaF16BF16Op(ab, acc, (64, 64, 16), source, a, b)
        for ab, acc in ((BF16, F32), (F16, F32), (F16, F16))
        for source, a in ((SMEM, K), (SMEM, MN), (RMEM, K))
        for b in (K, MN)
    ),
    *(warpgroup.MmaTF32Op((64, 32, 8), source) for source in (SMEM, RMEM)),
    *(
        warpgroup.MmaF8Op(a, b, acc, (64, 40, 32), source)
        for a, b, acc in ((E4M3, E4M3, F32), (E5M2, E4M3, F32), (E4M3, E5M2, F16))
        for source in (SMEM, RMEM)
    ),
    *(
        warpgroup.MmaI8Op(a, b, cutlass.Int32, (64, 48, 32), source)
        for a, b in ((cutlass.Int8, cutlass.Int8), (cutlass.Uint8, cutlass.Int8))
        for source in (SMEM, RMEM)
    ),
]
