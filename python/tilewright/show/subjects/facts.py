"""Pictures of small objects, which are a few facts: pointers and ratios."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.cute.tensors.pointer import AddressSpace
from tilewright.show.drawing.memory import BANKS, WORD
from tilewright.show.drawing.picture import Cell, Label, Panel, Picture, beside

if TYPE_CHECKING:
    from tilewright.cute.arithmetic import Ratio
    from tilewright.cute.tensors.pointer import Pointer

__all__ = ["pointer_picture", "ratio_picture"]

SECTOR, LINE = 32, 128  # bytes of global memory


def _table(title: str, facts: dict[str, str]) -> Picture:
    """A line for each fact."""
    cells = tuple(Cell(row, 0, (text,), None, (("value", text),)) for row, text in enumerate(facts.values()))
    return Picture(title, beside(Panel("", "", len(facts), 1, cells, (tuple(map(Label, facts)),))))


def pointer_picture(pointer: Pointer) -> Picture:
    """What is known of a pointer: element, memory and alignment, and where in a line or in the banks the address lies.

    >>> from tilewright import Float32, cute
    >>> print(pointer_picture(cute.make_ptr(Float32, 0x1054, cute.AddressSpace.smem)).text(color=False))
    ptr<f32, smem>
    <BLANKLINE>
              +------------------+
      address |           0x1054 |
              +------------------+
      element | Float32, 32 bits |
              +------------------+
       memory |             smem |
              +------------------+
    alignment |          4 bytes |
              +------------------+
         bank |               21 |
              +------------------+
    """
    address, bits = pointer.toint(), pointer.dtype.bits
    within = pointer._bits % 8
    facts = {
        "address": f"{address:#x}" + (f", bit {within}" if within else ""),
        "element": f"{pointer.dtype.__name__}, {bits} bit{'s' * (bits != 1)}",
        "memory": str(pointer.memspace),
        "alignment": f"{pointer.alignment} byte{'s' * (pointer.alignment != 1)}",
    }
    if pointer.memspace is AddressSpace.smem:
        facts["bank"] = str(address // WORD % BANKS)
    elif pointer.memspace in (AddressSpace.gmem, AddressSpace.generic):
        facts["in its line"] = f"byte {address % LINE} of {LINE}, sector {address % LINE // SECTOR}"
    return _table(str(pointer), facts)


def ratio_picture(ratio: Ratio) -> Picture:
    """A ratio, in lowest terms, and what it makes of the numbers that it can be multiplied with.

    >>> from tilewright import cute
    >>> print(ratio_picture(cute.Ratio(6, 4)).text(color=False))
    6/4
    <BLANKLINE>
                    +--------------+
          numerator |            6 |
                    +--------------+
        denominator |            4 |
                    +--------------+
    in lowest terms |          3/2 |
                    +--------------+
              times | 2, 4, 6, ... |
                    +--------------+
                 is | 3, 6, 9, ... |
                    +--------------+
    """
    small = ratio.reduced()
    n, d = small.numerator, small.denominator
    facts = {
        "numerator": str(ratio.numerator),
        "denominator": str(ratio.denominator),
        "in lowest terms": str(small),
        "times": f"{d}, {2 * d}, {3 * d}, ...",
        "is": f"{n}, {2 * n}, {3 * n}, ...",
    }
    return _table(str(ratio), facts)
