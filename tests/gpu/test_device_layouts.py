"""Every layout type that kernels get, evaluated on the device at all coordinates: what the host says that it is."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from device_layouts import HEADER, SOURCE, evaluations
from tilewright import _core

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

THREADS = 256


def test_device_layouts_are_the_hosts():
    from tilewright.runtime.compiler import compile_program, kernel
    from tilewright.runtime.device import arch_of

    all_ = evaluations()
    assert len(all_) > 100
    names = list(dict.fromkeys(evaluation.name for evaluation in all_))
    program = compile_program("evaluate", names, arch_of(0), headers={"evaluate.cuh": HEADER}, source=SOURCE)
    memory = _core.cuda.allocate_pinned(0, 8 * sum(evaluation.expected.size for evaluation in all_))
    out = np.frombuffer(memory, np.int64)
    out[:] = -1 << 62
    begin = 0
    for evaluation in all_:
        grid = -(-len(evaluation.expected) // THREADS), 1, 1
        params = struct.pack("<Q", memory.address + 8 * begin) + evaluation.params
        kernel(program, evaluation.name, 0).launch(grid, (THREADS, 1, 1), 0, 0, params)
        begin += evaluation.expected.size
    _core.cuda.synchronize(0)
    begin = 0
    for evaluation in all_:
        end = begin + evaluation.expected.size
        found = out[begin:end].reshape(evaluation.expected.shape)
        np.testing.assert_array_equal(found, evaluation.expected, err_msg=evaluation.label)
        begin = end
