"""Operations that programs write out: see `llvm`."""

from __future__ import annotations

from tilewright._mlir.dialects import llvm

__all__ = ["llvm"]
