"""Python functions as JavaScript: the derivations of `explain` run on the page as they are, written once.

Only what plain functions over numbers, texts and tuples use is understood; anything else raises NotImplementedError
with its line, so that a test fails where a derivation uses more. What an operator or a built-in function does depends
on the kinds of its operands, so both become calls of python.js.
"""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["to_javascript"]

BUILTINS = frozenset(
    {"abs", "all", "any", "bool", "enumerate", "hasattr", "int", "isinstance", "len", "list", "map", "max", "min"}
    | {"range", "reversed", "sorted", "str", "sum", "tuple", "type", "zip", "TypeError"}
)
BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "floordiv", ast.Mod: "mod"}
ORDER = {ast.Lt: "<", ast.Gt: ">", ast.LtE: "<=", ast.GtE: ">="}
RESERVED = {"default", "function", "let", "new", "switch", "this", "typeof", "var", "void"}


def to_javascript(source: str, exports: Iterable[str]) -> str:
    """A JavaScript function of (py, _core) whose result has the exported names of a Python module.

    >>> print(to_javascript("def twice(x):\\n    return x + x", ["twice"]))
    (py, _core) => {
    "use strict";
    function twice(x) {
    return py.add(x, x);
    }
    return { twice };
    }
    """
    module = ast.parse(source)
    translator = Translator(module)
    body = [line for node in module.body for line in translator.top(node)]
    return "\n".join(["(py, _core) => {", '"use strict";', *body, f"return {{ {', '.join(exports)} }};", "}"])


class Translator:
    """Statements become lists of lines, expressions texts."""

    def __init__(self, module: ast.Module) -> None:
        self.functions = {node.name: node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)}
        self.names = {node.name for node in module.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}

    # ---- modules, classes, functions ----

    def top(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.If(test=ast.Name(id="TYPE_CHECKING")):
                return []
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                return []
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return [f"const {name} = {self.expression(node.value)};"]  # type: ignore[arg-type]
        return self.statement(node)

    def function(self, node: ast.FunctionDef, method: bool = False) -> list[str]:
        arguments = node.args
        if arguments.vararg and arguments.vararg.arg and (arguments.args[method:] or arguments.defaults):
            raise not_understood(node)
        plain = [argument.arg for argument in arguments.args]
        first_default = len(plain) - len(arguments.defaults)
        parameters = [
            name if i < first_default else f"{name} = {self.expression(arguments.defaults[i - first_default])}"
            for i, name in enumerate(map(safe, plain))
        ]
        if arguments.vararg:
            parameters.append("..." + safe(arguments.vararg.arg))
        inside = [line for part in without_docstring(node.body) for line in self.statement(part)]
        local = sorted(assigned(node.body) - set(plain))
        declared = [f"let {', '.join(map(safe, local))};"] if local else []
        if not method:
            return [f"function {safe(node.name)}({', '.join(parameters)}) {{", *declared, *inside, "}"]
        name = {"__init__": "constructor", "__str__": "toString"}.get(node.name, node.name)
        start = [f"const {plain[0]} = this;"]
        return [f"{name}({', '.join(parameters[1:])}) {{", *start, *declared, *inside, "}"]

    def class_(self, node: ast.ClassDef) -> list[str]:
        base = " extends py.Exception" if node.bases else ""
        lines = [f"class {node.name}{base} {{"]
        for part in without_docstring(node.body):
            match part:
                case ast.FunctionDef():
                    lines += self.function(part, method=True)
                case ast.Assign(targets=[ast.Name(id="__slots__")]):
                    pass
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    lines.append(f"{name} = {self.expression(value)};")
                case _:
                    raise not_understood(part)
        return [*lines, "}"]

    # ---- statements ----

    def block(self, body: list[ast.stmt]) -> list[str]:
        return [line for part in body for line in self.statement(part)]

    def statement(self, node: ast.stmt) -> list[str]:
        match node:
            case ast.FunctionDef():
                return self.function(node)
            case ast.ClassDef():
                return self.class_(node)
            case ast.Expr(value=value):
                return [f"{self.expression(value)};"]
            case ast.Return(value=value):
                return [f"return {self.expression(value) if value else 'null'};"]
            case ast.Pass():
                return []
            case ast.Raise(exc=ast.expr() as exception, cause=None):
                return [f"throw {self.expression(exception)};"]
            case ast.Assign(targets=[target], value=value):
                return [self.assignment(target, self.expression(value))]
            case ast.AnnAssign(target=target, value=value):
                return [self.assignment(target, self.expression(value))] if value else []
            case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=op, value=value):
                name = self.expression(target)
                return [f"{name} = py.{BINARY[type(op)]}({name}, {self.expression(value)});"]
            case ast.If(test=test, body=body, orelse=orelse):
                lines = [f"if ({self.truth(test)}) {{", *self.block(body), "}"]
                return [*lines, "else {", *self.block(orelse), "}"] if orelse else lines
            case ast.For(target=target, iter=iterable, body=body, orelse=[]):
                each = [
                    f"for (const $item of py.iter({self.expression(iterable)})) {{",
                    self.assignment(target, "$item"),
                ]
                return [*each, *self.block(body), "}"]
            case ast.With(items=[ast.withitem(context_expr=context, optional_vars=None)], body=body):
                enter = ["{", f"const $with = {self.expression(context)};", "let $raised = null;", "$with.__enter__();"]
                leave = ["} catch ($error) {", "$raised = $error;", "throw $error;"]
                leave += ["} finally {", "$with.__exit__($raised, $raised, null);", "}", "}"]
                return [*enter, "try {", *self.block(body), *leave]
        raise not_understood(node)

    def assignment(self, target: ast.expr, value: str) -> str:
        match target:
            case ast.Name(id=name):
                return f"{safe(name)} = {value};"
            case ast.Attribute():
                return f"{self.expression(target)} = {value};"
            case ast.Subscript(value=container, slice=index):
                return f"py.set({self.expression(container)}, {self.expression(index)}, {value});"
            case ast.Tuple():
                return f"{self.pattern(target)} = {self.unpacked(target, value)};"
        raise not_understood(target)

    def pattern(self, target: ast.expr) -> str:
        """What destructures a value that unpacked() has brought into this form."""
        match target:
            case ast.Name(id=name):
                return safe(name)
            case ast.Starred(value=value):
                return self.pattern(value)
            case ast.Tuple(elts=elements):
                return f"[{', '.join(map(self.pattern, elements))}]"
        raise not_understood(target)

    def unpacked(self, target: ast.Tuple, value: str) -> str:
        star = [i for i, element in enumerate(target.elts) if isinstance(element, ast.Starred)]
        if any(isinstance(element, ast.Tuple) for element in target.elts):
            inner = ", ".join(
                f"$x => {self.unpacked(element, '$x')}" if isinstance(element, ast.Tuple) else "null"
                for element in target.elts
            )
            return f"py.unpack({value}, {len(target.elts)}, -1, [{inner}])"
        return f"py.unpack({value}, {len(target.elts)}, {star[0] if star else -1})"

    # ---- expressions ----

    def truth(self, node: ast.expr) -> str:
        match node:
            case ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return self.expression(node)
        return f"py.truth({self.expression(node)})"

    def expression(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=None):
                return "null"
            case ast.Constant(value=bool() as value):
                return str(value).lower()
            case ast.Constant(value=int() as value):
                return f"{value}n"
            case ast.Constant(value=str() as value):
                return json.dumps(value)
            case ast.Name(id=name):
                return f"py.{name}" if name in BUILTINS and name not in self.names else safe(name)
            case ast.Attribute(value=value, attr=name):
                return (
                    f"py.attribute({self.expression(value)}, {json.dumps(name)})"
                    if name in METHODS
                    else (f"{self.expression(value)}.{name}")
                )
            case ast.JoinedStr(values=values):
                return " + ".join(['""', *map(self.piece, values)])
            case ast.Tuple(elts=elements):
                return f"py.tuple([{self.items(elements)}])"
            case ast.List(elts=elements):
                return f"[{self.items(elements)}]"
            case ast.Dict(keys=keys, values=values):
                return f"py.dict([{', '.join(self.entry(k, v) for k, v in zip(keys, values, strict=True))}])"
            case ast.DictComp(key=key, value=value, generators=generators):
                return (
                    f"py.dict({self.comprehension(f'[{self.expression(key)}, {self.expression(value)}]', generators)})"
                )
            case (
                ast.ListComp(elt=element, generators=generators) | ast.GeneratorExp(elt=element, generators=generators)
            ):
                return self.comprehension(self.expression(element), generators)
            case ast.Lambda(args=arguments, body=body):
                return f"(({', '.join(safe(a.arg) for a in arguments.args)}) => {self.expression(body)})"
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self.truth(test)} ? {self.expression(body)} : {self.expression(orelse)})"
            case ast.BoolOp(op=op, values=[*firsts, last]):
                name = "and" if isinstance(op, ast.And) else "or"
                text = self.expression(last)
                for value in reversed(firsts):
                    text = f"py.{name}({self.expression(value)}, () => {text})"
                return text
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"!{self.truth(operand)}"
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"-({self.expression(operand)})"
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return f"py.{BINARY[type(op)]}({self.expression(left)}, {self.expression(right)})"
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.comparison(node, self.expression(left), op, self.expression(right))
            case ast.Subscript(value=value, slice=ast.Slice(lower=lower, upper=upper, step=None)):
                bounds = ", ".join(self.expression(bound) if bound else "null" for bound in (lower, upper))
                return f"py.slice({self.expression(value)}, {bounds})"
            case ast.Subscript(value=value, slice=index):
                return f"py.item({self.expression(value)}, {self.expression(index)})"
            case ast.Call():
                return self.call(node)
        raise not_understood(node)

    def comparison(self, node: ast.expr, left: str, op: ast.cmpop, right: str) -> str:
        match op:
            case ast.Is() | ast.IsNot():
                return f"({left} {'!==' if isinstance(op, ast.IsNot) else '==='} {right})"
            case ast.Eq() | ast.NotEq():
                return f"{'!' * isinstance(op, ast.NotEq)}py.eq({left}, {right})"
            case ast.Lt() | ast.Gt() | ast.LtE() | ast.GtE():
                return f"({left} {ORDER[type(op)]} {right})"
        raise not_understood(node)

    def call(self, node: ast.Call) -> str:
        function = node.func
        arguments = [self.expression(argument) for argument in node.args]
        keywords = {keyword.arg: self.expression(keyword.value) for keyword in node.keywords}
        if keywords and isinstance(function, ast.Name) and function.id in self.functions:
            names = [argument.arg for argument in self.functions[function.id].args.args]
            arguments += [keywords.pop(name) for name in names[len(arguments) :] if name in keywords]
        elif keywords:  # built-in functions take theirs as an object
            arguments.append(f"{{{', '.join(f'{name}: {value}' for name, value in keywords.items())}}}")
            keywords = {}
        if keywords:
            raise not_understood(node)
        if isinstance(function, ast.Name) and function.id[0].isupper():
            return f"new {self.expression(function)}({', '.join(arguments)})"
        if isinstance(function, ast.Attribute) and function.attr in METHODS:
            name = json.dumps(function.attr)
            return f"py.method({', '.join([self.expression(function.value), name, *arguments])})"
        return f"{self.expression(function)}({', '.join(arguments)})"

    def items(self, elements: list[ast.expr]) -> str:
        return ", ".join(
            f"...py.iter({self.expression(e.value)})" if isinstance(e, ast.Starred) else self.expression(e)
            for e in elements
        )

    def entry(self, key: ast.expr | None, value: ast.expr) -> str:
        return f"...{self.expression(value)}" if key is None else f"[{self.expression(key)}, {self.expression(value)}]"

    def piece(self, node: ast.expr) -> str:
        match node:
            case ast.Constant():
                return self.expression(node)
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return f"py.str({self.expression(value)})"
        raise not_understood(node)

    def comprehension(self, element: str, generators: list[ast.comprehension]) -> str:
        lines = []
        for generator in generators:
            target = generator.target
            name = self.pattern(target)
            value = self.unpacked(target, "$item") if isinstance(target, ast.Tuple) else "$item"
            lines.append(f"for (const $item of py.iter({self.expression(generator.iter)})) {{ const {name} = {value};")
            lines += [f"if (!{self.truth(test)}) continue;" for test in generator.ifs]
        return f"[...(function* () {{ {' '.join(lines)} yield {element}; {'}' * len(generators)} }})()]"


# Methods of texts, lists and dictionaries; of our own classes the same names are called as they are.
METHODS = {"append", "format", "insert", "join", "setdefault", "sort", "values", "__name__"}


def safe(name: str) -> str:
    return f"{name}$" if name in RESERVED else name


def assigned(body: list[ast.stmt]) -> set[str]:
    """The names that a function assigns, those of functions inside it aside."""
    return {name for part in body for name in _assigned(part)}


def _assigned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _assigned(child)


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[1:] if is_text else body


def not_understood(node: ast.expr | ast.stmt) -> NotImplementedError:
    first = ast.unparse(node).partition("\n")[0]
    return NotImplementedError(f"line {node.lineno}: {first} has no translation into JavaScript")
