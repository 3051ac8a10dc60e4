"""tilewright in torch: GEMMs, attention, kernels of one's own as operations of torch, and what CuTeDSL's programs ask.

`matmul`, `addmm`, `linear`, `scaled_dot_product_attention`, `varlen_attention`, `grouped_mm` have autograd; they and
`scaled_mm`, `scaled_grouped_mm` have torch.compile and CUDA graphs; `custom_op` makes an operation of a compiled
kernel. The rest are the helpers of `cutlass.torch`. This is the only package that imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.torch.attention import scaled_dot_product_attention, varlen_attention
from tilewright.torch.custom_op import custom_op
from tilewright.torch.gemm import addmm, linear, matmul
from tilewright.torch.grouped import grouped_mm
from tilewright.torch.scaled import scaled_grouped_mm, scaled_mm
from tilewright.torch.tensors import (
    GaussianInitConfig,
    RandomInitConfig,
    ScalarInitConfig,
    TensorInitType,
    convert_cute_tensor,
    create_and_permute_torch_tensor,
    current_stream,
    cute_tensor_like,
    default_stream,
    dtype,
    matrix,
)

__all__ = [
    "GaussianInitConfig",
    "RandomInitConfig",
    "ScalarInitConfig",
    "TensorInitType",
    "addmm",
    "convert_cute_tensor",
    "create_and_permute_torch_tensor",
    "current_stream",
    "custom_op",
    "cute_tensor_like",
    "default_stream",
    "dtype",
    "grouped_mm",
    "linear",
    "matmul",
    "matrix",
    "scaled_dot_product_attention",
    "scaled_grouped_mm",
    "scaled_mm",
    "varlen_attention",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
