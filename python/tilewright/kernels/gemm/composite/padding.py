"""Copies of A and B in front of a GEMM: how they lie, what the problem is with them, how long they take.

Rows along K begin at multiples of ROW bytes. Turned copies lie along M and N, in rows of whole tiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.choose.rates import Rates

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem

ROW = 128  # bytes of whose multiple a row of the workspace begins
TILE = 256  # elements of whose multiple a turned row has: whole tiles of every plan


class Padded(Section):
    """How fast copies are: PADDED in a device's file says what each number is."""

    SECTION: ClassVar[str] = "PADDED"
    copies: float
    turned: float
    row: float
    launch: float


def _padded_strides(
    rows: int, k: int, batch: tuple[int, ...], strides: tuple[int, ...], size: int, is_turned: bool
) -> tuple[int, ...]:
    """The strides of a copy (rows,k,batch..) along k, or along the rows; what is broadcast over a mode stays so."""
    pitch = -(-rows // TILE) * TILE if is_turned else -(-k * size // ROW) * ROW // size
    found, step = ([1, pitch], pitch * k) if is_turned else ([pitch, 1], pitch * rows)
    for extent, stride in zip(batch, strides[2:], strict=True):
        found.append(step if stride else 0)
        step *= extent if stride else 1
    return tuple(found)


def workspace_bytes(rows: int, k: int, batch: tuple[int, ...], padded: tuple[int, ...], size: int) -> int:
    """The bytes of such a copy."""
    count = max(rows * padded[0], k * padded[1])  # one of the strides is 1, the other one a row's
    for extent, stride in zip(batch, padded[2:], strict=True):
        count *= extent if stride else 1
    return count * size


def pad(
    problem: GemmProblem, alignments: tuple[int, int, int], sides: tuple[bool, bool], is_turned: bool = False
) -> tuple[GemmProblem, tuple[int, int, int]]:
    """The problem with copies of A, B or both in their place, and the alignments that it then has."""
    p, whole = problem, problem.undivided
    a_strides, b_strides = p.a_strides, p.b_strides
    if sides[0]:
        a_strides = _padded_strides(p.m, whole.k, whole.batch, whole.a_strides, p.a_type.bits // 8, is_turned)
    if sides[1]:
        b_strides = _padded_strides(p.n, whole.k, whole.batch, whole.b_strides, p.b_type.bits // 8, is_turned)
    if p.whole_k:  # parts of the copy of the whole
        a_strides, b_strides = ((*x[: len(whole.a_strides)], p.k * x[1]) for x in (a_strides, b_strides))
    a, b, c = alignments
    aligned = (ROW if sides[0] else a, ROW if sides[1] else b, c)
    return p._replace(a_strides=a_strides, b_strides=b_strides), aligned


def padding_seconds(
    problem: GemmProblem, sides: tuple[bool, bool], facts: DeviceFacts, is_turned: bool = False
) -> float:
    """The time that the copies are expected to take: what they read and write at the memory's speed, or row by row."""
    p, total, numbers = problem.undivided, 0.0, Padded.of(facts)
    operands = ((p.m, p.a_strides, p.a_type), (p.n, p.b_strides, p.b_type))
    for (rows, strides, dtype), wanted in zip(operands, sides, strict=True):
        if wanted:
            padded = _padded_strides(rows, p.k, p.batch, strides, dtype.bits // 8, False)
            size = workspace_bytes(rows, p.k, p.batch, padded, dtype.bits // 8)
            count = size / (max(padded[:2]) * dtype.bits // 8)
            share = numbers.turned if is_turned else numbers.copies
            moved = 2 * size / (share * Rates.of(facts).bandwidth * 1e12)
            total += numbers.launch + max(moved, count * numbers.row)
    return total
