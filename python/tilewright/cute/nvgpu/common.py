"""What the operations have in common: memory order and scope, and how long a cache keeps a line."""

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.cute.atoms.copy_ops import CopyOp, CopyUniversalOp
from tilewright.cute.atoms.modifiers import CacheEvictionPriority, MemoryOrder, MemoryScope

__all__ = ["CacheEvictionPriority", "CopyOp", "CopyUniversalOp", "MemoryOrder", "MemoryScope"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
