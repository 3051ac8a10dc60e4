"""The page: its parts put together into one HTML file that needs no server and fetches nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from tilewright.show.drawing.palette import thread_color

__all__ = ["page"]

FOLDER = Path(__file__).parent
COLORS = 24  # after which the colours of owners repeat


def page() -> str:
    """The interactive page as HTML: style, scripts and the compiled core are in it."""
    style, code = _text("page.css"), script()
    policy = (
        f"default-src 'none'; script-src {_hash(code)} 'wasm-unsafe-eval'; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {"@policy@": policy, "@style@": style, "@script@": code}
    html = _text("page.html")
    for name, text in parts.items():
        before, after = html.split(name)
        html = before + text + after
    return html


def script() -> str:
    """All scripts of the page. What they compute is compiled from the core that Python runs."""
    core = base64.b64encode((FOLDER / "core.wasm").read_bytes()).decode()
    return "\n".join(
        [
            "",
            _text("algebra.js"),
            f"const PALETTE = {json.dumps([thread_color(i) for i in range(COLORS)])};",
            f'const CORE = "{core}";',
            *map(_text, ("draw.js", "form.js", "views.js", "page.js")),
        ]
    )


def _text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The source expression of a content security policy that allows this very script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
