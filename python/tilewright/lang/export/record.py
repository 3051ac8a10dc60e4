"""What an exported object says of its function: a record in a section of the file, from which Python loads it.

A record has a magic, its own length, the length of its facts, a digest of what follows; then the facts as JSON, and
pieces of bytes. Linkers put the records of several objects one behind another.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["ALIGNMENT", "SECTION", "pack", "records"]

SECTION = "tilewright"
ALIGNMENT = 16  # of a record and of each of its pieces, in bytes
_MAGIC = b"tilewright aot 1"
_HEAD = struct.Struct("<16sQQ32s")


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)


def pack(facts: dict[str, Any], pieces: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """A record, and where in it each piece begins.

    >>> record, places = pack({"name": "f"}, [b"one", b"three"])
    >>> [record[place : place + 3] for place in places]
    [b'one', b'thr']
    >>> list(records(record))
    [({'name': 'f'}, [b'one', b'three'])]
    """
    text = json.dumps({"facts": facts, "sizes": [len(piece) for piece in pieces]}).encode()
    body = bytearray(_padded(text))
    places = []
    for piece in pieces:
        places.append(_HEAD.size + len(body))
        body += _padded(piece)
    head = _HEAD.pack(_MAGIC, _HEAD.size + len(body), len(text), hashlib.sha256(body).digest())
    return head + body, places


def records(section: bytes) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
    """The facts and pieces of each record; ValueError where one is damaged.

    >>> next(records(b"tilewright aot 1"))
    Traceback (most recent call last):
    ValueError: a record that is cut off
    """
    at = 0
    while (at := section.find(_MAGIC, at)) >= 0:
        if at + _HEAD.size > len(section):
            raise ValueError("a record that is cut off")
        _, size, length, digest = _HEAD.unpack_from(section, at)
        body = section[at + _HEAD.size : at + size]
        if len(body) != size - _HEAD.size or hashlib.sha256(body).digest() != digest:
            raise ValueError("a record that is cut off or damaged")
        read = json.loads(body[:length])
        start, pieces = len(_padded(body[:length])), []
        for count in read["sizes"]:
            pieces.append(body[start : start + count])
            start += count + -count % ALIGNMENT
        yield read["facts"], pieces
        at += size
