"""Elements of vectors, by the names that `cutlass._mlir.dialects.vector` has for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.cute.vectors.tensor_ssa import TensorSSA

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["extract"]


def extract(
    source: TensorSSA,
    dynamic_position: Sequence[Any],
    static_position: Sequence[int],
    *,
    loc: object = None,
    ip: object = None,
) -> Any:
    """One element of a vector: its number in colexicographic order, as a Python int or as one known at run time.

    Raises TypeError for what is no vector, ValueError where not exactly one position is given.
    """
    if not isinstance(source, TensorSSA):
        raise TypeError(f"vector.extract: expected a TensorSSA, such as tensor.load() gives, but got {source!r}")
    positions = [*dynamic_position, *static_position]
    if len(positions) != 1:
        raise ValueError(f"vector.extract: a vector has one mode, but the positions are {positions}")
    return source[positions[0]]
