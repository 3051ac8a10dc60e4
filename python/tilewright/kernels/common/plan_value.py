"""Plans as values: frozen dataclasses, each field of the kind that its annotation names."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from tilewright.kernels.common.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

__all__ = ["Kind", "Natural", "PlanValue", "Positive", "counts", "kinds_of", "unchanging"]

MOST = 2**31 - 1  # what an int of the device holds
T = TypeVar("T", bound="type[PlanValue]")


class Kind(NamedTuple):
    """What a field must be, in words, and whether a value is that."""

    text: str
    accepts: Callable[[Any], bool]


def _is_count(value: Any) -> bool:
    return type(value) is int and 1 <= value <= MOST


def counts(size: int, text: str) -> Kind:
    """The kind of a tuple of so many positive integers.

    >>> counts(2, "two positive integers").accepts((1, 0))
    False
    """
    return Kind(text, lambda value: isinstance(value, tuple) and len(value) == size and all(map(_is_count, value)))


Positive = Annotated[int, Kind("a positive integer below 2^31", _is_count)]
Natural = Annotated[
    int, Kind("an integer from 0 on and below 2^31", lambda value: type(value) is int and 0 <= value <= MOST)
]


def kind_of(annotation: Any) -> Kind:
    """The kind of a field with this annotation.

    >>> kind_of(bool | None).text
    'True or False, or None'
    """
    if get_origin(annotation) is Annotated:
        kind: Kind = annotation.__metadata__[0]
        return kind
    if get_origin(annotation) in (Union, UnionType):
        kinds = [kind_of(each) for each in get_args(annotation)]
        text = f"{', '.join(kind.text for kind in kinds[:-1])}, or {kinds[-1].text}"
        return Kind(text, lambda value: any(kind.accepts(value) for kind in kinds))
    if annotation is NoneType:
        return Kind("None", lambda value: value is None)
    if annotation is bool:
        return Kind("True or False", lambda value: type(value) is bool)
    if annotation is int:
        return Kind("an integer", lambda value: type(value) is int)
    return Kind(f"a {annotation.__name__}", lambda value: isinstance(value, annotation))


@functools.cache
def kinds_of(plan: type[PlanValue]) -> dict[str, Kind]:
    """The kind of each field of a class of plans."""
    hints = get_type_hints(plan, include_extras=True)
    return {field.name: kind_of(hints[field.name]) for field in fields(plan)}


@dataclass(frozen=True, repr=False)
class PlanValue(Plan, ABC):
    """A plan: a frozen dataclass that checks its fields when it is built, and gives others by `replace`."""

    def __post_init__(self) -> None:
        for name, kind in kinds_of(type(self)).items():
            value = getattr(self, name)
            if not kind.accepts(value):
                raise TypeError(f"{type(self).__name__}: {name} is {value!r}, but it must be {kind.text}")
        self.require_fields()

    def require_fields(self) -> None:
        """TypeError, ValueError or LayoutError where the fields, each of its kind, do not fit together."""

    def replace(self, **changes: Any) -> Self:
        """The same plan with other values in some fields."""
        known = kinds_of(type(self))
        unknown = [name for name in changes if name not in known]
        if unknown:
            raise TypeError(
                f"{type(self).__name__}: no field named {', '.join(unknown)}; the fields are {', '.join(known)}"
            )
        return replace(self, **changes)

    @abstractmethod
    def __str__(self) -> str: ...

    def __repr__(self) -> str:
        return str(self)


def _set_attribute(self: PlanValue, name: str, value: Any) -> None:
    raise AttributeError(f"a plan does not change: plan.replace({name}=...) gives another one")


def _delete_attribute(self: PlanValue, name: str) -> None:
    raise AttributeError(f"a plan does not change: {name} stays")


def unchanging(plan: T) -> T:
    """A decorator of a frozen dataclass of plans, whose errors then say how to get another plan."""
    plan.__setattr__ = _set_attribute  # type: ignore[method-assign, assignment]
    plan.__delattr__ = _delete_attribute  # type: ignore[method-assign, assignment]
    return plan
