"""Where an element lies: its address in bytes, and the bank of shared memory."""

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright import _core
from tilewright.numeric.base import NumericMeta

__all__ = ["BANKS", "WORD", "Memory", "memory_of", "memory_or_usual"]

BANKS, WORD = 32, 4  # banks of shared memory, bytes of each


class Memory(NamedTuple):
    """The size of an element in bits, and the address in bytes of offset 0; `assumed`: no type has been given.

    `kind` says of which elements bank and address are, where that was not given either but follows from a swizzle.
    """

    bits: int
    base: int = 0
    assumed: bool = False
    kind: str = ""

    def hover(self, offset: Any) -> tuple[tuple[str, str], ...]:
        """What pointing at an element shows; nothing where the offset is a coordinate.

        >>> Memory(16).hover(65)
        (('bank', '0'), ('address', '130'))
        """
        return _core.picture.memory_hover(self, offset) if isinstance(offset, int) else ()


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
