"""A variable that has no value: one that only one branch assigns, or a loop that may not run."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["UNBOUND", "Undefined"]


class _Unbound:
    """What a variable holds that was never assigned."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND = _Unbound()


class Undefined:
    """Stands in a variable that has no value on every way to a place; every use raises, and says why.

    `__tilewright_undefined__` is the explanation.

    >>> x = Undefined("x has no value here: only one branch assigns it")
    >>> x + 1
    Traceback (most recent call last):
    UnboundLocalError: x has no value here: only one branch assigns it
    """

    __slots__ = ("__tilewright_undefined__",)

    def __init__(self, why: str) -> None:
        self.__tilewright_undefined__ = why

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise UnboundLocalError(self.__tilewright_undefined__)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__") and name.endswith("__"):  # what Python and its libraries look for
            raise AttributeError(name)
        raise UnboundLocalError(self.__tilewright_undefined__)


_OPERATORS = """
    abs add and bool bytes call ceil complex contains delitem divmod enter eq exit float floor floordiv format ge
    getitem gt hash iadd iand ifloordiv ilshift imatmul imod imul index int invert ior ipow irshift isub iter itruediv
    ixor le len lshift lt matmul mod mul ne neg next or pos pow radd rand rdivmod reversed rfloordiv rlshift rmatmul
    rmod rmul ror round rpow rrshift rshift rsub rtruediv rxor setitem str sub truediv trunc xor
"""
for _operator in _OPERATORS.split():
    setattr(Undefined, f"__{_operator}__", Undefined._refuse)
