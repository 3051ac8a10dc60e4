"""Pictures of when a GEMM plan does what: the tiles along K in its stages, and the tiles of C that it does together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from tilewright.cute.int_tuple import text
from tilewright.kernels.kernel import kernel_of
from tilewright.show.drawing.axes import axis_of, cut_note, shown_of
from tilewright.show.drawing.picture import Label, Picture, beside
from tilewright.show.drawing.tables import Content, table

if TYPE_CHECKING:
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.simt.plan import GemmSimt
    from tilewright.kernels.gemm.sm90.plan import GemmSm90

__all__ = ["gemm_order_picture", "gemm_stages_picture", "tiles_at_once"]

COLORS = 8  # of tiles along K: those that are told apart best


def gemm_stages_picture(plan: GemmPlan) -> Picture:
    """Which tile along K each stage holds, step by step: on its way, arrived, or multiplied.

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> picture = gemm_stages_picture(choose(problem_of(64, 64, 64, Float32), (16, 16, 16)))
    >>> [cell.lines for cell in picture.panels[0].panel.cells if "multiply" in cell.lines[0]][:2]  # of the first stage
    [('multiply 0',), ('multiply 6',)]
    """
    pipe = plan.tables().pipeline
    steps = range(-pipe.ahead, 2 * pipe.stages + 2)

    def content(stage: int, column: int) -> Content:
        step = steps[column]
        tiles = range(steps.stop + pipe.ahead)
        tile = next((i for i in tiles if i % pipe.stages == stage and _holds(pipe, i, step)), None)
        at = (("stage", str(stage)), ("step", str(step) if step >= 0 else "before"))
        if tile is None:
            return Content(("",), None, (*at, ("holds", "nothing")))
        what = _state(pipe, tile, step)
        return Content((what,), tile % COLORS, (*at, ("holds", what)), faded=what == str(tile))

    rows, columns = tuple(range(pipe.stages)), tuple(range(len(steps)))
    axes = (
        (tuple(Label(f"stage {stage}") for stage in rows),),
        (tuple(Label(f"step {step}" if step >= 0 else "before") for step in steps),),
    )
    panel = table(
        "",
        "a row for each stage, a column for each step along K; the number is the tile along K; pale: on its way",
        (rows, columns),
        content,
        axes,
    )
    how = f"{pipe.stages} stage{'s' * (pipe.stages > 1)}, loads {pipe.ahead} ahead"
    return Picture(f"{kernel_of(plan).stem}: {how}", beside(panel))


def _holds(pipe: Any, tile: int, step: int) -> bool:
    """Whether a stage belongs to a tile in a step: from its load to its last read."""
    return bool(tile - pipe.ahead <= step <= tile - pipe.first_read)


def _state(pipe: Any, tile: int, step: int) -> str:
    """What is said of a tile that a stage holds: its number alone while it is on its way."""
    if tile - pipe.last_read <= step <= tile - pipe.first_read:
        return ("load, " if pipe.ahead == 0 else "") + f"multiply {tile}"
    return f"{tile}"


def _order(plan: GemmPlan) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """The tiles (m, n) of C in the order in which they are taken, and how many of them a cluster takes together.

    Runs of tiles along M: within a run m is the fastest, then n; then the next run.
    """
    p, (bm, bn, _) = plan.problem, plan.tiler_mnk
    cluster = getattr(plan, "cluster_mn", (1, 1))
    rows, columns = -(-p.m // (bm * cluster[0])), -(-p.n // (bn * cluster[1]))
    run = plan.tile_run
    taken = [
        (m, n) for start in range(0, rows, run) for n in range(columns) for m in range(start, min(start + run, rows))
    ]
    return taken, cluster


def tiles_at_once(plan: GemmPlan, multiprocessors: int = 132) -> tuple[list[tuple[int, int]], int]:
    """The tiles of C that are done at the same time at the beginning, and the bytes of A and B that a step needs.

    Each row of A and each column of B is counted once, for it is in the L2 when it is needed again.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.sm90.build import choose
    >>> plan = choose(problem_of(8192, 8192, 8192, Float16), (16, 16, 16))
    >>> [tiles_at_once(plan.replace(group=group))[1] for group in (2, 16)]
    [1146880, 557056]
    """
    taken, cluster = _order(plan)
    count = multiprocessors * plan.min_ctas_per_sm
    count = min(count, plan.ctas) // (math.prod(cluster) * getattr(plan, "split_k", 1))
    if getattr(plan, "stream_k_ctas", 0):  # the first CTAs begin within tiles, the last shares first
        shares = cast("GemmSimt | GemmSm90", plan).stream_k
        begun = {shares.first_tile(worker) for worker in range(min(count, shares.workers))}
        first = [tile for i, tile in enumerate(taken) if i in begun]
    else:
        first = taken[: max(count, 1)]
    tiles = [
        (m * cluster[0] + i, n * cluster[1] + j) for m, n in first for j in range(cluster[1]) for i in range(cluster[0])
    ]
    p, (bm, bn, bk) = plan.problem, plan.tiler_mnk
    a = len({m for m, _ in tiles}) * bm * bk * p.a_type.bits // 8
    b = len({n for _, n in tiles}) * bn * bk * p.b_type.bits // 8
    return tiles, a + b


def gemm_order_picture(plan: GemmPlan, multiprocessors: int = 132) -> Picture:
    """The tiles of C that are done at the same time at the beginning, coloured by the row of A that they need.

    ValueError where C is empty.

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> gemm_order_picture(choose(problem_of(4096, 4096, 64, Float32), (16, 16, 16))).title
    'gemm_simt: 264 of 32 x 32 tiles of (128,128) at a time'
    """
    p, (bm, bn, _) = plan.problem, plan.tiler_mnk
    if 0 in (p.m, p.n):
        raise ValueError(f"plan.svg: C is {p.m} x {p.n}, so that it has no tiles whose order could be drawn")
    tiles, needed = tiles_at_once(plan, multiprocessors)
    rows, columns = -(-p.m // bm), -(-p.n // bn)
    number = {tile: str(i) for i, tile in enumerate(tiles)}

    def content(m: int, n: int) -> Content:
        at = number.get((m, n))
        hover = (("tile", text((m, n))), ("first element", text((m * bm, n * bn))), ("number", at or "later"))
        return Content((at or "",), None if at is None else m, hover)

    shown = shown_of(rows), shown_of(columns)
    panel = table(
        "",
        f"numbered in their order; a step along K needs {needed // 1024} KiB of A and B",
        shown,
        content,
        (axis_of(rows, shown[0]), axis_of(columns, shown[1])),
    )
    cut = cut_note("C in tiles", rows, columns)
    head = f"{kernel_of(plan).stem}: {len(tiles)} of {rows} x {columns} tiles of {text((bm, bn))} at a time"
    return Picture(head, beside(panel), [cut] if cut else [])
