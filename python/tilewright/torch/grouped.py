"""Products of groups with torch's conventions: `grouped_mm`, as the operation `torch.ops.tilewright.grouped_mm`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tilewright._names import names_of
from tilewright.torch import programs
from tilewright.torch.arguments import compact, require_ends, require_no_tangents, require_tensors
from tilewright.torch.gemm import PLAIN, matmul

__all__ = ["grouped_mm"]

torch.library.define(
    "tilewright::grouped_mm", "(Tensor a, Tensor b, Tensor offs) -> Tensor", tags=(torch.Tag.pt2_compliant_tag,)
)


def _new(a: Tensor, b: Tensor) -> Tensor:
    """New memory for (M, K) by (G, K, N): rows of whole 16 bytes, as torch pads its own."""
    return a.new_empty((a.shape[0], (b.shape[2] + 7) // 8 * 8))


def _forward(a: Tensor, b: Tensor, offs: Tensor) -> Tensor:
    require_ends("tilewright.torch.grouped_mm", offs, a.shape[0])
    programs.require_sm90(a.device, "grouped_mm")
    columns = b.shape[2]
    padded = _new(a, b)  # what pads a row is written, too
    out = padded[:, :columns]
    if out.numel() == 0:
        return out
    if b.numel() == 0:  # no group, or nothing to add up
        return out.zero_()
    a, b, offs = (x.detach() for x in (a, b.mT, offs))
    a, b = (x if not x.data_ptr() % 16 else _copied(x) for x in (a, b))  # of strides that fit
    sizes = (a.shape[0], b.shape[0], columns)
    run = programs.grouped_gemm(a.device, programs.contiguous_mode(a), programs.contiguous_mode(b), *sizes)
    run(a, b, padded, offs)
    return out


def _fake(a: Tensor, b: Tensor, offs: Tensor) -> Tensor:
    return _new(a, b)[:, : b.shape[2]]


def _setup(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _gradients(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
    a, b, offs = ctx.saved_tensors
    if a.numel() == 0 or b.numel() == 0:  # of which torch has no product along K
        return torch.zeros_like(a), torch.zeros_like(b), None
    rows = _fitting(grad)
    return (
        torch.ops.tilewright.grouped_mm(rows, b.mT, offs) if ctx.needs_input_grad[0] else None,
        torch._grouped_mm(_fitting(a).mT, rows, offs=offs) if ctx.needs_input_grad[1] else None,
        None,
    )


torch.library.impl("tilewright::grouped_mm", ("cpu", "cuda"))(_forward)
torch.library.register_fake("tilewright::grouped_mm")(_fake)
torch.library.register_autograd("tilewright::grouped_mm", _gradients, setup_context=_setup)


def _fits(x: Tensor) -> bool:
    """Whether one of the last two modes is contiguous and the other strides are of whole 16 bytes, if any is read."""
    if x.numel() == 0:
        return True
    strides = list(x.stride())
    inner = -1 if strides[-1] == 1 else -2
    is_inner = strides.pop(inner) == 1
    return is_inner and all(d > 0 and d % 8 == 0 for d in strides)


def _begins_well(x: Tensor) -> bool:
    """Whether its address is of whole 16 bytes. What is traced has none: its memory is taken to begin at such a one."""
    if torch.compiler.is_dynamo_compiling():  # where not even the offset in it is known
        return True
    is_traced = torch.compiler.is_compiling() or type(x) not in PLAIN
    address = x.storage_offset() * x.element_size() if is_traced else x.data_ptr()
    return not address % 16


def _copied(x: Tensor) -> Tensor:
    """The same in rows of whole 16 bytes."""
    padded = x.new_empty((*x.shape[:-1], (x.shape[-1] + 7) // 8 * 8))[..., : x.shape[-1]]
    return padded.copy_(x)


def _fitting(x: Tensor) -> Tensor:
    """An operand or a gradient as the programs take it: as it is, or copied."""
    return x if _fits(x) and _begins_well(x) else _copied(x)


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """Products of groups whose sizes only the device knows, by torch's rules: see torch.nn.functional.grouped_mm.

    Group g has the rows offs[g - 1] to offs[g] of mat_a (M, K) and mat_b[g] of mat_b (G, K, N), out[i] = mat_a[i]
    mat_b[g] for its rows i, out (M, N), in bfloat16 with sums in float32. offs (G) is int32 on the device and does not
    descend, which is looked at on a CPU alone; rows from offs[G - 1] on have no meaning. mat_a (G, M, K) and mat_b
    (K, N) are cut along N by offs, and give (M, N); mat_a (M, K) and mat_b (K, N) along K, and give (G, M, N), by
    torch's own kernel; mat_a (G, M, K) and mat_b (G, K, N) have no offs. One of the last two modes of an operand is
    contiguous, and its other strides are of whole 16 bytes. One whose address is not is copied.

    Differentiable (the gradient of a mat_b of three modes is torch's product along K), traced by torch.compile,
    captured by CUDA graphs. It needs a GPU of compute capability 9.0, or the CPU, which computes small sizes.

    Raises TypeError for other elements, ValueError for shapes, strides, devices and offs that do not agree,
    NotImplementedError for a bias and for other GPUs.
    Source: torch `torch.nn.functional.grouped_mm`.

    >>> import torch
    >>> a, b = torch.ones(3, 8).bfloat16(), torch.arange(2.0)[:, None, None].expand(2, 8, 8).bfloat16().contiguous()
    >>> grouped_mm(a, b, offs=torch.tensor([1, 3], dtype=torch.int32))[:, 0]
    tensor([0., 8., 8.], dtype=torch.bfloat16)
    """
    function = "tilewright.torch.grouped_mm"
    require_tensors(function, 2, mat_a=mat_a, mat_b=mat_b)
    require_no_tangents(function, mat_a, mat_b)
    if bias is not None:
        raise NotImplementedError(f"{function}: bias must be None, as for torch's own; add it afterwards")
    for name, x in (("mat_a", mat_a), ("mat_b", mat_b)):
        if x.dtype != torch.bfloat16:
            raise TypeError(f"{function}: {name} has elements of {x.dtype}, but it must have torch.bfloat16")
        if x.dim() > 3:
            raise ValueError(f"{function}: {name} {tuple(x.shape)} must have two modes or three")
        if not _fits(x):
            raise ValueError(
                f"{function}: {name} {tuple(x.shape)} has the strides {x.stride()}, but one of its last two must be 1 "
                "and the others must be multiples of 8 elements, 16 bytes"
            )
    if out_dtype not in (None, torch.bfloat16):
        raise TypeError(f"{function}: out_dtype is {out_dtype}, but it must be torch.bfloat16")
    if mat_a.device != mat_b.device:
        raise ValueError(f"{function}: mat_b is on {mat_b.device}, but mat_a is on {mat_a.device}")
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise ValueError(
            f"{function}: mat_a {tuple(mat_a.shape)} has {mat_a.shape[-1]} columns and mat_b {tuple(mat_b.shape)} has "
            f"{mat_b.shape[-2]} rows; they must be equal"
        )
    if mat_a.dim() == 3 and mat_b.dim() == 3:
        if offs is not None:
            raise ValueError(f"{function}: offs must be None where mat_a and mat_b have three modes each")
        return matmul(mat_a, mat_b)
    require_tensors(function, 1, offs=offs)
    assert offs is not None
    if offs.dtype != torch.int32 or offs.dim() != 1:
        raise ValueError(f"{function}: offs is {offs.dtype} {tuple(offs.shape)}, but it must be torch.int32 (G)")
    if offs.device != mat_a.device:
        raise ValueError(f"{function}: offs is on {offs.device}, but mat_a is on {mat_a.device}")
    offs = compact(offs)
    if mat_a.dim() == 2 and mat_b.dim() == 2:
        return torch._grouped_mm(_fitting(mat_a), _fitting(mat_b), offs=offs)
    groups = mat_b.shape[0] if mat_b.dim() == 3 else mat_a.shape[0]
    if offs.shape[0] != groups:
        raise ValueError(f"{function}: offs has {offs.shape[0]} elements, but there are {groups} groups")
    if mat_b.dim() == 3:
        return torch.ops.tilewright.grouped_mm(mat_a, mat_b, offs)
    return torch.ops.tilewright.grouped_mm(mat_b.mT, mat_a.mT, offs).mT.contiguous()


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
