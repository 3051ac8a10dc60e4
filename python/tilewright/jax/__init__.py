"""tilewright in JAX: functions of the language as operations of JAX, as `cutlass.jax`. It needs the package jax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.jax.call import cutlass_call

__all__ = ["cutlass_call"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
