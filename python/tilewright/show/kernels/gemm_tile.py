"""The picture of a GEMM plan: who brings and who multiplies what of a CTA's tile, and the banks of shared memory."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.analysis.bank_conflicts import BANKS, WARP, WORD
from tilewright.cute.int_tuple import text
from tilewright.kernels.gemm.banks import CORE, SharedAccess, shared_accesses
from tilewright.kernels.kernel import kernel_of
from tilewright.show.drawing.palette import thread_color
from tilewright.show.kernels.gemm_matrix import BANK, LETTER, NOBODY, Matrix, Picture, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.tables import GemmTables, OperandTable

__all__ = ["draw_gemm"]

TILE = 320.0  # pixels of the longer side of a CTA's tile of C
CORNER = 16  # elements of the detail, where it is no atom
CELL_HEIGHT = 18.0
LEFT, GAP, HEAD = 24.0, 40.0, 44.0


def draw_gemm(plan: GemmPlan) -> str:
    """A plan as a picture, in SVG, for which it is read off `plan.tables()`.

    At the left a CTA's tile of C, coloured by the warp that multiplies, with the tiles of A and B around it, coloured
    by the warp (or the box of TMA) that brings them. At the right one atom, or a corner of the tile, thread by thread.
    Where slices share the steps along K, C names the first slice's, with the number of the others: W0+3; hovering
    names them all.
    Below, the lines of shared memory in which the first warp's first accesses fall, a column for each bank: lanes whose
    words share a column wait for each other, and swizzles show as diagonals.

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> draw_gemm(choose(problem_of(64, 64, 64, Float32), (16, 16, 16))).startswith("<svg")
    True
    """
    tables = plan.tables()
    picture = Picture(f"{kernel_of(plan).stem} of a tile {text(plan.tiler_mnk)}")
    scale = TILE / max(plan.tiler_mnk[:2])
    how = f"tile {text(plan.tiler_mnk)}, {plan.threads} threads, {plan.stages} stage{'s' * (plan.stages > 1)}"
    width = picture.heading(LEFT, 22, f"{kernel_of(plan).stem}: {how}", _caption(plan, tables))
    top = 22 + HEAD
    right = picture.product(_tile_parts(plan, tables), LEFT + 40, top, (scale, scale))
    m, _, k = plan.tiler_mnk
    bottom = top + (m + k) * scale + 16
    parts, caption = _detail_parts(tables)
    letters = max(len(x.name(int(owner))) for x in parts.values() for owner in np.unique(x.owners))
    cell = (LETTER * letters + 6, CELL_HEIGHT)
    x = max(right, LEFT) + GAP
    width = max(width, picture.heading(x, top, caption[0], caption[1]))
    depth = parts["A"].owners.shape[1] if "A" in parts else 0
    width = max(width, picture.product(parts, x + 40 * (depth > 0), top + HEAD, cell))
    bottom = max(bottom, top + HEAD + (parts["C"].owners.shape[0] + depth) * CELL_HEIGHT + 16)
    smem = {"A": getattr(plan, "smem_a", ""), "B": getattr(plan, "smem_b", ""), "C": "boxes of 128 bytes by 64 rows"}
    for access, labels, also in _distinct(plan, tables):
        title, subtitle = _access_caption(access, str(smem[access.operand]), also)
        width = max(width, picture.heading(LEFT, bottom + 24, title, subtitle), LEFT + 50 + BANKS * BANK)
        bottom = picture.banks(access, labels, LEFT + 50, bottom + 24 + HEAD)
    return picture.render(math.ceil(width + 16), bottom + 16)


def _caption(plan: GemmPlan, tables: GemmTables) -> str:
    if tables.a.load.kind == "tma":
        return "C by the warp that multiplies, A and B by the box of TMA that brings them"
    by = "the warp that multiplies"
    if (slices := getattr(plan, "slices", 1)) > 1:
        by = f"the warps that multiply (W0+{slices - 1}: one for each of {slices} slices of K)"
    return f"C by {by}, A and B by the warp that brings them"


def _warps(letter: str) -> tuple[Callable[[int], str], Callable[[int], str]]:
    return lambda x: "" if x == NOBODY else f"{letter}{x}", lambda x: "nobody" if x == NOBODY else f"warp {x}"


def _tile_parts(plan: GemmPlan, tables: GemmTables) -> dict[str, Matrix]:
    """A CTA's tile, warp by warp."""
    m, n, k = tables.tile
    parts = {"C": _multiplied(tables, "W", "warp", WARP)}
    for side, (name, table, rows) in enumerate((("A", tables.a, m), ("B", tables.b, n))):
        if table.load.kind == "tma":  # boxes lie one behind the other along the rows
            boxes = plan.operands()[side].boxes  # type: ignore[attr-defined]
            owners = np.repeat(np.arange(boxes), rows // boxes)[:, None].repeat(k, axis=1)
            named = (lambda x: f"box {x}", lambda x: f"box {x}")
        else:
            owners, named = _loaded(table, (rows, k)) // WARP, _warps("W")
        parts[name] = Matrix(owners if name == "A" else owners.T, *named)
    return parts


def _multiplied(tables: GemmTables, letter: str, unit: str, threads: int) -> Matrix:
    """C by the warp, or by any so many threads; of those that share elements the first one, and how many more."""
    where = tables.mma.c_coord
    c = np.full(tables.tile[:2], NOBODY)
    sharing: dict[int, list[int]] = {}
    for i in range(0, len(where), threads):
        rows, columns = where[i : i + threads, ..., 0], where[i : i + threads, ..., 1]
        first = int(c[rows.flat[0], columns.flat[0]])
        if first == NOBODY:
            first = i // threads
            c[rows, columns] = first
        sharing.setdefault(first, []).append(i // threads)

    def name(owner: int) -> str:
        if owner == NOBODY:
            return ""
        more = len(sharing[owner]) - 1
        return f"{letter}{owner}" + f"+{more}" * (more > 0)

    def hover(owner: int) -> str:
        if owner == NOBODY:
            return "nobody"
        every = sharing[owner]
        return f"{unit}{'s' * (len(every) > 1)} {', '.join(map(str, every))}"

    return Matrix(c, name, hover)


def _loaded(table: OperandTable, shape: tuple[int, int]) -> Any:
    """(rows, k): the thread that brings each element."""
    load = table.load
    owners = np.full(shape, NOBODY)
    valid = load.coord[..., 0] >= 0
    thread = np.broadcast_to(np.arange(len(valid))[:, None], valid.shape)
    for e in range(load.smem.shape[2]):
        at = load.coord + (np.array([e, 0]) if load.mode == 0 else np.array([0, e]))
        owners[at[valid][:, 0], at[valid][:, 1]] = thread[valid]
    return owners


def _detail_parts(tables: GemmTables) -> tuple[dict[str, Matrix], tuple[str, str]]:
    """One atom with its values, or a corner of the tile with its threads; and what is said above it."""
    mma = tables.mma
    if mma.a is not None and mma.b is not None and mma.shape_mnk != (1, 1, 1):
        return _atom_parts(tables)
    m, n = (min(x, CORNER) for x in tables.tile[:2])
    c = _multiplied(tables, "T", "thread", 1)

    def named(owners: Any) -> Matrix:
        return Matrix(owners, lambda x: "" if x == NOBODY else f"T{x}", lambda x: f"thread {x}")

    parts = {"C": c._replace(owners=c.owners[:m, :n])}
    if tables.a.load.kind == "tma":
        shape = "x".join(map(str, mma.shape_mnk))
        a = "A and B" if tables.a.fragment is None else "B"
        given = "" if tables.a.fragment is None else ", and gets A from registers"
        return parts, (
            f"the first {m} x {n} of C: who has the sums",
            f"of wgmma {shape}, which reads {a} from shared memory by itself{given}",
        )
    depth = min(tables.tile[2], CORNER)
    parts["A"] = named(_loaded(tables.a, (tables.tile[0], tables.tile[2]))[:m, :depth])
    parts["B"] = named(_loaded(tables.b, (tables.tile[1], tables.tile[2]))[:n, :depth].T)
    return parts, (f"the first {m} x {n} of C", "by the thread that multiplies, A and B by the thread that brings them")


def _atom_parts(tables: GemmTables) -> tuple[dict[str, Matrix], tuple[str, str]]:
    """A, B and C of an atom: (lane, value) packed into one number; lanes alone where values have two digits."""
    mma = tables.mma
    assert mma.a is not None
    assert mma.b is not None
    m, n, k = mma.shape_mnk
    few = mma.a.shape[1] <= 10
    parts = {}
    for name, layout, shape in (("A", mma.a, (m, k)), ("B", mma.b, (n, k)), ("C", mma.c, (m, n))):
        lanes, values = layout.shape
        owners = np.full(shape, NOBODY)
        owners[layout % shape[0], layout // shape[0]] = np.arange(lanes)[:, None] + np.arange(values) * WARP * few
        parts[name] = Matrix(
            owners.T if name == "B" else owners,
            partial(_value_name, name.lower() if few else ""),
            lambda x: f"lane {x % WARP}" + (f", value {x // WARP}" if few else ""),
            lambda x: thread_color(x % WARP),
        )
    return parts, (f"one mma.sync {m}x{n}x{k}", f"lane{' and register value' * few} of each element")


def _distinct(plan: GemmPlan, tables: GemmTables) -> list[tuple[SharedAccess, dict[int, str], bool]]:
    """The accesses with the names of the places, and whether that of B, which is then left out, is as that of A."""
    found: list[tuple[SharedAccess, dict[int, str], bool]] = []
    for access in shared_accesses(plan):
        if not access.words:  # K = 0: nothing of A and B is there
            continue
        names, lines = _places(plan, tables, access.operand), lines_of(access)
        labels = {word: x for word, x in names.items() if word // BANKS in lines}
        for i, (other, others, _) in enumerate(found):
            if replace(other, operand=access.operand) == access and others == labels:
                found[i] = (other, others, True)
                break
        else:
            found.append((access, labels, False))
    return found


def _value_name(letter: str, packed: int) -> str:
    return f"T{packed % WARP}" + (f"{letter}{packed // WARP}" if letter else "")


def _access_caption(access: SharedAccess, smem: str, also: bool) -> tuple[str, str]:
    verb = "written" if access.writes else "read"
    lanes = {lane for lanes in access.words.values() for lane in lanes}
    who = f"lanes 0 to {max(lanes)} at a time" if access.by == "lane" else "8 rows of 16 bytes by "
    if access.by == "row":
        who += "stmatrix" if access.writes else "wgmma"
    waves = f"{access.wavefronts} wavefront{'s' * (access.wavefronts > 1)}, {access.least} at least"
    modes = {"A": "(m,k)", "B": "(n,k)", "C": "(m,n)"}[access.operand]
    more = "; T0+n: n more lanes" if any(len(lanes) > 1 for lanes in access.words.values()) else ""
    return (
        f"{access.operand} in shared memory, {verb}: {waves}" + ("; B is alike" if also else ""),
        f"{smem}; {who}; a column for each bank of 4 bytes; below, the first {modes} of 16 bytes{more}",
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
    return {
        int(offset) * size // WORD: f"({m},{n})" for offset, (m, n) in zip(store.smem_write[first], at, strict=True)
    }


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
                    found[int(offset) * size // WORD] = f"({at[0]},{at[1]})"
    return found
