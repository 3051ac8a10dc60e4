"""The kinds of operands that the functions of the algebra take, by name; annotations name these.

Every one may also be CuTe's notation: `cute.composition("(4,8):(8,1)", "8:1")` is that of the parsed layouts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, SupportsIndex, TypeAlias

if TYPE_CHECKING:
    from tilewright._core import ComposedLayout, Layout, ScaledBasis, Swizzle
    from tilewright.cute.tensors.tensor import Tensor

__all__ = ["CoordLike", "IntTupleLike", "LayoutLike", "Modes", "Operand", "TilerLike"]


class _HasSize(Protocol):
    @property
    def size(self) -> int: ...


IntTupleLike: TypeAlias = "SupportsIndex | ScaledBasis | str | Sequence[IntTupleLike] | None"
CoordLike: TypeAlias = IntTupleLike  # None keeps a mode
LayoutLike: TypeAlias = "Layout | ComposedLayout | Tensor | str"
TilerLike: TypeAlias = "LayoutLike | Swizzle | SupportsIndex | Sequence[TilerLike] | None"
# What has a shape or is one, also in tuples; a TiledCopy or TiledMma has a size.
Operand: TypeAlias = "LayoutLike | Swizzle | ScaledBasis | SupportsIndex | _HasSize | Sequence[Operand] | None"
Modes: TypeAlias = "SupportsIndex | Sequence[SupportsIndex]"
