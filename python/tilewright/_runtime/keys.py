"""Keys of the compile cache: one digest of everything that a compiled program depends on.

A wrong hit is worse than a miss, so the encoding that is hashed is injective: every field carries its kind and its
length, and no two different tuples of fields have the same bytes.
"""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

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
