"""A kernel from outside the package, by the steps of docs/architecture.md, "A kernel": y += alpha x.

Once it is registered, its plans are printed, drawn, run on the CPU, analysed and compiled as all others are.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest

from tilewright import _registry, analysis, cute, kernels
from tilewright.analysis.totals.accesses import AccessedTensor, Accesses
from tilewright.analysis.totals.totals import Mode, Tally, groups
from tilewright.cute.runtime import work_stream
from tilewright.devices import DEVICES, H200
from tilewright.kernels.common.device_types import device_type
from tilewright.kernels.common.operands import Operands, operands_of
from tilewright.kernels.common.plan import Plan
from tilewright.kernels.common.report import CopyReport
from tilewright.kernels.gemm.choose.choose import choose_gemm, ranked
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.problem import GemmProblem, problem_of
from tilewright.kernels.gemm.simt.kernel import SIMT
from tilewright.kernels.kernel import Kernel, find_kernel, kernel_of, kernels_for, register, registered, unregister
from tilewright.numeric import Float16, Float32
from tilewright.runtime import compiler, device
from tilewright.runtime.discovery import find_nvrtc
from tilewright.show import Picture

VECTOR, BYTES = 4, 16  # elements and bytes of an access

SOURCE = """
#include "tilewright/layout.cuh"
using namespace tilewright;

struct AxpyParams {
  const float4* x;
  float4* y;
  int64 count;
  float alpha;
};

template <int kTile, class ThreadValue>
__global__ void axpy(const __grid_constant__ AxpyParams p) {
  const int64 i = int64{kTile} * blockIdx.x + ThreadValue{}(Coord<2>{static_cast<int>(threadIdx.x), 0});
  if (i >= p.count) return;
  const float4 x = p.x[i / 4];
  float4& y = p.y[i / 4];
  y = {y.x + p.alpha * x.x, y.y + p.alpha * x.y, y.z + p.alpha * x.z, y.w + p.alpha * x.w};
}
"""


class AxpyProblem(NamedTuple):
    count: int
    alpha: float


@dataclass(frozen=True)
class AxpyPlan(Plan):
    problem: AxpyProblem
    tv: cute.Layout  # (thread, value) -> element of a CTA's tile

    shared_bytes = 0

    @property
    def threads(self):
        return cute.size(self.tv, mode=[0])

    @property
    def tile(self):
        return cute.size(self.tv)

    @property
    def ctas(self):
        return -(-self.problem.count // self.tile)

    @property
    def name(self):
        return f"axpy<{self.tile}, {device_type(self.tv)}>"

    def params(self, x, y):
        return struct.pack("<3qf4x", x, y, *self.problem)

    def __str__(self):
        return f"axpy of {self.problem.count} elements: {self.ctas} tiles, {self.tv}"


def choose(problem, alignments=(BYTES, BYTES), facts=H200):
    if problem.count % VECTOR or any(x % BYTES for x in alignments):
        return None
    threads = 256 if problem.count > 1024 * facts.multiprocessors else 64
    return AxpyPlan(problem, cute.make_layout((threads, VECTOR), stride=(VECTOR, 1)))


def fit(plan, function, x, y, *, stream=None, check=False):
    operands = operands_of(function, stream, x=x, y=y)
    if any((one.shape, one.strides, one.element_type) != ((plan.problem.count,), (1,), "Float32") for one in operands):
        raise ValueError(f"{function}: the plan is for {plan.problem.count} elements of Float32; make another plan")
    return plan, operands


def conditions(plan, addresses, function):
    if any(address % BYTES for address in addresses):
        raise ValueError(f"{function}: addresses {addresses} must be multiples of {BYTES}")


def tables(plan):
    """(thread, value) -> element, of all tiles; -1 behind the last element."""
    tile = plan.tv.offsets().reshape(VECTOR, -1).T
    element = tile + plan.tile * np.arange(plan.ctas)[:, None, None]
    return np.where(element < plan.problem.count, element, -1).reshape(-1, VECTOR)


def host(plan, operands, check):
    element = kernel_of(plan).tables(plan)
    element = element[element >= 0]
    x, y = (np.asarray(one.owner) for one in operands)
    y[element] += np.float32(plan.problem.alpha) * x[element]
    written = np.bincount(element, minlength=plan.problem.count)
    found = {"never_written": written == 0, "written_twice": written > 1}
    found = {name: [(int(i),) for i in np.flatnonzero(where)] for name, where in found.items()}
    if check:
        return CopyReport(len(written), {name: {"count": len(x), "first": x[:8]} for name, x in found.items() if x})
    return None


def launch(plan, operands, stream):
    number = operands[1].device[1]
    function = compiler.kernel(plan.compile(device.arch_of(number)), plan.name, number)
    on = work_stream(number) if stream is None else stream
    function.launch((plan.ctas, 1, 1), (plan.threads, 1, 1), plan.shared_bytes, on, plan.params(*operands.addresses))


def accesses(plan, addresses):
    lanes = plan.tv.offsets()[: plan.threads].reshape(-1, 32)  # the first values, at which the accesses begin
    tallies = []
    for name, op, address in zip(("load x", "load y", "store y"), ("load", "load", "store"), (0, 1, 1), strict=True):
        tallies.append(Tally(name, "global", op, BYTES))
        for group in groups([Mode(plan.ctas, plan.tile, plan.problem.count, 4 * plan.tile)], addresses[address]):
            tallies[-1].add(4 * lanes, lanes < group.high[0], group.residues)
    tensors = [
        AccessedTensor(name, at, (plan.problem.count,), (1,), 4) for name, at in zip("xy", addresses, strict=True)
    ]
    return Accesses("axpy", tallies, tensors, plan=plan)


def draw(plan):
    tile = cute.show(plan.tv, tile=(plan.tile,))
    return Picture(str(plan), tile.panels, tile.notes)


AXPY = Kernel(
    "axpy", AxpyPlan, AxpyProblem, ("x", "y"), SOURCE, choose=choose, fit=fit, conditions=conditions, tables=tables,
    host=host, launch=launch, accesses=accesses, draw=draw,
)  # fmt: skip


@pytest.fixture(autouse=True)
def axpy():
    yield register(AXPY)
    left = find_kernel(PLAN)
    if left is not None:
        unregister(left)


PLAN = choose(AxpyProblem(1000, 0.5))


def tensors(count=1000):
    x = np.arange(count, dtype=np.float32)
    return x, np.ones_like(x)


def test_its_plan_is_chosen_by_the_problem():
    (kernel,) = kernels_for(AxpyProblem(1000, 0.5), 90)
    assert kernel is AXPY
    assert kernel.choose(AxpyProblem(1000, 0.5)) == PLAN
    assert kernel.choose(AxpyProblem(1001, 0.5)) is None
    assert kernel.choose(AxpyProblem(1 << 20, 0.5)).threads == 256


def test_its_plan_is_printed():
    assert str(PLAN) == "axpy of 1000 elements: 4 tiles, (64,4):(4,1)"


def test_its_plan_is_drawn():
    picture = cute.show(PLAN)
    assert picture.title == str(PLAN)
    assert PLAN.svg() == picture.svg()
    assert "<img " in PLAN._repr_html_()
    with pytest.raises(ValueError, match="there is no picture of 'order'"):
        PLAN.svg("order")


def test_its_plan_is_run_on_the_cpu():
    x, y = tensors()
    assert PLAN.run(x, y) is y
    np.testing.assert_array_equal(y, 1 + 0.5 * x)


def test_its_plan_is_checked():
    assert str(PLAN.run(*tensors(), check=True)) == "each of 1000 elements is written exactly once"
    broken = replace(PLAN, tv=cute.make_layout((64, 4), stride=(2, 1)))  # threads overlap
    report = broken.run(*tensors(), check=True)
    assert report.written_twice.count > 0
    with pytest.raises(ValueError, match=r"plan\.run: the plan is for 1000 elements"):
        PLAN.run(*tensors(1001))


def test_its_plan_is_launched_on_a_gpu(monkeypatch):
    def fit_on_device(plan, function, *tensors, **options):
        plan, operands = fit(plan, function, *tensors, **options)
        return plan, Operands(one._replace(device=(2, 0)) for one in operands)

    class Function:
        def launch(self, *arguments):
            launched.append(arguments)

    launched = []
    monkeypatch.setattr(compiler, "compile_program", lambda stem, names, arch, source: (stem, names, arch, source))
    monkeypatch.setattr(compiler, "kernel", lambda program, name, device: launched.append(program) or Function())
    monkeypatch.setattr(device, "arch_of", lambda number: "sm_80")
    unregister(AXPY)
    register(replace(AXPY, fit=fit_on_device))
    x, y = tensors()
    assert PLAN.run(x, y, stream=7) is y
    params = struct.pack("<3qf4x", x.ctypes.data, y.ctypes.data, 1000, 0.5)
    assert launched == [("axpy", [PLAN.name], "sm_80", SOURCE), ((4, 1, 1), (64, 1, 1), 0, 7, params)]
    with pytest.raises(ValueError, match="check=True runs on the CPU"):
        PLAN.run(x, y, check=True)


def counted(plan, address, op):
    """Requests, lanes, sectors and lines, warp by warp and lane by lane."""
    requests = lanes = sectors = lines = 0
    for cta in range(plan.ctas):
        for warp in range(plan.threads // 32):
            at = [cta * plan.tile + plan.tv(thread, 0) for thread in range(32 * warp, 32 * warp + 32)]
            at = [address + 4 * i for i in at if i < plan.problem.count]
            requests, lanes = requests + bool(at), lanes + len(at)
            sectors += len({byte // 32 for x in at for byte in range(x, x + BYTES)})
            lines += len({byte // 128 for x in at for byte in range(x, x + BYTES)})
    return requests, lanes, sectors, lines


@pytest.mark.parametrize("tv", ["(64,4):(4,1)", "((8,8),4):((32,4),1)"])  # in order, and 8 lanes to 8 lines
@pytest.mark.parametrize("addresses", [(0, 0), (16, 256), (128, 48)])
@pytest.mark.parametrize("count", [4, 1000, 1024, 5004])
def test_its_plan_is_analysed(tv, addresses, count):
    plan = AxpyPlan(AxpyProblem(count, 1.0), cute.parse(tv))
    found = analysis.analyze(plan, addresses=addresses)
    assert [x.name for x in found] == ["load x", "load y", "store y"]
    for x, address in zip(found, (addresses[0], addresses[1], addresses[1]), strict=True):
        assert (x.requests, round(x.lanes * x.requests), x.sectors, x.lines) == counted(plan, address, x.op)
    assert found.widest == (16 if count > 1 else 4)


def test_its_analysis_of_tensors_has_their_addresses():
    x, y = tensors()
    found = PLAN.analyze(x, y)
    again = PLAN.analyze(addresses=(x.ctypes.data, y.ctypes.data))
    assert str(found) == str(again)
    assert found.title == "axpy"
    assert found.occupancy.threads == 64
    assert found.occupancy.waves == pytest.approx(PLAN.ctas / (found.occupancy.ctas * H200.multiprocessors))
    with pytest.raises(ValueError, match=r"analyze: addresses \(4, 0\) must be multiples of 16"):
        PLAN.analyze(addresses=(4, 0))


@pytest.mark.skipif(find_nvrtc().found is None, reason="no NVRTC: pip install nvidia-cuda-nvrtc")
def test_its_source_is_compiled():
    program = PLAN.compile("sm_80")
    assert PLAN.compiled("sm_80").key == program.key
    assert "ld.global" in program.ptx
    assert ".v4.f32" in program.ptx
    assert PLAN.source == f"// {PLAN.name}\n{SOURCE}"
    assert PLAN.analyze(device=DEVICES["sm_80"]).occupancy.registers == program.report[PLAN.name].registers
    with pytest.raises(
        ValueError, match="the plan's kernel axpy has instructions of sm_75 or later, but arch is sm_70"
    ):
        PLAN.compile("sm_70")


def test_without_the_registration_nothing_is_left():
    unregister(AXPY)
    assert AXPY not in registered()
    assert not any("Axpy" in name for name in _registry.ANALYSES)
    assert kernels_for(PLAN.problem) == []
    for call in (lambda: cute.show(PLAN), lambda: analysis.analyze(PLAN), lambda: PLAN.run(*tensors()), PLAN.compile):
        with pytest.raises(TypeError, match="AxpyPlan"):
            call()
    with pytest.raises(ValueError, match="unregister: the kernel 'axpy' is not registered"):
        unregister(AXPY)


def test_a_class_of_plans_has_one_kernel():
    with pytest.raises(ValueError, match="are those of the kernel 'axpy'; unregister it"):
        register(Kernel("other", AxpyPlan))
    with pytest.raises(TypeError, match="expected a Kernel, but got str"):
        register("axpy")


def test_what_a_kernel_does_not_say_its_plans_do_not_do():
    unregister(AXPY)
    register(Kernel("silent", AxpyPlan, fit=fit))
    with pytest.raises(ValueError, match="the kernel silent is registered without 'host'"):
        PLAN.run(*tensors())
    with pytest.raises(TypeError, match="no picture of AxpyPlan"):
        cute.show(PLAN)
    with pytest.raises(TypeError, match="not AxpyPlan"):
        analysis.analyze(PLAN)


# ---- beside the kernels of the package ----


def test_a_kernel_of_gemms_is_asked_in_its_turn():
    """On an H200 after sm90, which refuses Float32, and before the kernels of older devices."""

    class OtherPlan(Plan):
        pass

    def choose_other(problem, alignments, facts):
        return SIMT.choose(problem, alignments, facts).replace(group=3)

    def asked_and_group(archs):
        other = register(Kernel("other", OtherPlan, GemmProblem, archs=archs, choose=choose_other))
        try:
            problem = problem_of(4096, 4096, 64, Float32)
            assert {plan.kernel_name for plan in ranked(problem, (16, 16, 16), H200)} == {"simt"}  # it has no variants
            names = [kernel.name for kernel in kernels_for(problem, 90)]
            return names, choose_gemm(problem, (16, 16, 16), H200).group
        finally:
            unregister(other)

    assert asked_and_group((85, None)) == (["sm90", "other", "sm80", "simt"], 3)
    assert asked_and_group((75, 89)) == (["sm90", "sm80", "simt"], 16)


def test_a_device_has_rates_of_the_kernels_that_it_runs():
    problem = problem_of(64, 64, 64, Float16)
    for facts in DEVICES.values():
        names = [kernel.name for kernel in kernels_for(problem, facts.capability)]
        assert names == list(Rates.of(facts).kernels)


def test_what_kernels_name_is_there():
    members = [x for kernel in registered() for x in (*vars(kernel).values(), *kernel.pictures.values())]
    places = [x for x in members if isinstance(x, _registry.Lazy)]
    assert len(places) > 40
    assert all(callable(x.__wrapped__) for x in places)


def test_a_plan_of_a_kernel_finds_it():
    x = np.zeros((8, 8), np.float32)
    assert kernel_of(kernels.tiled_copy.plan(x, x.copy())).name == "tiled_copy"
    assert [kernel_of(kernels.gemm.plan(x, x, arch=arch)).name for arch in ("sm_75", "sm_80")] == ["simt", "simt"]
