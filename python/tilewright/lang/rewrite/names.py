"""Which variables a statement reads and assigns, and which are read later: what rewriting a function has to know.

Sets of names are the bits of an integer. Every statement gets `loads`, `stores` (of everything inside), `kills` (what
it surely assigns) and `paths` (what of an object it assigns, and whose methods it calls); a branch or loop
gets `live_out` (read behind it) and `live_in` (read in the second branch, or when another trip begins), too.
"""

from __future__ import annotations

import ast
from typing import Any

__all__ = ["Names", "is_static_test"]

ALL = -1
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_ALWAYS_STATIC = {"callable", "const_expr", "hasattr", "isinstance", "issubclass"}


def is_static_test(node: ast.expr) -> bool:
    """Whether a condition is Python's by its form: const_expr(..), isinstance(..), `x is None`, and such."""
    if isinstance(node, ast.Call):
        function = node.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", None)
        return name in _ALWAYS_STATIC
    if isinstance(node, ast.Compare):
        return all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not) and is_static_test(node.operand)
    if isinstance(node, ast.BoolOp):
        return all(map(is_static_test, node.values))
    return isinstance(node, ast.Constant)


class Names:
    """The names of one function."""

    def __init__(self, function: Any) -> None:
        self.bits: dict[str, int] = {}
        self.captured = 0  # read or assigned by functions inside: always live
        self.shared = 0  # assigned by functions inside
        self.globals: set[str] = set()
        self.in_regions = 0  # assigned by a branch or a loop
        arguments = function.args
        self.parameters = [x.arg for x in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        self.parameters += [x.arg for x in (arguments.vararg, arguments.kwarg) if x is not None]
        body = function.body if isinstance(function.body, list) else []
        for statement in body:
            self._statement(statement)
        if "locals" in self.bits or "exec" in self.bits or "eval" in self.bits:
            self.captured = ALL
        self._handlers = 0
        self._live(body, 0, 0, 0)

    def bit(self, name: str) -> int:
        found = self.bits.get(name)
        if found is None:
            found = self.bits[name] = 1 << len(self.bits)
        return found

    def of(self, bits: int) -> list[str]:
        """The names of a set, in the order in which they appear in the function."""
        return [name for name, bit in self.bits.items() if bits & bit]

    # --- reads and assignments

    def _statement(self, node: Any) -> None:
        node.loads = node.stores = node.kills = 0
        node.paths = []
        kind = node.__class__
        if kind is ast.If or kind is ast.While:
            self._expression(node.test, node)
            self._inside(node, node.body, node.orelse)
            self.in_regions |= node.stores
        elif kind is ast.For or kind is ast.AsyncFor:
            self._expression(node.iter, node)
            kills = node.kills
            self._expression(node.target, node)
            node.target_stores, node.kills = node.kills & ~kills, kills
            self._inside(node, node.body, node.orelse)
            self.in_regions |= node.stores
        elif kind is ast.With or kind is ast.AsyncWith:
            for item in node.items:
                self._expression(item.context_expr, node)
                if item.optional_vars is not None:
                    self._expression(item.optional_vars, node)
            self._inside(node, node.body)
            self.in_regions |= node.stores
        elif kind is ast.Try or kind.__name__ == "TryStar":
            self._inside(node, node.body, node.orelse, node.finalbody)
            for handler in node.handlers:
                if handler.type is not None:
                    self._expression(handler.type, node)
                if handler.name is not None:
                    node.stores |= self.bit(handler.name)
                self._inside(node, handler.body)
        elif kind is ast.Match:
            self._expression(node.subject, node)
            for case in node.cases:
                for part in ast.walk(case.pattern):
                    name = getattr(part, "name", None) or getattr(part, "rest", None)
                    if isinstance(name, str):
                        node.stores |= self.bit(name)
                    elif isinstance(part, ast.expr):
                        self._expression(part, node)
                if case.guard is not None:
                    self._expression(case.guard, node)
                self._inside(node, case.body)
        elif kind in _SCOPES:
            self._scope(node, node)
        elif kind is ast.Global or kind is ast.Nonlocal:
            for name in node.names:
                self.captured |= self.bit(name)
                if kind is ast.Global:
                    self.globals.add(name)
        elif kind is ast.Import or kind is ast.ImportFrom:
            for alias in node.names:
                node.kills |= self.bit((alias.asname or alias.name).partition(".")[0])
            node.stores |= node.kills
        else:
            if kind is ast.AugAssign and isinstance(node.target, ast.Name):
                node.loads |= self.bit(node.target.id)
            self._children(node, node)

    def _inside(self, node: Any, *blocks: list[Any]) -> None:
        for block in blocks:
            for statement in block:
                self._statement(statement)
                node.loads |= statement.loads
                node.stores |= statement.stores
                node.paths += statement.paths

    def _children(self, node: Any, out: Any) -> None:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                self._expression(value, out)
            elif value.__class__ is list:
                for part in value:
                    if isinstance(part, ast.AST):
                        self._expression(part, out)

    def _expression(self, node: Any, out: Any) -> None:
        kind = node.__class__
        if kind is ast.Name:
            bit = self.bit(node.id)
            if node.ctx.__class__ is ast.Load:
                out.loads |= bit
            else:
                out.stores |= bit
                out.kills |= bit
        elif kind is ast.Attribute or kind is ast.Subscript:
            if node.ctx.__class__ is not ast.Load:
                path = path_of(node.value)
                if path is not None:
                    out.paths.append((path, node.attr if kind is ast.Attribute else None))
            self._expression(node.value, out)
            if kind is ast.Subscript:
                self._expression(node.slice, out)
        elif kind is ast.Constant:
            pass
        elif kind is ast.Call:
            if node.func.__class__ is ast.Attribute:
                path = path_of(node.func.value)
                if path is not None:
                    out.paths.append((path, ()))
            self._children(node, out)
        elif kind is ast.Lambda:
            self._scope(node, out)
        elif kind is ast.NamedExpr:
            out.stores |= self.bit(node.target.id)
            self._expression(node.value, out)
        elif kind in _COMPREHENSIONS:
            self._comprehension(node, out)
        else:
            self._children(node, out)

    def _comprehension(self, node: Any, out: Any) -> None:
        """Targets of a comprehension are its own; what `:=` assigns inside is the function's."""
        for part in ast.walk(node):
            if isinstance(part, ast.NamedExpr):
                out.stores |= self.bit(part.target.id)
            elif isinstance(part, ast.Name):
                out.loads |= self.bit(part.id)
            elif isinstance(part, ast.Lambda):
                self._scope(part, out)

    def _scope(self, node: Any, out: Any) -> None:
        """A function or class inside: what it takes from this function counts as read, at any time."""
        for name in _taken(node):
            bit = self.bit(name)
            out.loads |= bit
            self.captured |= bit
        for part in ast.walk(node):
            if part.__class__ is ast.Nonlocal:
                for name in part.names:
                    self.shared |= self.bit(name)
        if node.__class__ is not ast.Lambda:
            bit = self.bit(node.name)
            out.stores |= bit
            out.kills |= bit

    # --- what is read later

    def _live(self, block: list[Any], out: int, at_break: int, at_continue: int) -> int:
        """What is live in front of a block, from what is live behind it."""
        for node in reversed(block):
            out = self._live_before(node, out | self._handlers, at_break, at_continue)
        return out

    def _live_before(self, node: Any, out: int, at_break: int, at_continue: int) -> int:
        kind = node.__class__
        if kind is ast.If:
            node.live_out = out | self.captured
            second = self._live(node.orelse, out, at_break, at_continue)
            node.live_in = second | self.captured
            first = self._live(node.body, out, at_break, at_continue)
            return first | second | self.reads(node.test)
        if kind is ast.For or kind is ast.AsyncFor or kind is ast.While:
            behind = self._live(node.orelse, out, at_break, at_continue)
            head = self.reads(node.test) if kind is ast.While else 0
            target = 0 if kind is ast.While else node.target_stores
            top = behind | head
            for _ in range(2):  # what a trip leaves to the next one, too
                top |= self._live(node.body, top, out, top) & ~target
            node.live_out = behind | self.captured
            node.live_in = top | self.captured
            return top if kind is ast.While else top | self.reads(node.iter)
        if kind is ast.With or kind is ast.AsyncWith:
            node.live_out = out | self.captured
            node.live_in = node.live_out
            inside = self._live(node.body, out, at_break, at_continue)
            for item in node.items:
                inside |= self.reads(item.context_expr)
            return inside | out
        if kind is ast.Try or kind.__name__ == "TryStar":
            final = self._live(node.finalbody, out, at_break, at_continue)
            caught = final
            for handler in node.handlers:
                caught |= self._live(handler.body, final, at_break, at_continue)
            outer, self._handlers = self._handlers, self._handlers | caught
            behind = self._live(node.orelse, final, at_break, at_continue)
            inside = self._live(node.body, behind, at_break, at_continue)
            self._handlers = outer
            return int(inside | caught | node.loads)
        if kind is ast.Match:
            inside = out | int(node.loads)
            for case in node.cases:
                inside |= self._live(case.body, out, at_break, at_continue)
            return inside
        if kind is ast.Break:
            return at_break
        if kind is ast.Continue:
            return at_continue
        if kind is ast.Return or kind is ast.Raise:
            return int(node.loads) | self._handlers
        return int(out & ~node.kills | node.loads)

    def reads(self, node: Any) -> int:
        """The names that an expression reads."""
        if not hasattr(node, "reads"):
            box: Any = ast.Pass()
            box.loads = box.stores = box.kills = 0
            box.paths = []
            self._expression(node, box)
            node.reads = box.loads
        return int(node.reads)


def _taken(node: Any) -> set[str]:
    """The names that a function or class takes from around it: all in it but a function's parameters and variables.

    Of classes and comprehensions these are all names in them.
    """
    if node.__class__ is ast.ClassDef:
        return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    arguments = node.args
    parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    own = {x.arg for x in parameters if x is not None}
    body = node.body if isinstance(node.body, list) else [node.body]
    used: set[str] = set()
    others: set[str] = set()  # assigned here, but not its own
    left: list[Any] = list(body)
    while left:
        part = left.pop()
        kind = part.__class__
        if kind is ast.Name:
            used.add(part.id)
            if part.ctx.__class__ is not ast.Load:
                own.add(part.id)
        elif kind in _SCOPES:
            used |= _taken(part)
            if kind is not ast.Lambda:
                own.add(part.name)
        elif kind in _COMPREHENSIONS:
            used |= {x.id for x in ast.walk(part) if isinstance(x, ast.Name)}
        elif kind is ast.Nonlocal or kind is ast.Global:
            others.update(part.names)
        else:
            left += ast.iter_child_nodes(part)
    around = [arguments, *getattr(node, "decorator_list", ()), *filter(None, [getattr(node, "returns", None)])]
    outside = {x.id for part in around for x in ast.walk(part) if isinstance(x, ast.Name)}
    return (used - (own - others)) | outside


def path_of(node: Any) -> tuple[Any, ...] | None:
    """How an object is found: `a.b[2]` is ("a", "b", (2,)); None for what is not made of names and constants alone."""
    if node.__class__ is ast.Name:
        return (node.id,)
    step: Any
    if node.__class__ is ast.Attribute:
        base, step = path_of(node.value), node.attr
    elif node.__class__ is ast.Subscript and node.slice.__class__ is ast.Constant:
        base, step = path_of(node.value), (node.slice.value,)
    else:
        return None
    return None if base is None else (*base, step)
