"""The GEMM by mma.sync: its plan, and the ways to one."""

from __future__ import annotations

from tilewright.kernels.gemm.sm80.choose import choose, given, variants
from tilewright.kernels.gemm.sm80.plan import GemmSm80

__all__ = ["GemmSm80", "choose", "given", "variants"]
