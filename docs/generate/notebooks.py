"""The notebooks of the site as files to take: executed, with their outputs, beside their pages."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["add_link", "write"]

FOLDER = "notebooks/"
SCRIPT = re.compile(r"<script>.*?</script>", re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


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
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            text = LINK.sub(r"\1", text)
        cell["source"] = text
        hidden = "hide-input" in cell["metadata"].get("tags", ())
        cell["metadata"] = {"jupyter": {"source_hidden": True}} if hidden else {}
        for output in cell.get("outputs", ()):
            if "metadata" in output:
                output["metadata"] = {}
            data = output.get("data", {})
            if "text/html" in data:
                data["text/html"] = SCRIPT.sub("", "".join(data["text/html"]))
    return notebook
