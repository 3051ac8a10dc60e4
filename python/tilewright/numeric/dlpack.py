"""Element types by their DLPack codes."""

from __future__ import annotations

from tilewright.numeric import (
    BFloat16,
    Boolean,
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
    Int4,
    Int8,
    Int16,
    Int32,
    Int64,
    Int128,
    Numeric,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Uint128,
)

__all__ = ["from_dlpack_code"]

_DTYPES: dict[tuple[int, int], type[Numeric]] = {
    dtype.dlpack: dtype
    for dtype in (
        *(Boolean, Int4, Int8, Int16, Int32, Int64, Int128, Uint8, Uint16, Uint32, Uint64, Uint128),
        *(Float16, Float32, Float64, BFloat16, Float8E5M2, Float8E4M3, Float8E4M3FN, Float8E4M3B11FNUZ),
        *(Float8E8M0FNU, Float6E3M2FN, Float6E2M3FN, Float4E2M1FN),
    )
}


def from_dlpack_code(code: int, bits: int) -> type[Numeric] | None:
    """The type of a DLPack code and number of bits, None where there is none."""
    return _DTYPES.get((code, bits))
