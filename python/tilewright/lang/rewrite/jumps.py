"""Rewrites `break`, `continue` and `return`: across branches that Python decides they work, others refuse them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tilewright.lang.rewrite.expressions import Expressions
from tilewright.lang.rewrite.names import ALL
from tilewright.lang.rewrite.nodes import NAME, At, statements_in

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["JUMP", "Jumps", "Region", "jumps_of"]

# Says behind the loop around an `if`'s branches how it was left.
JUMP = "__tilewright_jump__"
_BREAK, _CONTINUE = 1, 2
_LOOPS = ("for", "while", "python")


def jumps_of(node: Any) -> int:
    """Whether `break` (1) or `continue` (2) leaves a statement."""
    kind = node.__class__
    if kind is ast.Break:
        return _BREAK
    if kind is ast.Continue:
        return _CONTINUE
    found = 0
    for child in node.orelse if kind in (ast.For, ast.AsyncFor, ast.While) else statements_in(node):
        found |= jumps_of(child)
    return found


class Region:
    """A construct around a statement: the variable that says whether the program runs it."""

    def __init__(self, kind: str, variable: str, names: Sequence[str] = ()) -> None:
        self.kind, self.variable, self.names = kind, variable, names


class Jumps(Expressions):
    """The rewriting of a function's jumps."""

    _regions: list[Region]  # those around the statement

    def _jump_on(self, at: At, jumps: int) -> list[Any]:
        """Behind the loop around an `if`'s branches: go on with a `break` or `continue` that left it."""
        if self._wrappers():
            return [at.condition(at.name(JUMP), [ast.Break(**at.at)])]
        out: list[Any] = []
        if jumps & _BREAK:
            reset = at.assign(JUMP, at.constant(0))
            test = at.compare(at.name(JUMP), ast.Eq(), at.constant(_BREAK))
            out.append(at.condition(test, [reset, ast.Break(**at.at)]))
        if jumps & _CONTINUE:
            reset = at.assign(JUMP, at.constant(0))
            test = at.compare(at.name(JUMP), ast.Eq(), at.constant(_CONTINUE))
            out.append(at.condition(test, [reset, *self._continue_loop(at)]))
        return out

    def _wrappers(self) -> list[Region]:
        """The branches between here and the user's loop around."""
        found = []
        for region in reversed(self._regions):
            if region.kind in _LOOPS:
                break
            if region.kind == "if":
                found.append(region)
        return found

    def _loop(self) -> Region:
        return next(x for x in reversed(self._regions) if x.kind in _LOOPS)

    def _continue_loop(self, at: At) -> list[Any]:
        loop = self._loop()
        if loop.kind == "python":
            return [ast.Continue(**at.at)]
        leave = at.unpack(loop.names, loop.variable, "leave")
        return [at.condition(self._is_dynamic(at, loop), [leave]), ast.Continue(**at.at)]

    def _is_dynamic(self, at: At, region: Region) -> Any:
        if region.kind == "while":
            return at.attribute(at.name(region.variable), "dynamic")
        kind = {"for": "Loop", "with": "With"}[region.kind]
        actual = at.attribute(at.name(region.variable), "__class__")
        return at.compare(actual, ast.Is(), at.attribute(at.name(NAME), kind))

    def _cross(self, at: At, what: str, regions: Sequence[Region]) -> list[Any]:
        variables = [at.name(x.variable) for x in regions if x.kind != "python"]
        return [at.statement(at.control("cross", at.constant(what), *variables))] if variables else []

    def _break(self, node: Any) -> Any:
        at = At(node)
        inside = self._inside_loop()
        out = self._cross(at, "break", [*inside, self._loop()])
        if self._wrappers():
            out.append(at.assign(JUMP, at.constant(_BREAK)))
        self._bound = ALL
        return [*out, node]

    def _continue(self, node: Any) -> Any:
        at = At(node)
        out = self._cross(at, "continue", self._inside_loop())
        self._bound = ALL
        if self._wrappers():
            return [*out, at.assign(JUMP, at.constant(_CONTINUE)), ast.Break(**at.at)]
        return [*out, *self._continue_loop(at)]

    def _inside_loop(self) -> list[Region]:
        found: list[Region] = []
        for region in reversed(self._regions):
            if region.kind in _LOOPS:
                break
            found.append(region)
        return found

    def _return(self, node: Any) -> Any:
        if node.value is not None:
            node.value = self._visit(node.value)
        self._bound = ALL
        return [*self._cross(At(node), "return", self._regions), node]

    def _raise(self, node: Any) -> Any:
        self._visit_fields(node)
        self._bound = ALL
        return node
