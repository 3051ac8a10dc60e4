"""Bytes transposed in shared memory: every element where wgmma reads it, and no bank conflicts."""

from __future__ import annotations

import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright.utils import LayoutEnum, hopper_helpers
from tilewright.utils.byte_transpose import transpose_bytes

torch = pytest.importorskip("torch")


@cute.kernel
def kernel(
    x: cute.Tensor, y: cute.Tensor, from_layout: cute.ComposedLayout, to_layout: cute.ComposedLayout,
    warps: cutlass.Constexpr,
):  # fmt: skip
    storage = cutlass.utils.SmemAllocator()
    src = storage.allocate_tensor(x.element_type, from_layout, 1024)[None, None, 0]
    dst = storage.allocate_tensor(x.element_type, to_layout, 1024)[None, None, 0]
    thread, _, _ = cute.arch.thread_idx()
    rows, columns = cute.product_each(x.shape)
    for i in range(thread, rows * columns, 32 * warps):
        src[i // columns, i % columns] = x[i // columns, i % columns]
    cute.arch.sync_threads()
    transpose_bytes(src, dst, cute.arch.warp_idx(), warps)
    cute.arch.sync_threads()
    for i in range(thread, rows * columns, 32 * warps):
        y[i // rows, i % rows] = dst[i // rows, i % rows]


@cute.jit
def transpose(
    x: cute.Tensor, y: cute.Tensor, rows: cutlass.Constexpr, columns: cutlass.Constexpr, warps: cutlass.Constexpr
):
    order = LayoutEnum.ROW_MAJOR
    from_layout = hopper_helpers.make_smem_layout_b(order, (64, rows, columns), x.element_type, 1)
    to_layout = hopper_helpers.make_smem_layout_b(order, (64, columns, rows), x.element_type, 1)
    kernel(x, y, from_layout, to_layout, warps).launch(grid=[1, 1, 1], block=[32 * warps, 1, 1])


def arguments(rows, columns, warps):
    x = torch.randint(0, 256, (rows, columns), dtype=torch.uint8)
    y = torch.zeros(columns, rows, dtype=torch.uint8)
    return x, y, (cute.runtime.from_dlpack(x), cute.runtime.from_dlpack(y), rows, columns, warps)


# Rows of 128, 64 and 32 bytes on either side.
@pytest.mark.parametrize(("rows", "columns", "warps"), [(128, 128, 2), (192, 64, 1), (96, 256, 4), (32, 32, 1)])
def test_elements_and_conflicts(rows, columns, warps):
    x, y, given = arguments(rows, columns, warps)
    with cute.on_cpu(check=True):
        transpose(*given)
    j = torch.arange(rows)
    assert torch.equal(y, x[j // 16 * 16 + j // 2 % 2 * 8 + j // 4 % 4 * 2 + j % 2].T)
    (line,) = (x for x in cute.profile(transpose, *given).lines if "transpose_bytes(" in x.text)
    assert (line.wavefronts, line.ways) == (2 * rows * columns // 128, 1)


@pytest.mark.parametrize(("rows", "columns", "warps"), [(48, 64, 1), (64, 64, 4)])
def test_sizes_that_it_does_not_take(rows, columns, warps):
    _, _, given = arguments(rows, columns, warps)
    with pytest.raises(ValueError, match=rf"transpose_bytes: src has \({rows},{columns}\) elements and {warps} warps"):
        transpose(*given)
