"""Copies, executed on the CPU: element by element, of one thread by an atom, or of all threads of a tiled copy.

What the hardware would not do is refused: a vector whose elements do not lie side by side, an address without the
alignment that is known to be needed, an instruction between memories that it does not connect. Bits are moved as they
are; a copy reads everything before it writes.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.cute.tensor import AddressSpace, Pointer, Tensor, as_tensor
from tilewright.numeric import Numeric

if TYPE_CHECKING:
    import numpy as np

    from tilewright.cute.atom import CopyAtom
    from tilewright.cute.tiled_copy import TiledCopy

    Array = np.ndarray[Any, Any]

__all__ = ["autovec_copy", "basic_copy", "basic_copy_if", "copy", "copy_atom_call", "copy_threads", "copy_tiled"]


# ---- elements --------------------------------------------------------------------------------------------------------


def _sizes(layout: Any) -> tuple[int, ...]:
    return tuple(int(_core.size(layout, mode=[mode])) for mode in range(_core.rank(layout)))


def _bytes(function: str, tensor: Tensor, offsets: Array, action: str) -> tuple[Any, Any]:
    """The owner's bytes, and the index of the first byte of each element; None where elements are no whole bytes."""
    import numpy as np

    pointer: Pointer = tensor.iterator
    memory = pointer._accessible(action)
    data = np.frombuffer(memory, np.uint8)
    size, rest = divmod(pointer.dtype.bits, 8)
    if rest or pointer._bits % 8:
        return data, None
    first = offsets * size + (pointer.toint() - memory.begin)
    if first.size and (first.min() < 0 or first.max() + size > len(data)):
        bad = int(((first < 0) | (first + size > len(data))).argmax())
        raise IndexError(
            f"{function}: offset {offsets[bad]} of {tensor} lies outside the owner's memory, which has "
            f"{len(data) // size} elements; predicate what is out of bounds"
        )
    return data, first


def _move(function: str, src: Tensor, src_offsets: Array, dst: Tensor, dst_offsets: Array) -> None:
    """Copy bits: the element at each offset of one tensor to that at the offset of the other."""
    import numpy as np

    size = src.iterator.dtype.bits // 8
    read, source = _bytes(function, src, src_offsets, "load from")
    written, target = _bytes(function, dst, dst_offsets, "store to")
    if source is None or target is None:
        values = [_bits(src.iterator + int(offset)) for offset in src_offsets]
        for offset, value in zip(dst_offsets, values, strict=True):
            _set_bits(dst.iterator + int(offset), value)
        return
    each = np.arange(size)
    written[target[:, None] + each] = read[source[:, None] + each]


def _bits(pointer: Pointer) -> int:
    memory, bits = pointer._accessible("load from"), pointer.dtype.bits
    address, shift = pointer._bits >> 3, pointer._bits & 7
    return sum(memory.load(address + start // 8, shift, min(bits - start, 64)) << start for start in range(0, bits, 64))


def _set_bits(pointer: Pointer, value: int) -> None:
    memory, bits = pointer._accessible("store to"), pointer.dtype.bits
    address, shift = pointer._bits >> 3, pointer._bits & 7
    for start in range(0, bits, 64):
        memory.store(address + start // 8, shift, min(bits - start, 64), value >> start & 0xFFFFFFFFFFFFFFFF)


def _clear(function: str, dst: Tensor, offsets: Array) -> None:
    """Zero bits."""
    import numpy as np

    data, first = _bytes(function, dst, offsets, "store to")
    if first is None:
        for offset in offsets:
            _set_bits(dst.iterator + int(offset), 0)
    else:
        data[first[:, None] + np.arange(dst.iterator.dtype.bits // 8)] = 0


def _memory_tensor(function: str, argument: str, x: Any) -> Tensor:
    tensor = as_tensor(x, function, argument)
    if not isinstance(tensor.iterator, Pointer):
        raise TypeError(
            f"{function}: {argument} is {tensor}, whose elements are computed, not stored; "
            "make_rmem_tensor and from_dlpack give memory"
        )
    return tensor


def _same_width(function: str, src: Tensor, dst: Tensor) -> None:
    a, b = src.iterator.dtype, dst.iterator.dtype
    if a.bits != b.bits:
        raise TypeError(
            f"{function}: src has elements of {a.bits} bits ({a}) and dst of {b.bits} bits ({b}); "
            "basic_copy converts, recast_tensor sees the same memory as another type"
        )


def _predicates(function: str, pred: Any, sizes: tuple[int, ...]) -> Array:
    """One truth value for each of so many calls, in colexicographic order."""
    import numpy as np

    tensor = _memory_tensor(function, "pred", pred)
    found = _sizes(tensor.layout)
    # A single call of an atom needs no mode of its own.
    if found != sizes and not (sizes[0] == 1 and found == sizes[1:]):
        raise ValueError(
            f"{function}: pred has shape {text(tensor.shape)}, but needs one Boolean for each call of the atom: "
            f"{text(sizes)}, the calls of the first mode, then the other modes of src"
        )
    values: Array = np.asarray(tensor.load() != 0)
    return values


# ---- what an instruction demands ------------------------------------------------------------------------------------


def _check_side(function: str, atom: CopyAtom, name: str, tensor: Tensor, offsets: Array) -> None:
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
            f"{function}: {_name(atom)} accesses {row} elements of {name} side by side, but {tensor} has them at the "
            f"offsets {', '.join(map(str, found[:8]))}{', ..' if row > 8 else ''}; use a narrower copy or another "
            "thread-value layout"
        )
    bits = pointer.dtype.bits
    needed = row * bits // 8
    base = getattr(atom, f"{name}_alignment")
    known = pointer.alignment
    if known < base:
        raise ValueError(
            f"{function}: {_name(atom)} needs {name} aligned to {base} bytes, but the pointer of {tensor} has "
            f"align<{known}>; where the address allows it, say so (from_dlpack(.., assumed_align={base})), "
            "or use a narrower copy"
        )
    astray = rows[0] * bits % (8 * needed) != 0
    if astray.any():
        first = int(rows[0][int(astray.argmax())])
        raise ValueError(
            f"{function}: {_name(atom)} accesses {needed} bytes of {name} at a multiple of {needed}, but {tensor} has "
            f"a vector at offset {first}, {first * bits // 8} bytes after an aligned address; pad the strides or use a "
            "narrower copy"
        )


def _name(atom: CopyAtom) -> str:
    """The call that makes the atom, of a tiled copy too."""
    from tilewright.cute.atom import CopyAtom

    return CopyAtom.__repr__(atom)


def _column(n: int) -> Array:
    import numpy as np

    return np.arange(n)[:, None]


def _check_types(function: str, atom: CopyAtom, src: Tensor, dst: Tensor) -> None:
    _same_width(function, src, dst)
    width = src.iterator.dtype.bits
    if atom.value_type.bits != width:
        raise TypeError(
            f"{function}: the atom copies elements of {atom.value_type.bits} bits ({atom.value_type}), but the tensors "
            f"have elements of {width} bits ({src.iterator.dtype}); make the atom for that type or recast the tensors"
        )


def _require_atom(function: str, atom: Any) -> Any:
    from tilewright.cute.atom import CopyAtom

    if not isinstance(atom, CopyAtom):
        raise TypeError(f"{function}: expected a CopyAtom or a TiledCopy, but got {atom!r}; make_copy_atom makes one")
    return atom


def _same_sizes(function: str, src: Tensor, dst: Tensor) -> tuple[int, ...]:
    a, b = _sizes(src.layout), _sizes(dst.layout)
    if len(a) != len(b):
        raise ValueError(f"{function}: src {src} has {len(a)} modes and dst {dst} has {len(b)}; they need the same")
    for mode, (m, n) in enumerate(zip(a, b, strict=True)):
        if m != n:
            raise ValueError(
                f"{function}: mode {mode} has size {m} in src {src} and {n} in dst {dst}; they need the same"
            )
    return a


# ---- copies of one thread --------------------------------------------------------------------------------------------


def copy(
    atom: CopyAtom,
    src: Any,
    dst: Any,
    *,
    pred: Any = None,
    unroll_factor: int | None = None,
    tma_bar_ptr: Any = None,
    cache_policy: Any = None,
    loc: Any = None,
    ip: Any = None,
) -> None:
    """Copy what one thread has: dst[v, r..] = src[v, r..], a call of the atom for each group of its values.

    Mode 0 holds the values, as partition_S and partition_D make it, and the atom is called for every coordinate of the
    others. `pred` has one Boolean for each call, shape (calls in mode 0, other modes); where it is false nothing is
    done, but for the copies of CopyG2SOp, which write zeros. A TiledCopy counts as its atom; unroll_factor and what
    concerns the GPU alone (tma_bar_ptr, cache_policy) have no effect.

    Raises TypeError for elements of different width, ValueError where rank or sizes differ, where the atom's vectors
    are not side by side or not known to be aligned, where memories do not fit the operation, and for atoms that move
    data between threads: copy_tiled runs those for all threads. Source: CuTeDSL `cute.copy`.

    >>> from tilewright import Float32, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=64)
    >>> src, dst = cute.make_rmem_tensor(((2, 2), 3), Float32), cute.make_rmem_tensor(((2, 2), 3), Float32)
    >>> src.store(range(12))
    >>> cute.copy(atom, src, dst)
    >>> dst.load().tolist() == src.load().tolist()
    True
    """
    _copy("copy", atom, src, dst, pred)


def _copy(function: str, atom: Any, src: Any, dst: Any, pred: Any) -> None:
    atom = _require_atom(function, atom)
    src, dst = _memory_tensor(function, "src", src), _memory_tensor(function, "dst", dst)
    _check_types(function, atom, src, dst)
    threads = int(_core.size(atom.thr_id))
    if threads > 1:
        raise ValueError(
            f"{function}: {atom.op} moves data between the {threads} threads of a warp, and these tensors belong to "
            "one; copy_tiled(tiled_copy, src, dst) runs all threads"
        )
    sizes = _same_sizes(function, src, dst)
    values = int(_core.size(atom.layout_src_tv, mode=[1]))
    if sizes[0] % values:
        raise ValueError(
            f"{function}: {_name(atom)} moves {values} elements at once, but mode 0 of src {src} has {sizes[0]}, "
            f"which is no multiple of it; use an atom of {gcd(sizes[0], values) * atom.value_type.bits} bits"
        )
    read, write = (t.layout.offsets().reshape(values, -1, order="F") for t in (src, dst))
    chosen = None if pred is None else _predicates(function, pred, (sizes[0] // values, *sizes[1:]))
    _execute(function, atom, src, read, dst, write, chosen)


def _execute(
    function: str, atom: CopyAtom, src: Tensor, read: Array, dst: Tensor, write: Array, chosen: Array | None
) -> None:
    """Calls of an atom, one a column: read[v, call] and write[v, call] are offsets."""
    skipped = None
    if chosen is not None:
        read, write, skipped = read[:, chosen], write[:, chosen], write[:, ~chosen]
    _check_side(function, atom, "src", src, read)
    _check_side(function, atom, "dst", dst, write)
    _move(function, src, read.ravel("F"), dst, write.ravel("F"))
    if skipped is not None and atom.traits.zero_fills:
        _check_side(function, atom, "dst", dst, skipped)
        _clear(function, dst, skipped.ravel("F"))


def copy_atom_call(atom: CopyAtom, src: Any, dst: Any, *, pred: Any = None, loc: Any = None, ip: Any = None) -> None:
    """Copy tensors that have nothing but the values of a thread, one mode: `copy` without a loop over other modes.

    Raises as `copy`, and ValueError for a tensor with more modes. Source: CuTeDSL `cute.copy_atom_call`.

    >>> from tilewright import Float32, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=64)
    >>> src, dst = cute.make_rmem_tensor(2, Float32), cute.make_rmem_tensor(2, Float32)
    >>> src.fill(3)
    >>> cute.copy_atom_call(atom, src, dst)
    >>> list(dst)
    [3.0, 3.0]
    """
    for name, x in (("src", src), ("dst", dst)):
        layout = as_tensor(x, "copy_atom_call", name).layout
        if _core.rank(layout) != 1:
            raise ValueError(
                f"copy_atom_call: {name} has the layout {layout} of {_core.rank(layout)} modes, but the values of one "
                "thread are one mode; copy loops over the others"
            )
    _copy("copy_atom_call", atom, src, dst, pred)


def basic_copy(src: Any, dst: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Copy element by element, converting where the types differ: dst[i] = src[i], colexicographically.

    Raises ValueError where the sizes differ. Source: CuTeDSL `cute.basic_copy`.

    >>> from tilewright import Float32, Int8, cute
    >>> src, dst = cute.make_rmem_tensor((2, 3), Float32), cute.make_rmem_tensor(6, Int8)
    >>> src.store([0, 1.5, 2, 3, 4, -5.5])
    >>> cute.basic_copy(src, dst)
    >>> list(dst)
    [0, 1, 2, 3, 4, -5]
    """
    _basic("basic_copy", None, src, dst)


def basic_copy_if(pred: Any, src: Any, dst: Any, *, loc: Any = None, ip: Any = None) -> None:
    """Copy the elements where a predicate is true: dst[i] = src[i] if pred[i].

    Raises ValueError where the sizes differ. Source: CuTeDSL `cute.basic_copy_if`.

    >>> from tilewright import Boolean, Float32, cute
    >>> src, dst = cute.make_rmem_tensor(3, Float32), cute.make_rmem_tensor(3, Float32)
    >>> pred = cute.make_rmem_tensor(3, Boolean)
    >>> src.fill(7)
    >>> pred.store([True, False, True])
    >>> cute.basic_copy_if(pred, src, dst)
    >>> list(dst)
    [7.0, 0.0, 7.0]
    """
    _basic("basic_copy_if", pred, src, dst)


def _basic(function: str, pred: Any, src: Any, dst: Any) -> None:
    src, dst = _memory_tensor(function, "src", src), _memory_tensor(function, "dst", dst)
    read, write = src.layout.offsets(), dst.layout.offsets()
    if len(read) != len(write):
        raise ValueError(
            f"{function}: src {src} has {len(read)} elements and dst {dst} has {len(write)}; they need the same number"
        )
    if pred is not None:
        chosen = _memory_tensor(function, "pred", pred).load() != 0
        if len(chosen) != len(read):
            raise ValueError(f"{function}: pred has {len(chosen)} elements and src {len(read)}; it needs one for each")
        read, write = read[chosen], write[chosen]
    if src.iterator.dtype is dst.iterator.dtype:
        _move(function, src, read, dst, write)
        return
    values = [_converted(src.iterator.dtype, (src.iterator + int(i)).load(), dst.iterator.dtype) for i in read]
    for offset, value in zip(write, values, strict=True):
        (dst.iterator + int(offset)).store(value)


def _converted(source: type[Numeric], value: Any, target: type[Numeric]) -> Any:
    return source(value).to(target)


def autovec_copy(src: Any, dst: Any, *, l1c_evict_priority: Any = None, loc: Any = None, ip: Any = None) -> None:
    """Copy element by element with vectors as wide as both layouts and alignments allow: dst[i] = src[i].

    The width makes no difference to the result, and on the CPU none at all. Raises LayoutError for layouts that are not
    static, TypeError for elements of different width, ValueError where the sizes differ.
    Source: CuTeDSL `cute.autovec_copy`.

    >>> from tilewright import Float32, cute
    >>> src, dst = cute.make_rmem_tensor((2, 3), Float32), cute.make_rmem_tensor((2, 3), Float32)
    >>> src.fill(1)
    >>> cute.autovec_copy(src, dst)
    >>> list(dst)
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    src, dst = _memory_tensor("autovec_copy", "src", src), _memory_tensor("autovec_copy", "dst", dst)
    _same_width("autovec_copy", src, dst)
    for name, tensor in (("src", src), ("dst", dst)):
        if not _core.is_static(tensor.layout):
            raise LayoutError(
                f"autovec_copy: {name} {tensor} has a dynamic layout, of which no vector width is known; "
                "use basic_copy, or copy with an atom"
            )
    read, write = src.layout.offsets(), dst.layout.offsets()
    if len(read) != len(write):
        raise ValueError(
            f"autovec_copy: src {src} has {len(read)} elements and dst {dst} has {len(write)}; "
            "they need the same number"
        )
    _move("autovec_copy", src, read, dst, write)


# ---- copies of all threads -------------------------------------------------------------------------------------------


def copy_threads(tiled_copy: TiledCopy, src: Any, dst: Any, *, pred: Any = None) -> None:
    """Copy what all threads have, in tensors with the modes (thread, values, tiles): tidfrg_S and tidfrg_D make them.

    Executes atoms that move data between threads exactly: with ldmatrix, `src` holds the rows that threads name and
    `dst` the registers of threads. A register tensor of all threads is one with a mode for the thread in front. `pred`
    has one Boolean for each thread, call and tile, and is refused for atoms of several threads. Raises as `copy`.

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
    src, dst = _memory_tensor(function, "src", src), _memory_tensor(function, "dst", dst)
    _check_types(function, tiled_copy, src, dst)
    _all_threads(
        function, tiled_copy, src, dst, lambda sizes: _predicates_of_threads(function, tiled_copy, pred, sizes)
    )


def _require_tiled(function: str, tiled_copy: Any) -> Any:
    from tilewright.cute.tiled_copy import TiledCopy

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
    return _predicates(function, pred, (threads, calls, *rest))


def _all_threads(function: str, tiled_copy: TiledCopy, src: Tensor, dst: Tensor, predicates: Any) -> None:
    """Execute the calls of all threads; predicates(sizes) has a Boolean for each of (thread, call, tiles)."""
    import numpy as np

    sides = (("src", src, tiled_copy.layout_src_tv), ("dst", dst, tiled_copy.layout_dst_tv))
    values = int(_core.size(tiled_copy.layout_tv_tiled, mode=[1]))
    calls = values // int(_core.size(tiled_copy.layout_ref, mode=[1]))
    tables = []
    for name, tensor, layout in sides:
        sizes = _sizes(tensor.layout)
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
    chosen = predicates((tiled_copy.size, values, *_sizes(src.layout)[2:]))
    if threads == 1:
        _execute(function, tiled_copy, src, read, dst, write, chosen)
        return
    rows = []  # by bit of what is moved: the row that reads it, the row that writes it
    for (name, tensor, layout), table in zip(sides, (read, write), strict=True):
        first = {bit: i for i, bit in reversed(list(enumerate(layout.offsets().tolist())))}
        rows.append(first)
        used = sorted({i % threads for i in first.values()})  # addresses of the other threads are not looked at
        accesses = table.reshape(threads, -1, table.shape[1], order="F")[used]
        _check_side(function, tiled_copy, name, tensor, np.moveaxis(accesses, 1, 0).reshape(accesses.shape[1], -1))
    source, target = ([first[bit] for bit in sorted(first)] for first in rows)
    _move(function, src, read[source].ravel(), dst, write[target].ravel())


def copy_tiled(tiled_copy: TiledCopy, src: Any, dst: Any, *, pred: Any = None) -> None:
    """Copy a whole tensor as all threads of a tiled copy do: dst[c] = src[c], tile after tile.

    src and dst have equal extents. Where the tiles reach beyond these, the calls that lie outside are left out; `pred`,
    of the same extents, leaves out more. A call that is half inside is an error, because an instruction is executed as
    a whole. Atoms that move data between threads are executed exactly. Raises as `copy`.

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
    src, dst = _memory_tensor(function, "src", src), _memory_tensor(function, "dst", dst)
    _check_types(function, tiled_copy, src, dst)
    sizes = _same_sizes(function, src, dst)
    read, write = tiled_copy.tidfrg_S(src), tiled_copy.tidfrg_D(dst)
    _all_threads(function, tiled_copy, read, write, lambda _: _inside(function, tiled_copy, sizes, pred))


def _inside(function: str, tiled_copy: TiledCopy, sizes: tuple[int, ...], pred: Any) -> Array | None:
    """Which calls lie in a tensor of these extents and are wanted, by (thread, call, tiles); None: all of them."""
    import numpy as np

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
        tensor = _memory_tensor(function, "pred", pred)
        if _sizes(tensor.layout) != sizes:
            raise ValueError(
                f"{function}: pred has shape {text(tensor.shape)}, but needs the extents of src, {text(sizes)}"
            )
        inside = inside & (tensor.load() != 0)[index]
    values = int(_core.size(tiled_copy.layout_ref, mode=[1]))
    calls: Array = np.asarray(inside).reshape(tiled_copy.size, values, -1, order="F")
    whole: Any = calls.all(axis=1)
    torn: Any = calls.any(axis=1) & ~whole
    if torn.any():
        thread = int(np.nonzero(torn)[0][0])
        raise ValueError(
            f"{function}: {_name(tiled_copy)} moves {values} elements at once, and one of thread {thread}'s vectors is "
            f"only partly {'inside' if pred is None else 'wanted of'} the extents {text(sizes)}; use a narrower copy "
            "or pad the tensors"
        )
    return whole.ravel("F")  # type: ignore[no-any-return]
