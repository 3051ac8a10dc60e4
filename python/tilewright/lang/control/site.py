"""Where a construct of the user's stands, and the values of its variables."""

from __future__ import annotations

import linecache
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright._traceback import is_package
from tilewright.lang.carry.undefined import UNBOUND, Undefined

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

__all__ = ["RESULT", "Site", "display_name", "is_bound", "read", "read_path"]

# The variable that holds what a function returns whose branches end in `return`.
RESULT = "__tilewright_result__"


class Site(NamedTuple):
    """A line of the user's program."""

    file: str
    line: int
    function: str

    @classmethod
    def of(cls, frame: FrameType) -> Site:
        """The line that a frame is at; of the function that called this package, where the frame is of the package."""
        while is_package(frame.f_globals.get("__name__", "")) and frame.f_back is not None:
            frame = frame.f_back
        return cls(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def error(self, text: str, fix: str) -> str:
        """A message about this line: where, the line itself, what is wrong, what to do."""
        line = linecache.getline(self.file, self.line).strip()
        shown = f"\n    {line}" if line else ""
        return f"{self}, in {self.function}: {text}; {fix}{shown}"


def display_name(name: str) -> str:
    return "what the function returns" if name == RESULT else name.removeprefix("global ")


def read(frame: FrameType, names: Sequence[str]) -> list[Any]:
    """The values of variables; `global x` is one that the function declares global."""
    if not names:
        return []
    local = frame.f_locals
    return [
        frame.f_globals.get(name[7:], UNBOUND) if name.startswith("global ") else local.get(name, UNBOUND)
        for name in names
    ]


_HELD = (tuple, list, dict)  # whose elements are looked at


def read_path(frame: FrameType, path: Sequence[Any]) -> Any:
    """The object that a path leads to, UNBOUND where there is none: ("a", "b", (2,)) is `a.b[2]`.

    Looking must do nothing: an element of a tensor would be loaded, and a property is the user's function.
    """
    first, *steps = path
    value = frame.f_locals.get(first, UNBOUND)
    if value is UNBOUND:
        value = frame.f_globals.get(first, UNBOUND)
    for step in steps:
        is_attribute = isinstance(step, str)
        if isinstance(getattr(type(value), step, None), property) if is_attribute else not isinstance(value, _HELD):
            return UNBOUND
        try:
            value = getattr(value, step) if is_attribute else value[step[0]]
        except Exception:  # the body will say so, or make the object first
            return UNBOUND
    return value


def is_bound(value: Any) -> bool:
    return value is not UNBOUND and value.__class__ is not Undefined
