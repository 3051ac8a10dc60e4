"""@cute.jit and @cute.kernel on the CPU: arguments, results, launches, and stepping through."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as cutlass
import tilewright.cute as cute
from tilewright import Constexpr, Float32, Int32
from tilewright.cute.runtime import from_dlpack, make_ptr

try:
    import torch
except ImportError:
    torch = None

# ---- the program of seed 000, its import lines changed and device="cpu" ----------------------------------------------

PROGRAM = """
import torch

import tilewright.cute as cute
from tilewright.cute.runtime import from_dlpack


@cute.kernel
def visualize_tv_layout_kernel(mA: cute.Tensor, tv_layout: cute.Layout):
    tidx, _, _ = cute.arch.thread_idx()
    # Compose mA with TV Layout
    composed = cute.composition(mA, tv_layout)
    cute.printf("TIDX: {}", tidx)
    cute.printf("DATA: {}", composed[(tidx, None)])


@cute.jit
def visualize_tv_layout(
    mA: cute.Tensor,
):
    # mA Layout: (24, 1) : (1, 0)
    tv_layout = cute.make_layout(shape=((2, 2), (2, 3)), stride=((2, 12), (1, 4)))
    print(f"TV Layout: {tv_layout}")

    # Launch the kernel asynchronously
    # Async token(s) can also be specified as dependencies
    visualize_tv_layout_kernel(mA, tv_layout).launch(
        grid=[1, 1, 1],
        block=[cute.size(tv_layout, mode=[0]), 1, 1],
    )


if __name__ == "__main__":
    M, N = 24, 1
    a = torch.arange(M * N, device="cpu", dtype=torch.int32).reshape(M, N)
    a_ = from_dlpack(a, assumed_align=16)

    visualize_tv_layout(a_)
"""

# What its author saw, on a GPU.
PRINTED = """TV Layout: ((2,2),(2,3)):((2,12),(1,4))
TIDX: 0
DATA: raw_ptr(0x00007fc4f5e00000: i32, gmem, align<8>) o ((2,3)):((1,4)) =\x20
  ( 0, 1, 4, 5, 8, 9 )
TIDX: 1
DATA: raw_ptr(0x00007fc4f5e00008: i32, gmem, align<8>) o ((2,3)):((1,4)) =\x20
  ( 2, 3, 6, 7, 10, 11 )
TIDX: 2
DATA: raw_ptr(0x00007fc4f5e00030: i32, gmem, align<8>) o ((2,3)):((1,4)) =\x20
  ( 12, 13, 16, 17, 20, 21 )
TIDX: 3
DATA: raw_ptr(0x00007fc4f5e00038: i32, gmem, align<8>) o ((2,3)):((1,4)) =\x20
  ( 14, 15, 18, 19, 22, 23 )
"""


def relative(text: str) -> str:
    """The text with every address written relative to the first."""
    addresses = [int(x, 16) for x in re.findall(r"0x[0-9a-f]{16}", text)]
    return re.sub(r"0x[0-9a-f]{16}", lambda x: f"base + {int(x[0], 16) - addresses[0]}", text)


@pytest.mark.skipif(torch is None, reason="the program uses torch")
def test_the_thread_value_program_prints_what_its_author_saw(capsys):
    exec(compile(PROGRAM, "seed 000", "exec"), {"__name__": "__main__"})
    assert relative(capsys.readouterr().out) == relative(PRINTED)


# ---- @cute.jit -------------------------------------------------------------------------------------------------------


@cute.jit
def layout_text(tensor: cute.Tensor):
    return str(tensor)


@cute.jit
def unannotated(x):
    return x


def test_arrays_become_dynamic_tensors():
    array = np.zeros((30, 20, 32), np.float32)
    expected = "tensor<ptr<f32, generic> o (?,?,?):(?{i64},?{i64},1)>"
    assert layout_text(array) == layout_text(tensor=array) == expected
    assert str(unannotated(array)) == expected


def test_imported_tensors_become_ordinary_ones():
    tensor = from_dlpack(np.zeros((4, 8), np.float32))
    assert layout_text(tensor) == "tensor<ptr<f32, generic> o (4,8):(8,1)>"
    assert type(unannotated(tensor)) is cute.Tensor
    assert layout_text(tensor.mark_layout_dynamic()) == "tensor<ptr<f32, generic> o (?,?):(?{i64},1)>"
    assert str(unannotated(make_ptr(Float32, 64))) == "ptr<f32, generic>"
    tensor = cute.make_identity_tensor((2, 2))
    assert str(unannotated(tensor)) == str(tensor)


def test_errors_name_the_argument():
    with pytest.raises(BufferError, match=r"^layout_text: argument tensor: elements of complex of 128 bits"):
        layout_text(np.zeros(3, complex))
    with pytest.raises(TypeError, match="missing a required argument: 'tensor'"):
        layout_text()


@cute.jit
def numbers(a: Int32, b: cutlass.Float16, c: Constexpr[int], d: Constexpr, e: int, *rest: Int32, f: cutlass.Int64 = 3):
    return a, b, c, d, e, rest, f


def test_numeric_annotations_make_numbers():
    a, b, c, d, e, rest, f = numbers(1, 0.1, 2, 3, 4, 5, 6, f=7)
    assert (repr(a), repr(b), c, d, e) == ("Int32(?)", "Float16(0.0999755859375)", 2, 3, 4)
    assert [type(x) for x in (c, d, e)] == [int, int, Int32]
    assert ([repr(x) for x in rest], repr(f)) == (["Int32(?)", "Int32(?)"], "Int64(?{i64})")
    assert numbers(1, 0.1, 2, 3, 4)[-1] == 3


def test_constexpr_keeps_an_array():
    @cute.jit
    def table(x: Constexpr, **more: Int32):
        return x, more

    array = np.zeros(3)
    kept, more = table(array, y=4)
    assert kept is array
    assert repr(more["y"]) == "Int32(?)"


def test_annotations_that_cannot_be_evaluated():
    Hidden = type("Hidden", (), {})

    @cute.jit
    def local(x: Hidden, n: Int32, k: Constexpr[int]):
        return n, k

    n, k = local(None, 3, 4)
    assert (repr(n), k, type(k)) == ("Int32(?)", 4, int)


class Operator:
    @cute.jit
    def __call__(self, n: Int32, tile: Constexpr[int]):
        return self, n, tile

    @cute.jit
    def method(self, n: Int32, tile: Constexpr[int] = 8):
        return self, n, tile


def test_methods():
    operator = Operator()
    owner, n, tile = operator(3, 4)
    assert (owner is operator, repr(n), tile) == (True, "Int32(?)", 4)
    assert operator.method(3)[2] == 8


def test_a_jit_function_keeps_its_name_and_options_are_ignored():
    @cute.jit(preprocess=True)
    def named(x):
        """What it does."""
        return x + 1

    assert (named.__name__, named.__doc__, named(1)) == ("named", "What it does.", 2)


# ---- compile ---------------------------------------------------------------------------------------------------------


@cute.jit
def scale(x, factor: Constexpr[int], shift=0):
    return x * factor + shift


def test_compile():
    assert cute.compile(scale, 1, 10)(4) == 40
    assert cute.compile(scale, 1, factor=10, options="--opt-level 2")(4, shift=1) == 41
    assert cute.compile[cute.OptLevel(2)](scale, 1, 10, 5)(4, 5) == 45
    with pytest.raises(
        TypeError, match=r"^compile: expected options such as KeepPTX or OptLevel\(1\), but got str 'any'"
    ):
        cute.compile["any"](scale, 1, 10, 5)
    operator = Operator()
    assert cute.compile(operator, 3, 4)(7)[1:] == (7, 4)
    assert cute.compile(operator.method, 3, 4)(7)[::2] == (operator, 4)
    with pytest.raises(
        TypeError, match=r"^compile: expected a function decorated with @cute\.jit, but got builtin_function_or_method"
    ):
        cute.compile(len, 1)


# ---- kernels ---------------------------------------------------------------------------------------------------------


def test_threads_know_their_place():
    @cute.kernel
    def record(seen: cute.Tensor):
        arch = cute.arch
        (x, y, z), (bx, by, _) = arch.thread_idx(), arch.block_idx()
        thread = x + 10 * (y + 4 * z)
        for i, value in enumerate((x, y, z, bx, by, arch.lane_idx(), arch.warp_idx(), arch.make_warp_uniform(thread))):
            seen[i, thread, bx, by] = value

    seen = np.full((8, 80, 2, 3), -1, np.int32)
    record(seen).launch(grid=[2, 3], block=(10, Int32(4), 2))
    thread, bx, by = np.meshgrid(np.arange(80), np.arange(2), np.arange(3), indexing="ij")
    expected = (thread % 10, thread // 10 % 4, thread // 40, bx, by, thread % 32, thread // 32, thread // 32 * 32)
    assert (seen == np.stack(expected)).all()


def test_stepped_threads_run_in_order_and_know_their_place():
    seen = []

    @cute.kernel
    def record(tag):
        arch = cute.arch
        place = arch.thread_idx() + arch.block_idx()
        seen.append((tag, tuple(map(int, place)), int(arch.lane_idx()), int(arch.warp_idx())))
        assert {type(x) for x in (*place, arch.lane_idx(), arch.warp_idx())} == {Int32}
        assert (arch.block_dim(), arch.grid_dim()) == ((10, 4, 2), (2, 3, 1))
        assert arch.make_warp_uniform(arch.warp_idx()) == arch.warp_idx()

    record("x").debug(grid=[2, 3], block=(10, Int32(4), 2))
    expected = [
        ("x", (x, y, z, bx, by, 0), (x + 10 * (y + 4 * z)) % 32, (x + 10 * (y + 4 * z)) // 32)
        for by in range(3)
        for bx in range(2)
        for z in range(2)
        for y in range(4)
        for x in range(10)
    ]
    assert seen == expected


def test_a_kernel_writes_memory():
    @cute.kernel
    def double(source: cute.Tensor, target: cute.Tensor):
        thread = cute.arch.thread_idx()[0] + cute.arch.block_idx()[0] * cute.arch.block_dim()[0]
        if cute.elem_less(thread, cute.size(source)):
            target[thread] = source[thread] * 2

    source, target = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    double(source, target).launch(grid=3, block=4)
    assert (target == 2 * source).all()


def test_nothing_runs_without_a_launch():
    @cute.kernel
    def fail():
        raise AssertionError

    with pytest.warns(RuntimeWarning, match=r"fail\(\.\.\) binds the kernel's arguments and runs nothing"):
        fail()
    with pytest.raises(AssertionError):
        fail().launch()
    with pytest.raises(
        RuntimeError, match=r"^cute\.arch\.thread_idx\(\) has a value only while a @cute\.kernel is launched$"
    ):
        cute.arch.thread_idx()


def test_a_kernel_launches_no_kernel():
    @cute.kernel
    def inner():
        pass

    @cute.kernel
    def outer():
        inner().launch(block=[2, 1, 1])

    with pytest.raises(RuntimeError, match=r"^inner: a kernel does not call a kernel; decorate what both call with"):
        outer().launch(block=[3, 1, 1])


@cute.kernel
def empty():
    pass


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        ({"grid": (0, 1, 1)}, ValueError, r"launch: grid=\(0, 1, 1\): expected up to three integers of at least 1"),
        (
            {"block": [1, 1, 1, 1]},
            ValueError,
            r"launch: block=\[1, 1, 1, 1\]: expected up to three integers of at least 1",
        ),
        ({"block": ("x",)}, TypeError, r"launch: block=\('x',\): expected up to three integers"),
        ({"block": [64, 32, 1]}, ValueError, r"launch: block=\[64, 32, 1\] has 2048 threads; at most 1024 are allowed"),
    ],
)
def test_launch_errors(sizes, error, message):
    with pytest.raises(error, match=f"^{message}"):
        empty().launch(**sizes)


def test_launch_options_are_accepted():
    empty().launch(grid=[1, 1, 1], block=[1, 1, 1], cluster=(1, 1, 1), smem=1024, stream=None, use_pdl=False)


@pytest.mark.parametrize("step", [False, True])
def test_threads_wait_for_each_other_at_a_barrier(step):
    @cute.kernel
    def reverse(x: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        shared = cutlass.utils.SmemAllocator().allocate_tensor(Int32, 100)
        shared[i] = x[i]
        cute.arch.sync_threads()
        x[i] = shared[99 - i]

    x = np.arange(100, dtype=np.int32)
    call = reverse(x)
    (call.debug if step else call.launch)(block=100)
    assert x.tolist() == list(range(99, -1, -1))


def test_a_barrier_is_a_kernels():
    with pytest.raises(RuntimeError, match=r"^cute\.arch: sync_threads is an operation of a kernel"):
        cute.arch.sync_threads()


@pytest.mark.parametrize("step", [False, True])
def test_what_a_barrier_orders_is_found_where_it_is_missing(step):
    @cute.kernel
    def some_wait(x: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        if i < 40:
            cute.arch.sync_threads()
        x[i] = i

    call = some_wait(np.zeros(64, np.int32))
    with pytest.raises(RuntimeError, match=r"deadlock|barrier"):
        (call.debug if step else call.launch)(block=64)


# ---- control flow ----------------------------------------------------------------------------------------------------


def test_control_flow():
    assert [repr(i) for i in cutlass.range(2)] == ["Int32(?)", "Int32(?)"]
    assert list(cutlass.range(Int32(1), 6, 2, unroll=2, unroll_full=True, prefetch_stages=1, vectorize=True)) == [
        1,
        3,
        5,
    ]
    assert [type(i) for i in cutlass.range_constexpr(2)] == [int, int]
    assert list(cutlass.range_constexpr(4, 0, -2)) == [4, 2]
    assert (cutlass.const_expr(3), cutlass.dynamic_expr(3)) == (3, 3)
    assert (
        cutlass.and_(1, 2),
        cutlass.and_(1, 0, 2),
        cutlass.or_(0, Int32(2)),
        cutlass.or_(),
        cutlass.not_(Int32(0)),
    ) == (*(True, False, True, False, True),)


def test_min_and_max():
    assert (cutlass.min(3, 2, 4), cutlass.max(3, 2.5)) == (2, 3)
    assert (repr(cutlass.min(Int32(3), 2)), int(cutlass.min(Int32(3), 2))) == ("Int32(?)", 2)
    assert (repr(cutlass.max(2, Int32(3), 9)), int(cutlass.max(2, Int32(3), 9))) == ("Int32(?)", 9)
    assert repr(cutlass.max(Float32(0.5), 2)) == "Float32(2.0)"
    with pytest.raises(TypeError, match=r"^min: expected at least one argument$"):
        cutlass.min()


def test_the_names_of_cutlass():
    assert cutlass.AddressSpace is cute.AddressSpace
    assert [str(space) for space in cutlass.AddressSpace] == ["generic", "gmem", "smem", "rmem", "tmem"]
    assert cutlass.cute is cute
    assert issubclass(cutlass.LayoutError, ValueError)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", cutlass.__version__)
