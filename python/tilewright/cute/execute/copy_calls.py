"""Calls of a copy atom: what the instruction demands of the tensors, and the calls themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.cute.atoms.copy_atom import CopyAtom
from tilewright.cute.execute.copy_elements import clear, move, require_same_width, sizes_of
from tilewright.cute.tensors.pointer import AddressSpace
from tilewright.cute.tensors.tensor import Tensor

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

__all__ = ["check_side", "check_types", "execute", "name_of", "require_atom", "same_sizes"]


def check_side(function: str, atom: CopyAtom, name: str, tensor: Tensor, offsets: Array) -> None:
    """offsets[v, call] are the elements of the calls; what has to be true of them where the tensor is memory."""
    pointer = tensor.iterator
    spaces = getattr(atom.traits, f"{name}_spaces")
    if pointer.memspace not in spaces:
        verb = "reads" if name == "src" else "writes"
        raise ValueError(
            f"{function}: {atom.op} {verb} {' or '.join(map(str, spaces))} memory, but {name} is {tensor}; "
            "choose the operation for these memories"
        )
    row = getattr(atom, f"{name}_row")
    if row == 1 or pointer.memspace is AddressSpace.rmem or not offsets.size:
        return  # registers are named one by one
    rows = offsets.reshape(row, -1, order="F")
    steps = rows - rows[0]
    apart = (steps != _column(row)).any(axis=0)
    if apart.any():
        found = rows[:, int(apart.argmax())]
        raise ValueError(
            f"{function}: {name_of(atom)} accesses {row} elements of {name} side by side, but {tensor} has them at the "
            f"offsets {', '.join(map(str, found[:8]))}{', ..' if row > 8 else ''}; use a narrower copy or another "
            "thread-value layout"
        )
    bits = pointer.dtype.bits
    needed = row * bits // 8
    base = getattr(atom, f"{name}_alignment")
    known = pointer.alignment
    if known < base:
        raise ValueError(
            f"{function}: {name_of(atom)} needs {name} aligned to {base} bytes, but the pointer of {tensor} has "
            f"align<{known}>; where the address allows it, say so (from_dlpack(.., assumed_align={base})), "
            "or use a narrower copy"
        )
    astray = rows[0] * bits % (8 * needed) != 0
    if astray.any():
        first = int(rows[0][int(astray.argmax())])
        raise ValueError(
            f"{function}: {name_of(atom)} accesses {needed} bytes of {name} at a multiple of {needed}, but {tensor} "
            f"has a vector at offset {first}, {first * bits // 8} bytes after an aligned address; pad the strides or "
            "use a narrower copy"
        )


def name_of(atom: CopyAtom) -> str:
    """The call that makes the atom, of a tiled copy too."""
    return CopyAtom.__repr__(atom)


def _column(n: int) -> Array:
    return np.arange(n)[:, None]


def check_types(function: str, atom: CopyAtom, src: Tensor, dst: Tensor) -> None:
    require_same_width(function, src, dst)
    width = src.iterator.dtype.bits
    if atom.value_type.bits != width:
        raise TypeError(
            f"{function}: the atom copies elements of {atom.value_type.bits} bits ({atom.value_type}), but the tensors "
            f"have elements of {width} bits ({src.iterator.dtype}); make the atom for that type or recast the tensors"
        )


def require_atom(function: str, atom: Any) -> Any:
    if not isinstance(atom, CopyAtom):
        raise TypeError(f"{function}: expected a CopyAtom or a TiledCopy, but got {atom!r}; make_copy_atom makes one")
    return atom


def same_sizes(function: str, src: Tensor, dst: Tensor) -> tuple[int, ...]:
    a, b = sizes_of(function, "src", src), sizes_of(function, "dst", dst)
    if len(a) != len(b):
        raise ValueError(f"{function}: src {src} has {len(a)} modes and dst {dst} has {len(b)}; they need the same")
    for mode, (m, n) in enumerate(zip(a, b, strict=True)):
        if m != n:
            raise ValueError(
                f"{function}: mode {mode} has size {m} in src {src} and {n} in dst {dst}; they need the same"
            )
    return a


def execute(
    function: str, atom: CopyAtom, src: Tensor, read: Array, dst: Tensor, write: Array, chosen: Array | None
) -> None:
    """Calls of an atom, one a column: read[v, call] and write[v, call] are offsets."""
    skipped = None
    if chosen is not None:
        read, write, skipped = read[:, chosen], write[:, chosen], write[:, ~chosen]
    check_side(function, atom, "src", src, read)
    check_side(function, atom, "dst", dst, write)
    move(function, src, read.ravel("F"), dst, write.ravel("F"))
    if skipped is not None and atom.traits.zero_fills:
        check_side(function, atom, "dst", dst, skipped)
        clear(function, dst, skipped.ravel("F"))
