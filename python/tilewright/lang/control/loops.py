"""Loops that the program runs: the body is traced once, and what it changes goes round as values of the loop."""

from __future__ import annotations

import builtins
import operator
import sys
from typing import TYPE_CHECKING, Any

from tilewright.lang.carry.registry import (
    Mismatch,
    describe,
    is_dynamic,
    leaf_of,
    number_like,
    symbol_of,
)
from tilewright.lang.control.branches import truth, watch_of
from tilewright.lang.control.carried import Carried, stores_of
from tilewright.lang.control.site import Site, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType


__all__ = ["Loop", "PythonWhile", "Range", "While"]

_MOST_TRIPS = 5000  # of a `while` that is unrolled: more is a loop without end, or code that takes minutes to compile


class Range:
    """The integers of a loop, with hints for the compiler: `range(4)`, `cutlass.range(n, unroll=2)`.

    unroll: copies of the body (1: none); unroll_full: one for each trip. The other hints change no result.
    """

    def __init__(
        self,
        start: Any,
        stop: Any = None,
        step: Any = 1,
        *,
        unroll: Any = None,
        unroll_full: Any = None,
        prefetch_stages: Any = None,
        vectorize: Any = None,
    ) -> None:
        self._given = (0, start, step) if stop is None else (start, stop, step)
        self.unroll = -1 if unroll_full else int(unroll or 0)
        for x in self._given:
            if not hasattr(x, "__index__"):
                raise TypeError(f"range: expected integers, but got {describe(x)}")
        self._is_static = not any(map(is_dynamic, self._given))
        if self._is_static or not is_dynamic(step):
            ends = self._given[:2] if self._is_static else (0, 0)
            self._static = builtins.range(*map(int, (*ends, step)))  # ValueError where the step is 0

    @property
    def is_empty(self) -> bool:
        """Whether it is known that there is no trip."""
        return self._is_static and not self._static

    def bounds(self) -> tuple[Any, list[Any]]:
        """A value of the index's type, and the symbols of start, stop and step."""
        like = number_like(0, 0)
        kind = type(like)
        for x in self._given:
            of: Any = type(x)
            if leaf_of(of) is not None and (of.width, of.__name__.startswith("Uint")) > (kind.width, False):
                kind = of
        like = kind(0)
        values = [kind(x) if leaf_of(type(x)) else number_like(operator.index(x), like) for x in self._given]
        return like, [symbol_of(x, like) for x in values]

    def __iter__(self) -> Iterator[int]:
        """Python's own loop, where nothing is traced."""
        if not self._is_static:
            raise TypeError("range: a bound is known only at run time, and nothing is being traced")
        return iter(self._static)


class Loop:
    """`for index in loop`: one trip, traced; `enter` before it and `leave` at its end give variables their values."""

    def __init__(
        self,
        builder: Any,
        over: Range,
        names: tuple[str, ...],
        watched: tuple[str, ...],
        stores: tuple[Any, ...],
        index: str,
        frame: FrameType,
    ) -> None:
        self._builder = builder
        self._depth = builder.depth
        site = Site.of(frame)
        watch = watch_of(frame, watched)
        self._names, self._name = names, index
        carried = Carried(site, names, read(frame, names), watch, stores_of(frame, stores))
        try:
            self._like, self._bounds = over.bounds()
        except Mismatch as error:
            raise TypeError(site.error(f"a bound of the range is {error.first}", error.fix)) from None
        self._unroll = over.unroll
        self._begin(carried)

    def _begin(self, carried: Carried) -> None:
        """Open the block of a trip."""
        self._carried = carried
        builder, bounds = self._builder, self._bounds
        inits = carried.symbols()
        self._operands = (*bounds, *inits)
        parameters = builder.begin_block([bounds[0].type, *(symbol.type for symbol in inits)])
        if self._name:
            builder.name(parameters[0], self._name)
        self._index = leaf_of(type(self._like)).wrap(parameters[0], self._like)  # type: ignore[union-attr]
        self._values = carried.enter(parameters[1:], builder)
        self._step = 0

    def enter(self) -> list[Any]:
        return self._values

    def __iter__(self) -> Loop:
        return self

    def __next__(self) -> Any:
        if self._step == 1:
            self.leave()
        self._step += 1
        if self._step == 1:
            return self._index
        raise StopIteration

    def leave(self) -> list[Any]:
        """End the trip; where it is to be traced again, from weaker values, the values that it begins with."""
        self._step = 2
        values = read(sys._getframe(1), self._names) if self._names else []
        builder = self._builder
        yields = self._carried.returned(values)
        if self._carried.is_too_strong:
            self._begin(self._carried.weakened(builder, self._depth))
            return self._values
        block = builder.end_block(yields)
        results = builder.op("for", self._operands, blocks=(block,), ints=(self._unroll,))
        return self._carried.leave(results or (), builder)


class While:
    """`while loop.begin():` around the test and the body of the user's loop.

    The test is evaluated as it stands first. A result that is Python's decides at trace time, trip by trip. Where it is
    the program's, that evaluation is forgotten, and test and body are traced once each with the variables that go
    round: `dynamic` is true then, and `values` gives the variables' values in front of each.
    """

    def __init__(
        self, builder: Any, names: tuple[str, ...], watched: tuple[str, ...], stores: tuple[Any, ...], frame: FrameType
    ) -> None:
        self.dynamic = False
        self._builder = builder
        self._names, self._watched, self._stores = names, watched, stores
        self._site = Site.of(frame)
        self._depth = builder.depth
        self._is_over = False
        self._trips = 0
        self._carried: Carried

    def begin(self) -> bool:
        """In front of the test; False where the loop is over."""
        builder = self._builder
        if self._is_over:
            return False
        if not self.dynamic:
            frame = sys._getframe(1)
            self._entry = read(frame, self._names)
            self._watch = watch_of(frame, self._watched)
            builder.begin_block(())
            return True
        self._inits = self._carried.symbols()
        self._types = [symbol.type for symbol in self._inits]
        self._values = self._carried.enter(builder.begin_block(self._types), builder)
        return True

    def values(self) -> list[Any]:
        return self._values

    def test(self, value: Any) -> bool:
        """Behind the test; whether the body follows."""
        frame, builder = sys._getframe(1), self._builder
        if self.dynamic:
            yields = [truth(value), *self._carried.returned(read(frame, self._names))]
            if self._carried.is_too_strong:
                self._carried = self._carried.weakened(builder, self._depth)
                return False
            self._before = builder.end_block(yields)
            self._values = self._carried.enter(builder.begin_block(self._types), builder)
            return True
        if is_dynamic(value):
            builder.abandon(self._depth)
            self._watch.restore()
            self.dynamic = True
            stores = stores_of(frame, self._stores)
            self._carried = Carried(self._site, self._names, self._entry, self._watch, stores)
            return False
        builder.inline_block()
        self._is_over = not value
        self._trips += 1
        if self._trips > _MOST_TRIPS:
            text = f"the body of this `while` was traced {_MOST_TRIPS:,} times: its condition is known while tracing"
            fix = "change what the condition looks at, or write `for i in cutlass.range(n)`, whose body is traced once"
            raise TypeError(self._site.error(text, fix))
        return not self._is_over

    def leave(self) -> list[Any]:
        """Behind the body; the values of the variables behind the loop."""
        builder = self._builder
        values = read(sys._getframe(1), self._names)
        yields = self._carried.returned(values)
        if self._carried.is_too_strong:
            self._carried = self._carried.weakened(builder, self._depth)
            return values
        body = builder.end_block(yields)
        results = builder.op("while", self._inits, blocks=(self._before, body))
        self._is_over = True
        return self._carried.leave(results or (), builder)


class PythonWhile:
    """The same where nothing is traced."""

    dynamic = False

    def __init__(self) -> None:
        self._is_over = False

    def begin(self) -> bool:
        return not self._is_over

    def test(self, value: Any) -> bool:
        self._is_over = not value
        return not self._is_over
