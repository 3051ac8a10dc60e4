"""Classes of the site's style that its pages need not write down, so that a forge shows them without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

__all__ = ["mark"]


def mark(app: Sphinx, doctree: nodes.document) -> None:
    """Make a gallery of each list whose items begin with pictures, and mark the law of a concept: its first block."""
    for items in doctree.findall(nodes.bullet_list):
        if all(_begins_with_a_picture(item) for item in items):
            items["classes"].append("gallery")
    name = app.env.docname
    if name.startswith("concepts/") and name != "concepts/index":
        law = doctree.next_node(nodes.literal_block)
        if law is not None:
            law["classes"].append("law")


def _begins_with_a_picture(item: nodes.Node) -> bool:
    text = item.children[0] if item.children else None
    first = text.children[0] if isinstance(text, nodes.paragraph) and text.children else None
    return first is not None and next(iter(first.findall(nodes.image)), None) is not None
