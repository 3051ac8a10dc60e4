"""Tensors that lie in some memory of a GPU, for copies on the CPU."""

from __future__ import annotations

from tilewright import AddressSpace, Float16, _core, cute
from tilewright.cute.nvgpu import (
    CopyUniversalOp,
    warp,
)
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.tensor import Tensor

L = cute.parse


def universal(dtype, bits=None):
    return cute.make_copy_atom(CopyUniversalOp(), dtype, num_bits_per_copy=bits)


def memory(layout, dtype, space=AddressSpace.smem, alignment=128):
    """A tensor in some memory of a GPU; ordinary memory stands for it."""
    layout = L(layout) if isinstance(layout, str) else layout
    cosize = int(layout.offsets().max()) + 1
    block = _core.Memory.allocate(-(-cosize * dtype.bits // 8), alignment)
    return Tensor(Pointer(dtype, block.address, space, alignment, block), layout)


def numbered(layout, dtype=Float16, space=AddressSpace.smem, alignment=128):
    """tensor[i] = i."""
    tensor = memory(layout, dtype, space, alignment)
    tensor.store(range(cute.size(tensor.layout)))
    return tensor


LOAD = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), Float16)
