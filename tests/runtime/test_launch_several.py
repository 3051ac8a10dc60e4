"""Prepared launches of several kernels in a workspace: their order, their addresses, and again without Python."""

from __future__ import annotations

import gc
import sys
import weakref

import pytest

from launches import STREAM, Buffers, Several, array_type
from tilewright import _core
from tilewright.runtime import on_launch

cuda = _core.cuda


@pytest.fixture
def buffers():
    return Buffers()


@pytest.fixture
def slow(buffers):
    return Several("first", "second", workspace=buffers, ranges=[(0, 0, 8), (1, 0, 8)], disjoint=[(0, 1)])


@pytest.fixture
def launcher(slow):
    return cuda.Launcher(slow, ("src", "dst"))


def order_of(call):
    """The kernels that a call launches, in their order, with stream and addresses."""
    launches = []
    with on_launch(launches.append):
        call()
    return [(one.kernel, one.stream, one.addresses) for one in launches]


def test_all_kernels_are_launched_in_their_order(slow, buffers):
    prepared = slow.prepared()
    assert order_of(lambda: prepared.launch([4096, 8192], 5)) == [
        ("first", 5, (4096, 1100, None)),
        ("second", 5, (4097, 1200, None)),
    ]
    assert slow.pointers == [(4096, 1100), (4097, 1200)]
    assert [recorder.last[0] for recorder in slow.recorders] == [(1, 1, 1), (2, 1, 1)]
    assert buffers.streams == [5]
    assert [kernel.plan for kernel in prepared.kernels] == ["plan of first", "plan of second"]


def test_no_python_runs_between_the_kernels_of_a_call(slow):
    """Another thread, which has the same buffers on the same stream, launches before all of them or after."""
    enqueued = []
    with on_launch(lambda launch: enqueued.append((launch.kernel, slow.counts))):
        slow.prepared().launch([4096, 8192], 5)
    assert enqueued == [("first", [1, 1]), ("second", [1, 1])]


def test_the_second_call_does_not_go_through_python(launcher, slow, buffers):
    array = array_type()
    a, b = array(data=4096), array(data=8192)
    assert launcher(a, b) == "slow"
    assert slow.counts == [0, 0]
    assert launcher(a, b) is b
    assert launcher(array(data=5120), b) is b
    assert (slow.calls, slow.counts, launcher.entries) == (1, [2, 2], 1)
    assert slow.pointers == [(5120, 2100), (5121, 2200)]
    assert buffers.streams == [77, 77]  # the arrays' library's


def test_a_repeated_launch_calls_the_workspace_alone():
    slow = Several("first", "second", workspace={77: (None, (1, 2))}.__getitem__)
    launcher = cuda.Launcher(slow)
    array = array_type()
    a, b = array(data=4096), array(data=8192)
    launcher(a, b)
    called = []
    sys.setprofile(lambda frame, event, argument: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        launcher(a, b)
    finally:
        sys.setprofile(None)
    assert slow.pointers == [(4096, 101), (4097, 102)]
    assert called == ["view", "view", "stream"]  # the arrays' own library, which is written in Python here


def test_without_a_workspace():
    recorders = [cuda.Recorder(), cuda.Recorder()]
    kernels = [cuda.Kernel(r, (1, 1, 1), (1, 1, 1), 0, bytes(8), [(i, 0, 4)]) for i, r in enumerate(recorders)]
    prepared = cuda.Prepared(kernels)
    prepared.launch([16, 32], 0)
    assert [int.from_bytes(r.last[4], "little") for r in recorders] == [20, 36]
    with pytest.raises(ValueError, match="1 addresses were given, but the launch needs 2"):
        prepared.launch([16], 0)


def test_one_kernel_may_be_launched_several_times():
    recorder = cuda.Recorder()
    kernels = [
        cuda.Kernel(recorder, (1, 1, 1), (1, 1, 1), 0, bytes(8), [(0, 0, add)], tensors=[(0, add)]) for add in (0, 8)
    ]
    assert order_of(lambda: cuda.Prepared(kernels).launch([64], 0)) == [("", 0, (64,)), ("", 0, (72,))]
    assert recorder.count == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda kernel: cuda.Prepared([]), "there is no kernel to launch"),
        (lambda kernel: cuda.Prepared([kernel([(-3, 0, 0)])]), "need 3 buffers of a workspace, but none is given"),
        (lambda kernel: kernel([(-9, 0, 0)]), "names argument -9; arguments are 0 to 31, and -1 to -8 are buffers"),
        (lambda kernel: kernel([], tensors=[(32, 0)]), "tensors names argument 32"),
        (lambda kernel: cuda.Prepared([kernel([])], ranges=[(-1, 0, 8)]), "ranges names argument -1; arguments are 0"),
    ],
)
def test_what_cannot_be_prepared(make, message):
    def kernel(pointers, **options):
        return cuda.Kernel(cuda.Recorder(), (1, 1, 1), (1, 1, 1), 0, bytes(8), pointers, **options)

    with pytest.raises(ValueError, match=message):
        make(kernel)


@pytest.mark.parametrize("answer", [None, 1, (1,), (1, 2), (1, (5,)), (1, [5, 6]), (1, (5, 6), 3)])
def test_a_workspace_that_answers_nonsense(answer):
    slow = Several("first", "second", workspace=lambda stream: answer)
    with pytest.raises(TypeError, match=r"must return \(owner, addresses of 2 buffers\), not "):
        slow.prepared().launch([0, 0], 0)
    assert slow.counts == [0, 0]


def test_the_workspace_lives_until_all_is_enqueued(slow, buffers):
    alive = []
    with on_launch(lambda one: alive.append(buffers.owners[-1]() is not None)):
        slow.prepared().launch([64, 128], 0)
    assert alive == [True, True]
    assert buffers.owners[0]() is None


def test_an_error_of_the_workspace_leaves_the_memory_alone(launcher, slow, buffers):
    array = array_type()
    a, b = array(data=4096), array(data=8192)
    launcher(a, b)
    count, buffers.count = buffers.count, None  # range(None)
    for _ in range(2):
        with pytest.raises(TypeError, match="NoneType"):
            launcher(a, b)
    assert (slow.calls, slow.counts, launcher.entries) == (1, [0, 0], 1)
    buffers.count = count
    assert launcher(a, b) is b
    assert (slow.calls, slow.counts) == (1, [1, 1])


def test_overlap_goes_slow(launcher, slow, buffers):
    array = array_type()
    launcher(array(data=4096), array(data=8192))
    assert launcher(array(data=4096), array(data=4096)) == "slow"
    assert (slow.calls, slow.counts, buffers.streams) == (2, [0, 0], [])
    with pytest.raises(ValueError, match="arguments 0 and 1 overlap in memory"):
        slow.prepared().launch([4096, 4100], 0)
    assert buffers.streams == []


def test_each_library_has_a_launch_of_its_own(launcher, slow, buffers):
    """Whose memory the workspace is was settled when the launch was prepared."""
    one, other = array_type(), array_type()
    other.api.stream = STREAM(lambda kind, device, out: out.__setitem__(0, 9) or 0)
    for array in (one, other, one, other):
        launcher(array(data=4096), array(data=8192))
    assert (slow.calls, launcher.entries, buffers.streams) == (2, 2, [77, 9])


def test_a_workspace_that_makes_the_launcher_forget(launcher, slow):
    array = array_type()
    a, b = array(data=4096), array(data=8192)

    def forgetting(stream):
        launcher.clear()
        gc.collect()
        return None, (1, 2)

    slow.workspace = forgetting
    launcher(a, b)
    gone = weakref.ref(forgetting)
    del forgetting
    slow.workspace = None
    assert launcher(a, b) is b
    assert (slow.counts, launcher.entries) == ([1, 1], 0)
    assert gone() is None


def test_bound(slow, buffers):
    array = array_type()
    prepared = slow.prepared()
    bound = prepared.bind(array(data=4096), array(data=8192))
    assert buffers.streams == []  # a workspace is for one call
    assert order_of(bound) == [("first", 77, (4096, 1100, None)), ("second", 77, (4097, 1200, None))]
    prepared.launch([64, 128], 3)  # leaves the bound one alone
    bound(stream=5)
    assert slow.pointers == [(4096, 3100), (4097, 3200)]
    assert buffers.streams == [77, 3, 5]
    assert bound.prepared is prepared


def test_bound_without_a_workspace():
    recorders = [cuda.Recorder(), cuda.Recorder()]
    kernels = [cuda.Kernel(r, (1, 1, 1), (1, 1, 1), 0, bytes(8), [(i, 0, 4)]) for i, r in enumerate(recorders)]
    array = array_type()
    prepared = cuda.Prepared(kernels)
    bound = prepared.bind(array(data=64), array(data=128))
    prepared.launch([0, 0], 0)
    bound()
    assert [int.from_bytes(r.last[4], "little") for r in recorders] == [68, 132]
