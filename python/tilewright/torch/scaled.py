"""fp8 products with scales of blocks by torch's conventions: `scaled_mm`, as `torch.ops.tilewright.scaled_mm`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tilewright._names import names_of
from tilewright.torch import programs
from tilewright.torch.arguments import require_tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["scaled_mm"]

BLOCK = 128

torch.library.define(
    "tilewright::scaled_mm",
    "(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b) -> Tensor",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _new(a: Tensor, b: Tensor) -> Tensor:
    return a.new_empty((a.shape[0], b.shape[1]), dtype=torch.bfloat16)


def _forward(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Tensor:
    programs.require_sm90(a.device, "scaled_mm")
    out = _new(a, b)
    if out.numel() == 0:
        return out
    if a.shape[1] == 0:
        return out.zero_()
    programs.fp8_block_gemm(a.device)(a, scale_a.detach(), b.mT, scale_b.detach().mT, out)
    return out


def _fake(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Tensor:
    return _new(a, b)


torch.library.impl("tilewright::scaled_mm", ("cpu", "cuda"))(_forward)
torch.library.register_fake("tilewright::scaled_mm")(_fake)


def _alone(function: str, name: str, given: Any) -> Any:
    """What torch takes alone or as the only item of a list."""
    if not isinstance(given, (list, tuple)):
        return given
    if len(given) != 1:
        raise NotImplementedError(f"{function}: {name} has {len(given)} items, but it must have one")
    return given[0]


def _require_matrix(function: str, name: str, x: Tensor, mode: int) -> None:
    """A matrix of e4m3 of which this mode is contiguous."""
    order = "row" if mode == 1 else "column"
    if x.dtype != torch.float8_e4m3fn:
        raise TypeError(f"{function}: {name} has elements of {x.dtype}, but it must have torch.float8_e4m3fn")
    if x.dim() != 2:
        raise ValueError(f"{function}: {name} {tuple(x.shape)} must be a matrix")
    if any(extent % 16 for extent in (x.shape[1:] if mode == 1 else x.shape)):
        raise ValueError(f"{function}: {name} {tuple(x.shape)} must have K and N that are multiples of 16")
    if x.numel() and (x.stride(mode) != 1 or x.stride(1 - mode) % 16):
        raise ValueError(
            f"{function}: {name} {tuple(x.shape)} has the strides {x.stride()}, but it must be {order}-major, with "
            f"{order}s of whole 16 bytes"
        )


def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: object,
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: object,
    swizzle_a: object = None,
    swizzle_b: object = None,
    bias: Tensor | None = None,
    output_dtype: torch.dtype | None = torch.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """A product of fp8 whose scales belong to blocks, by torch's rules: see torch.nn.functional.scaled_mm.

    out[i, j] = sum over b of scale_a[i, b] scale_b[b, j / 128] (sum over k in block b of mat_a[i, k] mat_b[k, j]), in
    float32, where block b is the columns 128 b to 128 b + 127: mat_a (M, K) row-major and mat_b (K, N) column-major of
    float8_e4m3fn, K and N multiples of 16, out (M, N) of bfloat16. The recipes are ScalingType.BlockWise1x128 and
    BlockWise128x128 of torch.nn.functional; scale_a (M, K / 128) and scale_b (K / 128, N / 128), rounded up, are
    float32 of any strides. As for torch's kernel, scale_b may have rows that pad K / 128 to a multiple of 4.

    Every block is added in float32, so use_fast_accum has no effect. Traced by torch.compile, captured by CUDA graphs;
    no gradient, as torch's. It needs a GPU of compute capability 9.0, or the CPU, which computes small sizes.

    Raises TypeError for other elements, ValueError for shapes, strides and devices that do not agree,
    NotImplementedError for other recipes, swizzles, a bias, other contractions, and for other GPUs.

    >>> import torch
    >>> a, b = torch.ones(2, 128).to(torch.float8_e4m3fn), torch.ones(16, 128).to(torch.float8_e4m3fn).T
    >>> by_row, by_block = (getattr(torch.nn.functional.ScalingType, f"BlockWise{x}x128") for x in (1, 128))
    >>> scaled_mm(a, b, torch.tensor([[0.5], [2.0]]), by_row, torch.ones(1, 1), by_block)[:, 0]
    tensor([ 64., 256.], dtype=torch.bfloat16)
    """
    function = "tilewright.torch.scaled_mm"
    scale_a, scale_b = _alone(function, "scale_a", scale_a), _alone(function, "scale_b", scale_b)
    require_tensors(function, 2, mat_a=mat_a, mat_b=mat_b, scale_a=scale_a, scale_b=scale_b)
    recipes = torch.nn.functional.ScalingType
    wanted = (
        ("scale_recipe_a", scale_recipe_a, "BlockWise1x128"),
        ("scale_recipe_b", scale_recipe_b, "BlockWise128x128"),
    )
    for name, recipe, only in wanted:
        if _alone(function, name, recipe) != getattr(recipes, only):
            raise NotImplementedError(f"{function}: {name} is {recipe}, but it must be ScalingType.{only}")
    for name, swizzle in (("swizzle_a", swizzle_a), ("swizzle_b", swizzle_b)):
        given = None if swizzle in ([], ()) else _alone(function, name, swizzle)
        if given is not None and given != torch.nn.functional.SwizzleType.NO_SWIZZLE:
            raise NotImplementedError(f"{function}: {name} is {swizzle}, but it must be None or NO_SWIZZLE")
    if bias is not None:
        raise NotImplementedError(f"{function}: bias must be None; add it afterwards")
    if tuple(contraction_dim) not in ((), (1, 0)):
        raise NotImplementedError(f"{function}: contraction_dim is {contraction_dim}, but it must be () or (1, 0)")
    if output_dtype != torch.bfloat16:
        raise TypeError(f"{function}: output_dtype is {output_dtype}, but it must be torch.bfloat16")
    _require_matrix(function, "mat_a", mat_a, 1)
    _require_matrix(function, "mat_b", mat_b, 0)
    (rows, depth), (depth_b, columns) = mat_a.shape, mat_b.shape
    if depth != depth_b:
        raise ValueError(
            f"{function}: mat_a {tuple(mat_a.shape)} has {depth} columns and mat_b {tuple(mat_b.shape)} has {depth_b} "
            "rows; they must be equal"
        )
    blocks, across = -(-depth // BLOCK), -(-columns // BLOCK)
    padded = (blocks + 3) // 4 * 4
    scales = (
        ("scale_a", scale_a, ((rows, blocks),)),
        ("scale_b", scale_b, ((blocks, across), (padded, across))),
    )
    for name, x, shapes in scales:
        if x.dtype != torch.float32:
            raise TypeError(f"{function}: {name} has elements of {x.dtype}, but it must have torch.float32")
        if tuple(x.shape) not in shapes:
            raise ValueError(f"{function}: {name} is {tuple(x.shape)}, but it must be {shapes[0]}")
    for name, x in (("mat_b", mat_b), ("scale_a", scale_a), ("scale_b", scale_b)):
        if x.device != mat_a.device:
            raise ValueError(f"{function}: {name} is on {x.device}, but mat_a is on {mat_a.device}")
    return torch.ops.tilewright.scaled_mm(mat_a, mat_b, scale_a, scale_b[:blocks])


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
