"""What regions carry: values split into leaves that are symbols of the program and the rest, which stays static.

Types register how they are split: a number or pointer is a leaf, a tensor has parts. join.py makes one value of those
of two branches, rounds.py takes values round a loop, watch.py finds the objects that a region changed in place.
"""

from __future__ import annotations

from tilewright.lang.carry.registry import (
    Mismatch,
    is_dynamic,
    leaf_of,
    number_like,
    parts_of,
    register,
    register_attributes,
    register_leaf,
    register_python_numbers,
    symbol_of,
)
from tilewright.lang.carry.state import register_wrapper

__all__ = [
    "Mismatch",
    "is_dynamic",
    "leaf_of",
    "number_like",
    "parts_of",
    "register",
    "register_attributes",
    "register_leaf",
    "register_python_numbers",
    "register_wrapper",
    "symbol_of",
]
