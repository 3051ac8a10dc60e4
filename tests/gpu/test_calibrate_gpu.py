"""Calibrating a GPU: its clock beside another one, with torch and without it, and the whole of it in two minutes."""

from __future__ import annotations

import argparse
import functools
import json
import time

import pytest

from compiling import run_python
from tilewright import BFloat16, Float32, _core, kernels

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

import gpu  # noqa: E402
from gemm_samples import error, exact  # noqa: E402
from tilewright.kernels import devices  # noqa: E402
from tilewright.kernels.common.launch import facts_of  # noqa: E402
from tilewright.kernels.gemm.calibrate.clock import DeviceClock  # noqa: E402
from tilewright.kernels.gemm.calibrate.samples import Sample  # noqa: E402
from tilewright.kernels.gemm.choose.choose import choose_gemm  # noqa: E402
from tilewright.kernels.gemm.choose.rates import Rates  # noqa: E402
from tilewright.kernels.gemm.problem import problem_of  # noqa: E402

EXTENTS = [(512, 512, 512), (1024, 1024, 1024), (4096, 256, 4096), (4096, 4096, 4096)]
TYPES = {BFloat16: torch.bfloat16, Float32: torch.float32}
SHAPES = [(dtype, shape) for dtype in TYPES for shape in EXTENTS]
CLOCK = f"""
import json
import sys
from tilewright import BFloat16, Float32
from tilewright.kernels.common.launch import facts_of
from tilewright.kernels.gemm.calibrate.clock import DeviceClock
from tilewright.kernels.gemm.calibrate.samples import Sample
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.problem import problem_of
samples = []
for dtype in (BFloat16, Float32):
    for shape in {EXTENTS}:
        problem = problem_of(*shape, dtype)
        samples.append(Sample("", None, problem, choose_gemm(problem, (256,) * 3, facts_of(0))))
clock = DeviceClock(0, samples)
assert "torch" not in sys.modules
print(json.dumps([clock(x) for x in samples]))
"""


@pytest.fixture(scope="module")
def samples():
    found = []
    for dtype, shape in SHAPES:
        problem = problem_of(*shape, dtype)
        found.append(Sample("", None, problem, choose_gemm(problem, (256,) * 3, facts_of(0))))
    return found


@pytest.fixture(scope="module")
def seconds(samples):
    """What the clock says of each sample, in a process that has torch."""
    clock = DeviceClock(0, samples)
    return [clock(x) for x in samples]


def test_the_clock_agrees_with_that_of_the_benchmarks(samples, seconds):
    """Which rotates tensors of torch, and captures launches in a graph: they follow each other up to 1 us faster."""
    options = argparse.Namespace(dry=False, quick=True)
    for sample, found in zip(samples, seconds, strict=True):
        p = sample.problem
        sets = gpu.sets_past_cache(p.moved_bytes, options)
        sides = [(p.m, p.k), (p.n, p.k), (p.m, p.n)]
        operands = [[torch.randn(side, device="cuda").to(TYPES[p.a_type]) for _ in range(sets)] for side in sides]
        issue = gpu.rotating(functools.partial(kernels.gemm, plan=sample.plan), *operands)
        times = gpu.race([gpu.Contestant("plan", issue)], sets, p.moved_bytes, options, guess=found)
        assert found == pytest.approx(times["plan"].median, rel=0.15, abs=1e-6), p


def test_the_clock_needs_no_torch(seconds):
    assert json.loads(run_python(CLOCK)) == pytest.approx(seconds, rel=0.15)


def test_a_device_is_calibrated_in_two_minutes(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_DEVICES_DIR", str(tmp_path / "devices"))
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))  # nothing is compiled yet
    facts = facts_of(0)
    devices.forget()
    before = Rates.of(facts)
    try:
        begin = time.perf_counter()
        found = kernels.gemm.calibrate()
        took = time.perf_counter() - begin
        print(f"\n{took:.0f} s\n{found}")
        assert took < 120
        assert devices.calibrated(facts).path == found.file
        after = Rates.of(facts)
        assert after.kernels == before.kernels
        assert before.bandwidth / 2 < after.bandwidth < 2 * before.bandwidth
        assert not any("Not fitted" in line for line in found.findings)
        for dtype in TYPES.values():
            a, b = (torch.randn(n, 1000, device="cuda").to(dtype) for n in (700, 900))
            assert error(kernels.gemm(a, b), exact(a, b)) < 0.005
    finally:
        devices.forget()
        kernels.gemm.clear()
