# Generated from the C++ module by `make stubs`; do not edit.
"""
Sectors and wavefronts of memory accesses.
"""

from __future__ import annotations

import collections.abc
import typing

import numpy
import numpy.typing
import tilewright._core

__all__: list[str] = [
    "AsyncTally",
    "CopyLaunch",
    "Tally",
    "advice",
    "all_swizzles",
    "best_swizzle",
    "columns",
    "groups",
    "requests",
    "requests_by_rank",
    "swizzled",
    "wavefronts_in",
    "wavefronts_under",
]

class Tally:
    """
    Adds up the requests of one instruction over a launch.

    Args: as those of requests.

    Examples:
        >>> import numpy as np
        >>> from tilewright._core import analysis
        >>> tally = analysis.Tally("global", "load", 4)
        >>> tally.add(4 * np.arange(32)[None], np.ones((1, 32), bool), {0: 3, 64: 1})
        >>> tally.totals()[0]  # 3 requests of one line, and 1 of two lines
        (4, 128, 16, 16, 5, 0, 0, 512)
    """

    def __init__(
        self,
        memory: str,
        op: str,
        width: typing.SupportsInt | typing.SupportsIndex,
        matrices: typing.SupportsInt | typing.SupportsIndex = 0,
    ) -> None: ...
    def add(
        self,
        addresses: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        active: typing.Annotated[numpy.typing.ArrayLike, numpy.bool],
        starts: dict[int, int],
    ) -> None:
        """
        Count requests.

        Args:
            addresses: what the lanes of each request address (requests, 32); what is not in them, such as the tile's own place,
                is a multiple of 128 bytes. active: which lanes take part, of the same shape.
            starts: how many tiles begin at each byte of a line.
        """

    def totals(self) -> typing.Any:
        """
        What was added up: None where no request was made.

        Returns: (sums, first, worst, addresses, lanes): sums: requests, lanes, sectors, ideal_sectors, lines, wavefronts,
            ideal_wavefronts, useful_bytes; first and worst: of the first request, and of the one that is farthest from its
            ideal, without the number of requests, but with what one side's conflicts take alone; the active lanes of that one
            and their addresses. Or (lane, address) of a lane that would fault.
        """

    @property
    def first(self) -> tuple[typing.Any, ...]:
        """
        What the active lanes of the first request address.
        """

class AsyncTally:
    """
    Adds up the requests of one cp.async over a launch.

    Args: width: bytes of a lane.

    Examples:
        >>> import numpy as np
        >>> from tilewright._core import analysis
        >>> tally = analysis.AsyncTally(16)
        >>> row, everyone = 16 * np.arange(32)[None], np.ones((1, 32), bool)
        >>> tally.add(row, row, everyone, everyone, {0: 1, 16: 1})
        >>> source, destination, counted, asked = tally.totals()
        >>> source[0][2], counted, asked  # 16 sectors, and 32 that lie otherwise in shared memory
        (48, (16, 8), 36)
    """

    def __init__(self, width: typing.SupportsInt | typing.SupportsIndex) -> None: ...
    def add(
        self,
        source: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        destination: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        reads: typing.Annotated[numpy.typing.ArrayLike, numpy.bool],
        writes: typing.Annotated[numpy.typing.ArrayLike, numpy.bool],
        starts: dict[int, int],
        useful: typing.Annotated[numpy.typing.ArrayLike, numpy.int64] | None = None,
    ) -> None:
        """
        Count requests, whose lanes read `source` and write `destination` (requests, 32).

        Args:
            reads, writes: which lanes do; those that write without reading write zeros.
            starts: how many tiles begin at each byte of a line, in the source; shared memory begins at a multiple of 128.
            useful: the bytes that each lane reads, if not all of the width.
        """

    def totals(self) -> tuple[typing.Any, typing.Any, tuple[int, int], int]:
        """
        Of source and destination what totals of a Tally says, None of a side without requests; and what Nsight Compute
        calls wavefronts, how many of them there would be at best, and the sectors that L1 asks for.
        """

    @property
    def first(self) -> tuple[tuple[typing.Any, ...], tuple[typing.Any, ...]]:
        """
        What the active lanes of the first request address on both sides.
        """

class CopyLaunch:
    """
    A launch of a copy plan, which counts its requests in tallies.

    Args: the fields of analysis::CopyLaunch in cpp/analysis/copy_requests.hpp; tilewright.kernels.copy.accesses gives them.
    """

    def __init__(
        self,
        *,
        tiles: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        tile: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        extents: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
        strides: typing.Annotated[
            collections.abc.Sequence[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex]],
            "FixedSize(2)",
        ],
        base: typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(2)"],
        memory: typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(2)"],
        vector_mode: typing.Annotated[
            collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(2)"
        ],
        element: typing.SupportsInt | typing.SupportsIndex,
        load_vector: typing.SupportsInt | typing.SupportsIndex,
        store_vector: typing.SupportsInt | typing.SupportsIndex,
        smem_store: typing.SupportsInt | typing.SupportsIndex,
        smem_load: typing.SupportsInt | typing.SupportsIndex,
        src_step: typing.SupportsInt | typing.SupportsIndex,
        dst_shift: typing.SupportsInt | typing.SupportsIndex,
        joined: typing.SupportsInt | typing.SupportsIndex,
        checked: bool,
        single: bool,
        guarded: bool,
    ) -> None: ...
    def direct(
        self,
        threads: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        values: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        *,
        load: Tally,
        store: Tally,
        load_edges: Tally,
        store_edges: Tally,
    ) -> None:
        """
        Count the requests of a part of the copy.

        Args: threads, values: the coordinates in the tile of the threads, and of the values, which are added to them (count,
            rank); shared: of shared memory the strides, the offset, and B, M, S of a swizzle or None.
        """

    def staged_loads(
        self,
        threads: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        values: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        shared: tuple[
            collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
            typing.SupportsInt | typing.SupportsIndex,
            typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(3)"]
            | None,
        ],
        *,
        load: Tally | AsyncTally,
        put: Tally,
        load_edges: Tally,
        put_edges: Tally,
    ) -> None:
        """
        Count the requests of a part of the copy.

        Args: threads, values: the coordinates in the tile of the threads, and of the values, which are added to them (count,
            rank); shared: of shared memory the strides, the offset, and B, M, S of a swizzle or None.
        """

    def staged_stores(
        self,
        threads: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        values: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
        shared: tuple[
            collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
            typing.SupportsInt | typing.SupportsIndex,
            typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(3)"]
            | None,
        ],
        *,
        take: Tally,
        store: Tally,
        store_edges: Tally,
    ) -> None:
        """
        Count the requests of a part of the copy.

        Args: threads, values: the coordinates in the tile of the threads, and of the values, which are added to them (count,
            rank); shared: of shared memory the strides, the offset, and B, M, S of a swizzle or None.
        """

def advice(
    *,
    shared: bool,
    of_matrices: bool,
    width: typing.SupportsInt | typing.SupportsIndex,
    widest: typing.SupportsInt | typing.SupportsIndex,
    requests: typing.SupportsInt | typing.SupportsIndex,
    lanes: typing.SupportsInt | typing.SupportsIndex,
    sectors: typing.SupportsInt | typing.SupportsIndex,
    ideal_sectors: typing.SupportsInt | typing.SupportsIndex,
    wavefronts: typing.SupportsInt | typing.SupportsIndex,
    ideal_wavefronts: typing.SupportsInt | typing.SupportsIndex,
    ways: typing.SupportsInt | typing.SupportsIndex,
    base: typing.SupportsInt | typing.SupportsIndex,
    addresses: collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex],
    sectors_lower: collections.abc.Callable[[int], typing.SupportsInt | typing.SupportsIndex],
    best_swizzle: collections.abc.Callable[
        [], tuple[tilewright._core.Swizzle, typing.SupportsInt | typing.SupportsIndex] | None
    ],
) -> str:
    """
    What to change about an access, as a sentence; empty where nothing has to be.

    Args:
        width, widest: bytes of an access, and of the widest legal one.
        requests, lanes, sectors, ideal_sectors, wavefronts, ideal_wavefronts: totals over all requests.
        ways, addresses: of the worst request, the addresses those of its active lanes; base: byte address of offset 0.
        sectors_lower: the sectors where all addresses are so many bytes lower; best_swizzle: as the function of that name.
    Source: tilewright.

    Examples:
        >>> from tilewright._core import analysis
        >>> cost = dict(shared=False, of_matrices=False, width=4, widest=4, requests=8, sectors=8, ideal_sectors=8)
        >>> cost |= dict(wavefronts=0, ideal_wavefronts=0, ways=1, base=0, addresses=[0, 4])
        >>> search = dict(sectors_lower=lambda bytes: 8, best_swizzle=lambda: None)
        >>> analysis.advice(lanes=256, **cost, **search)
        ''
        >>> [analysis.advice(lanes=n, **cost, **search).split()[0] for n in (133, 164, 64)]
        ['16.63', '20.5', '8']
    """

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

def groups(
    modes: collections.abc.Sequence[
        typing.Annotated[collections.abc.Sequence[typing.SupportsInt | typing.SupportsIndex], "FixedSize(7)"]
    ],
    base: typing.SupportsInt | typing.SupportsIndex,
    times: typing.SupportsInt | typing.SupportsIndex,
) -> list[tuple[typing.Any, ...]]:
    """
    The tiles of a tensor, grouped by how they are cut and where they begin.

    Args:
        modes: of each its tiles, their extent, the tensor's extent, the bytes from tile to tile, how many coordinates
            accesses lie before a tile and behind it, and how many of the first and last tiles are groups of their own.
        base: the address of the first element; times: how often each tile is accessed.
    Returns: for each group (low, high, starts, tiles): where the tensor begins and ends in them, how many begin at each
        byte of a line, and the first tile along each mode.

    Examples:
        >>> from tilewright._core import analysis
        >>> modes = [(5, 64, 300, 64, 0, 0, 0), (3, 1, 3, 4, 0, 0, 0)]
        >>> [(high, starts) for _, high, starts, _ in analysis.groups(modes, 0, 1)]
        [((64, 1), {0: 2, 4: 2, 8: 2, 64: 2, 68: 2, 72: 2}), ((44, 1), {0: 1, 4: 1, 8: 1})]
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

def wavefronts_in(
    images: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    elements: typing.Annotated[numpy.typing.ArrayLike, numpy.int64],
    *,
    op: str,
    width: typing.SupportsInt | typing.SupportsIndex,
    matrices: typing.SupportsInt | typing.SupportsIndex = 0,
    element_bits: typing.SupportsInt | typing.SupportsIndex,
    base: typing.SupportsInt | typing.SupportsIndex = 0,
) -> numpy.typing.NDArray[numpy.int64]:
    """
    The wavefronts of an access to shared memory under each of many layouts of a tile.

    Args:
        images: (layouts, elements): the offset of each element of the tile under each layout.
        elements: (threads, values): which elements each thread accesses, as many at a time as `width` bytes are.
        (the others as in wavefronts_under)
    Returns: wavefronts of all requests (layouts); -1 where a thread's values are no neighbours, or a lane would fault.
    Source: tilewright.

    Examples:
        >>> import numpy as np
        >>> from tilewright._core import analysis
        >>> row, column = np.ogrid[:32, :32]
        >>> images = np.stack([(32 * row + column).ravel(), (33 * row + column).ravel()])  # and with a padding
        >>> column = 32 * np.arange(32)[:, None]
        >>> analysis.wavefronts_in(images, column, op="load", width=4, element_bits=32).tolist()
        [32, 1]
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
