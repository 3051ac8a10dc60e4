"""Names of `cutlass.base_dsl`: `runtime.cuda.checkCudaErrors`."""

from __future__ import annotations

from tilewright.base_dsl import runtime

__all__ = ["runtime"]
