"""Names of `cutlass.base_dsl.runtime`."""

from __future__ import annotations

from tilewright.base_dsl.runtime import cuda

__all__ = ["cuda"]
