"""Sections of ELF files: objects, shared libraries, programs."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["sections"]

_HEADER = struct.Struct("<16x HHIQQQIHHHHHH")  # of a file of 64 bits; its first bytes are looked at before
_SECTION = struct.Struct("<IIQQQQIIQQ")
_NOBITS = 8  # a section that has no bytes in the file


def sections(data: bytes) -> Iterator[tuple[str, bytes]]:
    """The name and the bytes of each section; ValueError where the data are no ELF file, or are cut off.

    >>> list(sections(b"text"))
    Traceback (most recent call last):
    ValueError: no ELF file of 64 bits
    """
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no ELF file of 64 bits")
    try:
        *_, start, _, _, _, _, size, count, names = _HEADER.unpack_from(data)
        found = [_SECTION.unpack_from(data, start + i * size) for i in range(count)]
        text = _bytes_of(data, found[names]) if count else b""
        for section in found:
            end = text.index(b"\0", section[0])
            yield text[section[0] : end].decode(), _bytes_of(data, section)
    except (struct.error, IndexError, UnicodeDecodeError):
        raise ValueError("an ELF file that is cut off or damaged") from None


def _bytes_of(data: bytes, section: tuple[int, ...]) -> bytes:
    _, kind, _, _, offset, size, *_ = section
    if kind == _NOBITS:
        return b""
    if offset + size > len(data):
        raise ValueError("an ELF file that is cut off or damaged")
    return data[offset : offset + size]
