"""The page: its parts put together into one HTML file that needs no server and fetches nothing, or into one module."""

from __future__ import annotations

import base64
import hashlib
import json
import posixpath
import re
from pathlib import Path
from typing import Any

from tilewright import _core
from tilewright.explore.atoms import copies, mmas

__all__ = ["page", "script", "style"]

FOLDER = Path(__file__).parent
IMPORT = re.compile(r'^import \{[^}]*\} from "([./\w]+)\.js";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=const|async|function|class)", re.MULTILINE)
CONSTANTS = "constants"  # the module that no file has


def page() -> str:
    """The interactive page as HTML: style, scripts and the compiled core are in it."""
    look, code = style(), script("main")
    policy = (
        f"default-src 'none'; script-src {_hash(code)} 'wasm-unsafe-eval'; style-src {_hash(look)}; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    parts = {"@policy@": policy, "@style@": look, "@script@": code}
    html = _text("page.html")
    for name, text in parts.items():
        before, after = html.split(name)
        html = before + text + after
    return html


def style() -> str:
    """The style of the page and of its pictures."""
    return _text("page.css") + _core.picture.STYLE


def script(entry: str) -> str:
    """A module and all that it imports, each after those that it needs, as one module: one file needs no server.

    The algebra is compiled from the core that Python runs, and the instructions are Python's.

    >>> [name in script("main") for name in ("export ", 'from "./', "async function loadCore")]
    [False, False, True]
    """
    found: dict[str, str] = {}

    def visit(name: str) -> None:
        if name in found or name == CONSTANTS:
            return
        text = _text(f"{name}.js")
        for needed in IMPORT.findall(text):
            visit(posixpath.normpath(posixpath.join(posixpath.dirname(name), needed)))
        found[name] = EXPORT.sub("", IMPORT.sub("", text))

    visit(entry)
    text = "\n".join(found.values())
    known = (
        f"const {name} = {json.dumps(value)};"
        for name, value in _constants().items()
        if re.search(rf"\b{name}\b", text)
    )
    return "\n".join(["", *known, text])


def _constants() -> dict[str, Any]:
    """What the scripts have from Python."""
    return {
        "MMAS": mmas(),
        "COPIES": copies(),
        "STYLE": style(),
        "CORE": base64.b64encode((FOLDER / "core.wasm").read_bytes()).decode(),
    }


def _text(name: str) -> str:
    return (FOLDER / "web" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The source expression of a content security policy that allows this very script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
