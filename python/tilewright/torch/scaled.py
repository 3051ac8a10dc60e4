"""fp8 products with scales of blocks by torch's conventions: `scaled_mm` and, of groups, `scaled_grouped_mm`.

They are the operations of the same names in `torch.ops.tilewright`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tilewright._names import names_of
from tilewright.torch import programs
from tilewright.torch.arguments import compact, require_ends, require_no_gradients, require_tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["scaled_grouped_mm", "scaled_mm"]

BLOCK = 128

for _schema in (
    "scaled_mm(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b) -> Tensor",
    "scaled_grouped_mm(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b, Tensor offs) -> Tensor",
):
    torch.library.define(
        f"tilewright::{_schema.partition('(')[0]}", _schema.removeprefix(_schema.partition("(")[0]),
        tags=(torch.Tag.pt2_compliant_tag,),
    )  # fmt: skip


def _new(a: Tensor, b: Tensor, *_: Tensor) -> Tensor:
    return a.new_empty((a.shape[0], b.shape[-1]), dtype=torch.bfloat16)


def _multiply(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Tensor:
    programs.require_sm90(a.device, "scaled_mm")
    out = _new(a, b)
    if out.numel() == 0:
        return out
    if a.shape[1] == 0:
        return out.zero_()
    a, b = programs.aligned(a), programs.aligned(b.mT)
    programs.fp8_block_gemm(a.device)(a, scale_a.detach(), b, scale_b.detach().mT, out)
    return out


def _multiply_groups(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, offs: Tensor) -> Tensor:
    require_ends("tilewright.torch.scaled_grouped_mm", offs, a.shape[0])
    programs.require_sm90(a.device, "scaled_grouped_mm")
    out = _new(a, b)
    if out.numel() == 0:
        return out
    if b.numel() == 0:  # no group, or nothing to add up
        return out.zero_()
    run = programs.grouped_fp8_gemm(a.device, a.shape[0], b.shape[0], b.shape[2])
    a, b = programs.aligned(a), programs.aligned(b.mT)
    run(a, scale_a.detach(), b, scale_b.detach().mT, out, offs)
    return out


for _name, _function in (("scaled_mm", _multiply), ("scaled_grouped_mm", _multiply_groups)):
    torch.library.impl(f"tilewright::{_name}", ("cpu", "cuda"))(_function)
    torch.library.register_fake(f"tilewright::{_name}")(_new)


def _alone(function: str, name: str, given: Any) -> Any:
    """What torch takes alone or as the only item of a list."""
    if not isinstance(given, (list, tuple)):
        return given
    if len(given) != 1:
        raise NotImplementedError(f"{function}: {name} has {len(given)} items, but it must have one")
    return given[0]


def _require_fp8(function: str, name: str, x: Tensor, rank: int, mode: int) -> None:
    """Matrices of e4m3 of which this one of the last two modes is contiguous."""
    order = "row" if mode == 1 else "column"
    if x.dtype != torch.float8_e4m3fn:
        raise TypeError(f"{function}: {name} has elements of {x.dtype}, but it must have torch.float8_e4m3fn")
    if x.dim() != rank:
        form = "a matrix" if rank == 2 else "matrices (G, K, N)"
        raise ValueError(f"{function}: {name} {tuple(x.shape)} must be {form}")
    if any(extent % 16 for extent in (x.shape[1:] if mode == 1 else x.shape[-2:])):
        raise ValueError(f"{function}: {name} {tuple(x.shape)} must have K and N that are multiples of 16")
    strides = list(x.stride())
    inner = strides.pop(rank - 2 + mode)
    if x.numel() and (inner != 1 or any(stride % 16 for stride in strides)):
        raise ValueError(
            f"{function}: {name} {tuple(x.shape)} has the strides {x.stride()}, but it must be {order}-major, with "
            f"{order}s of whole 16 bytes"
        )


def _require_recipes(function: str, recipe_a: object, recipe_b: object, swizzle_a: object, swizzle_b: object) -> None:
    """The only recipes that the programs have: scales of 1x128 and of 128x128, as they are."""
    recipes = torch.nn.functional.ScalingType
    wanted = (("scale_recipe_a", recipe_a, "BlockWise1x128"), ("scale_recipe_b", recipe_b, "BlockWise128x128"))
    for name, recipe, only in wanted:
        if _alone(function, name, recipe) != getattr(recipes, only):
            raise NotImplementedError(f"{function}: {name} is {recipe}, but it must be ScalingType.{only}")
    for name, swizzle in (("swizzle_a", swizzle_a), ("swizzle_b", swizzle_b)):
        given = None if swizzle in ([], ()) else _alone(function, name, swizzle)
        if given is not None and given != torch.nn.functional.SwizzleType.NO_SWIZZLE:
            raise NotImplementedError(f"{function}: {name} is {swizzle}, but it must be None or NO_SWIZZLE")


def _require_plain(function: str, bias: object, contraction_dim: Sequence[int], output_dtype: object) -> None:
    if bias is not None:
        raise NotImplementedError(f"{function}: bias must be None; add it afterwards")
    if not isinstance(contraction_dim, (list, tuple)):
        raise TypeError(f"{function}: expected contraction_dim to be () or (1, 0), but got {contraction_dim!r}")
    if tuple(contraction_dim) not in ((), (1, 0)):
        raise NotImplementedError(f"{function}: contraction_dim is {contraction_dim}, but it must be () or (1, 0)")
    if output_dtype != torch.bfloat16:
        raise TypeError(f"{function}: output_dtype is {output_dtype}, but it must be torch.bfloat16")


def _require_scales(function: str, mat_a: Tensor, mat_b: Tensor, scale_a: Tensor, scale_b: Tensor) -> Tensor:
    """Scales of both matrices' blocks; returns those of B without what pads them."""
    rows, depth = mat_a.shape
    *groups, depth_b, columns = mat_b.shape
    if depth != depth_b:
        raise ValueError(
            f"{function}: mat_a {tuple(mat_a.shape)} has {depth} columns and mat_b {tuple(mat_b.shape)} has {depth_b} "
            "rows; they must be equal"
        )
    blocks, across = -(-depth // BLOCK), -(-columns // BLOCK)
    padded = (blocks + 3) // 4 * 4
    scales = (
        ("scale_a", scale_a, ((rows, blocks),)),
        ("scale_b", scale_b, ((*groups, blocks, across), (*groups, padded, across))),
    )
    for name, x, shapes in scales:
        if x.dtype != torch.float32:
            raise TypeError(f"{function}: {name} has elements of {x.dtype}, but it must have torch.float32")
        if tuple(x.shape) not in shapes:
            raise ValueError(f"{function}: {name} is {tuple(x.shape)}, but it must be {shapes[0]}")
    return scale_b[..., :blocks, :]


def _require_device(function: str, mat_a: Tensor, **others: Tensor) -> None:
    for name, x in others.items():
        if x.device != mat_a.device:
            raise ValueError(f"{function}: {name} is on {x.device}, but mat_a is on {mat_a.device}")


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
    float32 of any strides. As for torch's kernel, scale_b may have rows that pad K / 128 to a multiple of 4. A matrix
    at an address that is not of whole 16 bytes is copied.

    Every block is added in float32, so use_fast_accum has no effect. Traced by torch.compile, captured by CUDA graphs;
    no gradient, as torch's. It needs a GPU of compute capability 9.0, or the CPU, which computes small sizes.

    Raises TypeError for other elements, ValueError for shapes, strides and devices that do not agree,
    NotImplementedError for other recipes, swizzles, a bias, other contractions, gradients, and for other GPUs.
    Source: torch `torch.nn.functional.scaled_mm`.

    >>> import torch
    >>> a, b = torch.ones(2, 128).to(torch.float8_e4m3fn), torch.ones(16, 128).to(torch.float8_e4m3fn).T
    >>> by_row, by_block = (getattr(torch.nn.functional.ScalingType, f"BlockWise{x}x128") for x in (1, 128))
    >>> scaled_mm(a, b, torch.tensor([[0.5], [2.0]]), by_row, torch.ones(1, 1), by_block)[:, 0]
    tensor([ 64., 256.], dtype=torch.bfloat16)
    """
    function = "tilewright.torch.scaled_mm"
    scale_a, scale_b = _alone(function, "scale_a", scale_a), _alone(function, "scale_b", scale_b)
    require_tensors(function, 2, mat_a=mat_a, mat_b=mat_b, scale_a=scale_a, scale_b=scale_b)
    _require_recipes(function, scale_recipe_a, scale_recipe_b, swizzle_a, swizzle_b)
    _require_plain(function, bias, contraction_dim, output_dtype)
    _require_fp8(function, "mat_a", mat_a, 2, 1)
    _require_fp8(function, "mat_b", mat_b, 2, 0)
    scale_b = _require_scales(function, mat_a, mat_b, scale_a, scale_b)
    _require_device(function, mat_a, mat_b=mat_b, scale_a=scale_a, scale_b=scale_b)
    require_no_gradients(function, mat_a=mat_a, mat_b=mat_b, scale_a=scale_a, scale_b=scale_b)
    return torch.ops.tilewright.scaled_mm(mat_a, mat_b, scale_a, scale_b)


def scaled_grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: object,
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: object,
    swizzle_a: object = None,
    swizzle_b: object = None,
    bias: Tensor | None = None,
    offs: Tensor | None = None,
    output_dtype: torch.dtype | None = torch.bfloat16,
    contraction_dim: Sequence[int] = (),
    use_fast_accum: bool = False,
) -> Tensor:
    """Products of groups of fp8 whose scales belong to blocks: see torch.nn.functional.scaled_grouped_mm.

    Group g has the rows offs[g - 1] to offs[g] of mat_a (M, K) and mat_b[g] of mat_b (G, K, N), and out (M, N) is
    scaled_mm of these rows with scale_a's rows and scale_b[g]. offs (G) is int32 on the device and does not descend,
    which is looked at on a CPU alone; rows from offs[G - 1] on have no meaning. mat_a is row-major, mat_b column-major,
    of float8_e4m3fn, K and N multiples of 16; scale_a (M, K / 128) and scale_b (G, K / 128, N / 128), rounded up, are
    float32 of any strides. A mat_a or mat_b at an address that is not of whole 16 bytes is copied.

    Traced by torch.compile, captured by CUDA graphs; no gradient. It needs a GPU of compute capability 9.0, or the CPU,
    which computes small sizes.

    Raises TypeError for other elements, ValueError for shapes, strides, devices and offs that do not agree,
    NotImplementedError for other recipes, swizzles, a bias, other contractions, gradients, and for other GPUs.
    Source: torch `torch.nn.functional.scaled_grouped_mm`.

    >>> import torch
    >>> a, b = torch.ones(3, 128).to(torch.float8_e4m3fn), torch.ones(2, 16, 128).to(torch.float8_e4m3fn).mT
    >>> by_row, by_block = (getattr(torch.nn.functional.ScalingType, f"BlockWise{x}x128") for x in (1, 128))
    >>> of_groups, offs = torch.tensor([0.5, 2.0]).reshape(2, 1, 1), torch.tensor([1, 3], dtype=torch.int32)
    >>> scaled_grouped_mm(a, b, torch.ones(3, 1), by_row, of_groups, by_block, offs=offs)[:, 0]
    tensor([ 64., 256., 256.], dtype=torch.bfloat16)
    """
    function = "tilewright.torch.scaled_grouped_mm"
    scale_a, scale_b = _alone(function, "scale_a", scale_a), _alone(function, "scale_b", scale_b)
    require_tensors(function, 2, mat_a=mat_a, mat_b=mat_b, scale_a=scale_a, scale_b=scale_b)
    require_tensors(function, 1, offs=offs)
    assert offs is not None
    _require_recipes(function, scale_recipe_a, scale_recipe_b, swizzle_a, swizzle_b)
    _require_plain(function, bias, contraction_dim, output_dtype)
    _require_fp8(function, "mat_a", mat_a, 2, 1)
    _require_fp8(function, "mat_b", mat_b, 3, 0)
    if offs.dtype != torch.int32 or tuple(offs.shape) != (mat_b.shape[0],):
        raise ValueError(
            f"{function}: offs is {offs.dtype} {tuple(offs.shape)}, but it must be torch.int32 ({mat_b.shape[0]},): an "
            "end for each group"
        )
    scale_b = _require_scales(function, mat_a, mat_b, scale_a, scale_b)
    _require_device(function, mat_a, mat_b=mat_b, scale_a=scale_a, scale_b=scale_b, offs=offs)
    require_no_gradients(function, mat_a=mat_a, mat_b=mat_b, scale_a=scale_a, scale_b=scale_b)
    return torch.ops.tilewright.scaled_grouped_mm(mat_a, mat_b, scale_a, scale_b, compact(offs))


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
