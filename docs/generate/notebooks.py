"""The notebooks of the site: what a GPU printed goes in, and executed files come out, to take."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from myst_nb.core.read import read_myst_markdown_notebook
from nbformat import NotebookNode, from_dict
from nbformat.v4 import new_output

import cells

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["add_link", "formats", "from_gpu", "merge", "portable", "read", "write"]

DOCS = Path(__file__).parent.parent
FOLDER = "notebooks/"
SCRIPT = re.compile(r"<script>.*?</script>", re.DOTALL)
NOT_RUN = "This cell needs a GPU. This version has not run on one yet."


def formats() -> dict[str, tuple[str, dict[str, str]]]:
    """What conf.py tells MyST-NB: who reads the notebooks."""
    return {f"/{FOLDER}{name}.md": ("generate.notebooks.read", {"name": name}) for name in cells.notebooks(DOCS)}


def read(text: str, name: str) -> NotebookNode:
    """A notebook whose cells that need a GPU have the outputs of one, and do not run here."""
    notebook = read_myst_markdown_notebook(text, add_source_map=True)
    outputs = from_gpu(name)
    for cell in notebook.cells:
        if "gpu" in cell.metadata.get("tags", ()):
            cell.metadata["tags"].append("skip-execution")
            cell.outputs = [from_dict(x) for x in outputs.get(cell.source.strip(), [_note(NOT_RUN)])]
    return notebook


def from_gpu(name: str) -> dict[str, list[dict[str, Any]]]:
    """What scripts/run_notebooks_gpu.py wrote of a notebook: the outputs of each cell, by its source."""
    path = DOCS / "notebooks/gpu" / f"{name}.json"
    if not path.exists():
        return {}
    run = json.loads(path.read_text(encoding="utf-8"))
    ran = _note(f"Run on {run['device']}, driver {run['driver']}, on {run['date']}:")
    return {cell["source"]: [ran, *cell["outputs"]] for cell in run["cells"]}


def _note(text: str) -> dict[str, Any]:
    return dict(new_output("display_data", {"text/markdown": f"*{text}*", "text/plain": text}))


def merge(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """The outputs of a cell with one stream of each name, in place: how often a kernel sent it hangs on the load.

    MyST-NB's own merging ends each piece with a line's end, and leaves the pieces in the file to take.
    """
    merged: list[NotebookNode] = []
    streams: dict[str, NotebookNode] = {}
    for output in outputs:
        name = output.get("name")
        if output["output_type"] == "stream" and name in streams:
            streams[name]["text"] += output["text"]
        else:
            merged.append(output)
            streams |= {name: output} if output["output_type"] == "stream" else {}
    outputs[:] = merged
    return outputs


def add_link(_app: object, page: str, _template: str, context: dict[str, Any], doctree: object) -> None:
    """Put a link to the file below the heading of a notebook's page."""
    if page.startswith(FOLDER) and "cell_input" in context.get("body", ""):
        name = f"{page.removeprefix(FOLDER)}.ipynb"
        link = f'<p><a href="{name}" download>Take this notebook: {name}</a></p>'
        context["body"] = context["body"].replace("</h1>", f"</h1>\n{link}", 1)


def write(app: Sphinx, error: Exception | None) -> None:
    """Write what MyST-NB executed of docs/notebooks into the built site."""
    executed = Path(app.outdir).parent / "jupyter_execute" / FOLDER
    if error is None:
        for path in sorted(executed.glob("*.ipynb")):
            notebook = portable(json.loads(path.read_text(encoding="utf-8")))
            (Path(app.outdir) / FOLDER / path.name).write_text(json.dumps(notebook, indent=1) + "\n", encoding="utf-8")


def portable(notebook: dict[str, Any]) -> dict[str, Any]:
    """A notebook that shows the same without scripts and without the site around it.

    Pictures stay as images: what shows a cell that is pointed at is a script, and comes back with the first run.
    """
    notebook["metadata"] = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    for number, cell in enumerate(notebook["cells"]):
        cell["id"] = f"cell-{number}"
        text = "".join(cell["source"])
        cell["source"] = cells.prose(text) if cell["cell_type"] == "markdown" else text.strip()
        tags = cell["metadata"].get("tags", ())
        cell["metadata"] = {"jupyter": {"source_hidden": True}} if "hide-input" in tags else {}
        if "gpu" in tags:  # where there is none, a run of all cells goes on behind it
            cell["metadata"]["tags"] = ["raises-exception"]
        for output in cell.get("outputs", ()):
            if "metadata" in output:
                output["metadata"] = {}
            data = output.get("data", {})
            if "text/html" in data:
                data["text/html"] = SCRIPT.sub("", "".join(data["text/html"]))
    return notebook
