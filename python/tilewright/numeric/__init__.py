"""Element types, and the dynamic integers of the layout algebra.

A class is the name of a type (`Float16.width == 16`); an instance is one immutable value of it, held exactly.

Instances of Int32 and Int64 are the *dynamic* integers of the algebra: their value is known here but counts as unknown
in the structure of a layout, so they print as `?`, and they carry a number known to divide them (`?{div=4}`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.numeric.base import Numeric
from tilewright.numeric.floats import (
    BFloat16,
    Float,
    Float4E2M1FN,
    Float6E2M3FN,
    Float6E3M2FN,
    Float8E4M3,
    Float8E4M3B11FNUZ,
    Float8E4M3FN,
    Float8E5M2,
    Float8E8M0FNU,
    Float16,
    Float32,
    Float64,
    TFloat32,
)
from tilewright.numeric.integers import (
    Boolean,
    Int4,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Integer,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Uint128,
)

__all__ = [
    "BFloat16",
    "Boolean",
    "Float",
    "Float4E2M1FN",
    "Float6E2M3FN",
    "Float6E3M2FN",
    "Float8E4M3",
    "Float8E4M3B11FNUZ",
    "Float8E4M3FN",
    "Float8E5M2",
    "Float8E8M0FNU",
    "Float16",
    "Float32",
    "Float64",
    "Int4",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Integer",
    "Numeric",
    "TFloat32",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "Uint128",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
