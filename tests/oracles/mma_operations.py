"""All operations of MMA atoms, and where the PTX manual says that threads have which elements."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright.cute.nvgpu import MmaUniversalOp, OperandMajorMode, warp, warpgroup

K = OperandMajorMode.K
SMEM, RMEM = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM
HALF, FLOAT = tw.Float16, tw.Float32
F8, I8 = (tw.Float8E4M3FN, tw.Float8E5M2), (tw.Int8, tw.Uint8)

UNIVERSAL = [
    *(MmaUniversalOp(dtype) for dtype in (HALF, tw.BFloat16, FLOAT, tw.Float64, *F8, *I8, tw.Int32)),
    MmaUniversalOp(HALF, FLOAT),
    MmaUniversalOp(tw.Int8, tw.Int32, tw.Uint8),
]
WARP = [
    *(warp.MmaF16BF16Op(HALF, acc, (16, 8, k)) for acc in (HALF, FLOAT) for k in (8, 16)),
    *(warp.MmaF16BF16Op(tw.BFloat16, FLOAT, (16, 8, k)) for k in (8, 16)),
    *(warp.MmaTF32Op((16, 8, k)) for k in (4, 8)),
    *(warp.MmaFP8Op(a, acc, (16, 8, 32), b) for a in F8 for b in F8 for acc in (HALF, FLOAT)),
    *(warp.MmaI8Op(a, tw.Int32, (16, 8, k), b) for a in I8 for b in I8 for k in (16, 32)),
    *(warp.MmaF64Op(shape) for shape in ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16))),
]


def warpgroup_operations(extents):
    """Every kind of wgmma with these N, A in shared memory and in registers."""
    for source in (SMEM, RMEM):
        for n in extents:
            for acc in (HALF, FLOAT):
                yield warpgroup.MmaF16BF16Op(HALF, acc, (64, n, 16), source, K, K)
            yield warpgroup.MmaF16BF16Op(tw.BFloat16, FLOAT, (64, n, 16), source, K, K)
            yield warpgroup.MmaTF32Op((64, n, 8), source)
            for a in F8:
                for b in F8:
                    yield warpgroup.MmaF8Op(a, b, FLOAT, (64, n, 32), source)
                yield warpgroup.MmaF8Op(a, a, HALF, (64, n, 32), source)
            for a in I8 if n < 32 or n % 16 == 0 else ():
                for b in I8:
                    yield warpgroup.MmaI8Op(a, b, tw.Int32, (64, n, 32), source)


WARPGROUP = list(warpgroup_operations((8, 24)))
ALL = [*UNIVERSAL, *WARP, *WARPGROUP]


# ---- the figures of the PTX manual: (row, column) of register i of a lane --------------------------------------------


def c_of(lane, i, m):
    """Accumulators of m16n8 and, with m = 8, of m8n8k4."""
    group, thread = divmod(lane, 4)
    return group + (8 if m > 8 and i % 4 >= 2 else 0), 2 * thread + i % 2 + (8 * (i // 4) if m > 8 else 0)


def a_of(lane, i, bits, k, m):
    """Rows and columns of A in registers, by the bits of an element and the K of the instruction."""
    group, thread = divmod(lane, 4)
    if m == 8:  # m8n8k4
        return group, thread
    if bits == 8:
        return group + (8 if i % 8 >= 4 else 0), 4 * thread + i % 4 + (16 if i >= 8 else 0)
    if bits == 16:
        return group + (8 if i in (2, 3, 6, 7) else 0), 2 * thread + i % 2 + (8 if i >= 4 else 0)
    return group + (8 if i % 2 else 0), thread + 4 * (i // 2)


def b_of(lane, i, bits, k, m):
    """Columns n and k of B in registers."""
    group, thread = divmod(lane, 4)
    if bits == 8:
        return group, 4 * thread + i % 4 + (16 if i >= 4 else 0)
    if bits == 16:
        return group, 2 * thread + i % 2 + (8 if i >= 2 else 0)
    return group, thread + 4 * i


def figure(op, operand):
    """(thread, value, 2): the row and the column in the tile of an operand that threads have in registers."""
    m, n, k = op.shape_mnk
    if m * n == 1:
        return np.zeros((1, 1, 2), int)
    bits = op.a_dtype.bits
    warps = m // 16 or 1
    threads = 32 * warps
    count = {"A": m * k, "B": n * k, "C": m * n}[operand] // threads
    places = np.zeros((threads, count, 2), int)
    for t in range(threads):
        for i in range(count):
            if operand == "C":
                row, column = c_of(t % 32, i, m)
            else:
                row, column = (a_of if operand == "A" else b_of)(t % 32, i, bits, k, m)
            places[t, i] = row + (16 * (t // 32) if operand != "B" else 0), column
    return places
