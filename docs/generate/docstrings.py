"""Docstrings as Markdown: the sentence, the law, arguments, errors, the example with what it prints."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TYPE_CHECKING

from tilewright import cute

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["escape", "markdown", "sentence"]

SECTION = re.compile(r"^(Args|Returns|Raises|Source|Examples):[ \n]?", re.MULTILINE)
FIELDS = {"Returns": "returns", "Raises": "Raises", "Source": "Source"}


NAMED = re.compile(rf"\b(?:{'|'.join(name for name in cute.__all__ if '_' in name or name.endswith('Error'))})\b(?!\()")


def escape(text: str) -> str:
    """Prose that Markdown shows as it stands; what is in backticks stays code, and names become code, and so links."""
    parts = re.split(r"(`[^`]+`)", text)
    parts = re.split(r"(`[^`]+`)", "".join(x if i % 2 else NAMED.sub(r"`\g<0>`", x) for i, x in enumerate(parts)))
    text = "".join(x if i % 2 else re.sub(r"([\\*_\[\]<>|#$@])", r"\\\1", x) for i, x in enumerate(parts))
    return re.sub(r"docs/(\w+)\.md", r"[\1](../\1.md)", text)


def sentence(docstring: str | None) -> str:
    """The first sentence, escaped."""
    first = inspect.cleandoc(docstring or "").split("\n\n")[0]
    return escape(" ".join(first.split()))


def markdown(docstring: str | None) -> str:
    """A docstring's Markdown."""
    text = inspect.cleandoc(docstring or "")
    return "\n\n".join(block for part in _parts(text) for block in part)


def _parts(text: str) -> Iterator[Iterator[str]]:
    begins = [*SECTION.finditer(text)]
    yield _blocks(text[: begins[0].start()] if begins else text)
    fields, rest = [], []
    for i, found in enumerate(begins):
        end = begins[i + 1].start() if i + 1 < len(begins) else len(text)
        body = text[found.end() : end].rstrip()
        name = found[1]
        if name == "Examples":
            rest.append(_blocks(textwrap.dedent(body)))
        elif name == "Args":
            fields += _arguments(body)
        else:
            # What stands behind a section without an indent is prose again.
            lines = body.split("\n")
            own = next((k for k, line in enumerate(lines[1:], 1) if line[:1].strip()), len(lines))
            fields.append(f":{FIELDS[name]}: {_flowing(lines[:own])}")
            if lines[own:]:
                rest.insert(0, _blocks("\n".join(lines[own:])))
    if fields:
        yield iter(["\n".join(fields)])
    yield from rest


def _arguments(body: str) -> Iterator[str]:
    for entry in re.split(r"\n(?=\S)", textwrap.dedent(body).strip()):
        name, _, meaning = entry.partition(": ")
        # Sphinx reads all but the last word of a name as its type.
        yield f":param {name.replace(', ', ',')}: {_flowing(meaning.splitlines())}"


def _flowing(lines: list[str]) -> str:
    return escape(" ".join(" ".join(lines).split()))


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs: prose, lists, laws (what is indented), examples."""
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if not block.strip():
            continue
        if block.lstrip().startswith(">>> "):
            yield f"```pycon\n{textwrap.dedent(block).replace('<BLANKLINE>', '')}\n```"
        elif block.startswith("    "):
            yield f"{{.law}}\n```text\n{textwrap.dedent(block).rstrip()}\n```"
        elif block.startswith("- "):
            yield escape(block)
        else:
            yield from _prose(block)


def _prose(block: str) -> Iterator[str]:
    """A paragraph; what it says of errors and of where the operation comes from stands alone."""
    text, _, source = f" {' '.join(block.split())}".partition(" Source: ")
    text = text.strip()
    found = re.search(r"(?:^|(?<=[.:)] ))Raises:? (?=[A-Z]\w+(?:Error|Interrupt)|\w)", text)
    raises = text[found.end() :] if found else ""
    text = text[: found.start()] if found else text
    # A list may follow its sentence without an empty line.
    if text.strip():
        lead, *items = re.split(r"\n- ", block) if "\n- " in block else [text]
        yield escape(" ".join(lead.split()))
        if items:
            yield "\n".join(f"- {_flowing(item.splitlines())}" for item in items)
    fields = [f":Raises: {escape(raises.strip())}"] if raises else []
    fields += [f":Source: {escape(source.strip())}"] if source else []
    if fields:
        yield "\n".join(fields)
