"""Numbers in a kernel's parameter that its device code divides by."""

from __future__ import annotations

__all__ = ["fast_divisor"]


def fast_divisor(divisor: int) -> tuple[int, int, int]:
    """The divisor, the multiplier and the shift with which a kernel divides numbers below 2^31 by it.

    n // divisor == (n * multiplier >> 32) >> shift; the divisor 1 has multiplier 0.

    >>> divisor, multiplier, shift = fast_divisor(7)
    >>> [(n * multiplier >> 32) >> shift for n in (0, 6, 7, 2**31 - 1)]
    [0, 0, 1, 306783378]
    """
    if divisor == 1:
        return 1, 0, 0
    bits = (divisor - 1).bit_length()
    return divisor, -(-(1 << (31 + bits)) // divisor), bits - 1
