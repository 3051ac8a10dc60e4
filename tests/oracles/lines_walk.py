"""The lanes of kernels/tilewright/sm90_lines.cuh, one by one: what is done to C where a plan stores by lines."""

from __future__ import annotations

import itertools


def place(row, q):
    """Of byte q of a row of a block, in shared memory."""
    return q // 128 % 2 * 8192 + row * 128 + ((q % 128 // 16 ^ row % 8) << 4) + q % 16


def walk_lines(walk, plan, g, cta, m0, n0, batch, compute=4):
    """A tile of a CTA: every warp of every consumer stores its 16 rows of each block of 64."""
    p, (bm, bn, _), size = g.p, g.tile, g.sizes[2]
    sharing = 1 if plan.ping_pong else plan.consumers
    per_row = bn // 8
    units = bm // 64 // sharing * per_row
    own = -(-units // plan.split_k)
    run = min(own, per_row)
    for rank, consumer, warp in itertools.product(range(plan.split_k), range(sharing), range(4)):
        for first in range(rank * own, min(units, (rank + 1) * own), run):
            block = first // per_row
            m, n = m0 + (block * sharing + consumer) * 64, n0 + first % per_row * 8
            rows, length = p.m - m, min(p.n - n, 8 * run) * size
            if rows > 0 and length > 0:
                at = [g.at(2, m + row, n, batch) for row in range(64)]  # of rows behind C, too, which nobody touches
                Warp(walk, (cta, rank, consumer, first), warp, at, rows, length, size, compute).store(
                    p, run, first % per_row * 8
                )


class Warp:
    """A warp with a run of rows, of `length` bytes each, of which it has 16."""

    def __init__(self, walk, name, warp, at, rows, length, size, compute):
        self.walk, self.name, self.warp, self.at = walk, name, warp, at
        self.rows, self.length, self.size, self.compute, self.turn = rows, length, size, compute, 0

    def access(self, name, memory, op, width, lanes, matrices=0):
        """A request: the address of each lane."""
        self.turn += 1
        for lane, address in lanes.items():
            place = (*self.name, self.warp, self.turn)
            self.walk.access(name, memory, op, width, place, lane, address, matrices=matrices)

    def store(self, p, run, left):
        size, boxes = self.size, -(-run * 8 * self.size // 128)
        for i in range(boxes + 1):
            if i < boxes and i * 128 < self.length:
                if p.epilogue.beta != 0:
                    self.bring(i)
                units = min(16 // size, run - i * (16 // size))
                self.fill(p, i, units, left + i * 128 // size)
                if i == 0:
                    self.ends(last=False)
            own = [self.at[row] % 128 for row in range(self.warp * 16, self.warp * 16 + 16) if row < self.rows]
            if i * 128 < self.length or any(begin + self.length >= i * 128 + 16 for begin in own):
                self.line(i)
        self.ends(last=True)

    def line(self, i):
        for turn in range(4):
            lanes = {}
            for lane in range(32):
                row = self.warp * 16 + turn * 4 + lane // 8
                lanes[lane] = row, i * 128 - self.at[row] % 128 + lane % 8 * 16
            for more in (0, 15):
                read = {lane: place(row, (q + more) // 16 * 16) for lane, (row, q) in lanes.items()}
                self.access("read lines from shared", "shared", "load", 16, read)
            written = {
                lane: self.at[row] + q
                for lane, (row, q) in lanes.items()
                if row < self.rows and q >= 0 and q + 16 <= self.length
            }
            self.access("store C", "global", "store", 16, written)

    def ends(self, last):
        size = self.size
        for turn in range(8 // size):
            read, written = {}, {}
            for lane in range(32):
                row = self.warp * 16 + turn * 2 * size + lane // (16 // size)
                begin = min(-self.at[row] % 16, self.length)
                end = begin + (self.length - begin) // 16 * 16
                q = (end if last else 0) + lane % (16 // size) * size
                if row < self.rows and q < (self.length if last else begin):
                    read[lane], written[lane] = place(row, q), self.at[row] + q
            self.access("read edges from shared", "shared", "load", size, read)
            self.access("store C, edges", "global", "store", size, written)

    def bring(self, i):
        for turn in range(4):
            words, singles = {}, []
            for lane in range(32):
                row, q = self.warp * 16 + turn * 4 + lane // 8, i * 128 + lane % 8 * 16
                gap = (self.at[row] + q) % 16
                if row >= self.rows:
                    continue
                if q >= gap and q - gap + (16 if gap == 0 else 32) <= self.length:
                    words[lane] = row, q, gap
                else:
                    singles.append((lane, row, q))
            for second in (0, 16):
                read = {t: self.at[row] + q - gap + (second if gap else 0) for t, (row, q, gap) in words.items()}
                self.access("load C", "global", "load", 16, read)
            put = {t: place(row, q) for t, (row, q, _) in words.items()}
            self.access("write what C has to shared", "shared", "store", 16, put)
            for j in range(0, 16, self.size):
                inside = [(t, row, q + j) for t, row, q in singles if q + j < self.length]
                read = {t: self.at[row] + q for t, row, q in inside}
                self.access("load C, edges", "global", "load", self.size, read)
                put = {t: place(row, q) for t, row, q in inside}
                self.access("write what C has to shared, edges", "shared", "store", self.size, put)

    def fill(self, p, i, units, left):
        size, has_c, has_bias = self.size, p.epilogue.beta != 0, p.epilogue.bias == "n"
        row = self.warp * 16
        if size == 2:
            for j in range(0, units, 2):
                at = {t: place(row + t % 16, i * 128 + (j + t // 16) * 16) for t in range(32)}
                if has_c:
                    self.access("read C from shared", "shared", "ldmatrix", 16, at, matrices=4)
                self.access("write C to shared", "shared", "stmatrix", 16, at, matrices=4)
        for j in range(4 if size == 4 else units):
            for half in range(1 if size == 2 else 2):
                at, bias = {}, {}
                for t in range(32):
                    unit = j ^ 2 if size == 4 and t // 4 % 2 else j  # such lanes are two units ahead
                    at[t] = place(row + t // 4 + 8 * half, i * 128 + (unit * 8 + t % 4 * 2) * size)
                    bias[t] = (left + (unit if unit < units else 0) * 8 + t % 4 * 2) * self.compute
                if size != 2:
                    if has_c:
                        self.access("read C from shared", "shared", "load", 2 * size, at)
                    self.access("write C to shared", "shared", "store", 2 * size, at)
                if has_bias:
                    self.access("read bias", "shared", "load", 2 * self.compute, bias)
