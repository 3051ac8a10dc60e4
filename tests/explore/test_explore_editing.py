"""The page in a browser, as one file: what is edited changes picture, table, derivation and counts as Python says."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest

from explored import go, notation, open_tab, press, rows_of, shown, type_into
from test_explore_algebra import KINDS
from tilewright import Float16, cute
from tilewright.analysis.layouts import analyze_layout
from tilewright.explore.atoms import COPY_OPS, MMA_OPS
from tilewright.explore.operands import element_type
from tilewright.explore.page import page

L = cute.parse


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "a page.html"
    file.write_text(page(), encoding="utf-8")
    return file.as_uri()


def count_row(layout, **options):
    (x,) = analyze_layout(layout, element_type("f32"), **options).instructions
    if x.memory == "shared":
        return [x.wavefronts, x.ideal_wavefronts, x.bytes_useful]
    return [x.sectors, x.ideal_sectors, x.lines, x.bytes_useful]


def counts(browser):
    """What the tab Access says of all requests."""
    open_tab(browser, "access")
    return [int(text) for text in rows_of(browser)[0][1:]]


def test_editing_a_layout(browser, url):
    go(browser, url)
    for text in ("(4,8):(8,1)", "(4,(2,3)):(1,(4,8))", "(32,4):(33,1)", "S<2,0,3> o 0 o (8,8):(8,1)", "12:-2", "48:2"):
        layout = L(text)
        type_into(browser, "layout", text)
        now = shown(browser)
        offsets = layout.offsets().ravel().tolist()
        assert now["error"] == ""
        assert sorted(now["cells"]) == sorted(map(str, offsets))
        assert now["owners"] == [int(cell) % 16 for cell in now["cells"]]
        domain = layout.outer if isinstance(layout, cute.ComposedLayout) else layout
        derivation = now["derivation"].split("\n")[: 3 if isinstance(layout, cute.Layout) else -1]
        assert derivation == str(cute.explain("crd2idx", cute.idx2crd(0, domain.shape), domain)).split("\n")
        assert now["values"]["layout"] == text
        assert now["facts"]["size"] == str(cute.size(layout))
        open_tab(browser, "elements")
        coordinates = [notation(cute.idx2crd(i, domain.shape)) for i in range(len(offsets))]
        bytes_ = [4 * offset for offset in offsets]  # elements of 4 bytes, from 0 on
        places = [[byte, byte // 4 % 32, byte // 32] for byte in bytes_]
        expected = [[i, coordinates[i], offset, *places[i]] for i, offset in enumerate(offsets)][:128]
        assert rows_of(browser) == [list(map(str, row)) for row in expected]
        if layout(0) == 0 and text[:2] != "12":
            assert counts(browser) == count_row(layout)
    type_into(browser, "layout", "(32,4):(32,1)")
    type_into(browser, "memory", "shared")
    type_into(browser, "width", "4")
    assert counts(browser) == count_row(L("(32,4):(32,1)"), memory="shared", width=4)
    advice = "explorer.frame.querySelector('.advice')?.textContent ?? ''"
    for text, beginning in (("(32,4):(32,1)", "32-way"), ("(4,8):(8,1)", "accesses of 16"), ("32:1", "")):
        type_into(browser, "layout", text)
        said = analyze_layout(L(text), element_type("f32"), memory="shared", width=4).advice
        assert said.startswith(beginning)
        assert browser.run(advice) == (f"{said[0].upper()}{said[1:]}." if said else "")
    type_into(browser, "layout", "(32,4):(32,1)")
    type_into(browser, "base", "2")  # is not analysed
    assert browser.run(advice) == ""
    assert "lane 0 of request 0 would fault" in browser.run("explorer.frame.querySelector('.panel').textContent")
    type_into(browser, "base", "0")
    type_into(browser, "color", "bank")
    assert shown(browser)["owners"] == [v % 32 // 4 for v in range(4) for _ in range(32)]  # four banks have a colour
    assert browser.errors == []


def test_a_layout_of_one_mode_is_drawn_line_by_line(browser, url):
    go(browser, url, "view=layout&layout=(2,96):(1,2)")
    type_into(browser, "layout", "96:1")
    panel = browser.run("(({ rows, columns }) => [rows, columns])(explorer.scene.panels[0])")
    assert panel == [3, 32]
    type_into(browser, "layout", "((4,8),(2,3)):((1,4),(32,64))")
    axis = "explorer.scene.panels[0].rowAxis.map(level => level.map(label => `${label.text}x${label.span}`))"
    assert browser.run(axis)[0] == [f"{i}x4" for i in range(8)]


def test_editing_a_thread_value_layout(browser, url):
    go(browser, url, "view=tv")
    for text, tile in (("((2,2),(2,3)):((2,12),(1,4))", "(4,6)"), ("(8,4):(1,8)", "(4,8)")):
        type_into(browser, "tv", text)
        type_into(browser, "tile", tile)
        layout = L(text)
        threads, values = (cute.size(layout, mode=[i]) for i in (0, 1))
        holder = {int(layout((t, v))): (t, v) for t in range(threads) for v in range(values)}
        now = shown(browser, panel=0)
        assert now["cells"] == [f"T{t} V{v}" for t, v in (holder[offset] for offset in range(cute.size(layout)))]
        assert now["owners"] == [holder[offset][0] for offset in range(cute.size(layout))]
        assert counts(browser) == count_row(layout)
    type_into(browser, "focus", "3")
    faded = "explorer.scene.panels[0].cells.filter(cell => !cell.faded).map(cell => cell.owner)"
    assert set(browser.run(faded)) == {3}
    type_into(browser, "tv", "4:1")
    assert "no layout of two modes" in shown(browser)["error"]


def held(layout, rows, letter):
    """What a panel of a tile has to show: by (row, column), the first holder, its letter, and how many others."""
    holders = {}
    for t in range(int(cute.size(layout, mode=[0]))):
        for v in range(int(cute.size(layout, mode=[1]))):
            holders.setdefault(int(layout((t, v))), []).append((t, v))
    found = {}
    for offset, pairs in holders.items():
        (t, v), others = min(pairs), len(set(pairs)) - 1
        found[offset % rows, offset // rows] = [t, v, letter, others]
    return found


def drawn(browser, panel, transposed=False):
    """By (row, column) of the operand: what a cell says, as `held` has it; no value is value 0."""
    cells = browser.run(
        f"explorer.scene.panels[{panel}].cells.map(cell => [cell.row, cell.column, cell.lines.join(' ')])"
    )
    found = {}
    for r, c, text in cells:
        t, first, letter, v, others = re.fullmatch(r"T(\d+)(?:\+(\d+))? ?(?:([abcV])(\d+))?(?:\+(\d+))?", text).groups()
        found[(c, r) if transposed else (r, c)] = [int(t), int(v or 0), letter or "V", int(first or others or 0)]
    return found


@pytest.mark.parametrize(
    ("name", "atoms", "tile"),
    [
        ("SM80_16x8x16_F32F16F16F32_TN", (2, 2, 1), (32, 32, 16)),
        ("SM80_16x8x16_F32F16F16F32_TN", (1, 1, 1), (16, 8, 32)),
        ("SM80_16x8x8_F32TF32TF32F32_TN", (1, 4, 1), (32, 32, 8)),
        ("SM80_8x8x4_F64F64F64F64_TN", (2, 1, 1), (32, 16, 8)),
        ("SM80_16x8x32_S32S8S8S32_TN", (1, 1, 1), (16, 16, 32)),
        ("SM90_64x32x16_F32F16F16_SS", (1, 1, 1), (64, 64, 16)),
        ("UniversalFMA", (4, 8, 1), (16, 16, 2)),
    ],
)
def test_a_tiled_mma_is_dealt_out_as_python_says(browser, url, name, atoms, tile):
    go(browser, url, f"view=mma&mma={name}&atoms={notation(atoms)}&product={notation(tile)}")
    assert shown(browser)["error"] == ""
    tiled = cute.make_tiled_mma(MMA_OPS[name], atoms, tile)
    for panel, operand, rows in ((1, "A", tile[0]), (0, "B", tile[1]), (2, "C", tile[0])):
        if operand != "C" and name.startswith("SM90"):
            assert "shared memory" in browser.run(f"explorer.scene.panels[{panel}].subtitle")
            continue
        layout = getattr(tiled, f"tv_layout_{operand}_tiled")
        assert drawn(browser, panel, operand == "B") == held(layout, rows, operand.lower()), operand
    type_into(browser, "product", notation((tile[0] + 1, *tile[1:])))
    assert f"write {notation(tile)}" in shown(browser)["error"]


def test_a_tiled_copy_is_dealt_out_as_python_says(browser, url):
    go(browser, url, "view=copy&threads=(16,8):(8,1)&values=(2,4):(4,1)&tensor=(32,32):(32,1)")
    universal = cute.make_copy_atom(COPY_OPS["universal"], Float16, num_bits_per_copy=16)
    tiled = cute.make_tiled_copy_tv(universal, L("(16,8):(8,1)"), L("(2,4):(4,1)"))
    assert drawn(browser, 0) == held(tiled.layout_tv_tiled, 32, "V")
    offsets = cute.composition(cute.make_layout((32, 32), stride=(32, 1)), tiled.layout_tv_tiled)
    assert shown(browser)["values"]["(thread, value) to offset"] == str(offsets)
    type_into(browser, "tensor", "(16,32):(32,1)")
    assert "mode 0 of (16,32):(32,1) has 16 of its 32 elements" in shown(browser)["error"]
    fragment, tile = L("((4,8),(2,2,2)):((32,1),(16,8,128))"), (16, 16)
    for key, op in COPY_OPS.items():
        if not key.startswith("ldmatrix"):
            continue
        go(browser, url, f"view=copy&copy={key}&fragment={fragment}&piece={notation(tile)}&bits=16")
        assert shown(browser)["error"] == ""
        tiled = cute.make_tiled_copy(cute.make_copy_atom(op, Float16), fragment, tile)
        assert drawn(browser, 0) == held(tiled.layout_src_tv_tiled, 16, "V"), key
        assert drawn(browser, 1) == held(tiled.layout_dst_tv_tiled, 16, "V"), key


@pytest.mark.parametrize(
    "tensor", ["(16,16):(16,1)", "(16,64):(64,1)", "S<3,3,3> o 0 o (16,64):(64,1)", "(16,16):(1,16)"]
)
def test_what_ldmatrix_costs_is_predicted(browser, url, tensor):
    """Lane l of an x4 of A reads the row l % 16 from column 8 * (l / 16) on."""
    fragment = "((4,8),(2,2,2)):((32,1),(16,8,128))"
    go(browser, url, f"view=copy&copy=ldmatrix4&fragment={fragment}&piece=(16,16)&tensor={quote(tensor)}&bits=16")
    open_tab(browser, "access")
    if tensor == "(16,16):(1,16)":  # its rows are no 16 bytes of neighbours
        assert "neighbours" in browser.run("explorer.frame.querySelector('.panel').textContent")
        return
    rows = cute.composition(L(tensor), L("((16,2),8):((1,128),16)"))
    (expected,) = analyze_layout(rows, Float16, memory="shared", op="ldmatrix").instructions
    facts = shown(browser)["facts"]
    assert [facts["wavefronts"], facts["ideal"]] == [str(expected.wavefronts), str(expected.ideal_wavefronts)]


def test_editing_an_operation(browser, url):
    go(browser, url, "view=operation")
    a, b = L("(6,2):(8,2)"), L("(4,3):(3,1)")
    now = shown(browser)
    assert now["derivation"] == str(cute.explain(cute.composition, a, b))
    composed = cute.composition(a, b)
    assert now["cells"] == [str(offset) for offset in composed.offsets().ravel().tolist()]
    assert list(now["values"].values()) == [str(a), str(b), str(composed)]
    # An error keeps the operands, the derivation up to the broken condition, and says what is wrong.
    type_into(browser, "a", "(4,6,8):(2,3,5)")
    type_into(browser, "b", "6:3")
    now = shown(browser)
    explanation = cute.explain("composition", L("(4,6,8):(2,3,5)"), L("6:3"))
    assert now["derivation"] == str(explanation)
    assert now["error"] == str(explanation.error)
    assert not now["stale"]
    # The coordinate of B at which CuTe's answer is wrong is marked, and an arrow leads to the element of A.
    at = int(explanation.error.counterexample[0])
    assert shown(browser, 0)["marked"] == [at]
    assert browser.run("explorer.scene.links.map(({ from, text }) => [from, text])") == [[[0, 0, at], str(3 * at)]]
    type_into(browser, "b", "6:")
    now = shown(browser)
    assert now["error"].startswith("parse('6:'): expected an integer")
    assert now["stale"]
    invalid = "['a', 'b'].map(name => explorer.frame.querySelector(`[name=${name}]`).getAttribute('aria-invalid'))"
    assert browser.run(invalid) == ["false", "true"]
    assert browser.errors == []


def test_the_arrows_of_a_composition_lead_from_cell_to_cell(browser, url):
    go(browser, url, "view=operation&at=7")
    links = browser.run("explorer.scene.links.map(({ from, to, text }) => [from, to, text])")
    # B at 7 = (3,1) is 10; A at 10 = (4,1) is 34; and A o B at ((1,1),1) is 34.
    assert links == [[[0, 3, 1], [1, 4, 1], "10"], [[1, 4, 1], [2, 3, 1], "34"]]
    assert browser.run("document.querySelectorAll('.tw-show .k').length") == 2
    # Where the panels stand one below the other the arrows go beside them, not through what they say.
    go(browser, url, "view=operation&at=7", width=800, height=1400)
    assert len(set(browser.run("explorer.canvas.boxes.map(({ x }) => x)"))) == 1
    over = """[...document.querySelectorAll(".tw-show .h, .tw-show .u")].some(text => {
        const a = text.getBBox();
        return [...document.querySelectorAll(".tw-show .k")].some(path => Array.from({ length: 200 }, (_, i) =>
            path.getPointAtLength(path.getTotalLength() * i / 199)).some(({ x, y }) =>
            x > a.x && x < a.x + a.width && y > a.y && y < a.y + a.height)); })"""
    assert not browser.run(over)


@pytest.mark.parametrize("operation", ["logical_divide", "zipped_divide", "tiled_divide", "flat_divide"])
@pytest.mark.parametrize(
    ("layout", "tiler"),
    [
        ("(9,(4,8)):(59,(13,1))", "<3:3,(2,4):(1,8)>"),
        ("(4,6):(1,4)", "(2,3)"),
        ("24:1", "4:2"),
        ("(4,2,3):(2,1,8)", "4:2"),
    ],
)
def test_a_divide_has_a_colour_for_each_tile(browser, url, operation, layout, tiler):
    go(browser, url, f"view=operation&operation={operation}&a={layout}&b={quote(tiler)}")
    zipped = cute.zipped_divide(L(layout), L(tiler) if "<" not in tiler else (L("3:3"), L("(2,4):(1,8)")))
    rows = int(cute.size(zipped, mode=[0]))
    tile_of = {offset: i // rows for i, offset in enumerate(zipped.offsets().ravel(order="F").tolist())}
    for panel in (0, 1):
        now = shown(browser, panel)
        inside = [
            (int(cell), owner) for cell, owner in zip(now["cells"], now["owners"], strict=True) if owner is not None
        ]
        assert len(inside) == len(tile_of)
        assert [tile_of[offset] for offset, _ in inside] == [owner for _, owner in inside], panel


def test_every_operation_is_drawn_without_an_error(browser, url):
    go(browser, url, "view=operation")
    for op in KINDS:
        type_into(browser, "operation", op)
        now = shown(browser)
        assert now["error"] == "", op
        assert now["cells"], op
    assert browser.errors == []


def test_a_swizzle_is_shown_against_the_banks(browser, url):
    go(browser, url, "view=banks&swizzle=S<5,0,5>&shared=(32,32):(32,1)&width=4")
    before, after = (
        analyze_layout(x, element_type("f32"), memory="shared", width=4).instructions[0]
        for x in (L("(32,32):(32,1)"), L("S<5,0,5> o 0 o (32,32):(32,1)"))
    )
    facts = shown(browser)["facts"]
    assert [facts["wavefronts before"], facts["after"]] == [str(before.wavefronts), str(after.wavefronts)]
    assert shown(browser, 1)["owners"][:12:4] == [0, 1, 2]  # down a column, four to the banks of a colour
    assert "1 wavefront, ideal 1" in browser.run("explorer.scene.panels[3].title")


def test_a_request_lies_over_lines_and_banks(browser, url):
    go(browser, url, "view=request&request=32:2")
    sides = browser.run("explorer.scene.panels[0].cells.map(cell => [cell.column, cell.lines[0], cell.faded])")
    assert len(sides) == 64
    assert [text for column, text, _ in sides if column % 2 == 0] == [f"{lane}" for lane in range(32)]
    assert all(faded for column, _, faded in sides if column % 2)  # fetched for nothing
    type_into(browser, "memory", "shared")
    assert browser.run("explorer.scene.panels[0].rows") == 2
    assert "2 wavefronts, ideal 1" in browser.run("explorer.scene.panels[0].title")


def place_of(browser, panel, row, column):
    """Where a cell is in the window."""
    return browser.run(
        f"""(() => {{ const svg = document.querySelector(".stage svg"), window = svg.getBoundingClientRect();
        const [x, y, width] = svg.getAttribute("viewBox").split(" ").map(Number), scale = window.width / width;
        const {{ left, top, w, h }} = explorer.canvas.boxes[{panel}];
        const at = [left + ({column} + .5) * w - x, top + ({row} + .5) * h - y];
        return [window.left + at[0] * scale, window.top + at[1] * scale];
        }})()"""
    )


def test_a_cell_is_chosen_by_mouse_or_keyboard(browser, url):
    go(browser, url, "view=operation")
    press(browser, *place_of(browser, 2, 3, 1))
    assert shown(browser)["marked"] == [7]
    # In B the same index, in A the one that B gives: A o B at 7 is A(B(7)) = A(10).
    marked = "explorer.scene.panels.map(panel => panel.cells.find(cell => cell.marked).lines[0])"
    assert browser.run(marked) == ["10", "34", "34"]
    browser.run("document.querySelector('.stage svg').focus()")
    browser.press("ArrowRight")
    browser.run("explorer.update()")
    assert shown(browser)["marked"] == [11]
    browser.press("ArrowDown")  # past the end: stays
    browser.run("explorer.update()")
    assert shown(browser)["marked"] == [11]
    assert "at=11" in shown(browser)["hash"]
    assert browser.run("document.activeElement === document.querySelector('.stage svg')")
    status = browser.run("explorer.frame.querySelector('.status').textContent")
    assert "offset42" in status


def test_pointing_at_a_cell_says_what_it_is(browser, url):
    go(browser, url, "view=layout&layout=(4,8):(8,1)")
    x, y = place_of(browser, 0, 1, 2)
    browser("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    assert browser.run("explorer.frame.querySelector('.tip').innerText").split("\n")[:6] == [
        "coordinate",
        "(1,2)",
        "offset",
        "10",
        "bank",
        "10",
    ]


def test_a_number_is_dragged(browser, url):
    go(browser, url, "view=layout&layout=(4,8):(8,1)")
    middle = """(n => { const box = document.querySelectorAll(".number")[n].getBoundingClientRect();
        return [box.left + box.width / 2, box.top + box.height / 2]; })"""
    x, y = browser.run(f"{middle}(2)")
    press(browser, x, y, to=(x + 20, y))
    assert browser.run("explorer.state.layout") == "(4,8):(10,1)"
    x, y = browser.run(f"{middle}(0)")
    press(browser, x, y, to=(x - 200, y))
    assert browser.run("explorer.state.layout") == "(1,8):(10,1)"  # an extent is at least 1
    x, y = browser.run(f"{middle}(3)")
    press(browser, x, y, to=(x - 30, y))
    assert browser.run("explorer.state.layout") == "(1,8):(10,-2)"  # a stride may be anything
    browser.run("explorer.go(-1)")
    browser.run("explorer.go(-1)")
    assert browser.run("explorer.state.layout") == "(4,8):(10,1)"  # a drag is one change
    press(browser, *browser.run(f"{middle}(1)"))  # pressed alone: it is selected, to be written over
    assert (
        browser.run(
            "getSelection().toString() || document.activeElement.value.slice(...[document.activeElement]"
            ".flatMap(x => [x.selectionStart, x.selectionEnd]))"
        )
        == "8"
    )
    browser.press("ArrowDown")
    browser.run("explorer.update()")
    assert browser.run("explorer.state.layout") == "(4,7):(10,1)"


def test_what_was_done_is_undone_and_done_again(browser, url):
    go(browser, url, "view=layout&layout=(4,8):(8,1)")
    for text in ("(2,8):(8,1)", "(2,9):(9,1)"):
        type_into(browser, "layout", text)
        type_into(browser, "color", "bank" if "9" in text else "row")
    key = "document.dispatchEvent(new KeyboardEvent('keydown', {{ key: 'z', ctrlKey: true, shiftKey: {} }}))"
    states = []
    for redo in ("false", "false", "false", "false", "false", "true", "true"):
        browser.run(key.format(redo))
        states.append(browser.run("[explorer.state.layout, explorer.state.color]"))
    a, b, c = "(4,8):(8,1)", "(2,8):(8,1)", "(2,9):(9,1)"
    assert states == [
        [c, "row"], [b, "row"], [b, "offset"], [a, "offset"], [a, "offset"], [b, "offset"], [b, "row"]
    ]  # fmt: skip
    assert browser.run("explorer.frame.querySelector('[name=layout]').value") == b


def test_the_address_brings_everything_back(browser, url):
    go(browser, url, "view=operation&operation=logical_divide")
    type_into(browser, "a", "(4,2,3):(2,1,8)")
    type_into(browser, "b", "<2:1,_,3:1>")
    type_into(browser, "bits", "16")
    type_into(browser, "memory", "shared")
    type_into(browser, "base", "128")
    browser.run("explorer.change({ at: '5' }, null); explorer.update()")
    before, state = shown(browser), browser.run("explorer.state")
    go(browser, url, before["hash"][1:])
    assert shown(browser) == before
    assert browser.run("explorer.state") == state
    # Typed into the address bar of the open page, too; what nobody offers is left alone.
    browser.run("location.hash = 'view=layout&layout=(2,2):(2,1)&color=pink&bits=7&nothing=1'")
    browser.wait("explorer.scene.panels[0].cells.length === 4")
    assert browser.run("[explorer.state.color, explorer.state.bits]") == ["offset", "32"]
    assert shown(browser)["cells"] == ["0", "2", "1", "3"]


def test_what_is_written_into_the_address_is_text(browser, url):
    go(browser, url, f"view=layout&layout={quote('<img src=x onerror=alert(1)>')}")
    assert "img" in shown_error(browser)
    assert browser.run("document.images.length") == 0
    for view in ("nothing", "constructor", "__proto__"):
        go(browser, url, f"view={view}&operation=constructor&copy=constructor&mma=toString&at=x")
        assert browser.run("explorer.state.view") == "layout"


def shown_error(browser):
    return browser.run("explorer.frame.querySelector('.operand .error').textContent")


def test_an_error_marks_where_and_says_what_would_work(browser, url):
    marked = "[...explorer.frame.querySelectorAll('.wrong')].map(x => x.textContent)"
    fixes = "[...explorer.frame.querySelectorAll('.fix')].map(x => x.textContent)"
    go(browser, url, f"view=layout&layout={quote('(4,8):(8,x)')}")
    assert browser.run(marked) == ["x"]
    type_into(browser, "layout", "(4,8):(8,1")
    browser.wait(f"{fixes}.length")
    assert browser.run(fixes) == ["(4,8):(8,1)"]
    browser.run("explorer.frame.querySelector('.fix').click(); explorer.update()")
    assert shown(browser)["error"] == ""
    assert browser.run("explorer.state.layout") == "(4,8):(8,1)"
    go(browser, url, "view=operation&operation=composition&a=(4,6,8):(2,3,5)&b=6:3")
    browser.wait(f"{fixes}.length === 3")
    assert browser.run(marked) == ["3"]
    for text in browser.run(fixes):
        name, operand = text.split(" = ")
        given = {"A": "(4,6,8):(2,3,5)", "B": "6:3"} | {name: operand}
        cute.composition(L(given["A"]), L(given["B"]))  # works


def test_large_layouts_are_cut_and_said_so(browser, url):
    go(browser, url, "view=layout&layout=(4096,4096):(4096,1)")
    assert len(shown(browser)["cells"]) == 63 * 63
    assert "63 x 63 of 4096 x 4096 elements are drawn" in browser.run("document.querySelector('.stage').textContent")
    open_tab(browser, "access")
    assert "16777216 elements" in browser.run("explorer.frame.querySelector('.panel').textContent")
