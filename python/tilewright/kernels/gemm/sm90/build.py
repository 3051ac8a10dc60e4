"""The GEMM by wgmma and TMA: its plan, and the ways to one."""

from __future__ import annotations

from tilewright.kernels.gemm.sm90.choose import choose, given, variants
from tilewright.kernels.gemm.sm90.plan import GemmSm90

__all__ = ["GemmSm90", "choose", "given", "variants"]
