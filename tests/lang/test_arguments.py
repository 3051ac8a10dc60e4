"""Arguments of traced functions: what one program serves, and what is refused by name."""

from __future__ import annotations

import dataclasses
import mmap
import sys
from typing import NamedTuple

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import Float32, Int8, Int32, LayoutError, cute
from tilewright.cute.runtime import from_dlpack


@cute.kernel
def add_kernel(x: cute.Tensor, value: Float32):
    i, _, _ = cute.arch.thread_idx()
    if i < cute.size(x):
        x[i] = x[i] + value


def adder():
    traces = []

    @cute.jit
    def add(x: cute.Tensor, value: Float32, threads: cutlass.Constexpr = 32):
        traces.append(threads)
        add_kernel(x, value).launch(block=[threads, 1, 1])

    return add, traces


def test_one_program_serves_all_sizes_and_values():
    add, traces = adder()
    for n, value in ((4, 1.0), (9, 2.5), (32, -1.0)):
        x = np.arange(n, dtype=np.float32)
        add(x, value)
        assert x.tolist() == [i + value for i in range(n)]
    assert traces == [32]
    add(np.zeros(4, np.float32), 1.0, 64)  # another constant: another program
    assert traces == [32, 64]


def test_a_compiled_function_leaves_constants_out_and_refuses_what_it_was_not_compiled_for():
    add, traces = adder()
    compiled = cute.compile(add, from_dlpack(np.zeros(8, np.float32)), 1.0, 8)
    x = np.zeros(8, np.float32)
    compiled(x, 3)
    assert x.tolist() == [3] * 8
    assert traces == [8]
    with pytest.raises(ValueError, match=r"^x\.shape\[0\] is 5, but the function was compiled for 8, which is fixed"):
        compiled(np.zeros(5, np.float32), 1.0)
    with pytest.raises(TypeError, match=r"^x: expected elements of type Float32, but they are Float64"):
        compiled(np.zeros(8), 1.0)
    with pytest.raises(TypeError, match=r"^value: expected Float32, but got 'a' of type str"):
        compiled(np.zeros(8, np.float32), "a")
    with pytest.raises(TypeError, match=r"^x: expected a tensor, but got 3 of type int"):
        compiled(3, 1.0)


def test_promises_are_checked_at_each_call():
    add, _ = adder()
    memory = np.zeros(65, np.float32)
    start = -memory.ctypes.data // 4 % 4  # of the first element at a multiple of 16 bytes
    aligned = from_dlpack(memory[start : start + 32], assumed_align=16)
    compiled = cute.compile(add, aligned.mark_compact_shape_dynamic(0, divisibility=4), 1.0)
    compiled(memory[start : start + 12], 1.0)
    with pytest.raises(ValueError, match=r"^x\.shape\[0\] is 10, but the function was compiled for multiples of 4"):
        compiled(memory[start : start + 10], 1.0)
    with pytest.raises(ValueError, match=r"is no multiple of 16 bytes, for which the function was compiled"):
        compiled(memory[start + 1 : start + 13], 1.0)


class Pair(NamedTuple):
    x: cute.Tensor
    value: Float32


@dataclasses.dataclass(frozen=True)
class Options:
    scale: Int32
    name: str


@cute.kernel
def parts_kernel(pair: Pair, options: Options, more: list[cute.Tensor]):
    i, _, _ = cute.arch.thread_idx()
    pair.x[i] = pair.value * options.scale + more[0][i] + more[1][i]


@cute.jit
def parts(pair: Pair, options: Options, more: list[cute.Tensor]):
    parts_kernel(pair, options, more).launch(block=[4, 1, 1])


def test_containers_are_taken_leaf_by_leaf():
    x, a, b = np.zeros(4, np.float32), np.ones(4, np.float32), np.arange(4, dtype=np.float32)
    parts(Pair(x, 0.5), Options(6, "six"), [a, b])
    assert x.tolist() == [4, 5, 6, 7]


def test_results_come_back():
    @cute.jit
    def several(x: cute.Tensor, n: Int32):
        return n + 1, (x, "text"), cute.make_layout((n, 4))

    x = np.zeros(3, np.float32)
    n, (tensor, text), layout = several(x, 6)
    assert (int(n), text, int(cute.size(layout)), str(layout)) == (7, "text", 24, "(?,4):(1,?)")
    tensor[1] = 5
    assert x.tolist() == [0, 5, 0]


def test_tensors_of_a_launch_are_on_one_device_and_sizes_are_positive():
    add, _ = adder()
    x = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match=r"launch: block=\[2048, 1, 1\] has 2048 threads; at most 1024 are allowed"):
        add(x, 1.0, 2048)
    with pytest.raises(ValueError, match=r"launch: block=\[0, 1, 1\]: expected up to three integers of at least 1"):
        add(x, 1.0, 0)


def test_compiling_needs_no_device():
    n = cute.sym_int(divisibility=4)
    fake = cutlass.cute.runtime.make_fake_compact_tensor(Float32, (n,), assumed_align=16)
    add, _ = adder()
    compiled = cute.compile[cute.GPUArch("sm_90a")](add, fake, 1.0)
    assert 'extern "C" __global__' in compiled.source
    assert [kernel.arch for kernel in compiled.kernels] == ["sm_90a"]


@cute.kernel
def shape_kernel(x: cute.Tensor, out: cute.Tensor):
    out[0] = x.shape[0]
    t, _, _ = cute.arch.thread_idx()
    out[1] = x[t, 1].to(Int32)


@cute.jit
def shape_of(x: cute.Tensor, out: cute.Tensor):
    shape_kernel(x, out).launch(block=[1, 1, 1])


def test_extents_of_64_bits_are_refused():
    small, out = np.zeros((4, 2), np.int8), np.zeros(2, np.int32)
    wide = np.lib.stride_tricks.as_strided(small, shape=(2**32 + 5, 2), strides=(0, 1))
    shape_of(small, out)
    for _ in range(2):  # also where the program is known
        with pytest.raises(LayoutError, match=r"the extent 4294967301 of mode 0 .* does not fit the 32 bits"):
            shape_of(wide, out)
    assert out[0] == 4


@cute.kernel
def far_kernel(x: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    x[t, 1] = Int8(t + 5)
    cute.local_tile(x, (1, 2), (t, 1))[0, 0] = Int8(t + 7)


def test_offsets_have_64_bits():
    memory = np.frombuffer(mmap.mmap(-1, 2**32 + 8), np.int8)  # of which three pages are touched
    x = np.lib.stride_tricks.as_strided(memory, shape=(3, 4), strides=(2**31, 1))
    far_kernel(x).launch(block=3)
    assert x[:, 1:3].tolist() == [[5, 7], [6, 8], [7, 9]]


@cute.kernel
def far_row_kernel(x: cute.Tensor, row: Int32):
    t, _, _ = cute.arch.thread_idx()
    x[row + t, 1] = Int8(t + 5)
    cute.local_tile(x, (1, 2), (row + t, 1))[0, 0] = Int8(t + 7)


def test_offsets_of_large_static_layouts_have_64_bits():
    memory = np.frombuffer(mmap.mmap(-1, 2**32), np.int8)
    x = memory.reshape(2**22, 1024)
    row = 2**21 + 2**20
    far_row_kernel(cute.runtime.from_dlpack(x), row).launch(block=3)
    assert x[row : row + 3, 1:3].tolist() == [[5, 7], [6, 8], [7, 9]]


@cute.kernel
def three_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    c[i] = a[i] + b[i]


@cute.jit
def three(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    three_kernel(a, b, c).launch(block=[4, 1, 1])


def test_a_known_call_on_the_cpu_reads_each_array_once():
    """What a call costs beside the kernel: the calls of Python's functions, 350 when each array was read twice."""
    arrays = [np.ones((4,), np.float32) for _ in range(3)]
    three(*arrays)
    calls, exports = [], []

    def note(frame, event, argument):
        if event == "call":
            calls.append(frame.f_code.co_name)
        elif event == "c_call" and argument.__name__ == "__dlpack__":
            exports.append(argument)

    sys.setprofile(note)
    try:
        three(*arrays)
    finally:
        sys.setprofile(None)
    assert arrays[2].tolist() == [2, 2, 2, 2]
    assert len(exports) == 3
    assert len(calls) < 160


def test_kinds_of_arrays_are_told_apart():
    seen = []

    @cute.jit
    def f(x: cute.Tensor):
        seen.append(str(x.layout))

    f(np.zeros((4, 8), np.float32))
    f(np.zeros((5, 7), np.float32))
    f(np.zeros((8, 4), np.float32).T)
    f(np.zeros((4, 8), np.float32)[:, ::2])
    f(np.broadcast_to(np.zeros(8, np.float32), (4, 8)).copy())
    f(np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (4, 8), (0, 4)))
    f(np.zeros((4, 8), np.int32))
    f(np.zeros((4, 1), np.float32))
    layouts = ["(?,?):(?{i64},1)", "(?,?):(1,?{i64})", "(?,?):(?{i64},?{i64})", "(?,?):(0,1)"]
    assert seen == [*layouts, layouts[0]] or seen == [*layouts, layouts[0], layouts[1]]


def test_extents_beyond_32_bits_are_refused_at_every_call():
    @cute.jit
    def f(x: cute.Tensor):
        pass

    small = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (3, 2), (0, 0))
    large = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (2**31, 2), (0, 0))
    f(small)
    with pytest.raises(cutlass.LayoutError, match=r"the extent 2147483648 of mode 0 .* does not fit the 32 bits"):
        f(large)
    compiled = cute.compile(f, small)
    with pytest.raises(ValueError, match=r"x.shape\[0\] is 2147483648, beyond the 32 bits that it has"):
        compiled(large)


@cute.kernel
def numbers_kernel(x: cute.Tensor, f: Float32, n: Int32, is_set: cutlass.Boolean, free):
    x[0] = f + n + free if is_set else Float32(-1)


@cute.jit
def numbers(x: cute.Tensor, f: Float32, n: Int32, is_set: cutlass.Boolean, free):
    numbers_kernel(x, f, n, is_set, free).launch()


def test_scalars_of_numpy_are_numbers():
    x = np.zeros(1, np.float32)
    for f in (np.float32(0.5), np.float16(0.5), np.float64(0.5), 0.5):
        for is_set in (np.bool_(True), True, np.False_):
            numbers(x, f, np.int64(3), is_set, np.uint8(4))
            assert x[0] == (7.5 if is_set else -1)
            numbers(x, f, np.int16(30), is_set, np.uint8(40))
            assert x[0] == (70.5 if is_set else -1)
    assert len(numbers._programs) == 1
    with pytest.raises(TypeError, match="argument x: expected a tensor, or an array with __dlpack__"):
        numbers(np.float32(3), 0.5, 3, True, 4)


def test_a_tensor_in_registers_is_refused() -> None:
    """One that was made on the host: to a kernel its memory is none."""

    @cute.kernel
    def double(x: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        x[i] = x[i] * 2

    with pytest.raises(TypeError, match="x lies in registers, which is made inside a kernel and ends with it: pass an"):
        double(cute.make_rmem_tensor(32, cutlass.Int32)).launch(block=32)


@cute.kernel
def divide_kernel(x: cute.Tensor, divisor: cute.FastDivmodDivisor):
    i, _, _ = cute.arch.thread_idx()
    quotient, rest = divmod(i, divisor)
    x[i] = 100 * quotient + rest


@cute.jit
def divide(x: cute.Tensor, n: Int32):
    divide_kernel(x, cute.fast_divmod_create_divisor(n)).launch(block=32)


def test_a_divisor_made_of_an_argument() -> None:
    x = np.zeros(32, np.int32)
    for n in (7, 5):  # by one program
        divide(x, n)
        assert x.tolist() == [100 * (i // n) + i % n for i in range(32)]


class Holder:
    def __init__(self, n):
        self.n = n


def test_a_number_of_the_host_that_the_kernel_was_not_given_is_named() -> None:
    @cute.kernel
    def held(x: cute.Tensor, holder: cutlass.Constexpr):
        x[0] = holder.n

    @cute.jit
    def launch(x: cute.Tensor, n: Int32):
        held(x, Holder(n)).launch(block=1)

    with pytest.raises(RuntimeError, match=r"n is an argument of the function that launches, .* pass it to the kernel"):
        launch(np.zeros(1, np.int32), 3)
