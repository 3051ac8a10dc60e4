"""Of which kind the fields of GEMM plans are, so that a wrong one is named before a kernel's own conditions ask it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.tiled.tiled_copy import TiledCopy
from tilewright.cute.tiled.tiled_mma import TiledMma
from tilewright.kernels.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 2**31 - 1  # what an int of the device holds


def _count(value: Any) -> bool:
    return type(value) is int and 1 <= value <= MOST


def _counts(size: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, tuple) and len(value) == size and all(map(_count, value))


def _layout(value: Any) -> bool:
    return isinstance(value, (_core.Layout, _core.ComposedLayout))


POSITIVE = "a positive integer below 2^31", _count
FLAG = "True or False", lambda value: type(value) is bool
COPY = "a TiledCopy", lambda value: isinstance(value, TiledCopy)
NATURAL = "an integer from 0 on and below 2^31", lambda value: type(value) is int and 0 <= value <= MOST
SHARED = "a layout of (row, k, stage)", _layout

# What a field must be, and whether a value is that.
KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "problem": ("a GemmProblem", lambda value: isinstance(value, GemmProblem)),
    "tiler_mnk": ("three positive integers (bM, bN, bK)", _counts(3)),
    "tiled_mma": ("a TiledMma", lambda value: isinstance(value, TiledMma)),
    "tiled_copy_a": COPY,
    "tiled_copy_b": COPY,
    "smem_a": SHARED,
    "smem_b": SHARED,
    "store_tv": ("a layout of (thread, value), or None", lambda x: x is None or isinstance(x, _core.Layout)),
    "smem_c": ("a layout of (row, column, slice), or None", lambda x: x is None or isinstance(x, _core.Layout)),
    **dict.fromkeys(("promote", "streams"), NATURAL),
    "cluster_mn": ("two positive integers, the CTAs along M and N", _counts(2)),
    **dict.fromkeys(("swapped", "wide_a", "wide_b", "padded_a", "padded_b", "ping_pong"), FLAG),
    **dict.fromkeys(
        ("stages", "store_vector", "run_length", "min_ctas", "splits", "store_buffers", "workers", "group",
         "out_vector", "ctas_per_sm"),
        POSITIVE,
    ),
}  # fmt: skip


def require_kinds(plan: str, fields: dict[str, Any]) -> None:
    """TypeError where a field's value is of another kind; `plan` is the name of the plan's type."""
    for name, value in fields.items():
        if name in KINDS and not KINDS[name][1](value):
            raise TypeError(f"{plan}: {name} is {value!r}, but it must be {KINDS[name][0]}")
