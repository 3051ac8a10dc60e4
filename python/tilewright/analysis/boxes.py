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
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright._notebook import drawn
from tilewright.analysis.totals import Mode, groups

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BoxAccess", "Lines", "box_access", "row_sectors"]

GRANULE, SECTOR, LINE = 16, 32, 128  # bytes
LEAST, LEAST_WORKED = 2, 3  # sectors of an answer to several CTAs: of the tensor's bytes as they are, or not
MODES, EXTENT = 5, 256  # of a box at most: modes, and elements along one


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
    from tilewright.numeric import TFloat32

    return LEAST_WORKED if dtype is TFloat32 else LEAST


@drawn
class BoxAccess(NamedTuple):
    """What boxes of a tensor cost:

    - `sectors`: of 32 bytes, which all CTAs that get them together receive; of a store, which are written
    - `ideal_sectors`: those that hold the bytes inside of the tensor, row by row, if every row began with one
    - `bytes_inside`: the bytes of the tensor in the boxes, for each CTA that gets them
    - `span`: bytes of a row of one box, and `rows`: (address, bytes inside of the tensor) of each of its rows; of all
      boxes of a launch they are left out
    """

    sectors: int
    ideal_sectors: int
    bytes_inside: int
    span: int = 0
    rows: tuple[tuple[int, int], ...] = ()


def box_access(
    layout: Any, dtype: Any, box: Sequence[int], at: Sequence[int], *, address: int = 0, op: str = "load",
    receivers: int = 1,
) -> BoxAccess:  # fmt: skip
    """What a box of a tensor costs that TMA moves between global and shared memory.

    A row of the box is b bytes along the mode of stride 1, from the address a on, of which the first i lie inside of
    the tensor, ceil16(i) in granules of 16 bytes; S(x, y) are the sectors of 32 bytes that [x, y) touches:
    a load brings S(a, a + ceil16(i)) + ceil((b - ceil16(i)) / 32), also of rows outside (i = 0); a store writes
    S(a, a + i). To several CTAs a row goes in parts, one for each line of 128 bytes and one for what lies outside, and
    each of them gets max(n, 2) of a part of n sectors, max(n, 3) where the part has bytes outside or elements are
    TFloat32. Rows that go to several lines of shared memory count line by line.

    Args:
        layout: of the tensor in global memory, 1 to 5 modes, one of them with stride 1, the other strides multiples of
            16 bytes. dtype: its element type.
        box, at: extents of the box, and the coordinate of its first element, both in elements, mode by mode.
        address: of the tensor in bytes, a multiple of 16.
        op: "load" or "store".
        receivers: CTAs of a cluster that a load brings the box to (multicast).
    Returns: a BoxAccess; what is counted for a multicast is the sum over the CTAs.
    Raises: ValueError for what TMA does not take or what was not measured, and which mode it is; TypeError for a layout
        of other modes and for what is no element type.
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
    shape, steps, unit, size = _checked(layout, dtype, box, at, address, op, receivers)
    kind = "multicast" if receivers > 1 else op
    span, inside = box[unit] * size, max(min(shape[unit] - at[unit], box[unit]), 0) * size
    sectors, found = 0, []
    others = [i for i in range(len(shape)) if i != unit]
    rows = itertools.product(*(range(at[i], at[i] + box[i]) for i in reversed(others)))
    for number, place in enumerate(tuple(reversed(row)) for row in rows):
        here = inside if all(x < shape[i] for i, x in zip(others, place, strict=True)) else 0
        start = address + at[unit] * size + sum(x * steps[i] for i, x in zip(others, place, strict=True))
        sectors += row_sectors(kind, start % LINE, here, span, number * span % LINE, least_of(dtype))
        found.append((start, here))
    ideal = sum(-(-here // SECTOR) for _, here in found) * receivers
    return BoxAccess(sectors * receivers, ideal, sum(here for _, here in found) * receivers, span, tuple(found))


def _checked(
    layout: Any, dtype: Any, box: Sequence[int], at: Sequence[int], address: int, op: str, receivers: int
) -> tuple[tuple[int, ...], list[int], int, int]:
    """Extents, bytes from element to element along each mode, the contiguous mode, bytes of an element."""
    from tilewright._core import Layout
    from tilewright.analysis.arguments import element_bits, whole

    name = "box_access"
    bits = element_bits(name, dtype)
    if bits % 8:
        raise ValueError(f"{name}: elements of {dtype.__name__} have {bits} bits; use a type of whole bytes")
    size = bits // 8
    if not isinstance(layout, Layout):
        raise TypeError(f"{name}: expected the tensor's Layout, not {type(layout).__name__}")
    shape, stride = (x if isinstance(x, tuple) else (x,) for x in (layout.shape, layout.stride))
    if not 1 <= len(shape) <= MODES or not all(type(x) is int for x in (*shape, *stride)):
        raise TypeError(f"{name}: {layout} must have 1 to {MODES} modes, each an integer; flatten it")
    box, at = ([whole(name, what, x) for x in values] for what, values in (("box", box), ("at", at)))
    if len(box) != len(shape) or len(at) != len(shape):
        raise ValueError(f"{name}: {layout} has {len(shape)} modes, but box has {len(box)} and at {len(at)}")
    units = [i for i, d in enumerate(stride) if d == 1]
    if not units:
        raise ValueError(f"{name}: no mode of {layout} has stride 1, along which TMA needs it to be contiguous")
    unit, steps = units[0], [d * size for d in stride]
    if op not in ("load", "store") or receivers < 1 or (op == "store" and receivers > 1):
        raise ValueError(f'{name}: op "{op}" with {receivers} receivers must be "load", or "store" with one')
    for what, value in (("address", address), (f"at {at[unit]}", at[unit] * size), ("box", box[unit] * size)):
        if value % GRANULE or value < 0:
            raise ValueError(f"{name}: {what} is {value} bytes along mode {unit}, no multiple of {GRANULE}")
    for i, (extent, step) in enumerate(zip(shape, steps, strict=True)):
        if i != unit and extent > 1 and step % GRANULE:
            raise ValueError(f"{name}: mode {i} of {layout} has {step} bytes from row to row, no multiple of {GRANULE}")
        if not 1 <= box[i] <= EXTENT or at[i] < 0:
            raise ValueError(f"{name}: mode {i} of the box, {box[i]} from {at[i]} on, must be 1 to {EXTENT} from 0 on")
    return shape, steps, unit, size


class Lines(NamedTuple):
    """A tensor as lines along its contiguous mode, and the boxes of a launch that cover it.

    - `length`: bytes of a line; `modes`: lines of the tensor, one mode after the other: (extent, bytes from one to the
      next); `address`: of the first
    - `span`: bytes of a box along the line, 128; `boxes`: so many cover a line, from its beginning on
    - `outside`: lines of boxes that lie outside, for each of the lines' modes but the first
    """

    length: int
    modes: Sequence[tuple[int, int]]
    address: int
    span: int
    boxes: int
    outside: int = 0

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
