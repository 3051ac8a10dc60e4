"""Time compiled functions and choose the fastest configuration: `tilewright.testing`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import names_of

if TYPE_CHECKING:
    from tilewright.testing import JitArguments, autotune_jit, benchmark, convert, get_workspace_count, tune

__all__ = ["JitArguments", "autotune_jit", "benchmark", "convert", "get_workspace_count", "tune"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__, dict.fromkeys(__all__, "tilewright.testing"))
