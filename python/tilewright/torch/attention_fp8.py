"""Attention of fp8: `torch.ops.tilewright.attention_fp8`, and what `scaled_dot_product_attention` asks of arguments.

A tensor of e4m3 stands for its elements times a float of its batch and head: the descales (N, H) of query, key and
value, H being the heads of key, as torch's quantized attention has them.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tilewright.torch import programs
from tilewright.torch.arguments import real, require_tensors

__all__ = ["FP8", "attend"]

FP8 = torch.float8_e4m3fn
DEPTHS = (64, 128, 256)
_SIGN = 0x80  # of the elements' bits

torch.library.define(
    "tilewright::attention_fp8",
    "(Tensor q, Tensor k, Tensor v, Tensor q_descale, Tensor k_descale, Tensor v_descale, float scale, SymInt? right)"
    " -> (Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _results(q: Tensor) -> tuple[Tensor, Tensor]:
    """New memory for O and L."""
    return programs.empty_rows(q, torch.bfloat16), q.new_empty(q.shape[:3], dtype=torch.float32)


def _require_positive(descales: dict[str, Tensor]) -> None:
    """On a CPU, where nothing waits for a device: descales are above 0."""
    for name, x in descales.items():
        if x.is_cpu and not bool((x > 0).all()):
            function = "tilewright.torch.scaled_dot_product_attention"
            raise ValueError(f"{function}: {name} is {x.tolist()}, but its elements must be above 0")


def _forward(
    q: Tensor, k: Tensor, v: Tensor, q_descale: Tensor, k_descale: Tensor, v_descale: Tensor, scale: float,
    right: int | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    _require_positive({"q_descale": q_descale, "k_descale": k_descale, "v_descale": v_descale})
    programs.require_sm90(q.device, "attention of fp8")
    out, lse = _results(q)
    if out.numel() == 0:
        return out, lse
    if k.numel() == 0:
        return out.zero_(), lse.fill_(-math.inf)
    operands = [programs.aligned(x) for x in (q, k, v)]
    run = programs.attention_fp8(q.shape[3], right is not None)
    last = programs.tickets(q.device), programs.ctas(q.device)
    run(*operands, out, lse, scale, None, right, None, None, q.shape[2], q_descale, k_descale, v_descale, *last)
    return out, lse


def _fake(q: Tensor, k: Tensor, v: Tensor, *options: object) -> tuple[Tensor, Tensor]:
    return _results(q)


torch.library.impl("tilewright::attention_fp8", ("cpu", "cuda"))(_forward)
torch.library.register_fake("tilewright::attention_fp8")(_fake)


def _require_descales(function: str, query: Tensor, key: Tensor, descales: dict[str, Tensor | None]) -> list[Tensor]:
    """The descales, ones where there are none."""
    shape, found = (query.shape[0], key.shape[1]), []
    for name, x in descales.items():
        if x is None:
            x = torch.ones((), device=query.device, dtype=torch.float32).expand(shape)
        require_tensors(function, 2, **{name: x})
        if x.dtype != torch.float32:
            raise TypeError(f"{function}: {name} has elements of {x.dtype}, but it must have torch.float32")
        if tuple(x.shape) != shape:
            raise ValueError(
                f"{function}: {name} is {tuple(x.shape)}, but it must have a float for each batch and head of key, "
                f"{shape}"
            )
        if x.device != query.device:
            raise ValueError(f"{function}: {name} is on {x.device}, but query is on {query.device}")
        found.append(x.detach())
    return found


def attend(
    function: str, query: Tensor, key: Tensor, value: Tensor, descales: dict[str, Tensor | None], scale: float | None,
    right: int | None,
) -> Tensor:  # fmt: skip
    """O (N, Hq, L, E) in bfloat16 of query (N, Hq, L, E), key and value (N, H, S, E), all of e4m3."""
    if query.dim() != 4:
        raise ValueError(f"{function}: query {tuple(query.shape)} of {FP8} must have four modes: (N, H, L, E)")
    if not query.shape[0] == key.shape[0] == value.shape[0]:
        raise ValueError(
            f"{function}: query {tuple(query.shape)}, key {tuple(key.shape)} and value {tuple(value.shape)} of {FP8} "
            "must have as many batches as each other"
        )
    scales = _require_descales(function, query, key, descales)
    for name, x in (("query", query), ("key", key), ("value", value), *descales.items()):
        if x is not None and x.requires_grad and torch.is_grad_enabled():
            raise NotImplementedError(
                f"{function}: {name} requires a gradient, which attention of fp8 does not have; call it under "
                "torch.no_grad()"
            )
    depth = query.shape[3]
    scale = depth**-0.5 if scale is None else real(function, "scale", scale)
    if scale <= 0:  # the program looks for the greatest score before it scales
        bits = query.view(torch.uint8)
        query, scale = ((bits ^ _SIGN).view(FP8), -scale) if scale else (torch.zeros_like(bits).view(FP8), 1.0)
    lacking = next(has for has in DEPTHS if depth <= has) - depth
    if lacking:
        query, key, value = (
            torch.nn.functional.pad(x.view(torch.uint8), (0, lacking)).view(FP8) for x in (query, key, value)
        )
    out, _ = torch.ops.tilewright.attention_fp8(query, key, value, *scales, scale, right)
    return out[..., :depth] if lacking else out
