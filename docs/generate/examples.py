"""Pictures of the reference: what cute.show draws of the first example of a docstring that has a picture."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
from typing import Any

import tilewright
from tilewright import cute
from tilewright.show.registry import OPERATIONS

__all__ = ["picture"]

PARSER = doctest.DocTestParser()
DRAWN = (
    cute.Layout, cute.ComposedLayout, cute.Swizzle, cute.TiledCopy, cute.TiledMma, cute.ThrCopy, cute.ThrMma,
    cute.CopyAtom, cute.MmaAtom, cute.Tensor, tilewright.analysis.Analysis,
)  # fmt: skip


def picture(name: str, docstring: str | None) -> str | None:
    """The SVG of the first of a docstring's examples that can be drawn: a call of the operation, or a result.

    Where there is none, of what the examples make and use, such as the tiled copy that `copy_tiled` executes, or of the
    first layout that the function is asked about.
    """
    names: dict[str, Any] = {
        "tilewright": tilewright,
        "cute": cute,
        "Int32": tilewright.Int32,
        "Int64": tilewright.Int64,
    }
    if docstring is None or ">>> " not in docstring:
        return None
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        for example in PARSER.get_examples(docstring):
            for statement in ast.parse(example.source).body:
                drawn = _of_calls(name, statement, names) or _of_result(statement, names)
                if drawn is not None:
                    return drawn
    return next(filter(None, map(_drawn, reversed(names.values()))), None) or _of_operands(name, docstring, names)


def _of_calls(name: str, statement: ast.stmt, names: dict[str, Any]) -> str | None:
    """Of the first call of the function: the operation on its operands, or what it returns."""
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == name:
            if name not in OPERATIONS:
                return _drawn(eval(ast.unparse(call), names))
            values = [eval(ast.unparse(x), names) for x in call.args]
            keywords = {x.arg: eval(ast.unparse(x.value), names) for x in call.keywords if x.arg}
            with contextlib.suppress(TypeError, ValueError):
                return cute.show(name, *values, **keywords).svg()
    return None


def _of_operands(name: str, docstring: str, names: dict[str, Any]) -> str | None:
    """Of the first layout, also one as text, that the examples hand to the function."""
    for example in PARSER.get_examples(docstring):
        for call in ast.walk(ast.parse(example.source)):
            if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == name:
                for operand in (*call.args, *(keyword.value for keyword in call.keywords)):
                    with contextlib.suppress(Exception):
                        value = eval(ast.unparse(operand), names)
                        layout = cute.parse(value) if isinstance(value, str) else value
                        drawn = _drawn(layout)
                        if drawn is not None:
                            return drawn
    return None


def _of_result(statement: ast.stmt, names: dict[str, Any]) -> str | None:
    """Of what a line prints; any other line is executed."""
    if isinstance(statement, ast.Expr):
        shown = statement.value
        if isinstance(shown, ast.Call) and ast.unparse(shown.func) == "print":
            shown = ast.Tuple(shown.args, ast.Load())
        return _drawn(eval(compile(ast.fix_missing_locations(ast.Expression(shown)), "<example>", "eval"), names))
    exec(compile(ast.Module([statement], []), "<example>", "exec"), names)
    return None


def _drawn(value: Any) -> str | None:
    for one in value if isinstance(value, tuple) else (value,):
        if isinstance(one, DRAWN):
            with contextlib.suppress(TypeError, ValueError):
                return cute.show(one).svg()
    return None
