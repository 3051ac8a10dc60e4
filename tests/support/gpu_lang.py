"""Kernels of traced programs on a GPU, called as the host's are: with arrays, which lie in pinned memory meanwhile."""

from __future__ import annotations

import numpy as np

from tilewright import _core
from tilewright._core import program as core
from tilewright.lang.compile import CompiledKernel
from tilewright.runtime.device import arch_of

DEVICE = 0


class GpuKernels:
    """All kernels of programs."""

    def __init__(self, programs) -> None:
        self.kernels = {}
        for program in programs:
            for index, function in enumerate(program.functions):
                if function.is_kernel:
                    self.kernels[core.cuda_name(program, index)] = CompiledKernel(program, index, arch_of(DEVICE))

    def __call__(self, name, *arguments, grid=(1, 1, 1), block=(1, 1, 1), **options) -> int:
        """Run a kernel on NumPy arrays (their memory) and NumPy scalars, and wait for it."""
        kernel = self.kernels[name]
        arrays = [x for x in arguments if isinstance(x, np.ndarray)]
        places = np.cumsum([0, *(-(-x.nbytes // 256) * 256 for x in arrays)])
        memory = _core.cuda.allocate_pinned(DEVICE, max(int(places[-1]), 256))
        there = np.frombuffer(memory, np.uint8)
        params = bytearray(kernel.parameter_bytes)
        which = iter(zip(arrays, places, strict=False))
        for offset, x in zip(kernel.offsets, arguments, strict=True):
            if isinstance(x, np.ndarray):
                array, place = next(which)
                there[place : place + array.nbytes] = np.frombuffer(array.tobytes(), np.uint8)
                value = np.uint64(memory.address + int(place)).tobytes()
            else:
                value = np.array(x).tobytes()
            params[offset : offset + len(value)] = value
        three = [(*x, 1, 1)[:3] for x in (grid, block)]
        kernel.launch(DEVICE, *three, bytes(params), **options)
        _core.cuda.synchronize(DEVICE)
        for array, place in zip(arrays, places, strict=False):
            array.reshape(-1).view(np.uint8)[:] = there[place : place + array.nbytes]
        return 0
