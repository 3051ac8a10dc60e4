"""The source of a function as a syntax tree, found where Python keeps it: files, notebook cells, prompts, doctests."""

from __future__ import annotations

import ast
import linecache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, FunctionType

__all__ = ["NoSource", "tree_of"]


class NoSource(Exception):
    """Why the source of a function is not found."""


def tree_of(function: FunctionType) -> Any:
    """The FunctionDef or Lambda node of a function, with the lines of its file. Raises NoSource."""
    code = function.__code__
    lines = _lines(function)
    if code.co_name == "<lambda>":
        return _lambda(code, lines)
    node = _definition(code, lines)
    if node is None or node.name != code.co_name or _parameters(node) != _parameters_of(code):
        raise NoSource(f"line {code.co_firstlineno} of {code.co_filename} is no longer the function that runs")
    return node


def _lines(function: FunctionType) -> Sequence[str]:
    code = function.__code__
    lines: Sequence[str] = linecache.getlines(code.co_filename, function.__globals__)
    if not lines and hasattr(linecache, "_getlines_from_code"):  # the prompt of Python 3.13
        lines = linecache._getlines_from_code(code)
    if not lines or len(lines) < code.co_firstlineno:
        raise NoSource(f"Python keeps no source of {code.co_filename}")
    return lines


def _definition(code: CodeType, lines: Sequence[str]) -> Any:
    """The definition that begins at the code's first line.

    It ends in front of a line that is indented no deeper. Such lines also stand inside of brackets and strings, and
    between decorators: where the text is no statement yet, it goes on to the next one.
    """
    first = code.co_firstlineno - 1
    margin = _indent(lines[first])
    error: SyntaxError | None = None
    for end in [*_ends(lines, first, margin), len(lines)]:
        head = "\n" * (first - 1) + "if 1:\n" if margin else "\n" * first
        try:
            node: Any = ast.parse(head + "".join(lines[first:end])).body[0]
        except SyntaxError as failure:
            error = failure
            continue
        if margin:
            node = node.body[0]
        return node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
    raise NoSource(f"line {first + 1} of {code.co_filename} does not begin a function: {error}")


def _ends(lines: Sequence[str], first: int, margin: int) -> list[int]:
    found = []
    for i in range(first + 1, len(lines)):
        line = lines[i]
        if line.strip() and _indent(line) <= margin and not line.lstrip().startswith("#"):
            found.append(i)
            if len(found) == 64:
                break
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _parameters(node: Any) -> tuple[str, ...]:
    arguments = node.args
    return tuple(x.arg for x in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def _parameters_of(code: CodeType) -> tuple[str, ...]:
    return tuple(_unmangled(x) for x in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _unmangled(name: str) -> str:
    """`_Class__x` as it is written, `__x`."""
    head, mark, tail = name.partition("__")
    return f"__{tail}" if mark and head.startswith("_") and len(head) > 1 else name


def _lambda(code: CodeType, lines: Sequence[str]) -> Any:
    """The lambda on the code's first line whose compiled form is the code's."""
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError as error:
        raise NoSource(f"{code.co_filename} does not parse: {error}") from None
    found = [x for x in ast.walk(tree) if isinstance(x, ast.Lambda) and x.lineno == code.co_firstlineno]
    alike = [x for x in found if _parameters(x) == _parameters_of(code)]
    if len(alike) > 1:
        alike = [x for x in alike if _column(x) == _first_column(code)]
    if len(alike) != 1:
        raise NoSource(f"line {code.co_firstlineno} of {code.co_filename} has several lambdas like it")
    return alike[0]


def _column(node: ast.Lambda) -> int:
    return node.body.col_offset


def _first_column(code: CodeType) -> int | None:
    """Where the code's expression begins, where Python knows columns (3.11)."""
    positions = getattr(code, "co_positions", None)
    if positions is None:
        return None
    columns = [start for _, _, start, end in positions() if start is not None and end is not None and start < end]
    return min(columns, default=None)
