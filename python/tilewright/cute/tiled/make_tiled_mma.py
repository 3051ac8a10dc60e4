"""Tiled multiplications made of an atom, a layout of atoms and permutations, with the conditions that these meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.atoms.mma_atom import MmaAtom, require_op
from tilewright.cute.atoms.mma_ops import MmaOp
from tilewright.cute.int_tuple import text
from tilewright.cute.layout_error import layout_error
from tilewright.cute.tiled.tiled_mma import TiledMma

if TYPE_CHECKING:
    from tilewright._core import Layout
    from tilewright.cute.int_tuple import Shape, Tiler

__all__ = ["make_tiled_mma"]


def make_tiled_mma(
    op_or_atom: MmaOp | MmaAtom,
    atom_layout_mnk: Layout | Shape = (1, 1, 1),
    permutation_mnk: Tiler = None,
    *,
    loc: object = None,
    ip: object = None,
) -> TiledMma:
    """The multiplication of a tile by atoms laid out along (M,N,K), each by its own threads.

        D(m,n) = C(m,n) + sum over k of A(m,k) B(n,k)

    `atom_layout_mnk` is a Layout of three modes, or its shape; `permutation_mnk` has for each mode None, the extent of
    the tile, or a Layout that permutes its elements. Raises TypeError for what is no operation, ValueError for an atom
    layout or a permutation without three modes, LayoutError where the atoms share threads and where a permutation is
    none or the atoms do not divide it. Source: CuTeDSL `cute.make_tiled_mma`.

    >>> from tilewright import Float16, Float32, cute
    >>> op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    >>> tiled = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
    >>> tiled.size, tiled.tv_layout_C_tiled
    (128, ((4,8,2,2),((2,2),(1,2))):((64,1,16,256),((32,8),(0,512))))
    """
    function = "make_tiled_mma"
    op = op_or_atom.op if isinstance(op_or_atom, MmaAtom) else require_op(function, op_or_atom)
    layout = _atom_layout(function, atom_layout_mnk)
    tiled = TiledMma(op, layout, _permutation(function, permutation_mnk))
    for mode, permutation in enumerate(tiled.permutation_mnk):
        _require_fit(function, tiled, mode, permutation)
    return tiled


def _atom_layout(function: str, given: Any) -> _core.Layout:
    layout = given
    if isinstance(given, (tuple, list)):
        layout = _core.make_layout(tuple(given))
    if not isinstance(layout, _core.Layout):
        raise TypeError(f"{function}: expected atom_layout_mnk to be a Layout or a shape (m,n,k), but got {given!r}")
    if _core.rank(layout) != 3:
        raise ValueError(
            f"{function}: atom_layout_mnk {layout} has {_core.rank(layout)} modes, but needs three: the atoms along M, "
            "N and K"
        )
    if not _core.is_static(layout):
        raise layout_error(function, (layout,), "the layout of atoms is static; use Python integers")
    threads = int(_core.size(layout))
    if not _core.is_bijective(layout):
        raise layout_error(
            function,
            (layout,),
            f"each of the {threads} atoms needs threads of its own, numbered 0 to {threads - 1}, but the layout's "
            f"offsets are {', '.join(map(str, sorted(set(layout.offsets().tolist()))[:16]))}",
        )
    return layout


def _permutation(function: str, given: Any) -> tuple[Any, Any, Any]:
    if given is None:
        return (None, None, None)
    if not isinstance(given, (tuple, list)) or len(given) != 3:
        raise ValueError(
            f"{function}: permutation_mnk is {text(given)}, but needs three entries, for M, N and K: each None, an "
            "extent or a Layout"
        )
    for entry in given:
        if isinstance(entry, bool) or not (entry is None or isinstance(entry, (int, _core.Layout))):
            raise TypeError(
                f"{function}: an entry of permutation_mnk is None, an integer or a Layout, but got {entry!r}"
            )
    m, n, k = given
    return (m, n, k)


def _require_fit(function: str, tiled: TiledMma, mode: int, permutation: Any) -> None:
    if permutation is None:
        return
    name, atoms, extent = "MNK"[mode], tiled._atoms_extent(mode), tiled.get_tile_size(mode)
    operands = (tiled.atom_layout_mnk, tiled.permutation_mnk)
    if extent < 1 or extent % atoms:
        raise layout_error(
            function,
            operands,
            f"the permutation of {name} has {extent} elements, but the atoms have "
            f"{tiled.shape_mnk[mode]} x {atoms // tiled.shape_mnk[mode]} = {atoms} along {name}; "
            f"it needs a multiple of {atoms}",
        )
    if isinstance(permutation, int):
        return
    if not _core.is_static(permutation):
        raise layout_error(function, operands, f"the permutation of {name} is static; use Python integers")
    if not _core.is_bijective(permutation):
        raise layout_error(
            function,
            operands,
            f"{permutation} does not permute the elements 0 to {extent - 1} of {name}: each has to occur once",
        )
