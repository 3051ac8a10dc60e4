"""The operands of attention's forward pass: torch's tensors as arguments of the program, and as TMA wants them."""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute


def matrices(tensor, depth, order):
    """A tensor (batches, heads, rows, depth) as modes of (rows, depth, heads, batches) in some order.

    The depth is known while tracing.
    """
    shape, stride = tensor.shape, tensor.stride
    extents = shape[2], depth, shape[1], shape[0]
    rows, heads, batches = (
        cute.assume(stride[i], divby=128 // tensor.element_type.bits) for i in (2, 1, 0)
    )  # as TMA wants
    steps = rows, 1, heads, batches
    return cute.make_tensor(tensor.iterator, cute.select(cute.make_layout(extents, stride=steps), order))


def argument(tensor):
    """A tensor of which all extents may be others at a later call of what was compiled."""
    return cute.runtime.from_dlpack(tensor, assumed_align=16).mark_layout_dynamic(leading_dim=tensor.ndim - 1)


def arguments(
    q, k, v, o, lse, scale, left=None, right=None, starts_q=None, starts_k=None, max_q=None, scales=(None, None, None)
):
    """What attention takes for these tensors, on all of the device's multiprocessors."""
    tickets = cute.runtime.from_dlpack(torch.zeros(2, device=q.device, dtype=torch.int32))
    ctas = cutlass.utils.HardwareInfo().get_device_multiprocessor_count() if q.is_cuda else 2
    starts = [None if x is None else cute.runtime.from_dlpack(x).mark_layout_dynamic() for x in (starts_q, starts_k)]
    scales = [None if x is None else cute.runtime.from_dlpack(x).mark_layout_dynamic(leading_dim=1) for x in scales]
    window, longest = (scale, left, right), max_q or q.shape[2]
    return *map(argument, (q, k, v, o, lse)), *window, *starts, longest, *scales, tickets, ctas, q.shape[3]
