"""How long gemm_simt is expected to take in a tile, and so which tile is chosen, and whether CTAs share tiles along K.

A tile takes what its rate says. A launch takes as long as the multiprocessor that has most of the CTAs; where all CTAs
have equal shares along K (gemm_simt_streams.py), a share, and the time in which sums of parts are left and added up.
The numbers were fitted to 1100 launches on an H200, of 23 shapes in all tiles, with shares and without: off by 5 %, and
what is chosen by them takes 3 % longer than the best of all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilewright.kernels.gemm.choose.promotion import is_exact
from tilewright.kernels.gemm.simt.layouts import ACCESS, SimtTile
from tilewright.kernels.gemm.simt.stream_k import counts_steps
from tilewright.kernels.gemm.simt.tiles import LOOSE, accesses_of, loose_tiles, tiles_for, width_of
from tilewright.numeric import Float32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem

    Alignments = tuple[int, int, int]

__all__ = ["Choice", "expected_time", "fastest", "least_time"]

OCCUPIED = 0.58  # of the time of all its CTAs, at least, a multiprocessor takes however few of them it has
START = 26  # steps along K for which a CTA that starts or ends does not multiply
ADDING = 8  # and so many more for each slice, while sums go through shared memory and are added up
PRODUCTS = 225_000  # that a multiprocessor makes at its peak in a microsecond. In these:
SHARING = 300_000  # for what shares cost besides
PART, PART_SUM = 116_000, 7  # another share's sums of a tile are added, and for each of them
FEW_SUMS = 16  # of a thread, of which those of two shares are added together
OWN_SUM = 14  # for each sum of a share, where it is left
LEAST_TERMS = 128  # along K, of a share
MOST_PARTS = 32  # of a tile
TURNED = 0.08  # of its rate a sliced tile gains by each operand that need not be turned on its way


class Choice(NamedTuple):
    """A tile, and the CTAs that share tiles of C along K; 0: none do."""

    tile: SimtTile
    streams: int = 0


def expected_time(problem: GemmProblem, choice: Choice, multiprocessors: int, straight: int = 0) -> float:
    """The expected time, in products at a multiprocessor's peak; `straight` operands are not turned on their way."""
    tile, streams = choice
    rate = tile.rate * (1 + TURNED * straight if tile.slices > 1 and not tile.stages else 1)
    bm, bn = tile.extents(width_of(problem))
    count, k = _tiles(problem, tile), problem.k
    idle = START + (ADDING * tile.slices if tile.slices > 1 else 0)

    def taken(ctas: int, steps: float) -> float:
        return max(-(-ctas // multiprocessors), OCCUPIED * tile.ctas) * bm * bn * steps / rate

    if streams == 0:
        return taken(count, k + idle)
    rounds = max(count // streams - 1, 0)  # of whole tiles, behind the shares
    shared = count - rounds * streams
    share = shared * k / streams + idle * (1 + shared / streams)
    sums = bm * bn * tile.slices
    alone = PART if sums > FEW_SUMS * tile.threads else PART // 2
    added = max(streams / shared, 1) * (alone + PART_SUM * sums)
    return SHARING + taken(streams, share + rounds * (k + idle)) + added + OWN_SUM * sums


def _tiles(problem: GemmProblem, tile: SimtTile) -> int:
    bm, bn = tile.extents(width_of(problem))
    return -(-problem.m // bm) * -(-problem.n // bn) * problem.batches


def _choices(problem: GemmProblem, tile: SimtTile, multiprocessors: int) -> Iterator[Choice]:
    """The tile without shares, and for Float32 with one for each place on the device.

    Where there are fewer tiles than places and the tile's CTAs fill a multiprocessor each, or nearly, also with 2, 4,
    8.. shares of every tile.
    """
    yield Choice(tile)
    count, places = _tiles(problem, tile), multiprocessors * tile.ctas
    if problem.a_type is not Float32 or count == 0:
        return
    found = {places}
    if tile.ctas == 1 or tile.slices > 1:
        found |= {count << i for i in range(1, MOST_PARTS.bit_length()) if count << i <= places}
    steps = -(-problem.k // 8)
    for streams in sorted(found):
        shared = min(count, 2 * streams) * problem.k // streams
        if shared >= LEAST_TERMS and counts_steps(count, steps, streams):
            yield Choice(tile, streams)


def fastest(
    problem: GemmProblem,
    alignments: Alignments,
    facts: DeviceFacts,
    padded: tuple[bool, bool] = (False, False),
    may_be_loose: bool = True,
) -> Choice:
    """What takes the least expected time on a device; without `may_be_loose`, a tile by the widest accesses, unshared.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> fastest(problem_of(4096, 16, 4096, Float32), (16, 16, 16), H200).tile
    SimtTile(warps_m=1, warps_n=1, groups_m=1, groups_n=1, ctas=1, rate=0.31, slices=8, stages=6)
    >>> [fastest(problem_of(n, n, n, Float32), (16, 16, 16), H200).streams for n in (512, 3000)]
    [0, 264]
    """
    return _fastest(problem, alignments, facts, padded, may_be_loose)[1]


def least_time(
    problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, padded: tuple[bool, bool] = (False, False)
) -> float:
    """The expected time of what `fastest` chooses, in microseconds.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> 2500 < least_time(problem_of(4096, 4096, 4096, Float32), (16, 16, 16), H200) < 2700
    True
    """
    return _fastest(problem, alignments, facts, padded, True)[0] / PRODUCTS


def _fastest(
    problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, padded: tuple[bool, bool], may_be_loose: bool
) -> tuple[float, Choice]:
    accesses = accesses_of(problem, alignments, padded, ACCESS, facts.capability >= 80)
    straight = sum(x.is_async and x.vector > 1 for x in accesses)
    tiles = tiles_for(problem, facts)
    if may_be_loose and (loose := loose_tiles(problem, alignments, facts, padded)):
        tiles = [*(x for x in tiles if x.slices < LOOSE[0].slices), *loose]
    choices = [x for tile in tiles for x in _choices(problem, tile, facts.multiprocessors)]
    if not may_be_loose:
        choices = [x for x in choices if x.streams == 0]
    exact = [x for x in choices if _has_short_sums(problem, x)] or choices
    return min((expected_time(problem, x, facts.multiprocessors, straight), x) for x in exact)


def _has_short_sums(problem: GemmProblem, choice: Choice) -> bool:
    tile, streams = choice
    bm, bn = tile.extents(width_of(problem))
    count = _tiles(problem, tile)
    terms = min(problem.k, problem.k * count / streams) if count < 2 * streams else problem.k
    sums = bm * bn * tile.slices // tile.threads
    return is_exact(problem, sums, tile.threads * tile.ctas, terms / tile.slices)
