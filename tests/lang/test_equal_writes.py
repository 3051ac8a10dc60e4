"""Lanes that write one place in one instruction: a race where they write different values, none where all are equal."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute


@cute.kernel
def kernel(y: cute.Tensor, z: cute.Tensor, value: cutlass.Constexpr, place: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    lane = cute.arch.lane_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout((4, 2)), 16)
    to = shared if place == "shared" else y
    written = {"equal": 5, "pairs": lane // 2, "lanes": lane, "warps": 5}[value]
    at = {"equal": lane // 8, "pairs": lane // 2, "lanes": lane // 8, "warps": lane // 8}[value]
    if (value == "warps" or tidx < 32) and at < 4:
        to[at, 0] = cutlass.Int32(written)
    cute.arch.sync_threads()
    if tidx < 4:
        z[tidx] = to[tidx, 0]


@cute.kernel
def vectors(y: cute.Tensor, differs: cutlass.Constexpr):
    """Four lanes write two elements at once, of which the second may not agree."""
    pair = cute.arch.lane_idx() // 4
    both = cute.make_rmem_tensor(2, cutlass.Int32)
    both[0], both[1] = 3 * pair, cute.arch.lane_idx() if differs else 7
    cute.autovec_copy(both, cute.local_tile(y, (2,), (pair,)))


@cute.jit
def launch(y: cute.Tensor, z: cute.Tensor, value: cutlass.Constexpr, place: cutlass.Constexpr):
    kernel(y, z, value, place).launch(grid=1, block=64)


def run(value, place):
    y, z = np.zeros((4, 2), np.int32), np.zeros(4, np.int32)
    with cute.on_cpu(check=True):
        launch(y, z, value, place)
    return z


@pytest.mark.parametrize("place", ["shared", "global"])
def test_equal_values_of_one_instruction_are_no_race(place):
    assert run("equal", place).tolist() == [5] * 4
    assert run("pairs", place).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("place", ["shared", "global"])
def test_different_values_are_a_race(place):
    with pytest.raises(cute.KernelError) as error:
        run("lanes", place)
    assert error.value.findings[0].kind == "race"
    assert "in one instruction" in error.value.findings[0].message


@pytest.mark.parametrize("place", ["shared", "global"])
def test_equal_values_of_two_warps_are_a_race(place):
    with pytest.raises(cute.KernelError) as error:
        run("warps", place)
    assert "no barrier is between" in error.value.findings[0].message


@pytest.mark.parametrize("differs", [False, True])
def test_vectors_are_compared_element_by_element(differs):
    y = np.zeros(16, np.int32)
    tensor = cute.from_dlpack(y, assumed_align=8)
    with cute.on_cpu(check=True):
        if differs:
            with pytest.raises(cute.KernelError) as error:
                vectors(tensor, differs).launch(grid=1, block=32)
            assert error.value.findings[0].coordinate == (1,)
        else:
            vectors(tensor, differs).launch(grid=1, block=32)
            assert y.tolist() == [n for i in range(8) for n in (3 * i, 7)]


@cute.kernel
def after(y: cute.Tensor, z: cute.Tensor, before: cutlass.Constexpr, owner: cutlass.Constexpr):
    """One lane touches an element, then all lanes write the same there."""
    if cute.arch.lane_idx() == owner:
        if cutlass.const_expr(before == "read"):
            z[0] = y[0]
        else:
            y[0] = 7
    y[0] = 5


@pytest.mark.parametrize("owner", [0, 2, 31])
@pytest.mark.parametrize("before", ["read", "write"])
def test_equal_values_do_not_hide_what_one_lane_did_before(before, owner):
    y, z = np.zeros(1, np.int32), np.zeros(1, np.int32)
    with cute.on_cpu(check=True), pytest.raises(cute.KernelError) as error:
        after(y, z, before, owner).launch(grid=1, block=32)
    assert f"what another one {before}s, and no sync_warp is between" in error.value.findings[0].message
