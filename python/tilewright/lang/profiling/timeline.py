"""What the warps of a block do when, by executing the kernel on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilewright._notebook import drawn
from tilewright.lang.profiling.launches import time, whole_memory_of
from tilewright.lang.profiling.profile import traced_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.lang.profiling.launches import Timed

__all__ = ["Span", "Timeline", "TimelineLaunch", "timeline"]


class Span(NamedTuple):
    """Steps [begin, end) of a warp, and the line of Python that begins them.

    doing: "run" (from its first step to its last), what it waits for ("mbarrier", "barrier", "cluster barrier"), or
    what it asked for that is under way ("bulk load", "bulk store", "cp.async", "wgmma"). barrier: the number of a named
    one, or the byte of an mbarrier in shared memory, else None.
    """

    warp: int
    doing: str
    begin: int
    end: int
    line: int
    barrier: int | None


class TimelineLaunch(NamedTuple):
    """One launch: its kernel, and the spans of the block's warps, by warp and first step."""

    kernel: str
    spans: tuple[Span, ...]

    @property
    def steps(self) -> int:
        """Steps from the first one to the end of the last warp."""
        return max((span.end for span in self.spans), default=0)


@drawn
class Timeline:
    """What `timeline` returns; `cute.show(x)` draws it."""

    def __init__(self, launches: list[Timed], block: int, again: Callable[[int], list[Timed]]) -> None:
        self.number = block
        self.launches = tuple(
            TimelineLaunch(
                launch.kernel,
                tuple(
                    Span(*span[:5], None if span[5] < 0 else span[5])
                    for span in sorted(launch.spans, key=lambda span: (span[0], span[2], -span[3]))
                ),
            )
            for launch in launches
        )
        self._again = again

    def block(self, number: int) -> Timeline:
        """The same of another block, by its number in the grid."""
        return Timeline(self._again(number), number, self._again)

    def __repr__(self) -> str:
        lines = []
        for launch in self.launches:
            lines.append(f"{launch.kernel}, block {self.number}: {launch.steps} steps")
            for run in (span for span in launch.spans if span.doing == "run"):
                mine = [span for span in launch.spans if span.warp == run.warp and span is not run]
                said = [
                    f"{doing} {sum(span.end - span.begin for span in mine if span.doing == doing)}"
                    for doing in dict.fromkeys(span.doing for span in mine)
                ]
                lines.append(f"  warp {run.warp}: " + ", ".join([f"{run.end} steps", *said]))
        return "\n".join(lines)


def timeline(function: Callable[..., object], *args: object, **kwargs: object) -> Timeline:
    """Which warp of block 0 does what when, for each launch of a @cute.jit function: executed on the CPU, on copies.

    Time is counted in steps, not in cycles: a warp executes one instruction of the executor a step, all warps at the
    same time, and a wait ends in the step of the last arrival. Copies and products take no time of their own. They are
    under way from the step that asks for them to the first one that has waited for them: that is how long they may
    take without anybody's waiting longer.

    Raises: TypeError for what is no such function.
    Source: tilewright.

    >>> import numpy
    >>> from tilewright import cute
    >>> @cute.kernel
    ... def two_warps(x: cute.Tensor):
    ...     i, _, _ = cute.arch.thread_idx()
    ...     if cute.arch.warp_idx() == 1:
    ...         for k in range(10):
    ...             x[i] += k
    ...     cute.arch.sync_threads()
    >>> @cute.jit
    ... def run(x: cute.Tensor):
    ...     two_warps(x).launch(block=[64, 1, 1])
    >>> spans = timeline(run, numpy.zeros(64, numpy.int32)).launches[0].spans
    >>> [(span.warp, span.doing, span.line) for span in spans if span.doing != "run"]
    [(0, 'barrier', 7)]
    """
    traced, leaves = traced_call("timeline", function, args, kwargs)
    wholes = whole_memory_of((*args, *kwargs.values()))

    def again(block: int) -> list[Timed]:
        return time(traced, leaves, wholes, block)

    return Timeline(again(0), 0, again)
