"""A defect of each kind is found on the CPU at its lines. tests/gpu asks compute-sanitizer for the same lines."""

from __future__ import annotations

import numpy as np
import pytest

import planted_kernels
from tilewright import cute
from tilewright.lang.cpu import KernelError


@pytest.mark.parametrize("planted", planted_kernels.KERNELS, ids=lambda x: x.name)
def test_a_planted_defect_is_found_at_its_line(planted):
    x, y = np.random.default_rng(0).random(planted_kernels.THREADS + 4, np.float32), np.zeros(64, np.float32)
    with cute.on_cpu(check=True), pytest.raises(KernelError) as info:
        planted_kernels.launch(x, y, planted.kernel)
    found = info.value.findings
    assert {finding.kind for finding in found} == set(planted.kinds)
    places = [finding.place for finding in found] + [finding.other_place for finding in found if finding.other_place]
    assert {(file.rpartition("/")[2], line) for file, line, *_ in places} == {
        ("planted_kernels.py", line) for line in planted.lines
    }
