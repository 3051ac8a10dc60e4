"""The ordered list by which a GEMM's plan is chosen, and that docs/gemm.md has it."""

from __future__ import annotations

import re

import pytest

from places import ROOT
from tilewright import BFloat16, Float8E4M3FN, Float32, Float64, TFloat32
from tilewright.devices import DEVICES, H200
from tilewright.kernels.gemm.choose.choose import RECIPES, Search, choose_gemm
from tilewright.kernels.gemm.composite.padded import PaddedGemm
from tilewright.kernels.gemm.composite.residue import ResidueGemm
from tilewright.kernels.gemm.composite.split_k import SplitKGemm
from tilewright.kernels.gemm.problem import problem_of

PAGE = (ROOT / "docs/gemm.md").read_text()
ALIGNED = (16, 16, 16)
BY_NAME = {recipe.name: recipe for recipe in RECIPES}


def search(m, n, k, dtype, arch="sm_90a", alignments=ALIGNED, **options):
    return Search(problem_of(m, n, k, dtype, **options), alignments, DEVICES[arch])


# Which recipe has the plan, and of what kind it is.
CASES = [
    ("split K", SplitKGemm, search(64, 64, 32768, BFloat16)),
    ("padded operand", PaddedGemm, search(4096, 4096, 4103, BFloat16)),
    ("padded operand", PaddedGemm, search(4096, 4096, 4096, Float8E4M3FN, a="m")),
    ("residue tile", ResidueGemm, search(4095, 4097, 4103, Float32, alignments=(4, 4, 4))),
    ("turned operand", PaddedGemm, search(4095, 4201, 4103, Float32, alignments=(4, 4, 4))),
    ("one kernel", object, search(4096, 4096, 4096, BFloat16)),
    ("one kernel", object, search(64, 64, 63, BFloat16)),
    ("one kernel", object, search(4096, 4096, 4096, Float64, "sm_80")),
    ("fp32", object, search(512, 512, 512, TFloat32, "sm_75")),
]


@pytest.mark.parametrize(("name", "kind", "case"), CASES, ids=[f"{name} {case.problem}" for name, _, case in CASES])
def test_the_first_recipe_that_has_a_plan_gives_it(name, kind, case):
    plan = choose_gemm(case.problem, case.alignments, case.facts)
    assert isinstance(plan, kind)
    first = next(x for x in RECIPES if x.applies(case) and x.build(case) is not None)
    assert first.name == name
    assert first.build(case) == plan


def test_each_recipe_is_taken_by_some_problem():
    assert [recipe.name for recipe in RECIPES] == list(dict.fromkeys(name for name, _, _ in CASES))


def test_a_recipe_may_apply_and_have_no_plan():
    """Copies of a small problem take longer than the slower kernel loses."""
    small, padded = search(64, 64, 63, BFloat16), BY_NAME["padded operand"]
    assert padded.applies(small)
    assert padded.build(small) is None
    assert not padded.applies(search(64, 64, 64, BFloat16))


def test_only_products_of_float32_by_fma_have_residue_tiles_and_turned_operands():
    for name in ("residue tile", "turned operand"):
        assert BY_NAME[name].applies(search(4095, 4097, 4103, Float32, alignments=(4, 4, 4)))
        assert not BY_NAME[name].applies(search(4095, 4097, 4103, BFloat16, alignments=(2, 2, 2)))
        assert not BY_NAME[name].applies(search(4095, 4097, 0, Float32, alignments=(4, 4, 4)))


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_vectors_of_a_gemv_are_not_copied(rows, arch):
    """Which are loaded element by element: beside a copy, the matrix would go through a tile of 16 or more columns."""
    few = search(rows, 14336, 4096, Float32, arch, a="m")
    assert not BY_NAME["turned operand"].applies(few)
    assert choose_gemm(few.problem, few.alignments, few.facts) == few.plan
    assert few.plan.tiler_mnk[1] == {1: 1, 2: 2, 3: 4}[rows]


def test_the_direct_plan_is_looked_for_once(monkeypatch):
    from tilewright.kernels.gemm.simt import build

    asked, choose = [], build.choose
    monkeypatch.setattr(build, "choose", lambda *args: asked.append(args) or choose(*args))
    choose_gemm(problem_of(1024, 1024, 1024, Float32), ALIGNED, H200)
    assert len(asked) == 1


def test_what_is_asked_for_to_split_k_is_asked_for_once(monkeypatch):
    """Also where the whole is taken in the end."""
    from tilewright.kernels.gemm.sm90 import choose as sm90

    asked, divided, consider, divide = [], [], sm90.considered, sm90.considered_in_parts
    monkeypatch.setattr(sm90, "considered", lambda *args: asked.append(args[:3]) or consider(*args))
    monkeypatch.setattr(sm90, "considered_in_parts", lambda *args: divided.append(args[:3]) or divide(*args))
    plan = choose_gemm(problem_of(512, 768, 4096, BFloat16), ALIGNED, H200)
    assert not isinstance(plan, SplitKGemm)
    assert len(divided) == 2  # parts were looked at, in both orientations
    assert len(divided) == len(set(divided))
    assert len(asked) == len(set(asked)) > 0


def test_the_page_has_the_recipes_in_their_order():
    rule = PAGE.split("## The rule\n")[1].split("\n## ")[0]
    found = [(x[1], x[2]) for x in re.finditer(r"^\d\. \*\*([\w ]+)\*\*: (.*)\.$", rule, re.M)]
    assert found == [(recipe.name, recipe.when) for recipe in RECIPES]
