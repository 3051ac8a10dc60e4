"""The call path from Python to a launch: what it remembers, what it hands on, what it refuses.

No GPU is needed: the launches go to a Recorder, whose tensors are on the CPU.
"""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
import threading
import weakref

import pytest

from tilewright import _core

torch = pytest.importorskip("torch")
cuda = _core.cuda


class Slow:
    """A slow path that copies nothing: it counts its calls and prepares a launch on the first two arguments."""

    def __init__(self, **options) -> None:
        self.recorder = cuda.Recorder()
        self.calls = 0
        self.options = {"pointers": [(0, 0, 0), (1, 8, 0)], "result": 1} | options

    def __call__(self, src, dst, *args, **kwargs):
        self.calls += 1
        return "slow", cuda.Prepared(self.recorder, (3, 2, 1), (64, 1, 1), 256, bytes(16), **self.options)

    @property
    def counts(self) -> tuple[int, int]:
        return self.calls, self.recorder.count

    @property
    def pointers(self) -> tuple[int, int]:
        return struct.unpack("<QQ", self.recorder.last[4])


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
        return depth, cuda.Prepared(recorder, (1, 1, 1), (1, 1, 1), 0, b"")

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
        return recorder, cuda.Prepared(recorder, (1, 1, 1), (1, 1, 1), 0, bytes(16), [(0, 0, 0), (1, 8, 0)], result=1)

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


def prepared(**options):
    slow = Slow(**options)
    return slow, slow(None, None)[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pointers": [(0, 9, 0)]}, "a pointer at byte 9 does not lie in a parameter of 16 bytes"),
        ({"pointers": [(0, -1, 0)]}, "a pointer at byte -1"),
        ({"pointers": [(32, 0, 0)]}, "pointers names argument 32; arguments are 0 to 31"),
        ({"ranges": [(-1, 0, 0)]}, "ranges names argument -1"),
        ({"disjoint": [(0, 1)], "ranges": [(0, 0, 1)]}, "disjoint names ranges 0 and 1 of 1"),
        ({"result": 32}, "result names argument 32"),
    ],
)
def test_wrong_prepared(options, message):
    with pytest.raises(ValueError, match=message):
        prepared(**options)


def test_prepared_launch():
    slow, launch = prepared(ranges=[(0, 0, 8), (1, 0, 8)], disjoint=[(0, 1)], keep="plan")
    launch.launch([1000, 2000], 7)
    assert slow.recorder.last[3:] == (7, struct.pack("<QQ", 1000, 2000))
    assert (launch.grid, launch.block, launch.shared, launch.parameter_bytes) == ((3, 2, 1), (64, 1, 1), 256, 16)
    assert (launch.keep, launch.result, launch.function) == ("plan", 1, slow.recorder)
    with pytest.raises(ValueError, match="1 addresses were given, but the launch needs 2"):
        launch.launch([1000], 7)
    with pytest.raises(ValueError, match="arguments 0 and 1 overlap"):
        launch.launch([1000, 1007], 7)
    assert slow.recorder.count == 1


def test_bound():
    slow, launch = prepared()
    a, b = tensors(2)
    bound = launch.bind(a, b)
    assert bound() is None
    assert slow.recorder.last[3:] == (0, struct.pack("<QQ", a.data_ptr(), b.data_ptr()))
    bound(stream=9)
    assert slow.recorder.last[3] == 9
    launch.launch([1, 2], 0)  # leaves the bound one alone
    bound()
    assert slow.pointers == (a.data_ptr(), b.data_ptr())
    assert bound.tensors == (a, b)
    assert bound.prepared is launch
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is not None
    del bound
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("args", "kwargs"), [((1,), {}), ((1,), {"stream": 1}), ((), {"x": 1}), ((), {"stream": None})]
)
def test_bound_arguments(args, kwargs):
    bound = prepared()[1].bind(*tensors(2))
    with pytest.raises(TypeError, match="stream"):
        bound(*args, **kwargs)


def test_bind_errors():
    import numpy

    slow, launch = prepared(ranges=[(0, 0, 8), (1, 0, 8)], disjoint=[(0, 1)])
    a = torch.zeros(2)
    with pytest.raises(ValueError, match="1 tensors were given, but the launch needs 2"):
        launch.bind(a)
    with pytest.raises(ValueError, match="overlap"):
        launch.bind(a, a)
    with pytest.raises(TypeError, match=r"argument 1, a Tensor, .*gradients"):
        launch.bind(a, torch.zeros(2, requires_grad=True))
    with pytest.raises(TypeError, match="addresses="):
        launch.bind(a, numpy.zeros(2))
    x, y = numpy.zeros(2), numpy.zeros(2)
    bound = launch.bind(x, y, addresses=[x.ctypes.data, y.ctypes.data])
    with pytest.raises(TypeError, match="stream="):
        bound()
    bound(stream=3)
    assert slow.recorder.last[3:] == (3, struct.pack("<QQ", x.ctypes.data, y.ctypes.data))
    with pytest.raises(TypeError):
        cuda.Bound()


def test_describe():
    x = torch.zeros(3, 4, dtype=torch.bfloat16)[1:, ::2]
    assert cuda.describe(x) == (x.data_ptr(), (4, 16, 1), (1, 0), (2, 2), (4, 2))
    assert cuda.describe(torch.zeros(())) is not None
    assert cuda.current_stream(x) == 0
    for other in (1, "text", None, [1], object(), __import__("numpy").zeros(2)):
        assert cuda.describe(other) is None
        assert cuda.current_stream(other) is None


# Arrays of a library that exists for these tests alone: what torch on a CPU does not show.


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


VIEW = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class Api(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("previous", ctypes.c_void_p),
        ("unused", ctypes.c_void_p * 3),
        ("view", VIEW),
        ("stream", STREAM),
    ]


def array_type(version=1, previous=0, **fields):
    """A class of arrays of four floats whose fields of DLTensor can be set."""

    class Array:
        def __init__(self, **own):
            self.shape, self.strides = (ctypes.c_int64 * 1)(4), (ctypes.c_int64 * 1)(1)
            self.tensor = DLTensor(4096, 1, 0, 1, 2, 32, 1, self.shape, self.strides, 0)
            for name, value in (fields | own).items():
                setattr(self.tensor, name, value)

        def __dlpack__(self):
            raise NotImplementedError

    def view(array, out):
        ctypes.memmove(out, ctypes.byref(array.tensor), ctypes.sizeof(DLTensor))
        return 0

    def stream(device_type, device_id, out):
        out[0] = 77 + device_id
        return 0

    Array.api = Api(version, 3, previous, (ctypes.c_void_p * 3)(), VIEW(view), STREAM(stream))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    Array.__dlpack_c_exchange_api__ = new(ctypes.addressof(Array.api), b"dlpack_exchange_api", None)
    return Array


def repeated(launcher, slow, *args) -> bool:
    """Whether the second of two equal calls is launched without the slow path."""
    before = slow.calls
    launcher(*args)
    launcher(*args)
    assert slow.calls - before in (1, 2)
    return slow.calls - before == 1


def test_any_library_with_the_c_functions(launcher, slow):
    array = array_type()
    a, b = array(data=8192), array(data=4096, byte_offset=32)
    assert repeated(launcher, slow, a, b)
    assert slow.recorder.last[3] == 77
    assert slow.pointers == (8192, 4096 + 32)
    assert cuda.describe(b) == (4128, (2, 32, 1), (1, 0), (4,), (1,))


def test_versions_of_the_c_functions(launcher, slow):
    assert not repeated(launcher, slow, array_type(version=2)(), array_type(version=2)())
    one = array_type()
    newer = array_type(version=2, previous=ctypes.addressof(one.api))
    assert repeated(launcher, slow, newer(), newer())


@pytest.mark.parametrize(
    "fields",
    [
        {"data": None},
        {"ndim": -1},
        {"ndim": 65},
        {"strides": None},
        {"shape": (ctypes.c_int64 * 1)(0)},
        {"device_id": 300},
        {"device_type": 2},  # the recorder is on the CPU
        {"device_id": 1},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_what_no_launch_can_serve(launcher, slow, fields):
    array = array_type(**fields)
    assert not repeated(launcher, slow, array(), array())


def test_two_devices_go_slow(launcher, slow):
    array = array_type()
    assert repeated(launcher, slow, array(), array())
    assert not repeated(launcher, slow, array(), array(device_type=2))
    assert not repeated(launcher, slow, array(), array(device_id=1))
    assert not repeated(launcher, slow, array(device_type=2, device_id=1), array(device_type=2, device_id=0))


def test_bind_names_the_device():
    array = array_type()
    with pytest.raises(ValueError, match="argument 1 is on cuda:3, but the kernel is loaded on cpu"):
        prepared()[1].bind(array(), array(device_type=2, device_id=3))


def test_a_launch_that_fails_is_an_error_and_loses_nothing(launcher, slow):
    """The functions of a library may fail: then the slow path decides, and no Python error is left behind."""
    array = array_type()

    def fail(*args):
        raise BufferError("not now")

    a, b = array(), array()
    assert repeated(launcher, slow, a, b)
    failing = array_type()
    failing.api.stream = STREAM(lambda *args: -1)
    failing.api.view = array.api.view
    assert not repeated(launcher, slow, failing(), failing())
    failing = array_type()
    failing.api.view = VIEW(lambda *args: -1)
    assert not repeated(launcher, slow, failing(), failing())
