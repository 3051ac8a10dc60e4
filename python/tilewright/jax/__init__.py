"""tilewright in JAX: functions of the language as operations of JAX, as `cutlass.jax`. It needs the package jax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.jax import testing
from tilewright.jax.arrays import TensorSpec, cutlass_to_jax_dtype, jax_to_cutlass_dtype
from tilewright.jax.call import cutlass_call, get_export_disabled_safety_checks

__all__ = [
    "TensorSpec",
    "cutlass_call",
    "cutlass_to_jax_dtype",
    "get_export_disabled_safety_checks",
    "jax_to_cutlass_dtype",
    "testing",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
