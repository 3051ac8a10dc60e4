"""Pictures of multiplications as the PTX manual draws them: A to the left of C, B above it, coloured by thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.cute.atoms.mma_atom import make_mma_atom
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.tiled.tiled_mma import OPERAND_MODES
from tilewright.show.drawing.axes import MOST, axis_of, cut_note, shown_of
from tilewright.show.drawing.picture import Picture, Placed
from tilewright.show.drawing.tables import Content, ends, owner_hover, table
from tilewright.show.subjects.tv import owners_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.cute.atoms.mma_atom import MmaAtom
    from tilewright.cute.atoms.mma_ops import MmaOp
    from tilewright.cute.tiled.tiled_mma import TiledMma
    from tilewright.show.subjects.tv import Owners

__all__ = ["mma_atom_picture", "mma_op_picture", "operand_contents", "product_panels", "tiled_mma_picture"]

SIDE = 44  # rows and columns of C, and as many of K, of what has more than ROOM cells
ROOM = 6 << 10
MATRIX = 8, 16  # rows, and bytes of each, of the matrices in which an instruction reads shared memory


def product_panels(
    extents: tuple[int, int, int],
    contents: dict[str, Callable[[int, int], Content | None]],
    says: dict[str, str],
    blocks: tuple[int, int, int] | None = None,
) -> tuple[list[Placed], list[str]]:
    """A, B and C around a product (M,N,K), each filled by a function of its coordinate (m,k), (n,k) or (m,n).

    `blocks` are the extents after which thick lines stand. Also the notes on what is left out.
    """
    m, n, k = (min(extent, MOST) for extent in extents)
    most = MOST if m * n + m * k + n * k <= ROOM else SIDE
    shown = tuple(shown_of(extent, most) for extent in extents)
    axes = tuple(axis_of(extent, x) for extent, x in zip(extents, shown, strict=True))
    rules = tuple(ends(b, x) if b > 1 else () for b, x in zip(blocks or (1, 1, 1), shown, strict=True))
    placed, notes = [], []
    for name, (row, column), place in (("B", (2, 1), (0, 1)), ("A", (0, 2), (1, 0)), ("C", (0, 1), (1, 1))):
        if name not in contents:
            continue
        fill = contents[name]
        panel = table(
            f"{name} ({'MNK'[OPERAND_MODES[name][0]]},{'MNK'[OPERAND_MODES[name][1]]})",
            says.get(name, "") + ("; K runs down, N across" if name == "B" else ""),
            (shown[row], shown[column]),
            _transposed(fill) if name == "B" else fill,
            (axes[row], axes[column]),
            (rules[row], rules[column]),
        )
        placed.append(Placed(*place, panel))
        note = cut_note(name, extents[row], extents[column], most)
        notes += [note] if note else []
    return placed, notes


def _transposed(fill: Callable[[int, int], Content | None]) -> Callable[[int, int], Content | None]:
    return lambda i, j: fill(j, i)


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


def _filled(owners: Owners, rows: int, letter: str, only: int | None = None) -> Callable[[int, int], Content]:
    """By coordinate: thread and value; those of other threads than `only` are pale."""
    every = only is None

    def content(i: int, j: int) -> Content:
        pairs = owners.get(i + rows * j)
        at = (("coordinate", f"({i},{j})"),)
        if pairs is None:
            return Content(("-",), None, at, faded=True)
        own = () if every else [pair for pair in pairs if pair[0] == only]
        thread, value = (own or pairs)[0]
        shared = len(pairs) > 1 and not own
        lines = (f"T{thread}+{len(pairs) - 1}" if shared else f"T{thread}", f"{letter}{value}")
        return Content(lines, thread, at + owner_hover(own or pairs), not own and not every, bool(own))

    return content


def _from_shared(x: MmaAtom, operand: str) -> bool:
    traits = x.traits
    return bool({"A": traits.smem_a, "B": traits.smem_b, "C": False}[operand])


def _matrices(x: MmaAtom, operand: str) -> Callable[[int, int], Content]:
    """An operand that the instruction reads from shared memory, in matrices of 8 rows of 16 bytes."""
    rows, columns = MATRIX[0], MATRIX[1] * 8 // x.dtype_of(operand).bits

    def content(i: int, j: int) -> Content:
        place = (i // rows, j // columns)
        lines = (f"{i},{j}",) if i % rows == 0 and j % columns == 0 else ("",)
        hover = (("coordinate", f"({i},{j})"), ("matrix", text(place)), ("from", "shared memory"))
        return Content(lines, place[0] + 3 * place[1], hover)

    return content


def _product(
    x: MmaAtom, extents: tuple[int, int, int], held: dict[str, Held], only: int | None = None
) -> tuple[list[Placed], list[str]]:
    contents: dict[str, Callable[[int, int], Content | None]] = {}
    says = {}
    for name in "ABC":
        if name not in held:
            contents[name] = _matrices(x, name)
            says[name] = f"in shared memory: matrices of 8 rows of 16 bytes, {x.dtype_of(name).__name__}"
        else:
            rows = extents[OPERAND_MODES[name][0]]
            contents[name] = _filled(held[name].owners, rows, name.lower(), only)
            says[name] = f"{x.dtype_of(name).__name__}, {held[name].layout}"
    return product_panels(extents, contents, says, x.shape_mnk if extents != x.shape_mnk else None)


def operand_contents(tiled: TiledMma, name: str) -> tuple[str, bool, Callable[[int, int], Content]]:
    """Of operand A or B of a TiledMma's tile, which repeats: what it is, whether it is in registers, and its cells."""
    if _from_shared(tiled, name):
        return "read from shared memory in matrices of 8 rows of 16 bytes", False, _matrices(tiled, name)
    m, n = OPERAND_MODES[name]
    extents = tiled.get_tile_size(m), tiled.get_tile_size(n)
    fill = _filled(_held(tiled, name).owners, extents[0], name.lower())
    says = f"thread and value of the first elements; the tile {text(extents)} repeats"
    return says, True, lambda i, j: fill(i % extents[0], j % extents[1])


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
    panels, notes = _product(atom, atom.shape_mnk, held)
    threads = int(_core.size(atom.thr_id))
    return Picture(
        f"{type(atom.op).__name__}, (M,N,K) = {text(atom.shape_mnk)}, {threads} thread{'s' * (threads > 1)}",
        panels,
        notes,
    )


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
    panels, notes = _product(tiled, extents, held, thread)
    about = ""
    if thread is not None:
        about = f", thread {thread}"
        notes = [f"thread {thread} has " + ", ".join(f"{x.own(thread)} of {name}" for name, x in held.items()), *notes]
    return Picture(
        f"TiledMma of {type(tiled.op).__name__}, tile (M,N,K) = {text(extents)}, {tiled.size} threads{about}",
        panels,
        notes,
    )
