"""docs/gemm.md: its lines print what it says, its pictures are those of the ladder's plans, its figures the newest."""

from __future__ import annotations

import doctest
import re

import pytest

from places import ROOT

pytest.importorskip("torch")

PAGE = (ROOT / "docs/gemm.md").read_text()

import gemm_ladder  # noqa: E402
from gemm_ladder_steps import LADDERS  # noqa: E402
from tilewright.kernels.gemm.composite.padded import PaddedGemm  # noqa: E402

STEPS = [step for ladder in LADDERS for step in ladder.steps]


def test_the_lines_print_what_the_page_says():
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    report: list[str] = []
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "docs/gemm.md", None, 0)
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.append)
    assert result.attempted > 20
    assert not result.failed, "".join(report)


def test_files_that_it_names_exist():
    names = re.findall(r"`((?:benchmarks|python|kernels)/[\w/.]+)`", PAGE) + re.findall(r"\]\((img/[\w.]+)\)", PAGE)
    assert len(names) > 10
    assert [name for name in names if not ((ROOT / name).exists() or (ROOT / "docs" / name).exists())] == []


def test_every_step_has_its_paragraph_and_its_picture():
    for step in STEPS:
        assert f"**{step.name}" in PAGE, step.name
        assert not step.picture or f"(img/{step.file})" in PAGE, step.file


def test_the_pictures_are_those_of_the_plans():
    drawn = gemm_ladder.pictures()
    for name, text in drawn.items():
        assert (ROOT / "docs/img" / name).read_text() == text, f"python benchmarks/gemm_ladder.py --pictures: {name}"
        assert len(text) < 200_000
    assert {path.name for path in (ROOT / "docs/img").glob("gemm_*.svg")} == set(drawn)


def test_figures_and_constants_are_the_newest():
    newest = gemm_ladder.newest_results(ROOT / "benchmarks/results")
    written = gemm_ladder.written(PAGE, newest.read_text() if newest else None)
    assert written == PAGE, "python benchmarks/gemm_ladder.py --docs"


def test_figures_get_into_the_page():
    result = "# Title\n\nA device.\n\n## fp32\n\n| a |\n| --- |\n| 1 |\n\nSteps failed: none.\n"
    begin, end = gemm_ladder.FIGURES
    page = gemm_ladder.written(PAGE, result)
    assert f"{begin}\nA device.\n\n### fp32\n\n| a |\n| --- |\n| 1 |\n{end}" in page
    assert gemm_ladder.written(page, None) == gemm_ladder.written(PAGE, None)
    model = '    "clock": 1.7e9,\n    "ingest": 48.0,  # bytes\n'
    constants = gemm_ladder.constants(f'X = {{\n    "x": 1,\n}}\nSM90_MODEL = {{\n{model}}}\nY = {{\n    "y": 1,\n}}\n')
    assert constants.splitlines()[2:] == ["| `clock` | 1.7e9 |  |", "| `ingest` | 48.0 | bytes |"]


def test_short_kernels_overlap_only_in_the_last_step():
    a, b, _ = LADDERS[-1].operands("cpu", empty=True)
    assert [step.make(a, b).programmatic for step in LADDERS[-1].steps] == [False, True]


@pytest.mark.parametrize("ladder", LADDERS, ids=lambda ladder: ladder.title)
def test_every_step_multiplies(ladder):
    full, (a, b, c) = ladder.operands("cpu", empty=True), ladder.operands("cpu", 104)
    for step in ladder.steps:
        plan = step.make(*full[:2])
        if isinstance(plan, PaddedGemm):  # its copy need not look where 4096 ends
            plan = plan.replace(copy_b=plan.copy_b.replace(predicated=True))
        c.fill_(float("nan"))
        plan.run(a, b, c)
        assert gemm_ladder.sampled_error(a, b, c) < 0.005, step.name
        assert plan.run(a, b, c, check=True), step.name
