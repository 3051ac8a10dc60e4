"""What the operations have in common: memory order and scope, and how long a cache keeps a line."""

from tilewright.cute.atom import CacheEvictionPriority, CopyOp, CopyUniversalOp, MemoryOrder, MemoryScope

__all__ = ["CacheEvictionPriority", "CopyOp", "CopyUniversalOp", "MemoryOrder", "MemoryScope"]
