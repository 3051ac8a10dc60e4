"""Pictures of layouts, tensors, swizzles and thread-value layouts: what the cells say is what the objects compute."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies
from notebooks import drawn_in
from tilewright import Float4E2M1FN, Float16, Float32, Float64, Int32, LayoutError, analysis, cute, kernels
from tilewright.show import Cell, Label, Panel, Picture, Placed, Rule, below, beside
from tilewright.show.drawing.axes import axis_of, rules_of, shown_of
from tilewright.show.drawing.grids import grids_of
from tilewright.show.formats.html import INKS
from tilewright.show.registry import OBJECTS, OPERATIONS

parse = cute.parse
FEW = settings(max_examples=150)


def cells_of(picture: Picture) -> list[Cell]:
    return [cell for placed in picture.panels for cell in placed.panel.cells]


def only(picture: Picture) -> Panel:
    assert len(picture.panels) == 1
    return picture.panels[0].panel


def value(text: str):
    """A coordinate or a number, from its text; (1) is a tuple of one mode."""
    return eval(text.replace(")", ",)"))


# ---- every cell ------------------------------------------------------------------------------------------------------


@FEW
@given(strategies.layouts(max_size=256), strategies.marks)
def test_every_cell_shows_what_the_layout_gives(model, marks):
    layout = strategies.as_cute(model, marks)
    picture = cute.show(layout)
    seen = set()
    for cell in cells_of(picture):
        shows = dict(cell.hover)
        index = int(shows.get("index", shows["coordinate"]))
        seen.add(index)
        assert cell.lines == (shows["offset"],)
        assert int(shows["offset"]) == int(layout(index))
        coordinate = value(shows["coordinate"])
        assert int(cute.crd2idx(coordinate, layout.shape)) == index
        assert int(layout(coordinate)) == int(shows["offset"])
        if cute.rank(layout) > 1:
            row, column, *rest = (int(cute.crd2idx(c, s)) for c, s in zip(coordinate, layout.shape, strict=True))
            shown = [shown_of(int(cute.size(mode))) for mode in layout.shape[:2]]
            assert (shown[0][cell.row], shown[1][cell.column]) == (row, column)
            titles = {p.panel.title for p in picture.panels if any(c is cell for c in p.panel.cells)}
            assert titles == ({f"(_,_,{','.join(map(str, rest))})"} if rest else {""})
    if all(extent <= 64 for extent in cute.product_each(layout.shape)[:2] or [1]) and len(picture.panels) < 12:
        assert seen == set(range(int(cute.size(layout))))


@FEW
@given(strategies.layouts(max_size=256, negative=False), strategies.swizzles)
def test_every_cell_of_a_swizzled_layout_shows_both_offsets(model, swizzle):
    layout = cute.composition(cute.Swizzle(*swizzle), strategies.as_cute(model))
    if not isinstance(layout, cute.ComposedLayout):
        return
    for placed in cute.show(layout).panels:
        function = layout.outer if placed.panel.title.startswith("before") else layout
        for cell in placed.panel.cells:
            shows = dict(cell.hover)
            offset = int(function(int(shows.get("index", shows["coordinate"]))))
            assert cell.lines == (shows["offset"],) == (str(offset),)
            size = max(1, 16 >> swizzle[1])  # bytes
            of = f"({size} byte{'s' * (size > 1)})"
            assert (shows[f"address {of}"], shows[f"bank {of}"]) == (str(offset * size), str(offset * size // 4 % 32))
            assert cell.owner == offset * size // 16 % 8


@FEW
@given(st.data())
def test_thread_value_pictures_agree_both_ways(data):
    threads, values = data.draw(st.sampled_from([(4, 2), (8, 4), (2, 8), (32, 4), (6, 4)]))
    size = threads * values
    tv = data.draw(
        st.sampled_from(
            [
                cute.make_layout((threads, values)),
                cute.make_layout((threads, values), stride=(values, 1)),
                cute.make_layout((threads, (2, values // 2)), stride=(2, (1, 2 * threads))),
            ]
        )
    )
    tile = data.draw(st.sampled_from([size, (size,), (2, size // 2), (size // 2, 2)]))
    memory = cute.make_layout(tile, stride=cute.make_layout_right(tile).stride) if isinstance(tile, tuple) else tile
    picture = cute.show(tv, tile=memory, dtype=Float16)
    *tiles, table = (placed.panel for placed in picture.panels)
    by_pair = {}
    for cell in (cell for panel in tiles for cell in panel.cells):
        shows = dict(cell.hover)
        by_pair[int(shows["thread"]), int(shows["value"])] = shows
        assert cell.owner == int(shows["thread"])
        assert "".join(cell.lines) == f"T{shows['thread']}V{shows['value']}"
        if isinstance(memory, cute.Layout):
            assert int(shows["offset"]) == memory(int(shows["index"]))
            assert int(shows["address"]) == 2 * int(shows["offset"])
    assert len(by_pair) == size
    for cell in table.cells:
        shows = dict(cell.hover)
        pair = int(shows["thread"]), int(shows["value"])
        assert (cell.row, cell.column) == pair
        assert int(shows["index"]) == tv(pair)
        assert by_pair[pair] == {**by_pair[pair], **shows}


def test_a_layout_of_coordinates_shows_them():
    panel = only(cute.show(parse("(3,4):(1@1,1@0)")))
    assert {cell.lines[0] for cell in panel.cells} == {f"({j},{i})" for i in range(3) for j in range(4)}
    assert dict(panel.cells[1].hover) == {"coordinate": "(0,1)", "offset": "(1,0)", "index": "3"}


# ---- forms of layouts ------------------------------------------------------------------------------------------------


def test_rank_0_1_2_and_3():
    assert only(cute.show(cute.make_layout(()))).cells[0].lines == ("0",)
    line = only(cute.show(parse("12:2")))
    assert (line.rows, line.columns, line.row_axis) == (1, 12, ())
    assert [cell.hover[0] for cell in line.cells] == [("coordinate", str(i)) for i in range(12)]
    picture = cute.show(parse("(2,3,4):(1,2,6)"))
    assert [p.panel.title for p in picture.panels] == [f"(_,_,{k})" for k in range(4)]
    assert [p.column for p in picture.panels] == [0, 1, 2, 3]


def test_long_layouts_of_one_mode_are_drawn_in_lines():
    panel = only(cute.show(parse("100:3")))
    assert (panel.rows, panel.columns) == (4, 25)
    assert [label.text for label in panel.row_axis[-1]] == ["0", "25", "50", "75"]
    assert panel.column_axis[-1][3].text == "+3"
    # Leaves stay together.
    panel = only(cute.show(parse("(((4,8),6)):(((1,4),32))")))
    assert (panel.rows, panel.columns, len(panel.row_axis), len(panel.column_axis)) == (6, 32, 1, 2)
    # The last line may be shorter.
    assert len(only(cute.show(parse("37:1"))).cells) == 37


def test_nested_modes_have_levels_of_labels_and_rules():
    panel = only(cute.show(parse("((2,2),(2,3)):((2,12),(1,4))")))
    outer, inner = panel.column_axis
    assert outer == (Label("0", 2), Label("1", 2), Label("2", 2))
    assert [label.text for label in inner] == ["0", "1"] * 3
    assert panel.column_rules == (Rule(2, 1), Rule(4, 1))
    assert panel.row_rules == (Rule(2, 1),)
    assert rules_of((2, (2, 2)), shown_of(8)) == (Rule(2, 1), Rule(4, 2), Rule(6, 1))
    assert len(axis_of((1, (1, 4)), shown_of(4))) == 1  # what has one element needs no level


def test_dynamic_layouts_show_their_values():
    picture = cute.show(cute.make_layout((Int32(4), 8), stride=(8, 1)))
    assert picture.title == "(4,8):(8,1)"
    assert "(?,8):(8,1)" in only(picture).subtitle
    assert len(cells_of(picture)) == 32


def test_large_layouts_are_summarised_and_say_so():
    picture = cute.show(parse("(4096,100):(100,1)"))
    panel = only(picture)
    assert panel.rows == panel.columns == 64
    assert len(panel.cells) == 63 * 63
    assert "63 x 63 of 4096 x 100 elements are drawn" in picture.notes[-1]
    last = dict(panel.cells[-1].hover)
    assert (last["coordinate"], last["offset"]) == ("(4095,99)", str(4096 * 100 - 1))
    assert [label.text for label in panel.row_axis[-1]][54:57] == ["54", "…", "4088"]
    assert len(cute.show(parse("(4,4,64):(1,4,16)")).panels) == 12
    assert "12 of 64 slices" in cute.show(parse("(4,4,64):(1,4,16)")).notes[-1]
    assert len(cells_of(cute.show(parse("(100,2):(1,100)"), most=100))) == 200
    assert "coordinate (80,1) is among those that are not drawn" in cute.show("(100,2):(1,100)", at=(80, 1)).notes[-1]


def test_colors():
    def owners(**options):
        return [cell.owner for cell in cells_of(cute.show("(2,(2,3)):(1,(6,2))", **options))]

    assert owners() == [0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11]
    assert owners(color="mode") == owners(color=0) == [0] * 6 + [1] * 6
    assert owners(color=1) == [0, 1, 2, 3, 4, 5] * 2
    assert owners(color=(1, 1)) == [0, 0, 1, 1, 2, 2] * 2
    assert owners(color="bank", dtype=64) == [offset * 8 // 16 for offset in owners()]
    assert [cell.owner for cell in cells_of(cute.show("(3,17):(17,1)"))][16:18] == [0, 1]  # again after 16


def test_address_and_bank():
    shows = dict(only(cute.show("(4,8):(8,1)", dtype=Float16, base=1000)).cells[-1].hover)
    assert (shows["address"], shows["bank"]) == (str(1000 + 62), str(1062 // 4 % 32))
    shows = dict(only(cute.show("(4,8):(8,1)", dtype=32, base=1 << 40)).cells[1].hover)
    assert shows["address"] == hex((1 << 40) + 4)


def test_address_and_bank_without_a_type_are_those_of_4_bytes_and_say_so():
    for layout, options in (
        ("(4,8):(16,2)", {}),
        ("(4,8):(16,2)", {"base": 64}),
        ("((2,2),(2,4)):((16,32),(2,4))", {}),
    ):
        for cell in only(cute.show(layout, **options)).cells:
            shows = dict(cell.hover)
            address = options.get("base", 0) + 4 * int(shows["offset"])
            assert (shows["address (f32)"], shows["bank (f32)"]) == (str(address), str(address // 4 % 32))
            assert "bank" not in shows
    tile = cute.show("((2,2),(2,3)):((2,12),(1,4))", tile=parse("24:4")).panels[0].panel
    shows = dict(tile.cells[9].hover)
    assert (shows["offset"], shows["bank (f32)"], shows["address (f32)"]) == ("36", "4", "144")
    assert "bank (f32)" not in dict(cute.show("(4,1):(1,0)", tile=(4,)).panels[0].panel.cells[0].hover)  # of no memory
    with pytest.raises(ValueError, match="needs the size of an element"):
        cute.show("(4,8):(8,1)", color="bank")
    with pytest.raises(TypeError, match="base"):
        cute.show("(4,8):(8,1)", base="64")


@pytest.mark.parametrize("at", [5, (1, 1), (1, (1, 0))])
def test_a_coordinate_is_marked(at):
    marked = [cell for cell in cells_of(cute.show("(4,(2,3)):(1,(4,8))", at=at)) if cell.marked]
    assert [(cell.row, cell.column) for cell in marked] == [(1, 1)]


def test_facts_of_a_layout():
    def subtitle(text):
        return only(cute.show(text)).subtitle

    assert subtitle("(4,8):(8,1)") == "4 x 8 elements, offsets 0 to 31, each once"
    assert subtitle("(4,8):(16,1)") == "4 x 8 elements, offsets 0 to 55, none twice"
    assert subtitle("(4,8):(0,1)") == "4 x 8 elements, offsets 0 to 7, some more than once"
    assert subtitle("(4,8):(-8,1)") == "4 x 8 elements, offsets -24 to 7, each once"
    assert subtitle("1:0") == "1 element, offset 0"


# ---- other objects ---------------------------------------------------------------------------------------------------


def test_tensors_show_their_elements_and_where_they_lie():
    array = np.arange(12, dtype=np.float32).reshape(3, 4) / 4
    tensor = cute.from_dlpack(array)
    panel = only(cute.show(tensor))
    for cell in panel.cells:
        shows = dict(cell.hover)
        assert float(shows["element"]) == float(cell.lines[0]) == array[value(shows["coordinate"])]
        assert int(shows["address"], 0) == array.ctypes.data + 4 * int(shows["offset"])
    assert [cell.lines[0] for cell in only(cute.show(cute.make_tensor(100, (2, 2)))).cells] == [
        "100",
        "102",
        "101",
        "103",
    ]
    identity = only(cute.show(cute.make_identity_tensor((2, (2, 1)))))
    assert identity.cells[-1].lines == ("(1,(1,0))",)
    unknown = cute.show(cute.make_tensor(cute.make_ptr(Float16, 4096), (2, 2)))
    assert "the offsets are drawn, not the elements" in " ".join(unknown.notes)


def test_a_swizzle_before_and_after_by_bank():
    picture = cute.show(cute.make_swizzle(3, 4, 3), at=500)
    before, after = (placed.panel for placed in picture.panels)
    assert [cell.owner for cell in before.cells] == [i % 8 for i in range(64)]
    assert [cell.owner for cell in after.cells] == [i % 8 ^ i // 8 for i in range(64)]
    assert [cell.lines[0] for cell in after.cells][8:10] == ["144", "128"]
    assert len(picture.links) == 1
    assert dict(after.cells[9].hover) == {
        "coordinate": "144..159",
        "offset": "128..143",
        "bank (1 byte)": "0",
        "address (1 byte)": "128",
    }
    with pytest.raises(ValueError, match="at=1024 lies outside the 1024 offsets"):
        cute.show(cute.make_swizzle(3, 4, 3), at=1024)


@pytest.mark.parametrize("rows", [64, 128])
@pytest.mark.parametrize("dtype", [None, Float16])
def test_large_swizzled_layouts_are_drawn_before_and_after(rows, dtype):
    layout = parse(f"S<3,3,3> o 0 o ({rows},64):(64,1)")
    picture = cute.show(layout, dtype=dtype)
    before, after = (placed.panel for placed in picture.panels)
    assert (before.title, after.title) == (f"before: ({rows},64):(64,1)", f"after: {layout}")
    assert f"39 x 39 of {rows} x 64 elements are drawn: the first ones and the last" in picture.notes
    assert picture.notes[-1] == "only='after' draws more of what is after the swizzle, alone"
    for x, y in zip(before.cells, after.cells, strict=True):
        at = value(dict(x.hover)["coordinate"])
        assert (int(x.lines[0]), int(y.lines[0])) == (layout.outer(at), layout(at))
        assert (x.owner, y.owner) == tuple(offset * 2 // 16 % 8 for offset in (layout.outer(at), layout(at)))
    assert len(picture.svg().encode()) < 200_000
    whole = only(cute.show(layout, dtype=dtype, only="after"))
    assert (whole.rows, whole.columns, whole.title) == (64, 64, f"after: {layout}")


def test_bank_and_address_of_a_swizzle_without_a_type_say_of_which_elements_they_are():
    for text, kind in (("S<2,3,3> o 0 o (8,8):(8,1)", " (2 bytes)"), ("S<2,0,3> o 0 o (8,8):(8,1)", " (16 bytes)")):
        size = int(kind[2:-7])
        for placed in cute.show(text).panels:
            for cell in placed.panel.cells:
                shows = dict(cell.hover)
                address = int(shows["offset"]) * size
                assert (shows[f"address{kind}"], shows[f"bank{kind}"]) == (str(address), str(address // 4 % 32))
                assert "bank" not in shows
        assert dict(cute.show(text, dtype=Float16).panels[0].panel.cells[1].hover)["bank"] == "0"


def test_a_part_of_a_large_swizzled_layout():
    picture = cute.show("S<3,3,3> o 0 o (16,16,16):(256,16,1)")
    assert [placed.panel.title[:6] for placed in picture.panels] == ["before", "after:"] * 8
    assert "8 of 16 slices along the modes from 2 on are drawn: the first ones" in picture.notes
    assert len(picture.svg().encode()) < 200_000
    assert only(cute.show("S<2,0,3> o 0 o (8,8):(8,1)", only="before")).title == "before: (8,8):(8,1)"
    hidden = cute.show("S<3,3,3> o 0 o (64,64):(64,1)", at=(45, 2))
    assert hidden.notes[-1] == "the marked coordinate (45,2) is among those that are not drawn"
    with pytest.raises(ValueError, match="only is 'before' or 'after', or None for both, but got 'x'"):
        cute.show("S<2,0,3> o 0 o (8,8):(8,1)", only="x")


def test_values_by_thread():
    array = np.arange(24, dtype=np.int32)
    picture = cute.show(kernels.visualize_tv(array, parse("((2,2),(2,3)):((2,12),(1,4))")))
    tile, table = (placed.panel for placed in picture.panels)
    assert [cell.lines for cell in tile.cells[6:8]] == [("6", "T1V2"), ("7", "T1V3")]
    assert [cell.lines for cell in table.cells[:3]] == [("0",), ("1",), ("4",)]


def test_nobody_and_several():
    picture = cute.show("(4,2):(0,1)", tile=(4,))
    tile = picture.panels[0].panel
    assert [cell.lines for cell in tile.cells] == [("T0", "V0+3"), ("T0", "V1+3"), ("",), ("",)]
    assert "2 of 4 elements with nobody, 2 with several" in tile.subtitle
    assert dict(tile.cells[0].hover)["also"] == "T1V0,T2V0,T3V0"
    assert dict(tile.cells[3].hover)["thread"] == "none"


def test_tuples_show_leaves_below_their_modes():
    panel = only(cute.show((4, (2, Int32(3)))))
    assert [cell.lines[0] for cell in panel.cells] == ["4", "2", "3"]
    assert panel.column_axis == ((Label("0"), Label("1", 2)), (Label(""), Label("1,0"), Label("1,1")))
    assert dict(panel.cells[2].hover) == {"mode": "1,1", "value": "3", "static text": "?"}
    assert only(cute.show(cute.make_layout((4, 2)).shape)) == only(cute.show((4, 2)))
    assert only(cute.show(7)).cells[0].lines == ("7",)
    assert [cell.lines[0] for cell in only(cute.show(parse("(3,4):(1@0,1@1)").stride)).cells] == ["1@0", "1@1"]


def test_explanations_are_pictures_with_the_derivation_below():
    explanation = cute.explain(cute.composition, parse("(4,3):(1,8)"), parse("6:2"))
    picture = cute.show(explanation)
    assert picture.panels == cute.show(cute.composition, parse("(4,3):(1,8)"), parse("6:2")).panels
    assert picture.notes[-len(explanation.steps) + 1 :] == explanation.steps[1:]
    assert [c.lines for c in cells_of(cute.show(cute.explain(parse("(4,8):(8,1)"), (1, 2)))) if c.marked] == [("10",)]
    broken = cute.show(cute.explain(cute.composition, parse("(3,4):(4,1)"), parse("4:2")))
    assert "LayoutError" in broken.notes[-1]
    assert cute.show(cute.explain(cute.right_inverse, parse("(4,3):(3,1)"))).panels == ()


# ---- show ------------------------------------------------------------------------------------------------------------


def test_a_text_is_a_layout_and_a_name_an_operation():
    assert cute.show("(4,8):(8,1)") == cute.show(parse("(4,8):(8,1)"))
    assert cute.show("coalesce", parse("(2,4):(1,2)")) == cute.show(cute.coalesce, parse("(2,4):(1,2)"))


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        ((object(),), {}, TypeError, "no picture of object; there are pictures of Analysis, AsyncAccess, BoxAccess"),
        (
            (analysis.warp_accesses([range(0, 128, 4)], 4),),
            {},
            TypeError,
            "no picture of Requests; there are pictures of",
        ),
        ((cute.AddressSpace.smem,), {}, TypeError, "no picture of AddressSpace"),
        ((True,), {}, TypeError, "no picture of bool"),
        ((cute.rank, 3), {}, TypeError, "no picture of the operation 'rank'; the operations are composition"),
        (("(4,8):(8,1)",), {"colour": 1}, TypeError, "unexpected keyword argument 'colour'; .* options color, tile"),
        ((cute.composition,), {}, TypeError, r"missing .* 'lhs'; the picture of composition takes \(lhs, rhs\)"),
        (("(4,8):(8,1)",), {"color": "blue"}, ValueError, "color is 'value', 'mode', 'bank' or .* but got 'blue'"),
        (("(4,8):(8,1)",), {"color": 2}, ValueError, r"color=2 names no mode of \(4,8\)"),
        (("(4,8):(8,1)",), {"color": "bank"}, ValueError, "needs the size of an element"),
        (("(4,8):(8,1)",), {"dtype": "f16"}, TypeError, "a numeric type such as Float16.* but got 'f16'"),
        (("(4,8):(8,1)",), {"at": (4, 0)}, ValueError, r"at=\(4,0\) lies outside the shape \(4,8\)"),
        (("(4,8):(8,1)",), {"at": 32}, ValueError, "at=32 lies outside"),
        (("(4,8):(8,1)",), {"tile": (4, 4)}, LayoutError, "thread 2, value 0 leads to index 16, .* elements 0 to 15"),
        (("(4,8,2):(8,1,0)",), {"tile": (4, 8)}, LayoutError, "has two modes, thread and value, but this has 3"),
        (((),), {}, LayoutError, "a tuple without integers"),
        (((1, "a"),), {}, TypeError, r"expected a nested tuple of integers, but got \(1, 'a'\)"),
        (("(4,8",), {}, LayoutError, "parse"),
    ],
)
def test_what_cannot_be_drawn(arguments, options, kind, message):
    with pytest.raises(kind, match=message):
        cute.show(*arguments, **options)


def test_all_that_is_registered_is_there():
    from importlib import import_module

    for place in (*OBJECTS.values(), *OPERATIONS.values()):
        module, _, name = place.partition(":")
        assert callable(getattr(import_module(module), name)), place
    for name in OBJECTS:
        module, _, name = name.rpartition(".")
        assert isinstance(getattr(import_module(module), name), type)


@pytest.mark.parametrize(
    "x",
    [
        parse("(4,8):(8,1)"),
        parse("S<2,0,3> o 0 o (8,8):(8,1)"),
        cute.make_swizzle(2, 0, 3),
        parse("(4,8):(8,1)").shape,
        cute.make_tensor(0, (2, 2)),
        cute.explain(cute.coalesce, parse("(2,4):(1,2)")),
        cute.show("4:1"),
        cute.nvgpu.warp.LdMatrix8x8x16bOp(num_matrices=2),
        cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 8)),
        kernels.tiled_copy.plan(np.zeros((8, 12), np.float32), np.zeros((12, 8), np.float32).T),
        *(
            kernels.gemm.plan(np.zeros((64, 64), np.float16), np.zeros((64, 64), np.float16), arch=arch)
            for arch in ("sm_80", "sm_90a")
        ),
        kernels.gemm.plan(np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)),
        kernels.visualize_tv(np.arange(24), parse("((2,2),(2,3)):((2,12),(1,4))")),
        cute.make_ptr(Float32, 0x1054),
        cute.Ratio(6, 4),
        analysis.warp_access(range(0, 192, 6), 2),
        analysis.async_access(range(0, 512, 16), range(0, 512, 16), 16),
        analysis.analyze(parse("32:2"), Float32)["load"],
        analysis.swizzle_mode(parse("(64,64):(64,1)"), Float16),
        cute.nvgpu.cpasync.SwizzleMode.B128,
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_notebook_shows_the_picture(x):
    picture = x if isinstance(x, Picture) else cute.show(x)
    assert drawn_in(x._repr_html_()).replace(INKS, "", 1) == picture.svg()


def test_a_notebook_shows_the_text_of_what_cannot_be_drawn():
    empty = cute.make_layout(()).shape
    assert empty._repr_html_() is None


def test_classes_of_python_have_what_a_notebook_asks_for():
    for name in OBJECTS:
        module, _, kind = name.rpartition(".")
        if module != "builtins":
            cls = getattr(__import__(module, fromlist=[kind]), kind)
            assert callable(cls._repr_html_), name


def test_an_analysis_is_drawn():
    found = analysis.analyze(parse("32:2"), Float32)
    assert cute.show(found).svg() == found.svg()


def values(picture):
    """The text of the cells, panel by panel."""
    return [[line for cell in placed.panel.cells for line in cell.lines] for placed in picture.panels]


def test_a_request_is_drawn_as_what_it_needs_and_what_is_beyond():
    found = cute.show(analysis.warp_access(range(0, 4096, 128), 4, memory="shared"))
    (panel,) = (placed.panel for placed in found.panels)
    assert (found.title, panel.title) == (
        "load of 4 bytes a lane, shared memory", "32 wavefronts, 32-way bank conflict, ideal 1"
    )  # fmt: skip
    assert values(found) == [["1", *(f"+{i}" for i in range(1, 32))]]
    assert len({cell.owner for cell in panel.cells}) == 2 == len(panel.legend)
    ideal = cute.show(analysis.warp_access(range(0, 256, 8), 8)).panels[0].panel
    assert (len(ideal.cells), len(ideal.legend)) == (8, 1)
    assert "beyond" not in cute.show(analysis.warp_access(range(0, 256, 8), 8)).text(color=False)
    many = analysis.warp_access([0], 4)._replace(sectors=100)
    assert "64 of 100 sectors are drawn" in cute.show(many).panels[0].panel.subtitle
    with pytest.raises(LayoutError, match="a request without lanes has nothing to draw"):
        cute.show(analysis.warp_access([0], 4, active=[False]))


def test_both_sides_of_a_cp_async_are_drawn():
    row = range(0, 512, 16)
    found = cute.show(analysis.async_access(range(16, 528, 16), row, 16))
    assert [placed.panel.title[:10] for placed in found.panels] == ["32 sectors", "4 wavefron"]
    assert found.notes[-1] == "Nsight Compute: 12 wavefronts, ideal 4"
    zeros = cute.show(analysis.async_access(row, row, 16, reads=[False] * 32))
    assert [placed.panel.title for placed in zeros.panels] == ["4 wavefronts, ideal 4"]
    far = cute.show(analysis.async_access([0, 1 << 20], [0, 4], 4, cache="ca"))
    assert far.notes[0].endswith("wavefronts: not known")
    with pytest.raises(LayoutError, match="without lanes"):
        cute.show(analysis.async_access(row, row, 16, active=[False] * 32))


def test_a_box_is_its_rows_over_their_sectors():
    """Rows of 2016 bytes begin anywhere in a line; the last box of 64 has 48 elements of each, and rows end in it."""
    layout = cute.make_layout((100, 1008), stride=(1008, 1))
    box = analysis.box_access(layout, Float16, (8, 64), (96, 960), address=16)
    found = cute.show(box)
    assert found.panels[0].panel.title == f"{box.sectors} sectors, ideal 12"
    of_rows: dict[int, list[int]] = {}
    for cell in found.panels[0].panel.cells:
        of_rows.setdefault(cell.row, []).extend(int(x) for x in cell.lines)
    assert [sum(row) for row in of_rows.values()] == [128] * 8
    assert [row[-1] for row in of_rows.values()] == [32] * 4 + [128] * 4
    stored = cute.show(analysis.box_access(layout, Float16, (8, 64), (96, 960), op="store")).panels[0].panel
    assert [entry.text for entry in stored.legend][-1] == "out: not written"
    several = cute.show(analysis.box_access(layout, Float16, (8, 64), (0, 0), receivers=2)).panels[0].panel
    assert several.title == "72 sectors for 2 CTAs together, ideal 64"
    wide = cute.make_layout((4, 512), stride=(512, 1))
    long = cute.show(analysis.box_access(wide, Float64, (4, 256), (0, 0))).panels[0].panel
    assert long.columns == 33
    assert long.subtitle.endswith("; 32 of 64 sectors are drawn")
    large = analysis.box_access(layout, Float16, (64, 64), (0, 0))
    assert "32 of 64 rows are drawn" in cute.show(large).panels[0].panel.subtitle
    with pytest.raises(LayoutError, match="have no rows to draw; ask box_access"):
        cute.show(large._replace(rows=()))


def test_an_instruction_is_drawn_as_in_its_analysis():
    found = analysis.analyze(parse("32:32"), Float32, memory="shared")
    assert cute.show(found["load"]).panels == cute.show(found).panels
    bulk = analysis.MemoryInstruction.of_engine("load A", "UTMALDG.2D", "tma", 16384)
    with pytest.raises(LayoutError, match=r"load A, UTMALDG\.2D, has no lanes to draw"):
        cute.show(bulk)
    assert bulk._repr_html_() is None


def test_pointers_and_ratios_are_tables():
    smem, gmem = cute.AddressSpace.smem, cute.AddressSpace.gmem
    assert values(cute.show(cute.make_ptr(Float16, 0x1086, smem))) == [
        ["0x1086", "Float16, 16 bits", "smem", "2 bytes", "1"]
    ]
    assert values(cute.show(cute.make_ptr(Float16, 0x10E0, gmem, assumed_align=32)))[0][3:] == [
        "32 bytes", "byte 96 of 128, sector 3"
    ]  # fmt: skip
    assert values(cute.show(cute.make_ptr(Float16, 0, cute.AddressSpace.rmem)))[0][2:] == ["rmem", "2 bytes"]
    assert values(cute.show(cute.make_ptr(Float4E2M1FN, 16, gmem) + 1))[0][:2] == [
        "0x10, bit 4",
        "Float4E2M1FN, 4 bits",
    ]
    assert values(cute.show(cute.Ratio(8, 6))) == [["8", "6", "4/3", "3, 6, 9, ...", "4, 8, 12, ..."]]


@pytest.mark.parametrize("name", ["NONE", "B32", "B64", "B128"])
def test_swizzle_modes_are_drawn_as_their_swizzles(name):
    """Of byte offsets, both as TMA is told and as a tile is found to be."""
    mode = cute.nvgpu.cpasync.SwizzleMode[name]
    assert cute.show(mode, at=16).panels == cute.show(mode.swizzle, at=16).panels
    kind = {"NONE": "K_INTER", "B32": "K_SW32", "B64": "K_SW64", "B128": "K_SW128"}[name]
    elements = max(mode.value + 3, 3)  # of a row of the atom, as a power of 2
    tile = parse(f"S<{mode.value},3,3> o 0 o (8,{1 << elements}):({1 << elements},1)")
    found = analysis.swizzle_mode(tile, Float16)
    assert cute.show(found).title == f"{kind}: {mode.swizzle}"
    assert cute.show(found).panels == cute.show(mode.swizzle).panels
    assert cute.show(found).notes[-1] == str(found)


def test_an_operation_of_an_atom_is_drawn_as_its_atom():
    mma = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    assert cute.show(mma) == cute.show(cute.make_mma_atom(mma))
    ldmatrix = cute.nvgpu.warp.LdMatrix8x8x16bOp(num_matrices=4)
    assert cute.show(ldmatrix, dtype=Float16) == cute.show(cute.make_copy_atom(ldmatrix, Float16))
    assert cute.show(ldmatrix).notes[-1].endswith("drawn for Float16, dtype= names another")
    wide = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=64)
    assert cute.show(wide.op, dtype=Float32, bits=64) == cute.show(wide)
    assert "drawn for Float32, dtype= names another, bits= the width" in cute.show(wide.op).notes[-1]


# ---- data ------------------------------------------------------------------------------------------------------------


def test_pictures_are_compared_by_value():
    panel = Panel("", "", 1, 1, (Cell(0, 0, ("7",)),))
    assert Picture("a", beside(panel)) == Picture("a", [Placed(0, 0, panel)])
    assert Picture("a", beside(panel)) != Picture("b", beside(panel))
    assert Picture("a", beside(panel, panel)) != Picture("a", below(panel, panel))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Picture("a", ()))


def test_grids_find_the_place_of_an_index():
    for shape in (37, (37,), ((4, 2), 8), (3, (2, 2), 2), ((2, 3),)):
        grids, _ = grids_of(shape)
        places = {}
        for n, grid in enumerate(grids):
            for row, column, _, number, _ in grid.cells():
                places[number] = (n, row, column)
        for number, (n, row, column) in places.items():
            assert [grid.place(number) for grid in grids] == [None] * n + [(row, column)] + [None] * (
                len(grids) - n - 1
            )
        assert set(places) == set(range(int(cute.size(shape))))
