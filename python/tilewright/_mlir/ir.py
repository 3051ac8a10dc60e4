"""Types and values of the program that is traced, by the names that `cutlass._mlir.ir` has for them."""

from __future__ import annotations

from typing import Any

from tilewright._core import program
from tilewright.numeric.traced import Symbol

__all__ = ["F32Type", "InsertionPoint", "IntegerType", "Location", "Type", "Value"]

Type = program.Type
# Operations know their lines by themselves: what programs pass as `loc` and `ip` is not looked at.
Location = InsertionPoint = object


class IntegerType:
    """The types of integers."""

    @staticmethod
    def get_signless(width: int) -> Type:
        """The type of an integer of 1, 8, 16, 32 or 64 bits.

        >>> print(IntegerType.get_signless(32))
        i32
        """
        names = {1: "Boolean", 8: "Int8", 16: "Int16", 32: "Int32", 64: "Int64"}
        if width not in names:
            raise ValueError(
                f"IntegerType.get_signless: width is {width}; expected one of {', '.join(map(str, names))}"
            )
        return program.number(names[width])


class F32Type:
    """The type of a Float32."""

    @staticmethod
    def get() -> Type:
        """The type.

        >>> print(F32Type.get())
        f32
        """
        return program.number("Float32")


class Value:
    """A value of the program, or the fields of a struct of such values: a handle, which is passed on.

    `Value(other)` holds what another value holds.
    """

    def __init__(self, value: Any) -> None:
        self.held: Any = value.held if isinstance(value, Value) else value

    @property
    def type(self) -> Any:
        """The type; of a struct a tuple of those of its fields."""

        def of(held: Any) -> Any:
            return tuple(map(of, held)) if isinstance(held, tuple) else held.type

        return of(self.held)


def symbol_of(value: Any) -> Symbol:
    """The program's value behind a handle, a number or a pointer."""
    held = value.held if isinstance(value, Value) else value
    if isinstance(held, Symbol):
        return held
    if hasattr(held, "ir_value"):
        symbol: Symbol = held.ir_value()
        return symbol
    raise TypeError(f"expected a value of the program, such as x.ir_value(), but got {value!r}")
