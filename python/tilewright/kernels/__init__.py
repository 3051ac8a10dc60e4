"""Kernels that run on tensors of any library that speaks DLPack."""

from __future__ import annotations

from tilewright.kernels.visualize_tv import visualize_tv

__all__ = ["visualize_tv"]
