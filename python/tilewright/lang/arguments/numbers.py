"""Arguments that are numbers: of Python, of NumPy, or of a type of the language."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from tilewright import numeric
from tilewright._boundary import shown
from tilewright._core import program
from tilewright.lang.arguments.form import Form
from tilewright.lang.leaves import number_of
from tilewright.numeric import Int32, Int64, Numeric

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from tilewright.lang.arguments.form import Leaves

__all__ = ["Number", "is_symbol", "number_form", "numeric_annotation", "plain_number"]


class Number(Form):
    """A number of one type."""

    def __init__(self, name: str, dtype: type[Numeric], div: int = 1) -> None:
        self.name, self.dtype, self.div = name, dtype, div

    def key(self) -> Hashable:
        return ("number", self.dtype, self.div)

    def parameters(self) -> Iterator[tuple[str, Any]]:
        yield self.name, program.number(self.dtype.__name__)

    def build(self, symbols: Iterator[Any]) -> Any:
        return number_of(self.dtype, next(symbols), self.div)

    def read(self, value: Any, leaves: Leaves) -> None:
        if isinstance(value, Numeric) and is_symbol(value._value):
            leaves.add(value._value)
            return
        # A number that is known while tracing, and one of a call.
        value = plain_number(value)
        if not isinstance(value, (bool, int, float, Numeric)) and not hasattr(value, "__index__"):
            raise TypeError(f"{self.name}: expected {self.dtype}, but got {value!r} of type {type(value).__name__}")
        number = value if type(value) is self.dtype else self.dtype(value)
        most = self.dtype.max if self.dtype.is_integer and self.dtype.width > 1 else None
        if most is not None and not isinstance(value, Numeric) and not -most - 1 <= value <= most:
            raise ValueError(f"{self.name} is {value}, beyond {self.dtype}: annotate the parameter with cutlass.Int64")
        if self.div != 1 and int(number._value) % self.div:
            raise ValueError(
                f"{self.name} is {int(number._value)}, but the function was compiled for multiples of {self.div}"
            )
        leaves.add(self.dtype._encode(number._value))


def number_form(value: Any, dtype: type[Numeric], name: str, where: str = "") -> Number:
    if not isinstance(value, (bool, int, float, Numeric)):
        try:
            operator.index(value)
        except TypeError:
            try:
                float(value)
                is_number = not isinstance(value, str | bytes)
            except (TypeError, ValueError):
                is_number = False
            if not is_number:
                raise TypeError(f"{where or name}: expected {dtype}, but got {shown(value)}") from None
    if isinstance(value, float) and dtype.is_integer and value != value // 1:
        raise TypeError(f"{where or name}: expected {dtype}, but got {value}, which is none; round it: int({name})")
    return Number(name, dtype, value._div if isinstance(value, dtype) and isinstance(value, (Int32, Int64)) else 1)


def plain_number(value: Any) -> Any:
    """A scalar of NumPy as Python's number; anything else as it is.

    >>> import numpy
    >>> plain_number(numpy.float32(0.5)), plain_number(numpy.bool_(True))
    (0.5, True)
    """
    if type(value).__module__ != "numpy" or not hasattr(value, "item") or hasattr(value, "__dlpack__"):
        return value
    number = value.item()
    return number if isinstance(number, (bool, int, float)) else value


def numeric_annotation(annotation: Any) -> type[Numeric] | None:
    """The numeric type that a parameter is annotated with."""
    if isinstance(annotation, str):
        annotation = getattr(numeric, annotation.split(".")[-1], None)
    if isinstance(annotation, type) and issubclass(annotation, Numeric) and hasattr(annotation, "width"):
        return annotation
    return None


def is_symbol(value: Any) -> bool:
    return isinstance(value, program.Symbol)
