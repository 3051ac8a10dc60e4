"""A tensor and a thread-value layout that the tests of visualize_tv look at."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from cpu_device import OnDevice
from tilewright import cute, kernels
from tilewright.cute.runtime import from_dlpack

L = cute.parse
TV = L("((2,2),(2,3)):((2,12),(1,4))")
VALUES = [[0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11], [12, 13, 16, 17, 20, 21], [14, 15, 18, 19, 22, 23]]


def column(dtype=np.int32):
    return np.arange(24, dtype=dtype).reshape(24, 1)


def on_device(tensor):
    return from_dlpack(OnDevice(tensor), force_tf32=tensor.element_type is tw.TFloat32)


def both(tensor, tv_layout, layout=None):
    """The results for a tensor on the CPU and as if it lay in device memory."""
    there, here = on_device(tensor), from_dlpack(tensor, force_tf32=tensor.element_type is tw.TFloat32)
    if layout is not None:
        here, there = (cute.make_tensor(x.iterator, layout) for x in (here, there))
    return kernels.visualize_tv(here, tv_layout), kernels.visualize_tv(there, tv_layout)
