"""Pictures of when a GEMM plan does what: the tiles along K in its stages, and the tiles of C that it does together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from tilewright.cute.int_tuple import text
from tilewright.kernels.kernel import kernel_of
from tilewright.show.drawing.palette import thread_color
from tilewright.show.formats.svg_tables import Svg

if TYPE_CHECKING:
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.simt.plan import GemmSimt

__all__ = ["draw_order", "draw_stages", "tiles_at_once"]

LEFT, TOP, HEAD = 24.0, 22.0, 50.0
STEP, SLOT = 76.0, 30.0
SIDE = 480.0  # pixels of the longer side of C
PALE = "none"  # the page is seen


def draw_stages(plan: GemmPlan) -> str:
    """Which tile along K each stage holds, step by step: on its way, arrived, or multiplied.

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> draw_stages(choose(problem_of(64, 64, 64, Float32), (16, 16, 16))).startswith("<svg")
    True
    """
    pipe = plan.tables().pipeline
    picture = Svg(f"the stages of {kernel_of(plan).stem}")
    first, steps = -pipe.ahead, 2 * pipe.stages + 2
    width = picture.heading(
        LEFT,
        TOP,
        f"{kernel_of(plan).stem}: {pipe.stages} stage{'s' * (pipe.stages > 1)}, loads {pipe.ahead} ahead",
        "a row for each stage, a column for each step along K; the number is the tile along K; pale: on its way",
    )
    left, top = LEFT + 60, TOP + HEAD
    for slot in range(pipe.stages):
        picture.text(LEFT + 24, top + (slot + 0.5) * SLOT, f"stage {slot}", "g")
    for step in range(first, steps):
        x = left + (step - first) * STEP
        picture.text(x + STEP / 2, top - 9, f"step {step}" if step >= 0 else "before", "g")
        held = {tile % pipe.stages: tile for tile in range(steps + pipe.ahead) if _holds(pipe, tile, step)}
        for slot in range(pipe.stages):
            what, fill = _state(pipe, held.get(slot), step)
            picture.cell(x, top + slot * SLOT, STEP, SLOT, fill, [(SLOT / 2, what, "s")], what or "empty")
    end = left + (steps - first) * STEP
    return picture.render(math.ceil(max(width, end) + 16), top + pipe.stages * SLOT + 20)


def _holds(pipe: Any, tile: int, step: int) -> bool:
    """Whether a stage belongs to a tile in a step: from its load to its last read."""
    return bool(tile - pipe.ahead <= step <= tile - pipe.first_read)


def _state(pipe: Any, tile: int | None, step: int) -> tuple[str, str]:
    if tile is None:
        return "", PALE
    color = thread_color(tile % 8)
    if tile - pipe.last_read <= step <= tile - pipe.first_read:
        return ("load, " if pipe.ahead == 0 else "") + f"multiply {tile}", color
    return f"{tile}", thread_color(tile % 8 + 16)


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
    count = min(count, plan.ctas) // (math.prod(cluster) * getattr(plan, "splits", 1))
    if getattr(plan, "streams", 0):  # the first CTAs begin within tiles, the last shares first
        simt = cast("GemmSimt", plan)
        begun = {begin // simt.steps for begin in simt.shares[:-1][-count:]}
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


def draw_order(plan: GemmPlan, multiprocessors: int = 132) -> str:
    """The tiles of C that are done at the same time at the beginning, coloured by the row of A that they need.

    ValueError where C is empty.

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> draw_order(choose(problem_of(4096, 4096, 64, Float32), (16, 16, 16))).startswith("<svg")
    True
    """
    p, (bm, bn, _) = plan.problem, plan.tiler_mnk
    if 0 in (p.m, p.n):
        raise ValueError(f"plan.svg: C is {p.m} x {p.n}, so that it has no tiles whose order could be drawn")
    tiles, needed = tiles_at_once(plan, multiprocessors)
    rows, columns = -(-p.m // bm), -(-p.n // bn)
    picture = Svg(f"the tiles of {kernel_of(plan).stem}")
    width = picture.heading(
        LEFT,
        TOP,
        f"{len(tiles)} of {rows} x {columns} tiles of {text((bm, bn))} at a time",
        f"numbered in their order; a step along K needs {needed // 1024} KiB of A and B",
    )
    scale = SIDE / max(rows * bm, columns * bn)
    left, top, number = LEFT, TOP + HEAD - 12, {tile: i for i, tile in enumerate(tiles)}
    w, h = bn * scale, bm * scale
    for m in range(rows):
        for n in range(columns):
            i = number.get((m, n))
            fill = PALE if i is None else thread_color(m)
            lines = [(h / 2, str(i), "s")] if i is not None and w >= 20 and h >= 11 else []
            picture.cell(left + n * w, top + m * h, w, h, fill, lines, f"tile {text((m, n))}")
    return picture.render(math.ceil(max(width, left + columns * w) + 16), top + rows * h + 16)
