"""What a device's data file says of copies."""

from __future__ import annotations

from typing import ClassVar

from tilewright.devices import H200
from tilewright.kernels.devices import Section


class CopyNumbers(Section):
    """Threads and tiles of copies, by the bytes of an element: COPY in a device's file says what each number is."""

    SECTION: ClassVar[str] = "COPY"
    threads: int
    direct_threads: int
    direct_bytes: dict[int, int]
    run: dict[int, tuple[int, int]]
    realigned_run: dict[int, tuple[int, int]]
    src_realigned_run: dict[int, tuple[int, int]]
    long: int
    narrowest: int
    tile_bytes: int
    largest: int
    smallest: int
    shortest: int
    large: int
    pads: tuple[tuple[int, ...], ...]


class PackedNumbers(Section):
    """Tiles over several modes, and what they execute: PACKED_COPY says what each number is."""

    SECTION: ClassVar[str] = "PACKED_COPY"
    runs: tuple[int, ...]
    least: int
    most: int
    read: float
    read_apart: float
    word: float
    element: float
    column: float
    turn: dict[int, float]
    end: float
    entry: float
    place: float
    tile: float
    usual: float
    many: int
    again: int


class CostNumbers(Section):
    """How fast a device does what a copy costs: COPY_COST says what each number is."""

    SECTION: ClassVar[str] = "COPY_COST"
    bytes: float
    instructions: float
    wavefronts: float
    hidden: float
    clock: float
    launch: float
    fetch: float
    resident: float
    rows: float
    tile: float
    step: float
    element: float
    clearly: float


NUMBERS = CopyNumbers.of(H200)  # a copy's plan is the same on every device
PACKED = PackedNumbers.of(H200)
COST = CostNumbers.of(H200)
