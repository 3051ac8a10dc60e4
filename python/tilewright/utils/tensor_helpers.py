"""Tensors of 8-bit floats, as `cutlass.utils.tensor_helpers`: torch keeps them as bytes, DLPack does not know them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._registry import Lazy
from tilewright.cute.runtime import from_dlpack
from tilewright.cute.tensors.pointer import recast_ptr
from tilewright.numeric import Float8E4M3FN, Float8E5M2, Numeric

if TYPE_CHECKING:
    import torch

    from tilewright.cute.tensors.runtime_tensor import RuntimeTensor

__all__ = ["create_cute_tensor_for_fp8", "is_fp8_dtype"]

_torch_dtype = Lazy("tilewright.torch.tensors:dtype")  # torch is optional
ALIGNMENT = 16  # bytes, which allocations of torch have


def is_fp8_dtype(dtype: type[Numeric]) -> bool:
    """Whether elements are floats of 8 bits. Source: CuTeDSL `utils.tensor_helpers.is_fp8_dtype`.

    >>> from tilewright import Float16
    >>> is_fp8_dtype(Float8E4M3FN), is_fp8_dtype(Float16)
    (True, False)
    """
    return dtype in (Float8E4M3FN, Float8E5M2)


def create_cute_tensor_for_fp8(
    storage_tensor: torch.Tensor,
    dtype: type[Numeric],
    leading_dim: int,
    source_f32_tensor: torch.Tensor | None = None,
) -> RuntimeTensor:
    """A tensor with a dynamic layout over torch's memory; bytes are seen as elements of an 8-bit float.

    The elements of `source_f32_tensor` are converted into it then. `leading_dim` is the mode with stride 1. Raises
    ValueError as mark_layout_dynamic. Source: CuTeDSL `utils.tensor_helpers.create_cute_tensor_for_fp8`.

    >>> import torch
    >>> bytes_ = torch.zeros(2, 16, dtype=torch.uint8)
    >>> made = create_cute_tensor_for_fp8(bytes_, Float8E4M3FN, 1, source_f32_tensor=torch.ones(2, 16))
    >>> made.element_type is Float8E4M3FN, int(bytes_[0, 0])
    (True, 56)
    """
    tensor = from_dlpack(storage_tensor, assumed_align=ALIGNMENT)
    if is_fp8_dtype(dtype):
        tensor.iterator = recast_ptr(tensor.iterator, dtype=dtype)
        if source_f32_tensor is not None:
            storage_tensor.copy_(source_f32_tensor.to(_torch_dtype(dtype)).view(storage_tensor.dtype))
    return tensor.mark_layout_dynamic(leading_dim=leading_dim)
