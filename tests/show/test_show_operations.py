"""Pictures of composition, coalesce and complement: what stands in their cells, and whose colour."""

from __future__ import annotations

import pytest

from show_cells import by_place, owners_by_offset
from tilewright import Int32, cute

L = cute.parse
PAIRS = [
    ("(6,2):(8,2)", "(4,3):(3,1)"),
    ("6:2", "(3,2):(1,3)"),
    ("(4,3):(1,8)", "6:2"),
    ("((2,2),(2,2)):((1,4),(2,8))", "(4,4):(4,1)"),
    ("(8,8):(8,1)", "((2,4),8):((8,16),1)"),
]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_composition_shows_both_functions_and_their_composite(a: str, b: str) -> None:
    lhs, rhs = L(a), L(b)
    picture = cute.show(cute.composition, lhs, rhs)
    of_b, of_a, of_c = (by_place(picture, i) for i in range(3))
    for place, cell in of_b.items():
        reached = lhs(int(cell.lines[0]))
        assert of_c[place].lines == (str(reached),)
        assert of_c[place].owner == cell.owner == place[int(cute.rank(rhs) == 1)]
    # A has the colour of what leads there, and is pale elsewhere.
    leads = {lhs(rhs(i)): i % cute.size(rhs, mode=[0]) for i in range(cute.size(rhs))}
    for cell in of_a.values():
        assert cell.owner == leads.get(int(cell.lines[0]))
        assert cell.faded == (cell.owner is None)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_composition_follows_one_coordinate(a: str, b: str) -> None:
    picture = cute.show(cute.composition, L(a), L(b))
    marks = [[cell for cell in placed.panel.cells if cell.marked] for placed in picture.panels]
    assert [len(found) for found in marks] == [1, 1, 1]
    assert marks[1][0].lines == marks[2][0].lines
    first, second = picture.links
    assert (first.start, first.end) == ((0, *marks[0][0][:2]), (1, *marks[1][0][:2]))
    assert (second.start, second.end) == ((1, *marks[1][0][:2]), (2, *marks[2][0][:2]))
    assert first.text == marks[0][0].lines[0]
    assert second.text == marks[2][0].lines[0]


def test_composition_at_a_coordinate() -> None:
    picture = cute.show("composition", L("(6,2):(8,2)"), L("(4,3):(3,1)"), at=(1, 2))
    assert picture.title == "composition((6,2):(8,2), (4,3):(3,1)) = ((2,2),3):((24,2),8)"
    assert picture.notes == ("at (1,2): B gives 5, A(5) = 40, and A o B at (1,2) = 40",)
    with pytest.raises(ValueError, match="at=12 lies outside the shape"):
        cute.show(cute.composition, L("(6,2):(8,2)"), L("(4,3):(3,1)"), at=12)


def test_composition_past_the_end() -> None:
    picture = cute.show(cute.composition, L("4:1"), L("8:2"), at=7)
    assert "index 14 is past the 4 elements of A" in picture.notes[-1]
    assert len(picture.links) == 0


def test_composition_without_a_result_says_so_and_marks_the_counterexample() -> None:
    picture = cute.show(cute.composition, L("(3,4):(4,1)"), L("4:2"))
    assert picture.title.startswith("LayoutError: composition((3,4):(4,1), 4:2): stride 2 of mode 0 does not divide")
    of_b, of_a = by_place(picture, 0), by_place(picture, 1)
    assert [cell.lines for cell in of_b.values() if cell.marked] == [("4",)]
    assert [cell.lines for cell in of_a.values() if cell.marked] == [("5",)]  # A(4), where CuTe has 1
    assert picture.links[0].text == "4"


def test_operands_of_other_kinds() -> None:
    swizzled = cute.show(cute.composition, cute.make_swizzle(2, 0, 3), L("(8,8):(8,1)"))
    assert swizzled.title.endswith("= S<2,0,3> o 0 o (8,8):(8,1)")
    by_mode = cute.show(cute.composition, L("(8,6):(6,1)"), (2, 3))
    assert {cell.lines[0] for cell in by_place(by_mode, 0).values() if not cell.faded} == set("012678")
    coordinates = cute.show(cute.composition, L("(8,6):(6,1)"), cute.make_identity_layout((8, 6)), at=(2, 3))
    assert coordinates.notes[0] == "at (2,3): B gives (2,3), A((2,3)) = 15, and A o B at (2,3) = 15"
    dynamic = cute.make_layout((Int32(8), 6), stride=(Int32(1), Int32(8)))
    assert len(cute.show(cute.composition, dynamic, L("(2,3):(1,8)")).links) == 2
    with pytest.raises(TypeError, match="expected A of composition to be a layout, but got None"):
        cute.show(cute.composition, None, L("4:1"))
    assert cute.show("complement", cute.make_identity_layout((2, 2)), 8).title.startswith("LayoutError: complement(")


def test_coalesce_keeps_the_offset_at_each_index() -> None:
    layout = L("(2,(1,6)):(1,(6,2))")
    picture = cute.show(cute.coalesce, layout)
    assert picture.title == "coalesce((2,(1,6)):(1,(6,2))) = 12:1"
    assert owners_by_offset(picture, 0) == owners_by_offset(picture, 1) == {i: i // 2 for i in range(12)}
    kept = cute.show(cute.coalesce, layout, (1, 1), at=3)
    assert kept.title.endswith("= (2,6):(1,2)")
    assert kept.notes[0] == "index 3 gives 3 in both: (1,(0,1)) and (1,1)"


@pytest.mark.parametrize(
    ("layout", "bound"), [("(2,2):(1,6)", 24), ("4:2", 24), ("8:2", 32), ("(4,8):(1,16)", 128), ("(2,4):(1,2)", 16)]
)
def test_each_colour_of_a_complement_is_the_layout_moved(layout: str, bound: int) -> None:
    picture = cute.show(cute.complement, L(layout), bound)
    grey = {int(cell.lines[0]) for cell in by_place(picture, 0).values() if cell.faded}
    assert grey == set(L(layout).offsets().tolist())
    copies: dict[int | None, set[int]] = {}
    for cell in by_place(picture, 0).values():
        copies.setdefault(None if cell.faded else cell.owner, set()).add(int(cell.lines[0]))
    moves = cute.complement(L(layout), bound).offsets().tolist()
    assert sorted(min(found) for found in copies.values()) == sorted(moves)
    for found in copies.values():
        assert {offset - min(found) for offset in found} == grey
    assert picture.notes[-1] == f"each of the {bound} offsets is reached once"
    assert [entry.text for entry in picture.panels[1].panel.legend][:2] == ["A", f"A + {moves[1]}"]


def test_a_complement_that_rounds_up_or_leaves_holes_says_so() -> None:
    up = cute.show(cute.complement, L("4:1"), 10)
    assert up.notes == ("the sizes do not divide, so A* rounds up: 2 offsets from 10 on are reached",)
    assert up.panels[0].panel.column_rules[0].after == 10
    holes = cute.show(cute.complement, L("(2,2):(1,3)"), 12)
    assert holes.notes == ("4 of the 12 offsets are in no copy of A",)
    white = {int(cell.lines[0]) for cell in by_place(holes, 0).values() if cell.owner is None and not cell.faded}
    assert white == {2, 5, 8, 11}


def test_large_operands_are_cut_and_said_so() -> None:
    picture = cute.show(cute.composition, L("(4096,4096):(4096,1)"), L("(4096,4096):(1,4096)"))
    assert max(len(placed.panel.cells) for placed in picture.panels) <= 36 * 36
    assert len(picture.links) == 2
    assert sum("are drawn" in note for note in picture.notes) == 3
    assert len(picture.svg()) < 200_000


def test_operations_show_the_values_of_dynamic_layouts() -> None:
    """As the picture of the layout alone does: `?` would say nothing."""
    dynamic, static = cute.make_layout((Int32(6), 4), stride=(Int32(4), 1)), L("(6,4):(4,1)")
    for operation, *tiler in ((cute.logical_divide, (2, 2)), (cute.zipped_divide, (3, 2)), (cute.coalesce,)):
        shown, expected = (cute.show(operation, x, *tiler) for x in (dynamic, static))
        for i in range(len(tiler) + 1):  # coalesce cannot join dynamic modes
            lines = [{place: cell.lines for place, cell in by_place(x, i).items()} for x in (shown, expected)]
            assert lines[0] == lines[1]
        assert not any("?" in line for cell in by_place(shown, 1).values() for line in cell.lines)
        assert shown.notes == expected.notes or operation is cute.coalesce
        assert not any("?" in note for note in shown.notes)
