"""Tiled copies: which thread of many copies which elements of a tile, by which instruction.

A tiled copy is an atom, a tiler and a layout from (thread, value) to the tile. By hand, for the tile (2,8) that 4
threads copy with 4 values each, 2 at once; thread layout (2,2):(2,1), value layout (1,4):(4,1):

    layout_tv   ((2,2),4):((8,1),2)              thread t and value v to the index i + 2j of element (i,j)
    by atoms    ((2,2),(2,2)):((8,1),(2,4))      value v is value v % 2 of the call v / 2
    partition   ((2,2),2,3):((4,8),2,32)         thread 0 of a tensor (4,24):(1,4): (values of one call, calls), then
                                                 the tiles along each mode

A tensor is partitioned in three steps, each an operation of the algebra: `zipped_divide` by the tiler gives
(tile, rest); the layout from (thread, value) composes with the tile; a slice takes the thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._traceback import warn
from tilewright.cute.atoms.copy_atom import CopyAtom
from tilewright.cute.int_tuple import text
from tilewright.cute.layout_error import layout_error
from tilewright.cute.tensors.pointer import AddressSpace
from tilewright.cute.tensors.tensor import Tensor, as_tensor
from tilewright.numeric import Int32, Int64
from tilewright.numeric.traced import is_traced

if TYPE_CHECKING:
    from tilewright._core import Layout
    from tilewright._typing import Divided, SupportsDLPack

__all__ = ["ThrCopy", "TiledCopy", "extents_of"]


def extents_of(tiler: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(int(_core.size(mode)) for mode in tiler)


class TiledCopy(CopyAtom):
    """A copy of a tile by many threads: an atom, `tiler_mn`, and `layout_tv_tiled` from (thread, value) to the tile.

    The index in the tile counts colexicographically over the extents of the tiler. Compared by value, hashable,
    picklable. make_tiled_copy_tv makes it.

    get_slice raises ValueError for a thread that the copy does not have. Source: CuTeDSL `cute.TiledCopy`.

    >>> from tilewright import Float16, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=128)
    >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8)))
    >>> print(tiled)
    Tiled Copy
      Tiler MN:        (32:1,32:1)
      TV Layout tiled: ((4,32),8):((256,1),32)
    Copy Atom
      ThrID:           1:0
      TV Layout Src:   (1,8):(0,1)
      TV Layout Dst:   (1,8):(0,1)
      Value type:      f16
    """

    __slots__ = ("_dst", "_src", "layout_tv_tiled", "tiler_mn")
    layout_tv_tiled: _core.Layout
    tiler_mn: tuple[Any, ...]

    def __init__(self, atom: CopyAtom, layout_tv: _core.Layout, tiler_mn: tuple[Any, ...]) -> None:
        super().__init__(atom.op, atom.value_type, atom.num_bits_per_copy)
        self.layout_tv_tiled = layout_tv
        self.tiler_mn = tiler_mn
        self._src = self._by_atoms(self.layout_src_tv)
        self._dst = self._src if self.layout_dst_tv == self.layout_src_tv else self._by_atoms(self.layout_dst_tv)

    def _by_atoms(self, side: _core.Layout) -> Any:
        """(thread, (value of one call, call)) to the tile, for the source's or the destination's threads and values."""
        threads, values = (_core.size(self.layout_ref, mode=[mode]) for mode in (0, 1))
        atoms = _core.zipped_divide(self.layout_tv_tiled, (threads, values))
        # What the instruction calls (thread, value) on this side is another one on the side that the tile counts.
        relation = _core.composition(_core.right_inverse(self.layout_ref), side)
        atoms = _core.composition(atoms, (relation, None))
        return _core.coalesce(_core.zip_layouts(atoms), (1, (1, 1)))

    @property
    def size(self) -> int:
        """The number of threads."""
        return int(_core.size(self.layout_tv_tiled, mode=[0]))

    @property
    def layout_src_tv_tiled(self) -> Layout:
        """(thread, value) to the tile as the source is read: with ldmatrix, a thread reads for others."""
        layout: Layout = _core.composition(_core.make_layout(extents_of(self.tiler_mn)), self._src)
        return layout

    @property
    def layout_dst_tv_tiled(self) -> Layout:
        """(thread, value) to the tile as the destination is written."""
        layout: Layout = _core.composition(_core.make_layout(extents_of(self.tiler_mn)), self._dst)
        return layout

    def tidfrg_S(self, src: Divided) -> Divided:
        """A source by threads: (thread, (values of one call, calls), (tiles along each mode)); a Layout or a Tensor.

        Raises LayoutError where the tensor has fewer modes than the tiler, or where the tiler does not divide it.
        Source: CuTe C++ `TiledCopy::tidfrg_S`.

        >>> from tilewright import Float32, cute
        >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=64)
        >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((2, 4)), cute.make_layout((4, 1)))
        >>> print(tiled.tidfrg_S(cute.make_layout((16, 16))))
        ((2,4),(2,2),(2,4)):((4,16),(1,2),(8,64))
        """
        parts: Divided = self._by_threads("tidfrg_S", src, self._src)
        return parts

    def tidfrg_D(self, dst: Divided) -> Divided:
        """A destination by threads, as tidfrg_S.

        >>> from tilewright import Float16, cute
        >>> atom = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(num_matrices=1), Float16)
        >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 4), stride=(4, 1)), cute.make_layout((1, 2)))
        >>> tile = cute.make_layout((8, 8), stride=(8, 1))
        >>> tiled.tidfrg_S(tile), tiled.tidfrg_D(tile)
        (((8,4),(8,1),(1,1)):((8,0),(1,0),(0,0)), ((4,8),(2,1),(1,1)):((2,8),(1,0),(0,0)))
        """
        parts: Divided = self._by_threads("tidfrg_D", dst, self._dst)
        return parts

    def _by_threads(self, function: str, x: Any, side: Any) -> Any:
        if not isinstance(x, (_core.Layout, _core.ComposedLayout)):
            tensor = as_tensor(x, function)
            return Tensor(tensor.iterator, self._by_threads(function, tensor.layout, side))
        if _core.rank(x) < len(self.tiler_mn):
            raise layout_error(
                function,
                (x,),
                f"the tiler {text(self.tiler_mn)} has {len(self.tiler_mn)} modes, but the tensor has {_core.rank(x)}; "
                "append_ones adds modes of extent 1",
            )
        tiles = _core.zipped_divide(x, self.tiler_mn)
        return _core.slice_(_core.composition(tiles, (side, None)), ((None, None), None))

    def get_slice(self, thr_idx: int | Int32 | Int64, *, loc: object = None, ip: object = None) -> ThrCopy:
        """The part of one thread; the index may be a dynamic integer. ValueError where there is no such thread.

        >>> from tilewright import Float32, cute
        >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=64)
        >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((2, 4)), cute.make_layout((4, 1)))
        >>> print(tiled.get_slice(3).partition_S(cute.make_tensor(0, (16, 16))))
        tensor<20 o ((2,2),2,4):((1,2),8,64)>
        """
        return ThrCopy(self, thr_idx)

    def retile(self, src: SupportsDLPack, *, loc: object = None, ip: object = None) -> Tensor:
        """A thread's registers, laid out for another copy or multiplication of the same tiles, as this copy sees them.

        The tensor's mode 0 holds the values of one instruction and the other modes count instructions along the modes
        of the tiler. The result has the profile of a partition, and its element at each place is the one that a
        partition of the same tiles by this copy has there. Where one instruction has the values of several tiles of
        this copy, one tile after another, they count in mode 0. Raises LayoutError where neither number of values
        divides the other, or where they lie otherwise. Source: CuTe C++ `TiledCopy::retile`.

        >>> from tilewright import Float16, cute
        >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=32)
        >>> tv = cute.parse("((4,8),((2,2),2)):((32,1),((16,8),128))")  # a 16 x 16 tile: two 16 x 8 products
        >>> tiled = cute.make_tiled_copy(atom, tv, (16, 16))
        >>> print(tiled.retile(cute.make_tensor(0, ((2, 2), 1, 2))))  # 4 values each, for 2 products along mode 1
        tensor<0 o ((2,4),1,1):((1,2),0,0)>
        """
        tensor = as_tensor(src, "retile")
        layout = tensor.layout
        rank, count = len(self.tiler_mn), int(_core.size(layout, mode=[0]))
        values = int(_core.size(self.layout_tv_tiled, mode=[1]))
        if _core.rank(layout) < 1 + rank:
            raise layout_error(
                "retile", (layout,), f"expected 1 + {rank} modes: the values, then the tiles along each mode"
            )
        atom_values = int(_core.size(self.layout_ref, mode=[1]))
        if count > values and count % values == 0:
            calls = _core.zipped_divide(_core.make_layout(count), _core.make_layout(atom_values))
            return Tensor(tensor.iterator, _core.composition(layout, (calls, *(None,) * (_core.rank(layout) - 1))))
        if values % count:
            raise layout_error(
                "retile",
                (layout,),
                f"mode 0 has {count} values, which do not divide the {values} that a thread has of a tile; "
                f"its size is a divisor or a multiple of {values}",
            )
        extents = extents_of(self.tiler_mn)
        # Tile element to (thread, value); in units of all threads' values of one instruction: place to instruction.
        inverse = _core.with_shape(_core.right_inverse(self.layout_tv_tiled), extents)
        places = _core.upcast(inverse, self.size * count)
        block = tuple(int(_core.size(places, mode=[mode])) for mode in range(rank))
        order = _core.logical_product(_core.make_layout(count), _core.right_inverse(places))  # (value, instruction)
        if _core.size(order) != values:
            raise layout_error(
                "retile",
                (layout,),
                f"{text(self.layout_tv_tiled)} does not give each thread whole groups of {count} values, "
                f"one for each of the {text(block)} instructions that make a tile {text(extents)}",
            )
        calls = _core.zipped_divide(order, _core.make_layout(atom_values))
        tiles = _core.zipped_divide(layout, (count, *block))
        fragments = Tensor(tensor.iterator, _core.composition(tiles, (calls, None)))
        return fragments[None, (0, *(None,) * (_core.rank(layout) - 1))]  # type: ignore[no-any-return]

    def __str__(self) -> str:
        modes = ",".join(str(_core.make_layout(mode)) if isinstance(mode, int) else str(mode) for mode in self.tiler_mn)
        return (
            f"Tiled Copy\n  Tiler MN:        ({modes})\n  TV Layout tiled: {self.layout_tv_tiled}\n{self._facts('17')}"
        )

    def __repr__(self) -> str:
        return f"make_tiled_copy({super().__repr__()}, {self.layout_tv_tiled}, {text(self.tiler_mn)})"

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self.layout_tv_tiled, self.tiler_mn)

    def _atom(self) -> CopyAtom:
        return CopyAtom(*super()._key())

    def __reduce__(self) -> Any:
        return TiledCopy, (self._atom(), self.layout_tv_tiled, self.tiler_mn)


class ThrCopy(TiledCopy):
    """One thread's part of a tiled copy; `TiledCopy.get_slice` makes it.

    Its methods raise TypeError for what is no tensor, LayoutError for a tensor with fewer modes than the tile. Source:
    CuTeDSL `cute.ThrCopy`.

    >>> from tilewright import Float32, Int32, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32)
    >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((4, 4)))
    >>> thread = tiled.get_slice(Int32(5))
    >>> print(thread.partition_S(cute.make_identity_tensor((16, 128))))
    tensor<(?{div=4},?{div=4}) o ((1,(4,4)),1,1):((0,(1@0,1@1)),0,0)>
    """

    __slots__ = ("thr_idx",)
    thr_idx: Any

    def __init__(self, tiled_copy: TiledCopy, thr_idx: Any) -> None:
        if isinstance(thr_idx, bool) or not isinstance(thr_idx, (int, Int32, Int64)):
            raise TypeError(f"get_slice: expected thr_idx to be an integer, but got {thr_idx!r}")
        if not is_traced(thr_idx) and not 0 <= int(thr_idx) < tiled_copy.size:
            raise ValueError(
                f"get_slice({int(thr_idx)}): this tiled copy has threads 0 to {tiled_copy.size - 1}; launch that many, "
                "or take thr_idx modulo their number"
            )
        for name in ("op", "value_type", "num_bits_per_copy", "thr_id", "layout_src_tv", "layout_dst_tv", "layout_ref"):
            setattr(self, name, getattr(tiled_copy, name))
        for name in ("layout_tv_tiled", "tiler_mn", "_src", "_dst"):
            setattr(self, name, getattr(tiled_copy, name))
        self.thr_idx = thr_idx

    def partition_S(self, src: SupportsDLPack, *, loc: object = None, ip: object = None) -> Tensor:
        """The elements that this thread reads: ((values of one call, calls), tiles along mode 0, along mode 1, ..).

        Raises LayoutError where the tensor has fewer modes than the tiler, or where the tiler does not divide it.
        Source: CuTe C++ `ThrCopy::partition_S`.

        >>> from tilewright import Float32, cute
        >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)
        >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 8)), cute.make_layout((4, 1)))
        >>> print(tiled.get_slice(33).partition_S(cute.make_tensor(0, (128, 8, 3))))
        tensor<132 o ((4,1),1,1,3):((1,0),0,0,1024)>
        """
        return self._partition("partition_S", src, self._src)

    def partition_D(self, dst: SupportsDLPack, *, loc: object = None, ip: object = None) -> Tensor:
        """The elements that this thread writes, as partition_S.

        >>> from tilewright import Float32, cute
        >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)
        >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 8)), cute.make_layout((4, 1)))
        >>> print(tiled.get_slice(33).partition_D(cute.make_tensor(0, (256, 8))))
        tensor<260 o ((4,1),2,1):((1,0),128,0)>
        """
        return self._partition("partition_D", dst, self._dst)

    def _partition(self, function: str, x: Any, side: Any) -> Tensor:
        tensor = as_tensor(x, function)
        threads = self._by_threads(function, tensor, side)
        if is_traced(self.thr_idx) and tensor.memspace is AddressSpace.smem:
            self._warn_of_overhang(function, tensor)
        rest = _core.rank(threads.layout, mode=[2])
        return threads[self.thr_idx, None, (None,) * rest]  # type: ignore[no-any-return]

    def _warn_of_overhang(self, function: str, tensor: Tensor) -> None:
        """Shared memory is as large as its tensor: what overhangs is another tensor's, or nobody's."""
        tile = extents_of(self.tiler_mn)
        extents = [_core.size(tensor.layout, mode=[i]) for i in range(len(tile))]
        if any(isinstance(extent, int) and extent < wanted for wanted, extent in zip(tile, extents, strict=True)):
            warn(
                f"{function}: the tile {text(tile)} of the tiled copy is larger than {tensor} of shared memory: a copy "
                "without a predicate reaches outside; take fewer threads or values, or a larger tensor"
            )

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self.thr_idx)

    def __reduce__(self) -> Any:
        return ThrCopy, (TiledCopy(self._atom(), self.layout_tv_tiled, self.tiler_mn), self.thr_idx)
