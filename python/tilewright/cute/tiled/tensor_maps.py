"""Tensor maps that a kernel changes: a copy of an atom's in memory, which describes another tensor each time.

What TMA copies stands in a tensor map of 128 bytes: where the tensor is, its extents, its strides, its boxes. The
host makes one for each atom. A kernel that learns its tensors on the device, such as a grouped product, copies it to
global memory, puts other tensors in, and passes its address to `copy(.., tma_desc_ptr=)`. TMA reads tensor maps by a
proxy of its own: whoever has changed one releases it, and whoever copies by it acquires it.
"""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.cute.atoms.tma_atom import TmaAtom
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.cute.tensors.tensor import Tensor
from tilewright.numeric import Int64, Numeric
from tilewright.numeric.traced import emit, is_traced, symbol_of

__all__ = [
    "copy_tensormap",
    "cp_fence_tma_desc_release",
    "fence_tma_desc_acquire",
    "fence_tma_desc_release",
    "tensor_map_of",
    "update_tma_descriptor",
]

_GLOBAL = (AddressSpace.gmem, AddressSpace.generic)
_WRITABLE = (AddressSpace.gmem, AddressSpace.smem)


def copy_tensormap(tma_atom: TmaAtom, tensormap_ptr: Pointer, *, loc: object = None, ip: object = None) -> None:
    """Copy the tensor map of an atom to 128 bytes of global or shared memory: each thread that is here does it.

    TypeError for what is no atom of make_tiled_tma_atom, or no pointer to such memory.
    Source: CuTeDSL `cute.nvgpu.cpasync.copy_tensormap`.
    """
    name = "copy_tensormap"
    atom = _atom(name, tma_atom)
    emit(name, [atom.symbol], accesses=[_map(name, "tensormap_ptr", tensormap_ptr, _WRITABLE)])


def update_tma_descriptor(
    tma_atom: TmaAtom, gmem_tensor: Tensor, tma_desc_ptr: Pointer, *, loc: object = None, ip: object = None
) -> None:
    """Make a tensor map in memory one of another tensor: its address, extents and strides. The whole warp calls it.

    tma_desc_ptr points to what copy_tensormap has written there, in global or shared memory. The tensor has the
    atom's elements and modes, and is contiguous along the same one; boxes and swizzle stay. Extents and strides may be
    known at run time only. After a change in global memory: sync_warp, fence_tma_desc_release, and
    fence_tma_desc_acquire by every warp that copies.

    TypeError for other elements, ValueError for other modes. Source: CuTeDSL
    `cute.nvgpu.cpasync.update_tma_descriptor`.
    """
    name = "update_tma_descriptor"
    atom = _atom(name, tma_atom)
    at = _map(name, "tma_desc_ptr", tma_desc_ptr, _WRITABLE)
    if not isinstance(gmem_tensor, Tensor) or not is_traced(gmem_tensor.iterator):
        raise TypeError(f"{name}: expected a tensor of the kernel, but gmem_tensor is {gmem_tensor}")
    dtype, layout = gmem_tensor.iterator.dtype, gmem_tensor.layout
    if dtype is not atom.value_type:
        raise TypeError(f"{name}: the atom copies elements of {atom.value_type}, but gmem_tensor is {gmem_tensor}")
    if not isinstance(layout, _core.Layout):
        raise ValueError(f"{name}: TMA copies from plain layouts, but gmem_tensor is {gmem_tensor}")
    leaves = list(zip(_core.flatten_to_tuple(layout.shape), _core.flatten_to_tuple(layout.stride), strict=True))
    if len(leaves) != len(atom.order):
        raise ValueError(
            f"{name}: the atom's tensor has {len(atom.order)} modes, but gmem_tensor {gmem_tensor} has {len(leaves)}"
        )
    first = leaves[atom.order[0]][1]
    if isinstance(first, int) and first != 1:
        raise ValueError(
            f"{name}: the atom's tensor is contiguous along mode {atom.order[0]}, but gmem_tensor is {gmem_tensor}"
        )
    extents = [_symbol(leaves[i][0]) for i in atom.order]
    strides = [_symbol(leaves[i][1]) for i in atom.order]
    emit(name, [gmem_tensor.iterator.symbol, *extents, *strides], accesses=[at], ints=(len(leaves),))


def fence_tma_desc_release(*, loc: object = None, ip: object = None) -> None:
    """Release the tensor maps in global memory that this thread has changed: whoever acquires them then sees that.

    Source: CuTeDSL `cute.nvgpu.cpasync.fence_tma_desc_release`.
    """
    emit("fence", text="proxy.tensormap::generic.release.gpu")


def fence_tma_desc_acquire(tma_desc_ptr: Pointer, *, loc: object = None, ip: object = None) -> None:
    """Acquire a tensor map in global memory: copies that follow see what was released before.

    Source: CuTeDSL `cute.nvgpu.cpasync.fence_tma_desc_acquire`.
    """
    name = "fence_tma_desc_acquire"
    emit(name, accesses=[_map(name, "tma_desc_ptr", tma_desc_ptr, _GLOBAL)])


def cp_fence_tma_desc_release(
    tma_desc_global_ptr: Pointer, tma_desc_shared_ptr: Pointer, *, loc: object = None, ip: object = None
) -> None:
    """Copy a tensor map from shared to global memory, and release it. The whole warp calls it, after a sync_warp.

    Source: CuTeDSL `cute.nvgpu.cpasync.cp_fence_tma_desc_release`.
    """
    name = "cp_fence_tma_desc_release"
    to = _map(name, "tma_desc_global_ptr", tma_desc_global_ptr, (AddressSpace.gmem,))
    emit(name, accesses=[to, _map(name, "tma_desc_shared_ptr", tma_desc_shared_ptr, (AddressSpace.smem,))])


def tensor_map_of(function: str, atom: TmaAtom, tma_desc_ptr: Pointer | None) -> Any:
    """The tensor map by which an atom copies: its own, or one in global memory."""
    if tma_desc_ptr is None:
        return atom.symbol
    return _map(function, "tma_desc_ptr", tma_desc_ptr, _GLOBAL)


def _atom(name: str, atom: Any) -> TmaAtom:
    if not isinstance(atom, TmaAtom):
        raise TypeError(f"{name}: expected an atom of make_tiled_tma_atom, but got {atom!r}")
    return atom


def _map(name: str, what: str, pointer: Any, spaces: tuple[AddressSpace, ...]) -> Any:
    if not isinstance(pointer, Pointer) or not is_traced(pointer) or pointer.memspace not in spaces:
        raise TypeError(
            f"{name}: expected {what} to point to 128 bytes of {' or '.join(map(str, spaces))} for a tensor map, "
            f"but got {pointer}"
        )
    return pointer.symbol  # type: ignore[attr-defined]


def _symbol(number: Any) -> Any:
    value = number.to(Int64)._value if isinstance(number, Numeric) else number
    return symbol_of(Int64, value)
