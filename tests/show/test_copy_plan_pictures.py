"""Pictures of plans of copies."""

from __future__ import annotations

from copy_plans import aligned, contiguous, instantiations, transposing
from places import ROOT
from show_cells import by_place, panel
from tilewright import Float32, cute, kernels
from tilewright.cute.nvgpu import CopyUniversalOp

L = cute.parse
PLANS = dict(instantiations())
PICTURE = ROOT / "docs" / "img" / "copy.svg"


def test_picture_in_the_documentation():
    assert transposing().svg() == PICTURE.read_text()


def test_pictures_are_small_and_always_the_same():
    for name in ("transpose, 32-bit", "transpose between odd rows, 64-bit", "8 modes, 32-bit", "contiguous, 8-bit"):
        svg = PLANS[name].svg()
        assert len(svg.encode()) < 200_000
        assert svg == PLANS[name].replace().svg()
        assert svg == cute.show(PLANS[name]).svg()


def lines(picture, start):
    """The texts of a panel's cells, row by row."""
    number = panel(picture, start)
    cells = by_place(picture, number)
    shown = picture.panels[number].panel
    return [[" ".join(cells[row, column].lines) for column in range(shown.columns)] for row in range(shown.rows)]


def subtitle(picture, start):
    return picture.panels[panel(picture, start)].panel.subtitle


def test_cells_of_a_picture():
    picture = cute.show(transposing())
    assert lines(picture, "global memory, loaded: ((3,8),(4)):((4@1,1@0),(1@1))")[1] == [
        "T3 V0-3",
        "T4 V0-3",
        "T5 V0-3",
    ]
    assert lines(picture, "global memory, stored")[0][:4] == ["T0 V0-7", "T0 V8-15", "T1 V0-7", "T1 V8-15"]
    shared = by_place(picture, panel(picture, "shared memory: (8,12):(12,1)"))
    assert {place: cell.lines for place, cell in shared.items()} == {
        (row, column): (str(12 * row + column),) for row in range(8) for column in range(12)
    }
    of_bank = {place for place, cell in shared.items() if dict(cell.hover)["bank"] == "6"}
    assert of_bank == {(1, 0), (1, 1), (6, 4), (6, 5)}  # elements 12 and 13 of 2 bytes, and 76 and 77
    assert subtitle(picture, "global memory, loaded") == (
        "thread and values, 64 bits at once; mode 0 down, mode 1 across; a cell for 4 elements along mode 1"
    )
    assert subtitle(picture, "shared memory").startswith("offsets in elements, coloured by bank; 192 bytes; ")


def test_every_element_has_a_cell():
    """All that the picture has room for: of the first and the last rows and columns."""
    for name in (
        "transpose, 64-bit",
        "transpose to odd rows, 32-bit",
        "BSHD to BHSD, 16-bit",
        "NHWC to NCHW, 3 channels, 32-bit",
    ):
        for placed in cute.show(PLANS[name]).panels:
            axes = (placed.panel.row_axis, placed.panel.column_axis)
            shown = [sum(label.text != "…" for label in axis[0]) for axis in axes]
            places = {cell[:2] for cell in placed.panel.cells}
            assert len(places) == len(placed.panel.cells) == shown[0] * shown[1], (name, placed.panel.title)
            assert all(cell.owner is not None for cell in placed.panel.cells), (name, placed.panel.title)


def test_what_a_picture_leaves_out():
    names = ("transpose, 16-bit", "contiguous, 8-bit", "8 modes, 32-bit")
    said = {name: subtitle(cute.show(PLANS[name]), "global memory, loaded") for name in names}
    assert said["transpose, 16-bit"].endswith("; 31 x 8 of 128 x 8 cells are drawn")
    assert "mode 0 line by line" in said["contiguous, 8-bit"]
    assert "modes 2, 4, 6 at 0" in said["8 modes, 32-bit"]
    picture = cute.show(PLANS["transpose to odd rows, 64-bit"])
    for start, first in (("global memory, loaded", -4), ("global memory, stored", 0), ("shared memory", -4)):
        axis = picture.panels[panel(picture, start)].panel.row_axis[0]
        assert axis[0].text == str(first)
    shared = by_place(picture, panel(picture, "shared memory"))
    assert [shared[0, column].lines for column in (0, 1)] == [("0",), ("1",)]
    assert {dict(cell.hover)["bank"] for cell in shared.values()} == {f"{2 * i} to {2 * i + 1}" for i in range(16)}


def test_picture_of_a_broken_plan():
    """Element by element: three values of each thread are no access of four elements."""
    tv = L("((4,2),3):((4@0,0),1@0)")
    picture = cute.show(contiguous().replace(load_tv=tv, store_tv=tv))
    for side in ("loaded", "stored"):
        (row,) = lines(picture, f"global memory, {side}")
        assert row == [f"T{i // 4}+1 V{i % 4}" if i % 4 < 3 else "-" for i in range(16)]
    cells = by_place(picture, 0)
    assert dict(cells[0, 5].hover)["thread"] == "1, 5"
    assert cells[0, 3].faded


def test_picture_of_a_given_tiled_copy():
    atom = cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, L("(2,2):(2,1)"), L("(1,1):(1,1)"))
    plan = kernels.tiled_copy.plan(aligned((8, 8)), aligned((8, 8)), tiled)
    assert lines(cute.show(plan), "global memory, loaded") == [["T0 V0", "T1 V0"], ["T2 V0", "T3 V0"]]
