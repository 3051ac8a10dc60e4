"""The boundary of the Python functions: an error that says nothing of the call becomes one that names its argument.

The compiled functions do the same in cpp/bind/define.cpp. A call that succeeds pays for one more frame.
"""

from __future__ import annotations

import re
import sys
from functools import wraps
from operator import index
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright._traceback import REFUSALS, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["at_boundary", "guard", "integer", "shown"]

T = TypeVar("T")

_LONGEST = 80  # characters of an argument in an error
# `function: ...`, `function(operands): ...`, `function() missing ...`: the error names an operation.
_NAMED = r"[A-Za-z_][\w.]*(?:\[[^]]*\])?(?: call| \*)?(?:\(|: )"
_TRANSLATED = (AttributeError, TypeError, RecursionError, KeyError, ValueError, IndexError, OverflowError)


def shown(x: Any) -> str:
    """An argument in an error: its type and a short text, or its type alone where it has no text.

    >>> shown("x"), shown(None), shown([1, 2])
    ("str 'x'", 'None', 'list [1, 2]')
    """
    if x is None:
        return "None"
    try:
        text = repr(x)
    except Exception:  # an object's own; it is only mentioned
        return type(x).__name__
    if len(text) > _LONGEST or text.startswith("<"):
        return text[:_LONGEST] + "..." if text[0] in "'\"([{" else type(x).__name__
    return f"{type(x).__name__} {text}"


def integer(x: Any) -> int | None:
    """Python's integer of any library's; None for what is none. A truth value is none, whatever Python says.

    >>> integer(3), integer(True), integer(3.0)
    (3, None, None)
    """
    try:
        return None if isinstance(x, bool) else index(x)
    except TypeError:  # an array, for example, may have the method and refuse
        return None


def _holds(whole: Any, part: Any, depth: int = 0) -> bool:
    if whole is part:
        return True
    return depth < 8 and isinstance(whole, (list, tuple)) and any(_holds(item, part, depth + 1) for item in whole)


def _fits(function: Callable[..., Any], annotation: Any, value: Any) -> bool:
    """Whether a value is of the annotated kind, as far as that can be told."""
    try:
        kind = eval(annotation, function.__globals__) if isinstance(annotation, str) else annotation
        return isinstance(value, kind) or (kind is float and isinstance(value, int))
    except Exception:  # a name for type checkers alone, or a kind that has no instances
        return True


def _culprit(function: Callable[..., Any], given: dict[str, Any], error: BaseException) -> tuple[str, str] | None:
    """The argument that the error is about, and what it has to be."""
    annotations = function.__annotations__
    if isinstance(error, AttributeError):
        for name, value in given.items():
            if _holds(value, error.obj):
                annotation = str(annotations.get(name, "Any"))
                needed = f"an object that has .{error.name}" if "Any" in annotation else annotation
                return name, needed
    for name, value in given.items():
        if name in annotations and not _fits(function, annotations[name], value):
            return name, str(annotations[name])
    return None


def _from_package(error: BaseException) -> bool:
    """Whether the error comes from here or from a library, not from a function of the caller's that was called."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = "" if traceback is None else str(traceback.tb_frame.f_globals.get("__name__", ""))
    package = module.partition(".")[0]
    return package in ("tilewright", "numpy", "torch") or package in sys.stdlib_module_names


def _is_meant(error: BaseException) -> bool:
    """Whether a `raise` of the package says what is wrong, and not an operation that failed."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or not str(traceback.tb_frame.f_globals.get("__name__", "")).startswith("tilewright"):
        return False
    from opcode import opmap

    return traceback.tb_frame.f_code.co_code[traceback.tb_lasti] == opmap["RAISE_VARARGS"]


def _translated(
    name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception
) -> Exception | None:
    """The error that names the call; None where it does already."""
    try:
        text = str(error)
    except Exception:
        return None
    named = re.match(_NAMED, text) is not None and not isinstance(error, (AttributeError, KeyError))
    if isinstance(error, RecursionError):
        return ValueError(f"{name}: an argument is nested too deeply, or contains itself")
    if named or _is_meant(error) or not _from_package(error):
        return None
    from inspect import signature

    try:
        given = dict(signature(function).bind(*args, **kwargs).arguments)
    except TypeError:
        return TypeError(f"{name}: {text}")
    if isinstance(error, (ValueError, IndexError, OverflowError)):
        kind = type(error) if type(error) in _TRANSLATED else ValueError
        return kind(f"{name}: {text}")
    culprit = _culprit(function, given, error)
    if culprit is not None:
        parameter, needed = culprit
        return TypeError(f"{name}: expected {parameter} to be {needed}, but got {shown(given[parameter])}")
    arguments = ", ".join(f"{key}={shown(value)}" for key, value in given.items() if key != "self")
    return TypeError(f"{name}: one of the arguments is of a kind that it does not take: {arguments}")


def _guarded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            try:
                return function(*args, **kwargs)
            except _TRANSLATED as error:
                better = _translated(name, function, args, kwargs, error)
                if better is None:
                    raise
                raise better from error
        except REFUSALS as error:
            shorten(error)
            raise

    call.__boundary__ = True  # type: ignore[attr-defined]
    return call


def _is_ours(x: Any) -> bool:
    return isinstance(x, FunctionType) and x.__module__.startswith("tilewright") and not hasattr(x, "__boundary__")


def at_boundary(value: T) -> T:
    """A public function of the package, or a class's public methods, with errors that name the call; others as is.

    The function takes the place of the one in its module, so that the two stay one object.

    >>> from tilewright import cute
    >>> try:
    ...     cute.local_tile("x", (4,), (0,))
    ... except TypeError as error:
    ...     print(str(error).partition(":")[0])
    local_tile
    """
    if _is_ours(value):
        name: str = value.__name__  # type: ignore[attr-defined]
        module = sys.modules[value.__module__]
        guarded: Any = _guarded(name, value)  # type: ignore[arg-type]
        if vars(module).get(name) is value:
            setattr(module, name, guarded)
        return guarded  # type: ignore[no-any-return]
    if isinstance(value, type) and value.__module__.startswith("tilewright."):
        for key, member in list(vars(value).items()):
            if key.startswith("_") and key != "__init__":
                continue
            name = value.__name__ if key == "__init__" else f"{value.__name__}.{key}"
            if _is_ours(member):
                setattr(value, key, _guarded(name, member))
            elif isinstance(member, (classmethod, staticmethod)) and _is_ours(member.__func__):
                setattr(value, key, type(member)(_guarded(name, member.__func__)))
    return value


def guard(namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Put what a module exports at the boundary; names that it does not have yet are left out."""
    for name in names:
        if name not in namespace:
            continue
        value = namespace[name] = at_boundary(namespace[name])
        called = vars(type(value)).get("__call__")
        if _is_ours(called):  # an object that is called like a function
            type(value).__call__ = _guarded(name, called)
