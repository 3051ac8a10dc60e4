"""What is in a file of the disk cache: named sections of bytes, sealed by a digest.

    magic 8 | length of the rest 8 | SHA-256 of (key, body) 32 | body
    body: for each section, length of its name 4 | length of its content 8 | name | content

Numbers are little-endian. The digest covers the key as well, so that an entry under another's name is not taken for it.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC = b"tilewrt\x01"
HEADER = struct.Struct("<8sQ32s")
SECTION = struct.Struct("<IQ")


def seal(key: str, sections: Mapping[str, bytes]) -> bytes:
    """The file of an entry.

    >>> unseal("k", seal("k", {"cubin": b"code"}))
    {'cubin': b'code'}
    """
    parts = []
    for name, content in sections.items():
        raw = name.encode()
        parts += [SECTION.pack(len(raw), len(content)), raw, content]
    body = b"".join(parts)
    return HEADER.pack(MAGIC, len(body), _digest(key, body)) + body


def unseal(key: str, data: bytes) -> dict[str, bytes] | None:
    """The sections of an entry's file; None unless every byte of it is what seal wrote for this key.

    >>> unseal("another key", seal("k", {"cubin": b"code"})) is None
    True
    """
    if len(data) < HEADER.size:
        return None
    magic, length, wanted = HEADER.unpack_from(data)
    body = memoryview(data)[HEADER.size :]
    if magic != MAGIC or length != len(body) or wanted != _digest(key, body):
        return None
    sections, at = {}, 0
    while at < length:  # what is read here is what seal wrote: the digest has been compared
        name, content = SECTION.unpack_from(body, at)
        at += SECTION.size
        sections[bytes(body[at : at + name]).decode()] = bytes(body[at + name : at + name + content])
        at += name + content
    return sections


def _digest(key: str, body: bytes | memoryview) -> bytes:
    state = hashlib.sha256(struct.pack("<Q", len(key)) + key.encode())
    state.update(body)
    return state.digest()
