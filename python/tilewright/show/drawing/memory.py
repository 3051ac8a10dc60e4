"""Where an element lies: its address in bytes, and the bank of shared memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright.numeric.base import NumericMeta
from tilewright.show.drawing.picture import Entry

__all__ = ["BANKS", "GROUP", "WORD", "Memory", "bank_legend", "memory_of", "memory_or_usual"]

BANKS, WORD = 32, 4  # banks of shared memory, bytes of each
GROUP = 4  # banks, of 16 bytes, that have one colour: 32 would not be told apart


class Memory(NamedTuple):
    """The size of an element in bits, and the address in bytes of offset 0; `assumed`: no type has been given.

    `kind` says of which elements bank and address are, where that was not given either but follows from a swizzle.
    """

    bits: int
    base: int = 0
    assumed: bool = False
    kind: str = ""

    def address(self, offset: int) -> int:
        """The address of an element, in bytes."""
        return self.base + offset * self.bits // 8

    def bank(self, offset: int) -> int:
        """The bank of shared memory in which an element begins."""
        return self.address(offset) // WORD % BANKS

    def group(self, offset: int) -> int:
        """The group of banks that have one colour."""
        return self.bank(offset) // GROUP

    def hover(self, offset: Any) -> tuple[tuple[str, str], ...]:
        """What pointing at an element shows; nothing where the offset is a coordinate.

        >>> Memory(16).hover(65)
        (('bank', '0'), ('address', '130'))
        """
        if not isinstance(offset, int):
            return ()
        (bank, address), at = self._names, self.address(offset)
        return (bank, str(at // WORD % BANKS)), (address, hex(at) if self.base >> 16 else str(at))

    @property
    def _names(self) -> tuple[str, str]:
        kind = "f32" if self.assumed else self.kind
        return (f"bank ({kind})", f"address ({kind})") if kind else ("bank", "address")

    def hovers(self, offsets: list[int]) -> list[list[tuple[str, str]]]:
        """The same of many elements: the banks, then the addresses."""
        bank, address = self._names
        addresses = [self.base + offset * self.bits // 8 for offset in offsets]
        shown = hex if self.base >> 16 else str
        banks = [(bank, str(i)) for i in range(BANKS)]
        return [[banks[x // WORD % BANKS] for x in addresses], [(address, shown(x)) for x in addresses]]


def bank_legend(groups: set[int]) -> tuple[Entry, ...]:
    """What the colours of banks mean.

    >>> bank_legend({1})
    (Entry(owner=1, text='banks 4 to 7', faded=False),)
    """
    return tuple(Entry(group, f"banks {group * GROUP} to {group * GROUP + GROUP - 1}") for group in sorted(groups))


def memory_of(dtype: Any, base: int = 0) -> Memory | None:
    """The memory of an element type, or of elements of so many bits; None without either. TypeError for other kinds."""
    if dtype is None:
        return None
    if not isinstance(base, int):
        raise TypeError(f"show: expected base to be an address in bytes, not {base!r}")
    if isinstance(dtype, NumericMeta):
        return Memory(dtype.bits, base)  # type: ignore[attr-defined]
    if isinstance(dtype, int) and not isinstance(dtype, bool) and dtype > 0:
        return Memory(dtype, base)
    raise TypeError(
        f"show: expected dtype to be a numeric type such as Float16, or a number of bits, but got {dtype!r}"
    )


def memory_or_usual(dtype: Any, base: int = 0) -> Memory:
    """The same, but of elements of 4 bytes, f32, where nothing is said of their type: what is shown of them says so.

    >>> memory_or_usual(None).hover(33)
    (('bank (f32)', '1'), ('address (f32)', '132'))
    """
    found = memory_of(32 if dtype is None else dtype, base)
    assert found is not None
    return found._replace(assumed=dtype is None)
