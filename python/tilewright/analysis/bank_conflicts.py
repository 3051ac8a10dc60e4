"""How many wavefronts a plan's accesses to shared memory take: `tilewright.analysis` on its layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

WARP = 32
BANKS = 32
WORD = 4


def wavefronts_of(addresses: Sequence[int], width: int, op: str = "load") -> int:
    """The wavefronts of one access of `width` bytes a lane at these byte addresses.

    >>> wavefronts_of([4 * lane for lane in range(32)], 4), wavefronts_of([128 * lane for lane in range(32)], 4)
    (1, 32)
    >>> wavefronts_of([16 * lane for lane in range(32)], 16), wavefronts_of([128 * lane for lane in range(32)], 16)
    (4, 32)
    """
    from tilewright.analysis.access import warp_access

    return warp_access(addresses, width, memory="shared", op=op).wavefronts


def wavefronts(smem: Any, tv: Any, vector: int, group: int, element_bytes: int) -> int:
    """The wavefronts in which a thread-value layout's first warp puts its first `vector` values into shared memory.

    `group` elements are one access: value j, j + group, ... begin one each.

    >>> from tilewright import cute
    >>> smem = cute.make_layout((32, 32))
    >>> row = cute.make_layout((32, 1), stride=(cute.E(0), 0 * cute.E(0)))
    >>> column = cute.make_layout((32, 1), stride=(cute.E(1), 0 * cute.E(0)))
    >>> wavefronts(smem, row, 1, 1, 4), wavefronts(smem, column, 1, 1, 4)
    (1, 32)
    """
    lanes = range(min(WARP, int(_core.size(tv, mode=[0]))))
    return sum(
        wavefronts_of(
            [int(smem(coordinate(tv, lane, j, smem))) * element_bytes for lane in lanes], group * element_bytes, "store"
        )
        for j in range(0, vector, group)
    )


def take_wavefronts(smem: Any, tv: Any, width: int, element_bytes: int) -> int:
    """The wavefronts in which its first warp takes out its first value, with those that follow it, `width` elements.

    >>> from tilewright import cute
    >>> column = cute.make_layout((32, 1), stride=(cute.E(1), 0 * cute.E(0)))
    >>> take_wavefronts(cute.make_layout((32, 32)), column, 1, 4)
    32
    """
    lanes = range(min(WARP, int(_core.size(tv, mode=[0]))))
    addresses = [int(smem(coordinate(tv, lane, 0, smem))) * element_bytes for lane in lanes]
    return wavefronts_of(addresses, width * element_bytes)


def coordinate(tv: Any, thread: int, value: int, like: Any) -> Any:
    """The coordinate of a thread's value in the profile of another layout, whose trailing modes it may leave at 0."""
    c = tv(thread, value)
    c = c if isinstance(c, tuple) else (c,)
    rank = _core.rank(like.shape)
    c = (*c, *(0,) * (rank - len(c)))
    return c if rank > 1 else c[0]
