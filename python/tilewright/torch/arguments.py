"""What the functions of this package ask of their arguments before anything else."""

from __future__ import annotations

from typing import Any

from torch import SymBool, Tensor
from torch.autograd import forward_ad

__all__ = ["require_flags", "require_no_tangents", "require_tensors"]


def require_tensors(function: str, modes: int, **tensors: Any) -> None:
    """Refuse what is no tensor, or has fewer modes."""
    for name, x in tensors.items():
        if not isinstance(x, Tensor):
            raise TypeError(f"{function}: expected {name} to be a torch.Tensor, but got {type(x).__name__}")
        if x.dim() < modes:
            raise ValueError(f"{function}: {name} {tuple(x.shape)} must have at least {modes} modes")


def require_flags(function: str, **flags: Any) -> None:
    """Refuse what is neither True nor False, nor one of them that a trace does not know."""
    for name, x in flags.items():
        if not isinstance(x, (bool, SymBool)):
            raise TypeError(f"{function}: expected {name} to be True or False, but got {x!r}")


def require_no_tangents(function: str, *tensors: Tensor) -> None:
    """Refuse forward derivatives, which the operations would drop without a word."""
    if forward_ad._current_level >= 0 and any(forward_ad.unpack_dual(x).tangent is not None for x in tensors):
        raise NotImplementedError(f"{function} has no forward derivative; use backward()")
