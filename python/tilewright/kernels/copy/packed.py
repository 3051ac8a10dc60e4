"""What lies together in the tile of a packed plan, and where: the numbers that kernels/tilewright/packed_copy.cuh gets.

A run of the source is a piece of it that shared memory holds as it lies in memory, gaps between elements included: the
modes whose stride in shared memory is the source's. A run of the destination is what its first modes make contiguous.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, NamedTuple

from tilewright import _core
from tilewright.kernels.common.params import fast_divisor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tilewright.kernels.copy.plan import CopyPlan
    from tilewright.kernels.copy.problem import CopyProblem

READ = 16  # bytes of an access of the source
MAX_MODES = 8
THREADS = 256
WORD = 4  # bytes that are put into shared memory at once at least
RUN, COLUMN = 16, 4  # bytes of an entry of the tables in shared memory
MOST = 1 << 15  # elements and bytes that the kernel's divisions by constants are exact for


class Packed(NamedTuple):
    """Of a tile: its modes, of elements that are moved at once (`bytes`), and its runs.

    Strides are in bytes. `in_run`: the modes of a source run; `run_modes`: those that count these, nearest first.
    """

    bytes: int
    extents: tuple[int, ...]
    tile: tuple[int, ...]
    src: tuple[int, ...]
    dst: tuple[int, ...]
    shared: tuple[int, ...]
    in_run: tuple[bool, ...]
    run_modes: tuple[int, ...]
    dst_run_modes: int

    @property
    def src_run(self) -> int:
        """The bytes of a run of the source."""
        return self.bytes + sum((t - 1) * d for t, d, x in zip(self.tile, self.shared, self.in_run, strict=True) if x)

    @property
    def put(self) -> int:
        """The bytes that are put into shared memory at once: modulo them, runs lie there as in memory."""
        apart = (self.shared[i] - self.src[i] for i in self.run_modes)
        return READ if all(d % READ == 0 for d in apart) else self.least_put

    @property
    def least_put(self) -> int:
        """The same where runs begin anywhere in shared memory."""
        return max(self.bytes, WORD)

    @property
    def src_runs(self) -> int:
        return math.prod(self.tile[i] for i in self.run_modes)

    @property
    def src_words(self) -> int:
        """The accesses of a source run, wherever it begins."""
        return (self.src_run + READ - min(self.bytes, READ) + READ - 1) // READ

    @property
    def columns(self) -> int:
        """The columns of a destination run: its elements but for mode 0."""
        return math.prod(self.tile[1 : self.dst_run_modes])

    @property
    def dst_run(self) -> int:
        """The elements of a run of the destination."""
        return self.tile[0] * self.columns

    @property
    def dst_runs(self) -> int:
        return math.prod(self.tile[self.dst_run_modes :])

    def dst_words(self, store: int) -> int:
        """The words of `store` bytes of a destination run, wherever it begins."""
        count = store // self.bytes
        return (self.dst_run + 2 * (count - 1)) // count

    @property
    def tables(self) -> tuple[int, int, int]:
        """Where the tables of source runs, destination runs and columns begin in shared memory."""
        dst = RUN * self.src_runs
        return 0, dst, dst + RUN * self.dst_runs

    def image(self, store: int) -> tuple[int, int]:
        """Where the tile begins in shared memory, and where shared memory ends.

        Accesses of the source reach over the tile; so do words of a run's ends, if it has a single column.
        """
        over = (store // self.bytes - 1) * self.shared[0] if self.columns == 1 else 0
        tables = self.tables[-1] + COLUMN * (self.columns + 2)
        begin = -(-max(tables, over) // READ) * READ
        reach = sum((t - 1) * d for t, d in zip(self.tile, self.shared, strict=True)) + self.bytes
        return begin, begin + -(-(reach + max(over, READ) + 3 * READ) // READ) * READ


def dst_run_modes(problem: CopyProblem, tile: tuple[int, ...]) -> int:
    """How many of the first modes lie together in the destination."""
    count = 1
    while count < len(tile) and tile[count - 1] == problem.extents[count - 1]:
        if problem.dst_strides[count] != problem.dst_strides[count - 1] * problem.extents[count - 1]:
            break
        count += 1
    return count


def packed_of(problem: CopyProblem, tile: tuple[int, ...], shared: tuple[int, ...], unit: int) -> Packed:
    """The tile of a problem with these strides in shared memory; `unit` elements along mode 0 are moved at once."""
    size, rank = problem.element_bytes, len(tile)

    def of_units(extents: tuple[int, ...]) -> tuple[int, ...]:
        return (-(-extents[0] // unit), *extents[1:])

    def in_bytes(strides: tuple[int, ...]) -> tuple[int, ...]:
        return (strides[0] * size * unit, *(d * size for d in strides[1:]))

    src = in_bytes(problem.src_strides)
    in_shared = in_bytes(shared)
    tiles = of_units(tile)
    in_run = tuple(tiles[i] > 1 and src[i] > 0 and in_shared[i] == src[i] for i in range(rank))
    others = [i for i in range(rank) if tiles[i] > 1 and not in_run[i]]
    return Packed(
        bytes=size * unit, extents=of_units(problem.extents), tile=tiles, src=src, dst=in_bytes(problem.dst_strides),
        shared=in_shared, in_run=in_run, run_modes=tuple(sorted(others, key=lambda i: abs(src[i]))),
        dst_run_modes=dst_run_modes(problem, tile),
    )  # fmt: skip


def packed_of_plan(plan: CopyPlan) -> Packed:
    """The same of a plan."""
    assert isinstance(plan.smem, _core.Layout)
    strides = plan.smem.stride if isinstance(plan.smem.stride, tuple) else (plan.smem.stride,)
    return packed_of(plan.problem, plan.tile, tuple(int(d) for d in strides), plan.smem_load)


def small_divisor(divisor: int) -> tuple[int, int]:
    """What SmallDivisor in packed_copy.cuh divides by.

    >>> d, reciprocal = small_divisor(7)
    >>> [2 * n * reciprocal >> 32 for n in (0, 6, 7, 20, 21, 30000)]
    [0, 0, 1, 2, 3, 4285]
    """
    return divisor, -(-(1 << 31) // divisor)


def packed_params(plan: CopyPlan, src: int, dst: int, memory: tuple[int, int], grid: tuple[int, ...]) -> bytes:
    """The kernel's parameter, PackedParams, for these addresses; `grid`: as of other plans."""
    tile = packed_of_plan(plan)
    rank, spare = len(tile.tile), MAX_MODES - len(tile.tile)
    parts = [struct.pack("<4Q", src, dst, *memory)]
    for i in range(rank):
        tiles = fast_divisor(grid[i + 1])
        parts.append(
            struct.pack(
                "<3q3IiIiiI", tile.extents[i], tile.src[i], tile.dst[i], *tiles, *small_divisor(tile.tile[i]),
                tile.shared[i], tile.in_run[i], 0,
            )
        )  # fmt: skip
    parts.append(bytes(len(parts[-1]) * spare))
    store = plan.store_vector * plan.problem.element_bytes
    words = *small_divisor(tile.src_words), *small_divisor(tile.dst_words(store))
    counts = tile.src_runs, tile.dst_runs, tile.columns
    modes = (*tile.run_modes, *(0,) * (MAX_MODES - len(tile.run_modes)))
    parts.append(
        struct.pack(
            f"<3IiIiI11i{MAX_MODES}iii", *fast_divisor(grid[0]), *words, math.prod(grid), plan.tiles_of_cta, rank,
            tile.dst_run_modes, *counts, *tile.tables,
            tile.image(store)[0], *modes, len(tile.run_modes), tile.put,
        )
    )  # fmt: skip
    return b"".join(parts)


def packed_text(plan: CopyPlan) -> list[str]:
    """What is read and written together, for the text of a plan."""
    tile, size = packed_of_plan(plan), plan.problem.element_bytes
    read = [i for i, together in enumerate(tile.in_run) if together] or [plan.src_mode]
    written = [i for i in range(tile.dst_run_modes) if tile.tile[i] > 1] or [0]

    def line(name: str, width: int, modes: Iterable[int], runs: int, length: int) -> str:
        return f"  {name:10} {8 * width} bits in {runs} runs of {length} bytes, of modes {','.join(map(str, modes))}"

    return [
        line("load", READ, read, tile.src_runs, tile.src_run),
        line("store", size * plan.store_vector, written, tile.dst_runs, tile.dst_run * tile.bytes),
    ]
