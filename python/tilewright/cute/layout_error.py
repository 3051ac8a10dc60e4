"""LayoutErrors with what the core puts into its own: the operation, its operands, a counterexample."""

from __future__ import annotations

from typing import Any

from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text

__all__ = ["layout_error", "renamed"]


def layout_error(operation: str, operands: tuple[Any, ...], message: str, counterexample: Any = None) -> LayoutError:
    """The error, to be raised; counterexample is as of LayoutError: (coordinate, CuTe's answer, the right one)."""
    texts = tuple(map(text, operands))
    error = LayoutError(f"{operation}({', '.join(texts)}): {message}")
    error.operation, error.operands, error.counterexample = operation, texts, counterexample  # type: ignore[misc]
    return error


def renamed(error: LayoutError, operation: str) -> LayoutError:
    """The error of a helper in the name of the operation that was called."""
    message = str(error).removeprefix(f"{error.operation}({', '.join(error.operands)}): ")
    return layout_error(operation, error.operands, message, error.counterexample)
