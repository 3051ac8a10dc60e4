"""The formats of pictures: golden SVG, size and speed, what hovering shows, terminals, TikZ, files."""

from __future__ import annotations

import gc
import random
import re
import shutil
import subprocess
import sys
import time
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from places import ROOT
from tilewright import Float16, Float32, _core, cute
from tilewright.show import Cell, Entry, Label, Link, Panel, Picture, Placed, below, beside
from tilewright.show.drawing.measure import measure
from tilewright.show.drawing.palette import fill, thread_ansi
from tilewright.show.formats import export
from tilewright.show.formats.pdf import pdf

GOLDEN = Path(__file__).parent / "golden_svg"
SVG = "{http://www.w3.org/2000/svg}"
CHROMIUM = shutil.which("chromium")

PICTURES = {
    "layout": lambda: cute.show("(4,8):(8,1)", at=(1, 2)),
    "nested": lambda: cute.show("((2,2),(2,3)):((2,12),(1,4))", color=(1, 1), dtype=Float16),
    "three_modes": lambda: cute.show("(2,3,4):(12,4,1)"),
    "coordinates": lambda: cute.show("(3,4):(1@1,1@0)"),
    "thread_value": lambda: cute.show("((2,2),(2,3)):((2,12),(1,4))", tile=(24,), at=(1, 3)),
    "swizzle": lambda: cute.show(cute.make_swizzle(3, 4, 3), at=500),
    "swizzled_layout": lambda: cute.show("S<2,0,3> o 0 o (8,8):(8,1)"),
    "dense": lambda: cute.show("(100,16):(16,1)"),
    "links": lambda: everything(),
}


def everything() -> Picture:
    """What the other pictures do not have: panels below each other, legends, holes, faded cells, arrows each way."""
    first = Panel(
        "first <&>",
        "faded, empty and missing cells",
        2,
        3,
        (
            Cell(0, 0, ("a<b",), 3, (("name", 'x "y" & z'),)),
            Cell(0, 2, ("1", "two"), 30, marked=True),
            Cell(1, 0, ("",), faded=True),
            Cell(1, 2, ("p",), 5, faded=True),
        ),
        legend=(Entry(3, "three"), Entry(None, "nobody"), Entry(None, "not reached", True)),
    )
    second = Panel("second", "", 3, 1, tuple(Cell(i, 0, (str(i),), i) for i in range(3)))
    places = [Placed(0, 0, first), Placed(0, 1, second), Placed(1, 0, second)]
    links = [
        Link((0, 0, 2), (1, 2, 0), "right"),
        Link((1, 0, 0), (0, 1, 0)),
        Link((0, 1, 2), (2, 0, 0)),
        Link((2, 2, 0), (0, 0, 0)),
        Link((0, 0, 0), (0, 1, 2)),
    ]
    return Picture("a title & a half", places, ("a note", "a note that is longer than the panels " * 4), links)


@pytest.mark.parametrize("name", PICTURES)
def test_golden_svg(name):
    """To renew: `.svg()` of the picture, after looking at it."""
    assert PICTURES[name]().svg() == (GOLDEN / f"{name}.svg").read_text()


def test_the_golden_files_are_those_of_the_test():
    assert {path.stem for path in GOLDEN.glob("*.svg")} == set(PICTURES)


def test_bytes_do_not_depend_on_the_process():
    code = "from tilewright import cute; p = cute.show('(8,(2,3)):(6,(1,2))'); print(p.svg(), p.html(), p.tikz())"
    runs = [
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert len(runs[0]) > 1000


# ---- svg -------------------------------------------------------------------------------------------------------------


def titles(svg: str) -> list[dict[str, str]]:
    """What hovering shows in an SVG, cell by cell."""
    root = ElementTree.fromstring(svg)
    found = [
        dict(line.split(" ", 1) for line in title.text.split("\n"))
        for group in root.findall(f"{SVG}g")
        if (title := group.find(f"{SVG}title")) is not None
    ]
    for group in root.iter(f"{SVG}g"):
        names, kind = group.get("data-names", "").split("|"), group.get("data-text")
        for row in group.findall(f"{SVG}text[@data-hover]"):
            _, _, width, _, _, columns = map(float, group.get("data-cells").split(" "))
            letters = round(width / columns / 6)
            text = "".join(row.itertext()).ljust(letters * int(columns))
            shown = [text[i : i + letters].strip() for i in range(0, len(text), letters)]
            for column, hover in enumerate(row.get("data-hover").split("|")):
                if hover:
                    values = dict(zip(names, hover.split(" "), strict=False))
                    found.append(values | ({kind: shown[column]} if kind else {}))
    return found


@pytest.mark.parametrize("text", ["(4,8):(8,1)", "((2,2),(2,3)):((2,12),(1,4))", "(2,3,2):(6,2,1)"])
def test_hovering_shows_all_of_a_small_picture(text):
    picture = cute.show(text, dtype=Float16)
    cells = [cell for placed in picture.panels for cell in sorted(placed.panel.cells, key=lambda cell: cell[:2])]
    assert titles(picture.svg()) == [dict(cell.hover) for cell in cells]


def nested(first: int) -> str:
    """64 x 64 elements with 2 along each leaf, in Morton order; `first` is the smallest stride."""
    strides = [[str(first * 2 ** (2 * i + k)) for i in range(6)] for k in (0, 1)]
    twos = ",".join("2" * 6)
    return f"(({twos}),({twos})):(({','.join(strides[0])}),({','.join(strides[1])}))"


LARGE = [
    "(64,64):(64,1)",
    "(64,64):(1,64)",
    "(64,64):(65,1)",
    "(64,64):(1601,25)",
    "(64,64):(-1000,-7)",
    "((8,8),(8,8)):((8,512),(1,64))",
    "((4,16),(8,8)):((8,51200),(1,640))",
    "((4,4,4),(4,4,4)):((1,16,256),(4,64,1024))",
    "(64,(8,8),1):(64,(1,8),0)",
    "(((2,2),(2,(2,4))),((2,2),(2,(2,4)))):(((1,4),(16,(64,256))),((2,8),(32,(128,512))))",
    nested(1),
    nested(25),
    "S<3,3,3> o 0 o (64,64):(64,1)",
    "S<2,0,3> o 0 o (64,64):(64,1)",
    "S<3,3,3> o 0 o ((8,8),(8,8)):((8,512),(1,64))",
    f"S<3,4,3> o 0 o {nested(1)}",
    f"S<3,0,5> o 0 o {nested(1)}",  # of which no row has a colour at one distance
    f"S<3,2,5> o 0 o {nested(100)}",
]
OPTIONS = {"plain": {}, "float16": {"dtype": Float16}, "banks": {"dtype": Float16, "color": "bank"}}


def after(text: str) -> dict[str, str]:
    """Of a swizzle, which is drawn before and after, the two together have room for less."""
    return {"only": "after"} if text.startswith("S<") else {}


def coordinate_of(title: dict[str, str]) -> object:
    """The coordinate of a title, in whichever form it is written, as a layout takes it."""
    parts = [value for name, value in title.items() if name.startswith("coordinate in mode ")]
    whole = [value for name, value in title.items() if name == "coordinate" or name.endswith("-D coordinate")]
    assert len(whole) == (not parts)
    return eval(f"({','.join(f'({part})' for part in parts) or whole[0]})")


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("text", LARGE)
def test_64_by_64_has_at_most_200_kb_and_shows_coordinate_offset_bank_and_address(text, options):
    layout = cute.parse(text)
    picture = cute.show(layout, **OPTIONS[options], **after(text))
    svg_ = picture.svg()
    for page in (svg_, picture.html(), picture._repr_html_()):
        assert len(page.encode()) <= 200_000
    swizzled = re.match(r"S<\d,(\d)", text)
    assumed = max(1, 16 >> int(swizzled.group(1))) if swizzled else 4
    bytes_, of = (
        (2, "")
        if options != "plain"
        else (assumed, f" ({assumed} byte{'s' * (assumed > 1)})" if swizzled else " (f32)")
    )
    shown = titles(svg_)
    coordinates = [coordinate_of(title) for title in shown]
    assert len(set(coordinates)) == 64 * 64
    for title, coordinate in zip(shown, coordinates, strict=True):
        offset = layout(coordinate)
        assert int(title["offset"]) == offset
        assert int(title[f"address{of}"]) == offset * bytes_
        assert int(title[f"bank{of}"]) == offset * bytes_ // 4 % 32
    words = " ".join(x.text for x in ElementTree.fromstring(svg_).iter(f"{SVG}text") if x.text)
    key = ", ".join(name for name in shown[0] if name != "offset")
    assert f"pointing at a cell shows {key} of the offset in it" in words


def test_coordinates_are_as_short_as_the_other_fields_need_them():
    def first_field(text: str, **options: object) -> tuple[str, str]:
        return next(iter(titles(cute.show(text, **options, **after(text)).svg())[-1].items()))

    assert first_field("(64,64):(64,1)") == ("coordinate", "63,63")
    assert first_field("((8,8),(8,8)):((8,512),(1,64))", dtype=Float16) == ("coordinate", "(7,7),(7,7)")
    assert first_field(nested(1)) == ("2-D coordinate", "63,63")
    assert first_field(f"S<3,2,5> o 0 o {nested(100)}") == ("2-D coordinate", "63,63")


def seconds(*drawn, **options) -> float:
    begin = time.process_time()
    cute.show(*drawn, **options).svg()
    return time.process_time() - begin


@pytest.mark.parametrize("dtype", [None, Float16])
@pytest.mark.parametrize("text", LARGE)
def test_64_by_64_takes_at_most_50_ms(text, dtype):
    layout, best = cute.parse(text), 1.0
    for _ in range(40):  # what else runs on the machine only ever adds to the time
        best = min(best, seconds(layout, dtype=dtype))
        if best < 0.05:
            return
    pytest.fail(f"{best:.3f} s")


MMA = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (2, 2, 1), (64, 64, 16))


@pytest.mark.parametrize(
    ("drawn", "options"),
    [
        (cute.parse("((8,8),(8,8)):((1,64),(8,512))"), {"tile": cute.parse("(64,64):(64,1)"), "dtype": Float16}),
        (MMA, {}),
        (MMA.get_slice(5), {}),
        (cute.make_identity_tensor((64, 64)), {}),
        ((cute.composition, cute.parse("(64,64):(64,1)"), cute.parse("(64,64):(1,64)")), {}),
        ((cute.logical_divide, cute.parse("(64,64):(64,1)"), (16, 16)), {}),
    ],
    ids=["thread-value layout", "TiledMma", "ThrMma", "coordinates", "composition", "logical_divide"],
)
def test_others_take_little_longer_than_a_layout(drawn, options):
    """Where the layout takes 14 ms they take 28 to 36; of 50 ms the same is asked on slower machines.

    The two take turns, so that what else runs on the machine slows both.
    """
    layout, best, most = cute.parse("(64,64):(64,1)"), [1.0, 1.0], 50 / 14
    operands = drawn if isinstance(drawn, tuple) else (drawn,)
    gc.collect()
    gc.disable()  # what other tests have left is looked through every few thousand cells
    try:
        for turn in range(40):
            best = list(map(min, best, (seconds(layout), seconds(*operands, **options))))
            if turn >= 9 and best[1] < most * best[0]:
                return
    finally:
        gc.enable()
    pytest.fail(f"{best[1] / best[0]:.2f} times the layout's {best[0]:.4f} s, not less than {most:.2f} times")


def test_the_lines_of_many_cells_colour_each_of_them():
    chance = random.Random(3)
    dashed = irregular = 0
    for _ in range(200):
        width, colors = chance.randint(1, 12), chance.sample(["a", "b", "c", ""], chance.randint(1, 4))
        period = chance.randint(1, width)
        lines = []
        for _ in range(chance.randint(1, 5)):
            piece = [chance.choice(colors) for _ in range(period)]
            lines += [tuple((piece * width)[:width])] * chance.choice((1, 1, 20))
        drawn = [[""] * width for _ in lines]
        for (color, dashes), parts in _core.picture.strokes(lines).items():
            pieces = [int(piece) for piece in dashes.split()] or [width]
            dashed += len(pieces) == 2
            irregular += len(pieces) > 2
            on = [k % 2 == 0 for k, piece in enumerate(pieces * 2) for _ in range(piece)]  # an odd number goes on twice
            for i, start, end in parts:
                assert start < end <= width
                for place in range(start, end):
                    if not dashes or on[(place - start) % len(on)]:
                        assert drawn[i][place] == ""
                        drawn[i][place] = color
        assert [tuple(line) for line in drawn] == lines
    assert dashed > 100
    assert irregular > 50


def test_special_characters_in_a_picture_of_many_cells():
    cells = tuple(Cell(i // 40, i % 40, (f"<{i}",), i % 3, (("name", f'<& "{i}'),)) for i in range(1000))
    picture = Picture("<&>", below(Panel("<&>", "<&>", 25, 40, cells)))
    assert [title["name"] for title in titles(picture.svg())] == [f'<&\xa0"{i}' for i in range(1000)]


def test_cells_of_which_more_or_nothing_is_known():
    def hover(i):
        return () if i % 3 == 0 else (("name", str(i)), ("double", str(2 * i)), *[("also", "x")] * (i % 3 == 2))

    cells = tuple(Cell(i // 40, i % 40, (str(i),), i % 3, hover(i)) for i in range(1000))
    svg_ = Picture("t", below(Panel("t", "", 25, 40, cells))).svg()
    assert 'data-names="name|double|also"' in svg_
    assert "pointing at a cell shows name, double, also</text>" in svg_
    assert titles(svg_) == [
        {"name": str(i), "double": str(2 * i)} | ({"also": "x"} if i % 3 == 2 else {}) for i in range(1000) if i % 3
    ]


def test_the_key_says_in_which_panels_the_text_is_a_field():
    def panel(name, text):
        cells = tuple(Cell(i, 0, (text,), hover=(("place", str(i)), (name, "7"))) for i in range(500))
        return Panel(name, "", 500, 1, cells)

    svg_ = Picture("t", beside(panel("offset", "7"), panel("thread", "T7"))).svg()
    assert "pointing at a cell shows place of the offset in it or place, thread</text>" in svg_
    shown = [title for title in titles(svg_) if title["place"] == "3"]
    assert shown == [{"place": "3", "offset": "7"}, {"place": "3", "thread": "7"}]


def test_thread_value_pictures_of_64_by_64_keep_the_limit_too():
    svg = cute.show("((4,8,4),(2,2,8)):((128,1,16),(64,8,512))", tile=(64, 64)).svg()
    assert len(svg.encode()) <= 200_000
    of_tile = [title for title in titles(svg) if next(iter(title)) == "coordinate"]
    assert len({title["coordinate"] for title in of_tile}) == len(of_tile) == 64 * 64


@pytest.mark.parametrize("text", ["(64,64):(64,1)", "((4,16),(8,8)):((8,512),(1,64))"])
def test_labels_of_many_cells_stand_at_the_middle_of_what_they_stand_for(text):
    picture = cute.show(text)
    (box,) = measure(picture).boxes
    expected = []
    for axis, across in ((box.panel.column_axis, True), (box.panel.row_axis, False)):
        levels = box.column_levels if across else box.row_levels
        for (place, _), level in zip(levels, axis, strict=True):
            at = 0
            for label in level:
                middle = (box.left, box.top)[not across] + (at + label.span / 2) * box.cell[not across]
                expected.append((label.text, middle, place + 2) if across else (label.text, place, middle + 3.5))
                at += label.span
    found = ElementTree.fromstring(picture.svg()).findall(f"{SVG}text[@class='g']")
    for (label, *place), text in zip(expected, found, strict=True):
        assert text.text == label
        assert [float(text.get("x")), float(text.get("y"))] == pytest.approx(place, abs=0.1)


def test_svg_is_one_file_without_a_ground():
    for make in PICTURES.values():
        svg = make().svg()
        root = ElementTree.fromstring(svg)  # well-formed
        assert not re.search(r"<script|<image|href|url\(|@import|@font-face| id=", svg)
        assert set(re.findall(r"https?://[^\"]*", svg)) == {"http://www.w3.org/2000/svg"}
        assert all(rect.get("width") != root.get("width") for rect in root.iter(f"{SVG}rect"))


def test_any_text_stands_in_svg():
    """Markup, quotes, scripts of any language, and what XML has no place for."""
    text = "<script>alert('x')</script> & \" ]]> \u6f22 \x00\x01\x0b\x1f \ud800 \uffff"
    cell = Cell(0, 0, (text,), 3, (("coordinate", text), ("offset", text)))
    axis = ((Label(text),),)
    panel = Panel(text, text, 1, 1, (cell,), axis, axis, legend=(Entry(1, text),))
    svg = Picture(text, below(panel), (text,), (Link((0, 0, 0), (0, 0, 0), text),)).svg()
    shown = ElementTree.fromstring(svg.encode()).itertext()  # well-formed, and UTF-8
    assert any("<script>alert('x')</script> & \" ]]> \u6f22" in x for x in shown)


def test_nothing_stands_over_anything_else():
    sheet = measure(everything())
    boxes = sheet.boxes
    for box in boxes:
        assert box.x >= 0
        assert box.left + box.panel.columns * box.cell[0] <= sheet.width
        assert box.top + box.panel.rows * box.cell[1] <= sheet.notes_y
    right = boxes[0].left + boxes[0].panel.columns * boxes[0].cell[0]
    assert boxes[1].x > right
    assert boxes[2].y > max(y + 12 for _, y, _ in boxes[0].legend)
    assert boxes[0].top == boxes[1].top
    assert boxes[0].left == boxes[2].left


def test_free_panels_stand_beside_each_other_and_widen_no_column():
    def panel(columns, text):
        return Panel("", "", 1, columns, tuple(Cell(0, i, (text,)) for i in range(columns)), row_axis=((Label("r"),),))

    columns = [Placed(0, 0, panel(2, "a")), Placed(0, 1, panel(2, "b"))]
    alone = measure(Picture("", columns))
    free = [Placed(1, 1, panel(3, "c"), free=True), Placed(1, 0, panel(20, "a long text"), free=True)]
    sheet = measure(Picture("", [*columns, *free]))
    assert sheet.boxes[:2] == alone.boxes
    second, first = sheet.boxes[2:]
    assert first.x == alone.boxes[0].x
    assert second.x > first.left + 20 * first.cell[0]
    assert first.cell[0] > second.cell[0] == alone.boxes[0].cell[0]
    assert first.top == second.top > alone.boxes[0].top + alone.boxes[0].cell[1]
    assert sheet.width >= second.left + 3 * second.cell[0]


def test_long_titles_of_panels_are_broken():
    stride = ",".join(str(10**9 + i) for i in range(40))
    titles_ = f"A = ({stride})", "B = a title of words " * 12
    picture = Picture("two", beside(*(Panel(title, "", 1, 1, (Cell(0, 0, ("1",)),)) for title in titles_)))
    sheet = measure(picture)
    for box, title in zip(sheet.boxes, titles_, strict=True):
        assert all(len(line) <= 90 for line in box.title)
        assert "".join(box.title).replace(" ", "") == title.replace(" ", "")
        assert all(line.endswith((",", ")")) for line in box.title[1:] if "," in line)  # numbers stay whole
        first = box.y + 13 + 17 * (len(box.title) - 1)
        assert first < box.top
    assert sheet.width < 2 * 90 * 8 + 100
    shown = [x.text for x in ElementTree.fromstring(picture.svg()).iter(f"{SVG}text") if x.get("class") == "h"]
    assert shown == [line for box in sheet.boxes for line in box.title]


# ---- html ------------------------------------------------------------------------------------------------------------


def test_fragments_have_no_name_in_common():
    one, other = (cute.show(text)._repr_html_() for text in ("4:1", "4:2"))
    names = [set(re.findall(r'(?<= id=")[^"]+', html)) for html in (one, other)]
    assert len(names[0]) == len(names[1]) == 1
    assert names[0] != names[1]
    assert cute.show("4:1").html().count("<html") == 1


@pytest.mark.skipif(CHROMIUM is None, reason="looks at the page in Chromium")
@pytest.mark.parametrize(
    ("text", "cell", "shown"),
    [
        ("(4,8):(8,1)", "g rect", "coordinate (0,0)|offset 0|bank (f32) 0|address (f32) 0|index 0"),
        ("(64,64):(64,1)", "text.c", "coordinate 0,0|offset 0|bank (f32) 0|address (f32) 0|index 0"),
        (
            "((8,8),(8,8)):((8,512),(1,64))",
            "text.c",
            "coordinate (0,0),(0,0)|offset 0|bank (f32) 0|address (f32) 0|index 0",
        ),
    ],
)
def test_pointing_at_a_cell_shows_it_at_once(tmp_path, text, cell, shown):
    point = f"""
        <script>
        const target = document.querySelector('{cell}');
        const at = target.getBoundingClientRect();
        const place = {{clientX: at.left + 2, clientY: at.top + at.height / 2}};
        target.dispatchEvent(new PointerEvent('pointermove', {{bubbles: true, ...place}}));
        const box = document.querySelector('.tw-hover');
        document.title = box.style.display + '|' + box.textContent.replaceAll('\\n', '|');
        </script></body>"""
    page = tmp_path / "page.html"
    page.write_text(cute.show(text).html().replace("</body>", point))
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom"]
    found = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=60).stdout
    assert f"<title>block|{shown}</title>" in found


# ---- text ------------------------------------------------------------------------------------------------------------


class Terminal:
    """Standard output that says whether it is a terminal."""

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> None: ...

    def flush(self) -> None: ...


def test_colors_are_for_terminals(monkeypatch):
    picture = cute.show("(2,2):(1,2)")
    plain, colored = picture.text(color=False), picture.text(color=True)
    assert "\x1b" not in plain
    assert thread_ansi(3, " 3 ") in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == plain
    monkeypatch.delenv("NO_COLOR", raising=False)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Terminal(True))
        assert str(picture) == repr(picture) == colored
        patch.setenv("NO_COLOR", "1")
        assert str(picture) == plain
        patch.delenv("NO_COLOR")
        patch.setattr(sys, "stdout", Terminal(False))
        assert str(picture) == plain


def test_wide_tables_are_cut_on_a_terminal_only(monkeypatch):
    picture = cute.show("(4,64):(64,1)")
    assert max(map(len, picture.text(color=False).splitlines())) > 200
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Terminal(True))
        patch.setenv("COLUMNS", "70")
        text = picture.text(color=False)
    assert max(map(len, text.splitlines())) <= 70
    assert "of 64 columns: the terminal has no room for more" in text.replace("\n", " ")


def test_a_table_of_one_row_goes_on_below(monkeypatch):
    """All of its cells are there, on a terminal too, in lines that are as long as each other but for the last."""
    picture = cute.show(cute.composition, cute.parse("30:1"), cute.parse("30:1"))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Terminal(True))
        patch.setenv("COLUMNS", "70")
        text = picture.text(color=False)
    assert max(map(len, text.splitlines())) <= 70
    assert "no room" not in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert [len(line.split("|")) - 2 for line in rows] == [8, 8, 8, 6] * 3
    found = [int(x.strip(" []")) for line in rows for x in line.split("|")[1:-1]]
    assert found == [*range(30)] * 3


def test_text_is_ascii():
    for make in PICTURES.values():
        assert make().text(color=False).isascii()


def test_tables_mark_what_the_picture_marks():
    text = everything().text(color=False)
    assert "[1]" in text
    assert "(p)" in text
    assert "first <&> -> second: right" in text
    assert "[]" not in text


# ---- tikz and files --------------------------------------------------------------------------------------------------


def test_tikz_has_every_cell_and_takes_special_characters():
    for make in PICTURES.values():
        picture = make()
        lines = picture.tikz().splitlines()
        cells = sum(len(placed.panel.cells) for placed in picture.panels)
        marked = sum(cell.marked for placed in picture.panels for cell in placed.panel.cells)
        legends = sum(len(placed.panel.legend) for placed in picture.panels)
        assert sum("rectangle" in line for line in lines) == cells + marked + legends
        for line in lines:
            bare = re.sub(r"\\[\\{}$&#%_]", "", line)
            assert bare.count("{") == bare.count("}")
            assert bare.isascii()
            assert not set(bare) & set("&#%$_^~")
            if line.startswith((r"\node", r"\draw", r"\filldraw")):
                assert line.endswith(";")
    awkward = Picture(r"a_b{c}^2 ~ 50% $x$ #1 & \y", below(Panel("<…>", "", 1, 1, (Cell(0, 0, ("|",)),))))
    assert r"{a\_b\{c\}\textasciicircum{}2 \textasciitilde{} 50\% \$x\$ \#1 \& \textbackslash{}y};" in awkward.tikz()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="compiles with pdflatex")
@pytest.mark.parametrize("name", ["nested", "links"])
def test_tikz_compiles(tmp_path, name):
    source = PICTURES[name]().tikz().replace(r"\documentclass[border=4pt]{standalone}", r"\documentclass{article}")
    (tmp_path / "x.tex").write_text(source)  # standalone.cls is in another package than LaTeX
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "x.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-2000:]


def test_save_chooses_the_format_by_the_ending(tmp_path):
    picture = cute.show("(2,2):(1,2)")
    texts = {"svg": picture.svg(), "html": picture.html(), "tex": picture.tikz(), "txt": picture.text(False) + "\n"}
    for ending, text in texts.items():
        picture.save(tmp_path / f"x.{ending}")
        assert (tmp_path / f"x.{ending}").read_bytes() == text.encode()
    with pytest.raises(ValueError, match=r"a path ending in .svg, .html, .* but got .*x\.gif"):
        picture.save(tmp_path / "x.gif")


def test_a_scale_of_png_that_is_none(tmp_path):
    picture = cute.show("4:1")
    for scale in (0, -1.5, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="png: scale is positive, but got"):
            picture.png(tmp_path / "x.png", scale=scale)
    with pytest.raises(TypeError, match="png: expected scale to be a number, not '2'"):
        picture.png(tmp_path / "x.png", scale="2")
    for scale in (1e9, 1e-3):
        with pytest.raises(
            ValueError, match=r"^png: .* x .* pixels; there is room for 1 to 32767 each way, so scale is"
        ):
            picture.png(tmp_path / "x.png", scale=scale)


def test_png_without_resvg(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    export._monospace.cache_clear()
    with pytest.raises(ImportError, match=r"^png: .*`pip install resvg-py`.*\.pdf\(\) do without"):
        cute.show("4:1").png(tmp_path / "x.png")


def drawn_in(made: bytes) -> str:
    begin = made.index(b"stream\n") + 7
    return zlib.decompress(made[begin : made.index(b"\nendstream", begin)]).decode("cp1252")


def test_what_a_pdf_has(tmp_path):
    """Its objects stand where its table says; all texts are in it, with brackets and backslashes as they are."""
    picture = Picture(r"a \\ (b", beside(Panel("…", "", 1, 1, (Cell(0, 0, ("7)",)),))), notes=("ü → x",))
    picture.save(tmp_path / "x.pdf")
    made = (tmp_path / "x.pdf").read_bytes()
    start = int(re.search(rb"startxref\n(\d+)", made)[1])
    assert made[start:].startswith(b"xref\n0 6\n")
    assert rb"/Title (a \\\\ \(b)" in made
    for i, place in enumerate(re.findall(rb"(\d{10}) 00000 n", made[start:])):
        assert made[int(place) :].startswith(b"%d 0 obj" % (i + 1))
    shown = [re.sub(r"\\(.)", r"\1", text) for text in re.findall(r"\((.*)\) Tj", drawn_in(made))]
    assert shown == [r"a \\ (b", "…", "7)", "ü ? x"]


@pytest.mark.parametrize(
    "file", [*GOLDEN.glob("*.svg"), *(ROOT / "docs/img").glob("*.svg")], ids=lambda file: file.stem
)
def test_every_text_of_a_picture_is_in_its_pdf(file):
    svg = file.read_text(encoding="utf-8")
    parts = [text for element in ElementTree.fromstring(svg).iter(f"{SVG}text") for text in element.itertext()]
    shown = [re.sub(r"\\(.)", r"\1", text) for text in re.findall(r"\((.*)\) Tj", drawn_in(pdf(svg)))]
    assert shown == [text for text in parts if text]


def test_a_large_page_is_made_smaller():
    made = pdf(cute.show("(512,512):(1000000000000,99999999999)", most=512).svg())
    width, height = map(float, re.search(rb"/MediaBox \[0 0 (\S+) (\S+)\]", made).groups())
    assert max(width, height) == 14_400


def test_notes_stay_within_a_picture():
    for name, make in PICTURES.items():
        sheet = ElementTree.fromstring(make().svg())
        for text in sheet.findall(f"{SVG}text"):
            if text.get("class") in ("t", "h", "u"):
                size = {"t": 8, "h": 8, "u": 7}[text.get("class")]
                assert float(text.get("x")) + size * len(text.text) <= float(sheet.get("width")), (name, text.text)


def test_png_without_fonts(tmp_path, monkeypatch):
    """resvg would leave out all texts. A family that stands for those that are not there is found once."""
    import resvg_py

    export._monospace.cache_clear()
    try:
        export._monospace()
    except OSError as error:
        pytest.skip(str(error))
    draw, asked = resvg_py.svg_to_bytes, []

    def without(families):
        def drawn(svg_string, **options):
            asked.append(options.get("monospace_family"))
            has = options.get("monospace_family") in families
            return draw(svg_string=svg_string, **options | {} if has else options | {"skip_system_fonts": True})

        return drawn

    monkeypatch.setattr(resvg_py, "svg_to_bytes", without({"Noto Sans Mono"}))
    export._monospace.cache_clear()
    for _ in range(2):
        cute.show("4:1").png(tmp_path / "x.png")
    assert asked == [None, "Liberation Mono", "Noto Sans Mono", "Noto Sans Mono", "Noto Sans Mono"]
    monkeypatch.setattr(resvg_py, "svg_to_bytes", without(()))
    export._monospace.cache_clear()
    with pytest.raises(OSError, match=r"^png: no font .*fonts-dejavu-core.*\.pdf\(\) need none"):
        cute.show("4:1").png(tmp_path / "x.png")
    export._monospace.cache_clear()


def test_png_and_pdf(tmp_path):
    from PIL import Image

    try:
        export._monospace()
    except OSError as error:
        pytest.skip(str(error))

    for make in (PICTURES["thread_value"], PICTURES["dense"]):
        picture = make()
        picture.png(tmp_path / "x.png", scale=1)
        picture.pdf(tmp_path / "x.pdf")
        sheet = ElementTree.fromstring(picture.svg())
        with Image.open(tmp_path / "x.png") as image:
            assert abs(image.width - float(sheet.get("width"))) <= 1
            assert abs(image.height - float(sheet.get("height"))) <= 1
            found = {color[:3] for _, color in image.convert("RGBA").getcolors(1 << 24)}
        owners = {cell.owner for placed in picture.panels for cell in placed.panel.cells}
        assert len(owners) >= 4
        for owner in owners:
            assert tuple(bytes.fromhex(fill(owner)[1:])) in found
    for ending in ("png", "pdf"):
        with pytest.raises(FileNotFoundError, match=f"missing/x.{ending}"):
            picture.save(tmp_path / "missing" / f"x.{ending}")
