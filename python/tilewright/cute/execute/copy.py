"""Copies of one thread, executed on the CPU: by an atom, or element by element.

What the hardware would not do is refused: a vector whose elements do not lie side by side, an address without the
alignment that is known to be needed, an instruction between memories that it does not connect. Bits are moved as they
are; a copy reads everything before it writes.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.atoms.copy_atom import CopyAtom
from tilewright.cute.atoms.copy_ops import CopyBulkG2SOp, CopyBulkS2GOp
from tilewright.cute.atoms.tma_atom import TmaAtom
from tilewright.cute.execute import traced
from tilewright.cute.execute.copy_calls import check_types, execute, name_of, require_atom, same_sizes
from tilewright.cute.execute.copy_elements import memory_tensor, move, predicates_of, require_same_width
from tilewright.cute.tensors.tensor import as_tensor
from tilewright.cute.tiled.tma import copy_boxes, copy_bytes
from tilewright.numeric import Numeric
from tilewright.numeric.traced import is_traced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.cute.tensors.pointer import Pointer
    from tilewright.cute.tensors.tensor import Tensor

__all__ = ["autovec_copy", "basic_copy", "basic_copy_if", "copy", "copy_atom_call"]


def copy(
    atom: CopyAtom,
    src: Tensor | Sequence[Tensor],
    dst: Tensor | Sequence[Tensor],
    *,
    pred: Tensor | None = None,
    unroll_factor: int | None = None,
    tma_bar_ptr: Pointer | None = None,
    mcast_mask: int | Numeric | None = None,
    mbar_ptr: Pointer | None = None,
    tma_desc_ptr: Pointer | None = None,
    cache_policy: object = None,
    loc: object = None,
    ip: object = None,
) -> None:
    """Copy what one thread has: dst[v, r..] = src[v, r..], a call of the atom for each group of its values.

    Mode 0 holds the values, as partition_S and partition_D make it, and the atom is called for every coordinate of the
    others. `pred` has one Boolean for each call, shape (calls in mode 0, other modes); where it is false nothing is
    done, but for the copies of CopyG2SOp, which write zeros. A TiledCopy counts as its atom; unroll_factor and
    cache_policy have no effect. An atom of make_tiled_tma_atom copies boxes of what tma_partition gives, in a kernel:
    the whole warp calls, one thread of it is chosen, and the bytes count at the mbarrier tma_bar_ptr (or mbar_ptr); by
    multicast they go to the CTAs of mcast_mask, a bit each. tma_desc_ptr: a tensor map in global memory instead of the
    atom's, as copy_tensormap and update_tma_descriptor write it.

    Raises TypeError for elements of different width, ValueError where rank or sizes differ, where the atom's vectors
    are not side by side or not known to be aligned, where memories do not fit the operation, and for atoms that move
    data between threads: copy_tiled runs those for all threads. Source: CuTeDSL `cute.copy`.

    >>> from tilewright import Float32, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=64)
    >>> src, dst = cute.make_rmem_tensor(((2, 2), 3), Float32), cute.make_rmem_tensor(((2, 2), 3), Float32)
    >>> src.store(range(12))
    >>> cute.copy(atom, src, dst)
    >>> list(dst) == list(src)
    True
    """
    barrier = mbar_ptr if tma_bar_ptr is None else tma_bar_ptr
    if isinstance(atom, TmaAtom):
        given = as_tensor(src, "copy", "src"), as_tensor(dst, "copy", "dst")
        copy_boxes("copy", atom, *given, barrier, mcast_mask, pred, tma_desc_ptr)
        return
    if isinstance(atom, CopyAtom) and isinstance(atom.op, (CopyBulkG2SOp, CopyBulkS2GOp)):
        copy_bytes("copy", atom, memory_tensor("copy", "src", src), memory_tensor("copy", "dst", dst), barrier, pred)
        return
    _copy("copy", atom, src, dst, pred)


def _copy(function: str, atom: Any, src: Any, dst: Any, pred: Any) -> None:
    atom = require_atom(function, atom)
    src, dst = memory_tensor(function, "src", src), memory_tensor(function, "dst", dst)
    check_types(function, atom, src, dst)
    threads = int(_core.size(atom.thr_id))
    if threads > 1 and traced.in_kernel(src, dst):
        traced.copy_by_warp(function, atom, src, dst, pred)
        return
    if threads > 1:
        raise ValueError(
            f"{function}: {atom.op} moves data between the {threads} threads of a warp, and these tensors belong to "
            "one; copy_tiled(tiled_copy, src, dst) runs all threads"
        )
    sizes = same_sizes(function, src, dst)
    values = int(_core.size(atom.layout_src_tv, mode=[1]))
    if sizes[0] % values:
        raise ValueError(
            f"{function}: {name_of(atom)} moves {values} elements at once, but mode 0 of src {src} has {sizes[0]}, "
            f"which is no multiple of it; use an atom of {gcd(sizes[0], values) * atom.value_type.bits} bits"
        )
    if traced.in_kernel(src, dst):
        traced.copy_by_atom(function, atom, src, dst, values, sizes, pred)
        return
    read, write = (t.layout.offsets().reshape(values, -1, order="F") for t in (src, dst))
    chosen = None if pred is None else predicates_of(function, pred, (sizes[0] // values, *sizes[1:]))
    execute(function, atom, src, read, dst, write, chosen)


def copy_atom_call(
    atom: CopyAtom, src: Tensor, dst: Tensor, *, pred: Tensor | None = None, loc: object = None, ip: object = None
) -> None:
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


def basic_copy(src: Tensor, dst: Tensor, *, loc: object = None, ip: object = None) -> None:
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


def basic_copy_if(pred: Tensor, src: Tensor, dst: Tensor, *, loc: object = None, ip: object = None) -> None:
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
    src, dst = memory_tensor(function, "src", src), memory_tensor(function, "dst", dst)
    _require_same_size(function, src, dst)
    if traced.in_kernel(src, dst):
        _basic_in_kernel(function, pred, src, dst)
        return
    read, write = src.layout.offsets(), dst.layout.offsets()
    if pred is not None:
        chosen = memory_tensor(function, "pred", pred)._elements() != 0
        if len(chosen) != len(read):
            raise ValueError(f"{function}: pred has {len(chosen)} elements and src {len(read)}; it needs one for each")
        read, write = read[chosen], write[chosen]
    if src.iterator.dtype is dst.iterator.dtype:
        move(function, src, read, dst, write)
        return
    values = [_converted(src.iterator.dtype, (src.iterator + int(i)).load(), dst.iterator.dtype) for i in read]
    for offset, value in zip(write, values, strict=True):
        (dst.iterator + int(offset)).store(value)


def _require_same_size(function: str, src: Tensor, dst: Tensor) -> int:
    count, wanted = _core.size(src.layout), _core.size(dst.layout)
    for name, tensor, size in (("src", src, count), ("dst", dst, wanted)):
        if is_traced(size):
            raise TypeError(
                f"{function}: {name} {tensor} has a number of elements that is known only at run time; take a tile of "
                "a static shape, such as cute.local_tile(tensor, (1, 8), coord)"
            )
    count, wanted = int(count), int(wanted)
    if count != wanted:
        raise ValueError(
            f"{function}: src {src} has {count} elements and dst {dst} has {wanted}; they need the same number"
        )
    return count


def _basic_in_kernel(function: str, pred: Any, src: Tensor, dst: Tensor) -> None:
    if pred is not None:
        pred = memory_tensor(function, "pred", pred)
        require_same_width(function, src, dst)
        found = int(_core.size(pred.layout))
        if found != _core.size(src.layout):
            raise ValueError(
                f"{function}: pred has {found} elements and src {_core.size(src.layout)}; it needs one for each"
            )
    elif src.element_type is not dst.element_type:
        traced.convert_elements(src, dst)
        return
    traced.copy_elements(function, src, dst, pred)


def _converted(source: type[Numeric], value: Any, target: type[Numeric]) -> Any:
    return source(value).to(target)


def autovec_copy(
    src: Tensor, dst: Tensor, *, l1c_evict_priority: object = None, loc: object = None, ip: object = None
) -> None:
    """Copy element by element with vectors as wide as both layouts and alignments allow: dst[i] = src[i].

    The width makes no difference to the result. Raises TypeError for what is no tensor in memory and for elements of
    different width, ValueError where the sizes differ; outside of kernels, LayoutError for layouts that are not static.
    Source: CuTeDSL `cute.autovec_copy`.

    >>> from tilewright import Float32, cute
    >>> src, dst = cute.make_rmem_tensor((2, 3), Float32), cute.make_rmem_tensor((2, 3), Float32)
    >>> src.fill(1)
    >>> cute.autovec_copy(src, dst)
    >>> list(dst)
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    src, dst = memory_tensor("autovec_copy", "src", src), memory_tensor("autovec_copy", "dst", dst)
    require_same_width("autovec_copy", src, dst)
    if traced.in_kernel(src, dst):
        _require_same_size("autovec_copy", src, dst)
        traced.copy_widest("autovec_copy", src, dst)
        return
    for name, tensor in (("src", src), ("dst", dst)):
        if not _core.is_static(tensor.layout):
            raise LayoutError(
                f"autovec_copy: {name} {tensor} has a dynamic layout, of which no vector width is known; "
                "use basic_copy, or copy with an atom"
            )
    _require_same_size("autovec_copy", src, dst)
    read, write = src.layout.offsets(), dst.layout.offsets()
    move("autovec_copy", src, read, dst, write)
