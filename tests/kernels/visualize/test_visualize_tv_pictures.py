"""Pictures of what each thread gets, in text and as SVG, and the demo that draws one."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import numpy as np
import pytest

import tilewright as tw
from places import ROOT
from show_cells import by_place
from tilewright import cute, kernels
from tilewright.__main__ import USAGE, main
from tilewright.cute.runtime import from_dlpack
from tilewright.show.drawing.palette import thread_ansi, thread_color
from tv_examples import TV, VALUES, column

L = cute.parse
PICTURE = ROOT / "docs" / "img" / "tv.svg"


@pytest.fixture
def result():
    return kernels.visualize_tv(from_dlpack(column(), assumed_align=16), TV)


# ---- pictures ----


def test_table(result):
    assert result.text(color=False) == cute.show(result).text(color=False)
    assert result.text(color=False).split("\n\n", 1)[1] == (
        "tensor (24,1):(1,1)\n"
        "element over thread and value; each of 24 elements is read exactly once\n"
        "   0      1      2      3      4      5      6      7      8      9      10     11\n"
        "+------+------+------+------+------+------+------+------+------+------+------+------+\n"
        "|    0 |    1 |    2 |    3 |    4 |    5 |    6 |    7 |    8 |    9 |   10 |   11 |\n"
        "| T0V0 | T0V1 | T1V0 | T1V1 | T0V2 | T0V3 | T1V2 | T1V3 | T0V4 | T0V5 | T1V4 | T1V5 |\n"
        "+------+------+------+------+------+------+------+------+------+------+------+------+\n"
        "   12     13     14     15     16     17     18     19     20     21     22     23\n"
        "+------+------+------+------+------+------+------+------+------+------+------+------+\n"
        "|   12 |   13 |   14 |   15 |   16 |   17 |   18 |   19 |   20 |   21 |   22 |   23 |\n"
        "| T2V0 | T2V1 | T3V0 | T3V1 | T2V2 | T2V3 | T3V2 | T3V3 | T2V4 | T2V5 | T3V4 | T3V5 |\n"
        "+------+------+------+------+------+------+------+------+------+------+------+------+\n"
        "\n"
        "TV ((2,2),(2,3)):((2,12),(1,4))\n"
        "the index in the tensor of each thread and value\n"
        "     V0   V1   V2   V3   V4   V5\n"
        "   +----+----+----+----+----+----+\n"
        "T0 |  0 |  1 #  4 |  5 #  8 |  9 |\n"
        "   +----+----+----+----+----+----+\n"
        "T1 |  2 |  3 #  6 |  7 # 10 | 11 |\n"
        "   +====+====+====+====+====+====+\n"
        "T2 | 12 | 13 # 16 | 17 # 20 | 21 |\n"
        "   +----+----+----+----+----+----+\n"
        "T3 | 14 | 15 # 18 | 19 # 22 | 23 |\n"
        "   +----+----+----+----+----+----+"
    )


def test_elements_of_a_matrix():
    result = kernels.visualize_tv(np.array([[0.5, 1e-9], [2.0, -3.25]]), L("(2,1):(1,0)"))
    cells = by_place(cute.show(result), 0)
    assert {place: cell.lines for place, cell in cells.items()} == {
        (0, 0): ("0.5", "T0"), (0, 1): ("-", ""), (1, 0): ("2", "T1"), (1, 1): ("-", ""),
    }  # fmt: skip


def test_table_is_coloured_on_a_terminal_only(result, monkeypatch):
    assert "\x1b" not in result.text()
    assert thread_ansi(0, " T0V0 ") in result.text(color=True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b" in result.text()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in result.text()
    assert re.sub(r"\x1b\[[\d;]*m", "", result.text(color=True)) == result.text(color=False)


def test_picture_is_the_committed_one(result):
    assert result.svg() == PICTURE.read_text(encoding="utf-8")


def test_picture(result):
    picture = cute.show(result)
    assert picture.svg() == result.svg()
    tensor, table = (by_place(picture, i) for i in (0, 1))
    assert sorted(tensor) == [(0, i) for i in range(24)]
    for (_, i), cell in tensor.items():
        thread, value = next((t, row.index(i)) for t, row in enumerate(VALUES) if i in row)
        assert cell.owner == thread
        assert cell.lines == (str(i), f"T{thread}V{value}")
        hover = dict(cell.hover)
        assert (hover["element"], hover["offset"], hover["thread"], hover["value"]) == tuple(
            map(str, (i, i, thread, value))
        )
    assert {place: int(cell.lines[0]) for place, cell in table.items()} == {
        (t, v): i for t, row in enumerate(VALUES) for v, i in enumerate(row)
    }
    assert all(cell.owner == t for (t, _), cell in table.items())


def test_picture_of_what_is_not_covered():
    picture = cute.show(kernels.visualize_tv(np.arange(5), L("(2,2):(1,1)")))
    cells = [by_place(picture, 0)[0, i] for i in range(5)]
    assert [cell.lines[1] for cell in cells] == ["T0V0", "T0V1+1", "T1V1", "", ""]
    assert [cell.owner for cell in cells] == [0, 0, 1, None, None]
    assert dict(cells[1].hover)["also"] == "T1V0"
    assert dict(cells[3].hover)["thread"] == "none"
    said = "2 of 5 elements are never read (3, 4), 1 of 5 elements is read more than once (1)"
    assert picture.panels[0].panel.subtitle.endswith(said)


def test_picture_of_a_large_tensor_is_cut():
    result = kernels.visualize_tv(np.zeros((128, 96), np.float16), L("(128,96):(1,128)"))
    picture = cute.show(result)
    assert len(by_place(picture, 0)) == 63 * 63
    assert picture.notes[0].startswith("63 x 63 of 128 x 96 elements are drawn")
    assert "63 x 63 of 128 x 96 elements are drawn" in result.text()
    line = kernels.visualize_tv(np.zeros(10_000, np.int8), L("(100,100):(1,100)"))
    assert "63 x 25 of 400 x 25 elements are drawn" in line.text()


def test_pictures_of_many_values_look_at_those_that_they_draw():
    result = kernels.visualize_tv(np.zeros((4096, 512), np.int8), L("(4096,512):(1,4096)"))
    start = time.process_time()
    assert len(result.svg()) < 200_000
    assert time.process_time() - start < 2  # 0.2 alone on the machine; 5 for all of them


def test_colours_of_threads():
    shades = [thread_color(t) for t in range(25)]
    assert len(set(shades)) == 24
    assert shades[24] == shades[0]
    for shade in shades:  # black text is readable on each: contrast 4.5 at least
        channels = [int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        assert (sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)) + 0.05) / 0.0625 > 4.5


# ---- python -m tilewright ----


def test_demo(capsys, tmp_path):
    assert main(["demo", "--svg", str(tmp_path / "tv.svg")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("TV Layout: ((2,2),(2,3)):((2,12),(1,4))\nTIDX: 0\nDATA: raw_ptr(0x")
    assert "i32, gmem, align<8>) o ((2,3)):((1,4)) = \n  ( 0, 1, 4, 5, 8, 9 )\nTIDX: 1\n" in text
    assert "\nT3 | 14 | 15 # 18 | 19 # 22 | 23 |\n" in text
    assert (tmp_path / "tv.svg").read_bytes() == PICTURE.read_bytes()


def test_demo_without_torch(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["demo"]) == 0
    assert "  ( 14, 15, 18, 19, 22, 23 )\n" in capsys.readouterr().out


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tilewright {tw.__version__}\n"
    for arguments in (["-h"], ["--help"], ["demo", "-h"]):
        assert main(arguments) == 0
        assert capsys.readouterr().out.startswith("usage: python -m tilewright demo [--svg FILE]\n")
    assert main(["doctor", "--help"]) == 0
    assert capsys.readouterr().out.startswith("usage: python -m tilewright doctor\n\nSays first what works here")
    assert main(["cache", "-h"]) == 0
    assert "$TILEWRIGHT_CACHE_DIR" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], USAGE),
        (["dmeo"], "dmeo. Did you mean: 'demo'?\nusage: python -m tilewright demo | show | "),
        (
            ["demo", "--sgv", "x"],
            "demo --sgv x. Did you mean: '--svg'?\nusage: python -m tilewright demo [--svg",
        ),
    ],
)
def test_arguments_that_are_not_understood(arguments, said, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"python -m tilewright: not understood: {said}" if arguments else said)


def test_picture_that_cannot_be_written(capsys, tmp_path):
    file = tmp_path / "missing" / "tv.svg"
    assert main(["demo", "--svg", str(file)]) == 1
    assert capsys.readouterr().err == f"python -m tilewright: cannot write {file}: No such file or directory\n"


def test_as_a_module():
    run = subprocess.run([sys.executable, "-m", "tilewright", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"tilewright {tw.__version__}\n"
