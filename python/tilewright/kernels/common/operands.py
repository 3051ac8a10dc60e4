"""The tensors of a call, as a kernel's plan takes them; and whether writing one of them is a race."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.tensor import Tensor
from tilewright.numeric.dlpack import from_dlpack_code

__all__ = [
    "CPU", "CUDA", "CUDA_HOST", "CUDA_MANAGED", "SIZES", "Operand", "Operands", "operand", "operands_of",
    "require_disjoint", "require_injective",
]  # fmt: skip

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # of DLPack
SIZES = (1, 2, 4, 8, 16)  # bytes of an element


class Operand(NamedTuple):
    """A tensor as a plan sees it: where it lies, and flat extents and strides in elements."""

    name: str
    address: int
    element_type: str
    element_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: tuple[int, int]
    read_only: bool
    shown: str
    owner: Any  # the object that was passed
    memory: Any = None  # what keeps the elements alive, where the object does not

    @property
    def place(self) -> str:
        """`cpu`, `cuda:0`, ..."""
        kind, number = self.device
        return (
            "cpu" if kind in (CPU, CUDA_HOST) else f"cuda:{number}" if kind in (CUDA, CUDA_MANAGED) else f"type {kind}"
        )

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def reach(self) -> tuple[int, int]:
        """The first byte of the elements and the one after their last."""
        ends = [(e - 1) * d for e, d in zip(self.shape, self.strides, strict=True)]
        least, greatest = sum(min(x, 0) for x in ends), sum(max(x, 0) for x in ends)
        return self.address + least * self.element_bytes, self.address + (greatest + 1) * self.element_bytes

    def __str__(self) -> str:
        return f"{self.name} = {self.shown}"


def operand(x: Any, function: str, name: str, stream: int | None = None, differentiable: str = "") -> Operand:
    """An array of any library with DLPack, or a Tensor, as an operand; errors name the function and the argument.

    `differentiable` names a function that does the same and of which torch's autograd is told.
    """
    where = f"{function}: {name}"
    if isinstance(x, Tensor):
        pointer, layout = x.iterator, x.layout
        if not isinstance(pointer, Pointer) or pointer._memory is None:
            raise TypeError(f"{where}: {x} has no memory of its own; make the tensor with from_dlpack")
        if isinstance(layout, _core.ComposedLayout) or _core.has_scaled_basis(layout.stride):
            raise LayoutError(
                f"{where}: {layout} is no shape and stride; copy from or to the tensor without the swizzle"
            )
        memory = pointer._memory
        shape, strides = (tuple(map(int, _core.flatten_to_tuple(y))) for y in (x.shape, x.stride))
        bits, kind, address = pointer.dtype.bits, pointer.dtype.__name__, pointer.toint()
        shown = str(layout)
        first, last = Operand(name, address, kind, bits // 8, shape, strides, (0, 0), True, shown, x, memory).reach()
        if math.prod(shape) and bits % 8 == 0 and (first < memory.begin or last > memory.end):
            raise LayoutError(
                f"{where}: {layout} reaches from 0x{first:x} to 0x{last:x}, beyond the owner's memory, which is from "
                f"0x{memory.begin:x} to 0x{memory.end:x}; use a layout that stays inside"
            )
    else:
        if not hasattr(x, "__dlpack__"):
            raise TypeError(f"{where}: expected an array with __dlpack__, or a Tensor, but got {type(x).__name__}")
        from tilewright.cute.runtime import _export

        memory = _export(x, where, stream, differentiable)
        code, width, lanes = memory.dtype
        bits = -(-width // 8) * 8 if memory.padded else width * lanes
        known = from_dlpack_code(code, width) if lanes == 1 else None
        kind = known.__name__ if known is not None else f"DLPack type {(code, width, lanes)}"
        shape, strides, address = memory.shape, memory.strides, memory.address
        shown = f"{text(shape)}:{text(strides)}"
    if bits % 8 or bits // 8 not in SIZES:
        raise TypeError(
            f"{where}: elements of {kind} have {bits} bits, but kernels take elements of 1, 2, 4, 8 or 16 bytes"
        )
    return Operand(
        name, address, kind, bits // 8, shape, strides, memory.dlpack_device, memory.read_only, shown, x, memory
    )


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


def _coordinate(x: Operand, index: int) -> str:
    return text(_core.idx2crd(index, x.shape or 1))


def require_injective(dst: Operand, function: str) -> None:
    """Two coordinates with one address would be a race."""
    try:
        found = _core._collision(_core.make_layout(dst.shape or 1, stride=dst.strides or 0))
    except LayoutError as error:
        raise LayoutError(
            f"{function}: it is not known whether writing {dst} is a race, since its strides do not nest: {error}; "
            "copy slices"
        ) from None
    if found is not None:
        origin, other = (_coordinate(dst, index) for index in found)
        raise LayoutError(
            f"{function}: {dst} maps the coordinates {origin} and {other} to one element, so writing it is a "
            "race; pass a destination with an element for each coordinate"
        )


def require_disjoint(src: Operand, dst: Operand, function: str, mend: str = "copy through a third array") -> None:
    """An element that is read and written has either value, depending on which thread comes first."""
    (a, b), (c, d) = src.reach(), dst.reach()
    if b <= c or d <= a:
        return
    reads, writes = (
        _core.make_layout((x.element_bytes, *x.shape), stride=(1, *(d * x.element_bytes for d in x.strides)))
        for x in (src, dst)
    )
    try:
        apart = _core.is_disjoint(reads, writes, dst.address - src.address)
    except LayoutError as error:
        raise LayoutError(
            f"{function}: {src} at 0x{src.address:x} and {dst} at 0x{dst.address:x} lie in the same memory, and it is "
            f"not known whether they share elements: {error}; {mend}"
        ) from None
    if not apart:
        i, j = (index // x.element_bytes for index, x in zip(apart.witness, (src, dst), strict=False))
        raise LayoutError(
            f"{function}: {src} at coordinate {_coordinate(src, i)} and {dst} at coordinate {_coordinate(dst, j)} "
            f"share memory, so the result depends on the order; {mend}"
        )
