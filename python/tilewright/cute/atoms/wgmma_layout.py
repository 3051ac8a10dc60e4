"""Where wgmma and TMA find each element in shared memory: descriptors, canonical layouts, the hardware's swizzle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int32]

__all__ = ["SWIZZLE_CODES", "canonical_addresses", "descriptor_offsets", "matrix_descriptor", "swizzled", "tma_offsets"]

SWIZZLE_CODES = {0: 0, 128: 1, 64: 2, 32: 3}  # bytes of the swizzle's span -> bits 63-62 of a descriptor


def matrix_descriptor(start: int, leading: int, stride: int, swizzle: int = 0) -> int:
    """The 64-bit descriptor by which wgmma addresses a matrix in shared memory.

    Bits 13-0 are `start` / 16, bits 29-16 `leading` / 16, bits 45-32 `stride` / 16, bits 63-62 the swizzle.

    Args:
        start, leading, stride: the address of the matrix in shared memory, the leading and the stride byte offset; in
            bytes, multiples of 16, below 2^18.
        swizzle: its span in bytes: 0, 32, 64 or 128.
    Raises: ValueError for values that the fields cannot hold.
    Source: PTX ISA, "Matrix Descriptor Format" of wgmma.

    >>> hex(matrix_descriptor(0x2000, 16, 1024, 128))
    '0x4000004000010200'
    """
    if swizzle not in SWIZZLE_CODES:
        raise ValueError(f"matrix_descriptor: swizzle = {swizzle} must be 0, 32, 64 or 128 bytes")
    for name, value in (("start", start), ("leading", leading), ("stride", stride)):
        if value % 16 or not 0 <= value < 1 << 18:
            raise ValueError(f"matrix_descriptor: {name} = {value} must be a multiple of 16 bytes below 2^18")
    return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | SWIZZLE_CODES[swizzle] << 62


def descriptor_offsets(descriptor: int, shape: tuple[int, int], element_bytes: int, major: str = "k") -> IntArray:
    """Where wgmma finds each element of an operand in shared memory, from the 64-bit descriptor alone.

    With T = 16 / element_bytes elements in 16 bytes, W the swizzle's span and S = W / 16, element (r, k) has the byte
    address swizzle(start + x), where x is

        k-major   no swizzle   (r mod 8) 16 + (r div 8) SBO + (k mod T) bytes + (k div T) LBO
                  W bytes      (r mod 8) W + (r div 8) SBO + k bytes                          LBO is not used
        mn-major  no swizzle   (r mod T) bytes + (r div T) SBO + (k mod 8) 16 + (k div 8) LBO
                  W bytes      (r mod T S) bytes + (r div T S) LBO + (k mod 8) W + (k div 8) SBO

    and swizzle XORs bits 7 and up of the address in shared memory into bits 4 and up: 1, 2 or 3 bits for 32, 64 or 128
    bytes. These are the canonical layouts; k-major with 128 bytes is Swizzle<3,4,3> o ((8,m),(T,2k)):((8T,SBO),(1,T)).

    Args:
        descriptor: its start may count from the start of a stage, as all offsets of tables do, where the stages begin
            at multiples of 1024 bytes; the base offset is 0.
        shape: (rows, k) of the operand of one atom: 64 or N rows, 32 bytes of k.
        element_bytes: 1, 2 or 4. major: "k", or "mn" for elements of 2 bytes, which alone may be transposed.
    Returns: array (rows, k) of offsets in elements.
    Raises: ValueError for what wgmma does not take.
    Source: PTX ISA, "Strides", "Canonical Layouts" and "Matrix Descriptor Format" of wgmma.

    >>> at = descriptor_offsets(matrix_descriptor(0, 16, 1024, 128), (64, 16), 2)
    >>> at[0, :9].tolist(), at[1, :9].tolist(), at[8, 0]
    ([0, 1, 2, 3, 4, 5, 6, 7, 8], [72, 73, 74, 75, 76, 77, 78, 79, 64], np.int32(512))
    """
    if element_bytes not in (1, 2, 4) or major not in ("k", "mn"):
        raise ValueError(f"descriptor_offsets: no operand has {element_bytes} byte elements and is {major}-major")
    if major == "mn" and element_bytes != 2:
        raise ValueError(
            f"descriptor_offsets: elements of {element_bytes} bytes must be k-major; 2 bytes may be mn-major"
        )
    if descriptor >> 49 & 7:
        raise ValueError(
            f"descriptor_offsets: base offset {descriptor >> 49 & 7} must be 0; align stages to 1024 bytes"
        )
    start, leading, stride = ((descriptor >> low & 0x3FFF) << 4 for low in (0, 16, 32))
    span = {code: size for size, code in SWIZZLE_CODES.items()}[descriptor >> 62 & 3]
    x = canonical_addresses(shape, element_bytes, major, span, leading, stride)
    offsets: IntArray = (swizzled(start + x, span) // element_bytes).astype(np.int32)
    return offsets


def canonical_addresses(
    shape: tuple[int, int], element_bytes: int, major: str, span: int, leading: int, stride: int
) -> Any:
    """The x of `descriptor_offsets`: byte addresses (rows, k) before the swizzle, where the matrix begins at 0.

    In k-major tiles with a swizzle that are wider than its span, `leading` leads to the next W bytes of k: an
    instruction does not get there, the next one begins there.

    >>> canonical_addresses((16, 64), 2, "k", 64, 4096, 512)[[0, 1, 8, 0], [1, 0, 0, 32]].tolist()
    [2, 64, 512, 4096]
    """
    r, k = np.ogrid[: shape[0], : shape[1]]
    row = span or 16  # bytes that lie side by side
    group = row // element_bytes
    if major == "k":
        return r % 8 * row + r // 8 * stride + k % group * element_bytes + k // group * leading
    along, across = (leading, stride) if span else (stride, leading)
    return r % group * element_bytes + r // group * along + k % 8 * row + k // 8 * across


def tma_offsets(inner: int, rows: int, element_bytes: int, swizzle: int = 0, start: int = 0) -> IntArray:
    """Where TMA puts each element of a box in shared memory.

        byte address of element e of row r = swizzle(start + (r inner + e) element_bytes)

    with the swizzle of `descriptor_offsets`. Rows of a box of more modes follow each other, the second mode fastest.

    Args:
        inner: elements of the box along the contiguous mode; with a swizzle its span, else a multiple of 16 bytes.
        rows: the product of the box's other extents. swizzle: 0, 32, 64 or 128 bytes.
        start: where the box begins within a stage, in bytes, a multiple of 128.
    Returns: array (rows, inner) of offsets in elements.
    Raises: ValueError for boxes that are refused or, though the hardware takes them, leave gaps.
    Source: CUDA driver API, cuTensorMapEncodeTiled; PTX ISA, "Tensor Swizzle Modes".

    >>> tma_offsets(32, 16, 2, 64)[7, ::8].tolist()  # rows of 64 bytes; row 7 lies at 448
    [248, 240, 232, 224]
    """
    if swizzle not in SWIZZLE_CODES:
        raise ValueError(f"tma_offsets: swizzle = {swizzle} must be 0, 32, 64 or 128 bytes")
    if (swizzle and inner * element_bytes != swizzle) or inner * element_bytes % 16:
        raise ValueError(
            f"tma_offsets: a row of {inner} elements of {element_bytes} bytes has {inner * element_bytes} bytes; it "
            "must " + (f"have {swizzle}, the swizzle's span" if swizzle else "have a multiple of 16")
        )
    if start % 128:
        raise ValueError(f"tma_offsets: start = {start} must be a multiple of 128 bytes")
    addresses = start + np.arange(rows * inner).reshape(rows, inner) * element_bytes
    offsets: IntArray = (swizzled(addresses, swizzle) // element_bytes).astype(np.int32)
    return offsets


def swizzled(addresses: Any, span: int) -> Any:
    """Byte addresses in shared memory after the hardware's swizzle of 32, 64 or 128 bytes; 0: none.

    >>> [swizzled(x, 128) for x in (0, 128, 256, 1024, 1040)]
    [0, 144, 288, 1024, 1040]
    """
    return addresses ^ (addresses >> 7 & max(span // 16 - 1, 0)) << 4
