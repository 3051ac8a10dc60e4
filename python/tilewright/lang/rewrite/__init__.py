"""Rewrites a function once, so that its control flow may depend on values known at run time only."""

from __future__ import annotations

import sys
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING

# kinds registers what control flow does with min, max and the package's values.
from tilewright.lang import control, kinds  # noqa: F401
from tilewright.lang.rewrite.compiling import class_name, compile_in_scope
from tilewright.lang.rewrite.nodes import NAME
from tilewright.lang.rewrite.source import NoSource, tree_of
from tilewright.lang.rewrite.transform import transform
from tilewright.numeric import traced

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["advice", "rewrite"]


# What became of the code of every function that was rewritten: the new code, or why there is none.
_rewritten: dict[tuple[CodeType, str], CodeType | str] = {}
_made: dict[int, CodeType] = {}  # new code, and the code in it, by identity


def rewrite(function: FunctionType) -> FunctionType:
    """The function with its control flow rewritten for tracing; the function itself where Python keeps no source.

    Globals, closure, defaults, annotations, name and lines are the function's. Its source is read once for all
    functions that a definition makes.

    >>> def double(x):
    ...     return x + x if x > 0 else 0
    >>> [rewrite(double)(x) for x in (-1, 2)]
    [0, 4]
    """
    if not isinstance(function, FunctionType):
        return function
    code = function.__code__
    if id(code) in _made:  # written inside of a function that was rewritten
        return function
    key = (code, code.co_filename)
    found = _rewritten.get(key)
    if found is None:
        found = _rewritten[key] = _rewritten_code(function)
    return function if isinstance(found, str) else _with_code(function, found)


def _rewritten_code(function: FunctionType) -> CodeType | str:
    try:
        node = tree_of(function)
    except NoSource as error:
        return str(error)
    transform(node, class_name(function))
    code = compile_in_scope(node, function)
    _remember(code)
    return code


def _remember(code: CodeType) -> None:
    _made[id(code)] = code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _remember(constant)


def _with_code(function: FunctionType, code: CodeType) -> FunctionType:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells[NAME] = CellType(control)
    closure = tuple(cells[name] for name in code.co_freevars)
    new = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, closure)
    new.__kwdefaults__ = function.__kwdefaults__
    new.__qualname__ = function.__qualname__
    new.__module__ = function.__module__
    new.__doc__ = function.__doc__
    new.__dict__.update(function.__dict__)
    if hasattr(function, "__annotate__"):  # Python 3.14 evaluates annotations when they are asked for
        new.__annotate__ = function.__annotate__  # type: ignore[attr-defined]
    else:
        new.__annotations__ = function.__annotations__
    if hasattr(function, "__type_params__"):
        new.__type_params__ = function.__type_params__  # type: ignore[attr-defined]
    return new


def advice(frame: FrameType | None = None) -> str:
    """What to do where Python itself asks for a value that is known at run time only: for errors of `bool(x)`.

    It depends on the function that asks, the innermost that is not of this package.
    """
    frame = frame or sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "tilewright":
        frame = frame.f_back
    code = frame.f_code
    if id(code) in _made:
        return (
            "an index of a Python list, a comparison of tuples, a comprehension, `in`, `match`, `sorted`, int() and "
            "bool() need a value that is known while tracing: use an `if` statement on one number at a time, a "
            "loop over cutlass.range_constexpr where Python takes the index, over range(n - 1, -1, -1) in place of "
            "reversed(range(n)), a tensor, or pass the number as cutlass.Constexpr"
        )
    found = _rewritten.get((code, code.co_filename))
    if isinstance(found, str):
        why = f", for its source is not found ({found})"
        fix = "define it in a file or a notebook's cell"
    else:
        why, fix = "", "decorate it with @cute.jit, so that `if` and loops become the program's"
    return f"the control flow of {code.co_name} is Python's{why}: {fix}"


traced.advice = advice
