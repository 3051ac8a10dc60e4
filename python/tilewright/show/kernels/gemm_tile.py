"""The picture of a GEMM plan's tile: who brings it, who multiplies it, and in which banks the accesses fall."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tilewright.analysis.bank_conflicts import BANKS, WORD
from tilewright.cute.atoms.mma_atom import make_mma_atom
from tilewright.cute.int_tuple import text
from tilewright.kernels.gemm.banks import CORE, shared_accesses
from tilewright.kernels.kernel import kernel_of
from tilewright.show.drawing.axes import axis_of, shown_of
from tilewright.show.drawing.picture import Label, Picture, Placed
from tilewright.show.drawing.tables import Content, table
from tilewright.show.kernels.gemm_owners import Owners, by_warp, loaded, multiplied
from tilewright.show.subjects.mma import mma_atom_picture

if TYPE_CHECKING:
    from tilewright.kernels.gemm.banks import SharedAccess
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.tables import GemmTables, OperandTable
    from tilewright.show.drawing.picture import Panel

__all__ = ["gemm_tile_picture"]

CORNER = 16  # elements of the detail, where it is no atom
MOST_LINES = 16  # of shared memory
CHUNK = CORE // WORD  # banks of 16 bytes
BESIDE, ACROSS = 8, 4  # columns of a panel of banks that stands beside others, and how many do


def gemm_tile_picture(plan: GemmPlan) -> Picture:
    """A plan's tile, read off `plan.tables()`: who brings it, who multiplies it, and the banks of shared memory.

    At the left a CTA's tile of C, coloured by the warp that multiplies, with the tiles of A and B around it, coloured
    by the warp (or the box of TMA) that brings them. At the right one atom, or a corner of the tile, thread by thread.
    Where slices share the steps along K, C names the first slice's, with the number of the others: W0+3; hovering
    names them all.
    Below, the lines of shared memory in which the first warp's first accesses fall, by bank: lanes whose words share a
    column wait for each other, and swizzles show as diagonals.

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> gemm_tile_picture(choose(problem_of(64, 64, 64, Float32), (16, 16, 16))).panels[2].panel.title
    'C (M,N)'
    """
    tables = plan.tables()
    how = f"tile {text(plan.tiler_mnk)}, {plan.threads} threads, {plan.stages} stage{'s' * (plan.stages > 1)}"
    placed = [*by_warp(plan, tables), *_detail(plan, tables)]
    smem = {"A": getattr(plan, "smem_a", ""), "B": getattr(plan, "smem_b", ""), "C": "boxes of 128 bytes by 64 rows"}
    lines: list[list[Panel]] = []  # of panels that stand beside each other
    for access, labels, also in _distinct(plan, tables):
        panel = _access_panel(access, labels, str(smem[access.operand]), also)
        if lines and len(lines[-1]) < ACROSS and max(panel.columns, lines[-1][-1].columns) <= BESIDE:
            lines[-1].append(panel)
        else:
            lines.append([panel])
    placed += [Placed(row, i, panel, free=True) for row, line in enumerate(lines, 2) for i, panel in enumerate(line)]
    return Picture(f"{kernel_of(plan).stem}: {how}", placed)


# ---- one atom, or a corner of the tile -------------------------------------------------------------------------------


def _detail(plan: GemmPlan, tables: GemmTables) -> list[Placed]:
    """One atom with its values, or a corner of the tile with its threads, to the right of the tile."""
    mma = tables.mma
    shape = "x".join(map(str, mma.shape_mnk))
    if mma.a is not None and mma.b is not None and mma.shape_mnk != (1, 1, 1):
        atom = mma_atom_picture(make_mma_atom(plan.tiled_mma.op))
        return [x._replace(column=2 + x.column, panel=_of_atom(x.panel, shape)) for x in atom.panels]
    m, n = (min(x, CORNER) for x in tables.tile[:2])
    c = multiplied(tables, "T", "thread", 1).corner(m, n)
    if tables.a.load.kind == "tma":
        a = "A and B" if tables.a.fragment is None else "B"
        given = "" if tables.a.fragment is None else ", and gets A from registers"
        of = f"of wgmma {shape}, which reads {a} from shared memory by itself{given}"
        return [Placed(1, 2, _corner(f"the first {m} x {n} of C: who has the sums", of, c))]
    k = min(tables.tile[2], CORNER)
    placed = [Placed(1, 3, _corner(f"the first {m} x {n} of C", "by the thread that multiplies", c))]
    for name, operand, rows, most, place in (
        ("A", tables.a, tables.tile[0], m, (1, 2)),
        ("B", tables.b, tables.tile[1], n, (0, 3)),
    ):
        of_operand = Owners(loaded(operand, (rows, tables.tile[2])), "thread", "T{}".format).corner(most, k)
        if name == "B":
            of_operand = of_operand._replace(owners=of_operand.owners.T)
        down = "; K runs down, N across" if name == "B" else ""
        title = f"the first {most} x {k} of {name}"
        placed.append(Placed(*place, _corner(title, f"by the thread that brings it{down}", of_operand)))
    return placed


def _of_atom(panel: Panel, shape: str) -> Panel:
    """A panel of an atom, with lane and register value in one line."""
    cells = tuple(cell._replace(lines=("".join(cell.lines),)) for cell in panel.cells)
    return panel._replace(title=f"{panel.title[0]} of one mma.sync {shape}", cells=cells)


def _corner(title: str, subtitle: str, owners: Owners) -> Panel:
    rows, columns = (shown_of(extent) for extent in owners.owners.shape)
    axes = axis_of(len(rows), rows), axis_of(len(columns), columns)
    return table(title, subtitle, (rows, columns), owners.content, axes)


# ---- accesses over the banks -----------------------------------------------------------------------------------------


def _distinct(plan: GemmPlan, tables: GemmTables) -> list[tuple[SharedAccess, dict[int, str], bool]]:
    """The accesses with the names of the places, and whether that of B, which is then left out, is as that of A."""
    found: list[tuple[SharedAccess, dict[int, str], bool]] = []
    for access in shared_accesses(plan):
        if not access.words:  # K = 0: nothing of A and B is there
            continue
        names, lines = _places(plan, tables, access.operand), _lines_of(access)
        labels = {word: x for word, x in names.items() if word // BANKS in lines}
        for i, (other, others, _) in enumerate(found):
            if replace(other, operand=access.operand) == access and others == labels:
                found[i] = (other, others, True)
                break
        else:
            found.append((access, labels, False))
    return found


def _lines_of(access: SharedAccess) -> list[int]:
    """The lines of 128 bytes that are drawn."""
    return sorted({word // BANKS for word in access.words})[:MOST_LINES]


def _access_panel(access: SharedAccess, labels: dict[int, str], smem: str, also: bool) -> Panel:
    """The lines of 128 bytes that an access touches, by bank: who accesses the words, below it the element there."""
    lines, unit = _lines_of(access), _unit(access)

    def content(row: int, column: int) -> Content:
        word = lines[row] * BANKS + column * unit
        own, bank = access.words.get(word, ()), column * unit
        shown = f"{own[0]}" + f"+{len(own) - 1}" * (len(own) > 1) if own else ""
        hover = (
            ("bank", str(bank) if unit == 1 else f"{bank} to {bank + unit - 1}"),
            ("address", str(word * WORD)),
            (f"{access.by}s", ", ".join(map(str, own)) or "none"),
            ("first element", labels.get(word - word % CHUNK, "")),
        )
        return Content((shown, labels.get(word, "")), own[0] if own else None, hover)

    title, subtitle = _access_caption(access, smem, also, unit)
    rows, columns = tuple(range(len(lines))), tuple(range(BANKS // unit))
    axes = (
        (tuple(Label(str(line * BANKS * WORD)) for line in lines),),
        (tuple(Label(str(column * unit)) for column in columns),),
    )
    return table(title, subtitle, (rows, columns), content, axes)


def _unit(access: SharedAccess) -> int:
    """The words of a column: as many as the same lanes access everywhere, 16 bytes at most."""
    words = access.words
    return next(
        unit
        for unit in (CHUNK, CHUNK // 2, 1)
        if all(words.get(word - word % unit + i) == own for word, own in words.items() for i in range(unit))
    )


def _access_caption(access: SharedAccess, smem: str, also: bool, unit: int) -> tuple[str, str]:
    verb = "written" if access.writes else "read"
    lanes = {lane for lanes in access.words.values() for lane in lanes}
    who = f"lanes 0 to {max(lanes)} at a time" if access.by == "lane" else "8 rows of 16 bytes by "
    if access.by == "row":
        who += "stmatrix" if access.writes else "wgmma"
    waves = f"{access.wavefronts} wavefront{'s' * (access.wavefronts > 1)}, {access.least} at least"
    modes = {"A": "(m,k)", "B": "(n,k)", "C": "(m,n)"}[access.operand]
    banks = "each bank" if unit == 1 else f"{unit} banks"
    more = f"; n+m: {access.by} n and m more" if any(len(lanes) > 1 for lanes in access.words.values()) else ""
    return (
        f"{access.operand} in shared memory, {verb}: {waves}" + ("; B is alike" if also else ""),
        f"{smem}; {who}{more}; a column for {banks}, of 4 bytes each; below, the first {modes} of 16 bytes",
    )


def _places(plan: GemmPlan, tables: GemmTables, operand: str) -> dict[int, str]:
    """The element with which each 16 bytes begin, by their first word: of a stage, or of the image of C."""
    if operand != "C":
        table, dtype = (tables.a, plan.problem.a_type) if operand == "A" else (tables.b, plan.problem.b_type)
        return _labels(table, dtype.bits // 8)
    size, store, coord = plan.problem.c_type.bits // 8, tables.store, tables.mma.c_coord
    assert store.smem_write is not None
    first = store.smem_write * size % CORE == 0
    if store.round_write is not None:
        first &= store.round_write == 0
    at = coord.reshape(*store.smem_write.shape, 2)[first]
    return {int(offset) * size // WORD: f"{m},{n}" for offset, (m, n) in zip(store.smem_write[first], at, strict=True)}


def _labels(table: OperandTable, size: int) -> dict[int, str]:
    """The element with which each 16 bytes of a stage begin."""
    load = table.load
    found = {}
    step = np.array([1, 0]) if load.mode == 0 else np.array([0, 1])
    for thread in range(load.coord.shape[0]):
        for access in range(load.coord.shape[1]):
            first = load.coord[thread, access]
            if first[0] < 0:
                continue
            for e, offset in enumerate(load.smem[thread, access]):
                if int(offset) * size % CORE == 0:
                    at = first + e * step
                    found[int(offset) * size // WORD] = f"{at[0]},{at[1]}"
    return found
