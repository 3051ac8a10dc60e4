"""How threads access a tile, apart from where the tile's layout puts it: what suggestions are made for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.analysis.access import OF_MATRICES, WARP
from tilewright.analysis.arguments import named, whole
from tilewright.analysis.layouts import MOST, WIDTHS, Table, widest_access

if TYPE_CHECKING:
    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]
    Bools = npt.NDArray[np.bool_]

__all__ = ["Access", "Ranking", "Warps", "offsets_of", "warps_of"]

OPS = ("load", "store", "cp.async", *OF_MATRICES)


class Access(NamedTuple):
    """An access of a tile by threads.

    - `tv`: (threads, values) -> coordinate in the tile: with basis strides, as from an identity layout, or as the
      number of the coordinate in colexicographic order
    - `op`: "load", "store", "cp.async", "ldmatrix" or "stmatrix", whose threads give rows of 16 bytes
    - `width`: bytes of a lane; None: the widest that is legal, of ldmatrix and stmatrix 16
    - `memory`: "shared" or "global"

    >>> from tilewright import cute
    >>> Access(cute.parse("(32,8):(1@0,1@1)"), "ldmatrix").op
    'ldmatrix'
    """

    tv: Any
    op: str = "load"
    width: int | None = None
    memory: str = "shared"

    def __str__(self) -> str:
        return self.op + (f" of {self.width} bytes" if self.width and self.op not in OF_MATRICES else "")


class Warps(NamedTuple):
    """The requests of an access: element offsets (requests, lanes) of each lane's first value, and active lanes."""

    offsets: Integers
    active: Bools
    op: str
    width: int
    matrices: int


class Ranking(list[Any]):
    """Suggestions, the best first; it prints as a table.

    >>> print(Ranking(["a", "b"]))
    1. a
    2. b
    """

    def __str__(self) -> str:
        shown = [f"{i}. {x}" for i, x in enumerate(self[:10], 1)]
        return "\n".join(shown + ([f"and {len(self) - 10} more"] if len(self) > 10 else []))

    __repr__ = __str__


def offsets_of(layout: Any, tv: Any, operation: str = "offsets_of") -> Integers:
    """layout(tv(t, v)) for all threads and values, as an array (threads, values).

    Raises, in the name of `operation`: TypeError for what is no layout, LayoutError where it leads out of the tile.

    >>> from tilewright import cute
    >>> offsets_of(cute.parse("(4,8):(8,1)"), cute.parse("(2,3):(1@0,2@1)")).tolist()
    [[0, 2, 4], [8, 10, 12]]
    """
    elements = elements_of(layout, tv, operation)
    found: Integers = layout.offsets()[elements]
    return found


def elements_of(layout: Any, tv: Any, operation: str = "elements_of") -> Integers:
    """The same before the layout: which element of the tile, counted colexicographically.

    >>> from tilewright import cute
    >>> elements_of(cute.parse("(4,8):(8,1)"), cute.parse("(2,3):(1@0,2@1)")).tolist()
    [[0, 8, 16], [1, 9, 17]]
    """
    if not isinstance(tv, _core.Layout):
        raise TypeError(
            f"{operation}: expected an access to have a Layout of threads and values, not {type(tv).__name__}"
        )
    if not _core.rank(tv):
        raise LayoutError(f"{operation}: the access {tv} has no mode of threads; make_layout(1) has one, of one thread")
    for x in (layout, tv):
        if int(_core.size(x)) > MOST:
            raise LayoutError(f"{operation}: {x} has {int(_core.size(x))} elements, but at most {MOST} are looked at")
    threads = int(_core.size(tv, mode=[0]))
    if not _core.has_scaled_basis(tv.stride):
        at = _inside(tv.offsets(), int(_core.size(layout)), tv, layout, operation)
    else:  # the number of the coordinate, mode by mode
        at, before = np.zeros(int(_core.size(tv)), np.int64), 1
        for mode in range(_core.rank(layout)):
            extent = int(_core.size(layout, mode=[mode]))
            along = _core.make_layout(tv.shape, stride=_along(tv.stride, mode, operation)).offsets()
            at += before * _inside(along, extent, tv, layout, operation)
            before *= extent
    return np.ascontiguousarray(at.reshape(-1, threads).T)


def _along(stride: Any, mode: int, operation: str) -> Any:
    """The strides along one mode of the coordinates, 0 along the others."""
    if isinstance(stride, Iterable):
        return tuple(_along(s, mode, operation) for s in stride)
    if not isinstance(stride, _core.ScaledBasis):
        return 0
    if len(stride.mode) > 1:
        raise LayoutError(
            f"{operation}: the stride {stride} leads into a mode of the tile; number the coordinate of that mode"
        )
    return int(stride.value) if stride.mode[0] == mode else 0


def _inside(at: Integers, size: int, tv: Any, layout: Any, operation: str) -> Integers:
    if at.size and (at.min() < 0 or at.max() >= size):
        raise LayoutError(
            f"{operation}: the access {tv} reaches coordinates from {int(at.min())} to {int(at.max())} along a mode "
            f"of {size} of the tile {layout}"
        )
    return at


def warps_of(
    layout: Any, access: Access, bits: int, base: int, operation: str = "warps_of", elements: Integers | None = None
) -> Warps:
    """The requests of all warps that make an access of a tile; of accesses of several values, those of the first.

    `elements`: what `elements_of` says of the access, where it is known.
    Raises, in the name of `operation`: ValueError for an op, a width or a number of threads that there is not,
    LayoutError where a lane's values are no neighbours in the tile, or a lane would fault.
    """
    offsets = offsets_of(layout, access.tv, operation) if elements is None else layout.offsets()[elements]
    table = Table(offsets, bits, base)
    threads, count = table.offsets.shape
    width = access.width or (16 if access.op in OF_MATRICES else widest_access(table)[0] or max(1, bits // 8))
    _check(access, width, threads, operation)
    values, rest = divmod(8 * width, bits)
    if rest or not values:
        raise ValueError(f"{operation}: {width} bytes are no whole number of elements of {bits} bits")
    if count % values or table.break_in(values):
        raise LayoutError(
            f"{operation}: {width} bytes are {values} neighbours, but those of a thread of {access.tv} are none in "
            f"{layout}; give the access a smaller width"
        )
    fault = table.fault_in(values)
    if fault:
        raise LayoutError(
            f"{operation}: thread {fault[0]} of {access.tv} in {layout} would fault: {width} bytes at {fault[1]:#x}; "
            "give the access a smaller width, or the tile another base"
        )
    lanes = -(-threads // WARP) * WARP
    offsets = np.zeros((count // values, lanes), np.int64)
    offsets[:, :threads] = table.offsets[:, ::values].T
    active = np.zeros(offsets.shape, bool)
    active[:, :threads] = True
    matrices = matrices_of(access.op, threads)
    rows = 8 * matrices or WARP
    return Warps(
        np.ascontiguousarray(offsets.reshape(-1, WARP)[:, :rows]),
        np.ascontiguousarray(active.reshape(-1, WARP)[:, :rows]),
        access.op,
        width,
        matrices,
    )


def matrices_of(op: str, threads: int) -> int:
    """The matrices that an instruction of so many threads moves; 0 of one that moves none."""
    if op not in OF_MATRICES:
        return 0
    return threads // 8 if threads < WARP else 4


def _check(access: Access, width: Any, threads: int, operation: str) -> None:
    """Whether there is such an instruction."""
    op = named(operation, "op", access.op)
    if op not in OPS:
        raise ValueError(f'{operation}: op = "{op}" must be {", ".join(OPS)}')
    if access.memory not in ("global", "shared"):
        raise ValueError(f'{operation}: memory = {access.memory!r} must be "global" or "shared"')
    if whole(operation, "width", width) not in WIDTHS:
        raise ValueError(f"{operation}: width = {width} bytes must be {', '.join(map(str, WIDTHS))}")
    if op == "cp.async" and width < 4:
        raise LayoutError(f"{operation}: cp.async copies 4, 8 or 16 bytes a thread, but {access.tv} gives it {width}")
    if op in OF_MATRICES:
        if width != WIDTHS[-1]:
            raise ValueError(f"{operation}: width = {width} bytes must be 16: the rows of {op}")
        if threads not in (8, 16) and threads % WARP:
            raise LayoutError(
                f"{operation}: {op} takes whole warps, or 8 or 16 rows, but {access.tv} has {threads} threads"
            )
