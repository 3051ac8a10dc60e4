"""Operations that programs write out: assembly, instructions, functions, elements of vectors."""

from __future__ import annotations

from tilewright._mlir.dialects import llvm, math, nvvm, vector

__all__ = ["llvm", "math", "nvvm", "vector"]
