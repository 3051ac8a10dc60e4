"""An entry of the disk cache: its key, and what is in its file.

The key is one digest of everything that the entry depends on. A wrong hit is worse than a miss, so the encoding that is
hashed is injective: every field carries its kind and its length, and no two different tuples of fields have the same
bytes. The file holds named sections of bytes, sealed by a digest:

    magic 8 | length of the rest 8 | SHA-256 of (key, body) 32 | body
    body: for each section, length of its name 4 | length of its content 8 | name | content

Numbers are little-endian. The digest covers the key as well, so that an entry under another's name is not taken for it.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC = b"tilewrt\x01"
HEADER = struct.Struct("<8sQ32s")
SECTION = struct.Struct("<IQ")
Field: TypeAlias = "str | bytes | tuple[Field, ...]"


def encode(field: Field) -> bytes:
    """The bytes of a field: kind, length, content. Law: encode(a) == encode(b) exactly if a == b.

    >>> encode(("ab", "c")) == encode(("a", "bc"))
    False
    >>> encode("a")
    b's\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00a'
    """
    if isinstance(field, tuple):
        return b"t" + struct.pack("<Q", len(field)) + b"".join(map(encode, field))
    if isinstance(field, str):
        text = field.encode("utf-8", "surrogatepass")
        return b"s" + struct.pack("<Q", len(text)) + text
    return b"b" + struct.pack("<Q", len(field)) + field


def digest(*fields: Field) -> str:
    """SHA-256 of the fields, as 64 hexadecimal digits.

    >>> digest("a", "b") == digest("ab")
    False
    """
    return hashlib.sha256(encode(fields)).hexdigest()


def digest_of_texts(texts: Mapping[str, str]) -> str:
    """The digest of named texts, in whatever order they come.

    >>> digest_of_texts({"a.cuh": "x", "b.cuh": "y"}) == digest_of_texts({"b.cuh": "y", "a.cuh": "x"})
    True
    """
    return digest(*sorted(texts.items()))


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
    return HEADER.pack(MAGIC, len(body), _seal(key, body)) + body


def unseal(key: str, data: bytes) -> dict[str, bytes] | None:
    """The sections of an entry's file; None unless every byte of it is what seal wrote for this key.

    >>> unseal("another key", seal("k", {"cubin": b"code"})) is None
    True
    """
    if len(data) < HEADER.size:
        return None
    magic, length, wanted = HEADER.unpack_from(data)
    body = memoryview(data)[HEADER.size :]
    if magic != MAGIC or length != len(body) or wanted != _seal(key, body):
        return None
    sections, at = {}, 0
    while at < length:  # what is read here is what seal wrote: the digest has been compared
        name, content = SECTION.unpack_from(body, at)
        at += SECTION.size
        sections[bytes(body[at : at + name]).decode()] = bytes(body[at + name : at + name + content])
        at += name + content
    return sections


def _seal(key: str, body: bytes | memoryview) -> bytes:
    state = hashlib.sha256(struct.pack("<Q", len(key)) + key.encode())
    state.update(body)
    return state.digest()
