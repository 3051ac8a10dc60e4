"""The cells of a notebook that is written as Markdown: of the site, of what runs on a GPU, and of the tests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Cell", "notebooks", "prose", "read"]

FENCE = re.compile(r"^```\{code-cell\} ipython3\n(?::tags: \[(?P<tags>[^\]]*)\]\n+)?(?P<code>.*?)^```$\n?", re.M | re.S)
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
FRONT = re.compile(r"\A---\n.*?^---\n", re.M | re.S)


@dataclass(frozen=True)
class Cell:
    """Code, or prose; `gpu` among the tags of code says that it needs a GPU."""

    kind: str
    source: str
    tags: tuple[str, ...] = ()


def read(text: str) -> list[Cell]:
    """The cells of a notebook's text, without its front matter.

    >>> read("Words.\\n\\n```{code-cell} ipython3\\n:tags: [gpu]\\n\\nx = 1\\n```\\n")
    [Cell(kind='markdown', source='Words.', tags=()), Cell(kind='code', source='x = 1', tags=('gpu',))]
    """
    text = FRONT.sub("", text, count=1)
    cells, end = [], 0
    for found in FENCE.finditer(text):
        cells.append(Cell("markdown", text[end : found.start()].strip()))
        cells.append(Cell("code", found["code"].strip(), tuple(re.findall(r"[\w-]+", found["tags"] or ""))))
        end = found.end()
    cells.append(Cell("markdown", text[end:].strip()))
    return [cell for cell in cells if cell.source]


def prose(text: str) -> str:
    """Words that stand alone in a file: links lead to pages that are not there.

    >>> prose("See [the page](../page.md).")
    'See the page.'
    """
    return LINK.sub(r"\1", text).strip()


def notebooks(docs: Path) -> dict[str, str]:
    """The text of each notebook of docs/notebooks, by its name; pages there without cells are none."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted((docs / "notebooks").glob("*.md"))}
    return {name: text for name, text in texts.items() if "{code-cell}" in text}
