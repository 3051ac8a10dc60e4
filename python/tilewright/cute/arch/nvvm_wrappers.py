"""The functions of `cute.arch`, under the name of the module that CuTeDSL has them in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.cute.arch import __all__ as _functions

if TYPE_CHECKING:
    from tilewright.lang.arch import *  # noqa: F403

__all__ = [*_functions]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__, dict.fromkeys(__all__, "tilewright.lang.arch"))
