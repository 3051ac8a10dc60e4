"""Tensor maps that a kernel changes, one of its warps at a time: TensorMapManager."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tilewright.cute.nvgpu import cpasync
from tilewright.cute.tensors.pointer import AddressSpace
from tilewright.cute.tensors.traced_pointer import TracedPointer
from tilewright.lang import arch
from tilewright.lang.library.generate import if_generate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.cute.atoms.tma_atom import TmaAtom
    from tilewright.cute.tensors.pointer import Pointer
    from tilewright.cute.tensors.tensor import Tensor

__all__ = ["TensorMapManager", "TensorMapUpdateMode"]

_ALIGNED = 128  # bytes


class TensorMapUpdateMode(Enum):
    """Where a tensor map is changed: in global memory, or in shared memory, from which it goes there."""

    GMEM = 0
    SMEM = 1


class TensorMapManager:
    """What a grouped kernel does with its tensor maps: copy the host's, put another tensor in, show it to TMA.

    Each block needs 128 bytes of global memory for each tensor map, and in the mode SMEM as much shared memory. Warp
    `warp_id` does the work; all warps may call.

        init_tensormap_from_atom(atom, pointer, warp_id)    once, to where the map is changed
        fence_tensormap_initialization()
        update_tensormap(tensors, atoms, pointers, warp_id, shared pointers)    for another group
        fence_tensormap_update(pointer)    by the warp that copies
        copy(atom, .., tma_desc_ptr=get_tensormap_ptr(pointer, AddressSpace.generic))

    Source: CuTeDSL `cutlass.utils.TensorMapManager`.
    """

    def __init__(self, tensormap_update_mode: TensorMapUpdateMode, bytes_per_tensormap: int) -> None:
        if not isinstance(tensormap_update_mode, TensorMapUpdateMode):
            raise TypeError(f"TensorMapManager: expected a TensorMapUpdateMode, but got {tensormap_update_mode!r}")
        if bytes_per_tensormap != _ALIGNED:
            raise ValueError(f"TensorMapManager: bytes_per_tensormap is {bytes_per_tensormap}; a tensor map has 128")
        self.tensormap_update_mode = tensormap_update_mode
        self.bytes_per_tensormap = bytes_per_tensormap

    def get_tensormap_ptr(
        self, ptr: Pointer, address_space: AddressSpace = AddressSpace.gmem, *, loc: object = None, ip: object = None
    ) -> Pointer:
        """A pointer to global memory as one to a tensor map there: aligned to 128 bytes, in that address space."""
        spaces = (AddressSpace.gmem, AddressSpace.generic)
        if not isinstance(ptr, TracedPointer) or ptr.memspace not in spaces or address_space not in spaces:
            raise ValueError(
                f"get_tensormap_ptr: TMA takes tensor maps from global memory, but got {ptr} for {address_space}"
            )
        return ptr._recast(ptr.dtype, address_space, _ALIGNED, None)

    def init_tensormap_from_atom(
        self, copy_atom: TmaAtom, dst_ptr: Pointer, warp_id: int, *, loc: object = None, ip: object = None
    ) -> None:
        """Copy the tensor map of an atom to global or shared memory."""

        def copy() -> None:
            if_generate(arch.elect_one().condition(), lambda: cpasync.copy_tensormap(copy_atom, dst_ptr))
            arch.sync_warp()

        _in_warp(warp_id, copy)

    def fence_tensormap_initialization(self, *, loc: object = None, ip: object = None) -> None:
        """Order what initialised tensor maps before what the block's threads do next, where a barrier follows."""
        arch.fence_acq_rel_cta()

    def update_tensormap(
        self,
        tensor_gmem: Sequence[Tensor],
        tma_copy_atom: Sequence[TmaAtom],
        tensormap_gmem_ptr: Sequence[Pointer],
        warp_id: int,
        tensormap_smem_ptr: Sequence[Pointer] | None = None,
        *,
        loc: object = None,
        ip: object = None,
    ) -> None:
        """Make tensor maps those of other tensors, when the stores of this warp have read theirs, and release them."""
        in_shared = self.tensormap_update_mode is TensorMapUpdateMode.SMEM
        if in_shared and (tensormap_smem_ptr is None or len(tensormap_smem_ptr) != len(tensormap_gmem_ptr)):
            raise ValueError("update_tensormap: in the mode SMEM each tensor map needs its own tensormap_smem_ptr")

        def change(places: Sequence[Pointer]) -> None:
            for atom, tensor, place in zip(tma_copy_atom, tensor_gmem, places, strict=True):
                cpasync.update_tma_descriptor(atom, tensor, place)

        def wait_for_stores() -> None:
            arch.cp_async_bulk_commit_group()
            arch.cp_async_bulk_wait_group(0, read=True)

        def update() -> None:
            if in_shared:
                change(tensormap_smem_ptr or ())
            if_generate(arch.elect_one().condition(), wait_for_stores)
            arch.sync_warp()
            if in_shared:
                for to, source in zip(tensormap_gmem_ptr, tensormap_smem_ptr or (), strict=True):
                    cpasync.cp_fence_tma_desc_release(to, source)
            else:
                change(tensormap_gmem_ptr)
                arch.sync_warp()
                cpasync.fence_tma_desc_release()

        _in_warp(warp_id, update)

    def fence_tensormap_update(self, tensormap_ptr: Pointer, *, loc: object = None, ip: object = None) -> None:
        """Let the copies of this warp that follow see what was last released of a tensor map."""
        cpasync.fence_tma_desc_acquire(tensormap_ptr)


def _in_warp(warp_id: int, body: Callable[[], None]) -> None:
    if_generate(arch.make_warp_uniform(arch.warp_idx()) == warp_id, body)
