"""Copies of all threads of a tiled copy, executed on the CPU, with what threads exchange within a warp."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.cute.execute.copy_calls import check_side, check_types, execute, name_of, same_sizes
from tilewright.cute.execute.copy_elements import memory_tensor, move, predicates_of, sizes_of
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.tiled.tiled_copy import TiledCopy

if TYPE_CHECKING:
    from tilewright.cute.atoms.copy_atom import CopyAtom

    Array = np.ndarray[Any, Any]

__all__ = ["copy_threads", "copy_tiled"]


def copy_threads(tiled_copy: TiledCopy, src: Tensor, dst: Tensor, *, pred: Tensor | None = None) -> None:
    """Copy what all threads have, in tensors with the modes (thread, values, tiles): tidfrg_S and tidfrg_D make them.

    Executes atoms that move data between threads exactly: with ldmatrix, `src` holds the rows that threads name and
    `dst` the registers of threads. A register tensor of all threads is one with a mode for the thread in front. `pred`
    has one Boolean for each thread, call and tile, and is refused for atoms of several threads.
    Raises as `copy`. Source: tilewright.

    >>> from tilewright import Float16, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=1), Float16)
    >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 8)), cute.make_layout((2, 1)))
    >>> data = cute.from_dlpack(__import__("numpy").arange(64, dtype="float16").reshape(8, 8), assumed_align=16)
    >>> registers = cute.make_rmem_tensor((32, (2, 1), 1), Float16)
    >>> cute.copy_threads(tiled, tiled.tidfrg_S(data), registers)
    >>> [list(registers[t, None, 0]) for t in (0, 1, 4)]  # two elements from 2(t % 4) on, of column t / 4
    [[0.0, 8.0], [16.0, 24.0], [1.0, 9.0]]
    """
    function = "copy_threads"
    tiled_copy = _require_tiled(function, tiled_copy)
    src, dst = memory_tensor(function, "src", src), memory_tensor(function, "dst", dst)
    check_types(function, tiled_copy, src, dst)
    _all_threads(
        function, tiled_copy, src, dst, lambda sizes: _predicates_of_threads(function, tiled_copy, pred, sizes)
    )


def _require_tiled(function: str, tiled_copy: Any) -> Any:
    if not isinstance(tiled_copy, TiledCopy):
        raise TypeError(
            f"{function}: expected tiled_copy to be a TiledCopy, but got {tiled_copy!r}; make_tiled_copy_tv makes one"
        )
    return tiled_copy


def _one_thread_each(function: str, atom: CopyAtom) -> None:
    threads = int(_core.size(atom.thr_id))
    if threads > 1:
        raise ValueError(
            f"{function}: {atom.op} is executed by the {threads} threads of a warp together, so none of them can be "
            "left out; pad the tensors to whole tiles"
        )


def _predicates_of_threads(function: str, tiled_copy: TiledCopy, pred: Any, sizes: tuple[int, ...]) -> Array | None:
    if pred is None:
        return None
    _one_thread_each(function, tiled_copy)
    threads, values, *rest = sizes
    calls = values // int(_core.size(tiled_copy.layout_ref, mode=[1]))
    return predicates_of(function, pred, (threads, calls, *rest))


def _all_threads(function: str, tiled_copy: TiledCopy, src: Tensor, dst: Tensor, predicates: Any) -> None:
    """Execute the calls of all threads; predicates(sizes) has a Boolean for each of (thread, call, tiles)."""
    sides = (("src", src, tiled_copy.layout_src_tv), ("dst", dst, tiled_copy.layout_dst_tv))
    values = int(_core.size(tiled_copy.layout_tv_tiled, mode=[1]))
    calls = values // int(_core.size(tiled_copy.layout_ref, mode=[1]))
    tables = []
    for name, tensor, layout in sides:
        sizes = sizes_of(function, name, tensor)
        wanted = (tiled_copy.size, calls * int(_core.size(layout, mode=[1])))
        if sizes[:2] != wanted:
            raise ValueError(
                f"{function}: {name} {tensor} has modes of size {text(sizes)}, but needs {text(wanted)} first: the "
                "threads and the values of each; tidfrg_S and tidfrg_D make them"
            )
        threads, count = (int(_core.size(layout, mode=[mode])) for mode in (0, 1))
        # (thread of the atom, atom, value of one call, call, tiles)
        shape = (threads, tiled_copy.size // threads, count, calls, -1)
        tables.append(tensor.layout.offsets().reshape(shape, order="F"))
    read, write = tables
    if read.shape[4] != write.shape[4]:
        raise ValueError(
            f"{function}: src {src} has {read.shape[4]} tiles and dst {dst} has {write.shape[4]}; "
            "they need the same number"
        )
    threads = read.shape[0]
    # A row is a (thread, value) of the atom, a column an execution: (atom, call, tiles).
    read, write = (np.moveaxis(x, 2, 1).reshape(x.shape[0] * x.shape[2], -1, order="F") for x in (read, write))
    chosen = predicates((tiled_copy.size, values, *sizes_of(function, "src", src)[2:]))
    if threads == 1:
        execute(function, tiled_copy, src, read, dst, write, chosen)
        return
    rows = []  # by bit of what is moved: the row that reads it, the row that writes it
    for (name, tensor, layout), table in zip(sides, (read, write), strict=True):
        first = {bit: i for i, bit in reversed(list(enumerate(layout.offsets().tolist())))}
        rows.append(first)
        used = sorted({i % threads for i in first.values()})  # addresses of the other threads are not looked at
        accesses = table.reshape(threads, -1, table.shape[1], order="F")[used]
        check_side(function, tiled_copy, name, tensor, np.moveaxis(accesses, 1, 0).reshape(accesses.shape[1], -1))
    source, target = ([first[bit] for bit in sorted(first)] for first in rows)
    move(function, src, read[source].ravel(), dst, write[target].ravel())


def copy_tiled(tiled_copy: TiledCopy, src: Tensor, dst: Tensor, *, pred: Tensor | None = None) -> None:
    """Copy a whole tensor as all threads of a tiled copy do: dst[c] = src[c], tile after tile.

    src and dst have equal extents. Where the tiles reach beyond these, the calls that lie outside are left out; `pred`,
    of the same extents, leaves out more. A call that is half inside is an error, because an instruction is executed as
    a whole. Atoms that move data between threads are executed exactly. Raises as `copy`. Source: tilewright.

    >>> import numpy as np
    >>> from tilewright import Int32, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Int32, num_bits_per_copy=64)
    >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 2), stride=(2, 1)), cute.make_layout((1, 2)))
    >>> src, dst = np.arange(60, dtype=np.int32).reshape(6, 10), np.zeros((6, 10), np.int32)
    >>> cute.copy_tiled(tiled, cute.from_dlpack(src, assumed_align=8), cute.from_dlpack(dst, assumed_align=8))
    >>> bool((src == dst).all())
    True
    """
    function = "copy_tiled"
    tiled_copy = _require_tiled(function, tiled_copy)
    src, dst = memory_tensor(function, "src", src), memory_tensor(function, "dst", dst)
    check_types(function, tiled_copy, src, dst)
    sizes = same_sizes(function, src, dst)
    read, write = tiled_copy.tidfrg_S(src), tiled_copy.tidfrg_D(dst)
    _all_threads(function, tiled_copy, read, write, lambda _: _inside(function, tiled_copy, sizes, pred))


def _inside(function: str, tiled_copy: TiledCopy, sizes: tuple[int, ...], pred: Any) -> Array | None:
    """Which calls lie in a tensor of these extents and are wanted, by (thread, call, tiles); None: all of them."""
    tile = [int(_core.size(mode)) for mode in tiled_copy.tiler_mn]
    if pred is None and not any(extent % t for extent, t in zip(sizes, tile, strict=False)):
        return None
    _one_thread_each(function, tiled_copy)
    # The coordinate along a mode is itself a layout of the tensor, and is partitioned as the tensor is.
    inside, index = True, np.int64(0)
    for mode, extent in enumerate(sizes):
        stride = tuple(int(mode == other) for other in range(len(sizes)))
        coordinate = tiled_copy.tidfrg_S(_core.make_layout(sizes, stride=stride)).offsets()
        inside = inside & (coordinate < extent)
        index = index + np.minimum(coordinate, extent - 1) * int(np.prod(sizes[:mode], dtype=np.int64))
    if pred is not None:
        tensor = memory_tensor(function, "pred", pred)
        if sizes_of(function, "pred", tensor) != sizes:
            raise ValueError(
                f"{function}: pred has shape {text(tensor.shape)}, but needs the extents of src, {text(sizes)}"
            )
        inside = inside & (tensor._elements() != 0)[index]
    values = int(_core.size(tiled_copy.layout_ref, mode=[1]))
    calls: Array = np.asarray(inside).reshape(tiled_copy.size, values, -1, order="F")
    whole: Any = calls.all(axis=1)
    torn: Any = calls.any(axis=1) & ~whole
    if torn.any():
        thread = int(np.nonzero(torn)[0][0])
        raise ValueError(
            f"{function}: {name_of(tiled_copy)} moves {values} elements at once, and one of thread {thread}'s vectors "
            f"is only partly {'inside' if pred is None else 'wanted of'} the extents {text(sizes)}; use a narrower "
            "copy or pad the tensors"
        )
    return whole.ravel("F")  # type: ignore[no-any-return]
