"""Matrix multiplication, executed on the CPU: D = A B + C of one thread by an atom, or of all threads of a TiledMma.

A is (M,K), B is (N,K), C and D are (M,N). Registers of threads are put together as the matrices that an instruction
multiplies, by the thread-value layouts of the atom, and the results taken apart again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.cute.atoms.mma_atom import MmaAtom
from tilewright.cute.atoms.mma_ops import Field
from tilewright.cute.execute import traced
from tilewright.cute.execute.copy_elements import memory_tensor, sizes_of
from tilewright.cute.execute.mma_arithmetic import multiply
from tilewright.cute.execute.wgmma import multiply_by_warpgroup
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.tiled.tiled_mma import OPERAND_MODES, TiledMma
from tilewright.numeric import Float32, TFloat32

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

__all__ = ["gemm", "gemm_threads", "gemm_tiled", "mma_atom_call"]


# ---- operands --------------------------------------------------------------------------------------------------------


def _require_types(function: str, atom: MmaAtom, d: Tensor, a: Tensor, b: Tensor, c: Tensor) -> None:
    op = atom.op
    for name, tensor, wanted in (
        ("d", d, op.acc_dtype),
        ("a", a, op.a_dtype),
        ("b", b, op.b_dtype),
        ("c", c, op.acc_dtype),
    ):
        found = tensor.iterator.dtype
        if found is not wanted and not (wanted is TFloat32 and found is Float32):
            raise TypeError(
                f"{function}: {op} takes {name} of {wanted}, but {tensor} has elements of {found}; make the operation "
                "for that type or convert the tensor"
            )


def require_atom(function: str, atom: Any) -> MmaAtom:
    if not isinstance(atom, MmaAtom):
        raise TypeError(f"{function}: expected an MmaAtom or a TiledMma, but got {atom!r}; make_mma_atom makes one")
    return atom


def _require_tiled(function: str, tiled_mma: Any) -> TiledMma:
    if not isinstance(tiled_mma, TiledMma):
        raise TypeError(
            f"{function}: expected tiled_mma to be a TiledMma, but got {tiled_mma!r}; make_tiled_mma makes one"
        )
    return tiled_mma


def _load(tensor: Tensor, dtype: Any) -> Array:
    """The elements in colexicographic order, as the instruction sees them."""
    values = tensor._elements()
    if dtype is TFloat32:
        values = (np.ascontiguousarray(values, np.float32).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return values


def _operands(function: str, d: Any, a: Any, b: Any, c: Any) -> list[Tensor]:
    return [memory_tensor(function, name, x) for name, x in (("d", d), ("a", a), ("b", b), ("c", c))]


# ---- registers and matrices ------------------------------------------------------------------------------------------


def _matrices(atom: MmaAtom, operand: str, values: Array, counts: tuple[int, ...]) -> Array:
    """Registers (thread, value, ..), colexicographic, as matrices (row, column, ..) with .. of extents `counts`."""
    places = getattr(atom, f"tv_layout_{operand}").offsets()
    rows, columns = (atom.shape_mnk[m] for m in OPERAND_MODES[operand])
    elements = np.empty((rows * columns, *counts), values.dtype)
    elements[places] = values.reshape(len(places), *counts, order="F")
    return elements.reshape(rows, columns, *counts, order="F")


def _registers(atom: MmaAtom, matrices: Array) -> Array:
    """The inverse for C: matrices as registers (thread, value, ..), colexicographic."""
    elements = matrices.reshape(-1, *matrices.shape[2:], order="F")
    return elements[atom.tv_layout_C.offsets()].ravel("F")


def _initial(atom: MmaAtom, c: Tensor, counts: tuple[int, ...]) -> Array:
    if atom.get(Field.ACCUMULATE):
        return _matrices(atom, "C", c._elements(), counts)
    m, n, _ = atom.shape_mnk
    return np.zeros((m, n, *counts), atom.op.acc_dtype.numpy)


def _steps(atom: MmaAtom, left: Array, right: Array, total: Array) -> Array:
    """Execute atoms one after the other along the last mode of both operands."""
    for step in range(left.shape[-1]):
        total = multiply(atom, left[..., step], right[..., step], total)
    return total


# ---- one thread ------------------------------------------------------------------------------------------------------


def mma_atom_call(
    atom: MmaAtom, d: Tensor, a: Tensor, b: Tensor, c: Tensor, *, loc: object = None, ip: object = None
) -> None:
    """Multiply what an atom of one thread has, tensors of one mode: d = a b + c.

    Raises as `gemm`, and ValueError for a tensor with more modes. Source: CuTeDSL `cute.mma_atom_call`.

    >>> from tilewright import Float32, cute
    >>> atom = cute.make_mma_atom(cute.nvgpu.MmaUniversalOp(Float32))
    >>> a, b, c = (cute.make_rmem_tensor(1, Float32) for _ in range(3))
    >>> for tensor, value in ((a, 3), (b, 4), (c, 5)): tensor.fill(value)
    >>> cute.mma_atom_call(atom, c, a, b, c)
    >>> c[0]
    17.0
    """
    function = "mma_atom_call"
    for name, tensor in zip("dabc", _operands(function, d, a, b, c), strict=True):
        if _core.rank(tensor.layout) != 1:
            raise ValueError(
                f"{function}: {name} has the layout {tensor.layout} of {_core.rank(tensor.layout)} modes, but the "
                "values of one atom are one mode; gemm loops over the others"
            )
    _gemm(function, atom, d, a, b, c)


def gemm(atom: MmaAtom, d: Tensor, a: Tensor, b: Tensor, c: Tensor, *, loc: object = None, ip: object = None) -> None:
    """Multiply what one thread has: d[m,n] = sum_k a[m,k] b[n,k] + c[m,n], an atom for each m, n and k.

    By the modes of a, b and c, where V holds the values of one atom:

        (V) x (V) -> (V)    (V,M) x (V,N) -> (V,M,N)    (V,M,K) x (V,N,K) -> (V,M,N)

    Two-mode operands may also be (M) x (N) -> (M,N) and (M,K) x (N,K) -> (M,N) of a one-thread atom. Atoms add in the
    order of k. With Field.ACCUMULATE false, c is not read. Raises ValueError for atoms of several threads, which need
    what the others have (gemm_threads executes them), and for modes that do not match; TypeError for element types that
    are not the atom's. Source: CuTeDSL `cute.gemm`.

    >>> from tilewright import Float32, cute
    >>> tiled = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32))
    >>> a, b = tiled.make_fragment_A((1, 2, 3)), tiled.make_fragment_B((1, 2, 3))
    >>> c = tiled.make_fragment_C((1, 2, 2))
    >>> a.store([1, 2, 3, 4, 5, 6])  # rows (1,3,5) and (2,4,6)
    >>> b.fill(1)
    >>> cute.gemm(tiled, c, a, b, c)
    >>> list(c)
    [9.0, 12.0, 9.0, 12.0]
    """
    _gemm("gemm", atom, d, a, b, c)


def _gemm(function: str, atom: Any, d: Any, a: Any, b: Any, c: Any) -> None:
    atom = require_atom(function, atom)
    d, a, b, c = _operands(function, d, a, b, c)
    _require_types(function, atom, d, a, b, c)
    threads = int(_core.size(atom.thr_id))
    is_in_kernel = traced.in_kernel(d, a, b, c)
    if threads > 1 and not is_in_kernel:
        raise ValueError(
            f"{function}: {atom.op} is executed by {threads} threads together, and the CPU has only one thread's part "
            "here; gemm_threads takes the parts of all threads, gemm_tiled whole tiles"
        )
    shapes = _extents(function, d, a, b, c)
    _check_values(function, atom, shapes)
    if is_in_kernel:
        _IN_KERNEL[threads](function, atom, d, a, b, c, shapes)
        return
    rows, columns, depth = shapes["a"][1], shapes["b"][1], shapes["a"][2]
    left = _matrices(atom, "A", _load(a, atom.op.a_dtype), (rows, 1, depth))
    right = _matrices(atom, "B", _load(b, atom.op.b_dtype), (1, columns, depth))
    d.store(_registers(atom, _steps(atom, left, right, _initial(atom, c, (rows, columns)))))


# By the threads of an atom.
_IN_KERNEL = {1: traced.multiply_add, 32: traced.multiply_by_warp, 128: multiply_by_warpgroup}

Shapes = dict[str, tuple[int, ...]]


def _extents(function: str, d: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Shapes:
    """The extents of each operand as (V,M,K), (V,N,K), (V,M,N)."""
    sizes = {name: sizes_of(function, name, x) for name, x in (("d", d), ("a", a), ("b", b), ("c", c))}
    ranks = tuple(len(sizes[name]) for name in "abc")
    if ranks == (1, 1, 1):
        shapes = {name: (*s, 1, 1) for name, s in sizes.items()}
    elif ranks == (2, 2, 3):
        shapes = {"a": (*sizes["a"], 1), "b": (*sizes["b"], 1), "c": sizes["c"], "d": sizes["d"]}
    elif ranks == (3, 3, 3):
        shapes = sizes
    elif ranks == (1, 1, 2):
        shapes = {"a": (1, *sizes["a"], 1), "b": (1, *sizes["b"], 1), "c": (1, *sizes["c"]), "d": (1, *sizes["d"])}
    elif ranks == (2, 2, 2):
        shapes = {name: (1, *s) for name, s in sizes.items()}
    else:
        raise ValueError(
            f"{function}: a, b and c have {ranks[0]}, {ranks[1]} and {ranks[2]} modes, but need (V)x(V)->(V), "
            "(V,M)x(V,N)->(V,M,N) or (V,M,K)x(V,N,K)->(V,M,N); slice the tensors or group their modes"
        )
    if sizes["d"] != sizes["c"]:
        raise ValueError(
            f"{function}: d has the extents {text(sizes['d'])} and c {text(sizes['c'])}; they need the same"
        )
    for x, i, y, j, what in (("a", 1, "c", 1, "M"), ("b", 1, "c", 2, "N"), ("a", 2, "b", 2, "K")):
        if shapes[x][i] != shapes[y][j]:
            raise ValueError(
                f"{function}: {x} has {shapes[x][i]} atoms along {what} and {y} has {shapes[y][j]}; they need the same "
                f"({x} has the extents {text(sizes[x])}, {y} {text(sizes[y])})"
            )
    return shapes


def _check_values(function: str, atom: MmaAtom, shapes: Shapes) -> None:
    for name, operand in (("a", "A"), ("b", "B"), ("c", "C")):
        wanted = int(_core.size(getattr(atom, f"tv_layout_{operand}"), mode=[1]))
        if shapes[name][0] != wanted:
            raise ValueError(
                f"{function}: mode 0 of {name} has {shapes[name][0]} values, but a thread of {atom.op} has {wanted}; "
                f"partition_{operand} makes this mode"
            )


# ---- all threads -----------------------------------------------------------------------------------------------------


def gemm_threads(tiled_mma: TiledMma, d: Tensor, a: Tensor, b: Tensor, c: Tensor) -> None:
    """Multiply what all threads have in registers: a is (thread,V,M,K), b (thread,V,N,K), c and d (thread,V,M,N).

    The other modes are those of make_fragment_A, make_fragment_B and make_fragment_C. Atoms that use the registers of
    other threads are executed exactly. Where atoms lie along K, each thread has its part of the sum. Raises as `gemm`.
    Source: tilewright.

    >>> from tilewright import Float16, Float32, cute
    >>> tiled = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 8)))
    >>> a, b = cute.make_rmem_tensor((32, 4, 1, 1), Float16), cute.make_rmem_tensor((32, 2, 1, 1), Float16)
    >>> c = cute.make_rmem_tensor((32, 4, 1, 1), Float32)
    >>> a.fill(2)
    >>> b.fill(3)
    >>> cute.gemm_threads(tiled, c, a, b, c)
    >>> c[31, 3, 0, 0]  # a sum over k of 8 products
    48.0
    """
    function = "gemm_threads"
    atom = _require_tiled(function, tiled_mma)
    d, a, b, c = _operands(function, d, a, b, c)
    _require_types(function, atom, d, a, b, c)
    sizes = {name: sizes_of(function, name, x) for name, x in (("d", d), ("a", a), ("b", b), ("c", c))}
    for name, found in sizes.items():
        if len(found) != 4 or found[0] != atom.size:
            raise ValueError(
                f"{function}: {name} has the extents {text(found)}, but needs four modes, the {atom.size} threads "
                "first, then those of a fragment"
            )
    inner = {name: _without_threads(x) for name, x in (("d", d), ("a", a), ("b", b), ("c", c))}
    shapes = _extents(function, inner["d"], inner["a"], inner["b"], inner["c"])
    _check_values(function, atom, shapes)
    # (thread of the atom, atom): the number of the thread
    threads = atom.thr_layout_vmnk.offsets().reshape(int(_core.size(atom.thr_id)), -1, order="F")
    rows, columns, depth = shapes["a"][1], shapes["b"][1], shapes["a"][2]

    def of_atoms(registers: Array, extents: tuple[int, ...]) -> Array:
        by_thread = registers.reshape(atom.size, *extents, order="F")[threads]
        return by_thread.swapaxes(1, 2).ravel("F")  # (thread of the atom, value, atom, ..)

    groups = threads.shape[1]
    left = _matrices(atom, "A", of_atoms(_load(a, atom.op.a_dtype), shapes["a"]), (groups, rows, 1, depth))
    right = _matrices(atom, "B", of_atoms(_load(b, atom.op.b_dtype), shapes["b"]), (groups, 1, columns, depth))
    counts = (groups, rows, columns)
    if atom.get(Field.ACCUMULATE):
        total = _matrices(atom, "C", of_atoms(c._elements(), shapes["c"]), counts)
    else:
        total = _initial(atom, c, counts)
    registers = _registers(atom, _steps(atom, left, right, total))
    by_atom = registers.reshape(threads.shape[0], shapes["c"][0], *counts, order="F").swapaxes(1, 2)
    result = by_atom.reshape(-1, *by_atom.shape[2:], order="F")
    order = threads.ravel("F").argsort()
    d.store(result[order].ravel("F"))


def _without_threads(tensor: Tensor) -> Tensor:
    return tensor[0, None, None, None]  # type: ignore[no-any-return]


def gemm_tiled(tiled_mma: TiledMma, d: Tensor, a: Tensor, b: Tensor, c: Tensor) -> None:
    """Multiply matrices as all threads of a TiledMma do: d = a b + c, where a is (M,K), b is (N,K), c and d are (M,N).

    Every thread reads and writes its partition. Atoms along K add to the same sum, one after the other. Raises
    LayoutError for extents that are no multiple of the tile's, else as `gemm`. Source: tilewright.

    >>> import numpy as np
    >>> from tilewright import Float16, Float32, cute
    >>> op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    >>> tiled = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
    >>> a, b = np.ones((64, 32), np.float16), np.eye(32, dtype=np.float16)
    >>> c = np.full((64, 32), 2, np.float32)
    >>> cute.gemm_tiled(tiled, c, a, b, c)
    >>> bool((c == 3).all())
    True
    """
    function = "gemm_tiled"
    atom = _require_tiled(function, tiled_mma)
    d, a, b, c = _operands(function, d, a, b, c)
    _require_types(function, atom, d, a, b, c)
    for name, x in (("d", d), ("a", a), ("b", b), ("c", c)):
        if _core.rank(x.layout) != 2:
            raise ValueError(f"{function}: {name} has {_core.rank(x.layout)} modes, but matrices have two; slice it")
    _extents(function, d, a, b, c)
    parts = {name: getattr(atom, f"thrfrg_{name[-1]}")(x) for name, x in (("to C", d), ("A", a), ("B", b), ("C", c))}
    threads = int(_core.size(atom.thr_id))
    atoms = [int(_core.size(atom.thr_layout_vmnk, mode=[mode])) for mode in (1, 2, 3)]
    repeats = {}
    for name in "ABC":
        modes = _core.get(parts[name].layout, mode=[1, 1])
        repeats[name] = tuple(int(_core.size(modes, mode=[mode])) for mode in range(_core.rank(modes)))

    def matrices(operand: str, registers: Array) -> Array:
        """(row, column, atoms along the first mode, along the second, repetitions along the first, the second)"""
        x, y = (atoms[m] for m in OPERAND_MODES[operand])
        by_thread = registers.reshape(threads, x, y, -1, *repeats[operand], order="F")
        by_value = np.moveaxis(by_thread, 3, 1)
        return _matrices(atom, operand, by_value.ravel("F"), (x, y, *repeats[operand]))

    left, right = matrices("A", _load(parts["A"], atom.op.a_dtype)), matrices("B", _load(parts["B"], atom.op.b_dtype))
    # The atoms along K come before its repetitions in the last mode.
    left = np.moveaxis(left, 3, 4).reshape(*left.shape[:3], left.shape[4], -1, order="F")[:, :, :, None, :, None]
    right = np.moveaxis(right, 3, 4).reshape(*right.shape[:3], right.shape[4], -1, order="F")[:, :, None, :, None, :]
    m, n, _ = atom.shape_mnk
    if atom.get(Field.ACCUMULATE):
        total = matrices("C", parts["C"]._elements())
    else:
        total = np.zeros((m, n, atoms[0], atoms[1], *repeats["C"]), atom.op.acc_dtype.numpy)
    total = _steps(atom, left, right, total)
    registers = _registers(atom, total).reshape(threads, -1, atoms[0], atoms[1], *repeats["C"], order="F")
    parts["to C"].store(np.moveaxis(registers, 1, 3).ravel("F"))
