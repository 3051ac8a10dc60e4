"""Operands of decoding by latent attention: torch's tensors as arguments, random ones, and what is right for them."""

from __future__ import annotations

import math

import torch
from tilewright.examples.attention.latent_blocks import CTAS, HEADS, KEYS, LATENT, ROPE
from tilewright.examples.attention.paged import argument, paged
from tilewright.examples.attention.paged import reference as paged_reference

from tilewright import cute


def workspace(device, processors):
    """Of each part: sums of two queries, logarithms of their weights; which query it begins and what parts have it."""
    parts = max(1, processors // CTAS)
    sums, logarithms = (torch.empty(2 * parts, HEADS, *x, device=device, dtype=torch.float32) for x in ((LATENT,), ()))
    return sums, logarithms, torch.empty(parts, 3, device=device, dtype=torch.int32)


def reference(q, cache, table, lengths, scale):
    """O and L in float64: of keys that all heads share, and of which the values are a part."""
    keys = cache[:, :, None]
    found = paged_reference(q.transpose(1, 2), keys, keys[..., :LATENT], table, lengths, scale)
    return tuple(x.transpose(1, 2) for x in found)


def arguments(q, cache, table, lengths, o, lse, space):
    """The operands of mla_decode. The strides of the cache have 64 bits, for it may have more than 2**31 numbers."""
    if tuple(cache.shape[1:]) != (KEYS, LATENT + ROPE):
        raise ValueError(f"mla_decode: the cache is {tuple(cache.shape)}; expected (pages, {KEYS}, {LATENT + ROPE})")
    keys = cute.runtime.from_dlpack(cache, assumed_align=16).mark_layout_dynamic(leading_dim=2)
    return (
        argument(q, 0, 1), keys, argument(table, 0, 1), argument(lengths, 0), argument(o, 0, 1),
        argument(lse, 0, 1), *(argument(x, 0) for x in space),
    )  # fmt: skip


def operands(device, dtype, lengths, queries, processors):
    """Random ones: Q, the cache, its table, lengths, O and L to be written, the workspace."""
    table, cache = paged(dtype, lengths, KEYS, [(LATENT + ROPE,)], device)
    q = torch.randn(len(lengths), queries, HEADS, LATENT + ROPE, device=device).to(dtype)
    o = torch.full((*q.shape[:3], LATENT), math.nan, device=device, dtype=dtype)
    lse = torch.full(q.shape[:3], math.nan, device=device)
    held = torch.tensor(lengths, device=device, dtype=torch.int32)
    return q, cache, table, held, o, lse, workspace(device, processors)
