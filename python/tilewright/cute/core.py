"""What CuTeDSL has in `cutlass.cute.core`: names of `cute` itself."""

from __future__ import annotations

from tilewright.cute.tensors.pointer import AddressSpace, Pointer, make_ptr, recast_ptr
from tilewright.cute.tensors.tensor import Tensor, make_identity_tensor, make_tensor, recast_tensor

__all__ = [
    "AddressSpace",
    "Pointer",
    "Tensor",
    "make_identity_tensor",
    "make_ptr",
    "make_tensor",
    "recast_ptr",
    "recast_tensor",
]
