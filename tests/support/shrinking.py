"""Choices that are written down, replayed and made simpler: what failed with random numbers, in as few lines as can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Recorded:
    """Choices of another source, written down."""

    def __init__(self, source: Any) -> None:
        self.source, self.made = source, []

    def below(self, n: int) -> int:
        self.made.append(self.source.below(n))
        return int(self.made[-1])


class Replayed:
    """Choices that were written down; 0, the simplest, where there are no more."""

    def __init__(self, made: list[int]) -> None:
        self.made, self.at = made, 0

    def below(self, n: int) -> int:
        self.at += 1
        return min(self.made[self.at - 1], n - 1) if self.at <= len(self.made) else 0


def shrunk(made: list[int], fails: Callable[[list[int]], bool]) -> list[int]:
    """The shortest choices found with which something still fails: blocks are left out, then made 0, then smaller."""
    best = list(made)
    while True:
        before = list(best)
        for size in (64, 16, 8, 4, 2, 1):
            at = len(best)
            while at > 0:
                at -= size
                start = max(at, 0)
                without = best[:start] + best[start + size :]
                zeros = best[:start] + [0] * len(best[start : start + size]) + best[start + size :]
                if fails(without):
                    best = without
                elif zeros != best and fails(zeros):
                    best = zeros
        for i, x in enumerate(best):
            for smaller in (x // 2, x - 1):
                if smaller < best[i] and x > 1:
                    tried = [*best[:i], smaller, *best[i + 1 :]]
                    if fails(tried):
                        best = tried
        if best == before:
            return best
