"""What a region changes in place: lists, dicts, sets, namespaces, objects of the user's, states of pipelines, and the
variables of functions and modules that functions it calls assign.

A region looks at everything that its code mentions, when it begins and when it ends. What a branch changed is put back
for the other branch and then joined; what a loop changed has to go round it, or is an error.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.lang.carry.registry import Mismatch
from tilewright.lang.carry.state import (
    CALLABLE,
    CELL,
    CLASS,
    DICT,
    GLOBAL,
    INSIDE,
    ITERATOR,
    LIST,
    SET,
    SKIP,
    Mutable,
    is_users_class,
    kind_of,
    seen_by,
)
from tilewright.lang.carry.undefined import Undefined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tilewright.lang.carry.join import Join

__all__ = ["Watch", "Watched", "join_states"]

_LONGEST = 4096  # elements of a container that is looked at


class Watched(NamedTuple):
    """One object: its name in the program, how it is read, and its state when the region began."""

    path: str
    value: Any
    how: Mutable
    state: dict[Any, Any]

    def now(self) -> dict[Any, Any]:
        return self.how.take(self.value)

    def put(self, state: dict[Any, Any]) -> None:
        self.how.put(self.value, state)

    def is_one_of(self, variables: dict[str, Any]) -> bool:
        """Whether this is a variable that is known by its name, and has this value."""
        return self.how in (CELL, GLOBAL) and variables.get(self.path, self) is self.now().get("")

    def name(self, key: Any) -> str:
        return self.path + self.how.part.format(key)


# An object's name, or where it was found: (name of what holds it, how a part is written, key). Few names are needed.
_Path = Any


def _text(path: _Path) -> str:
    return path if isinstance(path, str) else _text(path[0]) + path[1].format(path[2])


def _same(first: dict[Any, Any], second: dict[Any, Any]) -> bool:
    if len(first) != len(second):
        return False
    return all(key in second and _is_same(second[key], value) for key, value in first.items())


def _is_same(first: Any, second: Any) -> bool:
    """Whether nothing has changed; what buffers and iterators are is told by bytes and text."""
    return first is second or (first.__class__ in (bytes, str) and first == second)


class Watch:
    """The objects that a region may change, found from the values that its code mentions."""

    def __init__(self, values: Iterable[tuple[str, Any]]) -> None:
        self.objects: list[Watched] = []
        self._seen: set[int] = set()
        for name, value in values:
            self._walk(name, value)

    def _walk(self, path: _Path, value: Any) -> None:
        """Look at an object and at all that it leads to, however deep."""
        left = [(path, value)]
        while left:
            left += reversed(list(self._look(*left.pop())))

    def _look(self, path: _Path, value: Any) -> Iterator[tuple[_Path, Any]]:
        """What an object leads to; the object itself is noted if it can change."""
        how = kind_of(value.__class__)
        if how is SKIP or id(value) in self._seen:
            return
        if how is CLASS and not is_users_class(value):
            return
        if how is INSIDE:
            for i, part in enumerate(value):
                if kind_of(part.__class__) is not SKIP:
                    yield (path, "[{}]", i), part
            return
        if how is CALLABLE:  # what is called here may change what it sees
            self._seen.add(id(value))
            yield from seen_by(value)
            if value.__class__ is not FunctionType:
                return
        if how in (LIST, DICT, SET) and len(value) > _LONGEST:
            return
        self._seen.add(id(value))
        watched = Watched(_text(path), value, how, how.take(value))
        self.objects.append(watched)
        for key, part in watched.state.items():
            if kind_of(part.__class__) is not SKIP:
                yield (watched.path, how.part, key), part

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
                if watched.how is ITERATOR:  # which cannot be put back
                    raise Mismatch(watched.path, "where it stood", "further on", "take what it gives before")
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
        if watched.how in (LIST, SET, DICT) and a.keys() != b.keys():
            raise Mismatch(watched.path, *(_keys(x) if watched.how is DICT else _elements(x) for x in (a, b)))
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


def _keys(state: dict[Any, Any]) -> str:
    return f"a dict with {', '.join(map(repr, state)) or 'nothing'}"


def _elements(state: dict[Any, Any]) -> str:
    return f"{len(state)} element{'' if len(state) == 1 else 's'}"
