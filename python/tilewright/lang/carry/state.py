"""Kinds of what changes in place, and how the state of each is read, and put back."""

from __future__ import annotations

from array import array
from collections import deque
from contextlib import suppress
from enum import Enum
from functools import partial
from types import BuiltinMethodType, CellType, FunctionType, GeneratorType, MethodType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.lang.carry.containers import slots_of
from tilewright.lang.carry.registry import is_package_module, is_package_type, leaf_of, mutable_kinds, parts_of
from tilewright.lang.global_names import global_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "CALLABLE",
    "CELL",
    "CLASS",
    "DICT",
    "GLOBAL",
    "INSIDE",
    "ITERATOR",
    "LIST",
    "SET",
    "SKIP",
    "Mutable",
    "is_users_class",
    "kind_of",
    "register_wrapper",
    "seen_by",
]

_LARGEST = 1 << 16  # bytes of a buffer that is looked at


class Mutable(NamedTuple):
    """How the state of a kind of object is read, as a dict, and put back."""

    take: Callable[[Any], dict[Any, Any]]
    put: Callable[[Any, dict[Any, Any]], None]
    part: str  # how a part is written behind the object's name
    is_carried: bool = False  # in every loop that mentions the object


# ---- containers and objects ----


def _put_list(value: Any, state: dict[Any, Any]) -> None:
    value.clear()
    value.extend(state.values())


def _put_dict(value: Any, state: dict[Any, Any]) -> None:
    value.clear()
    value.update(state)


def _put_attributes(value: Any, state: dict[Any, Any]) -> None:
    attributes = vars(value)
    attributes.clear()
    attributes.update(state)


def _take_slots(value: Any) -> dict[Any, Any]:
    return {name: getattr(value, name) for name in slots_of(type(value)) if hasattr(value, name)}


def _put_slots(value: Any, state: dict[Any, Any]) -> None:
    for name in _take_slots(value).keys() - state.keys():
        object.__delattr__(value, name)
    for name, part in state.items():
        object.__setattr__(value, name, part)


def _take_buffer(value: Any) -> dict[Any, Any]:
    view = memoryview(value)
    return {"": bytes(view) if view.nbytes <= _LARGEST else None}


def _put_buffer(value: Any, state: dict[Any, Any]) -> None:
    if state[""] is not None:
        memoryview(value).cast("B")[:] = state[""]


def _take_iterator(value: Any) -> dict[Any, Any]:
    """Where an iterator stands, which cannot be changed."""
    if value.__class__ is not GeneratorType:
        return {"": repr(value.__reduce__()[1:])}
    frame = value.gi_frame
    if frame is None:
        return {"": "its end"}
    return {"": repr((frame.f_lasti, [(name, id(x)) for name, x in frame.f_locals.items()]))}


# ---- variables ----


def _take_cell(cell: Any) -> dict[Any, Any]:
    try:
        return {"": cell.cell_contents}
    except ValueError:  # the variable has no value
        return {}


def _put_cell(cell: Any, state: dict[Any, Any]) -> None:
    if state:
        cell.cell_contents = state[""]
    else:
        with suppress(ValueError):
            del cell.cell_contents


class _Global(NamedTuple):
    """A variable of a module."""

    names: dict[str, Any]
    name: str


_known_globals: dict[tuple[int, str], _Global] = {}


def _global(names: dict[str, Any], name: str) -> _Global:
    """The same object each time."""
    return _known_globals.setdefault((id(names), name), _Global(names, name))


def _take_global(variable: _Global) -> dict[Any, Any]:
    return {"": variable.names[variable.name]} if variable.name in variable.names else {}


def _put_global(variable: _Global, state: dict[Any, Any]) -> None:
    if state:
        variable.names[variable.name] = state[""]
    else:
        variable.names.pop(variable.name, None)


def _take_class(kind: type) -> dict[Any, Any]:
    return {name: value for name, value in vars(kind).items() if not name.startswith("__")}


def _put_class(kind: type, state: dict[Any, Any]) -> None:
    now = _take_class(kind)
    for name in now.keys() - state.keys():
        delattr(kind, name)
    for name, value in state.items():
        if now.get(name, SKIP) is not value:
            setattr(kind, name, value)


def is_users_class(value: type) -> bool:
    return not is_package_type(value) and not issubclass(value, Enum)


# ---- what functions see ----


_wrappers: dict[type, Callable[[Any], Any]] = {}


def register_wrapper(kind: type, function_of: Callable[[Any], Any]) -> None:
    """Say which function a callable object of a type calls: `function_of(wrapper)`."""
    _wrappers[kind] = function_of
    mutable_kinds.clear()


def seen_by(function: Any) -> Iterator[tuple[str, Any]]:
    """What a function can change by itself: objects, and variables around it, each with its name."""
    if isinstance(function, (MethodType, BuiltinMethodType)):
        yield f"{function.__name__}.__self__", function.__self__
        if isinstance(function, MethodType):
            yield function.__name__, function.__func__
    elif isinstance(function, partial):
        yield "partial", (function.func, *function.args, *function.keywords.values())
    elif isinstance(function, FunctionType):
        name = function.__name__
        yield from zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        if is_package_module(function.__module__):
            return
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        yield f"a default of {name}", defaults
        outer = function.__globals__
        reads, assigns = global_names(function.__code__)
        # Dicts and sets of a module are mostly caches, of what is made while tracing.
        yield from ((x, outer[x]) for x in reads if x in outer and not isinstance(outer[x], (dict, set)))
        yield from ((f"global {assigned}", _global(outer, assigned)) for assigned in assigns)
    else:
        yield function.__name__, next(f(function) for kind, f in _wrappers.items() if isinstance(function, kind))


# ---- kinds ----

SKIP, INSIDE = object(), object()
LIST = Mutable(lambda v: dict(enumerate(v)), _put_list, "[{!r}]")
DICT = Mutable(dict, _put_dict, "[{!r}]")
SET = Mutable(lambda v: {x: x for x in v}, _put_dict, "[{!r}]")
CELL = Mutable(_take_cell, _put_cell, "{}")
GLOBAL = Mutable(_take_global, _put_global, "{}")
CLASS = Mutable(_take_class, _put_class, ".{}")
CALLABLE = Mutable(lambda v: dict(getattr(v, "__dict__", ())), _put_attributes, ".{}")
_ATTRIBUTES = Mutable(lambda v: dict(vars(v)), _put_attributes, ".{}")
_SLOTS = Mutable(_take_slots, _put_slots, ".{}")
_BUFFER = Mutable(_take_buffer, _put_buffer, "{}")
ITERATOR = Mutable(_take_iterator, lambda v, state: None, "{}")
_EMPTY: tuple[Any, ...] = ((), [], {}, {1}, "", range(0), reversed([]), enumerate(()))
_ITERATORS = (GeneratorType, *(type(iter(x)) for x in _EMPTY))


def _registered(kind: type) -> Mutable:
    parts = parts_of(kind)
    assert parts is not None
    assign = parts.assign
    assert assign is not None
    return Mutable(
        lambda v: dict(enumerate(parts.split(v)[1])),
        lambda v, state: assign(v, list(state.values())),
        "[{}]",
        not parts.if_called,
    )


def kind_of(kind: type) -> Any:
    """How objects of a type change: a Mutable, SKIP where they do not, INSIDE where only what they hold does."""
    try:
        return mutable_kinds[kind]
    except KeyError:
        found = mutable_kinds[kind] = _find_kind(kind)
        return found


def _find_kind(kind: type) -> Any:
    if kind in (int, float, bool, str, bytes, type(None)) or leaf_of(kind) is not None:
        return SKIP
    parts = parts_of(kind)
    if parts is not None and parts.assign is not None:
        return _registered(kind)
    for base, how in _KINDS:
        if issubclass(kind, base):
            return how
    if issubclass(kind, tuple(_wrappers)):
        return CALLABLE
    if (kind.__module__, kind.__name__) == ("numpy", "ndarray"):
        return _BUFFER
    if is_package_type(kind) or issubclass(kind, Enum):
        return SKIP
    if kind.__dictoffset__ == 0:
        return _SLOTS if any(slots_of(kind)) else SKIP
    return _ATTRIBUTES


_KINDS: tuple[tuple[Any, Any], ...] = (
    (type, CLASS),
    (list, LIST),
    (dict, DICT),
    (set, SET),
    (deque, LIST),
    (SimpleNamespace, _ATTRIBUTES),
    (_Global, GLOBAL),
    (tuple, INSIDE),
    (CellType, CELL),
    ((FunctionType, MethodType, BuiltinMethodType, partial), CALLABLE),
    ((bytearray, array), _BUFFER),
    (_ITERATORS, ITERATOR),
)
