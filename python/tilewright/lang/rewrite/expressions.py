"""Rewrites expressions: what may not be evaluated becomes a function that control flow calls."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from tilewright.lang.rewrite.names import Names, is_static_test
from tilewright.lang.rewrite.nodes import LOAD, At

__all__ = ["Expressions", "binds"]

_BUILTINS = frozenset(dir(builtins))
_CALLED = {"min", "max", "any", "all"}
_MAY_CHANGE = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.Attribute)
_BINDING = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)


def binds(node: Any) -> bool:
    """Whether an expression assigns or yields, which a function inside cannot do for it."""
    return any(part.__class__ in _BINDING for part in ast.walk(node))


class Expressions:
    """The rewriting of a function's expressions."""

    _names: Names
    _owner: str  # the class around the function, without leading underscores
    _bound: int  # variables that surely have a value here
    _guarded = 0  # variables that a region may leave without one
    _first: str | None = None  # the first parameter, which super() uses
    _lambdas = 0  # functions made here around the expression

    def _watched(self, bits: int) -> tuple[str, ...]:
        """The names whose objects a region may change."""
        return tuple(self._private(name) for name in self._names.of(bits) if name not in _BUILTINS)

    def _private(self, name: str) -> str:
        """A name as Python stores it: `__x` of a class is `_Class__x`."""
        if not self._owner or not name.startswith("__") or name.endswith("__"):
            return name
        return f"_{self._owner}{name}"

    def _as_is(self, node: Any) -> Any:
        return node

    def _visit(self, node: Any) -> Any:
        method = _EXPRESSIONS.get(node.__class__)
        if method is not None:
            return method(self, node)
        self._visit_fields(node)
        return node

    def _visit_fields(self, node: Any) -> None:
        for field in node._fields:
            value = getattr(node, field, None)
            if value.__class__ is list:
                for i, part in enumerate(value):
                    if isinstance(part, ast.AST):
                        value[i] = self._visit(part)
            elif isinstance(value, ast.AST):
                setattr(node, field, self._visit(value))

    def _visit_target(self, node: Any) -> None:
        """The expressions in what is assigned to: `a[i]`, `x.y`."""
        self._visit_fields(node)

    def _name(self, node: Any) -> Any:
        if node.ctx.__class__ is not ast.Load:
            return node
        bit = self._names.bits.get(node.id, 0)
        if not bit & self._guarded or bit & self._bound:
            return node
        return At(node).control("read", node)

    def _lazy(self, node: Any, at: At) -> Any:
        self._lambdas += 1
        body = self._visit(node)
        self._lambdas -= 1
        return at.lazy(body)

    def _mentioned(self, *nodes: Any) -> list[Any]:
        """The names in parts that may change an object: by a call, an operator, a property."""
        found = 0
        changes = False
        for node in nodes:
            part: Any
            for part in ast.walk(node):
                changes = changes or part.__class__ in _MAY_CHANGE
                if part.__class__ is ast.Name:
                    found |= self._names.bit(part.id)
        return [At(nodes[0]).constant(self._watched(found))] if changes and found else []

    def _conditional(self, node: Any) -> Any:
        if is_static_test(node.test) or binds(node):
            self._visit_fields(node)
            return node
        at = At(node)
        watched = self._mentioned(node.body, node.orelse)
        test = self._visit(node.test)
        return at.control("if_expression", test, self._lazy(node.body, at), self._lazy(node.orelse, at), *watched)

    def _connected(self, node: Any) -> Any:
        if is_static_test(node) or binds(node):
            self._visit_fields(node)
            return node
        function = "and_" if node.op.__class__ is ast.And else "or_"
        return self._connect(function, node.values, node)

    def _connect(self, function: str, values: list[Any], node: Any) -> Any:
        first, *rest = values
        at = At(node)
        watched = self._mentioned(*rest)
        value = self._visit(first)
        self._lambdas += 1
        second = self._connect(function, rest, node) if len(rest) > 1 else self._visit(rest[0])
        self._lambdas -= 1
        return at.control(function, value, at.lazy(second), *watched)

    def _unary(self, node: Any) -> Any:
        if node.op.__class__ is not ast.Not or is_static_test(node.operand):
            self._visit_fields(node)
            return node
        return At(node).control("not_", self._visit(node.operand))

    def _compared(self, node: Any) -> Any:
        if len(node.ops) == 1 or is_static_test(node) or binds(node):
            self._visit_fields(node)
            operands = (node.left, *node.comparators)
            is_equality = len(node.ops) == 1 and node.ops[0].__class__ in (ast.Eq, ast.NotEq)
            if not is_equality or any(x.__class__ is ast.Constant for x in operands) or is_static_test(node):
                return node
            at = At(node)  # of lists and tuples, perhaps, which ask each item for a bool
            return at.control("equal", *operands, at.constant(node.ops[0].__class__ is ast.NotEq))
        at = At(node)
        operators = at.constant(tuple(type(op).__name__ for op in node.ops))
        watched = self._mentioned(*node.comparators[1:])
        left = self._visit(node.left)
        rest: list[ast.expr] = [self._lazy(x, at) for x in node.comparators]
        return at.control("compare", left, operators, ast.Tuple(elts=rest, ctx=LOAD, **at.at), *watched)

    def _call(self, node: Any) -> Any:
        function = node.func
        self._visit_fields(node)
        if function.__class__ is ast.Name:
            name = function.id
            if name in _CALLED:
                node.func = At(function).control("builtin", node.func)
            elif name == "super" and self._lambdas and not node.args and not node.keywords and self._first:
                at = At(node)
                node.args = [at.name("__class__"), at.name(self._first)]
        return node

    def _lambda(self, node: Any) -> Any:
        node.args.defaults = [self._visit(x) for x in node.args.defaults]
        node.args.kw_defaults = [x if x is None else self._visit(x) for x in node.args.kw_defaults]
        guarded, self._guarded = self._guarded, 0
        node.body = self._visit(node.body)
        self._guarded = guarded
        return node


_EXPRESSIONS: dict[type, Any] = {
    ast.Name: Expressions._name,
    ast.Constant: Expressions._as_is,
    ast.IfExp: Expressions._conditional,
    ast.BoolOp: Expressions._connected,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._compared,
    ast.Call: Expressions._call,
    ast.Lambda: Expressions._lambda,
}
