"""Pictures of plans: threads, banks and registers of one CTA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from show_cells import by_place, panel
from tilewright import cute, kernels
from tilewright.show.kernels.gemm_plan import run_of

X = np.zeros((32, 32), np.float32)
F32, F16 = np.zeros((4096, 4096), np.float32), np.zeros((4096, 4096), np.float16)
GEMMS = {
    "simt": lambda: kernels.gemm.plan(F32, F32),
    "sm80": lambda: kernels.gemm.plan(F16, F16, arch="sm_80"),
    "sm90": lambda: kernels.gemm.plan(F16, F16, arch="sm_90a"),
}


def test_accesses_of_a_copy_have_the_thread_and_the_values_of_the_plan() -> None:
    plan = kernels.tiled_copy.plan(X, X.copy().T)
    picture = cute.show(plan)
    for side, tv, vector in (
        ("loaded", plan.load_tv, plan.load_vector),
        ("stored", plan.store_tv, plan.store_vector),
    ):
        cells = by_place(picture, panel(picture, f"global memory, {side}"))
        assert cells
        for cell in cells.values():
            thread, value = int(cell.lines[0][1:]), int(cell.lines[1][1:].split("-")[0])
            row, column = tv((thread, value))
            hover = dict(cell.hover)
            assert hover["coordinate"] == f"({int(row)},{int(column)})"
            strides = plan.problem.src_strides if side == "loaded" else plan.problem.dst_strides
            assert hover["offset"] == str(int(row) * strides[0] + int(column) * strides[1])
            assert cell.lines[1] == f"V{value}-{value + vector - 1}"


def test_shared_memory_of_a_copy_by_bank() -> None:
    plan = kernels.tiled_copy.plan(X, X.copy().T)
    picture = cute.show(plan)
    for (row, column), cell in by_place(picture, panel(picture, "shared memory")).items():
        offset = int(plan.smem((row, column)))
        hover = dict(cell.hover)
        assert cell.lines == (str(offset),)
        assert (hover["bank"], hover["address"]) == (str(offset % 32), str(4 * offset))
        assert cell.owner == offset % 32


def test_registers_of_a_copy() -> None:
    plan = kernels.tiled_copy.plan(X, X.copy().T)
    picture = cute.show(plan)
    for (thread, value), cell in by_place(picture, panel(picture, "registers")).items():
        assert cell.lines == (",".join(str(int(c)) for c in plan.load_tv((thread, value))),)


@pytest.mark.parametrize(
    "plan",
    [
        lambda: kernels.tiled_copy.plan(np.zeros(1000, np.float32), np.zeros(1000, np.float32)),
        lambda: kernels.tiled_copy.plan(np.zeros((129, 257), np.float16), np.zeros((257, 129), np.float16).T),
        lambda: kernels.tiled_copy.plan(np.zeros((3, 65, 130)), np.zeros((130, 65, 3)).transpose(2, 1, 0)),
        lambda: kernels.tiled_copy.plan(np.zeros((40, 50), np.uint8)[:, 1:], np.zeros((49, 40), np.uint8).T),
    ],
)
def test_other_copies(plan: Any) -> None:
    made = plan()
    picture = cute.show(made)
    assert picture.title.startswith(f"{made.kernel} copy, tile")
    owned = [cell for cell in by_place(picture, 0).values() if cell.owner is not None]
    assert owned
    assert len(picture.svg()) < 200_000


@pytest.mark.parametrize("kind", GEMMS)
def test_the_tile_of_a_gemm_by_warp_and_its_registers(kind: str) -> None:
    plan = GEMMS[kind]()
    picture, tables = cute.show(plan), plan.tables()
    where = tables.mma.c_coord
    owner = {tuple(map(int, at)): t for t in range(len(where)) for at in where[t].reshape(-1, 2)}
    i = panel(picture, "C (M,N)")
    axes = picture.panels[i].panel.row_axis[0], picture.panels[i].panel.column_axis[0]
    rows, columns = ([label.text for label in axis] for axis in axes)
    for (row, column), cell in by_place(picture, i).items():
        assert cell.lines == (f"W{owner[int(rows[row]), int(columns[column])] // 32}",)
    for (m, n), cell in by_place(picture, panel(picture, "C in registers")).items():
        thread, value = int(cell.lines[0][1:]), int(cell.lines[1][1:])
        assert tuple(where[thread].reshape(-1, 2)[value]) == (m, n)
    ways = {"simt": "loads into registers", "sm80": "cp.async", "sm90": "TMA"}
    assert picture.notes[0].startswith(f"global memory: A (4096,4096):(4096,1) by {ways[kind]}, B ")
    loaded = by_place(picture, panel(picture, "A (M,K)"))
    assert all(cell.lines[0].startswith("box" if kind == "sm90" else "W") for cell in loaded.values())
    assert len(picture.svg()) < 200_000


@pytest.mark.parametrize("kind", GEMMS)
@pytest.mark.parametrize("operand", ["A", "B"])
def test_shared_memory_of_a_gemm_by_bank(kind: str, operand: str) -> None:
    plan = GEMMS[kind]()
    picture = cute.show(plan)
    smem = getattr(plan, f"smem_{operand.lower()}")
    size = plan.problem.a_type.bits // 8
    for cell in by_place(picture, panel(picture, f"{operand} in shared memory")).values():
        hover = dict(cell.hover)
        row, k = (int(c) for c in hover["coordinate"].strip("()").split(","))
        offset = int(smem((row, k, 0)))
        first = offset * size // 4 % 32
        assert cell.lines == (str(offset),)
        assert hover["bank"] == f"{first} to {first + 3}"  # 16 bytes lie side by side under every swizzle
        assert cell.owner == first // 4


def test_a_gemm_with_a_copy_before_it_says_what_is_copied() -> None:
    odd = np.zeros((4095, 4103), np.float16)
    picture = cute.show(kernels.gemm.plan(odd, odd))
    assert any(note.startswith("A is copied first: ") for note in picture.notes)


def test_threads_that_share_sums_are_counted() -> None:
    small = np.zeros((512, 512), np.float32)
    plan = kernels.gemm.plan(small, small)
    atoms_k = cute.size(plan.tiled_mma.thr_layout_vmnk, mode=[3])
    assert atoms_k > 1
    picture = cute.show(plan)
    for cell in by_place(picture, panel(picture, "C in registers")).values():
        assert cell.lines[0].endswith(f"+{atoms_k - 1}")


def test_a_gemm_whose_operands_changed_places_says_so() -> None:
    plan = kernels.gemm.plan(np.zeros((16, 4096), np.float16), F16)
    assert plan.swapped
    assert cute.show(plan).notes[0].startswith("A and B have changed places")


@pytest.mark.parametrize(
    ("smem", "run"),
    [
        ("(8,8,1):(2,16,128)", (1, 1)),
        ("(16,8,1):(1,20,160)", (0, 4)),
        ("(8,16,1):(16,1,128)", (1, 8)),
        ("S<3,3,3> o 0 o (8,64,1):(64,1,512)", (1, 8)),
        ("(8,6,1):(6,1,48)", (1, 2)),
    ],
)
def test_how_many_elements_lie_side_by_side(smem: str, run: tuple[int, int]) -> None:
    layout = cute.parse(smem)
    assert run_of(layout, (cute.size(layout, mode=[0]), cute.size(layout, mode=[1])), 8) == run
