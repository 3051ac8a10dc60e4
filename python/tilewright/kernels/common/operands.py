"""The tensors of a call, as a kernel's plan takes them."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.copy.problem import CPU, CUDA_HOST, Operand, operand

__all__ = ["Operands", "operands_of"]


class Operands(tuple[Operand, ...]):
    """Tensors, the last of which is the result."""

    __slots__ = ()

    @property
    def addresses(self) -> tuple[int, ...]:
        """Of each tensor's coordinate 0, in bytes."""
        return tuple(x.address for x in self)

    @property
    def on_host(self) -> bool:
        """Whether they lie in memory of the CPU."""
        return self[-1].device[0] in (CPU, CUDA_HOST)

    @property
    def empty(self) -> bool:
        """Whether the result has no elements."""
        return self[-1].size == 0

    @property
    def result(self) -> Any:
        """What was passed as the last tensor."""
        return self[-1].owner


def operands_of(function: str, stream: int | None = None, **tensors: Any) -> Operands:
    """Tensors by the names that errors give them; arrays of any library with DLPack, or Tensors.

    >>> import numpy
    >>> operands_of("scale", x=numpy.zeros((2, 3)), y=numpy.zeros(4))[1].shape
    (4,)
    """
    return Operands(operand(x, function, name, stream) for name, x in tensors.items())
