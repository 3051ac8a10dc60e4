"""An analysis as a picture and as HTML: the worst request of each instruction, lanes over banks or over sectors."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tilewright import _core
from tilewright.show.drawing.picture import Picture, below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.analysis.instructions import Analysis, MemoryInstruction
    from tilewright.show.drawing.picture import Panel

__all__ = ["html", "picture", "svg"]


def svg(analysis: Analysis) -> str:
    """The picture in SVG."""
    return picture(analysis).svg()


def html(analysis: Analysis) -> str:
    """The table, the conclusions and the picture, for a notebook."""
    return f"{_table(analysis)}{picture(analysis)._repr_html_()}"


def picture(analysis: Analysis) -> Picture:
    """A panel for each instruction of lanes.

    >>> from tilewright import Float32, analysis, cute
    >>> print(picture(analysis.analyze(cute.make_layout(32, stride=2), Float32)).text(color=False))
    32:2: memory instructions of one warp, the worst request of each
    <BLANKLINE>
    load, LDG.E: 8 sectors in 2 lines, ideal 4
    sectors across, lines down; n+m: lane n and m more
            +0    +32    +64    +96
         +------+------+------+------+
     0x0 |  0+3 |  4+3 |  8+3 | 12+3 |
         +------+------+------+------+
    0x80 | 16+3 | 20+3 | 24+3 | 28+3 |
         +------+------+------+------+
    <BLANKLINE>
    neighbouring lanes are 8 bytes apart but access 4: let them access neighbouring elements
    """
    panels = [_lanes(x) for x in analysis if x.addresses]
    notes = [f"{x.name}: {x.note}" for x in analysis if x.note]
    if analysis.advice:
        notes.append(analysis.advice)
    head = f"{analysis.title}: " if analysis.title else ""
    return Picture(f"{head}memory instructions of {analysis.scope}, the worst request of each", below(*panels), notes)


def _table(analysis: Analysis) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    head, *rows = analysis.rows()
    body = "".join(row(cells, "td") for cells in rows)
    said = "".join(f"<p>{escape(line)}</p>" for line in analysis.conclusions())
    return f"<table>{row(head, 'th')}{body}</table>{said}"


def _lanes(x: MemoryInstruction) -> Panel:
    """The lanes of the worst request, of a matrix its rows, over banks or over sectors."""
    found = x.worst
    cost = None
    if found is not None:
        cost = (
            *(found.sectors, found.ideal_sectors, found.lines),
            *(found.wavefronts, found.ideal_wavefronts, found.alone or 0),
        )
    lanes = list(zip(x.lane_ids or range(len(x.addresses)), x.addresses, strict=True))
    draw = _core.picture.banks_panel if x.memory == "shared" else _core.picture.sectors_panel
    panel: Panel = draw(f"{x.name}, {x.sass}", x.op, x.width, lanes, cost)
    return panel
