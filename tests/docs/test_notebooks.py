"""The executed notebooks of the repository: fresh, small, with nothing that a forge or an untrusted Jupyter drops."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import nbformat
import pytest

import cells
import tables
from places import ROOT

TEXTS = cells.notebooks(ROOT / "docs")
EXECUTED = ROOT / "docs/notebooks/executed"
GPU = ROOT / "docs/notebooks/gpu"
LARGEST = 500_000
ACTIVE = re.compile(r"<(script|iframe|object|embed|link|form)\b|\bon\w+\s*=\s*[\"']|javascript:", re.IGNORECASE)
ELSEWHERE = re.compile(
    r"(?:src|href|poster|srcset)\s*=\s*[\"']?(?!data:)[a-z/.]|url\((?!['\"]?#)|@import", re.IGNORECASE
)
IMAGE = re.compile(r'src="data:image/svg\+xml;base64,([^"]+)"')


def executed(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXECUTED / f"{name}.ipynb").read_text(encoding="utf-8"))
    return found


def outputs_of(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for cell in notebook["cells"] for output in cell.get("outputs", ())]


def test_each_notebook_has_its_file() -> None:
    assert sorted(path.stem for path in EXECUTED.glob("*")) == sorted(TEXTS)
    assert len(TEXTS) == 11


@pytest.mark.parametrize("name", TEXTS)
def test_a_notebook_is_fresh(name: str) -> None:
    """`make notebooks` writes it: the cells are those of the Markdown, and all of them ran."""
    notebook = executed(name)
    nbformat.validate(nbformat.from_dict(notebook))
    source = cells.read(tables.expand(TEXTS[name], ROOT))
    assert [(cell["cell_type"], cell["source"]) for cell in notebook["cells"]] == [
        (cell.kind, cells.prose(cell.source) if cell.kind == "markdown" else cell.source) for cell in source
    ]
    ran = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    written = [cell for cell in source if cell.kind == "code"]
    for cell, was in zip(ran, written, strict=True):
        assert bool(cell["execution_count"]) != ("gpu" in was.tags), cell["source"]
        assert cell["outputs"] or "gpu" not in was.tags
        goes_on = "raises-exception" in cell["metadata"].get("tags", ())
        assert goes_on == ("gpu" in was.tags)  # without a GPU: a run of all cells does not stop there
    for cell in ran:
        streams = [output["name"] for output in cell["outputs"] if output["output_type"] == "stream"]
        assert len(streams) == len(set(streams)), cell["source"]
    assert not any(
        output["output_type"] == "error" or output.get("name") == "stderr" for output in outputs_of(notebook)
    )


@pytest.mark.parametrize("name", TEXTS)
def test_a_notebook_needs_no_script_and_nothing_from_elsewhere(name: str) -> None:
    assert (EXECUTED / f"{name}.ipynb").stat().st_size <= LARGEST
    for output in outputs_of(executed(name)):
        data = output.get("data", {})
        assert set(data) <= {"text/plain", "text/html", "text/markdown"}
        html = "".join(data.get("text/html", ""))
        for text in (html, *(base64.b64decode(image).decode() for image in IMAGE.findall(html))):
            assert not ACTIVE.search(text)
            assert not ELSEWHERE.search(text)
        assert "<svg" not in html  # JupyterLab removes it from what nobody has trusted; an image stays


@pytest.mark.parametrize("text", ["<script>1</script>", '<p onclick="f()">', '<a href="javascript:f()">'])
def test_a_script_would_be_seen(text: str) -> None:
    assert ACTIVE.search(text)


@pytest.mark.parametrize("text", ['<img src="http://x/y.png">', "<img src=y.png>", "url(https://x)", '@import "x"'])
def test_what_is_elsewhere_would_be_seen(text: str) -> None:
    assert ELSEWHERE.search(text)
    assert not ELSEWHERE.search('<img src="data:image/png;base64,abc">')


def test_outputs_of_a_gpu_are_those_of_todays_cells() -> None:
    """`python scripts/run_notebooks_gpu.py` writes them anew."""
    for path in GPU.glob("*.json"):
        run = json.loads(path.read_text(encoding="utf-8"))
        wanted = [cell.source for cell in cells.read(TEXTS[path.stem]) if "gpu" in cell.tags]
        assert [cell["source"] for cell in run["cells"]] == wanted, path.name
        assert all(run[key] for key in ("device", "driver", "date"))
        assert all(cell["outputs"] for cell in run["cells"])


def test_cells_that_need_a_gpu_name_it() -> None:
    tagged = [cell for text in TEXTS.values() for cell in cells.read(text) if "gpu" in cell.tags]
    assert len(tagged) >= 8
    assert all("cuda" in cell.source or "on_gpu" in cell.source for cell in tagged)
