"""What the site generates: pages of names, examples, results and the project, links to names, notebooks to take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from myst_nb.core import render

from generate import links, looks, notebooks, programs, project, reference, results

if TYPE_CHECKING:
    from pathlib import Path

    from sphinx.application import Sphinx

__all__ = ["setup", "write"]

PARTS = {
    "reference": reference.pages,
    "examples": programs.pages,
    "performance": results.pages,
    "project": project.pages,
}


def write(docs: Path) -> None:
    """Write the generated pages below `docs`; one that is unchanged keeps its time, one that is gone is removed."""
    for name, pages in PARTS.items():
        folder = docs / name
        made = {folder / path: text for path, text in pages(docs.parent)}
        for path in folder.rglob("*"):
            if path.is_file() and path not in made:
                path.unlink()
        for path, text in made.items():
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")


def setup(app: Sphinx) -> dict[str, bool]:
    render.coalesce_streams = notebooks.merge
    app.connect("source-read", links.to_pages)
    app.connect("doctree-read", looks.mark)
    app.add_post_transform(links.NamesAreLinks)
    app.connect("html-page-context", notebooks.add_link)
    app.connect("build-finished", notebooks.write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
