"""Pictures of plans of copies."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np

from copy_plans import aligned, contiguous, instantiations, transposing
from places import ROOT
from tilewright import Float32, cute, kernels
from tilewright.cute.nvgpu import CopyUniversalOp

L = cute.parse
PLANS = dict(instantiations())
PICTURE = ROOT / "docs" / "img" / "copy.svg"
SVG = {"svg": "http://www.w3.org/2000/svg"}


def test_picture_in_the_documentation():
    assert transposing().svg() == PICTURE.read_text()


def test_pictures_are_small_and_always_the_same():
    for name in ("transpose, 32-bit", "transpose between odd rows, 64-bit", "8 modes, 32-bit", "contiguous, 8-bit"):
        svg = PLANS[name].svg()
        assert len(svg.encode()) < 200_000
        assert svg == PLANS[name].replace().svg()
        ET.fromstring(svg)


def pictured(plan):
    """The tables of a picture: names of columns, rows of labels, the cells of each colour; and all other text."""
    root = ET.fromstring(plan.svg())
    groups = root.findall("svg:g", SVG)
    tables = []
    for cells, lines in zip(groups[::2], groups[1::2], strict=True):
        rows = ["".join(text.itertext()).split() for text in lines.findall("svg:text", SVG)]
        tables.append((rows[0], rows[2::2], {path.find("svg:title", SVG).text: path.get("d") for path in cells}))
    return tables, [text.text for text in root.findall("svg:text", SVG)]


def test_cells_of_a_picture():
    (loaded, stored, shared), text = pictured(transposing())
    assert loaded[0] == stored[0] == shared[0] == [str(n) for n in range(12)]
    assert loaded[1][1] == [
        "T3V0",
        "T3V1",
        "T3V2",
        "T3V3",
        "T4V0",
        "T4V1",
        "T4V2",
        "T4V3",
        "T5V0",
        "T5V1",
        "T5V2",
        "T5V3",
    ]
    assert stored[1][7][:4] == ["T0V7", "T0V15", "T1V7", "T1V15"]
    assert shared[1] == [[str(12 * row + column) for column in range(12)] for row in range(8)]
    assert loaded[2]["thread 4"] == "M4 1h4"
    assert stored[2]["thread 1"] == "M2 0v8M3 0v8"
    assert shared[2]["bank 6"] == "M0 1h2M4 6h2"  # elements 12 and 13 of 2 bytes, and 76 and 77
    assert text[:2] == [
        "as loaded: ((3,8),(4)):((4@1,1@0),(1@1))",
        "thread and value, 64 bits at once; mode 0 down and mode 1 across",
    ]


def test_every_cell_is_coloured_once():
    for name in (
        "transpose, 64-bit",
        "transpose to odd rows, 32-bit",
        "BSHD to BHSD, 16-bit",
        "NHWC to NCHW, 3 channels, 32-bit",
    ):
        for _, rows, colours in pictured(PLANS[name])[0]:
            counts = np.zeros((len(rows), len(rows[0])), int)
            for path in colours.values():
                for run in path.split("M")[1:]:
                    column, rest = run.split()
                    row, length = rest.split("h") if "h" in rest else rest.split("v")
                    down, across = (1, int(length)) if "h" in rest else (int(length), 1)
                    counts[int(row) : int(row) + down, int(column) : int(column) + across] += 1
            assert (counts == 1).all(), name


def test_what_a_picture_leaves_out():
    texts = {name: pictured(PLANS[name])[1] for name in PLANS if "-bit" in name}
    assert any("; 64 x 64 of 128 x 128 shown" in line for line in texts["transpose, 16-bit"])
    assert any(line.endswith("mode 0, line by line") for line in texts["contiguous, 8-bit"])
    assert any("modes 2, 4, 6 at 0" in line for line in texts["8 modes, 32-bit"])
    plan = PLANS["transpose to odd rows, 64-bit"]
    names = [text.text for text in ET.fromstring(plan.svg()).findall(".//svg:text[@class='g']", SVG)]
    assert [names.count(str(n)) for n in (-4, -1, 0, 31)] == [2, 2, 3, 3]  # rows of what is loaded, stored and shared
    (_, _, shared), _ = pictured(plan)
    assert shared[1][0][:2] == ["0", "1"]
    assert set(shared[2]) == {f"banks {2 * i} to {2 * i + 1}" for i in range(16)}


def test_picture_of_a_broken_plan():
    tv = L("((4,2),3):((4@0,0),1@0)")
    (loaded, _), _ = pictured(contiguous().replace(load_tv=tv, store_tv=tv))
    assert loaded[1] == [["T0V0+1", "T0V1+1", "T0V2+1", "-", "T1V0+1", "T1V1+1", "T1V2+1", "-", *loaded[1][0][8:]]]
    assert loaded[1][0][15] == "-"


def test_picture_of_a_given_tiled_copy():
    atom = cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, L("(2,2):(2,1)"), L("(1,1):(1,1)"))
    plan = kernels.tiled_copy.plan(aligned((8, 8)), aligned((8, 8)), tiled)
    (loaded, _), _ = pictured(plan)
    assert loaded[1] == [["T0V0", "T1V0"], ["T2V0", "T3V0"]]
