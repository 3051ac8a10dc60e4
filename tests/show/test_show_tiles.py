"""Pictures of divides, products, predication, tiles and partitions of blocks: each colour is one tile."""

from __future__ import annotations

import pytest

from show_cells import by_place, owners_by_offset
from tilewright import cute

L = cute.parse
DIVIDES = ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
PRODUCTS = ("logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product")


@pytest.mark.parametrize("operation", DIVIDES)
@pytest.mark.parametrize(
    ("layout", "tiler"),
    [
        ("12:1", L("4:1")),
        ("12:1", L("4:3")),
        ("24:1", L("(2,2):(1,6)")),
        ("(4,6):(1,4)", (2, 3)),
        ("(9,(4,8)):(59,(13,1))", (L("3:3"), L("(2,4):(1,8)"))),
        ("(4,6):(1,4)", L("(2,3):(1,2)")),
        ("(8,6,5):(30,5,1)", (4, 3)),
    ],
)
def test_a_colour_is_a_tile_before_and_after_a_divide(operation: str, layout: str, tiler: object) -> None:
    picture = cute.show(operation, L(layout), tiler)
    assert owners_by_offset(picture, 0) == owners_by_offset(picture, 1)
    # The tile of number 0 is the composition with the tiler.
    whole = tiler if not isinstance(tiler, tuple) else (*tiler, *(1,) * (cute.rank(L(layout)) - len(tiler)))
    first = set(cute.composition(L(layout), whole).offsets().tolist())
    assert {offset for offset, owner in owners_by_offset(picture, 0).items() if owner == 0} == first
    # One element is followed.
    (link,) = picture.links
    start, end = by_place(picture, 0)[link.start[1:]], by_place(picture, 1)[link.end[1:]]
    assert start.marked
    assert end.marked
    assert start.lines == end.lines


def test_a_column_of_a_zipped_divide_is_a_tile() -> None:
    picture = cute.show(cute.zipped_divide, L("(4,6):(1,4)"), (2, 3))
    for (_, column), cell in by_place(picture, 1).items():
        assert cell.owner == column
    assert [rule.after for rule in picture.panels[0].panel.column_rules] == [3]
    assert [rule.after for rule in picture.panels[0].panel.row_rules] == [2]


def test_ragged_tiles_reach_outside() -> None:
    picture = cute.show(cute.zipped_divide, L("(5,7):(7,1)"), (2, 3))
    inside = [cell for cell in by_place(picture, 1).values() if not cell.faded]
    assert len(inside) == 35
    assert sorted(int(cell.lines[0]) for cell in inside) == list(range(35))
    assert picture.notes[0] == (
        "mode 0 has 5 elements in 3 tiles of 2, which reach 1 past its end; mode 1 has 7 elements in 3 tiles of 3, "
        "which reach 2 past its end"
    )
    assert len(picture.links) == 1  # of an element that is inside


def test_a_divide_without_a_result_shows_the_target() -> None:
    picture = cute.show(cute.logical_divide, L("(3,4):(4,1)"), L("4:2"))
    assert picture.title.startswith("LayoutError: logical_divide((3,4):(4,1), 4:2)")
    assert len(by_place(picture, 0)) == 12


def test_a_large_divide_is_cut() -> None:
    picture = cute.show(cute.logical_divide, L("(4096,4096):(4096,1)"), (128, 128))
    assert sum("are drawn" in note for note in picture.notes) == 2
    assert by_place(picture, 0)[39, 39].owner == 32 * 32 - 1  # the last element is in the last tile
    with pytest.raises(ValueError, match="too large to be sorted into tiles"):
        cute.show(cute.logical_divide, L("8388608:1"), 2)


@pytest.mark.parametrize("operation", PRODUCTS)
@pytest.mark.parametrize(
    ("block", "tiler"),
    [("4:1", "3:1"), ("(2,2):(1,2)", "(3,2):(1,3)"), ("(2,5):(5,1)", "(3,4):(1,3)"), ("(2,2):(4,1)", "6:1")],
)
def test_a_colour_is_a_copy_of_the_block(operation: str, block: str, tiler: str) -> None:
    picture = cute.show(operation, L(block), L(tiler))
    copies: dict[int | None, set[int]] = {}
    for cell in by_place(picture, 2).values():
        copies.setdefault(cell.owner, set()).add(int(cell.lines[0]))
    assert len(copies) == cute.size(L(tiler))
    shape = {int(cell.lines[0]) for cell in by_place(picture, 0).values()}
    for found in copies.values():
        assert {offset - min(found) for offset in found} == shape
    # The tiler's cell has the colour of its copy, and copies lie where the complement puts them.
    where = cute.composition(cute.complement(L(block), cute.size(L(block)) * cute.cosize(L(tiler))), L(tiler))
    for cell in by_place(picture, 1).values():
        assert cell.owner is not None
        assert min(copies[cell.owner]) == where(cell.owner)
    (link,) = picture.links
    assert by_place(picture, 0)[link.start[1:]].marked
    assert by_place(picture, 2)[link.end[1:]].marked


def test_products_by_mode() -> None:
    picture = cute.show(cute.logical_product, L("(2,2):(1,8)"), (L("4:1"), L("2:1")))
    assert len(picture.panels) == 2
    assert {cell.owner for cell in by_place(picture, 1).values()} == set(range(8))
    assert cute.show("blocked_product", L("2:1"), (2, 2)).title.startswith("LayoutError: blocked_product")


def test_predication_by_element_and_by_vector() -> None:
    picture = cute.show("predication", (6, 10), (4, 8), vector=4, mode=1)
    inside = {place: not cell.faded for place, cell in by_place(picture, 0).items()}
    assert inside == {(i, j): i < 6 and j < 10 for i in range(8) for j in range(16)}
    assert by_place(picture, 0)[5, 9].owner == 3
    vectors = {place: cell.lines[0] for place, cell in by_place(picture, 1).items()}
    assert [vectors[0, j] for j in range(4)] == ["1", "1", "2/4", "0"]
    assert [vectors[i, 0] for i in range(8)] == ["1"] * 6 + ["0"] * 2
    assert all(cell.marked == ("/" in cell.lines[0]) for cell in by_place(picture, 1).values())
    assert picture.notes == (
        "60 of 128 places lie inside, on average 15 of the 32 of a tile",
        "the last tile, (1,1), has (2,2) inside",
    )


def test_predication_of_one_mode_and_of_a_large_tensor() -> None:
    lanes = cute.show("predication", 41, 32)
    assert sum(not cell.faded for cell in by_place(lanes, 0).values()) == 41
    assert "on average 20.5 of the 32" in lanes.notes[0]
    large = cute.show("predication", (300, 200), (128, 64))
    assert by_place(large, 0)[2, 3].lines == ("44 x 8",)
    assert by_place(large, 0)[0, 0].lines == ("128 x 64",)
    assert not by_place(large, 1)[0, 7].faded
    assert by_place(large, 1)[0, 8].faded
    assert "are drawn" in large.notes[-1]
    for bad in (((4, 4), (2, 2, 2)), ((4, 4), 2), ((4, 0), (2, 2)), ((4, 4, 4), (2, 2, 2))):
        with pytest.raises(ValueError, match="predication"):
            cute.show("predication", *bad)
    with pytest.raises(TypeError, match="show: expected the tiler of predication to be a tuple of integers, not 'x'"):
        cute.show("predication", (10, 10), "x")
    with pytest.raises(
        ValueError, match=r"vectors of 3 elements along mode 0 do not divide the tile \(2,2\), which has 2"
    ):
        cute.show("predication", (4, 4), (2, 2), vector=3)


@pytest.mark.parametrize("layout", ["(8,6):(6,1)", "(8,6):(1,8)", "S<1,0,2> o 0 o (8,6):(8,1)"])
def test_the_tile_of_a_block(layout: str) -> None:
    tensor = L(layout)
    picture = cute.show(cute.local_tile, tensor, (4, 2), (1, None))
    wanted = {tensor((i, j)): j // 2 for i in range(4, 8) for j in range(6)}
    taken = {int(c.lines[0]): c.owner for c in by_place(picture, 0).values() if not c.faded}
    assert taken == owners_by_offset(picture, 1) == wanted
    by_proj = cute.show(cute.local_tile, tensor, (4, 128, 2), (1, 0, 2), proj=(1, None, 1))
    assert owners_by_offset(by_proj, 1) == {tensor((i, j)): 0 for i in range(4, 8) for j in (4, 5)}


def test_the_elements_of_a_thread_of_a_thread_layout() -> None:
    tensor = L("(8,6):(6,1)")
    picture = cute.show(cute.local_partition, tensor, L("(4,2):(1,4)"), 5)
    wanted = {tensor((i, j)) for i in (1, 5) for j in (1, 3, 5)}
    assert {int(c.lines[0]) for c in by_place(picture, 0).values() if not c.faded} == wanted
    assert set(owners_by_offset(picture, 1)) == wanted
    coordinates = cute.show(cute.local_tile, cute.make_identity_layout((8, 6)), (4, 3), (1, 1))
    assert by_place(coordinates, 1)[0, 0].lines == ("(4,3)",)


@pytest.mark.parametrize(
    "operands",
    [
        ("composition", L("(65,64):(64,1)"), L("(65,64):(1,65)")),
        ("composition", L("(64,64):(64,10000000)"), L("(64,64):(1,64)")),
        ("coalesce", L("(64,128):(1,64)")),
        ("complement", L("(64,8):(1,512)"), 4096),
        ("logical_divide", L("(80,64):(64,1)"), (16, 16)),
        ("flat_divide", L("(128,64):(64,1)"), (8, 8)),
        ("raked_product", L("(64,64):(64,1)"), L("(64,64):(1,64)")),
        ("predication", (4095, 4097), (64, 64)),
        ("local_tile", L("(4096,4096):(4096,1)"), (64, 64), (3, None)),
        ("local_partition", L("(4096,4096):(4096,1)"), L("(16,16):(16,1)"), 5),
    ],
)
def test_pictures_of_large_operands_stay_small(operands: tuple[object, ...]) -> None:
    picture = cute.show(*operands)
    assert len(picture.svg()) <= 200_000
    assert any("are drawn" in note for note in picture.notes)


OUTSIDE = "of the tensor (16,8); CuTe does not check that, and goes on with the strides"


@pytest.mark.parametrize(
    ("tile", "at", "count", "says"),
    [
        ((8, 4), (7, 9), 32, "the coordinate (7,9) is none of the (2,2) tiles (8,4) of (16,8)"),
        ((8, 4), (2, None), 64, "the coordinate (2,_) is none of the (2,2) tiles (8,4) of (16,8)"),
        ((8, 4), 4, 32, "the coordinate 4 is none of the (2,2) tiles (8,4) of (16,8)"),
        ((5, 3), (3, 2), 13, None),
        ((8, 4), (1, None), 0, None),
    ],
)
def test_what_of_a_tile_lies_outside_is_grey_and_said(tile: object, at: object, count: int, says: str | None) -> None:
    picture = cute.show(cute.local_tile, L("(16,8):(8,1)"), tile, at)
    part = by_place(picture, 1).values()
    assert sum(cell.faded for cell in part) == count
    assert all(("in the tensor", "outside") in cell.hover for cell in part if cell.faded)
    total = f"{count} of the {len(part)} elements of the part lie outside {OUTSIDE}"
    assert picture.notes == (*([says] if says else []), *([total] if count else []))


def test_an_index_of_no_thread_is_said() -> None:
    tensor, threads = L("(16,8):(8,1)"), L("(4,2):(1,4)")
    other = cute.show(cute.local_partition, tensor, threads, 55)
    assert other.notes == ("55 is no thread of (4,2):(1,4); CuTe takes its coordinate (3,1), that of thread 7",)
    assert other.panels == cute.show(cute.local_partition, tensor, threads, 7).panels
    assert cute.show(cute.local_partition, tensor, threads, 7).notes == ()
    below = cute.show(cute.local_partition, tensor, threads, -1)
    assert below.notes == (
        "-1 is no thread of (4,2):(1,4); CuTe takes its coordinate (-1,0)",
        f"4 of the 16 elements of the part lie outside {OUTSIDE}",
    )


@pytest.mark.parametrize(
    ("name", "operands", "whole"),
    [
        ("blocked_product", ("(8,8):(8,1)", "(8,8):(1,8)"), [64, 4096, 64]),
        ("logical_product", ("(8,8):(8,1)", "(8,8):(1,8)"), [64, 4096, 64]),
        ("predication", ((60, 61), (16, 16)), [4096]),
        ("local_tile", ("(64,64):(64,1)", (32, 32), (1, 0)), [4096, 1024]),
        ("local_partition", ("((8,8),(8,8)):((1,512),(8,64))", "(4,8):(8,1)", 3), [4096, 128]),
        ("composition", ("((8,8),(8,8)):((1,512),(8,64))", ("8:2", "16:2")), [4096, 128]),
        ("zipped_divide", ("(48,48):(48,1)", (6, 8)), [2304, 2304]),
        ("zipped_divide", ("(64,64):(64,1)", (8, 8)), [4096, 4096]),
        ("logical_divide", ("(64,64):(65,1)", (16, 16)), [4096, 4096]),
        ("flat_divide", ("(64,64):(64,1)", (8, 8)), [4096, 4096]),
        ("coalesce", ("((8,8),(8,8)):((8,64),(1,512))",), [4096, 4096]),
        ("coalesce", ("(64,64):(1,64)",), [4096, 4096]),
        ("composition", ("(64,64):(64,1)", "(64,64):(1,64)"), [4096, 4096, 4096]),
        ("composition", ("S<3,4,3>", "(64,64):(64,1)"), [4096, 4096, 4096]),
        ("composition", ("4096:2", "4096:1"), [4096, 4096, 4096]),
        ("composition", ("((8,8),(8,8)):((1,512),(8,64))", "(64,64):(64,1)"), [4096, 4096, 4096]),
    ],
)
def test_64_by_64_are_drawn_whole_where_there_is_room(
    name: str, operands: tuple[object, ...], whole: list[int]
) -> None:
    def layouts(x: object) -> object:
        return tuple(map(layouts, x)) if isinstance(x, tuple) else L(x) if isinstance(x, str) else x

    picture = cute.show(name, *map(layouts, operands))
    assert sorted(len(placed.panel.cells) for placed in picture.panels) == sorted(whole)
    assert not any("are drawn" in note for note in picture.notes)
    drawn = picture.svg()
    assert len(drawn.encode()) <= 200_000
    assert len(picture.html().encode()) <= 200_000
    assert (
        "data-hover" in drawn or drawn.count("<title>") > 1 or drawn.count("data-cells=") == len(picture.panels)
    )  # by SVG or by HTML


@pytest.mark.parametrize(
    ("name", "operands", "side"),
    [
        ("zipped_divide", ("(128,64):(64,1)", (8, 8)), 43),
        ("coalesce", ("((8,16),(16,8)):((8,64),(1,1024))",), 43),
        ("composition", ("(80,80):(80,1)", "(80,80):(1,80)"), 35),
        ("blocked_product", ("(64,64):(64,1)", "(64,64):(1,64)"), 35),
    ],
)
def test_two_or_three_large_panels_are_cut_and_said_so(name: str, operands: tuple[object, ...], side: int) -> None:
    picture = cute.show(name, *(L(x) if isinstance(x, str) else x for x in operands))
    cut = [note for note in picture.notes if f": {side} x {side} of " in note]
    assert len(cut) == len(picture.panels)
    assert "data-hover" in picture.svg()  # pointing at a cell shows something
    assert len(picture.svg().encode()) <= 200_000


def test_predication_says_that_other_tiles_are_not_drawn() -> None:
    large = cute.show("predication", (100, 61), (16, 16))
    said = "of the 28 tiles the last one is drawn element by element, of the others only the grid"
    assert said in large.notes
    assert len(by_place(large, 0)) == 28
    assert not any("drawn" in note for note in cute.show("predication", (60, 61), (16, 16)).notes)
    assert not any("of the others" in note for note in cute.show("predication", (100, 100), (128, 128)).notes)


@pytest.mark.parametrize(
    ("operands", "options", "error", "says"),
    [
        (((6, 10), (4, 8)), {"vector": 3, "mode": 5}, ValueError, r"has no mode 5: the tile \(4,8\) has modes 0 and 1"),
        (((6, 10), (4, 8)), {"mode": -1}, ValueError, "has no mode -1"),
        ((41, 32), {"vector": 4, "mode": 1}, ValueError, "has no mode 1: the tile 32 has mode 0;"),
        (
            ((6, 10), (4, 8)),
            {"vector": 0},
            ValueError,
            r"do not divide .* which has 4 there; vector must be a divisor of 4",
        ),
        (((6, 10), (4, 8)), {"vector": "4"}, TypeError, "expected vector of predication to be an integer, but got '4'"),
        (((6, 10), (4, 8)), {"mode": None}, TypeError, "expected mode of predication to be an integer, but got None"),
    ],
)
def test_vectors_that_predication_does_not_have(
    operands: tuple[object, ...], options: dict[str, object], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        cute.show("predication", *operands, **options)


def test_operands_without_a_result_say_what_is_left_out() -> None:
    picture = cute.show(cute.composition, L("(4096,66):(41,170000)"), L("(64,65):(3,7000001)"))
    assert picture.error is not None
    subtitles = [placed.panel.subtitle for placed in picture.panels]
    assert subtitles[0].endswith("; 64 x 63 of 64 x 65 elements are drawn: the first ones and the last")
    assert subtitles[1].endswith("; 63 x 63 of 4096 x 66 elements are drawn: the first ones and the last")


def test_a_composition_mode_by_mode_draws_as_much_as_its_notes_say() -> None:
    picture = cute.show(cute.composition, L("(128,128):(128,1)"), (L("100:1"), L("100:1")))
    assert [len(placed.panel.cells) for placed in picture.panels] == [43 * 43, 43 * 43]
    assert sum("43 x 43 of" in note for note in picture.notes) == 2
