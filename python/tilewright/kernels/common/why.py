"""Why a plan was chosen, as a table: the candidates, how long each was expected to take, and what bounds it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Candidate", "Why"]

SHOWN = 16  # candidates in the text
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"))


class Priced(Protocol):
    """What a model says of a plan: the seconds, and those that would be left without what bounds it."""

    @property
    def seconds(self) -> float: ...

    @property
    def bound(self) -> str: ...

    def without(self, bound: str, /) -> float: ...


P = TypeVar("P")
K = TypeVar("K", bound=Priced)


@dataclass(frozen=True)
class Candidate(ABC, Generic[P, K]):
    """A plan that was chosen from, its cost, and whether it is the plan itself."""

    HEADS: ClassVar[tuple[str, ...]]  # of what `described` gives
    plan: P
    cost: K
    chosen: bool

    @property
    def seconds(self) -> float:
        """The time that it is expected to take."""
        return self.cost.seconds

    @property
    def bound(self) -> str:
        """What would save most of the time if it took none, such as "memory" or "last wave"."""
        return self.cost.bound

    @abstractmethod
    def described(self) -> tuple[str, ...]:
        """What tells the plan from others, for its row of the table."""

    def cells(self) -> tuple[str, ...]:
        """Its row of the table."""
        without = self.cost.without(self.bound)
        return ">" if self.chosen else "", *self.described(), shown(self.seconds), self.bound, shown(without)


C = TypeVar("C", bound=Candidate[Any, Any])


@dataclass(frozen=True, slots=True, repr=False)
class Why(Generic[C]):
    """`plan.why()`: the candidates, the chosen one first, then by their times. It prints as a table.

    It is iterated and indexed as the tuple of its `rows`.
    """

    problem: object
    device: str
    rows: tuple[C, ...]

    def __iter__(self) -> Iterator[C]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: Any) -> Any:
        return self.rows[i]

    def __str__(self) -> str:
        heads = ("", *self.rows[0].HEADS, "predicted", "bound by", "without it")
        table = [heads, *(row.cells() for row in self.rows[:SHOWN])]
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
