"""The reference that the site generates: no word of a docstring is lost, each operation says and shows its parts."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("docutils", reason="the packages of the extra docs are not installed; make docs runs this")
from nbformat import NotebookNode
from nbformat.v4 import new_output

from generate import results
from generate.docstrings import escape, markdown
from generate.groups import GROUPS
from generate.notebooks import merge
from generate.reference import pages
from places import ROOT
from tilewright import cute, kernels
from tilewright.show.registry import OPERATIONS

PAGES = dict(pages(ROOT))
SECTIONS = {"Args", "Returns", "Raises", "Source", "Examples", "BLANKLINE"}
DOCUMENTED = [name for name in cute.__all__ if f"{name}.md" in PAGES and callable(getattr(cute, name))]


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.replace("\\", "")))


@pytest.mark.parametrize("name", DOCUMENTED)
def test_no_word_of_a_docstring_is_lost(name: str) -> None:
    x: Any = getattr(cute, name)
    made = words(markdown(x.__doc__))
    lost = {word for word, count in words(x.__doc__ or "").items() if made[word] < count and word not in SECTIONS}
    assert lost <= {"docs", "md"}  # of files, which become links to their pages


def test_a_docstring() -> None:
    text = """The first * sentence.

        law(i) = a * b

    Args:
        a, b: numbers,
            both.
    Returns: a layout.
    Raises: LayoutError when a_b fails.

    Examples:
        >>> 1
        1
    """
    assert markdown(text).split("\n\n") == [
        "The first \\* sentence.",
        "{.law}\n```text\nlaw(i) = a * b\n```",
        ":param a,b: numbers, both.\n:returns: a layout.\n:Raises: `LayoutError` when a\\_b fails.",
        "```pycon\n>>> 1\n1\n```",
    ]


def test_what_a_cell_prints_in_pieces_is_one_output() -> None:
    def said(text: str, name: str = "stdout") -> NotebookNode:
        return new_output("stream", name=name, text=text)

    picture = new_output("display_data", {"text/plain": "x"})
    outputs = [said("a"), said("\nb\n"), picture, said("!", "stderr"), said("b\n")]
    assert merge(outputs) is outputs
    assert outputs == [said("a\nb\nb\n"), picture, said("!", "stderr")]


def test_prose() -> None:
    assert (
        escape("as make_layout, see `a_b` and docs/theory.md")
        == "as `make_layout`, see `a_b` and [theory](../theory.md)"
    )


@pytest.mark.parametrize("name", sorted(name for name in OPERATIONS if hasattr(cute, name)))
def test_an_operation_has_its_picture(name: str) -> None:
    assert 'class="tw-show"' in PAGES[f"{name}.md"]


USING = ["copy", "copy_tiled", "gemm_tiled", "TiledCopy", "TiledMma", "crd2idx", "is_injective", "image", "make_tensor"]


@pytest.mark.parametrize("name", USING)
def test_what_an_example_uses_is_drawn(name: str) -> None:
    assert 'class="tw-show"' in PAGES[f"{name}.md"]


def test_every_name_of_a_group_exists() -> None:
    listed = [name for names in GROUPS.values() for name in names.split()]
    assert len(set(listed)) == len(listed)
    assert [name for name in listed if not hasattr(cute, name)] == []


def test_the_page_of_a_run_says_the_script_that_wrote_it() -> None:
    written = dict(results.pages(ROOT))
    scripts = {"gemm_listed": "gemm_random.py --listed", "gemm_few_rows": "gemm.py", "copy": "tiled_copy.py"}
    for kind, script in scripts.items():
        newest = max(name for name in written if re.fullmatch(rf"{kind}-[-\d]{{10}}\.md", name))
        assert f"`python benchmarks/{script}`" in written[newest], newest
    titles = re.findall(r"^\| \[(.+?)\]", written["index.md"].partition("## Earlier runs")[0], re.MULTILINE)
    assert len(set(titles)) == len(titles) > 20


def functions() -> dict[str, Any]:
    """The public functions by their full names, objects that are called like functions among them."""
    modules = [cute, kernels]
    if importlib.util.find_spec("torch") is not None:
        modules.append(importlib.import_module("tilewright.torch"))
    named = {f"{module.__name__}.{name}": getattr(module, name) for module in modules for name in module.__all__}
    return {name: x for name, x in named.items() if callable(x) and not inspect.isclass(x)}


FUNCTIONS = functions()
WITHOUT_EXAMPLE = {"tilewright.torch.current_stream", "tilewright.torch.default_stream"}  # they need a GPU


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_says_what_it_raises_and_where_it_comes_from(name: str) -> None:
    made = markdown(FUNCTIONS[name].__doc__)
    assert re.search(r"^:Raises: \S", made, re.MULTILINE)
    assert re.search(r"^:Source: \S", made, re.MULTILINE)
    assert (">>> " in made) == (name not in WITHOUT_EXAMPLE)
