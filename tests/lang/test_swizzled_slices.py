"""Slices of swizzled tensors by coordinates that nobody knows while tracing are right at each value, or refused."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import Int32, LayoutError, cute

EXTENTS = (2, 4, 6, 8, 16, 24)


@cute.kernel
def rows_kernel(out: cute.Tensor, layout: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    # A swizzle reaches up to the next multiple of its period.
    memory = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int32, 2048)
    tile = cute.make_tensor(memory, layout)
    row = tile[thread, None]
    for j in cutlass.range_constexpr(cute.size(row)):
        row[j] = thread * 100 + j
    for j in cutlass.range_constexpr(cute.size(row)):
        out[thread, j] = tile[thread, j]


@cute.jit
def rows(out: cute.Tensor, layout: cutlass.Constexpr):
    rows_kernel(out, layout).launch(block=[layout.outer.shape[0], 1, 1])


def composed(swizzle, extents, strides):
    return cute.make_composed_layout(cute.make_swizzle(*swizzle), 0, cute.make_layout(extents, stride=strides))


def is_sliced(layout):
    """Whether the prompt slices the layout at each of its rows."""
    try:
        for row in range(layout.outer.shape[0]):
            cute.slice_and_offset((Int32(row), None), layout)
    except LayoutError:
        return False
    return True


def by_rows(layout):
    m, n = layout.outer.shape
    out = np.zeros((m, n), np.int32)
    rows(out, layout)
    return np.array_equal(out, np.arange(m)[:, None] * 100 + np.arange(n))


@pytest.mark.parametrize("seed", range(60))
def test_random_tiles(seed):
    chosen = random.Random(seed)
    m, n = (chosen.choice(EXTENTS) for _ in range(2))
    bits, base = chosen.randint(1, 3), chosen.randint(0, 3)
    swizzle = (bits, base, bits + chosen.randint(0, 2))
    pad = chosen.choice((0, 0, 2, 8))
    layout = composed(swizzle, (m, n), (n + pad, 1) if chosen.random() < 0.7 else (1, m + pad))
    if is_sliced(layout):
        assert by_rows(layout)
    else:
        with pytest.raises(LayoutError):
            rows(np.zeros((m, n), np.int32), layout)


def test_random_tiles_have_both_outcomes():
    """What is asked above is asked of tiles that are sliced and of some that are not."""
    found = {is_sliced(composed(swizzle, (16, n), (n, 1))) for swizzle in ((1, 0, 4), (3, 3, 3)) for n in (6, 8)}
    assert found == {True, False}


def test_an_error_names_a_coordinate_and_the_swizzle_on_the_pointer_is_right():
    layout = composed((1, 0, 4), (16, 6), (6, 1))
    out = np.zeros((16, 6), np.int32)
    with pytest.raises(
        LayoutError, match=r"known only at run time, and at \(2,_\) the offset 12 .* element lies at 17"
    ):
        rows(out, layout)

    @cute.kernel
    def by_pointer(out: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        smem = cutlass.utils.SmemAllocator()
        tile = smem.allocate_tensor(cutlass.Int32, layout.outer, 128, swizzle=layout.inner)
        row = tile[thread, None]
        for j in cutlass.range_constexpr(6):
            row[j] = thread * 100 + j
        for j in cutlass.range_constexpr(6):
            out[thread, j] = tile[thread, j]

    by_pointer(out).launch(block=[16, 1, 1])
    assert np.array_equal(out, np.arange(16)[:, None] * 100 + np.arange(6))


def test_many_values_are_refused_and_unchecked_gives_cutes_answer():
    layout = composed((1, 0, 4), (32768, 6), (6, 1))

    @cute.kernel
    def one_row(out: cute.Tensor, checked: cutlass.Constexpr):
        block, _, _ = cute.arch.block_idx()
        tensor = cute.make_tensor(out.iterator, layout)
        if cutlass.const_expr(checked):
            tensor[block, None][0] = 1
        else:
            with cute.unchecked():
                row = tensor[block, None]
            row[0] = 1

    out = np.zeros(32768 * 6 + 32, np.int32)
    with pytest.raises(LayoutError, match="extents and strides that are powers of two"):
        one_row(out, True).launch(grid=[2, 1, 1], block=[1, 1, 1])
    one_row(out, False).launch(grid=[2, 1, 1], block=[1, 1, 1])
    assert out.sum() == 2


def test_laws_of_known_numbers_are_checked_in_kernels():
    """As at the prompt: CuTe composes these without a word."""

    @cute.kernel
    def composes():
        cute.composition(cute.make_layout((6, 2), stride=(8, 2)), cute.make_layout(4, stride=4))

    with pytest.raises(LayoutError):
        composes().launch(block=[1, 1, 1])
