"""The call path from Python to a launch: what it remembers, what it hands on, what it refuses.

No GPU is needed: the launches go to a Recorder, whose tensors are on the CPU.
"""

from __future__ import annotations

import gc
import struct
import sys
import threading
import weakref

import pytest

from launches import Slow, one_kernel
from tilewright import _core

torch = pytest.importorskip("torch")
cuda = _core.cuda


@pytest.fixture
def slow():
    return Slow()


@pytest.fixture
def launcher(slow):
    return cuda.Launcher(slow, ("src", "dst", "plan"))


def tensors(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype)


def test_the_second_call_does_not_go_through_python(launcher, slow):
    a, b = tensors(4, 5)
    assert launcher(a, b) == "slow"
    assert slow.counts == (1, 0)
    assert launcher(a, b) is b
    assert slow.counts == (1, 1)
    assert slow.recorder.last == ((3, 2, 1), (64, 1, 1), 256, 0, struct.pack("<QQ", a.data_ptr(), b.data_ptr()))
    c, d = tensors(4, 5)
    assert launcher(c, d) is d
    assert slow.counts == (1, 2)
    assert slow.pointers == (c.data_ptr(), d.data_ptr())
    assert launcher.entries == 1


def test_bytes_added_to_a_pointer_and_no_result():
    slow = Slow(pointers=[(1, 0, -4), (0, 8, 1 << 40)], result=None)
    launcher = cuda.Launcher(slow)
    a, b = tensors(3)
    launcher(a, b)
    assert launcher(a, b) is None
    assert slow.pointers == (b.data_ptr() - 4, a.data_ptr() + (1 << 40))


def test_the_offset_of_a_view_counts(launcher, slow):
    a, b = tensors(8, 8)
    launcher(a[4:, 4:], b[4:, 4:])
    launcher(a[4:, 4:], b[4:, 4:])
    assert slow.counts == (1, 1)
    assert slow.pointers == (a[4:, 4:].data_ptr(), b[4:, 4:].data_ptr())


ROOT = torch.zeros(4096, dtype=torch.uint8)
ROOT = ROOT[-ROOT.data_ptr() % 16 :]  # aligned to 16 bytes
X = ROOT[:1024].view(torch.float32).view(16, 16)


DIFFERENT = {
    "shape": (X, X[:8]),
    "strides": (X, X.t()),
    "rank": (X, X.view(256)),
    "dtype": (X, X.view(torch.int32)),
    "dtype of the same bits": (X.view(torch.float16), X.view(torch.bfloat16)),
    "alignment 16 and 4": (X[:, :8], X[:, 1:9]),
    "alignment 16 and 8": (X[:, :8], X[:, 2:10]),
    "alignment 4, differently": (X[:, 1:3], X[:, 3:5]),
    "alignment 1 and 2": (ROOT[1:9], ROOT[2:10]),
}


SAME = {
    "address": (X[:8], X[8:]),
    "alignment beyond 16 bytes": (ROOT[:8], ROOT[16:24]),
    "alignment 4": (X[:, 1:3], X[:, 5:7]),
}


@pytest.mark.parametrize(("first", "second"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_needs_another_launch(launcher, slow, first, second):
    other = torch.zeros(3)
    for pair in ((first, other), (second, other), (other, first), (other, second)):
        launcher(*pair)
    assert slow.counts == (4, 0)
    for pair in ((first, other), (second, other), (other, first), (other, second)):
        assert launcher(*pair) is pair[1]
        assert slow.pointers == (pair[0].data_ptr(), pair[1].data_ptr())
    assert slow.counts == (4, 4)


@pytest.mark.parametrize(("first", "second"), SAME.values(), ids=SAME)
def test_what_the_same_launch_serves(launcher, slow, first, second):
    other = torch.zeros(3)
    launcher(first, other)
    launcher(second, other)
    assert slow.counts == (1, 1)


VALUES = [
    0, 1, -1, 2**62, 0.0, -0.0, 1.0, float("inf"), True, False, None, "", "a", "b", "a" * 9, "é", "\0", "a\0",
    (), (0,), (1,), (0, 1), (1, 0), ((0,), 1), (0, (1,)), ("a",), (True,), (1.0,), (None,),
]  # fmt: skip


def test_values_are_told_apart(launcher, slow):
    a, b = tensors(2)
    for value in VALUES:
        launcher(a, b, value)
        launcher(a, b, plan=value)
    assert slow.counts == (2 * len(VALUES), 0)
    for value in VALUES:
        launcher(a, b, value)
        launcher(a, b, plan=value)
    assert slow.counts == (2 * len(VALUES), 2 * len(VALUES))


def test_values_are_taken_by_value(launcher, slow):
    a, b = tensors(2)
    launcher(a, b, (1, (12345678901, "text")), 2.5)
    launcher(a, b, (int("1"), (int("12345678901"), "".join(["te", "xt"]))), float("2.5"))
    assert slow.counts == (1, 1)


def test_what_cannot_be_a_key_always_goes_slow(launcher, slow):
    import numpy

    a, b = tensors(2)
    deep = ()
    for _ in range(9):
        deep = (deep,)
    values = [[0], {0: 1}, {0}, bytearray(b"x"), 2**63, "\ud800", deep, numpy.zeros(2), (a,), "a" * 10000, (0,) * 300]
    for value in values:
        launcher(a, b, value)
        launcher(a, b, value)
    assert slow.counts == (2 * len(values), 0)
    assert launcher.entries == 0


def test_other_objects_are_taken_by_identity_and_kept_alive(launcher, slow):
    class Plan:
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 0

    a, b = tensors(2)
    first, second = Plan(), Plan()
    alive = weakref.ref(first)
    for _ in range(2):
        launcher(a, b, first)
        launcher(a, b, second)
        launcher(a, b, (first, 1))
        launcher(a, b, plan=first)
    assert slow.counts == (4, 4)
    del first
    gc.collect()
    assert alive() is not None, "another object could come to lie at its address"
    launcher.clear()
    assert alive() is None
    assert launcher.entries == 0


def test_keywords(launcher, slow):
    a, b = tensors(2)
    launcher(a, dst=b)
    assert launcher(a, dst=b) is b
    assert launcher(dst=b, src=a) == "slow"
    assert launcher(dst=b, src=a) is b
    assert slow.pointers == (a.data_ptr(), b.data_ptr())
    launcher(a, **{"".join(["d", "st"]): b})
    assert slow.counts == (2, 3)
    # A name is as good as another of the same text, and no name is as good as another.
    launcher(a, b, unknown=1)
    launcher(a, b, unknown2=1)
    assert slow.counts == (4, 3)


def test_a_tensor_by_keyword_without_a_known_name_goes_slow(slow):
    launcher = cuda.Launcher(slow)
    a, b = tensors(2)
    for _ in range(2):
        launcher(a, dst=b)
    assert slow.counts == (2, 0)


def test_an_argument_given_twice_is_the_callees_error(launcher):
    a, b = tensors(2)
    launcher(a, b)
    launcher(a, b)
    with pytest.raises(TypeError):
        launcher(a, b, src=a)


@pytest.mark.parametrize("stream", [0, None])
def test_a_stream_always_goes_slow(launcher, slow, stream):
    a, b = tensors(2)
    for _ in range(2):
        assert launcher(a, b, stream=stream) == "slow"
    assert slow.counts == (2, 0)


def test_overlap_goes_slow():
    x = torch.zeros(64)
    size = 4 * 16
    slow = Slow(ranges=[(0, 0, size), (1, 0, size)], disjoint=[(0, 1)])
    launcher = cuda.Launcher(slow)
    first = x[:16]
    launcher(first, x[16:32])
    for start, hit in ((16, True), (12, False), (4, False), (20, True), (0, False)):
        before = slow.calls
        launcher(first, x[start : start + 16])
        launcher(x[start : start + 16], first)
        assert slow.calls == before + (0 if hit else 2), start
    assert launcher.entries == 1


def test_ranges_reach_below_the_pointer():
    x = torch.zeros(64)
    slow = Slow(ranges=[(0, -64, 4), (1, 0, 64)], disjoint=[(0, 1)])
    launcher = cuda.Launcher(slow)
    src = x[32:48]  # the launch touches bytes 64 to 132
    launcher(src, x[:16])
    assert slow.counts == (1, 0)
    for start, hit in ((0, True), (4, False), (16, False), (32, False), (36, True)):
        before = slow.calls
        launcher(src, x[start : start + 16])
        assert (slow.calls == before) == hit, start


LAZY = {
    "gradients": lambda: torch.zeros(4, requires_grad=True),
    "conjugate": lambda: torch.zeros(4, dtype=torch.complex64).conj(),
    "negative": lambda: torch.zeros(4, dtype=torch.complex64).conj().imag,
    "empty": lambda: torch.zeros(0, 4),
    "sparse": lambda: torch.zeros(4).to_sparse(),
    "meta": lambda: torch.zeros(4, device="meta"),
}


@pytest.mark.parametrize("make", LAZY.values(), ids=LAZY)
def test_tensors_that_dlpack_cannot_express_go_slow(launcher, slow, make):
    odd, plain = make(), torch.zeros(4)
    if odd.is_complex() or odd.is_neg():
        same = torch.zeros(4, dtype=torch.complex64)
        same = same if odd.is_complex() else same.imag
        launcher(same, plain)
        launcher(same, plain)
        assert slow.counts == (1, 1)
    before = slow.counts[1]
    for _ in range(2):
        assert launcher(odd, plain) == "slow"
        assert launcher(plain, odd) == "slow"
    assert slow.counts[1] == before
    assert cuda.describe(odd) is None or odd.numel() == 0


def test_gradients_are_asked_for_at_every_call(launcher, slow):
    a, b = tensors(4)
    launcher(a, b)
    launcher(a, b)
    a.requires_grad_()
    assert launcher(a, b) == "slow"
    assert launcher(a.detach(), b) is b


def test_subclasses(launcher, slow):
    class Sub(torch.Tensor):
        pass

    class Own(torch.Tensor):
        requires_grad = property(lambda self: True)

    a, b = torch.zeros(4).as_subclass(Sub), torch.nn.Parameter(torch.zeros(4), requires_grad=False)
    launcher(a, b)
    assert launcher(a, b) is b
    c = torch.zeros(4).as_subclass(Own)
    for _ in range(2):
        assert launcher(c, b) == "slow"


def test_errors_of_the_slow_path_are_passed_on():
    def slow(*args):
        raise KeyError("slow")

    with pytest.raises(KeyError, match="slow"):
        cuda.Launcher(slow)(*tensors(2))


@pytest.mark.parametrize("answer", [None, 1, (1,), (1, 2), (1, None, 2), [1, None]])
def test_a_slow_path_that_answers_nonsense(answer):
    with pytest.raises(TypeError, match="must return"):
        cuda.Launcher(lambda *args: answer)(*tensors(2))


def test_a_slow_path_that_prepares_nonsense():
    with pytest.raises(ValueError, match="result names argument 99"):
        cuda.Launcher(Slow(result=99))(*tensors(2))


def test_a_slow_path_may_prepare_nothing():
    calls = []
    launcher = cuda.Launcher(lambda *args: (calls.append(args), None))
    a, b = tensors(2)
    for _ in range(2):
        launcher(a, b)
    assert len(calls) == 2
    assert launcher.entries == 0


def test_a_launch_that_needs_more_than_the_call_has_is_not_remembered():
    a, b = tensors(2)
    for options in ({"pointers": [(2, 0, 0)]}, {"ranges": [(2, 0, 8)]}, {"result": 2}, {"pointers": [(31, 0, 0)]}):
        slow = Slow(**options)
        launcher = cuda.Launcher(slow)
        for _ in range(2):
            launcher(a, b)
        assert slow.counts == (2, 0)


def test_the_table_is_bounded(launcher, slow):
    a, b = tensors(2)
    kept = [object() for _ in range(5000)]
    for value in kept:
        launcher(a, b, value)
    assert launcher.entries == 4096
    assert slow.counts == (5000, 0)
    for value in kept[-4096:]:
        launcher(a, b, value)
    assert slow.counts == (5000, 4096)
    launcher(a, b, kept[-4097])  # the oldest went
    assert slow.counts == (5001, 4096)


def test_no_references_are_lost(launcher):
    a, b = tensors(2)
    value = (1, 2, object())
    launcher(a, b, value)
    before = [sys.getrefcount(x) for x in (a, b, value, torch.Tensor, None)]
    for _ in range(100):
        launcher(a, b, value)
    after = [sys.getrefcount(x) for x in (a, b, value, torch.Tensor, None)]
    assert all(abs(x - y) < 50 for x, y in zip(before, after, strict=True)), (before, after)


def test_cycles_are_collected():
    class Owner:
        def slow(self, a, b, plan):
            return None, Slow()(a, b)[1]

    owner = Owner()
    owner.launcher = cuda.Launcher(owner.slow)
    owner.launcher.note = owner
    owner.launcher(*tensors(2), owner)
    gone = weakref.ref(owner), weakref.ref(owner.launcher)
    del owner
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_the_slow_path_may_call_the_launcher():
    recorder = cuda.Recorder()

    def slow(a, b, depth):
        if depth:
            launcher(a, b, depth - 1)
        launcher.clear()
        return depth, one_kernel(recorder, (1, 1, 1), (1, 1, 1), 0, b"")

    launcher = cuda.Launcher(slow)
    a, b = tensors(2)
    assert launcher(a, b, 5) == 5
    assert launcher.entries == 1


def test_an_object_that_calls_the_launcher_as_it_goes(launcher):
    class Rude:
        def __del__(self):
            launcher(a, b, "rude")
            launcher.clear()

    a, b = tensors(2)
    for _ in range(3):
        launcher(a, b, Rude())
    launcher.clear()
    for _ in range(4200):
        launcher(a, b, Rude())
    assert launcher.entries <= 4096


def test_threads():
    """Many threads, few keys: every launch gets the addresses of its own call."""
    wrong = []

    def slow(src, dst, k):
        recorder = cuda.Recorder()
        return recorder, one_kernel(recorder, (1, 1, 1), (1, 1, 1), 0, bytes(16), [(0, 0, 0), (1, 8, 0)], result=1)

    launcher = cuda.Launcher(slow)

    def work():
        for i in range(3000):
            a, b = torch.empty(4), torch.empty(4)
            if launcher(a, b, i % 7) is not b and i >= 7:
                wrong.append(i)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong
    assert launcher.entries == 7


def test_it_can_wear_the_name_of_a_function():
    import functools
    import inspect

    def copy(src, dst, *, plan=None):
        """Copy."""
        return None, None

    launcher = functools.update_wrapper(cuda.Launcher(copy, ("src", "dst", "plan")), copy)
    assert launcher.__name__ == "copy"
    assert launcher.__doc__ == "Copy."
    assert list(inspect.signature(launcher).parameters) == ["src", "dst", "plan"]
    assert launcher.slow is copy
    assert launcher.parameters == ("src", "dst", "plan")


@pytest.mark.parametrize("arguments", [(), (1, ["src"]), (1, (1,))])
def test_constructor_errors(arguments):
    with pytest.raises(TypeError):
        cuda.Launcher(*arguments)


class Counted(cuda.Launcher):
    """A launcher of a kind of its own: its slow path is a method."""

    def __init__(self, slow, *names) -> None:
        self.own, self.parameters = slow, names

    def _slow(self, *args, **kwargs):
        return self.own(*args, **kwargs)


def test_a_subclass_has_its_slow_path_as_a_method(slow):
    launcher = Counted(slow, "src", "dst")
    a, b = tensors(4, 5)
    assert launcher(a, b) == "slow"
    assert launcher(a, dst=b) == "slow"
    assert launcher(b, dst=a) is a
    assert (slow.counts, launcher.parameters, launcher.slow) == ((2, 1), ("src", "dst"), None)
    gone = weakref.ref(launcher)
    del launcher
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("names", [["src"], ("src", 1), None])
def test_wrong_parameters(slow, names):
    launcher = Counted(slow, "src")
    with pytest.raises(TypeError, match="parameters must be a tuple of names"):
        launcher.parameters = names
    with pytest.raises(TypeError, match="parameters must be a tuple of names"):
        del launcher.parameters
    assert launcher.parameters == ("src",)


def test_paused_launchers_repeat_nothing_in_their_thread(launcher, slow):
    a, b = tensors(4, 5)
    launcher(a, b)
    cuda.pause_launchers()
    try:
        assert launcher(a, b) == "slow"
        other = threading.Thread(target=launcher, args=(a, b))
        other.start()
        other.join()
        assert slow.counts == (2, 1)
    finally:
        cuda.resume_launchers()
    assert launcher(a, b) is b


class Stream:
    """What is a stream by the name of its type."""

    def __init__(self, number):
        self.cuda_stream = number


def test_a_stream_is_no_part_of_what_is_remembered(launcher, slow):
    """A launch that was prepared for the current stream is none for a given one."""
    a, b = tensors(4, 5)
    for _ in range(2):
        assert launcher(a, b, Stream(3)) == "slow"
        assert launcher(a, b, plan=Stream(3)) == "slow"
    assert (slow.counts, launcher.entries) == ((4, 0), 0)
