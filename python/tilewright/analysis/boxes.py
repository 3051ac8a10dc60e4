"""What the copy engine (TMA) moves: boxes of a tensor, row by row, in sectors of 32 bytes.

The rules were found with Nsight Compute on an H200 (docs/ncu.md):

- A row is cut where lines of shared memory begin. What follows is of these parts.
- A load brings a box whole: the sectors of what lies inside of the tensor, in granules of 16 bytes; and for the rest as
  many zeros, in sectors of their own.
- To several CTAs at once (multicast) a part goes line by line of global memory, and each answer has at least two
  sectors; or three where some of it lies outside, or its elements are rounded on the way (TFloat32).
- A store writes the sectors of what lies inside.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright._core import Layout
from tilewright._notebook import drawn
from tilewright.analysis.arguments import element_bits, whole
from tilewright.analysis.totals.totals import Mode, groups
from tilewright.numeric import TFloat32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.numeric import Numeric

__all__ = ["BoxAccess", "Lines", "box_access", "row_sectors"]

GRANULE, SECTOR, LINE = 16, 32, 128  # bytes
LEAST, LEAST_WORKED = 2, 3  # sectors of an answer to several CTAs: of the tensor's bytes as they are, or not
# Of a box at most: modes, elements along one, bytes; CTAs that get it; bytes from row to row, and a coordinate.
MODES, EXTENT, SHARED = 5, 256, 227 << 10
CLUSTER, MOST_BYTES, MOST_AT = 16, 1 << 40, 1 << 31


@functools.lru_cache(maxsize=4096)
def row_sectors(op: str, start: int, inside: int, span: int, at: int = 0, least: int = LEAST) -> int:
    """The sectors of a row of `span` bytes from the address `start` on, of which the first `inside` are in the tensor.

    `at`: where the row begins in a line of shared memory; `least`: sectors of an answer to several CTAs.

    >>> row_sectors("load", 0, 128, 128), row_sectors("load", 16, 128, 128), row_sectors("load", 0, 16, 128)
    (4, 5, 5)
    >>> row_sectors("multicast", 32, 128, 128), row_sectors("store", 0, 16, 128), row_sectors("load", 16, 48, 48, 96)
    (5, 1, 3)
    """
    total = done = 0
    while done < span:
        part = min(span - done, LINE - (at + done) % LINE)
        total += _part_sectors(op, start + done, min(max(inside - done, 0), part), part, least)
        done += part
    return total


def _part_sectors(op: str, start: int, inside: int, span: int, least: int) -> int:
    """The same of a part of a row that goes to one line of shared memory, or comes from it."""
    if op == "store":
        return _touched(start, start + inside)
    whole = -(-inside // GRANULE) * GRANULE
    zeros = -(-(span - whole) // SECTOR)
    if op == "load":
        return _touched(start, start + whole) + zeros
    total, at, end = max(zeros, LEAST_WORKED) if zeros else 0, start, start + whole
    while at < end:
        following = min(end, (at // LINE + 1) * LINE)
        cut = following == end and inside < whole
        total += max(_touched(at, following), LEAST_WORKED if cut else least)
        at = following
    return total


def _touched(begin: int, end: int) -> int:
    return -(-end // SECTOR) - begin // SECTOR if end > begin else 0


def least_of(dtype: Any) -> int:
    """The least sectors of an answer to several CTAs, of elements that lie inside.

    >>> from tilewright import BFloat16, TFloat32
    >>> least_of(BFloat16), least_of(TFloat32)
    (2, 3)
    """
    return LEAST_WORKED if dtype is TFloat32 else LEAST


@drawn
class BoxAccess(NamedTuple):
    """What boxes of a tensor cost:

    - `sectors`: of 32 bytes, which all CTAs that get them together receive; of a store, which are written
    - `ideal_sectors`: those that hold the bytes inside of the tensor, row by row, if every row began with one
    - `bytes_inside`: the bytes of the tensor in the boxes, for each CTA that gets them
    - `span`: bytes of a row of one box, and `rows`: (address, bytes inside of the tensor) of each of its rows; of all
      boxes of a launch they are left out
    - `op`, `receivers`: as in `box_access`
    """

    sectors: int
    ideal_sectors: int
    bytes_inside: int
    span: int = 0
    rows: tuple[tuple[int, int], ...] = ()
    op: str = "load"
    receivers: int = 1


def box_access(
    layout: Layout, dtype: type[Numeric], box: Sequence[int], at: Sequence[int], *, address: int = 0, op: str = "load",
    receivers: int = 1,
) -> BoxAccess:  # fmt: skip
    """What a box of a tensor costs that TMA moves between global and shared memory.

    A row of the box is b bytes along the mode of stride 1, from the address a on, of which the first i lie inside of
    the tensor, ceil16(i) in granules of 16 bytes; S(x, y) are the sectors of 32 bytes that [x, y) touches:
    a load brings S(a, a + ceil16(i)) + ceil((b - ceil16(i)) / 32), also of rows outside (i = 0); a store writes
    S(a, a + i). To several CTAs a row goes in parts, one for each line of 128 bytes and one for what lies outside, and
    each of them gets max(n, 2) of a part of n sectors, max(n, 3) where the part has bytes outside or elements are
    TFloat32. Rows lie one behind the other in shared memory, without a swizzle or with one whose span they fill; those
    that go to several lines of it count line by line.

    Args:
        layout: of the tensor in global memory, 1 to 5 modes, one of them with stride 1, the other strides multiples of
            16 bytes below 2^40 bytes. dtype: its element type, of 1, 2, 4 or 8 bytes (8 were not measured).
        box, at: extents of the box, and the coordinate of its first element, both in elements, mode by mode.
        address: of the tensor in bytes, a multiple of 16.
        op: "load" or "store".
        receivers: CTAs of a cluster that a load brings the box to, up to 16 (measured: 2 and 4).
    Returns: a BoxAccess; what is counted for a multicast is the sum over the CTAs.
    Raises: ValueError for what TMA does not take, and which mode it is; TypeError for a layout of other modes and for
        arguments of other types.
    Source: tilewright; rules read with Nsight Compute on an H200 (docs/ncu.md).

    Examples:
        >>> from tilewright import BFloat16, cute
        >>> box_access(cute.make_layout((1024, 1024), stride=(1024, 1)), BFloat16, (128, 64), (0, 0)).sectors
        512
        >>> rows = cute.make_layout((1000, 1000), stride=(1000, 1))  # every other row begins within a sector
        >>> box_access(rows, BFloat16, (128, 64), (0, 0)).sectors
        576
        >>> found = box_access(rows, BFloat16, (128, 64), (0, 960))  # 80 of 128 bytes of each row lie inside
        >>> found.sectors, found.ideal_sectors, found.bytes_inside
        (640, 384, 10240)
        >>> box_access(rows, BFloat16, (128, 64), (0, 960), op="store").sectors
        384
    """
    x = _checked(layout, dtype, box, at, address, op, receivers)
    kind = "multicast" if x.receivers > 1 else op
    unit, size, least = x.unit, x.size, least_of(dtype)
    span, inside = x.box[unit] * size, max(min(x.shape[unit] - x.at[unit], x.box[unit]), 0) * size
    sectors, found = 0, []
    others = [i for i in range(len(x.shape)) if i != unit]
    rows = itertools.product(*(range(x.at[i], x.at[i] + x.box[i]) for i in reversed(others)))
    for number, place in enumerate(tuple(reversed(row)) for row in rows):
        here = inside if all(c < x.shape[i] for i, c in zip(others, place, strict=True)) else 0
        start = x.address + x.at[unit] * size + sum(c * x.steps[i] for i, c in zip(others, place, strict=True))
        sectors += row_sectors(kind, start % LINE, here, span, number * span % LINE, least)
        found.append((start, here))
    ideal = sum(-(-here // SECTOR) for _, here in found) * x.receivers
    held = sum(here for _, here in found) * x.receivers
    return BoxAccess(sectors * x.receivers, ideal, held, span, tuple(found), op, x.receivers)


class _Asked(NamedTuple):
    """What box_access was asked, in integers; `steps`: bytes from element to element, `unit`: the contiguous mode."""

    shape: tuple[int, ...]
    steps: list[int]
    unit: int
    size: int
    box: list[int]
    at: list[int]
    address: int
    receivers: int


def _checked(
    layout: Any, dtype: Any, box: Sequence[int], at: Sequence[int], address: int, op: str, receivers: int
) -> _Asked:
    name = "box_access"
    bits = element_bits(name, dtype)
    if bits not in (8, 16, 32, 64):
        raise ValueError(
            f"{name}: elements of {dtype.__name__} have {bits} bits, and TMA's have 8, 16, 32 or 64; describe the "
            "tensor by elements of such a type"
        )
    size = bits // 8
    if not isinstance(layout, Layout):
        raise TypeError(f"{name}: expected the tensor's Layout, not {type(layout).__name__}")
    shape, stride = (x if isinstance(x, tuple) else (x,) for x in (layout.shape, layout.stride))
    if not 1 <= len(shape) <= MODES or not all(type(x) is int for x in (*shape, *stride)):
        raise TypeError(f"{name}: {layout} must have 1 to {MODES} modes, each an integer; flatten it")
    for what, values in (("box", box), ("at", at)):
        if not isinstance(values, (tuple, list)):
            raise TypeError(f"{name}: expected {what} to be a tuple of integers, one for each mode, not {values!r}")
    box, at = ([whole(name, what, x) for x in values] for what, values in (("box", box), ("at", at)))
    address, receivers = whole(name, "address", address), whole(name, "receivers", receivers)
    if len(box) != len(shape) or len(at) != len(shape):
        raise ValueError(f"{name}: {layout} has {len(shape)} modes, but box has {len(box)} and at {len(at)}")
    units = sorted((i for i, d in enumerate(stride) if d == 1), key=lambda i: shape[i] == 1)
    if not units:
        raise ValueError(f"{name}: no mode of {layout} has stride 1, along which TMA needs it to be contiguous")
    unit, steps = units[0], [d * size for d in stride]
    if op not in ("load", "store"):
        raise ValueError(f'{name}: op = {op!r} must be "load" or "store"')
    most = CLUSTER if op == "load" else 1
    if not 1 <= receivers <= most:
        raise ValueError(f"{name}: a {op} to {receivers} receivers must be to 1" + f" to {most}" * (most > 1))
    for i, (extent, step) in enumerate(zip(shape, steps, strict=True)):
        if i != unit and extent > 1 and (step % GRANULE or not 0 <= step < MOST_BYTES):
            raise ValueError(
                f"{name}: mode {i} of {layout} has {step} bytes from row to row; TMA needs a multiple of {GRANULE} "
                "from 0 up to 2^40; pad the rows, or copy the tensor"
            )
        if not 1 <= box[i] <= EXTENT or not 0 <= at[i] < MOST_AT:
            raise ValueError(
                f"{name}: mode {i} of the box, {box[i]} from {at[i]} on, must be 1 to {EXTENT} from a coordinate of 0 "
                "up to 2^31"
            )
    for what, value in ((f"the box begins at {at[unit]}", at[unit]), (f"the box has {box[unit]}", box[unit])):
        if value * size % GRANULE:
            raise ValueError(
                f"{name}: along mode {unit} {what}, {value * size} bytes, no multiple of {GRANULE}; take a multiple of "
                f"{GRANULE // size} elements"
            )
    if address % GRANULE or not 0 <= address < 1 << 62:
        raise ValueError(f"{name}: address = {address} must be a multiple of {GRANULE}; move the tensor")
    total = math.prod(box) * size
    if total > SHARED:
        raise ValueError(f"{name}: a box of {total} bytes is more than shared memory has, {SHARED}; take a smaller one")
    return _Asked(shape, steps, unit, size, box, at, address, receivers)


class Lines(NamedTuple):
    """A tensor as lines along its contiguous mode, and the boxes of a launch that cover it.

    - `length`: bytes of a line; `modes`: lines of the tensor, one mode after the other: (extent, bytes from one to the
      next); `address`: of the first
    - `span`: bytes of a box along the line, 128; `boxes`: so many cover a line, from its beginning on
    - `outside`: lines of boxes that lie outside, for each coordinate in the modes behind the first
    - `name`: what the lines are
    """

    length: int
    modes: Sequence[tuple[int, int]]
    address: int
    span: int
    boxes: int
    outside: int = 0
    name: str = "rows"

    def access(self, op: str, times: int = 1, receivers: int = 1, least: int = LEAST) -> BoxAccess:
        """What it costs to move all boxes `times` times, each to so many CTAs.

        >>> Lines(2000, [(1000, 2000)], 0, 128, 16).access("load", times=8).sectors
        580000
        """
        modes = [Mode(extent, 1, extent, step) for extent, step in self.modes]
        whole = min(self.length // self.span, self.boxes)
        tail = self.length % self.span if self.boxes > whole else 0
        empty = self.boxes - whole - bool(tail)
        beside = row_sectors(op, 0, 0, self.span)
        sectors = ideal = 0
        for group in groups(modes, self.address, times):
            for start, lines in group.residues.items():
                row = whole * row_sectors(op, start, self.span, self.span, 0, least) + empty * beside
                if tail:
                    row += row_sectors(op, (start + whole * self.span) % LINE, tail, self.span, 0, least)
                sectors += lines * row
                ideal += lines * (whole * -(-self.span // SECTOR) + -(-tail // SECTOR))
        repeated = times
        for extent, _ in self.modes[1:]:
            repeated *= extent
        sectors += self.outside * repeated * self.boxes * beside
        inside = (whole * self.span + tail) * self.modes[0][0] * repeated
        return BoxAccess(sectors * receivers, ideal * receivers, inside * receivers)

    def remedy(self, op: str, least: int = LEAST) -> str:
        """Why the boxes move more sectors than they hold bytes of, and what mends it; "" where they do not.

        >>> Lines(2048, [(1000, 2064)], 0, 128, 16).remedy("load")
        'its rows are 2064 bytes apart, no multiple of 32; pad them'
        >>> Lines(144, [(1000, 256)], 0, 128, 2).remedy("load")
        'boxes of 128 bytes reach over the end of its rows of 144 bytes'
        """
        found = self.access(op, 1, 1, least)
        aligned = self._replace(address=0, modes=[(extent, -(-step // LINE) * LINE) for extent, step in self.modes])
        best = aligned.access(op, 1, 1, least)
        if found.sectors == found.ideal_sectors:
            return ""
        if found.sectors - best.sectors < best.sectors - best.ideal_sectors:
            if self.length % self.span:
                return f"boxes of {self.span} bytes reach over the end of its {self.name} of {self.length} bytes"
            return f"boxes reach over the last of its {self.name}"
        step = LINE if op == "multicast" else SECTOR
        if self.address % step:
            return f"it begins at {self.address:#x}, no multiple of {step}; move it"
        what, apart = next(
            (name, by)
            for name, (extent, by) in zip((self.name, *["matrices"] * 4), self.modes, strict=False)
            if extent > 1 and by % step
        )
        return f"its {what} are {apart} bytes apart, no multiple of {step}; pad them"
