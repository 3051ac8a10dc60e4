"""Python's operators on vectors: each asks the class for the result by its symbol."""

from __future__ import annotations

from typing import Any

__all__ = ["Operators"]


class Operators:
    """Gives a class its operators by `_binary(other, symbol, swap)` and `_compare(other, symbol)`."""

    __slots__ = ()

    def _binary(self, other: Any, symbol: str, swap: bool = False) -> Any:
        raise NotImplementedError

    def _compare(self, other: Any, symbol: str) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> Any:
        return self._binary(other, "+")

    def __radd__(self, other: Any) -> Any:
        return self._binary(other, "+", swap=True)

    def __sub__(self, other: Any) -> Any:
        return self._binary(other, "-")

    def __rsub__(self, other: Any) -> Any:
        return self._binary(other, "-", swap=True)

    def __mul__(self, other: Any) -> Any:
        return self._binary(other, "*")

    def __rmul__(self, other: Any) -> Any:
        return self._binary(other, "*", swap=True)

    def __truediv__(self, other: Any) -> Any:
        return self._binary(other, "/")

    def __rtruediv__(self, other: Any) -> Any:
        return self._binary(other, "/", swap=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._binary(other, "//")

    def __rfloordiv__(self, other: Any) -> Any:
        return self._binary(other, "//", swap=True)

    def __mod__(self, other: Any) -> Any:
        return self._binary(other, "%")

    def __rmod__(self, other: Any) -> Any:
        return self._binary(other, "%", swap=True)

    def __pow__(self, other: Any) -> Any:
        return self._binary(other, "**")

    def __rpow__(self, other: Any) -> Any:
        return self._binary(other, "**", swap=True)

    def __and__(self, other: Any) -> Any:
        return self._binary(other, "&")

    def __rand__(self, other: Any) -> Any:
        return self._binary(other, "&", swap=True)

    def __or__(self, other: Any) -> Any:
        return self._binary(other, "|")

    def __ror__(self, other: Any) -> Any:
        return self._binary(other, "|", swap=True)

    def __xor__(self, other: Any) -> Any:
        return self._binary(other, "^")

    def __rxor__(self, other: Any) -> Any:
        return self._binary(other, "^", swap=True)

    def __lshift__(self, other: Any) -> Any:
        return self._binary(other, "<<")

    def __rlshift__(self, other: Any) -> Any:
        return self._binary(other, "<<", swap=True)

    def __rshift__(self, other: Any) -> Any:
        return self._binary(other, ">>")

    def __rrshift__(self, other: Any) -> Any:
        return self._binary(other, ">>", swap=True)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, "==")

    def __ne__(self, other: object) -> Any:
        return self._compare(other, "!=")

    def __lt__(self, other: object) -> Any:
        return self._compare(other, "<")

    def __le__(self, other: object) -> Any:
        return self._compare(other, "<=")

    def __gt__(self, other: object) -> Any:
        return self._compare(other, ">")

    def __ge__(self, other: object) -> Any:
        return self._compare(other, ">=")
