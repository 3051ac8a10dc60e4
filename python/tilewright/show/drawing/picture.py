"""What a picture is: panels of cells on a grid, as data; backends turn it into SVG, HTML, text, TikZ, PNG and PDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tilewright import _core
from tilewright.show.formats.export import png, save
from tilewright.show.formats.html import fragment, page
from tilewright.show.formats.pdf import pdf
from tilewright.show.formats.text import text
from tilewright.show.formats.tikz import tikz

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright._core import LayoutError

__all__ = ["Axis", "Cell", "Entry", "Hover", "Label", "Link", "Panel", "Picture", "Placed", "Rule", "below", "beside"]

Hover = tuple[tuple[str, str], ...]
"""What pointing at a cell shows: (name, text), such as ("offset", "12"); the names of all cells of a panel agree."""


class Cell(NamedTuple):
    """One cell of a panel.

    `lines` are its text, the first one above the others. `owner` is the number of a colour (thread, bank, mode, value);
    None leaves the cell light grey. A faded cell is pale, grey without an owner: what the picture is not about. A
    marked one has a thick frame: what is traced.
    """

    row: int
    column: int
    lines: tuple[str, ...] = ()
    owner: int | None = None
    hover: Hover = ()
    faded: bool = False
    marked: bool = False


class Label(NamedTuple):
    """A label of an axis that stands for `span` rows or columns."""

    text: str
    span: int = 1


Axis = tuple[tuple[Label, ...], ...]
"""The labels of rows or columns, level by level: the outermost first, the last one beside the cells."""


class Rule(NamedTuple):
    """A thick line after so many rows or columns, where a tile ends; its weight, 1 to 3, is that of the level."""

    after: int
    weight: int = 1


class Entry(NamedTuple):
    """An entry of a legend: a colour (None: light grey; faded as in a cell) and what it stands for."""

    owner: int | None
    text: str
    faded: bool = False


class Modes(NamedTuple):
    """The coordinates of a panel mode by mode, each as one number and in its shape's nesting.

    `rows` in mode 0, `columns` in mode 1 ("" where some are left out), `rest` of the whole panel in the others.
    """

    rows: tuple[tuple[str, str], ...]
    columns: tuple[tuple[str, str], ...]
    rest: tuple[tuple[str, str], ...] = ()


class Panel(NamedTuple):
    """A grid of cells with labelled axes, thick rules between tiles, and a legend.

    A place of the grid without a cell stays empty. `cells` may come in any order; backends draw by row and column.
    `modes` lets a picture of many cells say their coordinates in fewer letters.
    """

    title: str
    subtitle: str
    rows: int
    columns: int
    cells: tuple[Cell, ...]
    row_axis: Axis = ()
    column_axis: Axis = ()
    row_rules: tuple[Rule, ...] = ()
    column_rules: tuple[Rule, ...] = ()
    legend: tuple[Entry, ...] = ()
    modes: Modes | None = None


class Placed(NamedTuple):
    """A panel and where it stands: panels of one grid row have their cells level, those of one column flush left.

    Free ones are in no column: those of a row stand one beside the other at the left, each as wide as it is.
    """

    row: int
    column: int
    panel: Panel
    free: bool = False


class Link(NamedTuple):
    """An arrow from a cell to a cell, each (number of the panel, row, column), with a text: a traced coordinate."""

    start: tuple[int, int, int]
    end: tuple[int, int, int]
    text: str = ""


def beside(*panels: Panel) -> tuple[Placed, ...]:
    """Panels from left to right.

    >>> [(p.row, p.column) for p in beside(Panel("A", "", 0, 0, ()), Panel("B", "", 0, 0, ()))]
    [(0, 0), (0, 1)]
    """
    return tuple(Placed(0, i, panel) for i, panel in enumerate(panels))


def below(*panels: Panel) -> tuple[Placed, ...]:
    """Panels one below the other.

    >>> [(p.row, p.column) for p in below(Panel("A", "", 0, 0, ()), Panel("B", "", 0, 0, ()))]
    [(0, 0), (1, 0)]
    """
    return tuple(Placed(i, 0, panel) for i, panel in enumerate(panels))


class Picture:
    """A picture, as data: `title`, `panels` with their places, `links` between cells, and `notes`, lines below them.

    `error`: of an operation that has no result, the LayoutError that the picture explains, else None. `str()` is the
    text for a terminal; a notebook shows the HTML. Compared by value.

    >>> cell = Cell(0, 0, ("7",), owner=0, hover=(("offset", "7"),))
    >>> picture = Picture("one cell", beside(Panel("1:7", "", 1, 1, (cell,))), notes=("nothing else is drawn",))
    >>> print(picture.text(color=False))
    one cell
    <BLANKLINE>
    1:7
    +---+
    | 7 |
    +---+
    <BLANKLINE>
    nothing else is drawn
    """

    __slots__ = ("error", "links", "notes", "panels", "title")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        title: str,
        panels: Sequence[Placed],
        notes: Sequence[str] = (),
        links: Sequence[Link] = (),
        error: LayoutError | None = None,
    ) -> None:
        self.title, self.error = title, error
        self.panels = tuple(panels)
        self.notes = tuple(notes)
        self.links = tuple(links)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Picture):
            return NotImplemented
        mine, others = ((x.title, x.panels, x.notes, x.links) for x in (self, other))
        return mine == others

    def svg(self) -> str:
        """The picture in SVG: one file without script or other assets, for light and dark pages."""
        return _core.picture.svg(self)

    def html(self) -> str:
        """The picture as a page of its own, without other assets."""
        return page(self)

    def text(self, color: bool | None = None) -> str:
        """The picture as tables; coloured where standard output is a terminal and NO_COLOR is unset, or as asked."""
        return text(self, color)

    def tikz(self) -> str:
        """The picture as a LaTeX document with TikZ, which pdflatex compiles."""
        return tikz(self)

    def png(self, path: str | Path, scale: float = 2.0) -> None:
        """Write the picture as PNG, `scale` pixels for one of the SVG; OSError where the machine has no font for it."""
        png(self, path, scale)

    def pdf(self, path: str | Path) -> None:
        """Write the picture as PDF of one page; its text can be searched, and has ? for letters beyond Windows-1252."""
        Path(path).write_bytes(pdf(self.svg()))

    def save(self, path: str | Path) -> None:
        """Write the picture in the format of the path's ending: .svg .html .txt .tex .png .pdf; ValueError for others.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Picture("empty", ()).save(f"{folder}/empty.txt")
        ...     os.listdir(folder)
        ['empty.txt']
        """
        save(self, path)

    def _repr_html_(self) -> str:
        return fragment(self)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__
