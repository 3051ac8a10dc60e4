"""Print which elements each thread of a TV layout owns.

What to learn: composing a tensor with a TV layout gives a map from (thread, value) to data; slicing it by the thread's
index is its part.
"""

from __future__ import annotations

import torch

from tilewright import cute
from tilewright.cute.runtime import from_dlpack

PICTURE = "((2,2),(2,3)):((2,12),(1,4))"  # cute.show of it draws the threads and values


@cute.kernel
def visualize_tv_layout_kernel(mA: cute.Tensor, tv_layout: cute.Layout, owned: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    composed = cute.composition(mA, tv_layout)
    cute.printf("TIDX: {}", tidx)
    cute.printf("DATA: {}", composed[(tidx, None)])
    owned[tidx, None] = composed[tidx, None].load()


@cute.jit
def visualize_tv_layout(mA: cute.Tensor, owned: cute.Tensor):
    tv_layout = cute.make_layout(shape=((2, 2), (2, 3)), stride=((2, 12), (1, 4)))
    print(f"TV Layout: {tv_layout}")
    visualize_tv_layout_kernel(mA, tv_layout, owned).launch(
        grid=[1, 1, 1], block=[cute.size(tv_layout, mode=[0]), 1, 1]
    )


def problem(device: str):
    """A small one."""
    a, owned = torch.arange(24, device=device, dtype=torch.int32), torch.empty(4, 6, device=device, dtype=torch.int32)
    return visualize_tv_layout, from_dlpack(a.reshape(24, 1), assumed_align=16), from_dlpack(owned)


def check(device: str) -> None:
    a = torch.arange(24, device=device, dtype=torch.int32).reshape(24, 1)
    owned = torch.full((4, 6), -1, device=device, dtype=torch.int32)
    visualize_tv_layout(from_dlpack(a, assumed_align=16), from_dlpack(owned))
    expected = [[0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11], [12, 13, 16, 17, 20, 21], [14, 15, 18, 19, 22, 23]]
    assert owned.tolist() == expected


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
