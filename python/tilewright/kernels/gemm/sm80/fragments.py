"""How the fragments of mma.sync get out of shared memory: who addresses what, and which register it fills.

Derived from the TiledMma's thread-value layouts and the layout of shared memory alone. Lane l of a warp is thread
t = l % 4 of group g = l / 4. Where 16 bytes lie together along k, a matrix of ldmatrix has one row for each g, and its
four words go to the four t; along the rows, ldmatrix transposes. What it cannot deal out is read by plain accesses.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.kernels.common.device_types import device_type
from tilewright.kernels.gemm.partitions import stage_image

if TYPE_CHECKING:
    from tilewright.cute.tiled.tiled_mma import TiledMma

WARP = 32
BITS = 128  # of the widest access, and of a row of a matrix
KINDS = {"plain": "kPlain", "ldmatrix": "kMatrix", "transposed": "kTransposed", "transposed bytes": "kTransposedBytes"}

Mode = tuple[int, int, int]  # an extent, and what a step adds to the row and to k


class FragmentCopy(NamedTuple):
    """Shared memory to registers, one operand.

    - `kind`: "ldmatrix", "transposed" (ldmatrix.trans), "transposed bytes" (ldmatrix.trans of pairs of rows), "plain"
    - `thread`: thread to the (row, k) that it addresses; `access`: (access, k block) to what is added to it
    - `register`: (unit, access) to the place in the fragment of a k block; units are words of 4 bytes of an ldmatrix,
      or the `units` neighbouring elements of a plain access
    """

    kind: str
    thread: Any
    access: Any
    register: Any

    @property
    def accesses(self) -> int:
        """Accesses for one k block."""
        return int(_core.size(self.access, mode=[0]))

    @property
    def units(self) -> int:
        """Words or elements of an access."""
        return int(_core.size(self.register, mode=[0]))

    def type(self, element: str, smem: Any) -> str:
        """The device type."""
        layouts = ", ".join(device_type(x) for x in (smem, self.thread, self.access, self.register))
        return f"FragmentLoad<{element}, {layouts}, {KINDS[self.kind]}, {self.accesses}, {self.units}>"

    def __str__(self) -> str:
        name = "ldmatrix" if self.kind == "ldmatrix" else "ldmatrix.trans"
        how = f"ld.shared of {self.units}" if self.kind == "plain" else f"{name}.x{self.units}"
        return f"{how}: {self.thread}, {self.access}"


def modes_of(layout: Any) -> list[Mode]:
    """The modes of a layout into coordinates (row, k), those of extent 1 left out.

    >>> modes_of(_core.parse("(4,(8,1)):(2@1,(1@0,0))"))
    [(4, 0, 2), (8, 1, 0)]
    """
    flat = _core.flatten(layout)
    shape, stride = ((x if isinstance(x, tuple) else (x,)) for x in (flat.shape, flat.stride))
    result = []
    for extent, step in zip(shape, stride, strict=True):
        if extent == 1:
            continue
        row, k = 0, 0
        if isinstance(step, _core.ScaledBasis):
            row, k = (int(step.value), 0) if list(step.mode) == [0] else (0, int(step.value))
        result.append((int(extent), row, k))
    return result


def coordinates(groups: list[list[Mode]]) -> Any:
    """The layout into coordinates with one mode for each list of modes.

    >>> print(coordinates([[(4, 0, 2), (8, 1, 0)], []]))
    ((4,8),1):((2@1,1@0),0)
    """

    def step(mode: Mode) -> Any:
        return mode[1] * _core.E(0) if mode[1] else mode[2] * _core.E(1) if mode[2] else 0

    def group(modes: list[Mode]) -> tuple[Any, Any]:
        if len(modes) < 2:
            return (modes[0][0], step(modes[0])) if modes else (1, 0)
        return tuple(m[0] for m in modes), tuple(map(step, modes))

    pairs = [group(modes) for modes in groups]
    return _core.make_layout(tuple(p[0] for p in pairs), stride=tuple(p[1] for p in pairs))


def _parts(tiled_mma: TiledMma, operand: str, tile: tuple[int, int]) -> Any:
    """((lane, ..), (values, (repetitions along each mode))) to coordinates of the tile."""
    return getattr(tiled_mma, f"thrfrg_{operand}")(_core.make_identity_layout(tile))


def thread_coordinates(tiled_mma: TiledMma, operand: str) -> Any:
    """Thread to the coordinate of its first value.

    >>> from tilewright import Float16, Float32, cute
    >>> op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    >>> print(thread_coordinates(cute.make_tiled_mma(op, (2, 2, 1), (32, 32, 16)), "A"))
    (4,8,2,2):(2@1,1@0,16@0,0)
    """
    first, second = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}[operand]
    tile = (tiled_mma.get_tile_size(first), tiled_mma.get_tile_size(second))
    layout = getattr(tiled_mma, f"tv_layout_{operand}_tiled")
    return _core.composition(_core.make_identity_layout(tile), layout[0])


def value_coordinates(tiled_mma: TiledMma, operand: str, tile: tuple[int, int]) -> Any:
    """(value, atom along the first mode, atom along the second) of a thread to what is added to its coordinate."""
    values, repetitions = _parts(tiled_mma, operand, tile)[1]
    return _core.make_layout([values, *repetitions])


def contiguous_mode(smem: Any, tile: tuple[int, int], bits: int) -> int | None:
    """The mode along which 16 aligned bytes lie together in shared memory: 0 (rows), 1 (k), or neither."""
    image = stage_image(smem, *tile)
    count = BITS // bits
    for mode in (1, 0):
        along = image if mode else image.T
        if along.shape[1] % count == 0:
            runs = along.reshape(along.shape[0], -1, count)
            if (runs[..., :1] % count == 0).all() and (runs - runs[..., :1] == range(count)).all():
                return mode
    return None


class _Words:
    """The words of a fragment of one k block: their modes, and the place of each in the fragment."""

    def __init__(self, modes: list[Mode], inner: list[Mode]) -> None:
        self.free: list[tuple[Mode, int]] = []
        place = 1
        for mode in modes:
            if mode in inner:
                inner = [m for m in inner if m != mode]
                continue
            self.free.append((mode, place))
            place *= mode[0]

    def take(self, count: int, wanted: tuple[int, int] | None = None) -> tuple[list[Mode], list[tuple[int, int]]]:
        """Modes of `count` words in all, as coordinates and as (extent, place); the first, or the one that steps so."""
        taken: list[Mode] = []
        places: list[tuple[int, int]] = []
        while count > 1 and self.free:
            index = 0
            if wanted is not None:
                index = next((i for i, (m, _) in enumerate(self.free) if m[1:] == wanted), -1)
                if index < 0:
                    break
            (extent, row, k), place = self.free.pop(index)
            part = extent if count % extent == 0 else count if extent % count == 0 else 1
            if part == 1:
                self.free.insert(index, ((extent, row, k), place))
                break
            if part < extent:
                self.free.insert(index, ((extent // part, row * part, k * part), place * part))
            taken.append((part, row, k))
            places.append((part, place))
            count //= part
        return taken, places


def _layout(groups: list[list[tuple[int, int]]]) -> Any:
    """A layout of integers with one mode for each list of (extent, stride)."""

    def group(modes: list[tuple[int, int]]) -> tuple[Any, Any]:
        if len(modes) < 2:
            return modes[0] if modes else (1, 0)
        return tuple(m[0] for m in modes), tuple(m[1] for m in modes)

    pairs = [group(modes) for modes in groups]
    return _core.make_layout(tuple(p[0] for p in pairs), stride=tuple(p[1] for p in pairs))


@lru_cache(maxsize=256)
def fragment_copy(tiled_mma: TiledMma, operand: str, tile: tuple[int, int], smem: Any, bits: int) -> FragmentCopy:
    """The way of an operand ("A" or "B") out of a stage of shared memory, `tile` being its (rows, k).

    >>> from tilewright import Float16, Float32, cute
    >>> op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    >>> tiled = cute.make_tiled_mma(op, (2, 2, 1), (32, 32, 16))
    >>> print(fragment_copy(tiled, "A", (64, 32), cute.make_layout((64, 32), stride=(32, 1)), 16))
    ldmatrix.x4: (8,2,2,2,2):(1@0,8@0,8@1,16@0,0), (2,2):(32@0,16@1)
    """
    lanes, (values, (rows, k_blocks)) = _nested(_parts(tiled_mma, operand, tile))
    warps = modes_of(_core.composition(thread_coordinates(tiled_mma, operand), _warps(tiled_mma)))
    mode = contiguous_mode(smem, tile, bits)
    modes = [*values, *rows]
    found = None
    if len(lanes) == 2 and lanes[0][0] == 4 and lanes[1][0] == 8 and bits < 64:
        found = _by_ldmatrix(lanes, warps, modes, mode, bits)
    if found is None:
        found = _by_accesses(tiled_mma, operand, modes, smem, tile, mode, bits)
    kind, thread, access, register = found
    return FragmentCopy(kind, _thread_layout(thread), coordinates([access, k_blocks]), _layout(register))


def _nested(parts: Any) -> tuple[list[Mode], tuple[list[Mode], tuple[list[Mode], list[Mode]]]]:
    return modes_of(parts[0][0]), (modes_of(parts[1][0]), (modes_of(parts[1][1][0]), modes_of(parts[1][1][1])))


def _warps(tiled_mma: TiledMma) -> Any:
    return _core.make_layout(max(tiled_mma.size // WARP, 1), stride=WARP)


def _thread_layout(thread: Any) -> Any:
    return coordinates([[m] for m in thread]) if isinstance(thread, list) else thread


def _by_ldmatrix(
    lanes: list[Mode], warps: list[Mode], modes: list[Mode], contiguous: int | None, bits: int
) -> tuple[str, list[Mode], list[Mode], list[list[tuple[int, int]]]] | None:
    (_, *t_step), (_, *g_step) = lanes
    count = 32 // bits  # elements of a word
    inner = [m for m in modes if m[1] == 0 and m[2] < count]  # neighbours along k, which one word holds
    held = 1
    for m in inner:
        held *= m[0]
    if held != count or t_step != [0, count]:
        return None
    words = _Words(modes, inner)
    thread: list[Any]
    if contiguous == 1 and g_step == [1, 0]:
        taken, places = words.take(4)
        thread, kind = [(8, *g_step), *taken], "ldmatrix"
    elif contiguous == 0 and bits == 16 and g_step == [1, 0]:
        taken, places = words.take(4)
        thread, kind = [(2, 0, 1), (4, *t_step), *taken], "transposed"
    elif contiguous == 0 and bits == 8 and g_step == [2, 0]:
        pair, pair_places = words.take(2, (1, 0))
        taken, places = words.take(2)
        if not pair:
            return None
        thread, kind = [(2, 0, 1), (4, *t_step), (2, 0, 2), *taken], "transposed bytes"
        places = pair_places + places
    else:
        return None
    units = 1
    for extent, _ in places:
        units *= extent
    if units not in (2, 4):
        return None
    if units == 2:
        thread.append((2, 0, 0))  # lanes whose addresses are not used
    rest = words.free
    return kind, [*thread, *warps], [m for m, _ in rest], [places, [(m[0], place) for m, place in rest]]


def _by_accesses(
    tiled_mma: TiledMma, operand: str, modes: list[Mode], smem: Any, tile: tuple[int, int], contiguous: int | None,
    bits: int,
) -> tuple[str, Any, list[Mode], list[list[tuple[int, int]]]]:  # fmt: skip
    elements = _Words(modes, [])
    thread = thread_coordinates(tiled_mma, operand)
    units: list[tuple[int, int]] = []
    width = 1
    while contiguous is not None and width * bits < BITS:
        step = (width, 0) if contiguous == 0 else (0, width)
        _, places = elements.take(2, step)
        if not places:
            break
        units += places
        width *= places[0][0]
    # An access is aligned where no other step, of a lane or a value, is a fraction of it.
    steps = [m[1 + (contiguous or 0)] for m in [*modes_of(thread), *(m for m, _ in elements.free)]] if width > 1 else []
    if any(step % width for step in steps):
        elements, units = _Words(modes, []), []
    rest = elements.free
    return "plain", thread, [m for m, _ in rest], [units, [(m[0], place) for m, place in rest]]
