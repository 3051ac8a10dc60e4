"""The executed notebooks of the repository: fresh, small, with nothing that a forge or an untrusted Jupyter drops."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from typing import Any

import nbformat
import pytest

import cells
import tables
from chromium import contrast
from places import ROOT
from tilewright.show.formats.html import DARK_INK, INK

TEXTS = cells.notebooks(ROOT / "docs")
EXECUTED = ROOT / "docs/notebooks/executed"
GPU = ROOT / "docs/notebooks/gpu"
LARGEST = 500_000
ACTIVE = re.compile(r"<(script|iframe|object|embed|link|form)\b|\bon\w+\s*=\s*[\"']|javascript:", re.IGNORECASE)
ELSEWHERE = re.compile(
    r"(?:src|href|poster|srcset)\s*=\s*[\"']?(?!data:)[a-z/.]|url\((?!['\"]?#)|@import", re.IGNORECASE
)
SHOWN = {"div", "img", "p", "table", "tr", "th", "td", "b", "br", "code", "pre", "span", "details", "summary"}  # by all
LIGHT, DARK = "rgb(255, 255, 255)", ("rgb(13, 17, 23)", "rgb(31, 31, 31)")  # dark: of GitHub and of VS Code
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


class Sanitized(HTMLParser):
    """What is left of an output where scripts, styles and all attributes but an image's own are removed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.images: list[dict[str, str | None]] = []
        self.words: list[str] = []
        self._open = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open = tag
        if tag not in ("style", "script"):
            self.tags.add(tag)
        if tag == "img":
            self.images.append({name: text for name, text in attrs if name in ("src", "alt", "width", "height")})

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open not in ("style", "script"):
            self.words += data.split()


@pytest.mark.parametrize("name", TEXTS)
def test_a_forge_loses_no_figure_of_a_notebook(name: str) -> None:
    """A forge and an untrusted JupyterLab keep plain tags and images; SVG in an output of its own is none of them.

    GitHub puts image/svg+xml into the page and spoils some of it: jupyter/nbviewer, issue 1037.
    """
    for output in outputs_of(executed(name)):
        data = output.get("data", {})
        if "text/html" not in data:
            continue
        left = Sanitized("".join(data["text/html"]))
        assert left.tags <= SHOWN
        assert left.images or left.words
        for image in left.images:
            assert (image["src"] or "").startswith("data:image/svg+xml;base64,")
            assert image["alt"]
            assert int(image["width"] or 0) > 0


@pytest.mark.parametrize("name", TEXTS)
def test_vs_code_says_in_text_what_it_does_not_show(name: str) -> None:
    """In a folder that is not trusted VS Code shows of an output its Markdown or its text, and no HTML."""
    for output in outputs_of(executed(name)):
        if "data" in output:
            assert "".join(output["data"]["text/plain"]).strip()


@pytest.mark.parametrize("name", TEXTS)
def test_captions_are_read_on_light_and_dark(name: str) -> None:
    """An image has colours of its own: of its captions one for a browser of each scheme, and no other."""
    for output in outputs_of(executed(name)):
        for found in IMAGE.findall("".join(output.get("data", {}).get("text/html", ""))):
            drawing = base64.b64decode(found).decode()
            assert f"fill:{INK}" in drawing
            assert f"@media(prefers-color-scheme:dark){{.tw-show :is(.t,.h,.u,.g,.l){{fill:{DARK_INK}}}}}" in drawing
            assert "currentColor" not in drawing


def test_the_inks_of_captions_have_contrast() -> None:
    """4.5 where a page is as dark as the browser's scheme says, and 3 where a forge has chosen the other one."""
    light, dark = (f"rgb({', '.join(str(int(ink[i : i + 2], 16)) for i in (1, 3, 5))})" for ink in (INK, DARK_INK))
    assert contrast(light, LIGHT) >= 4.5
    assert contrast(dark, LIGHT) >= 3
    for ground in DARK:
        assert contrast(dark, ground) >= 4.5
        assert contrast(light, ground) >= 3


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
