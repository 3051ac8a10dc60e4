"""Operands of attention's backward pass: random ones, as arguments of the programs, and what they are compared with."""

from __future__ import annotations

import math

import torch
from tilewright.examples.attention.backward_blocks import QUERIES
from tilewright.examples.attention.references import reference as forward

from tilewright import cute


def workspace_tiles(q, starts_q):
    """How many tiles of queries a workspace has: each sequence has whole ones."""
    batches, heads, queries, _ = q.shape
    if starts_q is None:
        return heads * batches * -(-queries // QUERIES)
    return heads * (queries // QUERIES + len(starts_q) - 1)


def argument(tensor):
    """A tensor of which all but the last extent may be another at a later call of what was compiled."""
    made = cute.runtime.from_dlpack(tensor, assumed_align=16)
    for mode in range(max(tensor.ndim - 1, 1)):
        made.mark_compact_shape_dynamic(mode, stride_order=tensor.dim_order())
    return made


def reference(q, k, v, do, scale, left, right):
    """O, L, dQ, dK and dV in float64."""
    q, k, v = (x.double().requires_grad_() for x in (q, k, v))
    o, lse = forward(q, k, v, scale, left, right)
    return o.detach(), lse.detach(), *torch.autograd.grad(o, (q, k, v), do.double())


def operands(dtype, batches, heads, key_heads, queries, keys, depth, left, right, device):
    """Random Q, K, V and dO, and what a forward pass gives for them: O and L; then dQ, dK and dV in float64."""
    shapes = (heads, queries), (key_heads, keys), (key_heads, keys), (heads, queries)
    q, k, v, do = (torch.randn(batches, *shape, depth, device=device).to(dtype) for shape in shapes)
    o, lse, *expected = reference(q, k, v, do, depth**-0.5, left, right)
    return (q, k, v, o.to(dtype), do, lse.float()), expected


def compare(attention_backward, workspace, case, device):
    """Whether the gradients that a program finds are those of float64."""
    tensors, expected = operands(*case, device)
    gradients = [torch.full_like(x, math.nan) for x in tensors[:3]]
    arguments = map(argument, (*tensors, *gradients, *workspace(tensors[0])))
    attention_backward(*arguments, case[6] ** -0.5, *case[7:])
    for found, wanted in zip(gradients, expected, strict=True):
        torch.testing.assert_close(found, wanted.to(found.dtype), rtol=2e-2, atol=1e-2)
