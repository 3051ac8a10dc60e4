"""Pictures of multiplications as the PTX manual draws them: A to the left of C, B above it, coloured by thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.cute.atoms.mma_atom import make_mma_atom
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.tiled.tiled_mma import OPERAND_MODES
from tilewright.show.drawing.picture import Picture
from tilewright.show.subjects.tv import owners_of

if TYPE_CHECKING:
    from tilewright.cute.atoms.mma_atom import MmaAtom
    from tilewright.cute.atoms.mma_ops import MmaOp
    from tilewright.cute.tiled.tiled_mma import TiledMma
    from tilewright.show.drawing.picture import Panel
    from tilewright.show.subjects.tv import Owners

__all__ = ["first_elements", "mma_atom_picture", "mma_op_picture", "tiled_mma_picture"]

ROW = 16  # bytes of a row of the matrices in which an instruction reads shared memory


class Held(NamedTuple):
    """Who has which element of an operand, counted (m or n) + rows * (k or n), and the layout that says so."""

    owners: Owners
    layout: Any

    def own(self, thread: int) -> int:
        """The different elements that a thread has."""
        found = 0
        for pairs in self.owners.values():
            for t, _ in pairs:
                if t == thread:
                    found += 1
                    break
        return found


def _held(tiled: TiledMma, name: str) -> Held:
    """Who has which element of an operand of a TiledMma."""
    m, n = OPERAND_MODES[name]
    extents = tiled.get_tile_size(m), tiled.get_tile_size(n)
    try:
        layout = getattr(tiled, f"tv_layout_{name}_tiled")
    except _core.LayoutError:  # threads that have parts of the same sums of C; their partitions say which
        return Held(_by_partitions(tiled, extents), "by partition_C: several threads have parts of a sum")
    return Held(owners_of(layout, extents), layout)


def _by_partitions(tiled: TiledMma, extents: tuple[int, int]) -> Owners:
    found: Owners = {}
    tile = Tensor(0, _core.make_layout(extents))
    for thread in range(tiled.size):
        part = tiled.get_slice(thread).partition_C(tile)
        for value, offset in enumerate(part.layout.offsets().tolist()):
            found.setdefault(offset + int(part.iterator), []).append((thread, value))
    return found


def _from_shared(x: MmaAtom, operand: str) -> bool:
    traits = x.traits
    return bool({"A": traits.smem_a, "B": traits.smem_b, "C": False}[operand])


def _product(
    x: MmaAtom, title: str, extents: tuple[int, int, int], held: dict[str, Held], only: int | None = None
) -> Picture:
    operands: list[Any] = []
    for name in "ABC":
        dtype = x.dtype_of(name)
        if name in held:
            operands.append((name, f"{dtype.__name__}, {held[name].layout}", held[name].owners, 0))
        else:
            says = f"in shared memory: matrices of 8 rows of 16 bytes, {dtype.__name__}"
            operands.append((name, says, None, 8 * ROW // dtype.bits))
    blocks = x.shape_mnk if extents != x.shape_mnk else None
    drawn = _core.picture.matrices(extents, operands, blocks, only)
    return Picture(title, drawn.panels, drawn.notes)


def first_elements(tiled: TiledMma, name: str, rows: int, columns: int) -> tuple[str, bool, Panel]:
    """Of operand A or B the first elements of its tile, which repeats: what it is, if it is in registers, a panel."""
    m, n = OPERAND_MODES[name]
    if in_registers := not _from_shared(tiled, name):
        extents = tiled.get_tile_size(m), tiled.get_tile_size(n)
        known = _held(tiled, name).owners
        owners = {
            i + rows * j: known[at]
            for i in range(rows)
            for j in range(columns)
            if (at := i % extents[0] + extents[0] * (j % extents[1])) in known
        }
        says = f"thread and value of the first elements; the tile {text(extents)} repeats"
        operand: tuple[Any, ...] = (name, says, owners, 0)
    else:
        says = "read from shared memory in matrices of 8 rows of 16 bytes"
        operand = (name, says, None, 8 * ROW // tiled.dtype_of(name).bits)
    shape = [1, 1, columns]
    shape[m] = rows
    return says, in_registers, _core.picture.matrices(tuple(shape), [operand], None, None).panels[0].panel


def mma_atom_picture(atom: MmaAtom) -> Picture:
    """The matrices of one instruction: which thread has which value of A, B and C.

    An operand that the instruction itself reads from shared memory shows its matrices of 8 rows of 16 bytes.

    >>> from tilewright import Float16, Float32, cute
    >>> atom = cute.make_mma_atom(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)))
    >>> print(cute.show(atom).title)
    MmaF16BF16Op, (M,N,K) = (16,8,16), 32 threads
    """
    held = {}
    for name, (m, n) in OPERAND_MODES.items():
        if not _from_shared(atom, name):
            layout = getattr(atom, f"tv_layout_{name}")
            held[name] = Held(owners_of(layout, (atom.shape_mnk[m], atom.shape_mnk[n])), layout)
    threads = int(_core.size(atom.thr_id))
    title = f"{type(atom.op).__name__}, (M,N,K) = {text(atom.shape_mnk)}, {threads} thread{'s' * (threads > 1)}"
    return _product(atom, title, atom.shape_mnk, held)


def mma_op_picture(op: MmaOp) -> Picture:
    """One instruction of a multiply operation: the picture of its atom.

    >>> from tilewright import Float16, Float32, cute
    >>> op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 8))
    >>> cute.show(op) == cute.show(cute.make_mma_atom(op))
    True
    """
    return mma_atom_picture(make_mma_atom(op))


def tiled_mma_picture(tiled: TiledMma, *, thread: int | None = None) -> Picture:
    """The tile of a TiledMma: which thread has which value of A, B and C; thick lines part the atoms.

    `T0+3`: three more threads have the same element. With `thread`, that thread's elements stand out. Raises ValueError
    for a thread that there is not.

    >>> from tilewright import Float32, cute
    >>> tiled = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (2, 4, 1))
    >>> print(cute.show(tiled, thread=3).notes[0])
    thread 3 has 1 of A, 1 of B, 1 of C
    """
    if thread is not None and not 0 <= thread < tiled.size:
        raise ValueError(f"show: there is no thread {thread}; this TiledMma has threads 0 to {tiled.size - 1}")
    extents = (tiled.get_tile_size(0), tiled.get_tile_size(1), tiled.get_tile_size(2))
    held = {name: _held(tiled, name) for name in "ABC" if not _from_shared(tiled, name)}
    title = f"TiledMma of {type(tiled.op).__name__}, tile (M,N,K) = {text(extents)}, {tiled.size} threads"
    drawn = _product(tiled, title, extents, held, thread)
    if thread is None:
        return drawn
    has = f"thread {thread} has " + ", ".join(f"{x.own(thread)} of {name}" for name, x in held.items())
    return Picture(f"{title}, thread {thread}", drawn.panels, (has, *drawn.notes))
