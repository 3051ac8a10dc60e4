"""Attention with torch's conventions: `scaled_dot_product_attention`, and `varlen_attention` for packed sequences.

Both check their arguments, bring them to one form, and call `torch.ops.tilewright.attention` (`attention_ops`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from tilewright._names import names_of
from tilewright.torch import attention_fp8
from tilewright.torch.arguments import real, require_flags, require_no_tangents, require_tensors, whole
from tilewright.torch.attention_ops import DEPTHS

__all__ = ["scaled_dot_product_attention", "varlen_attention"]

TYPES = (torch.bfloat16, torch.float16)
FAR = 2**30  # further than any key is from its query; the programs add such bounds and rows up in 32 bits


def _cast(query: Tensor, *others: Tensor) -> tuple[Tensor, ...]:
    """The operands in autocast's type where that is on, as torch's own attention takes them."""
    device = query.device.type
    if device == "meta" or not torch.is_autocast_enabled(device):  # torch raises for meta, which has no autocast
        return query, *others
    dtype = torch.get_autocast_dtype(device)
    return tuple(x.to(dtype) if x.dtype == torch.float32 else x for x in (query, *others))


def _require_operands(
    function: str, query: Tensor, key: Tensor, value: Tensor, rank: int, types: tuple[torch.dtype, ...] = TYPES
) -> None:
    """What both functions ask of types, devices and ranks."""
    if query.dtype not in types:
        *first, last = (str(x).removeprefix("torch.") for x in types)
        raise TypeError(
            f"{function}: query has elements of {query.dtype}, but it must have torch.{', '.join(first)} or {last}"
        )
    if query.device.type not in ("cpu", "cuda", "meta"):
        raise ValueError(f"{function}: query is on {query.device}, but it must be on a CUDA device or the CPU")
    for name, x in (("key", key), ("value", value)):
        if x.dtype != query.dtype:
            raise TypeError(f"{function}: {name} has elements of {x.dtype}, but query has {query.dtype}")
        if x.device != query.device:
            raise ValueError(f"{function}: {name} is on {x.device}, but query is on {query.device}")
        if x.dim() != query.dim():
            raise ValueError(f"{function}: {name} {tuple(x.shape)} and query {tuple(query.shape)} differ in modes")
        if x.shape[-1] != query.shape[-1]:
            raise ValueError(
                f"{function}: {name} {tuple(x.shape)} and query {tuple(query.shape)} must have the same last extent"
            )
    if key.shape[rank] != value.shape[rank]:
        raise ValueError(
            f"{function}: key {tuple(key.shape)} and value {tuple(value.shape)} must have as many rows as each other"
        )
    if not 1 <= query.shape[-1] <= DEPTHS[-1]:
        raise ValueError(f"{function}: query has depth {query.shape[-1]}, but it must be 1 to {DEPTHS[-1]}")


def _require_groups(function: str, query_heads: int, key: Tensor, value: Tensor, mode: int) -> None:
    """What grouped queries ask of the numbers of heads."""
    heads = key.shape[mode]
    if value.shape[mode] != heads:
        raise ValueError(f"{function}: value has {value.shape[mode]} heads, but key has {heads}; they must be equal")
    if heads == 0 or query_heads % heads:
        raise ValueError(f"{function}: query has {query_heads} heads, but it must have a multiple of key's {heads}")


def _attend(
    function: str,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    scale: float | None,
    left: int | None,
    right: int | None,
    starts: tuple[Tensor | None, Tensor | None],
    longest: tuple[int, int],
    deterministic: bool,
) -> tuple[Tensor, Tensor]:
    """O and L. A depth that the programs lack is filled with zeros up to one that they have."""
    depth = query.shape[-1]
    scale = depth**-0.5 if scale is None else real(function, "scale", scale)
    if scale <= 0:  # the programs look for the greatest score before they scale
        query, scale = (-query, -scale) if scale else (query * 0.0, 1.0)
    lacking = next(has for has in DEPTHS if depth <= has) - depth
    if lacking:
        query, key, value = (torch.nn.functional.pad(x, (0, lacking)) for x in (query, key, value))
    out, lse = torch.ops.tilewright.attention(
        query, key, value, scale, left, right, *starts, *longest, bool(deterministic)
    )
    return (out[..., :depth] if lacking else out), lse


def _right_of(function: str, mask: Any, is_causal: bool, queries: int, keys: int) -> int | None:
    """The last key that query 0 sees, where a mask hides some."""
    if mask is None:
        return 0 if is_causal else None
    if is_causal:
        raise ValueError(f"{function}: attn_mask and is_causal are both given, but at most one may be")
    bias = sys.modules.get("torch.nn.attention.bias")
    if bias is None or not isinstance(mask, bias.CausalBias):
        raise NotImplementedError(
            f"{function}: attn_mask must be None, or causal_upper_left or causal_lower_right of "
            "torch.nn.attention.bias; for other masks use torch.nn.functional.scaled_dot_product_attention"
        )
    if (mask.seq_len_q, mask.seq_len_kv) != (queries, keys):
        raise ValueError(
            f"{function}: attn_mask is for {mask.seq_len_q} queries and {mask.seq_len_kv} keys, but query and key "
            f"have {queries} and {keys}"
        )
    return 0 if mask.variant == bias.CausalVariant.UPPER_LEFT else keys - queries


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
    deterministic: bool = True,
    q_descale: Tensor | None = None,
    k_descale: Tensor | None = None,
    v_descale: Tensor | None = None,
) -> Tensor:
    """Attention by torch's rules, without its matrix of scores: see torch.nn.functional.scaled_dot_product_attention.

    out = softmax(scale query key^T) value over the keys, scale = 1 / sqrt(E) by default: query (N, .., Hq, L, E), key
    and value (N, .., H, S, E), out (N, .., Hq, L, E), in bfloat16 or float16 with sums in float32. E is at most 256;
    other than 64, 128 and 256 it is filled up with zeros in copies. is_causal: query i sees keys 0 to i, as with
    causal_upper_left of torch.nn.attention.bias for attn_mask; causal_lower_right is taken, too. enable_gqa: H divides
    Hq. A query that sees no key gives 0.

    Operands may be of float8_e4m3fn, (N, Hq, L, E) and (N, H, S, E), and give bfloat16 without a gradient. Their
    elements stand for x[n, h] descale[n, h]: descales are float32 (N, H) above 0, which is looked at on a CPU alone, h
    of key, 1 where none is given, as in torch's _scaled_dot_product_attention_quantized. The weights are rounded to
    e4m3, too.

    Differentiable, traced by torch.compile, captured by CUDA graphs. Gradients have the same bits at each run, unless
    deterministic=False allows faster sums. It needs a GPU of compute capability 9.0; any from 8.0 on for E up to 128
    without causal_lower_right and gradients. Tensors of the CPU are computed there, at small sizes.

    Raises TypeError for other elements, ValueError for shapes, devices and masks that do not agree,
    NotImplementedError for other masks, dropout, and GPUs that lack what is asked for.
    Source: torch `torch.nn.functional.scaled_dot_product_attention`.

    >>> import torch
    >>> q = torch.zeros(1, 1, 2, 64, dtype=torch.bfloat16)
    >>> v = torch.arange(2.0)[:, None].expand(1, 1, 2, 64).bfloat16()
    >>> scaled_dot_product_attention(q, q, v, is_causal=True)[0, 0, :, 0]
    tensor([0.0000, 0.5000], dtype=torch.bfloat16)
    """
    function = "tilewright.torch.scaled_dot_product_attention"
    require_tensors(function, 2, query=query, key=key, value=value)
    require_flags(function, is_causal=is_causal, enable_gqa=enable_gqa)
    require_no_tangents(function, query, key, value)
    query, key, value = _cast(query, key, value)
    descales = {"q_descale": q_descale, "k_descale": k_descale, "v_descale": v_descale}
    is_fp8 = query.dtype == attention_fp8.FP8
    _require_operands(function, query, key, value, -2, (*TYPES, attention_fp8.FP8))
    for name, x in descales.items():
        if x is not None and not is_fp8:
            raise ValueError(f"{function}: {name} is given, but query has elements of {query.dtype}, not of fp8")
    if dropout_p != 0:
        raise NotImplementedError(f"{function}: dropout_p is {dropout_p}, but it must be 0")
    right = _right_of(function, attn_mask, is_causal, query.shape[-2], key.shape[-2])
    shape = query.shape
    if enable_gqa:
        if query.dim() < 3:
            raise ValueError(f"{function}: enable_gqa needs heads, but query is {tuple(shape)}")
        _require_groups(function, query.shape[-3], key, value, -3)
    if is_fp8:
        if not enable_gqa and not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
            raise ValueError(
                f"{function}: query {tuple(shape)}, key {tuple(key.shape)} and value {tuple(value.shape)} of "
                f"{query.dtype} must have as many batches and heads as each other; enable_gqa=True allows fewer heads"
            )
        return attention_fp8.attend(function, query, key, value, descales, scale, right)
    # Modes of extent 1 are repeated; the heads of grouped queries by the program.
    last = -3 if enable_gqa else -2
    outer = [x.shape[:last] for x in (query, key, value)]
    if not outer[0] == outer[1] == outer[2]:
        try:
            common = torch.broadcast_shapes(*outer)
        except RuntimeError:
            raise ValueError(
                f"{function}: the batches and heads of query {tuple(query.shape)}, key {tuple(key.shape)} and value "
                f"{tuple(value.shape)} do not broadcast"
                + ("" if enable_gqa else "; enable_gqa=True allows fewer heads")
            ) from None
        query, key, value = (x.expand(*common, *x.shape[last:]) for x in (query, key, value))
        shape = query.shape
    if len(shape) < 4:
        query, key, value = (x[(None,) * (4 - len(shape))] for x in (query, key, value))
    elif len(shape) > 4:
        query, key, value = (x.flatten(0, -4) for x in (query, key, value))
    longest = (query.shape[2], key.shape[2])
    out, _ = _attend(function, query, key, value, scale, None, right, (None, None), longest, deterministic)
    return out if len(shape) == 4 else out.reshape(shape)


def _require_starts(function: str, query: Tensor, **starts: Any) -> None:
    require_tensors(function, 1, **starts)
    sizes = []
    for name, x in starts.items():
        if x.dtype != torch.int32 or x.dim() != 1 or x.shape[0] < 1:
            raise ValueError(f"{function}: {name} is {x.dtype} {tuple(x.shape)}, but it must be torch.int32 (N + 1)")
        if x.device != query.device:
            raise ValueError(f"{function}: {name} is on {x.device}, but query is on {query.device}")
        sizes.append(x.shape[0])
    if sizes[0] != sizes[1]:
        raise ValueError(f"{function}: cu_seq_q has {sizes[0]} elements and cu_seq_k {sizes[1]}; they must be equal")


def _bounds(function: str, window: Any) -> tuple[int | None, int | None]:
    """The bounds of a window, None for those that are not there."""
    if not isinstance(window, (tuple, list)):
        raise TypeError(f"{function}: expected window_size to be a tuple (left, right), but got {window!r}")
    if len(window) != 2:
        raise ValueError(f"{function}: window_size is {window}, but it must be (left, right)")
    left, right = whole(function, "window_size[0]", window[0]), whole(function, "window_size[1]", window[1])
    return None if left < 0 else min(left, FAR), None if right < 0 else min(right, FAR)


def varlen_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int,
    max_k: int,
    *,
    return_aux: tuple[bool] | None = None,
    scale: float | None = None,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
    seqused_k: Tensor | None = None,
    block_table: Tensor | None = None,
    num_splits: int | None = None,
    deterministic: bool = True,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention of sequences that lie one after another by torch's rules: see torch.nn.attention.varlen.varlen_attn.

    out[i] = sum over j of softmax(scale query[i] key[j]^T) value[j], i and j of one sequence: query (T_q, Hq, D), key
    and value (T_k, H, D), out (T_q, Hq, D). Sequence n has the rows cu_seq_q[n] to cu_seq_q[n + 1] of query, and of key
    those of cu_seq_k, both int32 on the device; none has more rows than max_q and max_k. That is looked at on a CPU
    alone. Rows of no sequence have no meaning in out and in gradients. window_size = (left, right): of a sequence with
    S queries and T keys, query i sees the keys i + T - S - left to i + T - S + right; -1 is no bound, (-1, 0) causal.
    enable_gqa: H divides Hq. return_aux=AuxRequest(lse=True) gives (out, lse), where lse (Hq, T_q) is the logarithm of
    each row's sum of exponentials, which has no gradient.

    Types, depths and gradients are those of `scaled_dot_product_attention`; keys are never split, so num_splits has
    no effect. It needs a GPU of compute capability 9.0, or the CPU.

    Raises TypeError for other elements, ValueError for shapes, devices, windows and sequences that cannot be,
    NotImplementedError for seqused_k and block_table, and for other GPUs.
    Source: torch `torch.nn.attention.varlen.varlen_attn`.

    >>> import torch
    >>> q, v = torch.zeros(3, 1, 64).half(), torch.arange(3.0)[:, None, None].expand(3, 1, 64).half()
    >>> starts = torch.tensor([0, 2, 3], dtype=torch.int32)
    >>> varlen_attention(q, q, v, starts, starts, 2, 2)[:, 0, 0]
    tensor([0.5000, 0.5000, 2.0000], dtype=torch.float16)
    """
    function = "tilewright.torch.varlen_attention"
    require_tensors(function, 3, query=query, key=key, value=value)
    require_no_tangents(function, query, key, value)
    for name, given in (("seqused_k", seqused_k), ("block_table", block_table)):
        if given is not None:
            raise NotImplementedError(f"{function}: {name} must be None; keys in pages are not taken")
    query, key, value = _cast(query, key, value)
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.dim() != 3:
            raise ValueError(f"{function}: {name} {tuple(x.shape)} must have three modes: rows, heads, depth")
    _require_operands(function, query, key, value, 0)
    _require_groups(function, query.shape[1], key, value, 1)
    if not enable_gqa and query.shape[1] != key.shape[1]:
        raise ValueError(
            f"{function}: query has {query.shape[1]} heads and key {key.shape[1]}; enable_gqa=True allows fewer of key"
        )
    _require_starts(function, query, cu_seq_q=cu_seq_q, cu_seq_k=cu_seq_k)
    left, right = _bounds(function, window_size)
    starts = (cu_seq_q.contiguous(), cu_seq_k.contiguous())
    longest = (whole(function, "max_q", max_q), whole(function, "max_k", max_k))
    out, lse = _attend(function, query, key, value, scale, left, right, starts, longest, deterministic)
    return (out, lse) if return_aux is not None and return_aux[0] else out


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
