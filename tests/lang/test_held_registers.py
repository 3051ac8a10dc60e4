"""Which registers the CUDA text holds at a fence and at a wait of wgmma: those that it is about, and no others."""

from __future__ import annotations

import re

import pytest

import held_gemms
import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import warpgroup

LINE = re.compile(r"hold\((\w+)\)|wgmma\.(fence)|wgmma\.wait_group\.sync\.aligned (\d)|^ +wgmma_m\w+\((\w+),")


def steps(form):
    """The fences, waits and products of a kernel in their order, each of the first two with what is held there."""
    op = warpgroup.MmaF16BF16Op(
        cutlass.BFloat16, cutlass.Float32, (64, 64, 16), warpgroup.OperandSource.SMEM, warpgroup.OperandMajorMode.K,
        warpgroup.OperandMajorMode.K,
    )  # fmt: skip
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW32, cutlass.BFloat16)
    layout = cute.tile_to_shape(atom, (64, 16), (0, 1))
    d = cute.runtime.make_fake_compact_tensor(cutlass.Float32, (64, 64), stride_order=(1, 0))
    compiled = cute.compile(held_gemms.two_sums, d, layout, cute.make_tiled_mma(op), cutlass.Int32(3), form)
    found, held = [], set()
    for line in compiled.source.splitlines():
        if (match := LINE.search(line)) is None or "__device__" in line:
            continue
        hold, fence, wait, product = match.groups()
        if hold:
            held.add(hold)
            if found and found[-1][0].startswith("wait"):
                found[-1][1].add(hold)
        elif fence:
            found.append(("fence", held))
        elif wait:
            found.append((f"wait {wait}", set()))
        else:
            found.append((product, None))
        if not hold:
            held = set()
    return found


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (
            "straight",
            [("fence", {"first", "second"}), ("first", None), ("second", None), ("wait 1", {"first"}),
             ("wait 0", {"second"})],
        ),
        (
            "loop",
            [("fence", {"first"}), ("first", None),
             ("fence", {"second"}), ("second", None), ("wait 1", {"first"}),
             ("fence", {"first"}), ("first", None), ("wait 1", {"second"}),
             ("wait 0", {"first"})],
        ),
        (
            "branch",
            [("fence", {"first", "second"}), ("first", None), ("second", None), ("wait 0", {"first", "second"})],
        ),
    ],
)  # fmt: skip
def test_only_what_a_fence_or_a_wait_is_about_is_held(form, expected):
    assert steps(form) == expected
