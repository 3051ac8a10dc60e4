"""Rewrites the body of a function: what may be decided at run time calls `__tilewright__`, Python's own stays.

    if x < n:                   __r = __tilewright__.if_(x < n, ("y",), (), ("a", "b"))
        y = a                   for __b in __r:
    else:                           if __b & 1:
        y = b                           y = a
                                    else:
                                        y = b
                                    if __b > 1:
                                        (y,) = __r.leave()

So a branch that Python decides runs in place, once, and both run where the program decides.
Loops that the program runs make one trip; conditional expressions, `and` and `or` become calls with functions for what
may not be evaluated. Statements stay in the function's own frame: super(), closures, debuggers see nothing new.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tilewright.lang.rewrite.expressions import binds
from tilewright.lang.rewrite.jumps import JUMP, Jumps, Region, jumps_of
from tilewright.lang.rewrite.names import ALL, Names, is_static_test
from tilewright.lang.rewrite.nodes import STORE, At
from tilewright.lang.rewrite.returns import join_returns, yields

if TYPE_CHECKING:
    pass

__all__ = ["transform"]

# Python nests at most 20 loops in a function; each `if` in another costs one.
_DEEPEST = 17
_NAMED = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Subscript, ast.Attribute)


def transform(function: Any, owner: str) -> None:
    """Rewrite the body of a FunctionDef or Lambda, in place; owner: the class around it, for private names."""
    _Function(function, owner).run()


class _Function(Jumps):
    """The rewriting of one function, without those inside of it."""

    def __init__(self, function: Any, owner: str) -> None:
        self._function = function
        self._owner = owner.strip("_")
        self._regions: list[Region] = []
        self._count = 0
        self._bound = ALL
        self._is_generator = function.__class__ is not ast.Lambda and yields(function)

    def run(self) -> None:
        function = self._function
        if function.__class__ is ast.Lambda:
            self._names = Names(function)
            self._first, self._guarded = None, 0
            function.body = self._visit(function.body)
            return
        join_returns(function)
        self._names = names = Names(function)
        self._bound = 0
        for parameter in names.parameters:
            self._bound |= names.bit(parameter)
        self._first = names.parameters[0] if names.parameters else None
        self._guarded = (
            names.in_regions
        )  # what is not assigned in a region has a value, or Python says that it has none
        function.body = self._block(function.body)

    # --- statements

    def _block(self, block: list[Any]) -> list[Any]:
        out: list[Any] = []
        for node in block:
            method = _STATEMENTS.get(node.__class__)
            if self._is_generator and self._regions and not hasattr(node, "body") and yields(node):
                out += self._cross(At(node), "yield", self._regions)
            if method is None:
                self._visit_fields(node)
                out.append(node)
            else:
                result = method(self, node)
                out.extend(result) if result.__class__ is list else out.append(result)
            self._bound |= node.kills
        return out

    def _new(self, kind: str) -> str:
        self._count += 1
        return f"__tilewright_{kind}{self._count}__"

    def _text(self, bits: int) -> tuple[str, ...]:
        outer = self._names.globals
        return tuple(f"global {self._private(x)}" if x in outer else self._private(x) for x in self._names.of(bits))

    def _paths(self, paths: list[Any]) -> tuple[Any, ...]:
        """The parts of objects as the control functions take them: (path of the object, attribute), each once."""

        def private(step: Any) -> Any:
            return self._private(step) if isinstance(step, str) else step

        return tuple(dict.fromkeys((tuple(map(private, path)), private(part)) for path, part in paths))

    def _region_names(self, bits: int) -> tuple[tuple[str, ...], list[str]]:
        """The variables as the control functions take them, and as the function writes them."""
        return self._text(bits), self._names.of(bits)

    def _if(self, node: Any) -> Any:
        at = At(node.test)
        if is_static_test(node.test):
            node.test = self._visit(node.test)
            node.body, node.orelse = self._two(node.body, node.orelse)
            return node
        inside, loads, _ = _facts([*node.body, *node.orelse])
        inside |= self._names.shared
        # What only the second branch reads is put back for it, and is not joined.
        joined, kept = inside & node.live_out, inside & node.live_in & ~node.live_out
        names = self._names.of(joined) + self._names.of(kept)
        texts = self._text(joined), self._text(kept)
        test = self._visit(node.test)
        if len(self._regions) >= _DEEPEST:
            node.test = at.control("too_deep", test)
            node.body, node.orelse = self._two(node.body, node.orelse)
            return node
        region, branch = self._new("if"), self._new("branch")
        jumps = jumps_of(node)
        self._regions.append(Region("if", branch))
        body, orelse = self._two(node.body, node.orelse)
        self._regions.pop()
        chosen = ast.BinOp(left=at.name(branch), op=ast.BitAnd(), right=at.constant(1), **at.at)
        inner: list[Any] = [ast.If(test=chosen, body=body, orelse=orelse, **at.at)]
        call: ast.expr = at.control("if_", test, *map(at.constant, (*texts, self._watched(loads))))
        out: list[Any] = []
        if names:
            out.append(at.assign(region, call))
            call = at.name(region)
            both = at.compare(at.name(branch), ast.Gt(), at.constant(1))
            inner.append(at.condition(both, [at.unpack(names, region, "leave")]))
        if jumps:
            out.append(at.assign(JUMP, at.constant(0)))
        target = ast.Name(id=branch, ctx=STORE, **at.at)
        out.append(ast.For(target=target, iter=call, body=inner, orelse=[], **at.at))
        if jumps:
            out += self._jump_on(at, jumps)
        return out

    def _two(self, first: list[Any], second: list[Any]) -> tuple[list[Any], list[Any]]:
        """Two branches, of which one runs."""
        before = self._bound
        body = self._block(first)
        after, self._bound = self._bound, before
        orelse = self._block(second)
        self._bound &= after
        return body, orelse

    def _for(self, node: Any) -> Any:
        at = At(node.iter)
        stores, loads, paths = _facts(node.body)
        stores |= node.target_stores | self._names.shared
        texts, names = self._region_names(stores & (node.live_out | node.live_in))
        iterable = self._iterable(node.iter)
        region = self._new("for")
        index = getattr(node.target, "id", "").strip("_")
        call = at.control("for_", iterable, *map(at.constant, (texts, self._watched(loads), self._paths(paths), index)))
        out: list[Any] = [at.assign(region, call)]
        before = self._bound
        self._regions.append(Region("for", region, names))
        self._bound |= node.target_stores
        self._visit_target(node.target)
        node.body = self._block(node.body)
        self._regions.pop()
        self._bound = before
        if names:
            loop = Region("for", region)
            out.append(at.condition(self._is_dynamic(at, loop), [at.unpack(names, region, "enter")]))
            node.body.append(at.condition(self._is_dynamic(at, loop), [at.unpack(names, region, "leave")]))
        node.iter = at.name(region)
        node.orelse = self._block(node.orelse)
        self._bound = before
        return [*out, node]

    def _iterable(self, node: Any) -> Any:
        if node.__class__ is ast.Call and node.func.__class__ in (ast.Name, ast.Attribute):
            at = At(node.func)
            self._visit_fields(node)
            node.func = at.control("loop", node.func)
            return node
        return self._visit(node)

    def _while(self, node: Any) -> Any:
        at = At(node.test)
        if is_static_test(node.test):
            return self._python_while(node)
        names_of = self._names
        stores, loads, paths = _facts(node.body)
        stores |= names_of.shared
        loads |= names_of.reads(node.test)
        part: Any
        for part in ast.walk(node.test):
            if part.__class__ is ast.NamedExpr:
                stores |= names_of.bit(part.target.id)
        texts, names = self._region_names(stores & (node.live_out | node.live_in))
        region = self._new("while")
        call = at.control("while_", *map(at.constant, (texts, self._watched(loads), self._paths(paths))))
        before = self._bound
        loop = Region("while", region, names)
        self._regions.append(loop)
        test = at.call(at.attribute(at.name(region), "test"), self._visit(node.test))
        body = self._block(node.body)
        self._regions.pop()
        self._bound = before
        orelse = self._block(node.orelse)
        self._bound = before
        values = [at.condition(self._is_dynamic(at, loop), [at.unpack(names, region, "values")])] if names else []
        again = ast.UnaryOp(op=ast.Not(), operand=test, **at.at)
        leave = at.condition(self._is_dynamic(at, loop), [at.unpack(names, region, "leave")])
        node.test = at.call(at.attribute(at.name(region), "begin"))
        node.body = [*values, at.condition(again, [ast.Continue(**at.at)]), *values, *body, leave]
        node.orelse = orelse
        return [at.assign(region, call), node]

    def _python_while(self, node: Any) -> Any:
        """`while True`, `while const_expr(..)`."""
        node.test = self._visit(node.test)
        before = self._bound
        self._regions.append(Region("python", ""))
        node.body = self._block(node.body)
        self._regions.pop()
        self._bound = before
        node.orelse = self._block(node.orelse)
        self._bound = before
        return node

    def _with(self, node: Any) -> Any:
        if len(node.items) > 1:  # one in another, as Python reads it
            inner = ast.With(items=node.items[1:], body=node.body, **At(node).at)
            for name in ("loads", "stores", "kills", "paths", "live_out", "live_in"):
                setattr(inner, name, getattr(node, name))
            node.items, node.body = node.items[:1], [inner]
        item = node.items[0]
        manager = item.context_expr = self._visit(item.context_expr)
        if item.optional_vars is not None:
            self._visit_target(item.optional_vars)
        at = At(manager)
        # A manager that stops an error may not stop one of a branch that is decided at run time.
        blocks = self._new("depth")
        before, behind = (at.assign(blocks, at.control("depth")), at.statement(at.control("caught", at.name(blocks))))
        if manager.__class__ is not ast.Call:
            node.body = self._block(node.body)
            return [before, node, behind]
        stores, loads, _ = _facts(node.body)
        stores |= self._names.shared
        texts, names = self._region_names(stores & node.live_out)
        region = self._new("with")
        item.context_expr = at.name(region)
        call = at.control("context", manager, at.constant(texts), at.constant(self._watched(loads)))
        loop = Region("with", region)
        self._regions.append(loop)
        bound = self._bound
        node.body = self._block(node.body)
        self._bound = bound
        self._regions.pop()
        leave = at.condition(self._is_dynamic(at, loop), [at.unpack(names, region, "leave")])
        return [before, at.assign(region, call), node, leave, behind]

    def _try(self, node: Any) -> Any:
        at = At(node)
        before = self._bound
        node.body = self._block(node.body)
        node.orelse = self._block(node.orelse)
        after = self._bound
        blocks = self._new("depth")
        for handler in node.handlers:
            self._bound = before
            if handler.type is not None:
                handler.type = self._visit(handler.type)
            handler.body = [at.statement(at.control("caught", at.name(blocks))), *self._block(handler.body)]
            after &= self._bound
        self._bound = before
        node.finalbody = self._block(node.finalbody)
        self._bound |= after
        return [at.assign(blocks, at.control("depth")), node] if node.handlers else node

    def _match(self, node: Any) -> Any:
        node.subject = self._visit(node.subject)
        before = self._bound
        for case in node.cases:
            self._bound = before
            if case.guard is not None:
                case.guard = self._visit(case.guard)
            case.body = self._block(case.body)
        self._bound = before
        return node

    def _assert(self, node: Any) -> Any:
        at = At(node)
        if is_static_test(node.test) or binds(node):
            self._visit_fields(node)
            return node
        text = ast.unparse(node.test)
        test = self._visit(node.test)
        message: ast.expr = at.constant(None)
        if node.msg is not None:
            node.msg = self._visit(node.msg)
            message = at.lazy(node.msg)
        call = at.control("fails", test, message, at.constant(text))
        node.test = ast.UnaryOp(op=ast.Not(), operand=call, **at.at)
        return node

    def _assign(self, node: Any) -> Any:
        is_named = node.value.__class__ in _NAMED
        node.value = self._visit(node.value)
        for target in node.targets:
            self._visit_target(target)
        if is_named:
            target = node.targets[0]
            node.value = self._named(target, node.value)
        return node

    def _named(self, target: Any, value: Any) -> Any:
        at = At(target)
        if target.__class__ is ast.Name:
            return at.control("named", value, at.constant(target.id))
        elements: list[Any] = target.elts if isinstance(target, ast.Tuple) else []
        if elements and all(x.__class__ is ast.Name for x in elements):
            return at.control("named_each", value, at.constant(tuple(x.id for x in elements)))
        return value

    def _annotated(self, node: Any) -> Any:
        self._visit_target(node.target)
        if node.value is not None:
            is_named = node.value.__class__ in _NAMED
            node.value = self._visit(node.value)
            if is_named:
                node.value = self._named(node.target, node.value)
        return node

    def _augmented(self, node: Any) -> Any:
        node.value = self._visit(node.value)
        if node.target.__class__ is not ast.Name:
            self._visit_target(node.target)
            return node
        at = At(node)
        name = node.target.id
        named = at.statement(at.control("named", at.name(name), at.constant(name)))
        bit = self._names.bit(name)
        if self._guarded & bit and not self._bound & bit:
            return [at.statement(at.control("read", at.name(name))), node, named]
        return [node, named]

    def _inner(self, node: Any) -> Any:
        node.decorator_list = [self._visit(x) for x in node.decorator_list]
        node.args.defaults = [self._visit(x) for x in node.args.defaults]
        node.args.kw_defaults = [x if x is None else self._visit(x) for x in node.args.kw_defaults]
        transform(node, self._owner)
        return node

    def _class(self, node: Any) -> Any:
        for part in node.body:
            if part.__class__ is ast.FunctionDef:
                transform(part, node.name)
        return node


_STATEMENTS: dict[type, Any] = {
    ast.If: _Function._if,
    ast.For: _Function._for,
    ast.While: _Function._while,
    ast.With: _Function._with,
    ast.Try: _Function._try,
    ast.Match: _Function._match,
    ast.Break: _Function._break,
    ast.Continue: _Function._continue,
    ast.Return: _Function._return,
    ast.Raise: _Function._raise,
    ast.Assert: _Function._assert,
    ast.Assign: _Function._assign,
    ast.AnnAssign: _Function._annotated,
    ast.AugAssign: _Function._augmented,
    ast.FunctionDef: _Function._inner,
    ast.AsyncFunctionDef: _Function._as_is,
    ast.ClassDef: _Function._class,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _Function._try


def _facts(block: list[Any]) -> tuple[int, int, list[Any]]:
    """What the statements assign and read, and the paths of the objects that they change."""
    stores = loads = 0
    paths: list[Any] = []
    for statement in block:
        stores |= statement.stores
        loads |= statement.loads
        paths += statement.paths
    return stores, loads, paths
