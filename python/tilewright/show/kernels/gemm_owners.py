"""Who brings and who multiplies the elements of a CTA's tile, and the tile drawn by warp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.analysis.bank_conflicts import WARP
from tilewright.show.drawing.axes import shown_of
from tilewright.show.drawing.picture import Label, Placed
from tilewright.show.drawing.tables import Content, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.tables import GemmTables, OperandTable
    from tilewright.show.drawing.axes import Shown
    from tilewright.show.drawing.picture import Axis, Panel

__all__ = ["NOBODY", "Owners", "by_warp", "loaded", "multiplied", "tile_owners"]

NOBODY = -1
BLOCKS = 16  # rows and columns of blocks


class Owners(NamedTuple):
    """The owner of each element, an array (rows, columns); what an owner is, its name, and who that is."""

    owners: Any
    kind: str  # "thread", "warp" or "box"
    name: Callable[[int], str]
    who: Callable[[int], str] = str

    def content(self, row: int, column: int) -> Content:
        """The cell of an element."""
        owner = int(self.owners[row, column])
        if owner == NOBODY:
            return Content(("-",), None, ((self.kind, "none"),), faded=True)
        return Content((self.name(owner),), owner, ((self.kind, self.who(owner)),))

    def corner(self, rows: int, columns: int) -> Owners:
        """The first rows and columns."""
        return self._replace(owners=self.owners[:rows, :columns])


def tile_owners(plan: GemmPlan, tables: GemmTables) -> dict[str, Owners]:
    """A CTA's tile: C (m,n) by the warp that multiplies, A (m,k) and B (k,n) by the warp, or box, that brings them."""
    m, n, k = tables.tile
    parts = {"C": multiplied(tables, "W", "warp", WARP)}
    for side, (name, operand, rows) in enumerate((("A", tables.a, m), ("B", tables.b, n))):
        if operand.load.kind == "tma":  # boxes lie one behind the other along the rows
            boxes = plan.operands()[side].boxes  # type: ignore[attr-defined]
            owners = np.repeat(np.arange(boxes), rows // boxes)[:, None].repeat(k, axis=1)
            part = Owners(owners, "box", "box {}".format)
        else:
            part = Owners(loaded(operand, (rows, k)) // WARP, "warp", "W{}".format)
        parts[name] = part if name == "A" else part._replace(owners=part.owners.T)
    return parts


def multiplied(tables: GemmTables, letter: str, kind: str, threads: int) -> Owners:
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
        more = len(sharing[owner]) - 1
        return f"{letter}{owner}" + f"+{more}" * (more > 0)

    return Owners(c, kind, name, lambda owner: ", ".join(map(str, sharing[owner])))


def loaded(table: OperandTable, shape: tuple[int, int]) -> Any:
    """(rows, k): the thread that brings each element."""
    load = table.load
    owners = np.full(shape, NOBODY)
    valid = load.coord[..., 0] >= 0
    thread = np.broadcast_to(np.arange(len(valid))[:, None], valid.shape)
    for e in range(load.smem.shape[2]):
        at = load.coord + (np.array([e, 0]) if load.mode == 0 else np.array([0, e]))
        owners[at[valid][:, 0], at[valid][:, 1]] = thread[valid]
    return owners


# ---- by warp ---------------------------------------------------------------------------------------------------------


class Blocks(NamedTuple):
    """Runs of equal rows, or columns, of a matrix: where each begins."""

    starts: tuple[int, ...]

    @property
    def shown(self) -> Shown:
        return shown_of(len(self.starts), BLOCKS)

    @property
    def axis(self) -> Axis:
        """The first row of each run."""
        return (tuple(Label("…" if i is None else str(self.starts[i])) for i in self.shown),)


def _blocks(*matrices: Any) -> Blocks:
    """The runs of rows that are equal in all of the matrices."""
    changes = np.zeros(len(matrices[0]), bool)
    changes[0] = True
    for matrix in matrices:
        changes[1:] |= (matrix[1:] != matrix[:-1]).any(axis=1)
    return Blocks(tuple(int(i) for i in np.flatnonzero(changes)))


def by_warp(plan: GemmPlan, tables: GemmTables) -> list[Placed]:
    """A CTA's tile of C, with those of A to its left and of B above it, block by block; in two rows and columns."""
    parts = tile_owners(plan, tables)
    a, b, c = (parts[name].owners for name in "ABC")  # B has K as rows
    along_m, along_n, along_k = _blocks(c, a), _blocks(c.T, b.T), _blocks(a.T, b)
    brought = f"by the {'box of TMA' if parts['A'].kind == 'box' else 'warp'} that brings it"
    by = "the warp that multiplies"
    if (slices := getattr(plan, "sliced_k", 1)) > 1:
        by = f"the warps that multiply (W0+{slices - 1}: one for each of {slices} slices of K)"

    def panel(name: str, rows: Blocks, columns: Blocks, says: str) -> Panel:
        def content(i: int, j: int) -> Content:
            return parts[name[0]].content(rows.starts[i], columns.starts[j])

        return table(name, says, (rows.shown, columns.shown), content, (rows.axis, columns.axis))

    return [
        Placed(0, 1, panel("B (N,K)", along_k, along_n, f"{brought}; K runs down, N across")),
        Placed(1, 0, panel("A (M,K)", along_m, along_k, brought)),
        Placed(1, 1, panel("C (M,N)", along_m, along_n, f"by {by}; labels: first rows of blocks")),
    ]
