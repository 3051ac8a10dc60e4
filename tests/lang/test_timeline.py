"""Which warp does what when: steps of hand-counted kernels, and what the examples' warps overlap."""

from __future__ import annotations

import runpy

import numpy as np
import pytest
import torch

import tilewright as cutlass
from places import ROOT
from tilewright import cute

LANES = 32


@cute.kernel
def late_kernel(x: cute.Tensor, rounds: cutlass.Constexpr):
    """Warp 0 works, and arrives; warp 1 waits for it, and at the end both meet."""
    tidx, _, _ = cute.arch.thread_idx()
    barrier = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    if tidx == 0:
        cute.arch.mbarrier_init(barrier, 32)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if cute.arch.warp_idx() == 0:
        for _ in cutlass.range(rounds):
            x[tidx] += 1
        cute.arch.mbarrier_arrive(barrier)
    else:
        cute.arch.mbarrier_wait(barrier, 0)
        x[tidx] = x[tidx - LANES]


@cute.jit
def late(x: cute.Tensor, rounds: cutlass.Constexpr):
    late_kernel(x, rounds).launch(grid=[3, 1, 1], block=[2 * LANES, 1, 1])


def of(launch, warp, doing):
    return [span for span in launch.spans if (span.warp, span.doing) == (warp, doing)]


@pytest.mark.parametrize("block", [0, 2])
def test_a_wait_ends_with_the_last_arrival(block):
    """It is longer by as many steps as the other warp's work is."""
    waited, worked = [], []
    for rounds in (10, 20):
        x = np.zeros(2 * LANES, np.int32)
        (launch,) = cute.timeline(late, x, rounds).block(block).launches
        assert not x.any()  # on copies
        (wait,), (run,), (other,) = of(launch, 1, "mbarrier"), of(launch, 0, "run"), of(launch, 1, "run")
        assert wait.line == late_kernel.__wrapped__.__code__.co_firstlineno + 14
        assert wait.end <= run.end < other.end
        waited.append(wait.end - wait.begin)
        worked.append(run.end)
    assert waited[1] - waited[0] == worked[1] - worked[0] > 10


def gemm_timeline():
    program = runpy.run_path(str(ROOT / "examples" / "gemm_tma_wgmma.py"))
    a, b, c = (torch.zeros(256, n, dtype=torch.bfloat16) for n in (512, 512, 256))
    tensors = [cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b, c)]
    return cute.timeline(program["gemm"], *tensors, 1)


def test_boxes_and_products_are_under_way_side_by_side():
    """While the consumers multiply a stage, boxes of later ones are on their way."""
    (launch,) = gemm_timeline().launches
    boxes = [span for span in launch.spans if span.doing == "bulk load"]
    assert len(boxes) == 2 * 512 // 64  # of A and of B, 64 elements along K each
    (producer,) = {span.warp for span in boxes}
    for warp in range(8):
        products = of(launch, warp, "wgmma")
        assert len(products) == len(boxes) // 2
        beside = [x for x in products for y in boxes if max(x.begin, y.begin) < min(x.end, y.end)]
        assert len(set(beside)) > len(products) // 2
    assert of(launch, producer, "mbarrier")  # for free stages
    for span in launch.spans:
        (run,) = of(launch, span.warp, "run")
        assert run.begin <= span.begin < span.end <= run.end or span in boxes


def test_the_picture_has_a_row_for_all_that_do_the_same():
    picture = cute.show(gemm_timeline())
    (panel,) = [placed.panel for placed in picture.panels]
    names, kinds = ([label.text for label in level] for level in panel.row_axis)
    assert names == ["warp 0", "warps 1 to 3", "warp 4", "warps 5 to 7", "warp 8", "warps 9 to 11"]
    assert kinds[:5] == ["warp", "wgmma", "store", "warp", "wgmma"]
    assert all(0 <= cell.column < panel.columns and 0 <= cell.row < panel.rows for cell in panel.cells)
    assert "TMA loads under way" in picture.svg()
    assert "not a cycle" in picture.text(color=False)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"timeline: expected a function decorated with @cute\.jit"):
        cute.timeline(len)
