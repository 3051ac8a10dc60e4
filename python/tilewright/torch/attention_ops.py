"""The operations behind `tilewright.torch.scaled_dot_product_attention` and `varlen_attention`.

`torch.ops.tilewright.attention` gives O and L, `torch.ops.tilewright.attention_backward` the gradients. Dense operands
are (batches, heads, rows, depth), those of sequences of several lengths (rows, heads, depth), with L (heads, rows).
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from tilewright.torch import programs

__all__ = ["DEPTHS"]

DEPTHS = (64, 128, 256)

torch.library.define(
    "tilewright::attention",
    "(Tensor q, Tensor k, Tensor v, float scale, SymInt? left, SymInt? right, Tensor? starts_q, Tensor? starts_k,"
    " SymInt max_q, SymInt max_k, bool deterministic) -> (Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)
torch.library.define(
    "tilewright::attention_backward",
    "(Tensor grad, Tensor q, Tensor k, Tensor v, Tensor o, Tensor lse, float scale, SymInt? left, SymInt? right,"
    " Tensor? starts_q, Tensor? starts_k, SymInt max_q, SymInt max_k, bool deterministic) -> (Tensor, Tensor, Tensor)",
    tags=(torch.Tag.pt2_compliant_tag,),
)


def _modes(x: Tensor) -> Tensor:
    """The tensor as (batches, heads, rows, depth)."""
    return x if x.dim() == 4 else x.transpose(0, 1)[None]


def _results(q: Tensor) -> tuple[Tensor, Tensor]:
    """New memory for O and L."""
    shape = q.shape[:3] if q.dim() == 4 else (q.shape[1], q.shape[0])
    return programs.empty_rows(q), q.new_empty(shape, dtype=torch.float32)


def _require_sequences(which: str, of: str, starts: Tensor, rows: int, longest: int) -> None:
    """On a CPU, where nothing waits for a device: sequences lie in order within the rows, none longer than is said."""
    function, needed = "tilewright.torch.varlen_attention", 0
    if starts.is_cpu:
        at = starts.tolist()
        if at != sorted(at) or not 0 <= at[0] <= at[-1] <= rows:
            raise ValueError(
                f"{function}: cu_seq_{which} is {at}, but it must ascend or stay, from 0 to {rows} at most: {of} has "
                "so many rows"
            )
        needed = max((end - begin for begin, end in pairwise(at)), default=0)
    if longest < needed:
        raise ValueError(f"{function}: max_{which} is {longest}, but it must be {needed} or more for cu_seq_{which}")


def _sees_nothing(k: Tensor, starts_q: Tensor | None, max_q: int, max_k: int) -> bool:
    """Whether no query sees a key, so that there is nothing to launch."""
    return k.numel() == 0 or (starts_q is not None and (starts_q.shape[0] == 1 or max_q == 0 or max_k == 0))


def _forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    left: int | None,
    right: int | None,
    starts_q: Tensor | None,
    starts_k: Tensor | None,
    max_q: int,
    max_k: int,
    deterministic: bool,
) -> tuple[Tensor, Tensor]:
    if starts_q is not None and starts_k is not None:
        _require_sequences("q", "query", starts_q, q.shape[0], max_q)
        _require_sequences("k", "key", starts_k, k.shape[0], max_k)
    out, lse = _results(q)
    if out.numel() == 0:
        return out, lse
    if _sees_nothing(k, starts_q, max_q, max_k):
        return out.zero_(), lse.fill_(-math.inf)
    operands = [_modes(programs.aligned(x)) for x in (q, k, v)]
    o, rows, depth = _modes(out), lse if q.dim() == 4 else lse[None], q.shape[-1]
    if programs.capability(q.device) == (9, 0):
        run = programs.attention(q.dtype, depth, left is not None, right is not None, starts_q is not None)
        last = programs.tickets(q.device), programs.ctas(q.device)
        run(*operands, o, rows, scale, left, right, starts_q, starts_k, max_q, None, None, None, *last)
        return out, lse
    if programs.capability(q.device) < (8, 0):
        raise NotImplementedError("tilewright.torch: attention needs a device of compute capability 8.0 or newer")
    if starts_q is not None:
        programs.require_sm90(q.device, "varlen_attention")
    if depth > 128:
        programs.require_sm90(q.device, f"attention of depth {depth}")
    if left is not None or right not in (None, 0):
        programs.require_sm90(q.device, "attention with a window")
    programs.attention_sm80(q.dtype, depth, right is not None)(*operands, o, rows, scale)
    return out, lse


def _backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    o: Tensor,
    lse: Tensor,
    scale: float,
    left: int | None,
    right: int | None,
    starts_q: Tensor | None,
    starts_k: Tensor | None,
    max_q: int,
    max_k: int,
    deterministic: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    results = tuple(programs.empty_rows(x) for x in (q, k, v))
    if q.numel() == 0 or _sees_nothing(k, starts_q, max_q, max_k):
        for x in results:
            x.zero_()
        return results
    given = [_modes(programs.aligned(x)) for x in (q, k, v, o, grad)]
    rows = lse if q.dim() == 4 else lse[None]
    kept = programs.workspace(given[0], starts_q)
    is_varlen = starts_q is not None
    run = programs.attention_backward(
        q.dtype, q.shape[-1], left is not None, right is not None, is_varlen, deterministic
    )
    longest = (max_q, max_k) if is_varlen else (None, None)
    run(*given, rows, *map(_modes, results), *kept, scale, left, right, starts_q, starts_k, *longest)
    return results


def _fake(q: Tensor, k: Tensor, v: Tensor, *options: Any) -> tuple[Tensor, Tensor]:
    return _results(q)


def _fake_backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, o: Tensor, lse: Tensor, *options: Any
) -> tuple[Tensor, Tensor, Tensor]:
    return programs.empty_rows(q), programs.empty_rows(k), programs.empty_rows(v)


def _setup(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, *options = inputs
    programs.require_sm90(q.device, "the gradient of attention")
    ctx.options = (*options[:3], *options[5:])
    ctx.save_for_backward(q, k, v, *output, *options[3:5])
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)


def _gradients(ctx: Any, grad: Tensor | None, _: Any) -> tuple[Any, ...]:
    if grad is None:
        return (None,) * 11
    q, k, v, o, lse, starts_q, starts_k = ctx.saved_tensors
    scale, left, right, *options = ctx.options
    found = torch.ops.tilewright.attention_backward(
        grad, q, k, v, o, lse, scale, left, right, starts_q, starts_k, *options
    )
    return (*found, *[None] * 8)


for _name, _run, _traced in (("attention", _forward, _fake), ("attention_backward", _backward, _fake_backward)):
    torch.library.impl(f"tilewright::{_name}", ("cpu", "cuda"))(_run)
    torch.library.register_fake(f"tilewright::{_name}")(_traced)
torch.library.register_autograd("tilewright::attention", _gradients, setup_context=_setup)
