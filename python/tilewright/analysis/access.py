"""What one memory instruction of one warp costs, from the byte address of each lane.

Global memory moves sectors of 32 bytes; shared memory gives a word of 4 bytes of each of its 32 banks a cycle, a
wavefront. The rules with their sources are in cpp/analysis/rules.hpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright._notebook import drawn
from tilewright.analysis.arguments import bools, integers, named, whole

if TYPE_CHECKING:
    import numpy.typing as npt


__all__ = ["MisalignedError", "Request", "Requests", "swizzled", "warp_access", "warp_accesses"]

WARP = 32  # lanes
SECTOR = 32  # bytes
OF_MATRICES = ("ldmatrix", "stmatrix")
MOST = 2**63 - 1  # addresses are counted in int64


def _which(warp: tuple[int, ...], lane: int) -> str:
    return f"lane {lane} of request {', '.join(map(str, warp))}" if warp else f"lane {lane}"


class MisalignedError(ValueError):
    """An access that would fault: the address of a lane is no multiple of its bytes.

    `warp`: the index of the request; `lane`: the first lane that faults; `address`, `width`: in bytes.

    >>> try:
    ...     warp_access([0, 4, 8, 12], 8)
    ... except MisalignedError as error:
    ...     print(error)
    warp_access: lane 1 would fault: address 4 (0x4) is no multiple of the width, 8 bytes; access at most 4, or move it
    """

    def __init__(
        self, warp: tuple[int, ...], lane: int, address: int, width: int, operation: str = "warp_access"
    ) -> None:
        self.warp, self.lane, self.address, self.width = warp, lane, address, width
        widest = address & -address
        super().__init__(
            f"{operation}: {_which(warp, lane)} would fault: address {address} ({address:#x}) is no multiple of the "
            f"width, {width} bytes; access at most {widest}, or move it"
        )


@drawn
class Request(NamedTuple):
    """What one memory instruction of one warp costs.

    - `memory`, `op`: what was asked for; `width`: bytes of a lane, of ldmatrix and stmatrix of a row
    - `lanes`: active lanes
    - `sectors`, `ideal_sectors`, `lines`: of global memory, 32 and 128 bytes each; 0 for shared
    - `wavefronts`, `ideal_wavefronts`: of shared memory; 0 for global
    - `useful_bytes`: distinct bytes that were asked for
    - `alone`: of a cp.async through L1 the wavefronts that the conflicts of its worse side, shared memory or the cache,
      would take alone: its `ways`. With conflicts on both they are fewer than `wavefronts`. 0 of any other access

    A request is one side of a cp.async: what the other side costs it, `async_access` says.

    >>> warp_access(range(0, 256, 8), 4).efficiency
    0.5
    """

    memory: str
    op: str
    width: int
    lanes: int
    sectors: int
    ideal_sectors: int
    lines: int
    wavefronts: int
    ideal_wavefronts: int
    useful_bytes: int
    alone: int = 0

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the ideal ones."""
        return self.wavefronts - self.ideal_wavefronts

    @property
    def ways(self) -> int:
        """The access is an n-way bank conflict: n times the wavefronts that it could take. 1: there is none."""
        return -(-(self.alone or self.wavefronts) // self.ideal_wavefronts) if self.ideal_wavefronts else 1

    @property
    def bytes_moved(self) -> int:
        """Bytes of the sectors."""
        return SECTOR * self.sectors

    @property
    def efficiency(self) -> float:
        """The part that is asked for: of the bytes moved, or of the banks' words in all wavefronts' cycles."""
        moved = self.bytes_moved if self.memory == "global" else 128 * self.wavefronts
        return self.useful_bytes / moved if moved else 1.0


class Requests(NamedTuple):
    """The same of many warps: an int64 array of each count, of the shape of the warps.

    >>> import numpy as np
    >>> warps = warp_accesses(np.arange(0, 1024, 4).reshape(8, 32), 4)
    >>> warps.sectors.tolist(), len(warps), warps.at(7).lines
    ([4, 4, 4, 4, 4, 4, 4, 4], 8, 1)
    """

    memory: str
    op: str
    width: int
    lanes: npt.NDArray[np.int64]
    sectors: npt.NDArray[np.int64]
    ideal_sectors: npt.NDArray[np.int64]
    lines: npt.NDArray[np.int64]
    wavefronts: npt.NDArray[np.int64]
    ideal_wavefronts: npt.NDArray[np.int64]
    useful_bytes: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """How many requests there are."""
        return int(self.lanes.size)

    def at(self, index: int | tuple[int, ...]) -> Request:
        """One of them, by its index in the shape of the warps."""
        counts = (int(counts[index]) for counts in self[3:])
        return Request(self.memory, self.op, self.width, *counts)

    @property
    def conflicts(self) -> npt.NDArray[np.int64]:
        """Wavefronts beyond the ideal ones."""
        return self.wavefronts - self.ideal_wavefronts

    @property
    def worst(self) -> int:
        """The flat index of the first request that is farthest from its ideal, of those with an active lane.

        Raises ValueError where there are none."""
        if not len(self):
            raise ValueError("worst: there are no requests")
        beyond = self.sectors - self.ideal_sectors if self.memory == "global" else self.conflicts
        return int((beyond + (self.lanes > 0)).argmax())


def _mask_of(operation: str, active: Any, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
    flags = bools(operation, active)
    try:
        return np.broadcast_to(flags, shape)
    except ValueError:
        raise ValueError(
            f"{operation}: active has the shape {flags.shape}, but the addresses {shape}; give a bool for each lane"
        ) from None


def warp_accesses(
    addresses: npt.ArrayLike,
    width: int,
    *,
    memory: str = "global",
    op: str = "load",
    active: npt.ArrayLike | None = None,
    matrices: int | None = None,
    operation: str = "warp_access",
) -> Requests:
    """What each of many warps' accesses costs, in one call of C++.

    sectors = |{ b // 32 }| over all bytes b of the active lanes, lines = |{ b // 128 }|; wavefronts = the most
    different words in one bank, for every pass of at most 128 bytes, summed.

    Args:
        addresses: byte addresses, an integer array (..., lanes) of up to 32 lanes; of ldmatrix and stmatrix those of
            the rows, 8 for each matrix.
        width: bytes of a lane: 1, 2, 4, 8 or 16; of ldmatrix and stmatrix 16.
        memory: "global" or "shared".
        op: "load", "store", "cp.async" (its side is `memory`), "ldmatrix" or "stmatrix".
        active: bools of the shape of `addresses`, or broadcast to it; None: all lanes. The others' addresses are not
            looked at.
        matrices: of ldmatrix and stmatrix 1, 2 or 4; None: as many as the addresses are rows for.
        operation: in whose name errors are said.
    Raises: MisalignedError for a lane that would fault; TypeError for addresses that are no integers and the like;
        ValueError for an active lane whose address is negative, or 2^63 or more, and for another argument out of its
        range.
    Source: tilewright; cpp/analysis/rules.hpp names the source of each rule.

    Examples:
        >>> import numpy as np
        >>> lanes = np.arange(32)
        >>> warp_accesses([8 * lanes, 128 * lanes, 0 * lanes], 8, memory="shared").wavefronts
        array([ 2, 32,  1])
    """
    table = integers(operation, "addresses", addresses)
    _require_addresses(operation, table, active, matrices)
    return accesses_of_layout(table, width, memory=memory, op=op, active=active, matrices=matrices, operation=operation)


def _require_addresses(operation: str, table: npt.NDArray[np.integer[Any]], active: Any, matrices: Any) -> None:
    """ValueError for the first active lane that has no address."""
    wrong = table > np.uint64(MOST) if table.dtype.kind == "u" else table < 0
    if not wrong.any() or not table.ndim:
        return
    if active is not None:
        wrong = wrong & _mask_of(operation, active, table.shape)
    if matrices in (1, 2, 4):
        wrong = wrong[..., : 8 * matrices]
    if wrong.any():
        *warp, lane = at = tuple(np.argwhere(wrong)[0].tolist())
        raise ValueError(
            f"{operation}: {_which(tuple(warp), lane)} has the address {table[at]}, but addresses are bytes, from 0 to "
            "2^63 - 1"
        )


def accesses_of_layout(
    addresses: npt.ArrayLike,
    width: int,
    *,
    memory: str = "global",
    op: str = "load",
    active: npt.ArrayLike | None = None,
    matrices: int | None = None,
    operation: str = "warp_access",
) -> Requests:
    """The same of addresses that may be negative: a layout's are counted from a base that need not be known."""
    table = integers(operation, "addresses", addresses)
    if table.ndim == 0:
        raise ValueError(f"{operation}: addresses must have a mode of lanes, but there is a single number")
    width, matrices = whole(operation, "width", width), whole(operation, "matrices", matrices or 0)
    memory, op = named(operation, "memory", memory), named(operation, "op", op)
    *warps, lanes = table.shape
    mask = None if active is None else _mask_of(operation, active, table.shape)
    if op in ("ldmatrix", "stmatrix"):
        if mask is not None and not mask.all():
            raise ValueError(f"{operation}: all lanes of a warp take part in {op}, so active must be left out")
        mask = None
        if not matrices and lanes not in (8, 16, 32):
            raise ValueError(f"{operation}: {op} takes the addresses of 8, 16 or 32 rows, but there are {lanes}")
        rows = 8 * matrices if matrices in (1, 2, 4) else lanes
        table, lanes, matrices = table[..., :rows], min(rows, lanes), matrices or rows // 8
    flat = table.reshape(-1, lanes) if lanes else table.reshape(int(np.prod(warps)), 0)
    flags = None if mask is None else mask.reshape(flat.shape)
    try:
        counts, fault = _core.analysis.requests(flat, flags, memory=memory, op=op, width=width, matrices=matrices)
    except ValueError as error:  # which is said in the name of warp_access
        raise ValueError(f"{operation}: {str(error).removeprefix('warp_access: ')}") from None
    if fault >= 0:
        warp = tuple(int(i) for i in np.unravel_index(fault // lanes, tuple(warps))) if warps else ()
        raise MisalignedError(warp, fault % lanes, int(flat.flat[fault]), width, operation)
    return Requests(memory, op, width, *counts.reshape(7, *warps))


def warp_access(
    addresses: npt.ArrayLike,
    width: int,
    *,
    memory: str = "global",
    op: str = "load",
    active: npt.ArrayLike | None = None,
    matrices: int | None = None,
    operation: str = "warp_access",
) -> Request:
    """What an access of one warp costs.

    sectors = |{ b // 32 }| over all bytes b of the active lanes; wavefronts = the most different words in one bank, for
    every pass of at most 128 bytes, summed.

    Args:
        addresses: up to 32 byte addresses, one for each lane; the others as in `warp_accesses`.
    Raises: MisalignedError naming the first lane that would fault; it is not analysed. TypeError, ValueError for
        other arguments.
    Source: tilewright; cpp/analysis/rules.hpp names the source of each rule.

    Examples:
        >>> warp_access([4 * lane + 4 for lane in range(32)], 4).sectors
        5
        >>> rows = [128 * row for row in range(8)]  # of a tile of 128 bytes a row
        >>> warp_access(rows, 16, memory="shared", op="ldmatrix").wavefronts
        8
        >>> warp_access(swizzled(rows, 128), 16, memory="shared", op="ldmatrix").wavefronts
        1
    """
    table = integers(operation, "addresses", addresses)
    if table.ndim != 1 and table.size:
        raise ValueError(
            f"{operation}: expected the addresses of the lanes of one warp, but got an array of shape {table.shape}; "
            "warp_accesses takes those of many warps"
        )
    found = warp_accesses(
        table.reshape(-1), width, memory=memory, op=op, active=active, matrices=matrices, operation=operation
    )
    return found.at(())


def swizzled(addresses: npt.ArrayLike, mode: int) -> npt.NDArray[np.int64]:
    """Where the hardware's swizzle of TMA and wgmma puts bytes of shared memory.

    Swizzle<B,4,3> on byte addresses, with B = 1, 2, 3 for modes of 32, 64 and 128 bytes: address bits 4 to 6 are XORed
    with bits 7 to 9, as many as the mode has.

    Args:
        addresses: byte addresses of any shape, counted from an aligned base: of 256, 512 or 1024 bytes.
        mode: 0 (no swizzle), 32, 64 or 128.
    Raises: ValueError for another mode.
    Source: PTX ISA, "Swizzling Modes".

    Examples:
        >>> swizzled([0, 128, 256, 1024 + 128 + 16], 128).tolist()
        [0, 144, 288, 1152]
    """
    return _core.analysis.swizzled(integers("swizzled", "addresses", addresses), whole("swizzled", "mode", mode))
