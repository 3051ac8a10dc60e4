"""A name that is wrong: every namespace says which one is meant, once."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tilewright._names import did_you_mean

NEEDS_TORCH = pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
NAMESPACES = (
    pytest.param("tilewright", marks=NEEDS_TORCH),
    *("tilewright.analysis", "tilewright.cute", "tilewright.cute.arch", "tilewright.cute.runtime"),
    *("tilewright.cute.nvgpu", "tilewright.cute.nvgpu.common", "tilewright.cute.nvgpu.cpasync"),
    *("tilewright.cute.nvgpu.warp", "tilewright.cute.nvgpu.warpgroup"),
    *("tilewright.kernels", "tilewright.numeric", "tilewright.show"),
    pytest.param("tilewright.torch", marks=NEEDS_TORCH),
)


@pytest.mark.parametrize("name", NAMESPACES)
def test_a_letter_too_few_is_found(name):
    module = importlib.import_module(name)
    asked = 0
    for right in module.__all__:
        wrong = right[:-2] + right[-1]
        if len(right) < 4 or right.startswith("__") or hasattr(module, wrong):
            continue
        with pytest.raises(AttributeError) as error:
            getattr(module, wrong)
        meant = did_you_mean(wrong, module.__all__)
        assert str(error.value) == f"module {name!r} has no attribute {wrong!r}{meant}"
        assert "Did you mean: " in meant
        asked += 1
    assert asked


@pytest.mark.parametrize("name", NAMESPACES)
def test_all_names_are_listed_and_there(name):
    module = importlib.import_module(name)
    assert set(module.__all__) <= set(dir(module))
    assert [each for each in dir(module) if not each.startswith("__")] == sorted(
        each for each in module.__all__ if not each.startswith("__")
    )
    assert all(hasattr(module, each) for each in module.__all__)


def test_what_is_like_no_name_and_what_programs_ask_for_get_no_advice():
    from tilewright import cute

    for name in ("xyzzy", "__make_layout__", "__path"):
        with pytest.raises(AttributeError, match=r"'$"):
            getattr(cute, name)


@pytest.mark.parametrize(
    "line", ["cute.make_layot((2, 3))", "tilewright.kernels.gem", "tilewright.analysis.sugest_tv", "cute.nvgpu.wrap"]
)
def test_an_interpreter_says_it_once(line):
    run = subprocess.run(
        [sys.executable, "-c", f"import tilewright; from tilewright import cute; {line}"],
        text=True,
        capture_output=True,
    )
    assert run.returncode == 1
    assert run.stderr.lower().count("did you mean") == 1


def test_a_type_checker_does_not_take_any_name(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    file = tmp_path / "program.py"
    file.write_text("from tilewright import cute, kernels\ncute.make_layot\nkernels.gem\n")
    out, _, status = mypy.run([str(file), "--cache-dir", str(tmp_path / "cache")])
    assert status == 1
    assert out.count('; maybe "') == 2
