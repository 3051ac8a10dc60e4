"""Notebooks that their reader has not run, in real JupyterLab: pictures are images, and no script runs."""

from __future__ import annotations

import json

import nbformat
import pytest

from chromium import contrast, luminance
from lab_server import choose_theme, server
from notebooks import bundle_of
from tilewright import Float32, cute
from tilewright.show.formats.html import DARK_INK, INK

VALUES = {
    "small": lambda: cute.make_layout((4, 8), stride=(8, 1)),
    "operation": lambda: cute.show(cute.composition, cute.parse("(6,2):(8,2)"), cute.parse("(4,3):(3,1)")),
    "wide": lambda: cute.make_layout((8, 64), stride=(64, 1)),
    "large": lambda: cute.make_layout((64, 64), stride=(64, 1)),
    "analysis": lambda: cute.analyze(cute.make_layout((32, 4), stride=(32, 1)), Float32, memory="shared", width=4),
}
HIGHEST = 1000
LOOK = """[...document.querySelectorAll(".jp-OutputArea-output")].map(output => {
    const image = output.querySelector("img"), table = output.querySelector("table");
    const area = output.getBoundingClientRect(), box = image?.getBoundingClientRect();
    return {
        natural: image?.naturalWidth, width: box?.width, height: box?.height, room: area.width,
        ratio: box && box.width / box.height / (image.naturalWidth / image.naturalHeight),
        text: [...output.querySelectorAll("style, table, p")].reduce(
            (text, part) => text.replace(part.textContent, ""), output.textContent).trim(),
        scripts: output.querySelectorAll("script").length, drawn: output.querySelectorAll("svg").length,
    };
})"""


def notebook_of(path):
    """A notebook of these results, as if run elsewhere, at a path."""
    cells = []
    for count, (name, make) in enumerate(VALUES.items(), 1):
        output = nbformat.v4.new_output("execute_result", data=bundle_of(make()), metadata={}, execution_count=count)
        cells.append(nbformat.v4.new_code_cell(name, execution_count=count, outputs=[output], id=f"cell{count}"))
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)


@pytest.fixture(scope="module")
def jupyterlab(tmp_path_factory):
    """The folder of a server, and its address."""
    pytest.importorskip("jupyterlab")
    folder = tmp_path_factory.mktemp("notebooks")
    notebook_of(folder / "given.ipynb")
    with server(folder) as address:
        yield folder, address


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_an_untrusted_notebook_shows_pictures_in_jupyterlab(browser, jupyterlab, dark):
    folder, address = jupyterlab
    choose_theme(folder, dark=dark)
    browser.open(f"{address}/lab/tree/given.ipynb", width=1100, height=5600)
    count = len(VALUES)
    browser.wait(f"document.querySelectorAll('.jp-OutputArea-output').length === {count}", errors=False)
    browser.wait(f"document.body.dataset.jpThemeName === 'JupyterLab {'Dark' if dark else 'Light'}'", errors=False)
    browser.wait("[...document.images].every(image => image.complete)", errors=False)
    found = browser.run(LOOK)
    ground = browser.run("getComputedStyle(document.querySelector('.jp-Notebook')).backgroundColor")
    assert (luminance(ground) < 0.2) == dark
    for name, seen in zip(VALUES, found, strict=True):
        assert seen["natural"], name
        assert 60 < seen["width"] <= seen["room"] + 1, name
        assert 40 < seen["height"] <= HIGHEST, name
        assert seen["ratio"] == pytest.approx(1, abs=0.01), name
        assert (seen["text"], seen["scripts"], seen["drawn"]) == ("", 0, 0), name
    ink = tuple(int((DARK_INK if dark else INK)[i : i + 2], 16) for i in (1, 3, 5))
    assert contrast(f"rgb{ink}", ground) >= 4.5


def test_a_notebook_has_each_picture_once(tmp_path):
    notebook_of(tmp_path / "given.ipynb")
    cells = json.loads((tmp_path / "given.ipynb").read_text(encoding="utf-8"))["cells"]
    assert len(cells) > 1
    for cell in cells:
        (output,) = cell["outputs"]
        forms = output["data"]
        assert set(forms) == {"text/html", "text/plain"}
        html = "".join(forms["text/html"])
        assert html.count("data:image/svg+xml;base64,") == 1
        assert "<svg" not in html
