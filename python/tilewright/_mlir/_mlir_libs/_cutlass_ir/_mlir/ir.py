"""The types of `tilewright._mlir.ir`, under the path that they have in CuTeDSL's compiled part."""

from __future__ import annotations

from tilewright._mlir.ir import F32Type, IntegerType, Type, Value

__all__ = ["F32Type", "IntegerType", "Type", "Value"]
