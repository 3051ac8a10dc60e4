"""Pictures of GEMM plans: one CTA's tile by warp, beside it A and B in shared memory, below the threads' registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.cute.int_tuple import text
from tilewright.kernels.kernel import kernel_of
from tilewright.show.drawing.picture import Label, Picture, Placed
from tilewright.show.drawing.tables import Content, table
from tilewright.show.kernels.copy_plan import Region, shared_panel
from tilewright.show.kernels.gemm_owners import NOBODY, by_warp
from tilewright.show.subjects.mma import first_elements

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.kernels.gemm.composite.padded import PaddedGemm
    from tilewright.kernels.gemm.composite.residue import ResidueGemm
    from tilewright.kernels.gemm.composite.split_k import SplitKGemm
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.tables import GemmTables
    from tilewright.show.drawing.picture import Panel

__all__ = ["gemm_plan_picture", "padded_gemm_picture", "residue_gemm_picture", "split_k_gemm_picture"]

_LOADS = {"tma": "TMA", "cp.async": "cp.async", "registers": "loads into registers"}
_STORES = {"tma": "by TMA", "direct": "from the registers", "shared": "through shared memory"}
CORNER = (16, 8, 16)  # elements along M, N and K: those of the usual mma.sync
BESIDE = 16  # columns of shared memory, up to which it stands beside C
CORE = 16  # bytes that lie side by side under every swizzle


def gemm_plan_picture(plan: GemmPlan, *, of: str | None = None) -> Picture:
    """A GEMM plan: the tile of a CTA, its registers, and shared memory; or what `of` names.

    The tile is drawn block by block, by the warps that bring A and B and multiply C. Of the registers, the first
    elements of A, B and C are shown with thread and value. Of shared memory, one stage, coloured by bank.

    `of` is "tile", the tile with the first access of each kind over the banks of shared memory, "stages", what each
    stage holds step by step, or "order", which tiles of C are done together. Raises ValueError for others.

    >>> from tilewright import Float32, cute
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> print(cute.show(choose(problem_of(64, 64, 64, Float32), (16, 16, 16))).title)  # doctest: +ELLIPSIS
    gemm_simt, ... tile (M,N,K) = ...
    """
    if of is not None:
        pictures = kernel_of(plan).pictures
        if not isinstance(of, str) or of not in pictures:
            raise ValueError(f"show: there is no picture of {of!r}, but of {', '.join(pictures)}")
        return pictures[of](plan)  # type: ignore[no-any-return]
    tables = plan.tables()
    panels = [*by_warp(plan, tables), *_registers(plan, tables), *_shared(plan, tables)]
    notes = ["A and B have changed places: the plan computes C transposed"] if plan.swapped else []
    p = plan.problem
    a, b, c = (
        f"{text((*extents, *p.batch))}:{text(strides)}"  # K may be 0, which is no extent of a Layout
        for extents, strides in (((p.m, p.k), p.a_strides), ((p.n, p.k), p.b_strides), ((p.m, p.n), p.c_strides))
    )
    notes.append(
        f"global memory: A {a} by {_LOADS[tables.a.load.kind]}, B {b} by {_LOADS[tables.b.load.kind]}, "
        f"C {c} {_STORES[tables.store.kind]}"
    )
    title = (
        f"{kernel_of(plan).stem}, a CTA of {plan.threads} threads: tile (M,N,K) = {text(tables.tile)}, {plan.stages} "
        f"stage{'s' * (plan.stages > 1)}, {plan.shared_bytes} bytes of shared memory"
    )
    return Picture(title, panels, notes)


def padded_gemm_picture(plan: PaddedGemm) -> Picture:
    """A GEMM whose operands are copied before: the picture of its GEMM, and what is copied."""
    picture = gemm_plan_picture(plan.gemm)
    copies = [
        f"{name} is copied first: {copy.kernel} copy, tile {text(copy.tile)}; show(plan.copy_{name.lower()}) draws it"
        for name, copy in (("A", plan.copy_a), ("B", plan.copy_b))
        if copy is not None
    ]
    return Picture(picture.title, picture.panels, [*picture.notes, *copies], picture.links)


def _shown(plan: Any) -> Picture:
    """The picture of a plan of any kind."""
    from tilewright.show.registry import show

    return show(plan)


def residue_gemm_picture(plan: ResidueGemm) -> Picture:
    """A GEMM whose last rows or columns are one of their own: the picture of the first, and where the other begins."""
    picture = _shown(plan.gemm)
    what = ("rows", "columns")[plan.along]
    note = f"the {what} of C from {plan.begin} on are a GEMM of their own; show(plan.residue) draws it"
    return Picture(picture.title, picture.panels, [*picture.notes, note], picture.links)


def split_k_gemm_picture(plan: SplitKGemm) -> Picture:
    """A GEMM in parts along K: the picture of their GEMM, and how their sums become C."""
    picture = _shown(plan.gemm)
    note = (
        f"each of {plan.parts} parts of K has sums of its own in a workspace; a second kernel of {plan.sum.ctas} CTAs "
        "adds them up in their order, and finishes C"
    )
    return Picture(picture.title, picture.panels, [*picture.notes, note], picture.links)


# ---- registers -------------------------------------------------------------------------------------------------------


def _registers(plan: GemmPlan, tables: GemmTables) -> list[Placed]:
    """The first elements of C, and of A and B, with thread and register."""
    m, n, k = (min(extent, most) for extent, most in zip(tables.tile, CORNER, strict=True))
    where = tables.mma.c_coord
    threads = len(where)
    of = np.full((2, *tables.tile[:2]), NOBODY)
    number = np.arange(where[0, ..., 0].size).reshape(where.shape[1:-1])
    holders = np.zeros(tables.tile[:2], int)
    for thread in reversed(range(threads)):  # of several that have parts of a sum, the first one is named
        at = where[thread, ..., 0], where[thread, ..., 1]
        of[0][at], of[1][at] = thread, number
        holders[at] += 1

    def c_content(i: int, j: int) -> Content:
        thread, value = int(of[0, i, j]), int(of[1, i, j])
        hover = (("coordinate", f"({i},{j})"), ("thread", str(thread)), ("register", str(value)))
        more = f"+{holders[i, j] - 1}" if holders[i, j] > 1 else ""
        return Content((f"T{thread}{more}", f"c{value}"), thread, hover)

    def panel(name: str, says: str, rows: int, columns: int, content: Callable[[int, int], Content]) -> Panel:
        shown = tuple(range(rows)), tuple(range(columns))
        axes = tuple((tuple(Label(str(i)) for i in axis),) for axis in shown)
        return table(name, says, (shown[0], shown[1]), content, (axes[0], axes[1]))

    def operand(name: str, rows: int) -> Panel:
        says, in_registers, drawn = first_elements(plan.tiled_mma, name, rows, k)
        return drawn._replace(title=f"{name} in registers" if in_registers else name, subtitle=says)

    return [
        Placed(2, 1, operand("A", m)),
        Placed(2, 2, operand("B", n)),
        Placed(
            2,
            3,
            panel("C in registers", f"the first {m} x {n}; {number.size} sums a thread", m, n, c_content),
        ),
    ]


# ---- shared memory ---------------------------------------------------------------------------------------------------


def _shared(plan: GemmPlan, tables: GemmTables) -> list[Placed]:
    """A stage of A and of B: beside C, or below all else where they are wide."""
    m, n, k = tables.tile
    found = []
    for column, name, rows, dtype in ((2, "A", m, plan.problem.a_type), (3, "B", n, plan.problem.b_type)):
        smem: Any = getattr(plan, f"smem_{name.lower()}")
        size = dtype.bits // 8
        modes = "(m,k)" if name == "A" else "(n,k)"
        mode, unit = run_of(smem, (rows, k), max(CORE // size, 1))
        region = Region.of((rows, k), (0, 0), unit, mode)
        panel = shared_panel(
            f"{name} in shared memory",
            f"{smem}; offset of each {modes} in stage 0, in elements, coloured by bank; {region.says}",
            region,
            _first_stage(smem),
            size,
        )
        found.append(Placed(1, column, panel))
    if all(placed.panel.columns <= BESIDE for placed in found):
        return found
    return [Placed(3 + i, 1, placed.panel) for i, placed in enumerate(found)]


def _first_stage(smem: Any) -> Callable[[tuple[int, ...]], int]:
    return lambda at: int(smem((at[0], at[1], 0)))


def run_of(smem: Any, extents: tuple[int, int], most: int) -> tuple[int, int]:
    """The mode of (rows, k) along which elements lie side by side, and how many do so everywhere: `most` at most.

    So many begin at multiples of their number, so that they do not straddle banks in which they need not be.
    """
    stage = smem.offsets()[: extents[0] * extents[1]].reshape(extents, order="F")
    for mode, lines in ((1, stage), (0, stage.T)):
        unit = most
        while unit > 1:
            if lines.shape[1] % unit == 0:
                runs = lines.reshape(-1, unit)
                if (runs[:, :1] % unit == 0).all() and (runs == runs[:, :1] + np.arange(unit)).all():
                    return mode, unit
            unit //= 2
    return 1, 1
