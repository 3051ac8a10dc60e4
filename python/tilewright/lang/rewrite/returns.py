"""Early returns: where all branches of an `if` end in `return`, they assign one variable, and that is returned.

`if c: return a` and the rest behind it are the two branches of `if c: .. else: rest`.
"""

from __future__ import annotations

import ast
from typing import Any

from tilewright.lang.control.site import RESULT
from tilewright.lang.rewrite.names import is_static_test
from tilewright.lang.rewrite.nodes import statements_in

__all__ = ["join_returns", "yields"]

_YIELDS = frozenset((ast.Yield, ast.YieldFrom))
# What a function's own `yield` does not stand in.
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LEAVES = frozenset((*_SCOPES, ast.Name, ast.Constant, ast.Load, ast.Store, str, int, type(None)))

# Python nests at most 20 loops, and every branch costs one; deeper returns stay as they are.
_DEEPEST = 8


def join_returns(function: Any) -> None:
    """Rewrite the early returns of a function under conditions that may be the program's."""
    if _is_needed(function.body) and not yields(function):
        function.body = _tail(function.body, False, 0)


def _is_needed(block: list[Any]) -> bool:
    """Whether a `return` stands under a condition that may be the program's."""
    return any(
        node.__class__ is ast.If
        and (_returns(node) if not is_static_test(node.test) else _is_needed(node.body) or _is_needed(node.orelse))
        for node in block
    )


def _tail(block: list[Any], inside: bool, depth: int, at: Any = None) -> list[Any]:
    """A block behind which the function ends; `inside`: one whose return has become an assignment."""
    for i, node in enumerate(block):
        if isinstance(node, ast.Return) and inside:
            return [*block[:i], _assign(node.value, node)]
        if isinstance(node, (ast.Return, ast.Raise)):
            return block
        if not (isinstance(node, ast.If) and _returns(node)):
            continue
        rest = block[i + 1 :]
        first_ends, second_ends = _ends(node.body), _ends(node.orelse)
        if (rest and not first_ends and not second_ends) or depth == _DEEPEST:
            continue
        deeper = depth + (not is_static_test(node.test))
        node.body = _tail(node.body if first_ends else [*node.body, *rest], True, deeper, node)
        node.orelse = _tail(node.orelse if second_ends else [*node.orelse, *rest], True, deeper, node)
        if inside:
            return block[: i + 1]
        place = {"lineno": node.end_lineno or node.lineno, "col_offset": node.col_offset}
        final = ast.Return(value=ast.Name(id=RESULT, ctx=ast.Load(), **place), **place)
        return [*block[: i + 1], final]
    return [*block, _assign(None, block[-1] if block else at)] if inside else block


def _assign(value: Any, node: Any) -> ast.Assign:
    at = {"lineno": node.lineno, "col_offset": node.col_offset}
    if value is None:
        value = ast.Constant(value=None, **at)
    return ast.Assign(targets=[ast.Name(id=RESULT, ctx=ast.Store(), **at)], value=value, **at)


def _ends(block: list[Any]) -> bool:
    """Whether nothing runs behind the block, whatever its conditions are."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise))


def _returns(node: Any) -> bool:
    """Whether a `return` of this function stands in the statement."""
    return node.__class__ is ast.Return or any(map(_returns, statements_in(node)))


def yields(node: Any) -> bool:
    """Whether a `yield` stands in a function or statement, and not in a function inside."""
    waiting = [node]
    while waiting:
        outer = waiting.pop()
        for field in outer._fields:
            value = getattr(outer, field, None)
            for child in value if value.__class__ is list else (value,):
                kind = child.__class__
                if kind in _YIELDS:
                    return True
                if kind not in _LEAVES and isinstance(child, ast.AST):
                    waiting.append(child)
    return False
