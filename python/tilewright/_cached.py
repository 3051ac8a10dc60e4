"""A property that is computed once for each object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class cached_property(Generic[T]):
    """functools.cached_property without its lock.

    Before Python 3.12 that one computes under a lock of the class: a process forked meanwhile would wait for it for
    ever. Here threads that want a value at once may each compute it.

    >>> class Square:
    ...     @cached_property
    ...     def area(self):
    ...         print("computed")
    ...         return 4
    >>> square = Square()
    >>> square.area, square.area
    computed
    (4, 4)
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        value: T = self.function(instance)
        instance.__dict__[self.name] = value  # found there from now on, before this is asked
        return value
