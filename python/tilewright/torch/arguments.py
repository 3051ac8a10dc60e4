"""What the functions of this package ask of their arguments before anything else."""

from __future__ import annotations

import operator
from typing import Any

from torch import SymBool, SymFloat, SymInt, Tensor, contiguous_format, is_grad_enabled
from torch.autograd import forward_ad

__all__ = [
    "compact",
    "real",
    "require_ends",
    "require_flags",
    "require_no_gradients",
    "require_no_tangents",
    "require_tensors",
    "whole",
]


def require_tensors(function: str, modes: int, **tensors: Any) -> None:
    """Refuse what is no tensor, or has fewer modes."""
    for name, x in tensors.items():
        if not isinstance(x, Tensor):
            raise TypeError(f"{function}: expected {name} to be a torch.Tensor, but got {type(x).__name__}")
        if x.dim() < modes:
            raise ValueError(f"{function}: {name} {tuple(x.shape)} must have at least {modes} modes")


def require_ends(function: str, offs: Tensor, rows: int) -> None:
    """On a CPU, where nothing waits for a device: groups end in order, and within the rows that are cut."""
    ends = offs.tolist() if offs.device.type == "cpu" else []
    if ends != sorted(ends) or (ends and not 0 <= ends[0] <= ends[-1] <= rows):
        raise ValueError(
            f"{function}: offs is {ends}, but it must ascend or stay, from 0 to {rows} at most: what it cuts has so "
            "many rows or columns"
        )


def compact(offs: Tensor) -> Tensor:
    """The ends side by side, as the programs read them; `contiguous` would leave one alone as it is."""
    return offs if offs.stride(0) == 1 else offs.clone(memory_format=contiguous_format)


def require_flags(function: str, **flags: Any) -> None:
    """Refuse what is neither True nor False, nor one of them that a trace does not know."""
    for name, x in flags.items():
        if not isinstance(x, (bool, SymBool)):
            raise TypeError(f"{function}: expected {name} to be True or False, but got {x!r}")


def require_no_tangents(function: str, *tensors: Tensor) -> None:
    """Refuse forward derivatives, which the operations would drop without a word."""
    if forward_ad._current_level >= 0 and any(forward_ad.unpack_dual(x).tangent is not None for x in tensors):
        raise NotImplementedError(f"{function} has no forward derivative; use backward()")


def whole(function: str, name: str, x: Any) -> int:
    """What stands for an int, as one; numbers that a trace does not know stay as they are."""
    if isinstance(x, (int, SymInt)):
        return x
    try:
        return operator.index(x)
    except TypeError:
        raise TypeError(f"{function}: expected {name} to be an int, but got {x!r}") from None


def real(function: str, name: str, x: Any) -> float:
    """What stands for a float, as one; a text does not, though Python would read it."""
    if isinstance(x, (float, int, SymFloat, SymInt)) or hasattr(x, "__float__") or hasattr(x, "__index__"):
        return float(x)
    raise TypeError(f"{function}: expected {name} to be a float, but got {x!r}")


def require_no_gradients(function: str, **tensors: Tensor) -> None:
    """Refuse what a function without gradients is asked one of."""
    if not is_grad_enabled():
        return
    for name, x in tensors.items():
        if x.requires_grad:
            raise NotImplementedError(
                f"{function}: {name} requires a gradient, which this function does not have; call it under "
                "torch.no_grad()"
            )
