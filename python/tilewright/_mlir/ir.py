"""Types and values of the program that is traced, by the names that `cutlass._mlir.ir` has for them."""

from __future__ import annotations

from typing import Any

from tilewright._core import program
from tilewright.lang.foreign import Value
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


def symbol_of(value: Any) -> Symbol:
    """The program's value behind a handle, a number or a pointer."""
    held = value.held if isinstance(value, Value) else value
    if isinstance(held, Symbol):
        return held
    if hasattr(held, "ir_value"):
        symbol: Symbol = held.ir_value()
        return symbol
    raise TypeError(f"expected a value of the program, such as x.ir_value(), but got {value!r}")
