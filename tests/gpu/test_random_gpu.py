"""Random kernels on a GPU do what plain Python does, bit for bit. `random_programs.py` beside this runs 10^5."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import _core

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]


@pytest.mark.parametrize("first", range(0, 1000, 200))
def test_random_kernels(first):
    from kernel_batches import GpuBatch
    from random_kernels import Program, Random, same
    from tilewright.lang.gpu import arch_of

    programs = [Program(Random(seed)) for seed in range(first, first + 200)]
    with np.errstate(all="ignore"):
        expected = [program.computed() for program in programs]
    found = GpuBatch(programs, 0, arch_of(0)).run()
    differing = [str(p) for p, x, y in zip(programs, found, expected, strict=True) if not same(x, y)]
    assert not differing, f"{len(differing)} differ; the first is\n{differing[0]}"
