"""Matrices coloured by who owns their elements, and lines of shared memory, as pictures of GEMM plans have them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.analysis.bank_conflicts import BANKS, WORD
from tilewright.kernels.gemm.banks import CORE, SharedAccess
from tilewright.show.drawing.palette import thread_color
from tilewright.show.formats.svg_tables import Svg

if TYPE_CHECKING:
    from collections.abc import Callable

BANK = 38.0  # pixels of a bank's column
LINE, LANE = 30, 17  # of shared memory, and the upper part of it that names lanes
CHUNK = CORE // WORD  # banks of 16 bytes
LEGIBLE = 11  # pixels of a cell's height
PALE = "none"  # the page is seen
LETTER = 6.3  # pixels, of the small font
MOST_LINES = 16  # of shared memory
NOBODY = -1


class Matrix(NamedTuple):
    """The owner of each element, an array (rows, columns), what a cell of one owner is called, and its colour."""

    owners: Any
    name: Callable[[int], str]
    hover: Callable[[int], str]
    color: Callable[[int], str] = thread_color


class Picture(Svg):
    """With matrices of which equal neighbours are one rectangle."""

    def _path(self, path: str, fill: str, hover: str) -> None:
        self._body.append(
            f'<path d="{path}" fill="{fill}" stroke="#444" stroke-width=".7"><title>{hover}</title></path>'
        )

    def matrix(self, matrix: Matrix, left: float, top: float, cell: tuple[float, float]) -> None:
        """Draw a matrix, a path for each owner; a name is written into rectangles that are large enough."""
        width, height = cell
        paths: dict[int, str] = {}
        names = []
        for row, column, rows, columns in _blocks(matrix.owners):
            owner = int(matrix.owners[row, column])
            x, y, w, h = left + column * width, top + row * height, columns * width, rows * height
            paths[owner] = paths.get(owner, "") + f"M{x:.4g} {y:.4g}h{w:.4g}v{h:.4g}h{-w:.4g}z"
            if w >= LETTER * len(matrix.name(owner)) and h >= LEGIBLE:
                names.append((x + w / 2, y + h / 2, matrix.name(owner)))
        for owner, path in sorted(paths.items()):
            self._path(path, PALE if owner == NOBODY else matrix.color(owner), matrix.hover(owner))
        self._names(names)

    def _names(self, names: list[tuple[float, float, str]]) -> None:
        self._body.append('<g pointer-events="none">')
        for x, y, name in names:
            self.text(x, y, name, "s")
        self._body.append("</g>")

    def product(self, parts: dict[str, Matrix], left: float, top: float, cell: tuple[float, float]) -> float:
        """C with A to its left and B above it, as the PTX manual draws them; the x of the right end."""
        c = parts["C"].owners.shape
        depth = parts["A"].owners.shape[1] if "A" in parts else 0
        right = left + (depth * cell[0] + 16 if depth else 0)
        low = top + (depth * cell[1] + 16 if depth else 0)
        if depth:
            self.matrix(parts["A"], left, low, cell)
            self.matrix(parts["B"], right, top, cell)
            self.text(left + depth * cell[0] / 2, low - 9, "A (m,k)", "g")
            self.text(right - 30, top + depth * cell[1] / 2, "B (n,k)", "g")
        self.matrix(parts["C"], right, low, cell)
        end: float = right + c[1] * cell[0]
        return end

    def banks(self, access: SharedAccess, labels: dict[int, str], left: float, top: float) -> float:
        """The lines of 128 bytes that an access touches, a column for each bank; the lower end."""
        lines = lines_of(access)
        for bank in range(0, BANKS, CHUNK):
            self.text(left + (bank + 0.5) * BANK, top - 8, str(bank), "g")
        for i, line in enumerate(lines):
            y = top + i * LINE
            self.text(left - 26, y + LINE / 2, str(line * BANKS * WORD), "g")
            for bank in range(0, BANKS, CHUNK):
                x = left + bank * BANK
                self._path(f"M{x:.4g} {y:.4g}h{CHUNK * BANK:.4g}v{LINE}h{-CHUNK * BANK:.4g}z", PALE, f"bank {bank}")
                self.text(x + CHUNK * BANK / 2, y + LINE - 8, labels.get(line * BANKS + bank, ""), "g")
            for bank, count, own in _runs(access, line):
                x, w = left + bank * BANK, count * BANK
                last = f" to {bank + count - 1}" if count > 1 else ""
                path = f"M{x:.4g} {y:.4g}h{w:.4g}v{LANE}h{-w:.4g}z"
                self._path(path, thread_color(own[0]), f"bank {bank}{last}: {access.by} {', '.join(map(str, own))}")
                self._names([(x + w / 2, y + LANE / 2, _lanes(access, own))])
        return top + len(lines) * LINE


def _runs(access: SharedAccess, line: int) -> list[tuple[int, int, tuple[int, ...]]]:
    """Of a line: neighbouring words that the same lanes access, as (bank, words, lanes)."""
    found: list[tuple[int, int, tuple[int, ...]]] = []
    for bank in range(BANKS):
        own = access.words.get(line * BANKS + bank)
        if own is None:
            continue
        if found and found[-1][0] + found[-1][1] == bank and found[-1][2] == own:
            found[-1] = (found[-1][0], found[-1][1] + 1, own)
        else:
            found.append((bank, 1, own))
    return found


def _lanes(access: SharedAccess, own: tuple[int, ...]) -> str:
    first = f"{'T' if access.by == 'lane' else 'r'}{own[0]}"
    return first + (f"+{len(own) - 1}" if len(own) > 1 else "")


def _blocks(owners: Any) -> list[tuple[int, int, int, int]]:
    """Rectangles of one owner on a grid as coarse as it can be: (row, column, rows, columns)."""
    rows, columns = owners.shape
    down = math.gcd(rows, *(int(x) + 1 for x in np.flatnonzero((owners[1:] != owners[:-1]).any(axis=1))))
    across = math.gcd(columns, *(int(x) + 1 for x in np.flatnonzero((owners[:, 1:] != owners[:, :-1]).any(axis=0))))
    coarse = owners[::down, ::across]
    found = []
    for row in range(coarse.shape[0]):
        column = 0
        while column < coarse.shape[1]:
            end = column + 1
            while end < coarse.shape[1] and coarse[row, end] == coarse[row, column]:
                end += 1
            found.append((row * down, column * across, down, (end - column) * across))
            column = end
    return found


def lines_of(access: SharedAccess) -> list[int]:
    """The lines of 128 bytes that are drawn."""
    return sorted({word // BANKS for word in access.words})[:MOST_LINES]
