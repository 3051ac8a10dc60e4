"""What the warps of a block do when, as a picture: warps down, steps across."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from tilewright.show.drawing.picture import Cell, Entry, Label, Panel, Picture, Rule, below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.lang.profiling.timeline import Span, Timeline, TimelineLaunch

__all__ = ["timeline_picture"]

COLUMNS = 48
LABELLED = 8  # columns that one label stands for
COLOURS = {
    "run": (0, "runs"),
    "bulk load": (1, "TMA loads under way"),
    "wgmma": (2, "wgmma under way"),
    "bulk store": (3, "TMA stores under way"),
    "cp.async": (4, "cp.async under way"),
    "mbarrier": (None, "w: waits at an mbarrier"),
    "barrier": (5, "b: waits at a named barrier"),
    "cluster barrier": (6, "c: waits at the cluster's barrier"),
}
LETTERS = {"mbarrier": "w", "barrier": "b", "cluster barrier": "c"}
UNDER_WAY = ("bulk load", "cp.async", "wgmma", "bulk store")


def timeline_picture(timeline: Timeline) -> Picture:
    """A panel for each launch; warps that do the same at the same time share a row.

    >>> import numpy
    >>> from tilewright import cute
    >>> @cute.kernel
    ... def meet_kernel(x: cute.Tensor):
    ...     cute.arch.sync_threads()
    >>> @cute.jit
    ... def meet(x: cute.Tensor):
    ...     meet_kernel(x).launch(block=[64, 1, 1])
    >>> picture = cute.show(cute.timeline(meet, numpy.zeros(1, numpy.int32)))
    >>> [label.text for label in picture.panels[0].panel.row_axis[0]]
    ['warps 0 to 1']
    """
    panels = [_panel(launch, timeline.number) for launch in timeline.launches]
    return Picture(
        "which warp does what when",
        below(*panels),
        [
            "a step is one instruction of the CPU's executor in each warp, not a cycle",
            "a copy or product is under way until the first wait for it has ended; it takes no steps of its own",
        ],
    )


def _panel(launch: TimelineLaunch, block: int) -> Panel:
    each = max(1, -(-launch.steps // COLUMNS))
    columns = max(1, -(-launch.steps // each))
    warps = sorted({span.warp for span in launch.spans})
    drawn = [(warp, _rows([span for span in launch.spans if span.warp == warp], columns, each)) for warp in warps]
    cells: list[Cell] = []
    names, rules, kinds, owners = [], [], [], set()
    row = 0
    for rows, same in groupby(drawn, key=lambda one: one[1]):
        members = [warp for warp, _ in same]
        names.append(Label(_named(members), len(rows)))
        for kind, found in rows:
            kinds.append(Label(kind))
            for column, doing, count, line in found:
                steps = f"{column * each} to {min((column + 1) * each, launch.steps) - 1}"
                hover = (
                    ("steps", steps),
                    ("does", COLOURS[doing][1].split(": ")[-1]),
                    ("line", str(line) if line else "-"),
                )
                text = (str(count),) if doing in UNDER_WAY else (LETTERS[doing],) if doing in LETTERS else ()
                cells.append(Cell(row, column, text, COLOURS[doing][0], hover))
                owners.add(doing)
            row += 1
        rules.append(Rule(row))
    steps_of = [(first, min(first + LABELLED, columns)) for first in range(0, columns, LABELLED)]
    axis = tuple(
        Label(f"{first * each} to {min(end * each, launch.steps) - 1}", end - first) for first, end in steps_of
    )
    legend = tuple(Entry(owner, text) for doing, (owner, text) in COLOURS.items() if doing in owners)
    return Panel(
        f"{launch.kernel}, block {block}", f"{launch.steps} steps, {each} in a column; n: so many at once",
        row, columns, tuple(cells), (tuple(names), tuple(kinds)), (axis,), tuple(rules[:-1]), (), legend,
    )  # fmt: skip


def _named(warps: Sequence[int]) -> str:
    if len(warps) == 1:
        return f"warp {warps[0]}"
    return f"warps {warps[0]} to {warps[-1]}"


Row = tuple[str, tuple[tuple[int, str, int, int], ...]]


def _rows(spans: Sequence[Span], columns: int, each: int) -> tuple[Row, ...]:
    """A warp's own row, and one of each kind that is under way: (column, doing, how many, line)."""
    end = max(span.end for span in spans if span.doing == "run")
    waits = [span for span in spans if span.doing != "run" and span.doing not in UNDER_WAY]
    itself = []
    for column in range(columns):
        first, last = column * each, min((column + 1) * each, end)
        if first >= end:
            break
        within = {span: _shared(span, first, last) for span in waits}
        waited = sum(within.values())
        if 2 * waited > last - first:
            longest = max(within, key=lambda span: within[span])
            itself.append((column, longest.doing, 1, longest.line))
        else:
            itself.append((column, "run", 1, 0))
    rows: list[Row] = [("warp", tuple(itself))]
    for doing in UNDER_WAY:
        mine = [span for span in spans if span.doing == doing]
        found = []
        for column in range(columns):
            here = [span for span in mine if _shared(span, column * each, (column + 1) * each) > 0]
            if here:
                found.append((column, doing, _at_once(here), here[0].line))
        if mine:
            rows.append(({"bulk load": "TMA", "bulk store": "store"}.get(doing, doing), tuple(found)))
    return tuple(rows)


def _shared(span: Span, first: int, last: int) -> int:
    return max(0, min(span.end, last) - max(span.begin, first))


def _at_once(spans: Sequence[Span]) -> int:
    """How many of them are under way in one step at most."""
    return max(sum(x.begin <= span.begin < x.end for x in spans) for span in spans)
