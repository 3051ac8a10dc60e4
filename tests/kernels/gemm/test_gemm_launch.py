"""From a call of kernels.gemm to a launch: what is remembered, where addresses go. Launches go to a Recorder."""

from __future__ import annotations

import struct
import sys

import numpy as np
import pytest

from tilewright import LayoutError, _core, kernels, runtime
from tilewright.devices import H200
from tilewright.kernels.common import launch, workspace
from tilewright.kernels.common import plan as common_plan
from tilewright.kernels.copy.planned import make_plan
from tilewright.kernels.gemm import run as gemm_run
from tilewright.kernels.gemm.epilogue import bias_offset
from tilewright.kernels.gemm.sm90.plan import GemmSm90

torch = pytest.importorskip("torch")
cuda = _core.cuda


@pytest.fixture
def recorder(monkeypatch):
    """CPU tensors take the way of GPU tensors, up to the driver."""
    recorder = cuda.Recorder()
    monkeypatch.setattr(gemm_run, "CPU", -1)
    monkeypatch.setattr(common_plan, "CPU", -1)
    monkeypatch.setattr(launch, "functions_of", lambda plans, device: [recorder] * len(plans))
    monkeypatch.setattr(launch, "facts_of", lambda device: H200)
    kernels.gemm.clear()
    yield recorder
    kernels.gemm.clear()


def tensors(m=64, n=64, k=64, dtype=torch.float32):
    """Tensors at multiples of 64 bytes, which are planned for alike."""

    def aligned(rows, columns):
        memory = torch.zeros(rows * columns + 64, dtype=dtype)
        start = -memory.data_ptr() % 64 // memory.element_size()
        return memory[start : start + rows * columns].view(rows, columns)

    return aligned(m, k), aligned(n, k), aligned(m, n)


def addresses(recorder, plan, *indices):
    """What the last launch's parameter has where the plan has the addresses of A, B, C and bias."""
    params = recorder.last[4]
    return [struct.unpack_from("<Q", params, place)[0] for i, place, _ in plan.pointers() if i in indices]


def test_the_second_call_does_not_go_through_python(recorder, monkeypatch):
    a, b, c = tensors()
    plan = kernels.gemm.plan(a, b, c)
    assert not plan.swapped
    assert kernels.gemm(a, b, c) is c
    assert recorder.count == 1
    assert recorder.last[:2] == (plan.grid(), (plan.threads, 1, 1))
    monkeypatch.setattr(gemm_run, "execute", None)  # the way through Python
    a, b, c = tensors()
    assert kernels.gemm(a, b, c) is c
    assert recorder.count == 2
    assert kernels.gemm.entries == 1
    assert addresses(recorder, plan, 0, 1, 2) == [a.data_ptr(), b.data_ptr(), c.data_ptr()]


def test_operands_that_change_places(recorder):
    a, b, _ = tensors(n=256)
    out = torch.zeros(256, 64).t()
    plan = kernels.gemm.plan(a, b, out)
    assert plan.swapped
    kernels.gemm(a, b, out)
    kernels.gemm(a, b, out)
    assert kernels.gemm.entries == 1
    assert addresses(recorder, plan, 0, 1, 2) == [b.data_ptr(), a.data_ptr(), out.data_ptr()]


def test_the_bias_and_the_scalars(recorder):
    a, b, c = tensors()
    bias = torch.zeros(64)
    plan = kernels.gemm.plan(a, b, c, alpha=2.5, beta=-1.5, bias=bias)
    for _ in range(2):
        assert kernels.gemm(a, b, c, alpha=2.5, beta=-1.5, bias=bias) is c
    assert (recorder.count, kernels.gemm.entries) == (2, 1)
    assert addresses(recorder, plan, 3) == [bias.data_ptr()]
    place = next(place for i, place, _ in plan.pointers() if i == 3) - bias_offset(plan.problem)
    assert struct.unpack_from("<2f", recorder.last[4], place) == (2.5, -1.5)
    kernels.gemm(a, b, c, alpha=3.5, beta=-1.5, bias=bias)
    kernels.gemm(a, b, c, alpha=2.5, beta=-1.5, bias=torch.zeros(64, 1))
    kernels.gemm(a, b, c, alpha=2.5, beta=-1.5)
    kernels.gemm(a, b, c, activation="relu")
    kernels.gemm(a, b, c, activation="silu")
    assert kernels.gemm.entries == 6


def test_a_result_that_is_made(recorder):
    a, b, _ = tensors()
    first = kernels.gemm(a, b)
    second = kernels.gemm(a, b)
    assert first.data_ptr() != second.data_ptr()
    assert recorder.count == 2
    assert kernels.gemm.entries == 1


def test_tensors_backwards(recorder):
    """Coordinate 0 of the problem is at the other end of the tensors."""
    a, b, c = (x.numpy() for x in tensors())
    plan = kernels.gemm.plan(a[::-1], b, c[::-1])
    kernels.gemm(a[::-1], b, c[::-1])
    expected = [x.__array_interface__["data"][0] for x in (a, b, c)]
    assert addresses(recorder, plan, 0, 1, 2) == expected


def test_overlap_is_refused_also_the_second_time(recorder):
    memory = torch.zeros(4 * 64 * 64 + 64)
    memory = memory[-memory.data_ptr() % 64 // 4 :]
    a, b, c = (memory[i * 4096 : (i + 1) * 4096].view(64, 64) for i in range(3))
    kernels.gemm(a, b, c)
    assert kernels.gemm.entries == 1
    for wrong in (memory[16 : 16 + 4096].view(64, 64), memory[4096 + 32 : 8192 + 32].view(64, 64)):
        with pytest.raises(LayoutError, match="share memory, so the result depends on the order"):
            kernels.gemm(a, b, wrong)
    kernels.gemm(a, b, memory[3 * 4096 : 4 * 4096].view(64, 64))
    assert recorder.count == 2


def test_c_between_a(recorder):
    """Columns of C that alternate with those of A: every call looks at every element."""
    memory = torch.zeros(64, 128)
    _, b, _ = tensors()
    for _ in range(2):
        kernels.gemm(memory[:, ::2], b, memory[:, 1::2])
    assert recorder.count == 2
    assert kernels.gemm.entries == 0


def test_bound(recorder):
    a, b, c = tensors()
    bias = torch.zeros(64)
    plan = kernels.gemm.plan(a, b, c, bias=bias)
    bound = plan.bind(a, b, c, bias=bias)
    bound()
    assert recorder.count == 1
    assert addresses(recorder, plan, 0, 1, 2, 3) == [x.data_ptr() for x in (a, b, c, bias)]


def test_a_device_that_lacks_the_instructions(monkeypatch):
    a, b, c = tensors(512, 512, 512, torch.bfloat16)
    plan = kernels.gemm.plan(a, b, c)
    assert plan.kernel_name == "sm90"
    for facts, message in (
        (H200._replace(name="NVIDIA B200", capability=100), "has instructions of sm_90, but NVIDIA B200 is sm_100"),
        (H200._replace(name="NVIDIA A100", capability=80), "has instructions of sm_90, but NVIDIA A100 is sm_80"),
        (H200._replace(shared_bytes=1000), "but a CTA of NVIDIA H200 has at most 1000; use fewer stages"),
    ):
        with pytest.raises(ValueError, match=message):
            plan.require_device(facts)


@pytest.fixture
def workspaces(monkeypatch):
    """What workspaces are asked for: (memory, bytes, library), each time."""
    made = []

    def allocate(device, size, stream, library, is_zero=False):
        memory = _core.Memory.allocate(size, 128)
        made.append((memory, size, library))
        return memory, memory.address

    monkeypatch.setattr(workspace, "workspace", allocate)
    monkeypatch.setattr(cuda, "stream_identity", lambda device, stream: 0)
    return made


@pytest.fixture
def without_maps(monkeypatch):
    """There is no driver that encodes tensor maps: the addresses are put where the maps are."""
    monkeypatch.setattr(cuda, "encode_tensor_map", lambda *args, **options: bytes(128))
    pointers, maps = GemmSm90.pointers, GemmSm90.tensor_maps
    monkeypatch.setattr(GemmSm90, "pointers", lambda plan: sorted({*maps(plan), *pointers(plan)}))
    monkeypatch.setattr(GemmSm90, "tensor_maps", lambda plan: [])


def ragged():
    a, b, c = (torch.zeros(rows, 4103, dtype=torch.bfloat16) for rows in (4095, 4097, 4095))
    return a, b, c[:, :4097]


def test_copies_before(recorder, workspaces, without_maps, monkeypatch):
    """Three kernels in one workspace, and all three again without planning."""
    a, b, c = ragged()
    plan = kernels.gemm.plan(a, b, c)
    assert kernels.gemm(a, b, c) is c
    assert recorder.count == 3
    assert workspaces[0][1:] == (plan.workspace[2], "torch")
    monkeypatch.setattr(gemm_run, "execute", None)
    with runtime.on_launch((launches := []).append):
        assert kernels.gemm(a, b, c) is c
    assert (recorder.count, len(workspaces), kernels.gemm.entries) == (6, 2, 1)
    start = workspaces[1][0].address
    padded = start, start + plan.workspace[1]
    assert plan.gemm.ragged == (False, True)  # B's last tile has a map of its own
    assert addresses(recorder, plan.gemm, 0, 1, 2) == [padded[0], padded[1], padded[1], c.data_ptr()]
    assert [(one.plan, one.addresses) for one in launches] == [
        (plan.copy_a, (a.data_ptr(), padded[0])),
        (plan.copy_b, (b.data_ptr(), padded[1])),
        (plan.gemm, (*padded, c.data_ptr(), None)),
    ]
    assert [one.grid for one in launches] == [(plan.copy_a.ctas, 1, 1), (plan.copy_b.ctas, 1, 1), plan.gemm.grid()]
    assert [one.programmatic for one in launches] == [False, False, plan.gemm.programmatic]
    with pytest.raises(LayoutError, match="share memory"):
        kernels.gemm(a, b, a[:, :4097])


def test_a_repeated_plan_of_several_kernels_runs_no_python_but_the_workspace(recorder, workspaces, without_maps):
    a, b, c = ragged()
    kernels.gemm(a, b, c)
    called = []
    sys.setprofile(lambda frame, event, argument: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        kernels.gemm(a, b, c)
    finally:
        sys.setprofile(None)
    assert recorder.count == 6
    assert called == ["__call__", "allocate"]


def test_a_bound_plan_of_several_kernels(recorder, workspaces, without_maps):
    """It has a workspace at each call, and its own parameters."""
    a, b, c = ragged()
    plan = kernels.gemm.plan(a, b, c)
    bound = plan.bind(a, b, c)
    kernels.gemm(b, a, torch.zeros(4097, 4103, dtype=torch.bfloat16)[:, :4095])
    assert bound() is None
    assert (recorder.count, len(workspaces)) == (6, 2)
    start = workspaces[1][0].address
    assert addresses(recorder, plan.gemm, 0, 1, 2)[::3] == [start, c.data_ptr()]
    bound(stream=5)
    assert recorder.last[3] == 5


def test_parts_share_one_workspace(recorder, workspaces):
    """A residue tile, and a GEMM with padded operands and stream-K's flags and sums before it."""
    a, b, c = (torch.zeros(rows, 4103) for rows in (4095, 4097, 4095))
    c = c[:, :4097]
    plan = kernels.gemm.plan(a, b, c)
    flags, sums = plan.gemm.gemm.scratch
    assert plan.residue.scratch == (0, 0)
    for count in (1, 2):
        with runtime.on_launch((launches := []).append):
            kernels.gemm(a, b, c)
        assert [one.plan for one in launches] == list(plan.single_plans)
        assert recorder.count == 4 * count
    sizes = [(size, library) for _, size, library in workspaces]
    assert sizes == 2 * [(flags, "torch"), (sums, "torch"), (plan.gemm.workspace[2], "torch")]
    zeros, other, padded = (memory.address for memory, *_ in workspaces[3:])
    own = launches[2].addresses
    assert own[4:] == (zeros, other)
    assert own[:2] == (padded, padded + plan.gemm.workspace[1])
    assert launches[3].addresses[:3] == (a.data_ptr(), b.data_ptr() + 4096 * 4103 * 4, c.data_ptr() + 4096 * 4)


def test_the_memory_of_a_copys_source():
    """The kernel of a copy gets the bytes that its source's elements reach over, from the problem of its plan."""
    x = np.zeros((6, 8, 10, 3), np.complex64)
    for view in (x, x[::-1], x[:, ::-1, 2::3], x[:, :1, ::-2].T, np.broadcast_to(x[0, 0], (4, 10, 3)), x[0, 0, 0, :1]):
        plan, a, b = make_plan("test", view, np.empty_like(view))
        (one,) = plan.launches((launch.Place(0, 0, a.address), launch.Place(1, 0, b.address)))
        first, last = (add for i, at, add in one.pointers if at >= 16)
        assert (a.address + first, a.address + last) == a.reach()


def test_parts_of_k_and_their_sum(recorder, workspaces, without_maps):
    """The sums of the parts lie behind the copies of A and B in one workspace; the sum may begin early."""
    a, b = (torch.zeros(512, 65394, dtype=torch.float16) for _ in range(2))
    c = torch.zeros(512, 512, dtype=torch.float16)
    plan = kernels.gemm.plan(a, b, c)
    assert (plan.kernel_name, plan.gemm.kernel_name) == ("split_k", "padded")
    for count in (1, 2):
        with runtime.on_launch((launches := []).append):
            kernels.gemm(a, b, c)
        assert [one.plan for one in launches] == list(plan.single_plans)
        assert recorder.count == len(launches) * count
    begin, size = plan.workspace
    assert begin >= plan.gemm.workspace[2] > 0
    assert [x[1:] for x in workspaces] == 2 * [(size, "torch")]
    start = workspaces[1][0].address
    *_, gemm, sums = launches
    assert gemm.addresses[2] == start + begin
    assert sums.addresses == (start + begin, c.data_ptr(), None)
    assert (sums.grid, sums.programmatic) == ((plan.sum.ctas, 1, 1), True)
