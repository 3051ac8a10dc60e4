"""Operands on a command line: CuTe's notation, read by `parse`, and element types by their names."""

from __future__ import annotations

from typing import Any

from tilewright import _core, numeric
from tilewright._names import did_you_mean

__all__ = ["element_type", "notation", "operand"]

DEEPEST = 64  # as nested as the core's tuples


def operand(text: str) -> Any:
    """What a text stands for: an integer, tuple, layout or swizzle; or a tiler of layouts, a tuple of operands.

    Raises LayoutError where it is none of them.

    >>> operand("(4,8):(8,1)"), operand("4"), operand("<3:3,(2,4):(1,8)>")
    ((4,8):(8,1), 4, (3:3, (2,4):(1,8)))
    """
    return _operand(text, 0)


def _operand(text: str, depth: int) -> Any:
    text = text.strip()
    if not text.startswith("<"):
        return _core.parse(text)
    if depth == DEEPEST:
        raise _core.LayoutError(f"the tiler is nested deeper than {DEEPEST} levels")
    if len(text) < 2 or not text.endswith(">"):
        raise _core.LayoutError(f"the tiler {text} has no closing '>'; write, for example, <4:1,8:2>")
    return tuple(_operand(part, depth + 1) for part in _parts(text[1:-1]))


def _parts(text: str) -> list[str]:
    """The parts between the commas that no bracket encloses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "(<") - (character in ")>")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def notation(x: Any) -> str:
    """What `operand` reads as this: the text of a layout or an integer, a tuple, and a tiler of layouts in brackets.

    >>> notation((4, (2, None))), notation((_core.make_layout(3), 4)), notation("(4,8):(8,1)")
    ('(4,(2,_))', '<3:1,4>', '(4,8):(8,1)')
    """
    if isinstance(x, tuple):
        parts = [notation(each) for each in x]
        inner = ",".join(parts)
        return f"<{inner}>" if any(":" in part or "<" in part for part in parts) else f"({inner})"
    return "_" if x is None else str(x)


_OF_C = (numeric.Float16, numeric.Float32, numeric.Float64, numeric.Int32)


def element_type(name: str) -> Any:
    """An element type by its name in CuTe's text, in Python or in C; ValueError, which lists them, where there is none.

    >>> element_type("f16"), element_type("Float16"), element_type("u8"), element_type("float")
    (Float16, Float16, Uint8, Float32)
    """
    known = dict(zip(("half", "float", "double", "int"), _OF_C, strict=True))
    for public in numeric.__all__:
        found = getattr(numeric, public)
        if isinstance(found, type) and issubclass(found, numeric.Numeric) and hasattr(found, "bits"):
            unsigned = issubclass(found, numeric.Integer) and not found.signed
            known[public.lower()] = known[f"u{found.width}" if unsigned else found.name.lower()] = found
    try:
        return known[name.lower()]
    except KeyError:
        meant = did_you_mean(name.lower(), known)
        raise ValueError(f"there is no element type {name!r}; there are {', '.join(sorted(known))}{meant}") from None
