"""Compiles a rewritten definition in the place of the old one: the same free variables, private names and lines."""

from __future__ import annotations

import ast
import sys
from types import CodeType, FunctionType
from typing import Any

from tilewright.lang.rewrite.nodes import NAME

__all__ = ["class_name", "compile_in_scope"]

_OUTER = "__tilewright_scope__"
# All flags that `from __future__ import ..` sets in a code object.
_FUTURE = 0x1FF0000


def compile_in_scope(node: Any, function: FunctionType) -> CodeType:
    """The code of a FunctionDef or Lambda that takes the place of a function's.

    It is compiled inside of a class inside of a function. The function has the free variables as parameters. The class
    has a name for which Python makes private names as before, and hides the definition's own name, which the body may
    use for something else.
    """
    _strip(node)
    old = function.__code__
    at = {"lineno": node.lineno, "col_offset": node.col_offset}
    body: Any = ast.Expr(value=node, **at) if isinstance(node, ast.Lambda) else node
    scope = ast.ClassDef(
        name=class_name(function), bases=[], keywords=[], body=[body], decorator_list=[], **_no_type_params(), **at
    )
    names = [ast.arg(arg=name, **at) for name in (*old.co_freevars, NAME)]
    outer = ast.FunctionDef(
        name=_OUTER,
        args=ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[]),
        body=[scope],
        decorator_list=[],
        returns=None,
        **_no_type_params(),
        **at,
    )
    module = ast.Module(body=[outer], type_ignores=[])
    code = compile(module, old.co_filename, "exec", flags=old.co_flags & _FUTURE, dont_inherit=True)
    for name in (_OUTER, scope.name, old.co_name):
        code = next(x for x in code.co_consts if isinstance(x, CodeType) and x.co_name == name)
    return _renamed(code, getattr(old, "co_qualname", function.__qualname__))


def _no_type_params() -> dict[str, Any]:
    return {"type_params": []} if sys.version_info >= (3, 12) else {}


def _strip(node: Any) -> None:
    """Leave out what was evaluated when the function was defined."""
    arguments = node.args
    arguments.defaults = []
    arguments.kw_defaults = [None] * len(arguments.kwonlyargs)
    if isinstance(node, ast.Lambda):
        return
    node.decorator_list = []
    node.returns = None
    if sys.version_info >= (3, 12):
        node.type_params = []
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None


def class_name(function: FunctionType) -> str:
    """A name for which `__x` becomes what it is in the class around the function; underscores where there is none."""
    *around, _ = getattr(function.__code__, "co_qualname", function.__qualname__).split(".")
    name = ""
    for part, following in zip(around, [*around, ""][1:], strict=True):
        if part != "<locals>" and following != "<locals>":
            name = part
    return f"____{name.lstrip('_')}"


def _renamed(code: CodeType, qualname: str) -> CodeType:
    """The code, and the code in it, named as in the user's module."""
    if sys.version_info < (3, 11):
        return code
    old = code.co_qualname

    def rename(part: CodeType) -> CodeType:
        constants = tuple(rename(x) if isinstance(x, CodeType) else x for x in part.co_consts)
        return part.replace(co_qualname=qualname + part.co_qualname.removeprefix(old), co_consts=constants)

    return rename(code)
