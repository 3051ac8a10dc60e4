"""The memory instructions by which C is stored line by line: twin of kernels/tilewright/sm90_lines.cuh.

Where in a line a row begins depends on its address, so everything is counted for each place of a line at which tiles
begin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.analysis.totals.totals import WARP, Tally
from tilewright.kernels.gemm.sm90.conditions import run_columns

if TYPE_CHECKING:
    from tilewright.analysis.totals.totals import Booleans, Integers
    from tilewright.kernels.gemm.accesses import Launch
    from tilewright.kernels.gemm.sm90.plan import GemmSm90

LINE, WORD = 128, 16  # bytes
BOX = 64 * LINE  # bytes, of which a warp has 16 rows
WARP_ROWS, BLOCK_ROWS = 16, 64

Requests = tuple["Integers", "Booleans"]  # what the lanes address, and which of them are active


def place(row: Integers, q: Integers) -> Integers:
    """Where byte q of a row of a block lies in shared memory."""
    found: Integers = q // LINE % 2 * BOX + row * LINE + ((q // WORD % 8 ^ row % 8) << 4) + q % WORD
    return found


class Counted:
    """The tallies of a launch."""

    def __init__(self, plan: GemmSm90, compute_bytes: int) -> None:
        p = plan.problem
        self.size, self.reads, self.compute = int(p.c_type.bits) // 8, p.epilogue.beta != 0, compute_bytes
        self.columns = LINE // self.size  # of a box
        size = self.size
        matrices = 4 if size == 2 else 0
        fill = WORD if size == 2 else 2 * size
        self.tallies = [
            Tally("load C", "global", "load", WORD),
            Tally("load C, edges", "global", "load", size),
            Tally("write what C has to shared", "shared", "store", WORD),
            Tally("write what C has to shared, edges", "shared", "store", size),
            Tally("read C from shared", "shared", "ldmatrix" if size == 2 else "load", fill, matrices=matrices),
            Tally("read bias", "shared", "load", 2 * compute_bytes),
            Tally("write C to shared", "shared", "stmatrix" if size == 2 else "store", fill, matrices=matrices),
            Tally("read lines from shared", "shared", "load", WORD),
            Tally("read edges from shared", "shared", "load", size),
            Tally("store C", "global", "store", WORD),
            Tally("store C, edges", "global", "store", size),
        ]
        (
            self.load, self.load_edges, self.put, self.put_edges, self.read, self.bias, self.fill, self.take,
            self.take_edges, self.store, self.store_edges,
        ) = self.tallies  # fmt: skip
        self.has_bias = p.epilogue.bias == "n"


class Run:
    """A part of a tile's rows that is stored at a time, in tiles that begin at one place of a line.

    `bytes`: of each row inside of C; `rows`: those inside, from the tile's first one on; `begin`: where the part begins
    from the tile's first element on, which lies at `residue` of a line.
    """

    def __init__(self, rows: int, length: int, begin: int, residue: int, pitch: int, tile_rows: int) -> None:
        self.rows, self.bytes, self.begin, self.residue, self.pitch = rows, length, begin, residue, pitch
        blocks = -(-rows // BLOCK_ROWS)  # others have nothing to do
        self.firsts = np.arange(0, min(blocks * BLOCK_ROWS, tile_rows), WARP_ROWS)[:, None]  # of warps

    def at(self, row: Integers, q: Integers) -> Integers:
        """The address of byte q of a row, from the tile's first element on."""
        return self.begin + row * self.pitch + q

    def address(self, row: Integers, q: Integers | int) -> Integers:
        """The same, in a line."""
        return self.residue + self.begin + row * self.pitch + q

    def turns(self, lanes: int, firsts: Integers | None = None) -> Integers:
        """(requests, 32): the row of each lane, of so many for a row, of the warps with these first rows, or of all."""
        first = np.arange(0, WARP_ROWS, WARP // lanes)[:, None, None]
        rows: Integers = (self.firsts if firsts is None else firsts) + first + np.arange(WARP) // lanes
        return rows.reshape(-1, WARP)

    def whole_words(self, line: int) -> tuple[Integers, Integers, Booleans]:
        """Of the requests of a line: the lanes' rows, their bytes there, and which of them write."""
        rows = self.firsts + np.arange(WARP_ROWS)
        ends = self.address(rows, 0) % LINE + self.bytes
        there = line * LINE < self.bytes
        reach = there | ((rows < self.rows) & (ends >= line * LINE + WORD)).any(axis=1)
        row = self.turns(8, self.firsts[reach])
        q = line * LINE - self.address(row, 0) % LINE + np.arange(WARP) % 8 * WORD
        return row, q, (row < self.rows) & (q >= 0) & (q + WORD <= self.bytes)

    def ends(self, size: int, is_last: bool) -> tuple[Integers, Integers, Booleans]:
        """The same of single elements before the first whole word, or behind the last one."""
        lanes = WORD // size
        row = self.turns(lanes)
        first = np.minimum(-self.address(row, 0) % WORD, self.bytes)
        last = first + (self.bytes - first) // WORD * WORD
        q = (last if is_last else 0) + np.arange(WARP) % lanes * size
        return row, q, (row < self.rows) & (q < (self.bytes if is_last else first))


def lines_of_c(plan: GemmSm90, launch: Launch, compute_bytes: int) -> list[Tally]:
    """What the warps do to store C, in the order of the kernel."""
    (bm, bn, _), side = plan.tiler_mnk, launch.c
    width = run_columns(bm, bn, plan.split_k, plan.consumers)
    counted = Counted(plan, compute_bytes)
    for group in side.groups:
        high_m, high_n = group.high[:2]
        for residue, times in group.residues.items():
            for column in range(0, min(bn, high_n), width):
                length = (min(high_n, column + width) - column) * side.size
                run = Run(min(high_m, bm), length, column * side.size, residue, int(side.steps[0]), bm)
                _count(counted, run, {residue: times}, column, width)
    used = [counted.take, counted.take_edges, counted.store, counted.store_edges]
    if counted.has_bias:
        used.append(counted.bias)
    return [x for x in counted.tallies if counted.reads or x in (*used, counted.fill)]


def _count(counted: Counted, run: Run, residues: dict[int, int], column: int, width: int) -> None:
    """Adds up what the warps do for a run of so many columns, in tiles that begin at these places of a line."""
    boxes, inside = -(-width // counted.columns), {0: sum(residues.values())}
    for i in range(boxes + 1):
        if i < boxes and i * LINE < run.bytes:
            if counted.reads:
                _bring(counted, run, i, residues, inside)
            units = min(counted.columns, width - i * counted.columns) // 8
            _fill(counted, run, units, column + i * counted.columns, i % 2 * BOX, inside)
            if i == 0:
                _end(counted, run, False, residues, inside)
        row, q, active = run.whole_words(i)
        everyone = np.ones(active.shape, bool)
        for byte in (q, q + WORD - 1):
            counted.take.add(place(row % BLOCK_ROWS, byte // WORD * WORD), everyone, inside)
        counted.store.add(run.at(row, q), active, residues)
    _end(counted, run, True, residues, inside)


def _end(counted: Counted, run: Run, is_last: bool, residues: dict[int, int], inside: dict[int, int]) -> None:
    row, q, active = run.ends(counted.size, is_last)
    counted.take_edges.add(place(row % BLOCK_ROWS, q), active, inside)
    counted.store_edges.add(run.at(row, q), active, residues)


def _bring(counted: Counted, run: Run, box: int, residues: dict[int, int], inside: dict[int, int]) -> None:
    """C, before it is added: two words of a lane, or where they do not lie in the row, its elements."""
    q = box * LINE + np.arange(WARP) % 8 * WORD
    row = run.turns(8)
    gap = run.address(row, q) % WORD
    whole = (row < run.rows) & (q >= gap) & (q - gap + np.where(gap == 0, WORD, 2 * WORD) <= run.bytes)
    to = place(row % BLOCK_ROWS, q)
    for more in (0, np.where(gap == 0, 0, WORD)):
        counted.load.add(run.at(row, q - gap + more), whole, residues)
    counted.put.add(to, whole, inside)
    for j in range(0, WORD, counted.size):
        single = ~whole & (row < run.rows) & (q + j < run.bytes)
        counted.load_edges.add(run.at(row, q + j), single, residues)
        counted.put_edges.add(to + j, single, inside)


def _fill(counted: Counted, run: Run, units: int, column: int, box: int, inside: dict[int, int]) -> None:
    """The sums of a box of each warp, of so many units of 8 columns, the first one at this column of the tile."""
    lane, size = np.arange(WARP), counted.size
    first = run.firsts % BLOCK_ROWS * LINE + box
    everyone = np.ones((len(run.firsts), WARP), bool)
    halves = 1 if size == 2 else 2
    requests: list[tuple[Integers, Integers]] = []  # what is written, and the unit that a lane has
    if size == 2:
        for j in range(0, units, 2):
            at = lane % 16 * LINE + ((j + lane // 16 ^ lane % 8) << 4)
            counted.fill.add(first + at, everyone, inside)
            if counted.reads:
                counted.read.add(first + at, everyone, inside)
        requests = [(lane, np.full(WARP, j)) for j in range(units)]
    else:
        for j in range(4 if size == 4 else units):
            for half in range(2):
                row = lane // 4 + 8 * half
                if size == 4:
                    unit: Integers = j ^ 2 * (lane // 4 % 2)
                    at = row * LINE + ((2 * unit + lane % 4 // 2 ^ row % 8) << 4) + lane % 2 * 8
                    unit = np.where(unit < units, unit, 0)
                else:
                    unit = np.full(WARP, j)
                    at = row * LINE + ((j // 2 ^ row % 8) << 4) + j % 2 * 8 + lane % 4 * 2
                counted.fill.add(first + at, everyone, inside)
                if counted.reads:
                    counted.read.add(first + at, everyone, inside)
                if half == 0:
                    requests.append((at, unit))
    for _, unit in requests if counted.has_bias else ():
        columns = (column + unit * 8 + lane % 4 * 2) * counted.compute
        for _ in range(halves):
            counted.bias.add(np.broadcast_to(columns, everyone.shape), everyone, inside)
