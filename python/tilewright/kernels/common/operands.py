"""The tensors of a call, as a kernel's plan takes them."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.copy.problem import Operand, operand

__all__ = ["Operands", "operands_of"]


class Operands(tuple[Operand, ...]):
    """Tensors, the last of which is the result."""

    __slots__ = ()

    @property
    def addresses(self) -> tuple[int, ...]:
        """Of each tensor's coordinate 0, in bytes."""
        return tuple(x.address for x in self)

    @property
    def tensors(self) -> tuple[Operand, ...]:
        """In the order in which the plan has them."""
        return self

    @property
    def shifts(self) -> tuple[int, ...]:
        """How many bytes behind the address of each tensor the plan has it begin: 0."""
        return (0,) * len(self)

    @property
    def output(self) -> int:
        """Which of them is written, and is the result of the call."""
        return len(self) - 1


def operands_of(function: str, stream: int | None = None, **tensors: Any) -> Operands:
    """Tensors by the names that errors give them; arrays of any library with DLPack, or Tensors.

    >>> import numpy
    >>> operands_of("scale", x=numpy.zeros((2, 3)), y=numpy.zeros(4))[1].shape
    (4,)
    """
    return Operands(operand(x, function, name, stream) for name, x in tensors.items())
