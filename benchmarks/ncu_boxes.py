"""Boxes of the copy engine that are compared with Nsight Compute: offsets, pitches and ends, then random ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from probes.box import MEMORY_BYTES, Box, compile_box_probes, launch
from tilewright.kernels.analyze import verify

KINDS = (("load", 1), ("store", 1), ("load", 2), ("load", 4))  # op, CTAs that get the box
METRICS = {"load": verify.OF_BOXES["UTMALDG"], "store": verify.OF_BOXES["UTMASTG"]}
SPANS = {128: (128,), 64: (64,), 32: (32,), 0: (16, 32, 48, 64, 96, 112, 128, 160, 256, 512)}  # bytes, by swizzle
LONG = 1024  # elements of a row that no box reaches the end of


def ends() -> Iterator[Box]:
    """bf16 in rows of 128 bytes: where rows begin in their sectors and lines, and where the matrix ends in a box."""
    for op, receivers in KINDS:

        def box(inner: int = LONG, rows: int = 64, op: str = op, receivers: int = receivers, **given: Any) -> Box:
            fields = {"pitch": 2048, "offset": 0, "box": (64, 8), "at": (0, 0), **given}
            return Box(op, 2, (inner, rows), receivers=receivers, **fields)

        for offset in range(0, 128, 16):
            yield box(offset=offset)
        for offset in (0, 16, 32, 64, 112):
            for inner in range(8, 65, 8):
                yield box(inner, offset=offset)
        for inner in (1, 2, 3, 5, 7, 9, 12, 15, 17, 23, 31, 33, 40, 47, 63):
            yield box(inner, box=(64, 1))
        for rows in (1, 2, 3, 5, 8):
            yield box(rows=rows + 8, at=(0, 8))
        for pitch in (144, 272, 1040, 2000, 2016, 2032):
            yield box(pitch // 2, pitch=pitch)
        for pitch in (2000, 2016, 2032):
            yield box(pitch // 2, pitch=pitch, at=(960, 0))
        for x in (8, 16, 24, 32, 40, 56):
            yield box(at=(x, 0))


def spans() -> Iterator[Box]:
    """Boxes of fewer and of more bytes in a row, whole and cut."""
    for op, receivers in KINDS:
        for swizzle, found in SPANS.items():
            for span in found:
                for offset, inner in ((0, LONG), (16, LONG), (48, span // 4 or 4), (112, span // 2 - 3)):
                    yield Box(op, 2, (inner, 8), 2048, offset, (span // 2, 4), (0, 0), swizzle, receivers)


def rounded() -> Iterator[Box]:
    """TFloat32: whole rows, cut ones, and those that begin within a sector or a line."""
    for op, receivers in KINDS:
        for offset in range(0, 128, 16):
            for inner in (LONG, 1, 4, 8, 13, 16, 24, 27):
                pitch = 4000 if inner == LONG else 4096
                yield Box(op, 4, (inner, 8), pitch, offset, (32, 8), (0, 0), 128, receivers, rounds=True)


def at_random(count: int, seed: int = 2026) -> Iterator[Box]:
    choose = random.Random(seed)
    for i in range(count):
        op, receivers = KINDS[i % len(KINDS)]
        size, swizzle = choose.choice((1, 2, 4)), choose.choice((128, 128, 64, 32, 0))
        span = choose.choice(SPANS[swizzle][:8])
        granule, pitch = 16 // size, 16 * choose.randint(8, 130)
        inner, rows = choose.randint(1, pitch // size), choose.randint(1, 100)
        x = choose.choice((0, span // size * choose.randint(0, inner * size // span), choose.randrange(inner)))
        y = choose.choice((0, choose.randrange(rows), choose.randrange(rows)))
        box = (span // size, choose.choice((1, 2, 3, 8, 16, 32, 64)))
        offset, rounds = 16 * choose.randint(0, 15), size == 4 and choose.random() < 0.3
        yield Box(op, size, (inner, rows), pitch, offset, box, (x // granule * granule, y), swizzle, receivers, rounds)


def boxes() -> list[Box]:
    """All of them, none twice."""
    return list(dict.fromkeys((*ends(), *spans(), *rounded(), *at_random(400))))


def launch_boxes() -> None:
    """One launch each."""
    from tilewright import _core
    from tilewright.runtime.device import arch_of

    memory = _core.cuda.allocate_async(0, MEMORY_BYTES, 1)
    memory.zero()
    program = compile_box_probes(arch_of(0), KINDS)
    for box in boxes():
        launch(0, memory.address, box, program)
    _core.cuda.synchronize(0)


def box_of(row: list[Any]) -> Box:
    """A box as JSON has it."""
    return Box(*(tuple(x) if isinstance(x, list) else x for x in row))


def box_differences(rows: list[list[Any]]) -> list[tuple[Box, int, int]]:
    """Of rows [box, sectors read]: the boxes that differ, the sectors predicted and those read."""
    boxes = [(box_of(box), read) for box, read in rows]
    compared = [(box, box.predicted().sectors, read) for box, read in boxes]
    return [(box, expected, read) for box, expected, read in compared if expected != read]
