"""Syntax trees of what rewriting adds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["LOAD", "NAME", "STORE", "At", "statements_in"]

# What rewritten functions call the module of control flow.
NAME = "__tilewright__"
LOAD, STORE = ast.Load(), ast.Store()


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def statements_in(node: Any) -> Iterator[Any]:
    """The statements of a statement's blocks; none of a function or class."""
    if isinstance(node, _SCOPES):
        return
    for block in ("body", "orelse", "finalbody"):
        yield from getattr(node, block, ())
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from part.body


class At:
    """Makes nodes at the place of a node of the user's."""

    def __init__(self, node: Any) -> None:
        end = getattr(node, "end_lineno", None) or node.lineno
        self.at = {
            "lineno": node.lineno,
            "col_offset": node.col_offset,
            "end_lineno": end,
            "end_col_offset": getattr(node, "end_col_offset", None) or node.col_offset,
        }

    def name(self, name: str) -> ast.Name:
        return ast.Name(id=name, ctx=LOAD, **self.at)

    def constant(self, value: Any) -> ast.Constant:
        return ast.Constant(value=value, **self.at)

    def attribute(self, value: Any, name: str) -> ast.Attribute:
        return ast.Attribute(value=value, attr=name, ctx=LOAD, **self.at)

    def call(self, function: Any, *args: Any) -> ast.Call:
        return ast.Call(func=function, args=list(args), keywords=[], **self.at)

    def control(self, name: str, *args: Any) -> ast.Call:
        return self.call(self.attribute(self.name(NAME), name), *args)

    def lazy(self, body: Any) -> ast.Lambda:
        arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.Lambda(args=arguments, body=body, **self.at)

    def assign(self, name: str, value: Any) -> ast.Assign:
        return ast.Assign(targets=[ast.Name(id=name, ctx=STORE, **self.at)], value=value, **self.at)

    def statement(self, value: Any) -> ast.Expr:
        return ast.Expr(value=value, **self.at)

    def condition(self, test: Any, body: list[Any]) -> ast.If:
        return ast.If(test=test, body=body, orelse=[], **self.at)

    def compare(self, left: Any, op: Any, right: Any) -> ast.Compare:
        return ast.Compare(left=left, ops=[op], comparators=[right], **self.at)

    def unpack(self, names: Sequence[str], region: str, method: str) -> ast.stmt:
        """`x, y = region.method()`."""
        call = self.call(self.attribute(self.name(region), method))
        if not names:
            return self.statement(call)
        targets: list[ast.expr] = [ast.Name(id=name, ctx=STORE, **self.at) for name in names]
        return ast.Assign(targets=[ast.Tuple(elts=targets, ctx=STORE, **self.at)], value=call, **self.at)
