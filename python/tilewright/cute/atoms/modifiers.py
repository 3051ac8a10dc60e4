"""What a copy instruction is told beside its addresses: caches, memory order, and how a bulk copy swizzles."""

from __future__ import annotations

from enum import Enum

from tilewright import _core
from tilewright._notebook import drawn

__all__ = ["CacheEvictionPriority", "LoadCacheMode", "MemoryOrder", "MemoryScope", "SwizzleMode"]


class LoadCacheMode(Enum):
    """Which caches a load fills: L1 and L2 (ALWAYS, `.ca`) or L2 alone (GLOBAL, `.cg`).

    >>> LoadCacheMode.GLOBAL.value
    'cg'
    """

    ALWAYS = "ca"
    GLOBAL = "cg"


class CacheEvictionPriority(Enum):
    """How long a line of L1 is kept: the qualifier `.L1::...` of a load or store in PTX.

    >>> CacheEvictionPriority.NO_ALLOCATE.value
    'no_allocate'
    """

    EVICT_NORMAL = "evict_normal"
    EVICT_FIRST = "evict_first"
    EVICT_LAST = "evict_last"
    EVICT_UNCHANGED = "evict_unchanged"
    NO_ALLOCATE = "no_allocate"


class MemoryOrder(Enum):
    """The memory order of a load or store in PTX.

    >>> MemoryOrder.WEAK.value
    'weak'
    """

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"


class MemoryScope(Enum):
    """The threads among which a memory order holds, as PTX names them.

    >>> MemoryScope.CTA.value
    'cta'
    """

    CTA = "cta"
    CLUSTER = "cluster"
    GPU = "gpu"
    SYS = "sys"


@drawn
class SwizzleMode(Enum):
    """How the tensor memory accelerator permutes the 16-byte chunks of a box in shared memory.

    >>> mode = SwizzleMode.B128
    >>> mode.span_bytes, mode.alignment, str(mode.swizzle)
    (128, 1024, 'S<3,4,3>')
    """

    NONE = 0
    B32 = 1
    B64 = 2
    B128 = 3

    @property
    def span_bytes(self) -> int | None:
        """The most bytes that the fastest extent of a box may have; None: no such limit."""
        return 16 << self.value if self.value else None

    @property
    def alignment(self) -> int:
        """Bytes after which the pattern in shared memory repeats, at least the 128 that every box needs."""
        return 128 << self.value

    @property
    def swizzle(self) -> _core.Swizzle:
        """The permutation, of byte offsets."""
        return _core.Swizzle(self.value, 4, 3)
