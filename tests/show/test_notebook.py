"""What a notebook shows of our objects: JupyterLab's page of it, in real Chromium, light and dark."""

from __future__ import annotations

import json

import pytest

from chromium import contrast, luminance
from notebooks import bundle_of, page_of, value_of
from tilewright import Float16, Float32, cute

FOREIGN = "<svg id='foreign' width='90' height='20'><rect width='9' height='9'/><text y='15'>not ours</text></svg>"

# Sources of cells, each with texts that its picture must have.
CELLS = {
    "layout": ("cute.make_layout((4, 8), stride=(8, 1))", ["(4,8):(8,1)", *map(str, range(32))]),
    "nested": ("cute.make_layout((4, (2, 3)), stride=(1, (4, 8)))", ["(4,(2,3)):(1,(4,8))", *map(str, range(24))]),
    "swizzle": ("cute.make_swizzle(2, 0, 3)", ["S<2,0,3>"]),
    "swizzled": ("cute.parse('S<2,0,3> o 0 o (8,8):(8,1)')", ["S<2,0,3> o 0 o (8,8):(8,1)", "63"]),
    "picture": (
        "cute.show(cute.zipped_divide, cute.parse('(4,6):(1,4)'), (2, 3))",
        ["((2,3),(2,2)):((1,4),(2,12))", "23"],
    ),
    "copy": (
        "import tilewright as tw\natom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), tw.Float32)\n"
        "cute.make_tiled_copy_tv(atom, cute.make_layout((4, 8), stride=(8, 1)), cute.make_layout((2, 2)))",
        ["T0", "T31", "V3"],
    ),
    "values": (
        "import numpy as np\nfrom tilewright.cute.runtime import from_dlpack\n"
        "from tilewright.kernels import visualize_tv\n"
        "visualize_tv(from_dlpack(np.arange(24)), cute.parse('((2,2),(2,3)):((2,12),(1,4))'))",
        ["T0V0", "T3V5", "23"],
    ),
    "explanation": ("cute.explain('coalesce', cute.parse('(2,(1,6)):(1,(6,2))'))", ["12:1"]),
    "large": ("cute.make_layout((256, 256))", ["65535"]),
}
# The table of an analysis is HTML, with a picture in it.
HTML_ONLY = {
    "analysis": (
        "import tilewright as tw\n"
        "cute.analyze(cute.make_layout((32, 4), stride=(32, 1)), tw.Float32, memory='shared', width=4)",
        ["32 wavefronts"],
    ),
}
PLAIN = {"plain": ("cute.E(0)", "1@0")}

# Every picture: its place, its texts, and for each text the colours of it and of what is behind it.
LOOK = """[...document.querySelectorAll(".jp-OutputArea-output")].map(output => {
    const svg = output.querySelector("svg.tw-show, svg.tilewright");
    if (!svg) return { text: output.textContent.trim() };
    const box = svg.getBoundingClientRect(), area = output.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter(text => text.textContent);
    const ground = text => {
        const at = text.getBoundingClientRect(), x = at.x + at.width / 2, y = at.y + at.height / 2;
        const behind = [...svg.querySelectorAll("rect")].filter(rect => {
            const { left, right, top, bottom } = rect.getBoundingClientRect();
            const filled = getComputedStyle(rect).fill !== "none";
            return filled && left <= x && x <= right && top <= y && y <= bottom;
        });
        if (behind.length) return getComputedStyle(behind.at(-1)).fill;
        // Many cells are lines, whose darkest colour this is; other texts stand on the page.
        if (text.matches(".c")) return "rgb(170, 170, 0)";
        return getComputedStyle(document.querySelector(".jp-Notebook") ?? document.body).backgroundColor;
    };
    const scrolls = x => x.scrollWidth > x.clientWidth && getComputedStyle(x).overflowX !== "visible";
    const sampled = texts.length > 300 ? texts.filter((_, i) => i % 29 === 0) : texts;
    return {
        type: output.dataset.mimeType, width: box.width, height: box.height,
        inside: box.left >= area.left - 1
            && (box.right <= innerWidth || [...output.querySelectorAll("*")].some(scrolls)),
        texts: texts.map(text => text.textContent),
        sizes: sampled.map(text => text.getBoundingClientRect().height),
        colors: sampled.map(text => [getComputedStyle(text).fill, ground(text)]),
        hovers: [...svg.querySelectorAll("g > title")].slice(0, 3).map(title => title.textContent),
    };
})"""


@pytest.fixture(scope="module")
def bundles():
    names = {"cute": cute}
    return {
        name: (source, bundle_of(value_of(source, names)))
        for name, (source, _) in {**CELLS, **HTML_ONLY, **PLAIN}.items()
    }


def look(browser, folder, bundles, form, dark):
    """What is on the page of these cells, of which only one form is stored besides the text."""
    cells = [(source, {kind: data[kind] for kind in (form, "text/plain") if kind in data}) for source, data in bundles]
    cells.append(("foreign", {"text/html": FOREIGN, "text/plain": ""}))
    file = folder / "notebook.html"
    file.write_text(page_of(cells, dark=dark), encoding="utf-8")
    browser.open(file.as_uri(), dark=dark, width=1300)
    assert browser.errors == []
    return browser.run(LOOK)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_notebook_shows_the_pictures(browser, bundles, tmp_path, dark):
    cells = {**CELLS, **HTML_ONLY}
    *found, foreign = look(browser, tmp_path, [bundles[name] for name in cells], "text/html", dark)
    for seen, (name, (_, texts)) in zip(found, cells.items(), strict=True):
        assert seen.get("type") == "text/html", name
        assert seen["width"] > 60, name
        assert seen["height"] > 40, name
        assert seen["inside"], name
        missing = [text for text in texts if not any(text in line for line in seen["texts"])]
        assert missing == [], name
        assert min(seen["sizes"]) >= (4 if name == "large" else 8), name
        assert all(ground and contrast(color, ground) >= 4.5 for color, ground in seen["colors"]), name
    hovers = " ".join(found[0]["hovers"])
    assert "coordinate" in hovers
    assert "offset" in hovers
    # Our rules for texts and cells leave what is not ours alone.
    assert foreign["text"] == "not ours"
    styles = browser.run("(x => [x.textAnchor, x.stroke])(getComputedStyle(document.querySelector('#foreign text')))")
    assert styles == ["start", "none"]
    assert browser.run("getComputedStyle(document.querySelector('#foreign rect')).stroke") == "none"
    ground = browser.run("getComputedStyle(document.querySelector('.jp-Notebook') ?? document.body).backgroundColor")
    assert (luminance(ground) < 0.2) == dark


def test_pointing_at_a_cell_shows_what_it_is(browser, bundles, tmp_path):
    look(browser, tmp_path, [bundles["layout"]], "text/html", False)
    x, y = browser.run(
        """(cell => { const at = cell.querySelector("rect").getBoundingClientRect();
        return [at.left + at.width / 2, at.top + at.height / 2]; })
        ([...document.querySelectorAll("svg.tw-show g")].find(g => g.querySelector("text")?.textContent === "10"))"""
    )
    browser("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    browser.wait("[...document.querySelectorAll('.tw-hover')].some(box => getComputedStyle(box).display === 'block')")
    shown = browser.run("document.querySelector('.tw-hover').textContent")
    assert "coordinate (1,2)" in shown
    assert "offset 10" in shown


MMA = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (2, 2, 1), (64, 64, 16))
NESTED = [cute.parse(f"((8,8),(8,8)):{stride}") for stride in ("((1,64),(8,512))", "((8,512),(1,64))")]


@pytest.mark.parametrize(
    "picture",
    [
        cute.show(MMA),
        cute.show(MMA, thread=37),
        cute.show(cute.composition, *NESTED),
        cute.show(cute.composition, *map(cute.parse, ("4096:2", "4096:1"))),
    ],
    ids=["TiledMma", "of a thread", "composition", "one mode"],
)
def test_pointing_at_one_of_many_cells_shows_where_it_is(browser, tmp_path, picture):
    """Panels of 64 x 64 cells: an SVG has no room for titles, the script finds the cell under the pointer."""
    file = tmp_path / "picture.html"
    file.write_text(picture.html(), encoding="utf-8")
    assert file.stat().st_size < 200_000
    browser.open(file.as_uri(), width=1300)
    for number, row, column in ((0, 3, 60), (1, 50, 9), (2, 17, 42)):
        panel = picture.panels[number].panel
        x, y = browser.run(
            f"""((many, row, column) => {{
            const [left, top, width, height, rows, columns] = many.dataset.cells.split(" ").map(Number);
            const point = new DOMPoint(left + (column + 0.5) * width / columns, top + (row + 0.5) * height / rows);
            const place = point.matrixTransform(many.getScreenCTM());
            scrollBy(0, place.y - 300);
            const at = point.matrixTransform(many.getScreenCTM());
            return [at.x, at.y];
            }})(document.querySelectorAll("[data-cells]")[{number}], {row}, {column})"""
        )
        cell = next(cell for cell in panel.cells if (cell.row, cell.column) == (row, column))
        expected = f"coordinate {dict(cell.hover)['coordinate']}\n{' '.join(cell.lines)}"
        browser("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        browser.wait(f"document.querySelector('.tw-hover').textContent === {json.dumps(expected)}")
    assert browser.errors == []


def test_what_has_no_picture_is_shown_as_text(browser, bundles, tmp_path):
    found, _ = look(browser, tmp_path, [bundles["plain"]], "text/html", False)
    assert set(bundles["plain"][1]) == {"text/plain"}
    assert found == {"text": PLAIN["plain"][1]}


def test_the_page_of_a_picture_stands_alone(browser, tmp_path):
    file = tmp_path / "picture.html"
    for dark in (False, True):
        file.write_text(cute.show(cute.make_layout((4, 8), stride=(8, 1))).html(), encoding="utf-8")
        browser.open(file.as_uri(), dark=dark)
        assert browser.errors == []
        script = "[...document.querySelectorAll('svg.tw-show text')].map(text => text.textContent)"
        assert {str(i) for i in range(32)} <= set(browser.run(script))


def test_a_notebook_stores_one_form_of_a_picture(bundles):
    for name in CELLS:
        forms = bundles[name][1]
        assert set(forms) == {"text/html", "text/plain"}, name
        assert max(map(len, forms.values())) <= 200_000, name
