"""The pictures of docs/pictures.md: make them again, or say which of them are no longer what the page's lines make.

    python scripts/pictures.py           # list the ones that differ; exit status 1 where there are any
    python scripts/pictures.py --write   # write them

The page is the source: the first block of Python has the names, and each later one is followed by the picture that it
makes.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "pictures.md"
BLOCK = re.compile(r"```python\n(.*?)```(?:\n\n!\[[^\]]*\]\((img/[^)]+\.svg)\))?", re.DOTALL)


def lines() -> list[tuple[str, str]]:
    """(code, file of its picture) of each block of the page; the first block has no picture."""
    return [(match[1].rstrip("\n"), match[2] or "") for match in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]


def pictures() -> Iterator[tuple[Path, Any]]:
    """The pictures of the page with their files, made one after another."""
    (names, _), *blocks = lines()
    space: dict[str, Any] = {}
    exec(names, space)
    for code, file in blocks:
        yield DOCS / file, eval(code, space)


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    different = []
    for path, picture in pictures():
        made = picture.svg()
        if path.exists() and path.read_text(encoding="utf-8") == made:
            continue
        different.append(path)
        if arguments:
            path.write_text(made, encoding="utf-8", newline="\n")
    for path in different:
        print(f"{'written' if arguments else 'differs'}: {path.relative_to(DOCS.parent)}")
    return int(bool(different) and not arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
