"""The text of a device's file: the package's own with other numbers, so that each keeps its comment."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tilewright.kernels import devices
from tilewright.kernels.devices import section_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.calibrate.fit import Values
    from tilewright.kernels.gemm.calibrate.models import Fit

__all__ = ["section_text", "text_of"]


def text_of(fits: Iterable[Fit], facts: DeviceFacts, head: str, when: str) -> str:
    """The text of a file: a head, and the sections whose numbers are to be taken, each with what they were fitted to.

    `facts` are the device's whose sections of the package the numbers began from.
    """
    parts = [head]
    for subject, sections, is_better, said in fits:
        comment = f"{subject}. Of {when}.\n{said}"
        if not is_better:
            parts.append("\n".join(f"# {x}" for x in f"{comment}\nSo the package's numbers hold.".splitlines()))
            continue
        for name, values in sections.items():
            source = inspect.getsource(import_module(f"{devices.__name__}.{section_file(name, facts)}"))
            parts.append(section_text(source, name, values, comment))
    return "\n\n".join(parts) + "\n"


def section_text(source: str, name: str, values: Values, comment: str) -> str:
    """The section of a file's text with other values under a comment; each value keeps its own comment.

    >>> source = "# Old.\\nX = {\\n    'a': 1.5,  # bytes\\n    'b': (2, 3),\\n}\\n"
    >>> print(section_text(source, "X", {"a": 2.5, "b": (2, 4)}, "New."))
    # New.
    X = {
        'a': 2.5,  # bytes
        'b': (2, 4),
    }
    """
    node = next(x for x in ast.parse(source).body if isinstance(x, ast.Assign) and ast.unparse(x.targets[0]) == name)
    lines = source.splitlines()
    for place, value in reversed(_changes(node.value, values)):
        row = place.lineno - 1
        assert place.end_lineno == place.lineno
        lines[row] = f"{lines[row][: place.col_offset]}{value!r}{lines[row][place.end_col_offset :]}"
    assert node.end_lineno is not None
    return "\n".join([*(f"# {line}" for line in comment.splitlines()), *lines[node.lineno - 1 : node.end_lineno]])


def _changes(node: ast.expr, value: Any) -> list[tuple[ast.Constant, Any]]:
    """The constants of a literal that are to be others, in the order of the text."""
    if isinstance(node, ast.Dict):
        pairs = [(x, value[ast.literal_eval(key)]) for key, x in zip(node.keys, node.values, strict=True) if key]
        return [change for x, other in pairs for change in _changes(x, other)]
    if isinstance(node, ast.Tuple):
        return [change for x, other in zip(node.elts, value, strict=True) for change in _changes(x, other)]
    assert isinstance(node, ast.Constant)
    return [] if node.value == value else [(node, value)]
