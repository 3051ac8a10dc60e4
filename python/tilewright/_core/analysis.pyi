# Generated from the C++ module by `make stubs`; do not edit.
"""
Sectors and wavefronts of memory accesses.
"""

from __future__ import annotations

import typing

import numpy
import numpy.typing

__all__: list[str] = [
    "all_swizzles",
    "best_swizzle",
    "columns",
    "requests",
    "requests_by_rank",
    "swizzled",
    "wavefronts_under",
]

def all_swizzles(elements: typing.SupportsInt | typing.SupportsIndex) -> numpy.typing.NDArray[numpy.int64]:
    """
    B, M and S of every swizzle that stays inside of a tile of so many elements.

    The simplest first: the fewest bits, then the smallest shift, then the greatest base.
    Source: tilewright.

    Examples:
        >>> from tilewright._core import analysis
        >>> len(analysis.all_swizzles(8192)), analysis.all_swizzles(8)[:3].tolist()
        (407, [[0, 4, 3], [1, 1, 1], [1, 1, -1]])
    """

def best_swizzle(
    offsets: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    active: typing.Annotated[numpy.typing.ArrayLike, numpy.bool] | None = None,
    *,
    op: str,
    width: typing.SupportsInt | typing.SupportsIndex,
    matrices: typing.SupportsInt | typing.SupportsIndex = 0,
    element_bits: typing.SupportsInt | typing.SupportsIndex,
    base: typing.SupportsInt | typing.SupportsIndex = 0,
) -> typing.Any:
    """
    The simplest swizzle of those with the fewest wavefronts, and their number.

    Args: as those of wavefronts_under.
    Returns: (swizzle, wavefronts); None where there is no offset, or a negative one.
    Source: tilewright.

    Examples:
        >>> import numpy as np
        >>> from tilewright._core import analysis
        >>> column = 32 * np.arange(32)[None]  # of a tile of 32 x 32 elements
        >>> analysis.best_swizzle(column, op="load", width=4, element_bits=32)
        (S<5,0,5>, 1)
    """

def columns(layout: typing.Any) -> numpy.typing.NDArray[numpy.int64]:
    """
    The offset of each bit of a coordinate, of a layout that is linear over F2.

    Raises: LayoutError where it is not: an extent is no power of two, or adding offsets carries.
    Source: tilewright.

    Examples:
        >>> from tilewright._core import analysis
        >>> analysis.columns(cute.parse("(4,8):(8,1)")).tolist()
        [8, 16, 1, 2, 4]
    """

def requests(
    addresses: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    active: typing.Annotated[numpy.typing.ArrayLike, numpy.bool] | None = None,
    *,
    memory: str,
    op: str,
    width: typing.SupportsInt | typing.SupportsIndex,
    matrices: typing.SupportsInt | typing.SupportsIndex = 0,
) -> tuple[typing.Any, ...]:
    """
    Count what accesses cost, one of a warp for each row of addresses.

    Args:
        addresses: byte addresses (requests, lanes); of ldmatrix and stmatrix those of the rows, 8 for each matrix.
        active: which lanes take part, of the same shape; None: all.
        memory: "global" or "shared"; op: "load", "store", "cp.async", "ldmatrix" or "stmatrix"; width: bytes of a lane.
    Returns: (counts, fault): counts (7, requests): lanes, sectors, ideal_sectors, lines, wavefronts, ideal_wavefronts,
        useful_bytes; fault: the index of the first address that is no multiple of the width, or -1. Where there is one,
        the counts say nothing.
    Source: tilewright.

    Examples:
        >>> import numpy as np
        >>> from tilewright._core import analysis
        >>> counts, fault = analysis.requests(4 * np.arange(32)[None], memory="global", op="load", width=4)
        >>> counts[:, 0].tolist(), fault
        ([32, 4, 4, 1, 0, 0, 128], -1)
    """

def requests_by_rank(
    columns: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    *,
    memory: str,
    op: str,
    width: typing.SupportsInt | typing.SupportsIndex,
    matrices: typing.SupportsInt | typing.SupportsIndex = 0,
) -> numpy.typing.NDArray[numpy.int64]:
    """
    The counts of accesses whose addresses are linear over F2, by ranks of matrices.

    Args:
        columns: (requests, bits): the byte address of each bit of a lane, or of a row of matrices, aligned to the width.
        (the others as in requests)
    Returns: counts as those of requests.
    Source: tilewright.

    Examples:
        >>> import numpy as np
        >>> from tilewright._core import analysis
        >>> counts = analysis.requests_by_rank(np.array([[128, 256, 512, 1024, 2048]]), memory="shared", op="load", width=4)
        >>> int(counts[4, 0])
        32
    """

def swizzled(
    addresses: typing.Annotated[numpy.typing.ArrayLike, numpy.int64], mode: typing.SupportsInt | typing.SupportsIndex
) -> numpy.typing.NDArray[numpy.int64]:
    """
    Where the hardware's swizzle puts bytes of shared memory.

    Args:
        addresses: byte addresses of any shape; mode: 0, 32, 64 or 128 bytes.
    Source: PTX ISA, "Swizzling Modes".

    Examples:
        >>> from tilewright._core import analysis
        >>> analysis.swizzled([0, 128, 256], 128).tolist()
        [0, 144, 288]
    """

def wavefronts_under(
    swizzles: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    offsets: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    active: typing.Annotated[numpy.typing.ArrayLike, numpy.bool] | None = None,
    *,
    op: str,
    width: typing.SupportsInt | typing.SupportsIndex,
    matrices: typing.SupportsInt | typing.SupportsIndex = 0,
    element_bits: typing.SupportsInt | typing.SupportsIndex,
    base: typing.SupportsInt | typing.SupportsIndex = 0,
) -> numpy.typing.NDArray[numpy.int64]:
    """
    The wavefronts of accesses to shared memory under each of many swizzles.

    Args:
        swizzles: (count, 3): B, M, S of each; they act on element offsets.
        offsets: element offsets before the swizzle (requests, lanes), and `active` lanes as in requests.
        element_bits: 8 times 1, 2, 4, 8 or 16, or less; base: byte address of offset 0.
    Returns: wavefronts of all requests (count); -1 where the swizzle would take neighbours that a lane accesses together
        apart. That no address faults without a swizzle is for the caller to know.
    Source: tilewright.

    Examples:
        >>> import numpy as np
        >>> from tilewright._core import analysis
        >>> column = 32 * np.arange(32)[None]  # of a tile of 32 x 32 elements
        >>> kind = dict(op="load", width=4, element_bits=32)
        >>> analysis.wavefronts_under(np.array([[0, 0, 5], [2, 0, 5], [5, 0, 5]]), column, **kind).tolist()
        [32, 8, 1]
    """
