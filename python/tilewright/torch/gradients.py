"""Gradients of products, in types that hold them."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["FLOAT8", "gradient_type", "reduced", "require_no_float8"]

FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)


def require_no_float8(function: str, **wanted: Any) -> None:
    """Refuse a gradient that would have elements of float8, as autograd has it: it seldom fits into their range."""
    for name, x in wanted.items():
        if x.dtype in FLOAT8 and x.requires_grad:
            raise NotImplementedError(
                f"{function}: {name} of {x.dtype} requires a gradient, which float8 does not hold; convert it to "
                "torch.bfloat16 first, or call it under torch.no_grad()"
            )


def gradient_type(grad: torch.dtype, like: torch.dtype) -> torch.dtype:
    """The type in which a gradient is multiplied or added up, so that none but the result must fit into `like`.

    Bfloat16 has the range of float32 and is multiplied faster.
    """
    if grad in FLOAT8 or (like == torch.bfloat16 and grad == torch.float32):
        return like
    return torch.promote_types(grad, like)


def reduced(grad: Any, side: tuple[tuple[int, ...], torch.dtype], scale: float) -> Any:
    """The gradient of what, of this shape and type, was broadcast and scaled before it was added."""
    shape, dtype = side
    wide = dtype if grad.dtype in FLOAT8 else torch.promote_types(grad.dtype, dtype)
    total = grad.to(wide).sum_to_size(shape)
    return (total if scale == 1 else total * scale).to(dtype)
