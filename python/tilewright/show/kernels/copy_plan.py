"""Pictures of copy plans: one CTA's tile in global memory, in shared memory and in registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.show.drawing.axes import shown_of
from tilewright.show.drawing.memory import BANKS, WORD
from tilewright.show.drawing.picture import Label, Picture, Placed
from tilewright.show.drawing.tables import Content, owner_hover, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.kernels.copy.plan import CopyPlan
    from tilewright.show.drawing.axes import Shown
    from tilewright.show.drawing.picture import Axis, Panel

__all__ = ["Region", "copy_plan_picture", "labels", "shared_panel"]

ROWS, COLUMNS, VALUES = 32, 32, 16  # of a panel of a tile; columns of one of registers
WARP = 32

Coordinate = tuple[int, ...]


class Region(NamedTuple):
    """The elements of a tile on paper, in cells of `unit` elements along mode `along`.

    `modes` are the two that are drawn, down and across, or the one that is drawn line by line, `columns` cells to a
    line; all others are at 0. Coordinates begin at `begin`, which is not 0 where a tile is read with what is before.
    """

    extents: tuple[int, ...]
    begin: tuple[int, ...]
    modes: tuple[int, ...]
    unit: int
    along: int
    columns: int

    @classmethod
    def of(cls, extents: tuple[int, ...], begin: tuple[int, ...], unit: int, along: int) -> Region:
        modes = tuple(mode for mode, extent in enumerate(extents) if extent > 1)[:2] or (0,)
        if len(modes) == 2:
            return cls(extents, begin, modes, unit, along, cls._cells(extents, unit, along, modes[1]))
        count = cls._cells(extents, unit, along, modes[0])
        return cls(extents, begin, modes, unit, along, min(count, 16))

    @staticmethod
    def _cells(extents: tuple[int, ...], unit: int, along: int, mode: int) -> int:
        return -(-extents[mode] // (unit if along == mode else 1))

    @property
    def rows(self) -> int:
        count = self._cells(self.extents, self.unit, self.along, self.modes[0])
        return count if len(self.modes) == 2 else -(-count // self.columns)

    def step(self, mode: int) -> int:
        """The elements of a cell along a mode."""
        return self.unit if mode == self.along else 1

    def at(self, row: int, column: int) -> Coordinate | None:
        """The coordinate of a cell's first element, counted from 0; None past the end."""
        found = [0] * len(self.extents)
        if len(self.modes) == 2:
            found[self.modes[0]] = row * self.step(self.modes[0])
            found[self.modes[1]] = column * self.step(self.modes[1])
        else:
            found[self.modes[0]] = (row * self.columns + column) * self.step(self.modes[0])
        return None if found[self.modes[0]] >= self.extents[self.modes[0]] else tuple(found)

    def cell(self, coordinate: Coordinate) -> Coordinate:
        """The coordinate of the first element of the cell that an element is in."""
        return tuple(c - c % self.step(mode) for mode, c in enumerate(coordinate))

    def name(self, coordinate: Coordinate) -> str:
        found = tuple(c + b for c, b in zip(coordinate, self.begin, strict=True))
        return text(found if len(found) > 1 else found[0])

    @property
    def most(self) -> tuple[int, int]:
        """The rows and columns that are drawn."""
        return ROWS, COLUMNS

    def panel(self, title: str, subtitle: str, content: Callable[[Coordinate], Content]) -> Panel:
        """The cells, filled by `content(coordinate of the first element)`."""
        rows, columns = (shown_of(n, most) for n, most in zip((self.rows, self.columns), self.most, strict=True))

        def at(row: int, column: int) -> Content | None:
            coordinate = self.at(row, column)
            return None if coordinate is None else content(coordinate)

        down, across = self.modes[0], self.modes[-1]
        if len(self.modes) == 2:
            axes = (
                labels(rows, self.step(down), self.begin[down]),
                labels(columns, self.step(across), self.begin[across]),
            )
        else:
            line = self.columns * self.step(down)
            axes = labels(rows, line, self.begin[down]), labels(columns, self.step(down), 0, "+")
        return table(title, subtitle, (rows, columns), at, axes)

    @property
    def says(self) -> str:
        """Which modes are drawn how, and how much of them."""
        others = [mode for mode, extent in enumerate(self.extents) if extent > 1 and mode not in self.modes]
        names = f"mode {self.modes[0]} line by line"
        if len(self.modes) == 2:
            names = f"mode {self.modes[0]} down, mode {self.modes[1]} across"
        if others:
            names += f", mode{'s' * (len(others) > 1)} {', '.join(map(str, others))} at 0"
        if self.unit > 1:
            names += f"; a cell for {self.unit} elements along mode {self.along}"
        drawn = [n if n <= most else most - 1 for n, most in zip((self.rows, self.columns), self.most, strict=True)]
        if drawn != [self.rows, self.columns]:
            names += f"; {drawn[0]} x {drawn[1]} of {self.rows} x {self.columns} cells are drawn"
        return names


def labels(shown: Shown, step: int, begin: int, prefix: str = "") -> Axis:
    """One level of labels: the first element of each cell."""
    return (tuple(Label("…" if i is None else f"{prefix}{begin + i * step}") for i in shown),)


def shared_panel(title: str, subtitle: str, region: Region, smem: Callable[[Coordinate], int], size: int) -> Panel:
    """Where elements lie in shared memory, coloured by the first bank of each cell; elements of `size` bytes."""
    width = max(region.unit * size, WORD)

    def content(coordinate: Coordinate) -> Content:
        offset = smem(coordinate)
        address = offset * size
        bank = address // WORD % BANKS
        last = (address + region.unit * size - 1) // WORD % BANKS
        hover = (
            ("coordinate", region.name(coordinate)), ("offset", str(offset)),
            ("bank", str(bank) if last == bank else f"{bank} to {last}"), ("address", str(address)),
        )  # fmt: skip
        return Content((str(offset),), address // width % (BANKS * WORD // width), hover)

    return region.panel(title, subtitle, content)


def copy_plan_picture(plan: CopyPlan) -> Picture:
    """A copy plan: one CTA's tile as it is loaded and as it is stored, its image in shared memory, and the registers.

    Cells of global memory are accesses, coloured by thread, those of shared memory are coloured by bank; of the
    registers, the first warp's are listed with the coordinates of their elements.

    >>> import numpy
    >>> from tilewright import cute, kernels
    >>> a = numpy.zeros((64, 64), numpy.float32)
    >>> print(cute.show(kernels.tiled_copy.plan(a, a.copy().T)).title)  # doctest: +ELLIPSIS
    staged copy, tile (...), ... threads
    """
    tile, rank = plan.tile, len(plan.tile)
    box, begin = list(tile), [0] * rank
    if plan.smem is not None and plan.dst_shift:  # shared memory and those who fill it begin before the tile
        box[plan.dst_mode] += plan.dst_shift
        begin[plan.dst_mode] -= plan.dst_shift
    bits = 8 * plan.problem.element_bytes
    panels, p = [], plan.problem
    for place, name, tv, vector, mode, extents, start, strides in (
        (0, "loaded", plan.load_tv, plan.load_vector, plan.src_mode, box, begin, p.src_strides),
        (1, "stored", plan.store_tv, plan.store_vector, plan.dst_mode, tile, [0] * rank, p.dst_strides),
    ):
        unit = vector if _in_vectors(tv, vector, mode, rank) else 1
        region = Region.of(tuple(extents), tuple(start), unit, mode)
        subtitle = f"thread and values, {bits * vector} bits at once; {region.says}"
        panels.append(Placed(0, place, _accesses(f"global memory, {name}: {tv}", subtitle, region, tv, unit, strides)))
    if plan.smem is not None:
        region = Region.of(tuple(box), tuple(begin), 1, plan.dst_mode)
        smem = plan.smem
        subtitle = f"offsets in elements, coloured by bank; {plan.shared_bytes} bytes; {region.says}"
        panel = shared_panel(
            f"shared memory: {smem}", subtitle, region, lambda c: int(smem(c if rank > 1 else c[0])),
            plan.problem.element_bytes,
        )  # fmt: skip
        panels.append(Placed(1, 1, panel))
    panels.append(Placed(1, 0, _registers(plan.load_tv, begin)))
    return Picture(f"{plan.kernel} copy, tile {text(tile if rank > 1 else tile[0])}, {plan.threads} threads", panels)


def _at(tv: Any, thread: int, value: int, rank: int) -> Coordinate:
    found = tv(thread, value)
    found = tuple(int(c) for c in found) if isinstance(found, tuple) else (int(found),)
    return (*found, *(0,) * (rank - len(found)))


def _in_vectors(tv: Any, vector: int, mode: int, rank: int) -> bool:
    """Whether so many values of each thread lie side by side, from multiples of their number on; a changed plan's may
    not."""
    threads, values = (int(_core.size(tv, mode=[i])) for i in (0, 1))
    firsts = [_at(tv, thread, 0, rank)[mode] for thread in range(threads)]
    of_one = [_at(tv, 0, value, rank) for value in range(values)]
    starts = [at for at in of_one[::vector] for _ in range(vector)]
    return (
        values % vector == 0
        and all(at[mode] % vector == 0 for at in starts)
        and all(at % vector == 0 for at in firsts)
        and all(
            at[i] == start[i] + (n % vector if i == mode else 0)
            for n, (at, start) in enumerate(zip(of_one, starts, strict=True))
            for i in range(rank)
        )
    )


def _accesses(title: str, subtitle: str, region: Region, tv: Any, vector: int, strides: tuple[int, ...]) -> Panel:
    """A cell for each access, with its thread and its values."""
    found: dict[Coordinate, list[tuple[int, int]]] = {}
    rank = len(region.extents)
    threads, values = (int(_core.size(tv, mode=[mode])) for mode in (0, 1))
    for thread in range(threads):
        for value in range(0, values, vector):
            found.setdefault(region.cell(_at(tv, thread, value, rank)), []).append((thread, value))

    def content(coordinate: Coordinate) -> Content:
        offset = sum((c + b) * d for c, b, d in zip(coordinate, region.begin, strides, strict=True))
        at = (("coordinate", region.name(coordinate)), ("offset", str(offset)))
        pairs = found.get(coordinate)
        if pairs is None:
            return Content(("-",), None, at, faded=True)
        thread, value = pairs[0]
        more = f"+{len(pairs) - 1}" if len(pairs) > 1 else ""
        shown = f"V{value}" if vector == 1 else f"V{value}-{value + vector - 1}"
        return Content((f"T{thread}{more}", shown), thread, (*at, *owner_hover(pairs)))

    return region.panel(title, subtitle, content)


def _registers(tv: Any, begin: list[int]) -> Panel:
    """What each thread of the first warp holds: a row for each thread, a column for each value."""
    threads, values = (int(_core.size(tv, mode=[mode])) for mode in (0, 1))
    rank = len(begin)
    rows, columns = shown_of(min(threads, WARP), ROWS), shown_of(values, VALUES)

    def content(thread: int, value: int) -> Content:
        at = tuple(c + b for c, b in zip(_at(tv, thread, value, rank), begin, strict=True))
        shown = ",".join(map(str, at))
        return Content((shown,), thread, (("thread", str(thread)), ("value", str(value)), ("coordinate", shown)))

    which = "threads" if threads <= WARP else f"the first {WARP} of {threads} threads"
    axes = tuple(
        (tuple(Label("…" if i is None else f"{letter}{i}") for i in shown),)
        for letter, shown in (("T", rows), ("V", columns))
    )
    return table(
        "registers", f"{which}; the coordinate in the tile of each of {values} values", (rows, columns),
        content, (axes[0], axes[1]),
    )  # fmt: skip
