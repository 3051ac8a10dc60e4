"""Why a plan was chosen, as a table: the candidates, how long each was expected to take, and what bounds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Row", "Why", "shown"]

SHOWN = 16  # candidates in the text
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


class Row(Protocol):
    """A candidate, which has a row of the table."""

    @property
    def seconds(self) -> float:
        """The time that it is expected to take."""

    def cells(self) -> tuple[str, ...]:
        """Its row of the table."""


R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True, repr=False)
class Why(Generic[R]):
    """`plan.why()`: the candidates, the chosen one first, then by their times. It prints as a table.

    It is iterated and indexed as the tuple of its `rows`.
    """

    problem: object
    device: str
    heads: tuple[str, ...]
    rows: tuple[R, ...]

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: Any) -> Any:
        return self.rows[i]

    def __str__(self) -> str:
        table = [self.heads, *(row.cells() for row in self.rows[:SHOWN])]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(f"{x:{n}}" for x, n in zip(row, widths, strict=True)).rstrip() for row in table]
        more = len(self.rows) - SHOWN
        lines += [f"and {more} more, of {shown(self.rows[-1].seconds)} at most"] if more > 0 else []
        return "\n".join([f"{self.problem}, on {self.device}", *lines])

    def __repr__(self) -> str:
        return str(self)


def shown(seconds: float) -> str:
    """A time with four digits.

    >>> shown(1.23456e-4), shown(2.0)
    ('123.5 us', '2 s')
    """
    scale, unit = next((x for x in UNITS if seconds >= x[0]), UNITS[-1])
    return f"{seconds / scale:.4g} {unit}"
