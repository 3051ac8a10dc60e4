"""Instructions of a warpgroup: that its four warps come to the same ones."""

from __future__ import annotations

import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import warpgroup

THREADS = 256


@cute.kernel
def kernel(defect: cutlass.Constexpr, count: cutlass.Int32):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    if warp < 4:
        cute.arch.setmaxregister_decrease(40)
        if defect == "another":
            if warp == 2:
                warpgroup.commit_group()  # another
            else:
                warpgroup.fence()
    else:
        cute.arch.setmaxregister_increase(232)
        for _ in range(count):
            warpgroup.fence()
            warpgroup.commit_group()
            warpgroup.wait_group(0)
        if defect == "left out":
            if warp != 5:
                warpgroup.fence()  # left out
        elif defect == "rounds":
            for _ in range(warp - 4):
                warpgroup.commit_group()  # rounds
        elif defect == "registers":
            if warp == 4:
                cute.arch.setmaxregister_decrease(200)  # registers


@cute.jit
def launch(defect: cutlass.Constexpr):
    kernel(defect, 3).launch(grid=2, block=THREADS)


@pytest.mark.parametrize("seed", range(4))
def test_groups_that_stay_together_pass(seed):
    with cute.on_cpu(check=True, seed=seed):
        launch("")


@pytest.mark.parametrize(
    ("defect", "words"),
    [
        ("another", "together, and warp"),
        ("left out", "execute warpgroup.fence together, and warp 5 comes to the kernel's end without it"),
        ("rounds", "execute warpgroup.commit_group together, and warp 4 comes to the kernel's end without it"),
        ("registers", "execute setmaxregister together, and warp 5 comes to the kernel's end without it"),
    ],
)
def test_warps_that_part_are_found_on_their_line(defect, words):
    with cute.on_cpu(check=True), pytest.raises(cute.KernelError) as error:
        launch(defect)
    found = error.value.findings[0]
    assert found.kind == "lane"
    assert words in found.message
    lines = {kernel.__wrapped__.__code__.co_firstlineno + i: text for i, text in enumerate(source())}
    marked = {number for number, text in lines.items() if text.endswith(f"# {defect}")}
    assert marked & {found.line, *([found.other_place[1]] if found.other_place else [])}


def source():
    import inspect

    return inspect.getsource(kernel.__wrapped__).splitlines()
