"""Links of the site: of the repository's pages to files that have a page, and of names to the reference."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PythonDomain
from sphinx.transforms.post_transforms import SphinxPostTransform

from tables import expand

__all__ = ["NamesAreLinks", "to_pages"]

# What a page of docs/ names by its place in the repository, and where the site has it.
PLACES = [
    (r"\]\((?:\.\./)+benchmarks/results/([\w.-]+)\.md", r"](/performance/\1.md"),
    (r"\]\((?:\.\./)+benchmarks/results\)", r"](/performance/index.md)"),
    (r"\]\((?:\.\./)+(CONTRIBUTING|CHANGELOG)\.md", lambda found: f"](/project/{found[1].lower()}.md"),
]
NAME = re.compile(r"(?:tilewright\.)?((?:[a-z_]\w*\.)?[A-Za-z_]\w*)(?:\(.*\))?")


def to_pages(app: Sphinx, _name: str, source: list[str]) -> None:
    """Turn a page's links to files of the repository into links to the site's pages, and fill in tables of results."""
    source[0] = expand(source[0], Path(app.srcdir).parent)
    for pattern, place in PLACES:
        source[0] = re.sub(pattern, place, source[0])


class NamesAreLinks(SphinxPostTransform):
    """`composition`, `cute.composition` or `cute.composition(a, b)` in a text leads to the page of the function."""

    default_priority = 5  # before references are resolved

    def run(self, **_: Any) -> None:
        domain = self.env.domains["py"]
        assert isinstance(domain, PythonDomain)
        objects = domain.objects
        for literal in list(self.document.findall(nodes.literal)):
            if _is_link(literal):
                continue
            found = NAME.fullmatch(literal.astext())
            if found is None or found[1] in WORDS:
                continue
            for full in (found[1], f"cute.{found[1]}", f"kernels.{found[1]}", f"analysis.{found[1]}"):
                place = objects.get(full)
                if place is not None:
                    self.link(literal, place.docname, place.node_id)
                    break

    def link(self, literal: nodes.literal, document: str, anchor: str) -> None:
        if document == self.env.docname:
            return
        uri = self.app.builder.get_relative_uri(self.env.docname, document)
        reference = nodes.reference("", "", internal=True, refuri=f"{uri}#{anchor}")
        literal.replace_self(reference)
        reference += literal


def _is_link(node: nodes.Node | None) -> bool:
    while node is not None and not isinstance(node, (nodes.reference, pending_xref)):
        node = node.parent
    return node is not None


WORDS = frozenset(
    ("image", "shape", "size", "front", "get", "find", "take", "select", "repeat", "static", "full", "copy")
)
"""Names that a text means otherwise as often as not; `cute.copy` still is a link."""
