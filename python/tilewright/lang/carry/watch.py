"""What a region changes in place: lists, dicts, sets, namespaces, objects of the user's, states of pipelines, and the
variables of functions around those that it calls.

A region looks at every object that its code mentions, when it begins and when it ends. What a branch changed is put
back for the other branch and then joined; what a loop changed has to go round it, or is an error.
"""

from __future__ import annotations

import dis
import functools
from collections import deque
from contextlib import suppress
from enum import Enum
from functools import partial
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.lang.carry.registry import (
    Mismatch,
    is_package_module,
    is_package_type,
    leaf_of,
    mutable_kinds,
    parts_of,
)
from tilewright.lang.carry.undefined import Undefined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tilewright.lang.carry.join import Join

__all__ = ["Watch", "Watched", "join_states", "register_wrapper"]

_LONGEST = 4096  # elements of a container that is looked at
_DEEPEST = 6


class _Mutable(NamedTuple):
    """How the state of a kind of object is read, as a dict, and put back."""

    take: Callable[[Any], dict[Any, Any]]
    put: Callable[[Any, dict[Any, Any]], None]
    part: str  # how a part is written behind the object's name
    is_carried: bool = False  # in every loop that mentions the object


def _put_list(value: Any, state: dict[Any, Any]) -> None:
    value.clear()
    value.extend(state.values())


def _put_dict(value: Any, state: dict[Any, Any]) -> None:
    value.clear()
    value.update(state)


def _put_set(value: Any, state: dict[Any, Any]) -> None:
    value.clear()
    value.update(state)


def _put_attributes(value: Any, state: dict[Any, Any]) -> None:
    attributes = vars(value)
    attributes.clear()
    attributes.update(state)


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


_SKIP, _INSIDE, _CALLABLE = object(), object(), object()
_LIST = _Mutable(lambda v: dict(enumerate(v)), _put_list, "[{!r}]")
_DICT = _Mutable(dict, _put_dict, "[{!r}]")
_SET = _Mutable(lambda v: {x: x for x in v}, _put_set, "[{!r}]")
_GLOBAL = _Mutable(lambda v: _take_global(v), lambda v, state: _put_global(v, state), "{}")
_CLASS = _Mutable(lambda v: _take_class(v), lambda v, state: _put_class(v, state), ".{}")
_CELL = _Mutable(_take_cell, _put_cell, "{}")
_ATTRIBUTES = _Mutable(lambda v: dict(vars(v)), _put_attributes, ".{}")


def _registered(kind: type) -> _Mutable:
    parts = parts_of(kind)
    assert parts is not None
    assign = parts.assign
    assert assign is not None
    return _Mutable(
        lambda v: dict(enumerate(parts.split(v)[1])),
        lambda v, state: assign(v, list(state.values())),
        "[{}]",
        not parts.if_called,
    )


def _kind_of(kind: type) -> Any:
    try:
        return mutable_kinds[kind]
    except KeyError:
        found = mutable_kinds[kind] = _find_kind(kind)
        return found


def _find_kind(kind: type) -> Any:
    if kind in (int, float, bool, str, bytes, type(None)) or leaf_of(kind) is not None:
        return _SKIP
    if issubclass(kind, type):
        return _CLASS
    parts = parts_of(kind)
    if parts is not None and parts.assign is not None:
        return _registered(kind)
    for base, how in ((list, _LIST), (dict, _DICT), (set, _SET), (deque, _LIST), (SimpleNamespace, _ATTRIBUTES)):
        if issubclass(kind, base):
            return how
    if issubclass(kind, tuple):
        return _INSIDE
    if kind is CellType or kind is _Global:
        return _CELL if kind is CellType else _GLOBAL
    if kind in (FunctionType, MethodType, BuiltinMethodType, partial) or issubclass(kind, tuple(_wrappers)):
        return _CALLABLE
    if is_package_type(kind) or issubclass(kind, Enum) or kind.__dictoffset__ == 0:
        return _SKIP
    return _ATTRIBUTES


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


@functools.cache
def _global_names(code: CodeType) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of modules' variables that a function reads, and that it assigns."""
    reads, assigns = {}, {}
    for operation in dis.get_instructions(code):
        if operation.opname == "LOAD_GLOBAL":
            reads[operation.argval] = None
        elif operation.opname == "STORE_GLOBAL":
            assigns[operation.argval] = None
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            more, others = _global_names(inner)
            reads |= dict.fromkeys(more)
            assigns |= dict.fromkeys(others)
    return tuple(reads), tuple(assigns)


def _take_class(kind: type) -> dict[Any, Any]:
    return {name: value for name, value in vars(kind).items() if not name.startswith("__")}


def _put_class(kind: type, state: dict[Any, Any]) -> None:
    now = _take_class(kind)
    for name in now.keys() - state.keys():
        delattr(kind, name)
    for name, value in state.items():
        if now.get(name, _SKIP) is not value:
            setattr(kind, name, value)


_wrappers: dict[type, Callable[[Any], Any]] = {}


def register_wrapper(kind: type, function_of: Callable[[Any], Any]) -> None:
    """Say which function a callable object of a type calls: `function_of(wrapper)`."""
    _wrappers[kind] = function_of
    mutable_kinds.clear()


def _seen_by(function: Any) -> Iterator[tuple[str, Any]]:
    """What a function can change without a global name: objects, and variables of the functions around it."""
    if isinstance(function, (MethodType, BuiltinMethodType)):
        yield f"{function.__name__}.__self__", function.__self__
    elif isinstance(function, partial):
        yield "partial", (function.func, *function.args, *function.keywords.values())
    elif isinstance(function, FunctionType):
        yield from zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        if not is_package_module(function.__module__):
            outer = function.__globals__
            reads, assigns = _global_names(function.__code__)
            yield from ((name, outer[name]) for name in reads if name in outer)
            yield from ((f"global {name}", _global(outer, name)) for name in assigns)
    else:
        yield function.__name__, next(f(function) for kind, f in _wrappers.items() if isinstance(function, kind))


class Watched(NamedTuple):
    """One object: its name in the program, how it is read, and its state when the region began."""

    path: str
    value: Any
    how: _Mutable
    state: dict[Any, Any]

    def now(self) -> dict[Any, Any]:
        return self.how.take(self.value)

    def put(self, state: dict[Any, Any]) -> None:
        self.how.put(self.value, state)

    def is_one_of(self, variables: dict[str, Any]) -> bool:
        """Whether this is a variable that is known by its name, and has this value."""
        return self.how in (_CELL, _GLOBAL) and variables.get(self.path, self) is self.now().get("")

    def name(self, key: Any) -> str:
        return self.path + self.how.part.format(key)


# An object's name, or where it was found: (name of what holds it, how a part is written, key). Few names are needed.
_Path = Any


def _text(path: _Path) -> str:
    return path if isinstance(path, str) else _text(path[0]) + path[1].format(path[2])


def _same(first: dict[Any, Any], second: dict[Any, Any]) -> bool:
    if len(first) != len(second):
        return False
    return all(key in second and second[key] is value for key, value in first.items())


class Watch:
    """The objects that a region may change, found from the values that its code mentions."""

    def __init__(self, values: Iterable[tuple[str, Any]]) -> None:
        self.objects: list[Watched] = []
        self._seen: set[int] = set()
        for name, value in values:
            self._look(name, value, 0)

    def _look(self, path: _Path, value: Any, depth: int) -> None:
        how = _kind_of(value.__class__)
        if how is _SKIP or depth > _DEEPEST or id(value) in self._seen:
            return
        if how is _CLASS and (is_package_type(value) or issubclass(value, Enum)):
            return
        if how is _INSIDE:
            for i, part in enumerate(value):
                if _kind_of(part.__class__) is not _SKIP:
                    self._look((path, "[{}]", i), part, depth + 1)
            return
        if how is _CALLABLE:  # what is called here may change what it sees
            for name, part in _seen_by(value):
                self._look(name, part, depth + 1)
            return
        if how in (_LIST, _DICT, _SET) and len(value) > _LONGEST:
            return
        self._seen.add(id(value))
        watched = Watched(_text(path), value, how, how.take(value))
        self.objects.append(watched)
        for key, part in watched.state.items():
            if _kind_of(part.__class__) is not _SKIP:
                self._look((watched.path, how.part, key), part, depth + 1)

    def again(self) -> None:
        """Take the states of now as those to compare with."""
        self.objects = [watched._replace(state=watched.now()) for watched in self.objects]

    def find(self, value: Any) -> Watched | None:
        return next((watched for watched in self.objects if watched.value is value), None)

    def changes(self) -> list[tuple[Watched, dict[Any, Any]]]:
        """The objects that are not as they were when the region began, with their states now."""
        found = []
        for watched in self.objects:
            now = watched.now()
            if not _same(watched.state, now):
                found.append((watched, now))
        return found

    def restore(self) -> list[tuple[Watched, dict[Any, Any]]]:
        """Put back every object; what had changed."""
        found = self.changes()
        for watched, _ in found:
            watched.put(watched.state)
        return found


def join_states(
    join: Join,
    first: list[tuple[Watched, dict[Any, Any]]],
    second: list[tuple[Watched, dict[Any, Any]]],
    missing: Callable[[str], str],
) -> list[tuple[Watched, dict[Any, Any]]]:
    """Plans for the states of all objects that either branch changed; `missing(name)` explains what one lacks."""
    in_second = {id(watched.value): state for watched, state in second}
    both = [(watched, state, in_second.pop(id(watched.value), watched.state)) for watched, state in first]
    both += [(watched, watched.state, state) for watched, state in second if id(watched.value) in in_second]
    plans = []
    for watched, a, b in both:
        if watched.how in (_LIST, _SET) and a.keys() != b.keys():
            raise Mismatch(watched.path, _elements(a), _elements(b))
        plan = {}
        for key in {**a, **b}:
            name = watched.name(key)
            x = a[key] if key in a else Undefined(missing(name))
            y = b[key] if key in b else Undefined(missing(name))
            undefined = x if isinstance(x, Undefined) else y
            if isinstance(undefined, Undefined):
                x = y = undefined
            plan[key] = join.add(x, y, name)
        plans.append((watched, plan))
    return plans


def _elements(state: dict[Any, Any]) -> str:
    return f"{len(state)} element{'' if len(state) == 1 else 's'}"
