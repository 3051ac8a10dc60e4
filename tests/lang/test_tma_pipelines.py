"""Pipelines that TMA fills and empties: results, and planted defects, each found on its line."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from compiling import nvrtc
from tilewright import cute
from tilewright.lang.cpu import KernelError
from tma_kernels import dynamic, numbers
from tma_pipeline_kernels import double, double_kernel, spread


def line_of(kernel, text):
    lines, first = inspect.getsourcelines(kernel.function)
    return first + next(i for i, line in enumerate(lines) if f"# {text}" in line)


def lines_of(findings, kinds):
    found = [finding for finding in findings if finding.kind in kinds]
    return {f.place[1] for f in found} | {f.other_place[1] for f in found if f.other_place}


def findings_of(function, *args, seeds=1):
    found = []
    for seed in range(seeds):
        try:
            with cute.on_cpu(check=True, seed=seed):
                function(*args)
        except KernelError as error:
            found += error.findings
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("shape", "ctas"), [((64, 64), 1), ((200, 328), 1), ((200, 328), 4)])
def test_ctas_double_one_tile_after_another(shape, ctas, seed):
    x, y = numbers(shape), numbers(shape, seed=1)
    with cute.on_cpu(check=True, seed=seed):
        double(dynamic(x), dynamic(y), ctas)
    np.testing.assert_array_equal(y, 2 * x)


@pytest.mark.parametrize(
    ("defect", "kinds", "text"),
    [
        ("no fence", {"missing fence"}, "store"),
        ("no acquire", {"not landed", "race"}, "double"),
        ("released early", {"not landed", "race"}, "double"),
        ("tx_count", {"deadlock"}, "wait"),
    ],
)
def test_a_defect_is_found_on_its_line(defect, kinds, text):
    shape = (128, 640)
    found = findings_of(double, dynamic(numbers(shape)), dynamic(numbers(shape)), 1, defect, seeds=4)
    assert line_of(double_kernel, text) in lines_of(found, kinds), found


def test_a_wrong_number_of_bytes_says_how_many_have_come():
    found = findings_of(double, dynamic(numbers((64, 64))), dynamic(numbers((64, 64))), 1, "tx_count")
    (deadlock,) = [finding for finding in found if finding.kind == "deadlock"]
    assert "8192 of 8194 bytes" in deadlock.message


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ctas", [1, 2, 4])
def test_a_cluster_shares_its_loads(ctas, seed):
    x, y = numbers((64, 448)), np.zeros((64, ctas), np.float32)
    with cute.on_cpu(check=True, seed=seed):
        spread(dynamic(x), cute.from_dlpack(y))
    np.testing.assert_array_equal(y, np.repeat(x.astype(np.float32).sum(1, keepdims=True), ctas, 1))


def test_stages_that_other_ctas_have_not_read_are_refilled():
    x, y = numbers((64, 640)), np.zeros((64, 2), np.float32)
    assert findings_of(spread, dynamic(x), cute.from_dlpack(y), "count", seeds=4)


@nvrtc
@pytest.mark.parametrize("kernel", ["double", "spread"])
def test_they_compile(kernel):
    x, y = numbers((200, 328)), np.zeros((64, 2), np.float32)
    given = (double, dynamic(x), dynamic(x), 4) if kernel == "double" else (spread, dynamic(x), cute.from_dlpack(y))
    compiled = cute.compile(*given, options="--gpu-arch sm_90a")
    assert compiled.spills == 0
    assert "cp.async.bulk.tensor.2d.shared::cluster.global" in compiled.ptx
