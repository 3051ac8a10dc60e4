"""Requests as pictures: what one memory instruction takes beside the least that it could take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._core import LayoutError
from tilewright.analysis.boxes import LINE, SECTOR
from tilewright.analysis.instructions import Analysis
from tilewright.show.analysis.report import picture
from tilewright.show.drawing.picture import Cell, Entry, Label, Panel, Picture, below

if TYPE_CHECKING:
    from tilewright.analysis.access import Request
    from tilewright.analysis.boxes import BoxAccess
    from tilewright.analysis.cp_async import AsyncAccess
    from tilewright.analysis.instructions import MemoryInstruction

__all__ = ["async_picture", "box_picture", "instruction_picture", "request_picture"]

ACROSS = 8  # cells of a row
MOST, ROWS, SECTORS = 64, 32, 32  # cells; rows of a box, and sectors of a row
NEEDED, BEYOND = 0, 1  # colours
WHOLE, PART, ZEROS = 0, 1, 2


def request_picture(request: Request) -> Picture:
    """The sectors or wavefronts of a request, a cell each: those that its lanes need at least, and those beyond.

    Which lane takes which is not known of a request; `analyze` draws it. Raises LayoutError where no lane takes part.

    >>> from tilewright.analysis import warp_access
    >>> print(request_picture(warp_access(range(0, 192, 6), 2)).text(color=False))
    load of 2 bytes a lane, global memory
    <BLANKLINE>
    6 sectors in 2 lines, ideal 2
    32 lanes want 64 of 192 bytes; +n: beyond the ideal
    +----+----+----+----+----+----+
    |  1 |  2 | +1 | +2 | +3 | +4 |
    +----+----+----+----+----+----+
    """
    return Picture(_head(request), below(_panel(request)))


def async_picture(access: AsyncAccess) -> Picture:
    """The two sides of a cp.async, and below them what the hardware's counters and Nsight Compute say.

    >>> from tilewright.analysis import async_access
    >>> row = range(0, 512, 16)
    >>> picture = async_picture(async_access(row, row, 16))
    >>> picture.panels[0].panel.title, picture.notes[-1]
    ('16 sectors in 4 lines, ideal 16', 'Nsight Compute: 4 wavefronts, ideal 4')
    """
    sides = [x for x in (access.source, access.destination) if x.lanes]
    if not sides:
        raise LayoutError("show: a cp.async without lanes has nothing to draw")
    taken = "not known" if access.wavefronts is None else str(access.wavefronts)
    notes = (
        f"the hardware: {access.lookups} lookups, {access.asked_sectors} sectors asked for, wavefronts: {taken}",
        f"Nsight Compute: {access.counted} wavefronts, ideal {access.ideal_counted}",
    )
    return Picture(f"cp.async of {sides[0].width} bytes a lane", below(*map(_panel, sides)), notes)


def box_picture(box: BoxAccess) -> Picture:
    """The sectors that each row of a box touches, by the bytes of the tensor in them, and how much lies outside.

    Raises LayoutError where there are no rows, as of all boxes of a launch.

    >>> from tilewright import BFloat16, analysis, cute
    >>> rows = cute.make_layout((1000, 1000), stride=(1000, 1))
    >>> print(box_picture(analysis.box_access(rows, BFloat16, (2, 64), (0, 960))).text(color=False))
    load of 2 rows of 128 bytes, 160 of 256 bytes inside of the tensor
    <BLANKLINE>
    10 sectors, ideal 6
    sectors across, by their bytes of the tensor; rows down
            +0  +32  +64  +96  +128 out
          +----+----+----+----+----+----+
    0x780 | 32 | 32 | 16 |    |    | 48 |
          +----+----+----+----+----+----+
    0xf50 |    |    | 16 | 32 | 32 | 48 |
          +----+----+----+----+----+----+
    """
    if not box.rows:
        raise LayoutError("show: the boxes of a launch have no rows to draw; ask box_access for one of them")
    drawn = box.rows[:ROWS]
    wanted = max(-(-(start % LINE + inside) // SECTOR) for start, inside in drawn)
    count = min(wanted, SECTORS)
    cells = []
    for row, (start, inside) in enumerate(drawn):
        base = start // LINE * LINE
        for column in range(count):
            first = base + column * SECTOR
            held = min(first + SECTOR, start + inside) - max(first, start)
            hover = (("address", f"{first:#x}"), ("bytes", str(max(held, 0))))
            colour = WHOLE if held == SECTOR else PART
            cells.append(Cell(row, column, (str(held),) if held > 0 else (), colour if held > 0 else None, hover))
        zeros = box.span - inside
        cells.append(Cell(row, count, (str(zeros),) if zeros else (), ZEROS if zeros else None))
    labels = tuple(Label(f"+{i * SECTOR}") for i in range(count))
    cut = f"; {ROWS} of {len(box.rows)} rows are drawn" if len(box.rows) > ROWS else ""
    cut += f"; {SECTORS} of {wanted} sectors are drawn" if wanted > SECTORS else ""
    to = f" for {box.receivers} CTAs together" if box.receivers > 1 else ""
    beside = "out: not written" if box.op == "store" else "out: zeros"
    panel = Panel(
        f"{box.sectors} sectors{to}, ideal {box.ideal_sectors}",
        f"sectors across, by their bytes of the tensor; rows down{cut}", len(drawn), count + 1, tuple(cells),
        row_axis=(tuple(Label(f"{start:#x}") for start, _ in drawn),), column_axis=((*labels, Label("out")),),
        legend=(Entry(WHOLE, "whole sectors"), Entry(PART, "parts of sectors"), Entry(ZEROS, beside)),
    )  # fmt: skip
    size, rows = box.span * len(box.rows), f"{len(box.rows)} row{'s' * (len(box.rows) != 1)}"
    inside = sum(here for _, here in box.rows)
    return Picture(
        f"{box.op} of {rows} of {box.span} bytes, {inside} of {size} bytes inside of the tensor", below(panel)
    )


def instruction_picture(instruction: MemoryInstruction) -> Picture:
    """The worst request of an instruction, lanes over banks or over sectors, as the picture of an Analysis has it.

    Raises LayoutError where no lanes take part.

    >>> from tilewright import Float32, analysis, cute
    >>> found = analysis.analyze(cute.make_layout(32, stride=2), Float32)
    >>> instruction_picture(found["load"]).panels == cute.show(found).panels
    True
    """
    if not instruction.addresses:
        raise LayoutError(f"show: {instruction.name}, {instruction.sass}, has no lanes to draw")
    drawn = picture(Analysis([instruction]))
    return Picture(f"{instruction.name}, the worst request", drawn.panels, drawn.notes)


def _head(request: Request) -> str:
    row = "row" if request.op.endswith("matrix") else "lane"
    return f"{request.op} of {request.width} bytes a {row}, {request.memory} memory"


def _shown(number: int, ideal: int) -> tuple[tuple[str], int]:
    """The text and the colour of a cell."""
    return ((str(number),), NEEDED) if number <= ideal else ((f"+{number - ideal}",), BEYOND)


def _panel(request: Request) -> Panel:
    if not request.lanes:
        raise LayoutError("show: a request without lanes has nothing to draw")
    if request.memory == "global":
        count, ideal, what = request.sectors, request.ideal_sectors, "sector"
        where = f" in {request.lines} line{'s' * (request.lines != 1)}"
        wanted = f"{request.useful_bytes} of {request.bytes_moved} bytes"
    else:
        count, ideal, what = request.wavefronts, request.ideal_wavefronts, "wavefront"
        where = f", {request.ways}-way bank conflict" if request.ways > 1 else ""
        wanted = f"{request.useful_bytes} bytes"
    cells = tuple(
        Cell(i // ACROSS, i % ACROSS, *_shown(i + 1, ideal), ((what, f"{i + 1} of {count}"),))
        for i in range(min(count, MOST))
    )
    legend = [Entry(NEEDED, "needed")] + [Entry(BEYOND, "beyond the ideal")] * (count > ideal)
    beyond = "; +n: beyond the ideal" if count > ideal else ""
    cut = f"; {MOST} of {count} {what}s are drawn" if count > MOST else ""
    return Panel(
        f"{count} {what}{'s' * (count != 1)}{where}, ideal {ideal}",
        f"{request.lanes} lane{'s' * (request.lanes != 1)} want {wanted}{beyond}{cut}",
        -(-len(cells) // ACROSS), min(len(cells), ACROSS), cells, legend=tuple(legend),
    )  # fmt: skip
