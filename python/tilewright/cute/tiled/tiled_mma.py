"""Tiled matrix multiplication: many atoms side by side, and which thread has which part of A, B and C.

A TiledMma is an atom, a layout (m,n,k) of atoms to groups of threads, and a permutation of each mode. By hand, for the
fused multiply-add of one thread, atoms (16,16,1):(16,1,0), tensors C (128,128):(128,1) and A (128,8):(1,128):

    thr_layout_vmnk   (1,16,16,1):(0,16,1,0)   (thread of the atom, atom along m, n, k) to the thread: 16m + n
    partition_C       (1,8,8):(0,2048,16)      thread (m,n) has rows m, m + 16, .. and columns n, n + 16, ..
    partition_A       (1,8,8):(0,16,128)       the same rows; threads that differ in n alone have the same elements

A tensor is partitioned in four steps, each an operation of the algebra: a permutation reorders each mode
(`logical_divide`), `zipped_divide` makes tiles of an atom, the atom's thread-value layout composes with the tile, and
`zipped_divide` deals the tiles out to the groups of threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.atoms.mma_atom import MmaAtom
from tilewright.cute.atoms.mma_ops import MmaOp
from tilewright.cute.int_tuple import text
from tilewright.cute.layout_error import layout_error
from tilewright.cute.tensors.pointer import AddressSpace
from tilewright.cute.tensors.rmem import make_rmem_tensor
from tilewright.cute.tensors.tensor import Tensor, as_tensor
from tilewright.numeric import Int32, Int64
from tilewright.numeric.traced import is_traced

if TYPE_CHECKING:
    from tilewright._core import Layout
    from tilewright._typing import AnyLayout, Divided, SupportsDLPack
    from tilewright.cute.int_tuple import Shape

__all__ = ["ThrMma", "TiledMma"]

# The modes of (M,N,K) that an operand has.
OPERAND_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


class TiledMma(MmaAtom):
    """A multiplication of tiles by many threads; make_tiled_mma makes it.

    `thr_layout_vmnk` maps (thread of the atom, atom along m, n, k) to the thread. `permutation_mnk` has for each mode
    None, an extent of the tile, or a Layout that permutes it. Compared by value, hashable, picklable.

    get_slice raises ValueError for a thread that the multiplication does not have. Source: CuTeDSL `cute.TiledMma`.

    >>> from tilewright import Float16, Float32, cute
    >>> op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    >>> print(cute.make_tiled_mma(op, (2, 2, 1), (32, 32, 16)))
    Tiled MMA
      Thr Layout VMNK: (32,2,2,1):(1,32,64,0)
      Permutation MNK: (32:1,32:1,16:1)
    MMA Atom
      ThrID:           32:1
      Shape MNK:       (16,8,16)
      TV Layout A:     ((4,8),(2,2,2)):((32,1),(16,8,128))
      TV Layout B:     ((4,8),(2,2)):((16,1),(8,64))
      TV Layout C:     ((4,8),(2,2)):((32,1),(16,8))
    """

    __slots__ = ("_tv", "atom_layout_mnk", "permutation_mnk", "thr_layout_vmnk")
    atom_layout_mnk: _core.Layout
    permutation_mnk: tuple[Any, Any, Any]
    thr_layout_vmnk: _core.Layout
    _tv: dict[str, Any]

    def __init__(self, op: MmaOp, atom_layout_mnk: _core.Layout, permutation_mnk: tuple[Any, Any, Any]) -> None:
        super().__init__(op)
        self.atom_layout_mnk = atom_layout_mnk
        self.permutation_mnk = permutation_mnk
        self.thr_layout_vmnk = _core.tiled_product(self.thr_id, atom_layout_mnk)
        self._tv = {}

    @property
    def size(self) -> int:
        """The number of threads."""
        return int(_core.size(self.thr_layout_vmnk))

    def get_tile_size(self, mode: int) -> int:
        """The extent of the tile along M (0), N (1) or K (2).

        >>> from tilewright import Float32, cute
        >>> tiled = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (16, 8, 1), (None, 32, None))
        >>> [tiled.get_tile_size(mode) for mode in range(3)]
        [16, 32, 1]
        """
        if mode not in (0, 1, 2):
            raise ValueError(f"get_tile_size: the modes are 0 (M), 1 (N) and 2 (K), but got {mode!r}")
        permutation = self.permutation_mnk[mode]
        return self._atoms_extent(mode) if permutation is None else int(_core.size(permutation))

    def _atoms_extent(self, mode: int) -> int:
        return self.shape_mnk[mode] * int(_core.size(self.thr_layout_vmnk, mode=[mode + 1]))

    def _by_threads(self, function: str, x: Any, operand: str) -> Any:
        """((thread of the atom, (atoms along each mode)), (values of the atom, (repetitions along each mode, ..)))."""
        if not isinstance(x, (_core.Layout, _core.ComposedLayout)):
            tensor = as_tensor(x, function)
            return Tensor(tensor.iterator, self._by_threads(function, tensor.layout, operand))
        modes = OPERAND_MODES[operand]
        if _core.rank(x) < 2:
            raise layout_error(
                function,
                (x,),
                f"operand {operand} has the modes {','.join('MNK'[m] for m in modes)}, but the tensor has "
                f"{_core.rank(x)}; append_ones adds modes of extent 1",
            )
        self._require_whole_tiles(function, x, modes)
        order = tuple(self.permutation_mnk[m] for m in modes)
        if order != (None, None):
            x = _core.logical_divide(x, order)
        atoms = _core.zipped_divide(x, tuple(_core.make_layout(self.shape_mnk[m]) for m in modes))
        atoms = _core.composition(atoms, (getattr(self, f"tv_layout_{operand}"), None))
        groups = tuple(_core.make_layout(_core.size(self.thr_layout_vmnk, mode=[m + 1])) for m in modes)
        return _core.zipped_divide(atoms, (None, groups))

    def _require_whole_tiles(self, function: str, x: Any, modes: tuple[int, int]) -> None:
        for mode, m in enumerate(modes):
            extent, tile = _core.size(x, mode=[mode]), self.get_tile_size(m)
            if isinstance(extent, int) and extent % tile:
                raise layout_error(
                    function,
                    (x,),
                    f"mode {mode} has {extent} elements, but this TiledMma multiplies tiles of {tile} along "
                    f"{'MNK'[m]}; partition a tile whose extent is a multiple of {tile}",
                )

    def thrfrg_A(self, a: Divided) -> Divided:
        """A by threads: ((thread of the atom, (atoms along M, K)), (values of the atom, (repetitions along M, K, ..))).

        A Layout or a Tensor with the modes (M,K,..). Raises LayoutError where an extent is no multiple of the tile's.
        Source: CuTe C++ `TiledMMA::thrfrg_A`.

        >>> from tilewright import Float32, cute
        >>> tiled = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (2, 4, 1))
        >>> print(tiled.thrfrg_A(cute.make_layout((8, 3))))
        ((1,(2,1)),(1,(4,3))):((0,(1,0)),(0,(2,8)))
        """
        parts: Divided = self._by_threads("thrfrg_A", a, "A")
        return parts

    def thrfrg_B(self, b: Divided) -> Divided:
        """B by threads, modes (N,K,..), as thrfrg_A."""
        parts: Divided = self._by_threads("thrfrg_B", b, "B")
        return parts

    def thrfrg_C(self, c: Divided) -> Divided:
        """C by threads, modes (M,N,..), as thrfrg_A."""
        parts: Divided = self._by_threads("thrfrg_C", c, "C")
        return parts

    @property
    def tv_layout_A_tiled(self) -> Layout:
        """(thread, value) to an element of A's tile, (M,K) of get_tile_size; the tiled copy of A has this layout.

        >>> from tilewright import Float16, Float32, cute
        >>> op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
        >>> cute.make_tiled_mma(op, (2, 2, 1), (32, 32, 16)).tv_layout_A_tiled
        ((4,8,2,2),((2,2,2),(1,1))):((64,1,16,0),((32,8,256),(0,0)))
        """
        return self._tv_layout("A")

    @property
    def tv_layout_B_tiled(self) -> Layout:
        """(thread, value) to an element of B's tile, (N,K)."""
        return self._tv_layout("B")

    @property
    def tv_layout_C_tiled(self) -> Layout:
        """(thread, value) to an element of C's tile, (M,N).

        Raises LayoutError where atoms lie along K and along N: threads then have parts of the same sum, but CuTe's
        layout gives them other elements, some outside the tile.
        """
        return self._tv_layout("C")

    def _tv_layout(self, operand: str) -> Layout:
        layout: Layout | None = self._tv.get(operand)
        if layout is None:
            layout = self._tv_layout_of(operand)
            self._tv[operand] = layout
        return layout

    def _tv_layout_of(self, operand: str) -> Layout:
        modes = OPERAND_MODES[operand]
        tile = _core.make_layout(tuple(self.get_tile_size(m) for m in modes))
        threads = self.thr_layout_vmnk
        m, n, k = (int(_core.size(threads, mode=[mode])) for mode in (1, 2, 3))
        layout = self._by_threads(f"tv_layout_{operand}_tiled", tile, operand)
        if operand != "C":
            # Atoms that differ in the mode which the operand lacks have the same elements: stride 0.
            stride = (1, 0) if operand == "A" else (0, 1)
            layout = _core.composition(layout, ((None, (_core.make_layout((m, n), stride=stride), None)), None))
        # Of a thread its atom and its place in the atom: the inverse of thr_layout_vmnk, gaps filled.
        inverse = _core.right_inverse(_core.make_layout([threads, _core.complement(threads)]))
        # Numbers of threads that it does not have, in the gaps, stay beside those below them: a mode of stride 0.
        inverse = _core.composition(_core.make_layout((self.size, 1), stride=(1, 0)), inverse)
        tiled: Layout = _core.composition(layout, (inverse, None))
        if operand == "C" and k > 1:
            self._require_same_sums(layout, inverse, tiled)
        return tiled

    def _require_same_sums(self, layout: Any, inverse: Any, tiled: Any) -> None:
        """Threads that differ in their atom along K alone have parts of the same sums, in other words the same C."""
        values = int(_core.size(tiled, mode=[1]))
        places = layout.offsets().reshape(-1, values, order="F")
        wanted = places[inverse.offsets() % len(places)].ravel("F")
        found = tiled.offsets()
        wrong = found != wanted
        if wrong.any():
            index = int(wrong.argmax())
            value, thread = divmod(index, int(_core.size(tiled, mode=[0])))
            raise layout_error(
                "tv_layout_C_tiled",
                (self.thr_layout_vmnk,),
                f"{_core.size(self.thr_layout_vmnk, mode=[3])} atoms lie along K, so threads have parts of the same "
                f"sum; but CuTe's layout gives thread {thread}, value {value} the element {found[index]} instead of "
                f"{wanted[index]}; use partition_C, or put the atoms along M and N",
                (index, int(found[index]), int(wanted[index])),
            )

    def partition_shape_A(self, shape_mk: Shape, *, loc: object = None, ip: object = None) -> tuple[Any, ...]:
        """The shape of a thread's part of A: (values of the atom, atoms along M, atoms along K, ..).

        Raises LayoutError where an extent is no multiple of the tile's. Source: CuTeDSL `TiledMma.partition_shape_A`.

        >>> from tilewright import Float16, Float32, cute
        >>> tiled = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (2, 2, 1))
        >>> cute.pretty_str(tiled.partition_shape_A((128, 64)))
        '((2,2,2),4,4)'
        """
        return self._partition_shape("A", shape_mk)

    def partition_shape_B(self, shape_nk: Shape, *, loc: object = None, ip: object = None) -> tuple[Any, ...]:
        """The shape of a thread's part of B: (values of the atom, atoms along N, atoms along K, ..)."""
        return self._partition_shape("B", shape_nk)

    def partition_shape_C(self, shape_mn: Shape, *, loc: object = None, ip: object = None) -> tuple[Any, ...]:
        """The shape of a thread's part of C: (values of the atom, atoms along M, atoms along N, ..)."""
        return self._partition_shape("C", shape_mn)

    def _partition_shape(self, operand: str, shape: Shape) -> tuple[Any, ...]:
        parts = self._by_threads(f"partition_shape_{operand}", _core.make_layout(shape), operand)
        values, repetitions = parts.shape[1]
        return (values, *repetitions)

    def make_fragment_A(self, x: Tensor | AnyLayout | Shape, *, loc: object = None, ip: object = None) -> Tensor:
        """What the atom reads A from: new registers for a partition, or for its shape.

        An instruction that reads shared memory itself needs none, and its fragment is the partition. Raises TypeError
        where that is no tensor in shared memory. Source: CuTeDSL `TiledMma.make_fragment_A`.

        >>> from tilewright import Float16, Float32, cute
        >>> tiled = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (2, 2, 1))
        >>> print(tiled.make_fragment_A(tiled.partition_shape_A((64, 32))))
        tensor<ptr<f16, rmem, align<32>> o ((2,2,2),2,2):((1,2,4),8,16)>
        """
        return self._fragment("A", x)

    def make_fragment_B(self, x: Tensor | AnyLayout | Shape, *, loc: object = None, ip: object = None) -> Tensor:
        """What the atom reads B from, as make_fragment_A."""
        return self._fragment("B", x)

    def make_fragment_C(self, x: Tensor | AnyLayout | Shape, *, loc: object = None, ip: object = None) -> Tensor:
        """Accumulators of a thread: new registers for a partition of C, or for its shape.

        >>> from tilewright import Float32, cute
        >>> tiled = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), cute.make_layout((16, 16, 1)))
        >>> print(tiled.make_fragment_C(tiled.partition_shape_C((128, 128))))
        tensor<ptr<f32, rmem, align<32>> o (1,8,8):(0,1,8)>
        """
        return self._fragment("C", x)

    def _fragment(self, operand: str, x: Any) -> Tensor:
        function = f"make_fragment_{operand}"
        from_memory = {"A": self.traits.smem_a, "B": self.traits.smem_b, "C": False}[operand]
        if from_memory:
            if not isinstance(x, Tensor) or x.memspace not in (AddressSpace.smem, AddressSpace.generic):
                raise TypeError(
                    f"{function}: {self.op} reads {operand} from shared memory, so the fragment is a partition of a "
                    f"tensor there, but got {x if isinstance(x, Tensor) else text(x)}"
                )
            return x
        given = x.layout if isinstance(x, Tensor) else x
        if not isinstance(given, (_core.Layout, _core.ComposedLayout)):
            layout = _core.make_layout(given)
        elif operand == "C":  # accumulators are computed, not loaded: the order of memory does not matter
            layout = _core.make_layout(given.shape)
        else:
            layout = _core.make_fragment_like_layout(given)
        return make_rmem_tensor(layout, self.dtype_of(operand))

    def get_slice(self, thr_idx: int | Int32 | Int64, *, loc: object = None, ip: object = None) -> ThrMma:
        """The part of one thread; the index may be a dynamic integer. ValueError where there is no such thread.

        >>> from tilewright import Float32, cute
        >>> tiled = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), cute.make_layout((16, 16, 1)))
        >>> print(tiled.get_slice(17).partition_C(cute.make_tensor(0, (128, 128))))
        tensor<129 o (1,8,8):(0,16,2048)>
        """
        return ThrMma(self, thr_idx)

    def __str__(self) -> str:
        def entry(permutation: Any) -> str:
            if permutation is None:
                return "_"
            return str(_core.make_layout(permutation) if isinstance(permutation, int) else permutation)

        return (
            f"Tiled MMA\n  Thr Layout VMNK: {self.thr_layout_vmnk}\n"
            f"  Permutation MNK: ({','.join(map(entry, self.permutation_mnk))})\n{self._facts('17')}"
        )

    def __repr__(self) -> str:
        return f"make_tiled_mma({self.op}, {self.atom_layout_mnk}, {text(self.permutation_mnk)})"

    def _key(self) -> tuple[Any, ...]:
        return (self.op, self.atom_layout_mnk, self.permutation_mnk)

    def __reduce__(self) -> Any:
        return TiledMma, self._key()


class ThrMma(TiledMma):
    """One thread's part of a tiled multiplication; `TiledMma.get_slice` makes it.

    Its methods raise TypeError for what is no tensor, LayoutError for a tensor with fewer modes than the operand or
    with a part of a tile. Source: CuTeDSL `cute.ThrMma`.

    >>> from tilewright import Float16, Float32, cute
    >>> op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    >>> thread = cute.make_tiled_mma(op, (2, 2, 1)).get_slice(5)
    >>> print(thread.partition_C(cute.make_identity_tensor((64, 32))))
    tensor<(1,2) o ((2,2),2,2):((1@1,8@0),32@0,16@1)>
    """

    __slots__ = ("thr_idx",)
    thr_idx: Any

    def __init__(self, tiled_mma: TiledMma, thr_idx: Any) -> None:
        if isinstance(thr_idx, bool) or not isinstance(thr_idx, (int, Int32, Int64)):
            raise TypeError(f"get_slice: expected thr_idx to be an integer, but got {thr_idx!r}")
        if not is_traced(thr_idx) and not 0 <= int(thr_idx) < tiled_mma.size:
            raise ValueError(
                f"get_slice({int(thr_idx)}): this TiledMma has threads 0 to {tiled_mma.size - 1}; launch that many, or "
                "take thr_idx modulo their number"
            )
        for part in (MmaAtom, TiledMma):
            for name in part.__slots__:
                setattr(self, name, getattr(tiled_mma, name))
        self._fields = dict(tiled_mma._fields)
        self.thr_idx = thr_idx

    def partition_A(self, a: SupportsDLPack, *, loc: object = None, ip: object = None) -> Tensor:
        """What this thread multiplies of A: (values of the atom, atoms along M, atoms along K, ..).

        Raises LayoutError where the tensor has fewer than two modes, or an extent that is no multiple of the tile's.
        Source: CuTe C++ `ThrMMA::partition_A`.

        >>> from tilewright import Float32, cute
        >>> layout = cute.make_layout((16, 16, 1), stride=(16, 1, 0))
        >>> tiled = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), layout)
        >>> print(tiled.get_slice(35).partition_A(cute.make_tensor(0, (128, 8))))
        tensor<2 o (1,8,8):(0,16,128)>
        """
        return self._partition("A", a)

    def partition_B(self, b: SupportsDLPack, *, loc: object = None, ip: object = None) -> Tensor:
        """What this thread multiplies of B: (values of the atom, atoms along N, atoms along K, ..)."""
        return self._partition("B", b)

    def partition_C(self, c: SupportsDLPack, *, loc: object = None, ip: object = None) -> Tensor:
        """What this thread has of C: (values of the atom, atoms along M, atoms along N, ..)."""
        return self._partition("C", c)

    def _partition(self, operand: str, x: Any) -> Tensor:
        parts = self._by_threads(f"partition_{operand}", as_tensor(x, f"partition_{operand}"), operand)
        place = self._place()
        along = tuple(place[mode + 1] for mode in OPERAND_MODES[operand])
        rest = _core.rank(parts.layout, mode=[1, 1])
        return parts[(place[0], along), (None, (None,) * rest)]  # type: ignore[no-any-return]

    def _place(self) -> tuple[Any, ...]:
        """(thread of the atom, atom along M, N, K)."""
        place: tuple[Any, ...] = self.thr_layout_vmnk.get_flat_coord(self.thr_idx)
        if isinstance(self.thr_idx, int) or is_traced(self.thr_idx):
            return place
        kind = type(self.thr_idx)  # a dynamic index has dynamic coordinates
        return tuple(kind(int(c)) for c in place)

    def _key(self) -> tuple[Any, ...]:
        return (*super()._key(), self.thr_idx)

    def __reduce__(self) -> Any:
        return ThrMma, (TiledMma(*super()._key()), self.thr_idx)
