"""A profile's lines as pictures: the worst request of each instruction, lanes over banks or over sectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._core import LayoutError
from tilewright.analysis.instructions import Analysis
from tilewright.show.analysis.report import picture
from tilewright.show.drawing.picture import Picture, below

if TYPE_CHECKING:
    from tilewright.lang.profiling.profile import Line, Profile

__all__ = ["line_picture", "profile_picture"]

MOST = 3  # lines


def line_picture(line: Line) -> Picture:
    """A panel for each memory instruction of a line. Raises LayoutError where it has none.

    >>> import numpy
    >>> from tilewright import cute
    >>> @cute.kernel
    ... def copy_kernel(x: cute.Tensor, y: cute.Tensor):
    ...     i, _, _ = cute.arch.thread_idx()
    ...     y[i] = x[i]
    >>> @cute.jit
    ... def copy(x: cute.Tensor, y: cute.Tensor):
    ...     copy_kernel(x, y).launch(block=[32, 1, 1])
    >>> found = cute.profile(copy, numpy.zeros(32, numpy.float32), numpy.zeros(32, numpy.float32))
    >>> print(cute.show(found.lines[-1]).text(color=False))
    line 4, y[i] = x[i]: memory instructions of the whole launch, the worst request of each
    <BLANKLINE>
    load x, LDG.E: 4 sectors in 1 line, ideal 4
    sectors across, lines down; n+m: lane n and m more
           +0    +32    +64    +96
        +------+------+------+------+
    0x0 |  0+7 |  8+7 | 16+7 | 24+7 |
        +------+------+------+------+
    <BLANKLINE>
    store y, STG.E: 4 sectors in 1 line, ideal 4
    sectors across, lines down; n+m: lane n and m more
           +0    +32    +64    +96
        +------+------+------+------+
    0x0 |  0+7 |  8+7 | 16+7 | 24+7 |
        +------+------+------+------+
    <BLANKLINE>
    load x: worst request in block 0, warp 0
    store y: worst request in block 0, warp 0
    """
    if not any(x.addresses for x in line.instructions):
        raise LayoutError(f"show: line {line.number} makes no requests to global or shared memory")
    return picture(line.analysis)


def profile_picture(profile: Profile) -> Picture:
    """The lines that are farthest from their ideals. Raises LayoutError where all take what they need."""
    worst = profile.worst[:MOST]
    if not worst:
        raise LayoutError("show: no line takes more than it needs; cute.show(profile.line(n)) draws line n")
    found = [x._replace(name=f"line {line.number}: {x.name}") for line in worst for x in line.instructions]
    panels = [placed.panel for placed in picture(Analysis(found)).panels]
    notes = [f"line {line.number}: {line.hint}" for line in worst]
    return Picture("the lines that are farthest from their ideals, the worst request of each", below(*panels), notes)
