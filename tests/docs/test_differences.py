"""docs/differences.md: its examples print what it says, the tests that it names exist, and what no other test pins."""

from __future__ import annotations

import doctest
import re
from itertools import product
from threading import Thread

import pytest

import tilewright as tw
from model import composed, laws
from model import layouts as m
from places import ROOT
from strategies import as_model
from tilewright import Int32, cute

L = cute.parse
PAGE = (ROOT / "docs/differences.md").read_text(encoding="utf-8")
SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]


def test_the_page():
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    names: dict[str, object] = {}
    report: list[str] = []
    runner = doctest.DocTestRunner()
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, {}, block.splitlines()[0], "docs/differences.md", 0)
        test.globs = names
        runner.run(test, out=report.append, clear_globs=False)
    assert runner.summarize(verbose=False).attempted > 60
    assert not report, "".join(report)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.partition("\n")[0])
def test_section_has_examples_and_tests(section):
    assert ">>> " in section
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", section[section.index("\nTests: ") :])
    assert named
    for file, function in named:
        source = (ROOT / file).read_text(encoding="utf-8")
        assert not function or re.search(rf"^def {function}\(", source, re.MULTILINE), f"{file}::{function}"


def test_alignment_of_dynamic_strides():
    """CuTe looks at static strides only; an answer that a dynamic stride breaks is refused."""
    for stride in range(1, 65):
        layout = cute.make_layout((8, 4), stride=(1, Int32(stride)))
        with cute.unchecked():
            assert cute.max_alignment(layout) == 8
        if stride % 8:
            with pytest.raises(tw.LayoutError):
                cute.max_alignment(layout)
        else:
            assert cute.max_alignment(layout) == 8


def test_products_are_injective():
    """Copies never fall onto the block, whatever gaps it has; CuTe's answers do."""
    overlaps = 0
    for (s0, s1), (d0, d1), n in product(product((2, 3, 4), (2, 3)), product((1, 3, 8, 12), (2, 3, 8, 30)), (2, 4, 6)):
        block = cute.make_layout((s0, s1), stride=(d0, d1))
        if not cute.is_injective(block):
            continue
        try:
            assert cute.is_injective(cute.logical_product(block, n)), block
        except tw.LayoutError as error:
            if error.counterexample is not None:
                with cute.unchecked():
                    overlaps += not cute.is_injective(cute.logical_product(block, n))
    assert overlaps


def test_merged_swizzles_are_right():
    """Where two swizzles merge into one it is their composition, with and without the check."""
    parameters = [(b, base, s) for b in (1, 2, 3) for base in range(4) for s in range(-4, 5) if abs(s) >= b]
    merged = 0
    for a, b in product(parameters, repeat=2):
        try:
            with cute.unchecked():
                result = cute.composition(cute.Swizzle(*a), cute.Swizzle(*b))
        except tw.LayoutError:
            continue
        merged += 1
        assert cute.composition(cute.Swizzle(*a), cute.Swizzle(*b)) == result
        found = (result.num_bits, result.num_base, result.num_shift)
        assert composed.swizzle_of_swizzle(a, b, found) is None
    assert merged


@pytest.mark.parametrize("text", ["(3,4):(4,3)", "(2,3,2):(3,4,20)", "(5,3):(3,5)", "((2,2),3):((7,3),14)"])
def test_coordinates_where_strides_do_not_nest(text):
    layout = L(text)
    for i, offset in enumerate(layout.offsets().tolist()):
        first = layout.offsets().tolist().index(offset)
        coord = layout.get_hier_coord(offset)
        assert layout(coord) == layout(layout.get_flat_coord(offset)) == offset
        assert layout.get_1d_coord(offset) == cute.crd2idx(coord, layout.shape) == first <= i


def test_what_is_accepted_beyond_cute():
    block, tiler = L("(4):(1)"), L("8:1")
    for kind, function in (("blocked", cute.blocked_product), ("raked", cute.raked_product)):
        for a, b in ((block, tiler), (tiler, block)):
            result = function(a, b)
            assert laws.paired_product(kind, as_model(a), as_model(b), as_model(result)) is None
            assert m.injective(as_model(result))
    assert cute.round_up((10, 6, 5), (4, 4)) == (12, 8, 5)


def test_unchecked_belongs_to_its_thread():
    a, b = L("(3,4):(4,1)"), L("4:2")
    refused: list[bool] = []

    def attempt():
        try:
            cute.composition(a, b)
            refused.append(False)
        except tw.LayoutError:
            refused.append(True)

    with cute.unchecked():
        with cute.unchecked():
            attempt()
        attempt()
        thread = Thread(target=attempt)
        thread.start()
        thread.join()
    attempt()
    assert refused == [False, False, True, True]
