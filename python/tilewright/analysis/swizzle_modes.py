"""Which of the layouts of shared memory that wgmma reads and TMA writes a tile is, element by element.

Every address is compared, after the swizzle is taken back: under the right mode, what is left are the strides of a
descriptor, or the dense rows of a box.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright._core import LayoutError
from tilewright._notebook import drawn
from tilewright.analysis.arguments import element_bits
from tilewright.cute.atoms.smem_layout import SmemLayoutAtomKind
from tilewright.cute.atoms.wgmma_layout import canonical_addresses, swizzled, tma_offsets

if TYPE_CHECKING:
    import numpy.typing as npt

    from tilewright._typing import AnyLayout
    from tilewright.numeric import Numeric

    Integers = npt.NDArray[np.int64]

__all__ = ["Difference", "SwizzleMode", "TmaBoxes", "mode_of_access", "swizzle_mode"]

MOST = 1 << 20  # elements; shared memory has a quarter of that
FARTHEST = 1 << 32  # no offset in shared memory is as great
CHUNK = 16  # bytes that a swizzle leaves together
ROWS = 8  # of an atom, across its contiguous mode
BOX = 256  # elements of a box along a mode, at most
ALIGNED = 1024  # bytes, after which every swizzle begins anew
SIZES = (8, 16, 32, 64)  # bits of an element
START = 128  # the alignment of a box in shared memory
FIELD = 1 << 18  # the distances that a descriptor can hold are below


class Difference(NamedTuple):
    """The first element, row by row, that lies elsewhere than a kind has it: its offset and the kind's, in elements.

    >>> print(Difference((1, 0), 72, 64))
    element (1,0) lies at 72, not at 64
    """

    coordinate: tuple[int, ...]
    offset: int
    expected: int

    def __str__(self) -> str:
        where = ",".join(map(str, self.coordinate))
        return f"element ({where}) lies at {self.offset}, not at {self.expected}"


class TmaBoxes(NamedTuple):
    """The boxes by which TMA writes a stage of a tile, each as (contiguous mode, other mode).

    - `swizzle`: bytes of the mode: 0, 32, 64 or 128; `major`: the contiguous mode, "k" or "mn"
    - `extents`: elements of a box; `boxes`: how many a stage needs

    >>> print(TmaBoxes(128, "k", (64, 128), 1))
    SWIZZLE_128B, 1 box of 64 x 128 along K
    """

    swizzle: int
    major: str
    extents: tuple[int, int]
    boxes: int

    @property
    def name(self) -> str:
        """As cuTensorMapEncodeTiled has it, without CU_TENSOR_MAP_."""
        return f"SWIZZLE_{self.swizzle}B" if self.swizzle else "SWIZZLE_NONE"

    def __str__(self) -> str:
        boxes = f"{self.boxes} box" + ("es" if self.boxes != 1 else "")
        return f"{self.name}, {boxes} of {self.extents[0]} x {self.extents[1]} along {_mode(self.major)}"


@drawn
class SwizzleMode(NamedTuple):
    """What a tile in shared memory is for wgmma and for TMA.

    - `kind`: the atom that it consists of, such as `SmemLayoutAtomKind.K_SW128`, None where it is no such tile;
      `nearest`: the same, or the one with which most elements agree
    - `leading`, `stride`: the byte offsets of a descriptor, of `kind`; of K-major tiles with a swizzle the hardware
      does not use the leading one, which is then 16. 0 where there is no `kind`
    - `tma`: the boxes by which TMA writes exactly this tile, None where it cannot
    - `difference`: where there is no `kind`, the first element that lies elsewhere than `nearest` would put it; None
      where it is the tile's base alone that keeps it from being `nearest`
    - `limits`: why wgmma does not read a tile of this kind, or its descriptors do not reach, or what base it needs; ""
      where wgmma reads it

    `bool()` of it is whether there is a kind.
    """

    kind: SmemLayoutAtomKind | None
    nearest: SmemLayoutAtomKind
    leading: int
    stride: int
    tma: TmaBoxes | None
    difference: Difference | None
    limits: str

    def __bool__(self) -> bool:
        return self.kind is not None

    @property
    def major(self) -> str:
        """The mode along which neighbours lie side by side in tiles of the nearest kind: "k" or "mn"."""
        return "k" if self.nearest.k_major else "mn"

    @property
    def span(self) -> int:
        """Bytes of the nearest kind's swizzle: 0, 32, 64 or 128."""
        return _span(self.nearest)

    def __str__(self) -> str:
        written = f"TMA {self.tma}" if self.tma else "no box of TMA writes it"
        if self.kind is None and self.difference is None:
            return f"not {self.nearest.name}: {self.limits}; {written}"
        if self.kind is None:
            return f"not {self.nearest.name}, the nearest: {self.difference}; {written}"
        but = f", but {self.limits}" if self.limits else ""
        fields = f"descriptor of wgmma: leading {self.leading}, stride {self.stride} bytes"
        return f"{self.kind.name}, {fields}{but}; {written}"


def swizzle_mode(layout: AnyLayout, dtype: type[Numeric]) -> SwizzleMode:
    """Which operand of wgmma a tile in shared memory is, and by which boxes TMA writes it.

    A tile is of a kind where every element lies at swizzle(start + x), x as in `descriptor_offsets`: atoms of 8 rows of
    16, 32, 64 or 128 bytes, at constant distances along each mode, their 16-byte chunks under Swizzle<B,4,3> of byte
    offsets. A box of TMA is a piece of dense rows, under the same swizzle. Offset 0 is at a multiple of 1024 bytes.

    Args:
        layout: a Layout or ComposedLayout (rows of M or N, K) or (rows, K, stages) to offsets in elements.
        dtype: the element type, of 1, 2, 4 or 8 bytes.
    Returns: a SwizzleMode; where the tile is none, with the first element that lies elsewhere than the nearest kind
        would put it.
    Raises: TypeError for another object; LayoutError for another number of modes, for coordinates instead of offsets,
        for more than 2^20 elements, and for a tile that is smaller than 8 rows by 16 bytes, or no multiple of that.
    Source: PTX ISA, "Canonical Layouts" and "Matrix Descriptor Format" of wgmma, "Tensor Swizzle Modes"; CUDA driver
        API, cuTensorMapEncodeTiled.

    Examples:
        >>> from tilewright import Float16, cute
        >>> print(swizzle_mode(cute.parse("S<3,3,3> o 0 o (128,64):(64,1)"), Float16))
        K_SW128, descriptor of wgmma: leading 16, stride 1024 bytes; TMA SWIZZLE_128B, 1 box of 64 x 128 along K
        >>> print(swizzle_mode(cute.parse("(64,64):(64,1)"), Float16))
        not K_SW128, the nearest: element (1,0) lies at 64, not at 72; TMA SWIZZLE_NONE, 1 box of 64 x 64 along K
        >>> swizzle_mode(cute.parse("(128,64):(72,1)"), Float16).difference  # padded
        Difference(coordinate=(1, 8), offset=80, expected=64)
    """
    bits = element_bits("swizzle_mode", dtype)
    if bits not in SIZES:
        raise TypeError(f"swizzle_mode: elements must have 1, 2, 4 or 8 bytes, but {dtype} has {bits} bits")
    return mode_of(_offsets(layout), bits // 8)


def mode_of(offsets: Integers, size: int) -> SwizzleMode:
    """The same of the offsets (rows, K) or (rows, K, stages) of elements of so many bytes."""
    return exact_mode(offsets, size) or _nearest(offsets, size)


def mode_of_access(layout: Any, offsets: Integers, bits: int, base: int) -> SwizzleMode | None:
    """What `analyze` says of a layout in shared memory, if it is such a tile, or has a swizzle and is none.

    Args: the layout; its offsets (threads, values), of elements of `bits` bits; the byte address of offset 0, of which
        swizzles depend.
    """
    composed = isinstance(layout, _core.ComposedLayout)
    outer = layout.outer if composed else layout
    size = bits // 8
    if bits not in SIZES or base % size or _core.rank(outer) not in (2, 3) or offsets.size > MOST:
        return None
    if abs(offsets).max() >= FARTHEST or not 0 <= base < FARTHEST:
        return None
    extents = [int(_core.size(outer, mode=[mode])) for mode in range(1, _core.rank(outer))]
    tile = offsets.reshape(-1, *extents, order="F")
    there = tile + base // size
    found = exact_mode(there, size)
    if found is None and base % ALIGNED:
        found = _of_another_base(tile, there, size, base)
    if found is None and composed and _fitting(tile.shape, size):
        return _nearest(tile, size)._replace(tma=_boxes(there, size))
    return found


def _of_another_base(tile: Integers, there: Integers, size: int, base: int) -> SwizzleMode | None:
    """What is said of a tile that is of a kind from an aligned base on, but not `there`, from its own base on."""
    aligned = exact_mode(tile, size)
    if aligned is None:
        return None
    needs = f"the base {base:#x} must be a multiple of {ROWS * aligned.span or CHUNK} bytes"
    needs += ", after which the swizzle repeats" if aligned.span else ""
    return SwizzleMode(None, aligned.nearest, 0, 0, _boxes(there, size), None, needs)


def exact_mode(offsets: Integers, size: int) -> SwizzleMode | None:
    """The mode of a tile that is of a kind; None of others, most of which are told by their first atom."""
    for kind in _fitting(offsets.shape, size):
        rows, columns = _atom(kind, size)
        if not _expected(kind, offsets[:rows, :columns], size).wrong.any():
            tile = _expected(kind, offsets, size)
            if not tile.wrong.any():
                leading = CHUNK if kind.k_major and _span(kind) else tile.leading
                limits = _limits(kind, size, offsets.shape, leading, tile.stride)
                return SwizzleMode(kind, kind, leading, tile.stride, _boxes(offsets, size), None, limits)
    return None


def _nearest(offsets: Integers, size: int) -> SwizzleMode:
    """The mode of a tile that is of no kind: with the kind that the most elements agree with."""
    kinds = _fitting(offsets.shape, size)
    if not kinds:
        raise LayoutError(
            f"swizzle_mode: the tile ({','.join(map(str, offsets.shape[:2]))}) does not consist of {ROWS} rows by "
            f"{CHUNK} bytes, which are {CHUNK // size} elements, or of {CHUNK} bytes by {ROWS} columns"
        )
    # Of kinds with as many wrong elements, those that go along the mode in which neighbours lie side by side.
    k_major = offsets[0, 1, ...].flat[0] == offsets.flat[0] + 1
    kinds.sort(key=lambda kind: kind.k_major != k_major)
    tiles = [_expected(kind, offsets, size) for kind in kinds]
    best = min(range(len(kinds)), key=lambda i: int(tiles[i].wrong.sum()))
    tile, found = tiles[best], _staged(offsets)
    at = tuple(int(i) for i in next(zip(*tile.wrong.nonzero(), strict=True)))
    difference = Difference(at[: offsets.ndim], int(found[at]), int(tile.offsets[at]))
    return SwizzleMode(None, kinds[best], 0, 0, _boxes(offsets, size), difference, "")


def _fitting(shape: tuple[int, ...], size: int) -> list[SmemLayoutAtomKind]:
    """The kinds, the widest first, of which a tile has whole rows of 16 bytes, and as many as an atom."""
    rows, k = shape[:2]
    along_k = k * size % CHUNK == 0 and rows % ROWS == 0
    along_rows = rows * size % CHUNK == 0 and k % ROWS == 0
    return [kind for kind in reversed(SmemLayoutAtomKind) if (along_k if kind.k_major else along_rows)]


def _offsets(layout: Any) -> Integers:
    if not isinstance(layout, (_core.Layout, _core.ComposedLayout)):
        raise TypeError(
            f"swizzle_mode: expected a Layout or ComposedLayout, not {type(layout).__name__}; of a tensor, its layout"
        )
    plain = layout.outer if isinstance(layout, _core.ComposedLayout) else layout
    if _core.has_scaled_basis(plain.stride):
        raise LayoutError(f"swizzle_mode: {layout} gives coordinates, not offsets in shared memory")
    rank, count = int(_core.rank(plain)), int(_core.size(plain))
    if rank not in (2, 3):
        raise LayoutError(f"swizzle_mode: {layout} must have the modes (rows, K) or (rows, K, stages), but has {rank}")
    if count > MOST:
        raise LayoutError(f"swizzle_mode: {layout} has {count} elements, but no shared memory has more than {MOST}")
    extents = [int(_core.size(plain, mode=[mode])) for mode in range(rank)]
    offsets = np.asarray(layout.offsets())
    if abs(offsets).max() >= FARTHEST:
        raise LayoutError(f"swizzle_mode: {layout} reaches offset {abs(offsets).max()}, which no shared memory has")
    return offsets.reshape(extents, order="F")


class _Tile(NamedTuple):
    """The tile (rows, K, stages) of a kind, where it differs from another, and a descriptor's distances in bytes."""

    offsets: Integers
    wrong: npt.NDArray[np.bool_]
    leading: int
    stride: int


def _staged(offsets: Integers) -> Integers:
    return offsets.reshape(*offsets.shape[:2], -1)


def _atom(kind: SmemLayoutAtomKind, size: int) -> tuple[int, int]:
    along = kind.span_bytes // size
    return (ROWS, along) if kind.k_major else (along, ROWS)


def _expected(kind: SmemLayoutAtomKind, found: Integers, size: int) -> _Tile:
    """The tile of a kind that has the distances between atoms that are found; those of a dense one where they do not
    allow the kind."""
    span, atom, (rows, k) = _span(kind), _atom(kind, size), found.shape[:2]
    unit = ROWS * span or CHUNK  # that addresses of atoms are multiples of, so that their swizzles begin alike
    bytes_of_atom = ROWS * kind.span_bytes
    staged = _staged(found)
    first = int(swizzled(staged[0, 0, 0] * size, span))

    def distance(at: tuple[int, int, int], dense: int) -> int:
        if any(i >= n for i, n in zip(at, staged.shape, strict=True)):
            return dense
        step = int(swizzled(staged[at] * size, span)) - first
        return step if step >= bytes_of_atom and step % unit == 0 else dense

    along_rows = distance((atom[0], 0, 0), bytes_of_atom)
    along_k = distance((0, atom[1], 0), bytes_of_atom * -(-rows // atom[0]))
    leading, stride = (along_k, along_rows) if kind.k_major or not span else (along_rows, along_k)
    x = canonical_addresses((rows, k), size, "k" if kind.k_major else "mn", span, leading, stride)
    stage = distance((0, 0, 1), -(-(int(x.max()) + size) // unit) * unit)
    linear = first // unit * unit + x[:, :, None] + stage * np.arange(staged.shape[2])
    offsets = swizzled(linear, span) // size
    return _Tile(offsets, offsets != staged, leading, stride)


def _limits(kind: SmemLayoutAtomKind, size: int, shape: tuple[int, ...], leading: int, stride: int) -> str:
    if size > 4:
        return f"wgmma takes no elements of {size} bytes"
    if not kind.k_major and size != 2:
        return f"wgmma takes MN-major operands of 2 bytes an element only, not {size}"
    if shape[0] % ROWS or shape[1] * size % 32:
        return (
            f"an instruction takes 8 rows or more, and 32 bytes of K; these are {shape[0]} by {shape[1] * size} bytes"
        )
    if max(leading, stride) >= FIELD:
        return f"a descriptor holds distances below {FIELD} bytes"
    return ""


def _boxes(offsets: Integers, size: int) -> TmaBoxes | None:
    """The fewest boxes that write a stage; of as many, those without a swizzle."""
    found = (_boxes_of(offsets, size, span, major) for span in (0, 32, 64, 128) for major in ("k", "mn"))
    return min((x for x in found if x), key=lambda x: x.boxes, default=None)


def _boxes_of(offsets: Integers, size: int, span: int, major: str) -> TmaBoxes | None:
    # (contiguous mode, other mode, stages)
    table = _staged(offsets) if major == "mn" else _staged(offsets).transpose(1, 0, 2)
    linear = swizzled(table * size, span)
    inner = span // size or _run(linear[:, 0, 0], size)
    if inner * size % CHUNK or table.shape[0] % inner:
        return None
    rows = _run(linear[0, :, 0], inner * size)
    starts = linear[::inner, ::rows]
    if (starts % START).any():
        return None
    box = swizzled(tma_offsets(inner, rows, size, span).T.astype(np.int64) * size, span)
    written = (starts[:, None, :, None] + box[None, :, None, :, None]).reshape(linear.shape)
    overlap = (np.diff(np.sort(starts, axis=None)) < inner * rows * size).any()
    if overlap or (written != linear).any():
        return None
    return TmaBoxes(span, major, (inner, rows), starts[..., 0].size)


def _run(addresses: Integers, step: int) -> int:
    """How many elements, a divisor of all and at most 256, lie at this step from each other from the first one on."""
    breaks = np.flatnonzero(np.diff(addresses) != step)
    run = int(breaks[0]) + 1 if len(breaks) else len(addresses)
    return next(n for n in range(min(run, BOX), 0, -1) if len(addresses) % n == 0)


def _span(kind: SmemLayoutAtomKind) -> int:
    return kind.span_bytes if kind.swizzle.num_bits else 0


def _mode(major: str) -> str:
    return "K" if major == "k" else "M or N"
