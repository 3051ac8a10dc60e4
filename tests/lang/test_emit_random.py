"""Random kernels of integers, branches, loops and fragments: their CUDA C++ on the host does what plain Python does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import test_execute_random as random_kernels
from cpu_device import COMPILER
from cpu_lang import UNDEFINED, HostKernels

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")

TOGETHER = 20  # kernels that are compiled together

batches = st.lists(st.tuples(random_kernels.programs, st.integers(0, 2**32 - 1)), min_size=TOGETHER, max_size=TOGETHER)


def inputs_of(seed):
    rng = np.random.default_rng(seed)
    small, large = rng.integers(-5, 100, 320), rng.integers(-(2**31), 2**31, 320)
    return rng.choice([small, large]).astype(np.int32).reshape(-1, random_kernels.VARIABLES)


@given(batches)
@settings(
    max_examples=max(settings.default.max_examples // 100, 1),
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_random_kernels(tmp_path_factory, capfd, batch):
    written = [random_kernels.written(program).program for program, _ in batch]
    kernels = HostKernels(written, tmp_path_factory.mktemp("random"), numbered=True, options=("-O0", UNDEFINED))
    for number, (program, seed) in enumerate(batch):
        inputs = inputs_of(seed)
        expected = random_kernels.computed(program, inputs.tolist())
        outputs = np.zeros((random_kernels.THREADS, random_kernels.VARIABLES + random_kernels.PLACES), np.int32)
        kernels(f"kernel_{number}", inputs, outputs, block=(random_kernels.THREADS,))
        np.testing.assert_array_equal(outputs, expected, err_msg=str(program))
        assert "runtime error" not in capfd.readouterr().err, program
