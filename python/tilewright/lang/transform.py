"""Rewrites the body of a function: what may be decided at run time calls `__tilewright__`, Python's own stays.

    if x < n:                   for __b in __tilewright__.if_(x < n, ("y",), ("x", "y")):
        y = a                       if __b & 1:
    else:                               y = a
        y = b                       else:
                                        y = b
                                    if __b > 1: (y,) = __r.leave()

(`__r` is what `if_` gave.) So a branch that Python decides runs in place, once, and both run where the program decides.
Loops that the program runs make one trip; conditional expressions, `and` and `or` become calls with functions for what
may not be evaluated. Statements stay in the function's own frame: super(), closures, debuggers see nothing new.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Any

from tilewright.lang.names import ALL, Names, is_static_test
from tilewright.lang.returns import join_returns

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["NAME", "transform"]

NAME = "__tilewright__"
_JUMP = "__tilewright_jump__"
_BREAK, _CONTINUE = 1, 2
# Python nests at most 20 loops in a function; each `if` in another costs one.
_DEEPEST = 17
_LOOPS = ("for", "while", "python")
_LOAD, _STORE = ast.Load(), ast.Store()
_BUILTINS = frozenset(dir(builtins))
_CALLED = {"min", "max", "any", "all"}
_NAMED = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Subscript, ast.Attribute)
_BINDING = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)


def transform(function: Any) -> None:
    """Rewrite the body of a FunctionDef or Lambda, in place."""
    _Function(function).run()


class _At:
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
        return ast.Name(id=name, ctx=_LOAD, **self.at)

    def constant(self, value: Any) -> ast.Constant:
        return ast.Constant(value=value, **self.at)

    def attribute(self, value: Any, name: str) -> ast.Attribute:
        return ast.Attribute(value=value, attr=name, ctx=_LOAD, **self.at)

    def call(self, function: Any, *args: Any) -> ast.Call:
        return ast.Call(func=function, args=list(args), keywords=[], **self.at)

    def control(self, name: str, *args: Any) -> ast.Call:
        return self.call(self.attribute(self.name(NAME), name), *args)

    def lazy(self, body: Any) -> ast.Lambda:
        arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.Lambda(args=arguments, body=body, **self.at)

    def assign(self, name: str, value: Any) -> ast.Assign:
        return ast.Assign(targets=[ast.Name(id=name, ctx=_STORE, **self.at)], value=value, **self.at)

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
        targets: list[ast.expr] = [ast.Name(id=name, ctx=_STORE, **self.at) for name in names]
        return ast.Assign(targets=[ast.Tuple(elts=targets, ctx=_STORE, **self.at)], value=call, **self.at)


class _Region:
    """A construct around a statement: the variable that says whether the program runs it."""

    def __init__(self, kind: str, variable: str, names: Sequence[str] = ()) -> None:
        self.kind, self.variable, self.names = kind, variable, names


class _Function:
    """The rewriting of one function, without those inside of it."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._regions: list[_Region] = []
        self._count = 0
        self._bound = ALL  # variables that surely have a value here
        self._lambdas = 0

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
        names = self._names
        return tuple(f"global {x}" if x in names.globals else x for x in names.of(bits))

    def _region_names(self, bits: int) -> tuple[tuple[str, ...], list[str]]:
        """The variables as the control functions take them, and as the function writes them."""
        return self._text(bits), self._names.of(bits)

    def _watched(self, bits: int) -> tuple[str, ...]:
        return tuple(name for name in self._names.of(bits) if name not in _BUILTINS)

    def _if(self, node: ast.If) -> Any:
        at = _At(node.test)
        if is_static_test(node.test):
            node.test = self._visit(node.test)
            node.body, node.orelse = self._two(node.body, node.orelse)
            return node
        live = node.live_out | node.live_in  # type: ignore[attr-defined]
        inside = 0
        loads = 0
        for statement in (*node.body, *node.orelse):
            inside |= statement.stores  # type: ignore[attr-defined]
            loads |= statement.loads  # type: ignore[attr-defined]
        inside |= self._names.shared
        texts, names = self._region_names(inside & live)
        test = self._visit(node.test)
        if len(self._regions) >= _DEEPEST:
            node.test = test
            node.body, node.orelse = self._two(node.body, node.orelse)
            return node
        region, branch = self._new("if"), self._new("branch")
        jumps = _jumps(node)
        self._regions.append(_Region("if", branch))
        body, orelse = self._two(node.body, node.orelse)
        self._regions.pop()
        chosen = ast.BinOp(left=at.name(branch), op=ast.BitAnd(), right=at.constant(1), **at.at)
        inner: list[Any] = [ast.If(test=chosen, body=body, orelse=orelse, **at.at)]
        call = at.control("if_", test, at.constant(texts), at.constant(self._watched(loads)))
        out: list[Any] = []
        if names:
            out.append(at.assign(region, call))
            call = at.name(region)  # type: ignore[assignment]
            both = at.compare(at.name(branch), ast.Gt(), at.constant(1))
            inner.append(at.condition(both, [at.unpack(names, region, "leave")]))
        if jumps:
            out.append(at.assign(_JUMP, at.constant(0)))
        target = ast.Name(id=branch, ctx=_STORE, **at.at)
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

    def _jump_on(self, at: _At, jumps: int) -> list[Any]:
        """Behind the loop around an `if`'s branches: go on with a `break` or `continue` that left it."""
        if self._wrappers():
            return [at.condition(at.name(_JUMP), [ast.Break(**at.at)])]
        out: list[Any] = []
        if jumps & _BREAK:
            reset = at.assign(_JUMP, at.constant(0))
            test = at.compare(at.name(_JUMP), ast.Eq(), at.constant(_BREAK))
            out.append(at.condition(test, [reset, ast.Break(**at.at)]))
        if jumps & _CONTINUE:
            reset = at.assign(_JUMP, at.constant(0))
            test = at.compare(at.name(_JUMP), ast.Eq(), at.constant(_CONTINUE))
            out.append(at.condition(test, [reset, *self._continue_loop(at)]))
        return out

    def _wrappers(self) -> list[_Region]:
        """The branches between here and the user's loop around."""
        found = []
        for region in reversed(self._regions):
            if region.kind in _LOOPS:
                break
            if region.kind == "if":
                found.append(region)
        return found

    def _loop(self) -> _Region:
        return next(x for x in reversed(self._regions) if x.kind in _LOOPS)

    def _continue_loop(self, at: _At) -> list[Any]:
        loop = self._loop()
        if loop.kind == "python":
            return [ast.Continue(**at.at)]
        leave = at.unpack(loop.names, loop.variable, "leave")
        return [at.condition(self._is_dynamic(at, loop), [leave]), ast.Continue(**at.at)]

    def _is_dynamic(self, at: _At, region: _Region) -> Any:
        if region.kind == "while":
            return at.attribute(at.name(region.variable), "dynamic")
        kind = {"for": "Loop", "with": "With"}[region.kind]
        actual = at.attribute(at.name(region.variable), "__class__")
        return at.compare(actual, ast.Is(), at.attribute(at.name(NAME), kind))

    def _cross(self, at: _At, what: str, regions: Sequence[_Region]) -> list[Any]:
        variables = [at.name(x.variable) for x in regions if x.kind != "python"]
        return [at.statement(at.control("cross", at.constant(what), *variables))] if variables else []

    def _break(self, node: ast.Break) -> Any:
        at = _At(node)
        inside = self._inside_loop()
        out = self._cross(at, "break", [*inside, self._loop()])
        if self._wrappers():
            out.append(at.assign(_JUMP, at.constant(_BREAK)))
        self._bound = ALL
        return [*out, node]

    def _continue(self, node: ast.Continue) -> Any:
        at = _At(node)
        out = self._cross(at, "continue", self._inside_loop())
        self._bound = ALL
        if self._wrappers():
            return [*out, at.assign(_JUMP, at.constant(_CONTINUE)), ast.Break(**at.at)]
        return [*out, *self._continue_loop(at)]

    def _inside_loop(self) -> list[_Region]:
        found: list[_Region] = []
        for region in reversed(self._regions):
            if region.kind in _LOOPS:
                break
            found.append(region)
        return found

    def _return(self, node: ast.Return) -> Any:
        if node.value is not None:
            node.value = self._visit(node.value)
        self._bound = ALL
        return [*self._cross(_At(node), "return", self._regions), node]

    def _raise(self, node: ast.Raise) -> Any:
        self._visit_fields(node)
        self._bound = ALL
        return node

    def _for(self, node: ast.For) -> Any:
        at = _At(node.iter)
        names_of = self._names
        stores = node.target_stores | names_of.shared  # type: ignore[attr-defined]
        loads = 0
        paths: list[str] = []
        for statement in node.body:
            stores |= statement.stores  # type: ignore[attr-defined]
            loads |= statement.loads  # type: ignore[attr-defined]
            paths += statement.paths  # type: ignore[attr-defined]
        texts, names = self._region_names(stores & (node.live_out | node.live_in))  # type: ignore[attr-defined]
        iterable = self._iterable(node.iter)
        region = self._new("for")
        index = getattr(node.target, "id", "").strip("_")
        call = at.control("for_", iterable, *map(at.constant, (texts, self._watched(loads), _unique(paths), index)))
        out: list[Any] = [at.assign(region, call)]
        before = self._bound
        self._regions.append(_Region("for", region, names))
        self._bound |= node.target_stores  # type: ignore[attr-defined]
        self._visit_target(node.target)
        node.body = self._block(node.body)
        self._regions.pop()
        self._bound = before
        if names:
            loop = _Region("for", region)
            out.append(at.condition(self._is_dynamic(at, loop), [at.unpack(names, region, "enter")]))
            node.body.append(at.condition(self._is_dynamic(at, loop), [at.unpack(names, region, "leave")]))
        node.iter = at.name(region)
        node.orelse = self._block(node.orelse)
        self._bound = before
        return [*out, node]

    def _iterable(self, node: Any) -> Any:
        if node.__class__ is ast.Call and node.func.__class__ in (ast.Name, ast.Attribute):
            at = _At(node.func)
            self._visit_fields(node)
            node.func = at.control("loop", node.func)
            return node
        return self._visit(node)

    def _while(self, node: ast.While) -> Any:
        at = _At(node.test)
        if is_static_test(node.test):
            return self._python_while(node)
        names_of = self._names
        stores = names_of.shared | node.kills  # type: ignore[attr-defined]
        loads = names_of._reads(node.test)
        paths: list[str] = []
        for part in ast.walk(node.test):
            if part.__class__ is ast.NamedExpr:
                stores |= names_of.bit(part.target.id)  # type: ignore[attr-defined]
        for statement in node.body:
            stores |= statement.stores  # type: ignore[attr-defined]
            loads |= statement.loads  # type: ignore[attr-defined]
            paths += statement.paths  # type: ignore[attr-defined]
        texts, names = self._region_names(stores & (node.live_out | node.live_in))  # type: ignore[attr-defined]
        region = self._new("while")
        call = at.control("while_", *map(at.constant, (texts, self._watched(loads), _unique(paths))))
        before = self._bound
        loop = _Region("while", region, names)
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

    def _python_while(self, node: ast.While) -> Any:
        """`while True`, `while const_expr(..)`."""
        node.test = self._visit(node.test)
        before = self._bound
        self._regions.append(_Region("python", ""))
        node.body = self._block(node.body)
        self._regions.pop()
        self._bound = before
        node.orelse = self._block(node.orelse)
        self._bound = before
        return node

    def _with(self, node: ast.With) -> Any:
        if len(node.items) > 1:  # one in another, as Python reads it
            inner = ast.With(items=node.items[1:], body=node.body, **_At(node).at)
            for name in ("loads", "stores", "kills", "paths", "live_out", "live_in"):
                setattr(inner, name, getattr(node, name))
            node.items, node.body = node.items[:1], [inner]
        item = node.items[0]
        manager = item.context_expr = self._visit(item.context_expr)
        if item.optional_vars is not None:
            self._visit_target(item.optional_vars)
        if manager.__class__ is not ast.Call:
            node.body = self._block(node.body)
            return node
        at = _At(manager)
        stores = self._names.shared
        loads = 0
        for statement in node.body:
            stores |= statement.stores  # type: ignore[attr-defined]
            loads |= statement.loads  # type: ignore[attr-defined]
        texts, names = self._region_names(stores & node.live_out)  # type: ignore[attr-defined]
        region = self._new("with")
        item.context_expr = at.name(region)
        call = at.control("context", manager, at.constant(texts), at.constant(self._watched(loads)))
        loop = _Region("with", region)
        self._regions.append(loop)
        before = self._bound
        node.body = self._block(node.body)
        self._bound = before
        self._regions.pop()
        leave = at.condition(self._is_dynamic(at, loop), [at.unpack(names, region, "leave")])
        return [at.assign(region, call), node, leave]

    def _try(self, node: Any) -> Any:
        at = _At(node)
        before = self._bound
        node.body = self._block(node.body)
        node.orelse = self._block(node.orelse)
        after = self._bound
        blocks = self._new("depth")
        for handler in node.handlers:
            self._bound = before
            if handler.type is not None:
                handler.type = self._visit(handler.type)
            handler.body = [at.statement(at.control("unwind", at.name(blocks))), *self._block(handler.body)]
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

    def _assert(self, node: ast.Assert) -> Any:
        at = _At(node)
        if is_static_test(node.test) or _binds(node):
            self._visit_fields(node)
            return node
        text = ast.unparse(node.test)
        test = self._visit(node.test)
        message = at.constant(None)
        if node.msg is not None:
            node.msg = self._visit(node.msg)
            message = at.lazy(node.msg)  # type: ignore[assignment]
        call = at.control("fails", test, message, at.constant(text))
        node.test = ast.UnaryOp(op=ast.Not(), operand=call, **at.at)
        return node

    def _assign(self, node: ast.Assign) -> Any:
        is_named = node.value.__class__ in _NAMED
        node.value = self._visit(node.value)
        for target in node.targets:
            self._visit_target(target)
        if is_named:
            target = node.targets[0]
            node.value = self._named(target, node.value)
        return node

    def _named(self, target: Any, value: Any) -> Any:
        at = _At(target)
        if target.__class__ is ast.Name:
            return at.control("named", value, at.constant(target.id))
        if target.__class__ is ast.Tuple and all(x.__class__ is ast.Name for x in target.elts):
            return at.control("named_each", value, at.constant(tuple(x.id for x in target.elts)))
        return value

    def _annotated(self, node: ast.AnnAssign) -> Any:
        self._visit_target(node.target)
        if node.value is not None:
            is_named = node.value.__class__ in _NAMED
            node.value = self._visit(node.value)
            if is_named:
                node.value = self._named(node.target, node.value)
        return node

    def _augmented(self, node: ast.AugAssign) -> Any:
        node.value = self._visit(node.value)
        if node.target.__class__ is not ast.Name:
            self._visit_target(node.target)
            return node
        at = _At(node)
        name = node.target.id  # type: ignore[union-attr]
        named = at.statement(at.control("named", at.name(name), at.constant(name)))
        bit = self._names.bit(name)
        if self._guarded & bit and not self._bound & bit:
            return [at.statement(at.control("read", at.name(name))), node, named]
        return [node, named]

    def _inner(self, node: Any) -> Any:
        node.decorator_list = [self._visit(x) for x in node.decorator_list]
        node.args.defaults = [self._visit(x) for x in node.args.defaults]
        node.args.kw_defaults = [x if x is None else self._visit(x) for x in node.args.kw_defaults]
        transform(node)
        return node

    def _as_is(self, node: Any) -> Any:
        return node

    # --- expressions

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

    def _name(self, node: ast.Name) -> Any:
        if node.ctx.__class__ is not ast.Load:
            return node
        bit = self._names.bits.get(node.id, 0)
        if not bit & self._guarded or bit & self._bound:
            return node
        return _At(node).control("read", node)

    def _lazy(self, node: Any, at: _At) -> Any:
        self._lambdas += 1
        body = self._visit(node)
        self._lambdas -= 1
        return at.lazy(body)

    def _mentioned(self, *nodes: Any) -> list[Any]:
        """The names in parts that call something, and so may change an object."""
        found = 0
        calls = False
        for node in nodes:
            for part in ast.walk(node):
                calls = calls or part.__class__ is ast.Call
                if part.__class__ is ast.Name:
                    found |= self._names.bit(part.id)  # type: ignore[attr-defined]
        return [_At(nodes[0]).constant(self._watched(found))] if calls else []

    def _conditional(self, node: ast.IfExp) -> Any:
        if is_static_test(node.test) or _binds(node):
            self._visit_fields(node)
            return node
        at = _At(node)
        watched = self._mentioned(node.body, node.orelse)
        test = self._visit(node.test)
        return at.control("if_expression", test, self._lazy(node.body, at), self._lazy(node.orelse, at), *watched)

    def _connected(self, node: ast.BoolOp) -> Any:
        if is_static_test(node) or _binds(node):
            self._visit_fields(node)
            return node
        function = "and_" if node.op.__class__ is ast.And else "or_"
        return self._connect(function, node.values, node)

    def _connect(self, function: str, values: list[Any], node: Any) -> Any:
        first, *rest = values
        at = _At(node)
        watched = self._mentioned(*rest)
        value = self._visit(first)
        self._lambdas += 1
        second = self._connect(function, rest, node) if len(rest) > 1 else self._visit(rest[0])
        self._lambdas -= 1
        return at.control(function, value, at.lazy(second), *watched)

    def _unary(self, node: ast.UnaryOp) -> Any:
        if node.op.__class__ is not ast.Not or is_static_test(node.operand):
            self._visit_fields(node)
            return node
        return _At(node).control("not_", self._visit(node.operand))

    def _compared(self, node: ast.Compare) -> Any:
        if len(node.ops) == 1 or is_static_test(node) or _binds(node):
            self._visit_fields(node)
            return node
        at = _At(node)
        operators = at.constant(tuple(type(op).__name__ for op in node.ops))
        left = self._visit(node.left)
        rest: list[ast.expr] = [self._lazy(x, at) for x in node.comparators]
        return at.control("compare", left, operators, ast.Tuple(elts=rest, ctx=_LOAD, **at.at))

    def _call(self, node: ast.Call) -> Any:
        function = node.func
        self._visit_fields(node)
        if function.__class__ is ast.Name:
            name = function.id  # type: ignore[attr-defined]
            if name in _CALLED:
                node.func = _At(function).control("builtin", node.func)
            elif name == "super" and self._lambdas and not node.args and not node.keywords and self._first:
                at = _At(node)
                node.args = [at.name("__class__"), at.name(self._first)]
        return node

    def _lambda(self, node: ast.Lambda) -> Any:
        node.args.defaults = [self._visit(x) for x in node.args.defaults]
        node.args.kw_defaults = [x if x is None else self._visit(x) for x in node.args.kw_defaults]
        guarded, self._guarded = self._guarded, 0
        node.body = self._visit(node.body)
        self._guarded = guarded
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
    ast.ClassDef: _Function._as_is,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _Function._try
_EXPRESSIONS: dict[type, Any] = {
    ast.Name: _Function._name,
    ast.Constant: _Function._as_is,
    ast.IfExp: _Function._conditional,
    ast.BoolOp: _Function._connected,
    ast.UnaryOp: _Function._unary,
    ast.Compare: _Function._compared,
    ast.Call: _Function._call,
    ast.Lambda: _Function._lambda,
}


def _unique(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


def _binds(node: Any) -> bool:
    """Whether an expression assigns or yields, which a function inside cannot do for it."""
    return any(part.__class__ in _BINDING for part in ast.walk(node))


def _jumps(node: Any) -> int:
    """Whether `break` (1) or `continue` (2) leaves a statement."""
    kind = node.__class__
    if kind is ast.Break:
        return _BREAK
    if kind is ast.Continue:
        return _CONTINUE
    if isinstance(node, (ast.expr, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return 0
    found = 0
    children = node.orelse if kind in (ast.For, ast.AsyncFor, ast.While) else ast.iter_child_nodes(node)
    for child in children:
        found |= _jumps(child)
    return found
