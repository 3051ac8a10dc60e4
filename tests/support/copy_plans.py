"""Arrays and plans of copies that several tests begin with."""

from __future__ import annotations

import numpy as np

from tilewright import kernels


def aligned(shape, dtype="f4"):
    """Zeros that begin at a multiple of 64 bytes."""
    count = int(np.prod(shape))
    memory = np.zeros(count + 64, dtype)
    start = -memory.ctypes.data % 64 // memory.itemsize
    return memory[start : start + count].reshape(shape)


def numbers(shape, dtype="f4"):
    array = aligned(shape, dtype)
    array[...] = np.arange(1, array.size + 1).reshape(shape)
    return array


def contiguous():
    """A plan for rows of 16, by 4 threads."""
    return kernels.tiled_copy.plan(aligned(16), aligned(16))


def transposing():
    """A staged plan for 8 x 12 elements."""
    return kernels.tiled_copy.plan(aligned((8, 12), "i2"), aligned((12, 8), "i2").T)
