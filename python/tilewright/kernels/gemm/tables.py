"""What the threads of a GEMM do, as tables of integers: the form in which the CPU executes plans of every kernel.

A plan makes its tables from its layouts through the public API: partitions of identity tensors, thread-value layouts of
atoms, layouts of shared memory. All arrays are C-contiguous int32. Rows are the m of A and the n of B. Offsets in
shared memory are in elements and count from the start of a stage. One CTA does, for each of its units of work:

    load      image[smem[t, i, e]] = X[tile origin + coord[t, i] + e along mode]      of A and of B, K tile by K tile
    fragment  register v of thread t, for the atom (row i, k j) = image[fragment[t, i, j, v]]
    mma       the atom's threads hold A, B and C as the thread-value layouts of the atom say: C += A B^T
    store     D[tile origin + coord] = epilogue(sum), from registers or through an image of shared memory

The CPU takes the position of each element from these tables alone, never from a formula of its own, so a wrong table
gives a wrong product, and the check names the table's entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    IntArray = NDArray[np.int32]


class LoadTable(NamedTuple):
    """Global to shared memory: one operand, one K tile.

    - `coord` (threads, accesses, 2): (row, k) in the tile of the first element of each access; (-1, -1) where a thread
      has no such access
    - `smem` (threads, accesses, width): the offset within the stage of each element of the access, swizzle applied
    - `mode`: the elements of an access are neighbours along mode 0 (row) or 1 (k)
    - `kind`: "cp.async" (accesses of 4, 8 or 16 aligned bytes on both sides), "registers" (one aligned access in global
      memory, any places in shared memory), "tma" (one thread; an access is a row of a box, smem as `tma_offsets` says)
    - `predicate`: what is done with elements outside of the tensor. "element": each is left out; "access": all of an
      access are left out when its first one is outside (and all are read otherwise); "none": none are left out
    - `fill`: whether places of elements that are left out are zeroed; if not, they keep what they had
    """

    coord: IntArray
    smem: IntArray
    mode: int
    kind: str = "cp.async"
    predicate: str = "element"
    fill: bool = True


class OperandTable(NamedTuple):
    """A or B: how it gets into shared memory, and from there into the MMA. One of `fragment` and `matrix` is given.

    - `stage_elements`: elements from one stage to the next
    - `fragment` (threads, atoms along rows, atoms along k, values): for each thread of `MmaTable.thread`, the offset
      that its register value is read from (by plain loads or by ldmatrix: what the lane gets, not what it addresses)
    - `matrix` (thread rows, atoms along rows, atoms along k, rows of an atom, k of an atom): for operands that the MMA
      itself reads from shared memory (wgmma), the offset of each element as its descriptor addresses it
      (`descriptor_offsets`); the first mode is the thread's m (for A) or n (for B) in `MmaTable.thread`
    """

    load: LoadTable
    stage_elements: int
    fragment: IntArray | None = None
    matrix: IntArray | None = None


class MmaTable(NamedTuple):
    """The atom, and which thread takes which part of which atom. The threads are those that multiply, from 0.

    - `shape_mnk` of the atom (M, N, K)
    - `a`, `b`, `c` (threads of the atom, values): index m + M k, n + N k and m + M n in the atom's tile, that is
      `atom.tv_layout_A(lane, value)`; `a` and `b` are None where the operand has a `matrix`
    - `thread` (threads, 4): each thread's coordinate in `tiled_mma.thr_layout_vmnk`: the lane in its atom, and the
      atom's m, n and k; where k is not 0, the store adds up the accumulators of several atoms
    - `c_coord` (threads, atoms along m, atoms along n, values, 2): (m, n) in the tile of each accumulator, that is
      `thr_mma.partition_C(make_identity_tensor((bM, bN)))`
    """

    shape_mnk: tuple[int, int, int]
    thread: IntArray
    c: IntArray
    c_coord: IntArray
    a: IntArray | None = None
    b: IntArray | None = None


class StoreTable(NamedTuple):
    """Registers to global memory: what each thread writes of D, directly or out of an image in shared memory.

    - `coord` (threads, accesses, 2): (m, n) in the tile of the first element of each access; (-1, -1): no access
    - `mode`: the elements of an access are neighbours along mode 0 (m) or 1 (n)
    - `value` (threads, accesses, width), direct: which accumulator of the thread is stored, as an index over
      (atoms along m, atoms along n, values) with the values fastest
    - through shared memory instead: `smem_write` (MMA threads, accumulators in the order of `value`), the offset where
      each is put; `smem_read` (threads, accesses, width), the offset that each element is read from; both below
      `image_elements`
    - `smem_added` (threads, accesses, width, further sums): the offsets whose values are added to the one of
      `smem_read`, in this order: the sums of the other atoms along k. None: there are no others
    - `round_write` (MMA threads, accumulators) and `round_read` (threads, accesses): where the image holds a part of
      the tile only, the number of the round in which each is done: a round writes, waits, reads, waits. None: all in
      round 0
    - `kind`: "direct", "shared" or "tma" (out of the image, one thread, an access is a row of a box)
    - `predicate`: as in `LoadTable`
    """

    coord: IntArray
    mode: int
    value: IntArray | None = None
    smem_write: IntArray | None = None
    smem_read: IntArray | None = None
    smem_added: IntArray | None = None
    image_elements: int = 0
    round_write: IntArray | None = None
    round_read: IntArray | None = None
    kind: str = "direct"
    predicate: str = "element"


class Pipeline(NamedTuple):
    """When K tiles are loaded and read. Step t is what a thread does for K tile t; a barrier stands before each step.

    Tile t lies in the slot t mod `stages`.

    - `ahead`: in step t, tile t + ahead begins to be loaded, those before it having begun earlier; 0: tile t itself,
      with a barrier between the load and the reads
    - `landed`: at the barrier before step t, the tiles up to t + landed have arrived and may be seen (`ahead` = 0: 0)
    - `first_read`, `last_read`: in step t, shared memory is read of the tiles from t + first_read (an MMA that is still
      under way, such as -1 with one wgmma in flight) to t + last_read (a fragment that is read early: 1)

    Sound where ahead - first_read < stages and last_read <= landed < ahead, or ahead = 0 and all others are 0. By
    kernel: cp.async in S stages, the load issued after the barrier of the step: (S, S - 1, 0), with register double
    buffering over the end of the step (S, S - 1, 1, 0, 1), which needs S >= 3; through registers with two slots
    (2, 1, 0); TMA with S stages whose slot is released after the next wgmma: (S, S - 2, 0, -1, 0).

    >>> Pipeline(3, 2, 0)
    Pipeline(stages=3, ahead=2, landed=0, first_read=0, last_read=0)
    """

    stages: int
    ahead: int
    landed: int = 0
    first_read: int = 0
    last_read: int = 0


class GemmTables(NamedTuple):
    """All tables of a plan.

    - `tile` (bM, bN, bK)
    - `work` (units, 5): (m tile, n tile, batch index, first K tile, number of K tiles) of each unit of work; where
      several units share a tile, their sums are added in this order. None: one unit for each tile, with all of K.
      The batch index counts through `problem.batch`, the first mode fastest
    - `promote`: K tiles of a unit, after which its sums are added to totals and begin anew; 0: never
    - `residue`: "last" (K tile t starts at t bK and the last one is cut) or "first" (the first one is cut: K tile t
      starts at t bK - (K tiles * bK - K))
    - `rounding`: what the MMA makes of operands: None, "tf32" (the 13 low bits of a float are cut off) or "tf32_rna"
      (rounded to the nearest TFloat32, halves away from 0, by cvt.rna before)
    """

    tile: tuple[int, int, int]
    a: OperandTable
    b: OperandTable
    mma: MmaTable
    store: StoreTable
    pipeline: Pipeline
    work: IntArray | None = None
    promote: int = 0
    residue: str = "last"
    rounding: str | None = None
