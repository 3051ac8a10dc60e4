"""How long a plan is expected to take, in terms that a device bounds: what the cost models of all kernels return.

A multiprocessor does its tiles in waves. What it does for one at the same time takes as long as the longest of it, or
somewhat longer, since it is not always the same; what comes before and behind is added. Beside all waves the memory
moves the operands.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

__all__ = ["BOUNDS", "Cost"]


class Cost(NamedTuple):
    """Seconds; those "of a wave" are spent in each of `waves`. Of many plans at once terms may be arrays.

    >>> cost = Cost(launch=2e-6, waves=2, filled=1.5, multiply=10e-6, l2=2e-6, memory=5e-6)
    >>> round(cost.seconds * 1e6, 3), cost.bound, round(cost.without("last wave") * 1e6, 3)
    (22.0, 'tensor cores', 17.0)
    """

    launch: Any = 0.0
    start: Any = 0.0  # until the first tile is multiplied, and behind the last one: once
    joined: Any = 0.0  # the sums of shares of a tile are left and added up: once
    waves: Any = 1.0  # as long as the multiprocessor that has most tiles takes
    filled: Any = 1.0  # waves, if no multiprocessor were ever without a tile
    multiply: Any = 0.0  # of a wave: the tensor cores' instructions, or those of FMA
    shared: Any = 0.0  # of a wave, meanwhile: shared memory is read
    l2: Any = 0.0  # the same: the L2 gives what the multiprocessor takes in
    streamed: Any = 0.0  # the same: rows come from memory, since few tiles share them
    late: Any = 0.0  # the same: a stage is waited for
    fetched: Any = 0.0  # of a wave, besides: shared memory and L2, where products wait for them
    begun: Any = 0.0  # of a wave, besides: a tile's pipeline fills
    stored: Any = 0.0  # of a wave, besides: sums are stored
    summed: Any = 0.0  # of a wave, besides: the sums of those that share K are added up
    memory: Any = 0.0  # while all waves are done: the memory moves A, B and C
    sharpness: Any = 0.0  # the p of the p-norm of what is done at the same time; 0: the longest alone counts
    hot: Any = 0.0  # meanwhile: the L2 gives the same few lines to all multiprocessors
    traffic: Any = 0.0  # in the end: the L2 is not as fast as it could be for all multiprocessors
    beside: Any = 0.0  # other launches: copies of operands, the rest of C
    by_fma: bool = False  # whether it multiplies without tensor cores

    @property
    def seconds(self) -> Any:
        """The expected time."""
        return self.launch + self._together(self._own(), self.memory, self.hot) + self.traffic + self.beside

    def _together(self, *terms: Any) -> Any:
        """How long these take at the same time."""
        longest, p = _longest(terms), self.sharpness
        if p == 0 or (isinstance(longest, float) and longest == 0):
            return longest
        return longest * sum((term / longest) ** p for term in terms) ** (1 / p)

    def _own(self) -> Any:
        """The time of all waves."""
        step = self._together(self.multiply, self.shared, self.l2, self.streamed, self.late)
        wave = step + self.fetched + self.begun + self.stored + self.summed
        return self.start + self.joined + self.waves * wave

    def without(self, bound: str) -> Any:
        """The seconds that it would take if what a name of BOUNDS stands for, or several with "and", took no time."""
        changes: dict[str, Any] = {}
        for name in bound.split(" and "):
            if name == "last wave":
                changes["waves"] = self.filled
            elif name not in PRODUCTS or name == PRODUCTS[self.by_fma]:
                changes.update(dict.fromkeys(BOUNDS[name], 0.0))
        return self._replace(**changes).seconds

    def times(self, factor: float) -> Cost:
        """The cost of what takes so many times as long behind the launch."""
        terms = ("start", "joined", "waves", "filled", "memory", "hot", "traffic", "beside")
        return self._replace(**{name: getattr(self, name) * factor for name in terms})

    @property
    def bound(self) -> str:
        """The name in BOUNDS of what would save most of the time if it took none.

        Of what takes place at the same time and takes equally long, up to a twentieth, no part alone would save much:
        these are named together.

        >>> Cost(multiply=10e-6, l2=9.9e-6).bound
        'tensor cores and L2'
        """
        return min((*BOUNDS, " and ".join(self._equally_long())), key=self.without)

    def _equally_long(self) -> list[str]:
        """What bounds a step along K; and what takes as long as all steps, of the memory and the L2's few lines."""
        terms = {
            PRODUCTS[self.by_fma]: self.multiply,
            "shared memory": self.shared,
            "L2": self.l2,
            "memory": self.streamed,
            "latency": self.late,
        }
        longest = max(terms.values())
        names = [name for name, seconds in terms.items() if EQUAL * (longest - seconds) <= longest]
        own = self._own()
        for name, beside in (("memory", self.memory), ("L2", self.hot)):
            if name not in names and EQUAL * abs(own - beside) <= max(own, beside):
                names.append(name)
        return names


def _longest(terms: tuple[Any, ...]) -> Any:
    """The longest, of numbers or element by element of arrays, without NumPy, which is not loaded yet."""
    if all(isinstance(term, float) for term in terms):
        return max(terms)
    return functools.reduce(lambda x, y: (x + y + abs(x - y)) / 2, terms)


EQUAL = 20  # what takes less by this part of the time, or not even that, takes as long
PRODUCTS = ("tensor cores", "FMA")  # whose time `multiply` is: without `by_fma`, and with it
# What bounds a plan, and which terms of its cost that is.
BOUNDS: dict[str, tuple[str, ...]] = {
    "tensor cores": ("multiply",),
    "FMA": ("multiply",),
    "shared memory": ("shared", "fetched"),
    "L2": ("l2", "hot", "traffic"),
    "memory": ("streamed", "memory"),
    "latency": ("late", "start", "begun"),
    "launch": ("launch",),
    "stores": ("stored",),
    "sums": ("summed", "joined"),
    "last wave": ("waves",),
    "other launches": ("beside",),
}
