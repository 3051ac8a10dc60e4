"""Run traced programs on a CUDA device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.lang.arguments import Leaves
    from tilewright.lang.jit import Traced

__all__ = ["run_on_gpu"]


def run_on_gpu(traced: Traced, leaves: Leaves, device: int) -> Any:
    raise NotImplementedError
