"""Calls of compiled and of @cute.jit functions on a device: what is repeated without Python is what Python would do.

No GPU is needed: launches are written down, and CPU tensors pose as the device's (support/recorded.py).
"""

from __future__ import annotations

import gc
import math
import struct
import weakref

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as cutlass
from recorded import Device
from tilewright import cute, runtime
from tilewright.lang import debug
from tilewright.lang.trace import current

torch = pytest.importorskip("torch")


@pytest.fixture
def device(monkeypatch):
    return Device(monkeypatch)


def make_add():
    @cute.kernel
    def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        i = cute.arch.block_idx()[0] * 64 + cute.arch.thread_idx()[0]
        if i < cute.size(c):
            c[i] = a[i] + b[i]

    @cute.jit
    def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        add_kernel(a, b, c).launch(grid=[cute.ceil_div(cute.size(c), 64), 1, 1], block=[64, 1, 1])

    return add


def vectors(n):
    return [torch.rand(n) for _ in range(3)]


def pointers(params):
    """The pointers of add_kernel's parameters: each is followed by its tensor's extent."""
    return struct.unpack_from("<Qi4xQi4xQi", params)


def called(add, operands, *, is_compiled):
    return cute.compile(add, *operands) if is_compiled else add


@pytest.mark.parametrize("is_compiled", [False, True])
def test_the_second_call_runs_no_python(device, is_compiled):
    operands, others = vectors(1000), vectors(1000)
    f = called(make_add(), operands, is_compiled=is_compiled)
    assert f(*operands) is None
    assert device.counts == (1, 1)
    assert f(*others) is None
    assert device.counts == (1, 2)
    grid, block, shared, _, params = device.last
    assert (grid, block, shared) == ((16, 1, 1), (64, 1, 1), 0)
    assert pointers(params)[::2] == tuple(x.data_ptr() for x in others)
    a, b, c = others
    f(b, c=a, b=c)
    f(b, c=a, b=c)
    assert pointers(device.last[4])[::2] == (b.data_ptr(), c.data_ptr(), a.data_ptr())


@pytest.mark.parametrize("make", [torch.full, lambda shape, value: [value], lambda *x: {"table": torch.full(*x)}])
def test_what_a_constexpr_array_holds_is_compared_at_each_call(device, make):
    @cute.kernel
    def set_kernel(x: cute.Tensor):
        x[cute.arch.thread_idx()[0]] = 1

    @cute.jit
    def launch(x: cute.Tensor, table: cutlass.Constexpr):
        (number,) = table["table"] if isinstance(table, dict) else table
        set_kernel(x).launch(block=[int(number), 1, 1])

    x, seen = torch.zeros(64), []
    for value in (32, 32, 64, 32, 96):
        launch(x, make((1,), value))
        seen.append(device.last[1][0])
    table = make((1,), 32)
    for value in (64, 128):
        (table["table"] if isinstance(table, dict) else table)[0] = value
        launch(x, table)
        seen.append(device.last[1][0])
    assert seen == [32, 32, 64, 32, 96, 64, 128]


THREADS = 32


@pytest.mark.parametrize("where", ["module", "closure"])
def test_launches_are_repeated_until_a_name_has_another_value(device, monkeypatch, where):
    threads = 32

    @cute.kernel
    def set_kernel(x: cute.Tensor):
        x[cute.arch.thread_idx()[0]] = 1

    @cute.jit
    def launch_by_closure(x: cute.Tensor):
        set_kernel(x).launch(block=[threads, 1, 1])

    @cute.jit
    def launch_by_module(x: cute.Tensor):
        set_kernel(x).launch(block=[THREADS, 1, 1])

    x = torch.zeros(64)
    launch = launch_by_module if where == "module" else launch_by_closure
    launch(x)
    launch(x)
    assert (device.counts, device.last[1]) == ((1, 2), (32, 1, 1))
    threads = 64
    monkeypatch.setitem(globals(), "THREADS", 64)
    launch(x)
    launch(x)
    assert (device.counts, device.last[1]) == ((2, 4), (64, 1, 1))


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_new_size_runs_no_python(device, is_compiled):
    f = called(make_add(), vectors(1000), is_compiled=is_compiled)
    f(*vectors(1000))
    for n in (2, 63, 64, 65, 4096):
        operands = vectors(n)
        f(*operands)
        assert device.last[0] == (-(-n // 64), 1, 1)
        assert pointers(device.last[4]) == tuple(x for t in operands for x in (t.data_ptr(), n))
    assert device.slow == 1
    assert f.entries == 6


MAKERS = {
    "contiguous": lambda m, n: torch.rand(m, n),
    "transposed": lambda m, n: torch.rand(n, m).t(),
    "padded": lambda m, n: torch.rand(m, n + 3)[:, :n],
    "spaced": lambda m, n: torch.rand(m, 2 * n)[:, ::2],
    "expanded": lambda m, n: torch.rand(m, 1).expand(m, n),
    "shifted": lambda m, n: torch.rand(m, n + 1)[:, 1:],
}


@cute.kernel
def scale_kernel(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32, factor: cutlass.Float32):
    i = cute.arch.thread_idx()[0]
    if i < n:
        y[i, 0] = x[0, i] * factor


def make_scale():
    @cute.jit
    def scale(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32, factor: cutlass.Float32):
        m, columns = x.shape
        scale_kernel(x, y, n * 2 - 1, factor).launch(grid=[m, cute.ceil_div(columns, 4), 1], block=[n + 1, 1, 1])

    return scale


factors = st.floats(width=32).map(lambda x: x if x == x else math.nan)  # no bits of a NaN are promised
calls = st.tuples(
    st.sampled_from(sorted(MAKERS)), st.integers(1, 6), st.integers(1, 6), st.integers(0, 100),
    st.one_of(factors, st.integers(-3, 3)),
)  # fmt: skip


@given(st.lists(calls, min_size=2, max_size=8))
def test_what_is_repeated_is_what_python_does(several):
    """Each call of one function has the launch that a function without memory has, or the same error."""
    with pytest.MonkeyPatch.context() as patch:
        device = Device(patch)
        remembers, forgets = make_scale(), make_scale()
        for kind, m, n, count, factor in several:
            x, y = MAKERS[kind](m, n), torch.rand(n, m)
            found = []
            for f in (remembers, forgets):
                try:
                    f(x, y, count, factor)
                    grid, block, shared, _, params = device.last
                    found.append((grid, block, shared, params))
                except (ValueError, RuntimeError) as error:
                    found.append((type(error), str(error)))
            assert found[0] == found[1]
            forgets.clear()


def test_extents_and_strides_of_one_are_other_programs(device):
    """A stride of 1 is fixed in the layout, so such a call is traced for itself."""
    f = make_scale()
    f(torch.rand(4, 5), torch.rand(5, 4), 3, 0.5)
    f(torch.rand(5, 4), torch.rand(4, 5), 3, 0.5)
    assert device.slow == 1
    for slow, x in enumerate((torch.rand(4, 1), torch.rand(5, 4).t(), torch.rand(4, 1).expand(4, 5)), 2):
        f(x, torch.rand(5, 4), 3, 0.5)
        assert device.slow == slow
    assert len(f._programs) >= 3


def test_numbers_change_without_python(device):
    f = make_scale()
    x, y = torch.rand(4, 5), torch.rand(5, 4)
    f(x, y, 3, 0.5)
    for n, factor in ((4, 0.25), (30, -1.5), (31, 1e30)):
        f(x, y, n, factor)
        assert device.last[1] == (n + 1, 1, 1)
        assert struct.unpack("<if", device.last[4][-8:]) == (2 * n - 1, struct.unpack("f", struct.pack("f", factor))[0])
    assert device.slow == 1
    with pytest.raises(ValueError, match=r"^n is 4294967301, beyond Int32"):  # also after calls that fit
        f(x, y, (1 << 32) + 5, 0.5)
    assert device.slow == 2
    assert device.last[1] == (32, 1, 1)


def test_numbers_of_the_package_are_known_by_their_values(device):
    f = make_scale()
    x, y = torch.rand(4, 5), torch.rand(5, 4)
    for n in (3, 4, 5, 5):
        f(x, y, cutlass.Int32(n), cutlass.Float32(n / 8))
        assert device.last[1] == (n + 1, 1, 1)
        assert struct.unpack("<if", device.last[4][-8:]) == (2 * n - 1, n / 8)
    assert device.slow == 1
    f(x, y, cutlass.Int64(5), cutlass.Float32(1.0))
    f(x, y, cutlass.Int32(5), cutlass.Float16(1.0))
    assert device.slow == 3
    f(x, y, cutlass.Int32(6), cutlass.Float16(0.5))
    assert struct.unpack("<if", device.last[4][-8:]) == (11, 0.5)


def test_the_promised_alignment_is_checked_each_time(device):
    root = torch.rand(4096)
    root = root[-root.data_ptr() % 256 // 4 :][:2048]
    assert root.data_ptr() % 256 == 0
    marked = cute.runtime.from_dlpack(root[:64], assumed_align=128).mark_layout_dynamic()
    f = cute.compile(make_add(), marked, marked, marked)
    for _ in range(2):
        f(root[:64], root[64:128], root[:64])
    assert device.slow == 1
    for n in (64, 60):
        with pytest.raises(ValueError, match=r"b: the address 0x.* is no multiple of 128 bytes"):
            f(root[:n], root[16 : 16 + n], root[:n])


def test_a_wrong_type_and_a_wrong_layout_are_named_after_a_right_call(device):
    f = cute.compile(make_add(), *vectors(100))
    f(*vectors(100))
    a, b, c = vectors(100)
    with pytest.raises(TypeError, match="b: expected elements of type Float32, but they are Int32"):
        f(a, b.int(), c)
    with pytest.raises(ValueError, match=r"c.stride\[0\] is 2, but the function was compiled for 1"):
        f(a, b, torch.rand(200)[::2])
    with pytest.raises(TypeError, match="missing a required argument: 'c'"):
        f(a, b)


def test_a_launch_that_cannot_be_is_refused_after_one_that_can(device):
    @cute.kernel
    def nothing(n: cutlass.Int32, x: cute.Tensor):
        pass

    @cute.jit
    def f(x: cute.Tensor, n: cutlass.Int32):
        assert n < 100, "too many"
        nothing(n, x).launch(grid=[n, 1, 1], block=[32, 1, 1])

    x = torch.rand(4)
    f(x, 5)
    f(x, 6)
    assert device.slow == 1
    with pytest.raises(RuntimeError, match="assertion failed: n < 100: too many"):
        f(x, 100)
    f(x, 7)
    assert device.last[0] == (7, 1, 1)


def test_what_a_function_returns_prints_and_computes_of_addresses_is_so_at_every_call(device, capfd):
    @cute.kernel
    def nothing(x: cute.Tensor, n: cutlass.Int64):
        pass

    @cute.jit
    def returns(x: cute.Tensor):
        nothing(x, 1).launch(block=[32, 1, 1])
        return cute.size(x)

    @cute.jit
    def prints(x: cute.Tensor):
        cute.printf("n = {}", cute.size(x))
        nothing(x, 1).launch(block=[32, 1, 1])

    @cute.jit
    def looks(x: cute.Tensor):
        nothing(x, x.iterator.toint() % 4096).launch(block=[32, 1, 1])

    root = torch.rand(1024)
    for n in (7, 7, 8):
        assert returns(root[:n]) == n
        prints(root[:n])
    assert capfd.readouterr().out.split() == ["n", "=", "7", "n", "=", "7", "n", "=", "8"]
    for i in (0, 4, 8):
        x = root[4 * i : 4 * i + 16]
        looks(x)
        assert struct.unpack_from("<q", device.last[4], 16) == (x.data_ptr() % 4096,)


class Stream:
    """Looks like torch's."""

    def __init__(self, number):
        self.cuda_stream = number


def test_a_stream_that_is_given(device):
    @cute.kernel
    def nothing(x: cute.Tensor):
        pass

    @cute.jit
    def f(x: cute.Tensor, stream):
        nothing(x).launch(grid=[cute.size(x), 1, 1], block=[32, 1, 1], stream=stream)

    x = torch.rand(16)
    compiled = cute.compile(f, x, cute.runtime.make_fake_stream())
    for i, call in enumerate((f, compiled), 1):
        for number in (5, 6, 7, 0):
            call(x[: 2 + number], Stream(number))
            assert (device.last[0], device.last[3]) == ((2 + number, 1, 1), number or 1)
        call(x, stream=Stream(9))
        call(x, stream=Stream(10))
        assert device.last[3] == 10
        assert device.slow == 2 * i


def test_constants_before_tensors(device):
    @cute.kernel
    def nothing(x: cute.Tensor, n: cutlass.Int32):
        pass

    @cute.jit
    def f(tile: cutlass.Constexpr, x: cute.Tensor, n: cutlass.Int32 = 7, *, y: cute.Tensor):
        nothing(x, tile).launch(grid=[n, 1, 1], block=[tile, 1, 1])
        nothing(y, tile).launch(grid=[n, 1, 1], block=[tile, 1, 1])

    x, y = torch.rand(8), torch.rand(8)
    compiled = cute.compile(f, 32, x, y=y)
    for _ in range(2):
        compiled(x, y=y)
        compiled(y, y=x)
        assert struct.unpack_from("<Q", device.last[4]) == (x.data_ptr(),)
    assert compiled.entries == 1
    compiled(x, 9, y=y)
    assert device.last[0] == (9, 1, 1)
    for tile in (32, 64, 32, 64):
        f(tile, x, y=y)
        assert device.last[1] == (tile, 1, 1)
    assert device.slow == 4


def test_kernels_are_loaded_when_they_are_first_launched(device):
    @cute.kernel
    def first(x: cute.Tensor):
        pass

    @cute.kernel
    def second(x: cute.Tensor):
        pass

    @cute.jit
    def f(x: cute.Tensor, n: cutlass.Int32):
        if n > 0:
            first(x).launch(grid=[n, 1, 1], block=[32, 1, 1])
        else:
            second(x).launch(block=[32, 1, 1])

    x = torch.rand(4)
    for n, loaded, slow in ((2, 1, 1), (3, 1, 1), (0, 2, 2), (-1, 2, 2), (5, 2, 2)):
        f(x, n)
        assert (len(device.recorders), device.slow) == (loaded, slow)
    assert [one.count for one in device.recorders.values()] == [3, 2]


def test_clusters_and_cooperative_launches_are_repeated(device):
    @cute.kernel
    def nothing(x: cute.Tensor):
        pass

    @cute.jit
    def f(x: cute.Tensor):
        nothing(x).launch(grid=[cute.size(x), 1, 1], block=[32, 1, 1], cluster=[2, 1, 1], use_pdl=True)

    for n in (4, 6, 6):
        f(torch.rand(n))
        assert device.last[0] == (n, 1, 1)
    assert device.slow == 1
    assert device.recorders.popitem()[1].programmatic


def test_callbacks_are_told_of_repeated_launches(device):
    f = cute.compile(make_add(), *vectors(100))
    f(*vectors(100))
    with runtime.on_launch((seen := []).append):
        f(*vectors(100))
        f(*vectors(300))
    assert [one.grid for one in seen] == [(2, 1, 1), (5, 1, 1)]
    assert all(one.plan is f.traced.compiled["sm_90a"][one.plan.index] for one in seen)
    assert device.slow == 1


def test_a_function_that_was_launched_can_still_be_stepped_through(device):
    seen = []

    @cute.kernel
    def kernel(x: cute.Tensor):
        seen.append(cute.arch.thread_idx()[0])

    @cute.jit
    def f(x: cute.Tensor):
        kernel(x).launch(block=[4, 1, 1])

    x = torch.rand(4)
    f(x)
    f(x)
    launches = device.counts[1]
    seen.clear()
    with debug.stepping():
        f(x)
    assert seen == [0, 1, 2, 3]
    assert device.counts[1] == launches
    f(x)
    assert device.counts[1] == launches + 1


def test_functions_that_have_launched_are_freed(device):
    for is_compiled in (False, True):
        f = called(make_add(), vectors(10), is_compiled=is_compiled)
        f(*vectors(10))
        f(*vectors(20))
        gone = weakref.ref(f)
        del f
        gc.collect()
        assert gone() is None


def test_text_and_signature(device):
    add = make_add()
    compiled = cute.compile(add, *vectors(10))
    assert repr(compiled) == "<compiled add(a: Tensor, b: Tensor, c: Tensor)>" or "add(" in repr(compiled)
    assert "add" in repr(add)
    assert compiled.parameters == ("a", "b", "c")


def test_nothing_is_collected_while_a_function_is_traced_and_compiled():
    """A collection of all that torch has made takes longer than the tracing."""
    seen = []

    def note(phase, info):
        seen.append((phase, current() is not None))

    before = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(1)
    try:
        compiled = cute.compile[cute.GPUArch("sm_90a")](make_add(), *vectors(100))
        seen.append("traced")
        assert compiled.kernels[0].cubin
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(note)
    assert gc.isenabled()
    assert not any(during for _, during in seen[: seen.index("traced")])
