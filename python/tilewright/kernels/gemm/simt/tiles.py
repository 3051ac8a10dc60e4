"""The tiles of gemm_simt, how A and B come to them, and which tile is chosen.

Large tiles read less from shared memory for each multiplication, small ones keep more multiprocessors busy. Where there
are so few of these that a multiprocessor's warps are too few to hide latency, several groups of warps share the steps
along K of a tile: slices. What lies along K goes there through registers, where there is room for one tile on its way;
small tiles are multiplied in less time than that takes, and so have it brought element by element by cp.async, four to
six tiles at a time. model.py says how long each takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tilewright import _core
from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.simt.layouts import ACCESS, SimtTile, make_simt_image
from tilewright.numeric import Float32, Float64

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem

    Alignments = tuple[int, int, int]

RESERVED = 1024  # bytes of shared memory that the system takes of every CTA


class SimtTiles(Section):
    """The tiles of Float32, those to which A and B come element by element along K, those of other types.

    Those of `shared` are for CTAs that share tiles along K, to which A and B come by 16 bytes.
    `steps` along K has each slice of a tile, a tile of turned copies `padded_depth` at most.
    """

    SECTION: ClassVar[str] = "SIMT_TILES"
    tiles: tuple[SimtTile, ...]
    shared: tuple[SimtTile, ...]
    loose: tuple[SimtTile, ...]
    others: tuple[SimtTile, ...]
    steps: int
    padded_depth: int


def width_of(problem: GemmProblem) -> int:
    """The neighbours in a group: 16 bytes of Float32 or Float64, 4 of narrower elements."""
    return 2 if problem.acc_type is Float64 else 4


class Access(NamedTuple):
    """How an operand comes: the mode of its accesses, their elements, and whether they go past the registers."""

    mode: int
    vector: int
    is_async: bool

    @staticmethod
    def of(mode: int, vector: int, size: int, has_cp_async: bool) -> Access:
        """Several elements along k are turned on their way, in registers; cp.async takes 4 bytes or more."""
        return Access(mode, vector, has_cp_async and not (mode == 1 and vector > 1) and vector * size >= 4)


LOOSELY = Access(1, 1, True)  # one element along K by cp.async


def depth_of(problem: GemmProblem, tile: SimtTile, accesses: list[Access], most: int, steps: int) -> int:
    """The tile along K, at most `most` for Float32: deeper ones have fewer barriers for each product.

    What is in registers on its way takes too many of them in deep tiles, except where threads have few sums. What goes
    by cp.async was the fastest in 8, by 16 bytes as by single elements. Slices share the steps of a tile, `steps` each.
    """
    if int(problem.a_type.bits) < 32:
        return 16
    if problem.a_type is not Float32:
        return 8
    groups = tile.groups_m * tile.groups_n
    if tile.sliced_k > 1:
        return min((2 * steps if groups == 8 else steps) * tile.sliced_k, most)
    is_turned = any(not x.is_async for x in accesses)
    return min(16 if is_turned and groups == 1 else 8, most)


def fits(shared_bytes: int, tile: SimtTile, facts: DeviceFacts) -> bool:
    """Whether the tile's CTAs share a multiprocessor with so many bytes of shared memory each."""
    return (shared_bytes + RESERVED) * tile.ctas <= facts.shared_bytes + RESERVED


def deepest(tile: SimtTile, facts: DeviceFacts) -> int:
    """The deepest of three stages of Float32 with which the tile's CTAs share a multiprocessor: 8, 16, 32 or 64."""
    return next((depth for depth in (64, 32, 16) if fits(3 * sum(tile.extents(4)) * depth * 4, tile, facts)), 8)


def stages_of(tile: SimtTile, depth: int, accesses: list[Access], facts: DeviceFacts) -> int:
    """Three where everything comes by cp.async or warps are in two slices, else two.

    Or those of the tile, as many of them as there is room for.
    """
    if tile.stages == 0:
        return 3 if all(x.is_async for x in accesses) or tile.sliced_k == 2 else 2
    stage = sum(extent + ACCESS // 4 for extent in tile.extents(4)) * depth * 4
    return next((n for n in range(tile.stages, 3, -1) if fits(n * stage, tile, facts)), 3)


def vector_of(
    strides: tuple[int, ...], extents: tuple[int, ...], alignment: int, size: int, most: int
) -> tuple[int, int]:
    """The mode along which an operand is contiguous, and the elements of its widest aligned access, at most `most`.

    Such accesses divide the extent. Where it is contiguous along no mode: its first one, and one element.
    """
    mode = next((i for i in (1, 0) if strides[i] == 1 and extents[i] > 1), None)
    if mode is None:
        return 0, 1
    vector = min(ACCESS // size, most)
    others = [d for i, (d, e) in enumerate(zip(strides, extents, strict=True)) if i != mode and e > 1]
    while vector > 1 and (alignment % (vector * size) or any(d % vector for d in (extents[mode], *others))):
        vector //= 2
    return mode, vector


def accesses_of(
    problem: GemmProblem, alignments: Alignments, padded: tuple[bool, bool], most: int, has_cp_async: bool
) -> list[Access]:
    """How A and B come: by the widest accesses that alignment allows, of at most so many elements."""
    p, found = problem, []
    sides = (p.m, p.a_strides, p.a_type, alignments[0]), (p.n, p.b_strides, p.b_type, alignments[1])
    for (extent, strides, dtype, alignment), is_padded in zip(sides, padded, strict=True):
        size = int(dtype.bits) // 8
        extents = (strides[1] if is_padded else extent, p.k, *p.batch)
        mode, vector = vector_of(strides, extents, alignment, size, most)
        found.append(Access.of(mode, vector, size, has_cp_async))
    return found


def tiles_for(problem: GemmProblem, facts: DeviceFacts, tiles: tuple[SimtTile, ...] = ()) -> list[SimtTile]:
    """Those of the element type, or of `tiles`; of the ones in slices, whose sums the shared memory has room for."""

    def has_room(tile: SimtTile) -> bool:
        image = make_simt_image(tile.extents(width_of(problem)), tile.sliced_k, problem.acc_type)
        return int(_core.cosize(image)) * int(problem.acc_type.bits) // 8 <= facts.shared_bytes

    numbers = SimtTiles.of(facts)
    tiles = tiles or (numbers.tiles if problem.a_type is Float32 else numbers.others)
    return [x for x in tiles if x.sliced_k == 1 or has_room(x)]


def loose_tiles(
    problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, padded: tuple[bool, bool] = (False, False)
) -> list[SimtTile]:
    """Those to which A and B come element by element; none where they are not along K, or there is no cp.async."""
    accesses = accesses_of(problem, alignments, padded, 1, facts.capability >= 80)
    along = all(x.mode == 1 and x.is_async for x in accesses) and not any(padded)
    return tiles_for(problem, facts, SimtTiles.of(facts).loose) if problem.a_type is Float32 and along else []
