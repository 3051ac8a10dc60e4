"""The site's pages of the programs in examples/: each shows its text and its parts', and every part is shown."""

from __future__ import annotations

import re

import pytest

from places import ROOT

pytest.importorskip("myst_nb", reason="what builds the site is not installed: make docs brings it")

from generate import programs

PAGES = dict(programs.pages(ROOT))
PARTS = {f"{path.parent.name}/{path.name}" for path in (ROOT / "examples").glob("*/*.py") if path.stem != "__init__"}


def shown(name: str) -> list[str]:
    """The files of examples/ whose text a page has."""
    return re.findall(r"^```\{literalinclude\} \.\./\.\./examples/(\S+)$", PAGES[f"{name}.md"], re.M)


def test_a_page_shows_the_program_first_and_then_its_parts():
    for path in (ROOT / "examples").glob("*.py"):
        first, *parts = shown(path.stem)
        assert first == path.name
        assert set(re.findall(r"from tilewright\.examples\.(\w+\.\w+) import", path.read_text())) <= {
            part.removesuffix(".py").replace("/", ".") for part in parts
        }
        assert len(parts) == len(set(parts))


def test_parts_of_parts_are_shown_too():
    assert {"attention/forward_feed.py", "attention/forward_tiles.py", "attention/stages.py"} <= set(
        shown("attention_forward")
    )
    assert "### attention/stages.py\n\nStages of shared memory: " in PAGES["attention_forward.md"]


def test_every_part_is_on_a_page_and_begins_where_the_page_does():
    found = {part for path in (ROOT / "examples").glob("*.py") for part in shown(path.stem)[1:]}
    assert found == PARTS
    assert all("\nfrom __future__ import annotations\n" in (ROOT / "examples" / part).read_text() for part in found)
