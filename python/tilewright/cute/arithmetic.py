"""Small exact numbers beside the algebra: Ratio, and division by a number known ahead."""

from __future__ import annotations

import math
from typing import Any

from tilewright._boundary import shown
from tilewright._core import is_integer
from tilewright._notebook import drawn

__all__ = ["FastDivmodDivisor", "Ratio", "fast_divmod_create_divisor"]


@drawn
class Ratio:
    """The ratio n/d of two positive integers, kept as given.

    Ratio(n, d) * x = n*x / d. Raises TypeError for anything but integers, ValueError for a number below 1 and for a
    product that is no integer. Source: CuTe's ratio of element widths in recast.

    >>> Ratio(16, 4), Ratio(16, 4).reduced(), Ratio(16, 4).is_integral(), Ratio(16, 4) * 3
    (16/4, 4/1, True, 12)
    """

    __slots__ = ("denominator", "numerator")

    def __init__(self, numerator: int, denominator: int) -> None:
        for value in (numerator, denominator):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"Ratio: expected integers, got {type(value).__name__} {value!r}")
            if value < 1:
                raise ValueError(f"Ratio({numerator}, {denominator}): both numbers must be positive")
        self.numerator = numerator
        self.denominator = denominator

    def is_integral(self) -> bool:
        """Whether d divides n.

        >>> Ratio(3, 2).is_integral()
        False
        """
        return self.numerator % self.denominator == 0

    def reduced(self) -> Ratio:
        """The same ratio in lowest terms.

        >>> Ratio(6, 4).reduced()
        3/2
        """
        common = math.gcd(self.numerator, self.denominator)
        return Ratio(self.numerator // common, self.denominator // common)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Ratio):
            return Ratio(self.numerator * other.numerator, self.denominator * other.denominator)
        if not isinstance(other, int):
            return NotImplemented
        if self.numerator * other % self.denominator:
            raise ValueError(f"{self} * {other} is no integer: {self.denominator} must divide {self.numerator * other}")
        return self.numerator * other // self.denominator

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ratio):
            return NotImplemented
        return self.numerator * other.denominator == other.numerator * self.denominator

    def __hash__(self) -> int:
        small = self.reduced()
        return hash((small.numerator, small.denominator))

    def __str__(self) -> str:
        return f"{self.numerator}/{self.denominator}"

    __repr__ = __str__


class FastDivmodDivisor:
    """A divisor known ahead of many divisions: divmod(x, divisor) = (x // d, x % d) for x >= 0.

    At the prompt it divides as Python does. Raises as fast_divmod_create_divisor. Source: CuTeDSL
    `cute.fast_divmod_create_divisor`.

    >>> divmod(29, fast_divmod_create_divisor(8))
    (3, 5)
    """

    __slots__ = ("divisor",)

    def __init__(self, divisor: int) -> None:
        if not is_integer(divisor):
            raise TypeError(f"fast_divmod_create_divisor: expected divisor to be an integer, but got {shown(divisor)}")
        if not getattr(divisor, "is_traced", False) and int(divisor) < 1:
            raise ValueError(f"fast_divmod_create_divisor({divisor}): the divisor must be positive")
        self.divisor = divisor

    def __rdivmod__(self, x: Any) -> tuple[Any, Any]:
        return x // self.divisor, x % self.divisor

    def __rfloordiv__(self, x: Any) -> Any:
        return x // self.divisor

    def __rmod__(self, x: Any) -> Any:
        return x % self.divisor


def fast_divmod_create_divisor(divisor: int, *, loc: object = None, ip: object = None) -> FastDivmodDivisor:
    """The divisor object of FastDivmodDivisor.

    Raises TypeError for a divisor that is no integer, ValueError for one below 1. Source: CuTeDSL
    `cute.fast_divmod_create_divisor`.

    >>> 29 // fast_divmod_create_divisor(8), 29 % fast_divmod_create_divisor(8)
    (3, 5)
    """
    return FastDivmodDivisor(divisor)
