"""What attention gives, in float64 from the matrix of scores: what the programs are compared with."""

from __future__ import annotations

import math

import torch


def reference(q, k, v, scale, left=None, right=None):
    """O and L; query i sees the keys i - left to i + right."""
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = scale * q @ k.mT
    distance = torch.arange(k.shape[2], device=q.device) - torch.arange(q.shape[2], device=q.device)[:, None]
    if left is not None:
        scores = scores.masked_fill(distance < -left, -math.inf)
    if right is not None:
        scores = scores.masked_fill(distance > right, -math.inf)
    return scores.softmax(-1).nan_to_num() @ v, scores.logsumexp(-1)
