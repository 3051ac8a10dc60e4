"""The clock of a device without one: memory of the CPU, and launches that are written down and take a made-up time."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from tilewright import BFloat16, Float32, _core
from tilewright.devices import H200
from tilewright.kernels.copy.choose import choose_copy
from tilewright.kernels.copy.plan import CopyPlan
from tilewright.kernels.copy.problem import CopyProblem
from tilewright.kernels.copy.run import run_on_host
from tilewright.kernels.gemm.calibrate import clock
from tilewright.kernels.gemm.calibrate.samples import Sample, problem_bytes, steps
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.problem import problem_of

CACHE = 1 << 18  # bytes of the L2
COPY = CopyProblem("BFloat16", 2, (1 << 18,), (1,), (1,), 0, 0)
PROBLEMS = [COPY, problem_of(128, 96, 64, BFloat16), problem_of(513, 511, 1023, Float32)]
SECONDS = {"copy": 2e-5, "gemm": 3e-6}


class Pinned(np.ndarray):
    address = property(lambda self: self.ctypes.data)


class Device:
    def __init__(self, patch):
        self.memory, self.launches, self.elapsed, self.kinds = [], [], 0.0, []
        self.refused = self.is_timing = False
        patch.setattr(clock, "workspace", self.workspace)
        patch.setattr(clock, "prepare", self.prepare)
        patch.setattr(clock, "clock_of", lambda device, stream: self.clock)
        patch.setattr(clock, "properties", lambda device: {"l2_bytes": CACHE})
        patch.setattr(clock, "BLOCK", 5000)
        patch.setattr(_core.cuda, "allocate_pinned", lambda device, size: np.zeros(size, np.uint8).view(Pinned))
        patch.setattr(_core.cuda, "synchronize_stream", lambda device, stream: None)

    def workspace(self, device, size, stream, library, *, is_zero=False):
        self.memory.append(np.zeros(size + 512, np.uint8))
        return self.memory[-1], -(-self.memory[-1].ctypes.data // 512) * 512

    def prepare(self, plan, operands, positions=None, keep=None, workspace=None):
        if self.refused:
            raise ValueError("no such instruction")
        self.kinds.append(workspace)
        return SimpleNamespace(launch=lambda addresses, stream: self.launch(plan, addresses))

    def launch(self, plan, addresses):
        self.launches.append((plan, addresses))
        if isinstance(plan, CopyPlan) and not self.is_timing:
            run_on_host(plan, *addresses)
        self.elapsed += SECONDS["copy" if isinstance(plan, CopyPlan) else "gemm"]

    def clock(self, body):
        self.elapsed, self.is_timing = 0.0, True
        body()
        self.is_timing = False
        return self.elapsed


def sample_of(problem):
    if isinstance(problem, CopyProblem):
        return Sample("", None, problem, choose_copy(problem, 256, 256))
    return Sample("", None, problem, choose_gemm(problem, (256,) * 3, H200))


@pytest.fixture
def device(monkeypatch):
    return Device(monkeypatch)


def test_the_time_of_a_launch_is_its_own(device):
    """Without that of the copies which keep the device busy while launches are enqueued."""
    made = clock.DeviceClock(0, map(sample_of, PROBLEMS))
    assert made(sample_of(PROBLEMS[0])) == pytest.approx(2e-5)
    assert made(sample_of(PROBLEMS[1])) == pytest.approx(3e-6)
    assert made.leads == math.ceil(clock.LEAD / 2e-5)


def test_operands_are_random_and_finite(device):
    made = clock.DeviceClock(0, map(sample_of, PROBLEMS))
    begin = made.read - made.inputs.ctypes.data
    size = max(made._needs(problem)[0] for problem in PROBLEMS)
    words = made.inputs[begin : begin + size // 4 * 4]
    halves = (words.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    for numbers in (halves, words.view(np.float32)):
        assert np.isfinite(numbers).all()
        assert abs(numbers.mean()) < 0.05
        assert 0.9 < numbers.std() < 1.1
    assert not made.outputs[:512].any()


@pytest.mark.parametrize("problem", PROBLEMS)
def test_operands_lie_in_memory_side_by_side_and_past_the_cache(device, problem):
    sample = sample_of(problem)
    made = clock.DeviceClock(0, [sample])
    device.launches.clear()
    made(sample)
    used = list(dict.fromkeys(tuple(addresses) for plan, addresses in device.launches if plan is sample.plan))
    read, written = problem_bytes(problem)
    assert len(used) == made._sets(problem) >= (1 if read + written > clock.ALONE * CACHE else 2)
    assert len(used) * (read + written) >= clock.PAST * CACHE
    turns = [tuple(addresses) for plan, addresses in device.launches if plan is sample.plan][1:]
    assert len(used) == 1 or all(one != another for one, another in itertools.pairwise(turns))
    ranges = []
    for addresses in used:
        if problem is COPY:
            sides = [(made.inputs, read), (made.outputs, written)]
        else:
            size = int(problem.a_type.bits) // 8
            sides = [(made.inputs, problem.m * problem.k * size), (made.inputs, problem.n * problem.k * size)]
            sides.append((made.outputs, written))
        for address, (memory, size) in zip(addresses, sides, strict=False):
            assert address % 256 == 0
            assert memory.ctypes.data <= address <= address + size <= memory.ctypes.data + memory.size
            ranges.append((address, address + size))
    ranges.sort()
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(ranges))


def test_a_plan_that_the_device_refuses_has_no_time(device):
    made = clock.DeviceClock(0, map(sample_of, PROBLEMS))
    device.refused = True
    assert made(sample_of(PROBLEMS[1])) is None


def test_buffers_of_plans_are_kept(device):
    made = clock.DeviceClock(0, map(sample_of, PROBLEMS))
    device.kinds.clear()
    made(sample_of(PROBLEMS[1]))
    assert device.kinds == [clock.KeptWorkspace]
    kept = clock.KeptWorkspace(0, (64, 0, 128), "")
    count = len(device.memory)
    _, first = kept(1)
    assert kept(1)[1] == first
    assert (len(device.memory), first[1]) == (count + 2, 0)
    assert all(first[i] for i in (0, 2))


def test_the_memory_that_is_held_is_what_the_documentation_says(device, monkeypatch):
    """0.7 GB where the L2 has 60 MiB."""
    monkeypatch.setattr(clock, "properties", lambda device: {"l2_bytes": 60 << 20})
    made = object.__new__(clock.DeviceClock)
    made.device = 0
    needs = [made._needs(sample.problem) for step in steps(H200) for sample in step[:1]]
    assert 0.6e9 < sum(map(max, zip(*needs, strict=True))) < 0.75e9
