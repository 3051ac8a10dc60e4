"""What programs for CuTeDSL take from its compiler: types of values, values as handles, inline assembly.

There is no MLIR here. A value is one of the program that is traced (`_core.program`), a type one of its types.
"""

from __future__ import annotations

from tilewright._mlir import dialects, ir

__all__ = ["dialects", "ir"]
