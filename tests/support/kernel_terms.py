"""The terms of random kernels: a text of the kernel, the same in plain Python, and the type of its value."""

from __future__ import annotations

from typing import NamedTuple

import plain_numbers as plain
from plain_numbers import converted, is_float


class Expression(NamedTuple):
    kernel: str
    plain: str
    type: str


LITERAL = ""  # the type of a Python number


def literal(number: float) -> Expression:
    text = f"({number!r})" if number < 0 else repr(number)
    return Expression(text, repr(number), LITERAL)


def operand(x: Expression, scalar: str) -> str:
    """An operand in the type in which it is needed, which a Python number has from the start."""
    if x.type != LITERAL:
        return converted(x.plain, x.type, scalar)
    number = float(x.plain) if is_float(scalar) else int(x.plain)
    return f"({getattr(plain, scalar)(number)!r})".replace("inf", "math.inf")


class Fragment(NamedTuple):
    """Memory in registers: its name, type and shape. In plain Python it is a list."""

    name: str
    type: str
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        size = 1
        for extent in self.shape:
            size *= extent
        return size
