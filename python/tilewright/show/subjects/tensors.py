"""Pictures of tensors: the grid of their layout, with the elements in the cells where the CPU can read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.coordinate import Coordinate
from tilewright.cute.tensors.pointer import Pointer
from tilewright.show.drawing.axes import MOST
from tilewright.show.drawing.memory import Memory
from tilewright.show.subjects.layouts import mark_of, plain, with_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.show.drawing.picture import Picture

__all__ = ["short", "tensor_picture"]


def tensor_picture(tensor: Any, *, color: Any = "value", at: Any = None, most: int = MOST) -> Picture:
    """A tensor as a grid of its elements; pointing at one shows its coordinate, its offset, and where it lies.

    Of memory that the CPU does not read, the offsets are drawn. Options as for a layout.

    >>> import numpy
    >>> from tilewright import cute
    >>> picture = tensor_picture(cute.from_dlpack(numpy.array([[1.5, 2.0], [0.25, -1.0]])))
    >>> print(picture.text(color=False).split("\\n\\n", 1)[1])
    2 x 2 elements, offsets 0 to 3, each once
         0      1
      +------+------+
    0 |  1.5 |    2 |
      +------+------+
    1 | 0.25 |   -1 |
      +------+------+
    """
    memory: Memory | None = None
    notes: tuple[str, ...] = ()
    content = None
    if isinstance(tensor.iterator, Pointer):
        pointer = tensor.iterator
        memory = Memory(pointer.dtype.bits, pointer.toint())
        try:
            tensor[_origin(tensor.shape)]
        except (RuntimeError, IndexError) as error:
            notes = (f"the offsets are drawn, not the elements: {error}",)
        else:
            content = _element(tensor)
    else:
        content = _element(tensor)
    heading = f"{tensor.iterator} o {with_values(tensor.layout)}", notes
    mark = mark_of(at, tensor.shape)
    drawn: Picture = _core.picture.layout(tensor.layout, color, memory, mark, most, content, heading)
    return drawn


def _origin(shape: Any) -> Any:
    return tuple(map(_origin, shape)) if isinstance(shape, tuple) else 0


def _element(tensor: Any) -> Callable[[int], str]:
    """The text of the element at an index."""
    pointer, layout = tensor.iterator, tensor.layout
    if isinstance(pointer, Pointer) and pointer.dtype.bits <= 64:
        # As pointer[offset], but without a Pointer for each of thousands of elements.
        memory, first, bits = pointer._accessible("load from"), pointer._bits, pointer.dtype.bits

        def element(index: int) -> Any:
            place = first + int(layout(index)) * bits
            return pointer.dtype._decode(memory.load(place >> 3, place & 7, bits))
    elif isinstance(pointer, Coordinate):

        def element(index: int) -> Any:
            return pointer + plain(layout(index))

    else:

        def element(index: int) -> Any:
            return tensor[index]

    return lambda index: short(element(index))


def short(x: Any) -> str:
    """An element in a few characters."""
    if isinstance(x, tuple):
        return text(plain(x))
    x = x.item() if hasattr(x, "item") else x
    return f"{x:.4g}" if isinstance(x, float) else str(int(x))
