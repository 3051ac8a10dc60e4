"""The checks of docs/notebooks/puzzles.md: twenty layouts to find.

>>> check(1, "(4,8):(1,4)")
puzzle 1: at (0,1) it gives 4, not 1
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from tilewright import Float16, Float32, analyze, cute
from tilewright.analysis import warp_access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Check = Callable[[Any], str | None]

__all__ = ["CHECKS", "check"]

L = cute.parse
_SHOWN = 24  # elements of a list; of a matrix 8 rows


class _Matrix:
    """The answer is a layout of rows x columns with these offsets. `str` has them, if there are not too many."""

    def __init__(self, function: Callable[[int, int], int], rows: int, columns: int) -> None:
        self.function, self.rows, self.columns = function, rows, columns

    def __call__(self, answer: Any) -> str | None:
        if cute.rank(answer) != 2 or [cute.size(answer, mode=[i]) for i in range(2)] != [self.rows, self.columns]:
            return f"{answer} has not {self.rows} x {self.columns} coordinates"
        for i, j in product(range(self.rows), range(self.columns)):
            if answer((i, j)) != self.function(i, j):
                return f"at ({i},{j}) it gives {answer((i, j))}, not {self.function(i, j)}"
        return None

    def __str__(self) -> str:
        if self.rows > _SHOWN // 3:
            return ""
        rows = [[str(self.function(i, j)) for j in range(self.columns)] for i in range(self.rows)]
        width = max(len(text) for row in rows for text in row)
        return "\n".join("  " + " ".join(text.rjust(width) for text in row) for row in rows)


class _List:
    """The answer is a layout with these offsets at the indices 0, 1, 2, .."""

    def __init__(self, function: Callable[[int], int], count: int) -> None:
        self.function, self.count = function, count

    def __call__(self, answer: Any) -> str | None:
        if cute.size(answer) != self.count:
            return f"{answer} has {cute.size(answer)} elements, not {self.count}"
        for i in range(self.count):
            if answer(i) != self.function(i):
                return f"at index {i} it gives {answer(i)}, not {self.function(i)}"
        return None

    def __str__(self) -> str:
        shown = [str(self.function(i)) for i in range(min(self.count, _SHOWN))]
        return "  " + " ".join(shown + [".."] * (self.count > _SHOWN))


def _passes(wavefronts: int, offsets: Iterable[int], width: int, dtype: Any) -> bool:
    """Whether a warp's access of these offsets takes so few wavefronts of shared memory."""
    addresses = [offset * dtype.width // 8 for offset in offsets]
    return warp_access(addresses, width, memory="shared").wavefronts == wavefronts


def _memory_order(answer: Any) -> str | None:
    return _List(lambda i: i, 32)(cute.composition(L("(4,8):(8,1)"), answer))


def _even_rows(answer: Any) -> str | None:
    return _Matrix(lambda i, j: 2 * i + 8 * j, 4, 4)(cute.composition(L("(8,4):(1,8)"), answer))


def _completes(answer: Any) -> str | None:
    offsets = cute.make_layout([L("(2,2):(2,12)"), answer]).offsets().tolist()
    if sorted(offsets) == list(range(24)):
        return None
    return f"together they reach {len(set(offsets))} of the 24 offsets, with {len(offsets)} elements"


def _every_other_row(answer: Any) -> str | None:
    return _List(lambda i: 16 * (i % 4) + i // 4, 16)(cute.zipped_divide(L("(8,8):(8,1)"), answer)[0])


def _copies(answer: Any) -> str | None:
    found = cute.logical_product(L("(2,2):(1,2)"), answer)
    return _List(lambda i: i % 4 + 4 * (2 * (i // 4 % 2) + i // 8), 16)(found)


def _four_neighbours(answer: Any) -> str | None:
    return _Matrix(lambda t, v: 4 * t + v, 8, 4)(cute.make_layout_tv(*answer)[1])


def _wide_access(answer: Any) -> str | None:
    if not cute.is_bijective(answer) or cute.size(answer) != 128:
        return "it is no bijection onto 128 elements"
    (load,) = analyze(answer, Float32).instructions
    if (load.requests, load.sectors) == (1, 16):
        return None
    return f"the warp makes {load.requests} requests for {load.sectors} sectors; 1 request for 16 sectors would do"


def _both_ways(answer: Any) -> str | None:
    if not cute.is_injective(answer):
        return "two elements share an offset"
    for i in range(32):
        if not _passes(1, [answer((i, j)) for j in range(32)], 4, Float32):
            return f"row {i} has a bank conflict"
        if not _passes(1, [answer((j, i)) for j in range(32)], 4, Float32):
            return f"column {i} has a bank conflict"
    return None


def _padded(answer: Any) -> str | None:
    return "the padding takes more than 1,100 elements" if cute.cosize(answer) > 1100 else _both_ways(answer)


def _swizzled(answer: Any) -> str | None:
    return _both_ways(cute.composition(answer, L("(32,32):(32,1)")))


def _for_ldmatrix(answer: Any) -> str | None:
    tile = cute.composition(answer, L("(64,64):(64,1)"))
    for k in range(0, 64, 8):
        if any(tile((r, k)) % 8 or tile((r, k + 7)) != tile((r, k)) + 7 for r in range(64)):
            return "eight halves of a row that begin at a multiple of 8 no longer lie side by side"
        if not _passes(4, [tile((r, k)) for r in range(32)], 16, Float16):
            return f"32 rows at column {k} take more than 4 wavefronts"
    return None


def _accumulator(t: int, v: int) -> int:
    row, column = t // 4 + 8 * (v // 2), 2 * (t % 4) + v % 2
    return row + 16 * column


CHECKS: dict[int, Check] = {
    1: _Matrix(lambda i, j: 8 * i + j, 4, 8),
    2: _Matrix(lambda i, j: i + 5 * j, 4, 8),
    3: _Matrix(lambda i, j: 8 * i + 2 * j, 4, 4),
    4: _Matrix(lambda i, j: j, 4, 8),
    5: _List(lambda i: 9 * i, 8),
    6: _Matrix(lambda i, j: (i % 2) + 4 * (i // 2) + 2 * (j % 2) + 8 * (j // 2), 4, 4),
    7: _Matrix(lambda i, j: 16 * (i // 4) + 4 * (i % 4) + 32 * (j // 4) + j % 4, 8, 8),
    8: _memory_order,
    9: _even_rows,
    10: _completes,
    11: _every_other_row,
    12: _copies,
    13: _four_neighbours,
    14: _Matrix(lambda t, v: t // 4 + 8 * (4 * (t % 4) + v), 32, 4),
    15: _Matrix(_accumulator, 32, 4),
    16: _List(lambda lane: 16 * (lane % 16) + 8 * (lane // 16), 32),
    17: _wide_access,
    18: _padded,
    19: _swizzled,
    20: _for_ldmatrix,
}
"""What is wrong with an answer to each puzzle, or None."""


def check(number: int, answer: Any) -> Any:
    """Say whether an answer is right, or where it is not; a right layout is returned, so that a notebook draws it.

    Layouts may be written in CuTe's notation. Without an answer, which is ``...``, it shows what is asked for.

    >>> check(5, ...)
      0 9 18 27 36 45 54 63
    >>> check(5, "8:9")
    puzzle 5: right
    8:9
    """
    asked = CHECKS[number]
    if answer is ...:
        print((str(asked) if isinstance(asked, (_Matrix, _List)) else "") or "no answer yet")
        return None
    answer = L(answer) if isinstance(answer, str) else answer
    wrong = asked(answer)
    print(f"puzzle {number}: {wrong or 'right'}")
    return answer if wrong is None and isinstance(answer, (cute.Layout, cute.Swizzle)) else None
