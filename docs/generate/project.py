"""The pages of the repository's root as pages of the site."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["pages"]


def pages(root: Path) -> Iterator[tuple[str, str]]:
    """(file, text) of each page."""
    for name in ("CHANGELOG", "CONTRIBUTING"):
        text = (root / f"{name}.md").read_text(encoding="utf-8")
        yield f"{name.lower()}.md", re.sub(r"\]\(docs/", "](/", text)
