"""Every number that the articles behind this project work out, and the page that says where they are wrong: 001, 004.

000 and 003 are in test_seeds_000.py, 002 is in test_seeds_002.py.
"""

from __future__ import annotations

import doctest
import re

import pytest

from places import ROOT
from seed_layouts import dynamic, grid, offsets
from tilewright import cute
from tilewright.cute.text import printing

L = cute.parse
PAGE = ROOT / "docs" / "seeds.md"


# ---- docs/seeds.md ---------------------------------------------------------------------------------------------------


def test_the_page_on_the_articles():
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    failures: list[str] = []
    runner = doctest.DocTestRunner()
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, {}, block.splitlines()[0], str(PAGE), 0)
        test.globs = names
        runner.run(test, out=failures.append, clear_globs=False)
    assert runner.summarize(verbose=False).attempted > 50
    assert not failures, "".join(failures)


def test_every_entry_of_the_page_has_a_line():
    entries = re.split(r"^\*\*(\d{3}\.\d+) ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    names, bodies = entries[1::2], entries[2::2]
    expected = [f"000.{i}" for i in range(1, 7)] + [f"001.{i}" for i in range(1, 7)]
    expected += [f"002.{i}" for i in range(1, 26)] + [f"004.{i}" for i in range(1, 8)]
    assert names == expected
    assert all(">>> " in body for body in bodies)


# ---- 001: CuTe layouts in C++ ----------------------------------------------------------------------------------------


def test_001_row_and_column_major():
    assert grid("(4,4):(4,1)") == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
    assert grid("(4,4):(1,4)") == [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]]
    assert cute.make_layout_right((4, 4)) == L("(4,4):(4,1)")
    assert cute.make_layout((4, 4)) == L("(4,4):(1,4)")


def test_001_operands():
    assert grid("(6,2):(8,2)") == [[0, 2], [8, 10], [16, 18], [24, 26], [32, 34], [40, 42]]
    assert grid("(4,3):(3,1)") == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]


COMPOSED = (
    "((2,2),(3,1)):((24,2),(8,2))\n"
    "       0    1    2 \n"
    "    +----+----+----+\n"
    " 0  |  0 |  8 | 16 |\n"
    "    +----+----+----+\n"
    " 1  | 24 | 32 | 40 |\n"
    "    +----+----+----+\n"
    " 2  |  2 | 10 | 18 |\n"
    "    +----+----+----+\n"
    " 3  | 26 | 34 | 42 |\n"
    "    +----+----+----+\n"
)


def test_001_composition(capsys):
    cute.print_layout(cute.composition(dynamic("(6,2):(8,2)"), dynamic("(4,3):(3,1)")))
    assert capsys.readouterr().out == COMPOSED
    static = cute.composition(L("(6,2):(8,2)"), L("(4,3):(3,1)"))
    assert str(static) == "((2,2),3):((24,2),8)"
    assert grid(static) == [[0, 8, 16], [24, 32, 40], [2, 10, 18], [26, 34, 42]]


@pytest.mark.parametrize("of", [L, dynamic])
def test_001_validation(of):
    a, b = of("(6,2):(8,2)"), of("(4,3):(3,1)")
    c = cute.composition(a, b)
    for i in range(12):
        assert int(c(i)) == int(a(b(i)))


def test_001_coordinates():
    b = L("(4,3):(3,1)")
    assert cute.coalesce(b) == b
    assert [b(i) for i in range(5)] == [0, 3, 6, 9, 1]
    assert cute.idx2crd(5, b.shape) == (1, 1)
    assert b.get_hier_coord(5) == b.get_flat_coord(5) == (1, 2)


def test_001_part_3():
    c = cute.composition(L("(4,3):(3,1)"), L("(6,2):(2,1)"))
    assert str(c) == "((2,3),2):((6,1),3)"
    assert [value for row in grid(c) for value in row] == [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]
    assert offsets(c) == [0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]


def test_001_batched_layouts():
    """What the article wants to look at next: a batch mode multiplies the size and leaves the strides of a matrix."""
    batched = cute.make_layout((4, 4, 2), stride=(4, 1, 16))
    assert [offsets(batched((None, None, k))) for k in range(2)] == [offsets(L("(4,4):(4,1)"))] * 2
    assert [batched((0, 0, k)) for k in range(2)] == [0, 16]


# ---- 004: complement and concatenation -------------------------------------------------------------------------------


def test_004_layout_function():
    layout = L("(2,4):(2,2)")
    assert cute.idx2crd(3, layout.shape) == (1, 1)
    assert layout(3) == 1 * 2 + 1 * 2 == 4
    assert offsets(layout) == [0, 2, 2, 4, 4, 6, 6, 8]


def test_004_iota_is_a_bijection():
    coordinates = [cute.idx2crd(i, (2, 4)) for i in range(8)]
    assert len(set(coordinates)) == 8
    assert [cute.crd2idx(c, (2, 4)) for c in coordinates] == list(range(8))


def test_004_sorted():
    l1 = L("(2,2):(3,1)")
    l2 = cute.sorted_layout(l1)
    assert str(l2) == "(2,2):(1,3)"
    assert (offsets(l1), offsets(l2)) == ([0, 3, 1, 4], [0, 1, 3, 4])


def test_004_coalesce():
    layout = L("(2,1):(3,1)")
    assert str(cute.coalesce(layout)) == "2:3"
    assert offsets(layout) == offsets(cute.coalesce(layout)) == [0, 3]
    assert printing.format_printf(cute.coalesce(dynamic("(2,1):(3,1)")), end="") == "(2,1):(3,1)"


def test_004_admissible():
    assert cute.is_admissible(L("(2,4):(1,2)"), 16)
    assert cute.is_admissible(L("8:2"), 32)
    assert not cute.is_admissible(L("(2,2):(1,3)"), 12)  # 2*1 does not divide 3
    assert not cute.is_admissible(L("8:2"), 40)  # 8*2 does not divide 40


def test_004_complement():
    assert cute.complement(L("(2,4):(1,2)"), 16) == cute.coalesce(L("(1,1,2):(1,2,8)")) == L("2:8")
    whole = cute.flatten(cute.make_layout([L("(2,4):(1,2)"), L("2:8")]))
    assert str(whole) == "(2,4,2):(1,2,8)"
    assert offsets(whole) == list(range(16))


def test_004_bijection_that_is_not_the_identity():
    assert str(cute.complement(L("8:2"), 32)) == "(2,2):(1,16)"
    whole = L("(8,2,2):(2,1,16)")
    evens, odds = list(range(0, 16, 2)), list(range(1, 16, 2))
    assert offsets(whole) == [*evens, *odds, *(16 + x for x in evens), *(16 + x for x in odds)]
    assert cute.is_bijective(whole)
