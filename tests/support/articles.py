"""Blocks of code and of output as they are compared with those of the articles, whose text is not here."""

from __future__ import annotations

import hashlib
import re
import textwrap

ADDED = re.compile(r"^ *# Not in the article's text.*?(?=^\s*$|\Z)", re.MULTILINE | re.DOTALL)
ADDRESS = re.compile(r"0x[0-9a-f]{8,}")


def lines(code: str) -> list[str]:
    """The lines of code, without imports, empty lines and what a comment marks as added."""
    kept = (line.rstrip() for line in ADDED.sub("", code).splitlines())
    return [line for line in kept if line and not re.match(r"(import|from) ", line)]


def words(output: str) -> str:
    """The words of what is printed: the space between them and addresses are not compared."""
    return " ".join(ADDRESS.sub("0x", output).split())


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def holds(code: str, count: int, expected: str) -> bool:
    """Whether a block with so many lines and this digest stands in the code, at any indentation."""
    found = lines(code)
    windows = ("\n".join(found[i : i + count]) for i in range(len(found) - count + 1))
    return any(digest(textwrap.dedent(window)) == expected for window in windows)
