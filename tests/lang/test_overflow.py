"""Sizes and offsets of layouts beyond their type: found on the CPU, refused on the host; numbers wrap around."""

import numpy as np
import pytest

from tilewright import Int32, Int64, cute

LARGE = 70000


@cute.kernel
def size_kernel(out: cute.Tensor, m: Int32, n: Int32):
    layout = cute.make_layout((m, n))  # here
    out[0] = cute.size(layout)
    out[1] = layout((m - 1, n - 1))


def line_of(mark):
    with open(__file__) as file:
        return next(i for i, line in enumerate(file, 1) if line.rstrip().endswith(mark))


def test_a_size_beyond_32_bits_is_found():
    out = np.zeros(2, np.int32)
    size_kernel(out, 100, 200).launch()
    assert out.tolist() == [20000, 19999]
    with pytest.raises(cute.KernelError) as caught:
        size_kernel(out, LARGE, LARGE).launch()
    first = caught.value.findings[0]
    assert {x.kind for x in caught.value.findings} == {"overflow"}
    assert first.line == line_of("# here")
    assert first.message.startswith("a layout's size or offset is 70000 * 70000, which is beyond Int32: make one of")


def test_without_checks_it_wraps_as_on_a_gpu():
    out = np.zeros(2, np.int32)
    with cute.on_cpu(check=False):
        size_kernel(out, LARGE, LARGE).launch()
    assert out[0] == np.array(LARGE * LARGE).astype(np.int32)


def test_numbers_wrap_around():
    @cute.kernel
    def product(out: cute.Tensor, m: Int32, n: Int32):
        out[0] = m * n + n

    out = np.zeros(1, np.int32)
    product(out, LARGE, LARGE).launch()
    assert out[0] == np.array(LARGE * LARGE + LARGE).astype(np.int32)


def test_extents_of_64_bits_fit():
    @cute.kernel
    def wide(out: cute.Tensor, m: Int64, n: Int64):
        out[0] = cute.size(cute.make_layout((m, n)))

    out = np.zeros(1, np.int64)
    wide(out, LARGE, LARGE).launch()
    assert out[0] == LARGE * LARGE


def test_threads_that_do_not_compute_it_find_nothing():
    @cute.kernel
    def guarded(out: cute.Tensor, m: Int32):
        i, _, _ = cute.arch.thread_idx()
        if i < 1:
            out[i] = cute.size(cute.make_layout((i + 1, m)))

    out = np.zeros(32, np.int32)
    guarded(out, 2**30).launch(block=32)
    assert out[0] == 2**30


@cute.kernel
def nothing_kernel(n: Int32):
    pass


def test_the_host_refuses_what_it_needs():
    @cute.jit
    def launch(m: Int32, n: Int32):
        nothing_kernel(m).launch(grid=[cute.size(cute.make_layout((m, n))), 1, 1])

    launch(3, 4)
    with pytest.raises(
        RuntimeError, match=r"on the host: a layout's size or offset is 70000 \* 70000, which is beyond"
    ):
        launch(LARGE, LARGE)

    @cute.jit
    def unused(m: Int32, n: Int32):
        cute.size(cute.make_layout((m, n)))
        nothing_kernel(m).launch()

    unused(LARGE, LARGE)


ENDS = (0, 1, 127, 128, 129, 2**31 - 127, 2**31 - 1, -1, -127, -128, -129)


@cute.kernel
def tiles_kernel(out: cute.Tensor, n: Int32, tile: Int32):
    out[0] = cute.ceil_div(n, 128)
    out[1] = cute.ceil_div(n, tile)


@pytest.mark.parametrize("n", ENDS)
def test_tiles_are_counted_up_to_the_largest_extent(n):
    """n + 127 does not fit where n is close to 2^31, but the number of tiles does."""
    out = np.zeros(2, np.int32)
    tiles_kernel(out, n, 3).launch()
    assert out.tolist() == [-(-n // 128), -(-n // 3)]


def test_the_grid_of_the_largest_extent():
    @cute.kernel
    def blocks_kernel(out: cute.Tensor):
        out[0] = cute.arch.grid_dim()[0]

    @cute.jit
    def blocks(out: cute.Tensor, n: Int32):
        blocks_kernel(out).launch(grid=[cute.ceil_div(n, 1 << 20), 1, 1])

    out = np.zeros(1, np.int32)
    blocks(out, 2**31 - 1)
    assert out[0] == 2**11
