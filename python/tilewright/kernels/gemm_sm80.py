"""The GEMM by mma.sync: its plan, and the ways to one."""

from __future__ import annotations

from tilewright.kernels.choose_gemm_sm80 import choose, given, variants
from tilewright.kernels.gemm_sm80_plan import GemmSm80

__all__ = ["GemmSm80", "choose", "given", "variants"]
