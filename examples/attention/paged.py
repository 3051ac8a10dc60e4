"""Paged caches of keys and values, as a program is given them, and what attention to them gives in float64."""

from __future__ import annotations

import math

import torch

from tilewright import cute


def argument(tensor, *modes):
    """A tensor whose extents of these modes may be others at a later call of what was compiled."""
    made = cute.runtime.from_dlpack(tensor, assumed_align=16)
    for mode in modes:
        made.mark_compact_shape_dynamic(mode, stride_order=tensor.dim_order())
    return made


def paged(dtype, lengths, page_size, shapes, device):
    """A table of random pages for sequences of these lengths, and caches with elements of these shapes for each key.

    What has no key is NaN, and no page is far outside.
    """
    counts = [-(-length // page_size) for length in lengths]
    order = torch.randperm(sum(counts) + 1, device=device).int()
    table = torch.full((len(lengths), max(*counts, 1)), 2**30, device=device, dtype=torch.int32)
    caches = [torch.full((len(order), page_size, *shape), math.nan, device=device, dtype=dtype) for shape in shapes]
    for b, (length, pages) in enumerate(zip(lengths, order[:-1].split(counts), strict=True)):
        table[b, : len(pages)] = pages
        for i, page in enumerate(pages):
            keys = min(page_size, length - i * page_size)
            for cache in caches:
                cache[page, :keys] = torch.randn(keys, *cache.shape[2:], device=device).to(dtype)
    return table, *caches


def reference(q, k, v, table, lengths, scale):
    """O and L, sequence by sequence; q is (batches, heads, queries, D), k and v (pages, page size, heads, D)."""
    queries, group = q.shape[2], q.shape[1] // k.shape[2]
    o = torch.empty(*q.shape[:3], v.shape[3], dtype=torch.float64, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float64, device=q.device)
    for b, length in enumerate(map(int, lengths)):
        pages = table[b, : -(-length // k.shape[1])].long()
        keys, values = (x[pages].flatten(0, 1)[:length].double().transpose(0, 1) for x in (k, v))
        scores = scale * q[b].double().reshape(len(keys), -1, q.shape[3]) @ keys.mT
        hidden = torch.ones(queries, length, dtype=torch.bool, device=q.device).triu(length - queries + 1)
        scores = scores.masked_fill(hidden.repeat(group, 1), -math.inf)
        o[b] = (scores.softmax(-1).nan_to_num() @ values).reshape(o.shape[1:])
        lse[b] = scores.logsumexp(-1).reshape(lse.shape[1:])
    return o, lse
