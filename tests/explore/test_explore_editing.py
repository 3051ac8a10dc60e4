"""The page in a browser, as one file: what is edited changes picture, table, derivation and counts as Python says."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from chromium import contrast, luminance
from explored import CELLS, go, notation, shown, type_into
from test_explore_algebra import KINDS
from tilewright import cute
from tilewright.analysis.layouts import analyze_layout
from tilewright.explore.operands import element_type
from tilewright.explore.page import page
from tilewright.show.drawing.palette import thread_color

L = cute.parse


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    file = tmp_path_factory.mktemp("page") / "a page.html"
    file.write_text(page(), encoding="utf-8")
    return file.as_uri()


def count_row(layout, **options):
    (x,) = analyze_layout(layout, element_type("f32"), **options).instructions
    if x.memory == "shared":
        return [x.lanes * x.requests, x.wavefronts, x.ideal_wavefronts, x.conflicts, x.bytes_useful]
    return [x.lanes * x.requests, x.sectors, x.ideal_sectors, x.lines, x.bytes_useful]


def test_editing_a_layout(browser, url):
    go(browser, url)
    for text in ("(4,8):(8,1)", "(4,(2,3)):(1,(4,8))", "(32,4):(33,1)", "S<2,0,3> o 0 o (8,8):(8,1)", "12:-2"):
        layout = L(text)
        type_into(browser, "layout", text)
        now = shown(browser)
        offsets = layout.offsets().ravel().tolist()
        assert now["error"] == ""
        assert now["cells"] == [str(offset) for offset in offsets]
        domain = layout.outer if isinstance(layout, cute.ComposedLayout) else layout
        coordinates = [notation(cute.idx2crd(i, domain.shape)) for i in range(len(offsets))]
        bytes_ = [4 * offset for offset in offsets]  # elements of 4 bytes, from 0 on
        places = [[byte, byte // 4 % 32, byte // 32] for byte in bytes_]
        expected = [[i, coordinates[i], offset, *places[i]] for i, offset in enumerate(offsets)][:64]
        assert now["table"] == [list(map(str, row)) for row in expected]
        derivation = now["derivation"].split("\n")[: 3 if isinstance(layout, cute.Layout) else -1]
        assert derivation == str(cute.explain("crd2idx", cute.idx2crd(0, domain.shape), domain)).split("\n")
        assert now["facts"][0][1] == text
        if layout(0) == 0 and text[:2] != "12":
            assert now["counts"][0] == count_row(layout)
    type_into(browser, "layout", "(32,4):(32,1)")
    type_into(browser, "memory", "shared")
    type_into(browser, "width", "4")
    assert shown(browser)["counts"][0] == count_row(L("(32,4):(32,1)"), memory="shared", width=4)
    advised = "document.getElementById('advice').textContent"
    for text, beginning in (
        ("(32,4):(32,1)", "32-way"),
        ("(4,8):(8,1)", "accesses of 16"),
        ("4:1", "4 of 32"),
        ("32:1", ""),
    ):
        type_into(browser, "layout", text)
        said = analyze_layout(L(text), element_type("f32"), memory="shared", width=4).advice
        assert said.startswith(beginning)
        assert browser.run(advised) == (f"{said[0].upper()}{said[1:]}." if said else "")
    type_into(browser, "layout", "(32,4):(32,1)")
    type_into(browser, "base", "2")  # is not analysed
    assert browser.run(advised) == ""
    type_into(browser, "base", "0")
    type_into(browser, "color", "bank")
    fills = browser.run(f"{CELLS}.map(cell => cell.querySelector('rect').getAttribute('fill'))")
    assert fills == [thread_color(v % 32) for v in range(4) for _ in range(32)]
    type_into(browser, "base", "2")
    assert "lane 0 of request 0 would fault" in browser.run("document.getElementById('accesses').textContent")
    assert browser.errors == []


def test_editing_a_thread_value_layout(browser, url):
    go(browser, url, "view=tv")
    for text, tile in (("((2,2),(2,3)):((2,12),(1,4))", "(4,6)"), ("(8,4):(1,8)", "(4,8)")):
        type_into(browser, "tv", text)
        type_into(browser, "tile", tile)
        layout = L(text)
        now = shown(browser)
        owner = {
            int(layout((t, v))): t
            for t in range(cute.size(layout, mode=[0]))
            for v in range(cute.size(layout, mode=[1]))
        }
        assert now["cells"] == [f"T{owner[offset]}" for offset in range(cute.size(layout))]
        fills = browser.run(f"{CELLS}.map(cell => cell.querySelector('rect').getAttribute('fill'))")
        assert fills == [thread_color(owner[offset]) for offset in range(cute.size(layout))]
        assert now["counts"][0] == count_row(layout)
    type_into(browser, "tv", "4:1")
    assert "no layout of two modes" in shown(browser)["error"]


def test_editing_an_operation(browser, url):
    go(browser, url, "view=operation")
    a, b = L("(6,2):(8,2)"), L("(4,3):(3,1)")
    now = shown(browser)
    assert now["derivation"] == str(cute.explain(cute.composition, a, b))
    composed = cute.composition(a, b)
    assert now["cells"] == [str(offset) for offset in composed.offsets().ravel().tolist()]
    assert [row[1] for row in now["facts"]] == [str(a), str(b), str(composed)]
    type_into(browser, "operation", "zipped_divide")
    now = shown(browser)
    divided = cute.zipped_divide(L("(9,(4,8)):(59,(13,1))"), (L("3:3"), L("(2,4):(1,8)")))
    assert now["facts"][-1][1] == str(divided)
    assert now["counts"][0] == count_row(divided)
    # An error keeps the operands, the derivation up to the broken condition, and says what is wrong.
    type_into(browser, "operation", "composition")
    type_into(browser, "a", "(4,6,8):(2,3,5)")
    type_into(browser, "b", "6:3")
    now = shown(browser)
    explanation = cute.explain("composition", L("(4,6,8):(2,3,5)"), L("6:3"))
    assert now["derivation"] == str(explanation)
    assert now["error"] == str(explanation.error)
    assert not now["stale"]
    type_into(browser, "b", "6:")
    now = shown(browser)
    assert now["error"].startswith("parse('6:'): expected an integer")
    assert now["stale"]
    assert (
        browser.run("form.elements.b.getAttribute('aria-invalid') + form.elements.a.getAttribute('aria-invalid')")
        == "truefalse"
    )
    assert browser.errors == []


def test_every_operation_is_drawn_without_an_error(browser, url):
    go(browser, url, "view=operation")
    for op in KINDS:
        type_into(browser, "operation", op)
        now = shown(browser)
        assert now["error"] == "", op
        if op != "crd2idx":
            assert now["cells"], op
    assert browser.errors == []


def test_a_cell_is_chosen_by_mouse_or_keyboard(browser, url):
    go(browser, url, "view=operation")
    cell = """document.querySelector('#picture figure:last-child [data-index="7"]')"""
    browser.run(f"{cell}.dispatchEvent(new MouseEvent('click', {{ bubbles: true }}))")
    assert shown(browser)["marked"] == [7]
    # In B the same index, in A the one that B gives: A o B at 7 is A(B(7)) = A(10).
    marked = browser.run("[...document.querySelectorAll('#picture .marked .first')].map(text => text.textContent)")
    assert marked == ["34", "10", "34"]
    browser.run("document.querySelector('#picture svg[tabindex]').focus()")
    browser.press("ArrowRight")
    assert shown(browser)["marked"] == [11]
    browser.press("ArrowDown")  # past the end: stays
    assert shown(browser)["marked"] == [11]
    assert "at=11" in shown(browser)["hash"]
    names = browser.run(
        "[...document.querySelectorAll('input, select, button, svg[tabindex]')].filter(x => x.tabIndex < 0).length"
    )
    assert names == 0


def test_the_address_brings_everything_back(browser, url):
    go(browser, url, "view=operation&operation=logical_divide")
    type_into(browser, "a", "(4,2,3):(2,1,8)")
    type_into(browser, "b", "<2:1,_,3:1>")
    type_into(browser, "bits", "16")
    type_into(browser, "memory", "shared")
    type_into(browser, "base", "128")
    type_into(browser, "color", "bank")
    browser.run("choose(5)")
    before, state = shown(browser), browser.run("read()")
    go(browser, url, before["hash"][1:])
    assert shown(browser) == before
    assert browser.run("read()") == state
    # Typed into the address bar of the open page, too; what nobody offers is left alone.
    browser.run("location.hash = 'view=layout&layout=(2,2):(2,1)&color=pink&bits=7&nothing=1'")
    browser.wait("document.querySelectorAll('#picture .cell').length === 4")
    assert browser.run("[form.elements.color.value, form.elements.bits.value]") == ["row", "32"]
    assert shown(browser)["cells"] == ["0", "2", "1", "3"]


def test_what_is_written_into_the_address_is_text(browser, url):
    go(browser, url, f"view=layout&layout={quote('<img src=x onerror=alert(1)>')}")
    assert "img" in shown(browser)["error"]
    assert browser.run("document.images.length") == 0


def test_large_layouts_are_cut_and_said_so(browser, url):
    go(browser, url, "view=layout&layout=(4096,4096):(4096,1)")
    now = shown(browser)
    assert len(now["cells"]) == 64 * 64
    assert "The first 64 x 64 of 4096 x 4096 are drawn." in browser.run(
        "document.getElementById('picture').textContent"
    )
    assert "16777216 elements" in browser.run("document.getElementById('accesses').textContent")


@pytest.mark.parametrize("dark", [False, True])
def test_the_page_is_readable(browser, url, dark):
    """A contrast of at least 4.5 (WCAG AA) between texts and what is behind them, and nothing wider than the window."""
    go(browser, url, "view=operation&operation=composition&a=(4,6,8):(2,3,5)&b=6:3", dark=dark)
    pairs = browser.run(
        """[["body", "body"], ["h1", "body"], [".hint", "body"], ["legend", "body"], ["#error", "body"],
        ["input.wide", "input.wide"], ["select", "select"], ["#derivation", "#derivation"], ["#facts td", "body"],
        ["#facts th", "#facts th"]]
        .map(([text, ground]) => [text, getComputedStyle(document.querySelector(text)).color,
                                  getComputedStyle(document.querySelector(ground)).backgroundColor])"""
    )
    for name, text, ground in pairs:
        assert contrast(text, ground) >= 4.5, (name, text, ground)
    assert (luminance(pairs[0][2]) < 0.2) == dark
    for width in (1100, 400):
        go(browser, url, "view=layout&layout=(16,64):(64,1)", dark=dark, width=width)
        assert browser.run("document.documentElement.scrollWidth") <= width
