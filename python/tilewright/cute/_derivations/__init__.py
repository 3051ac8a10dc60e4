"""The derivations that `explain` shows: the arithmetic of an operation done by hand, with a note of every step.

A layout is a pair (shape, stride) of nested tuples here. What an operation returns comes from the C++ core; tests
compare the two. The interactive page runs these functions too, translated into JavaScript as one module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.cute._derivations.coalesce import derive_coalesce
from tilewright.cute._derivations.complement import derive_complement
from tilewright.cute._derivations.composition import derive_composition
from tilewright.cute._derivations.evaluation import derive_crd2idx, derive_make_layout_tv
from tilewright.cute._derivations.inverse import derive_left_inverse, derive_right_inverse
from tilewright.cute._derivations.tiling import derive_blocked, derive_raked, deriver, divide, multiply

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DERIVATIONS"]

DERIVATIONS: dict[str, Callable[..., str]] = {
    "composition": derive_composition,
    "coalesce": derive_coalesce,
    "complement": derive_complement,
    **{f"{form}_divide": deriver(form, divide) for form in ("logical", "zipped", "tiled", "flat")},
    **{f"{form}_product": deriver(form, multiply) for form in ("logical", "zipped", "tiled", "flat")},
    "blocked_product": derive_blocked,
    "raked_product": derive_raked,
    "right_inverse": derive_right_inverse,
    "left_inverse": derive_left_inverse,
    "make_layout_tv": derive_make_layout_tv,
    "crd2idx": derive_crd2idx,
}
