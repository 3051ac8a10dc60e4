"""`if` on a value known only at run time: both branches are traced, one after the other, and their results joined."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tilewright.lang.carry.join import Join
from tilewright.lang.carry.registry import Mismatch, symbol_of
from tilewright.lang.carry.undefined import UNBOUND, Undefined
from tilewright.lang.carry.watch import Watch, join_states
from tilewright.lang.control.site import RESULT, Site, display_name, is_bound, read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

__all__ = ["Branches", "If", "Predicated", "With", "truth", "watch_of"]


_DEEPEST = 100  # branches in one another


def watch_of(frame: FrameType, names: Sequence[str]) -> Watch:
    """The objects that a region may change in place, from the names that it reads."""
    local, outer = frame.f_locals, frame.f_globals
    found = []
    for name in names:
        value = local.get(name, UNBOUND)
        if value is UNBOUND:
            value = outer.get(name, UNBOUND)
        found.append((name, value))
    return Watch(found)


def truth(value: Any) -> Any:
    """The Boolean symbol of a condition, which a number is where it is not zero."""
    symbol = symbol_of(value, value)
    return symbol if symbol.scalar == "Boolean" else symbol_of(value != 0, value)


class Branches:
    """The two blocks of an `if` operation, filled one after the other."""

    def __init__(self, builder: Any, condition: Any, site: Site, watch: Watch) -> None:
        self.builder = builder
        self.condition = condition
        self.site = site
        self.watch = watch
        self._blocks: list[Any] = []
        self._changes: list[Any] = []

    def begin(self) -> None:
        if self.builder.depth > _DEEPEST:
            text = f"{_DEEPEST} branches stand in one another: a recursion ends by a condition known only at run time"
            raise TypeError(self.site.error(text, "while tracing it has no end: write a loop"))
        self.builder.begin_block(())

    def end(self) -> None:
        """Close the block; what the branch changed in place is put back."""
        try:
            self._changes.append(self.watch.restore())
        except Mismatch as error:
            raise TypeError(self._differ(error)) from None
        self._blocks.append(self.builder.end_block(()))

    def swap(self) -> None:
        """Make the block that was filled first the second branch."""
        self._blocks.reverse()
        self._changes.reverse()

    def finish(self, names: Sequence[str], first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
        """The values of the variables behind the `if`, from those that each branch gave them."""
        join = Join()
        plans = []
        try:
            for name, x, y in zip(names, first, second, strict=True):
                undefined = self._undefined(name, x, y)
                plans.append(join.add(x, y, name) if undefined is None else undefined)
            states = join_states(join, self._changes[0], self._changes[1], self._missing)
            yields = join.symbols(0), join.symbols(1)
        except Mismatch as error:
            raise TypeError(self._differ(error)) from None
        builder = self.builder
        for block, symbols in zip(self._blocks, yields, strict=True):
            builder.set_yields(block, symbols)
        results = builder.op("if", (self.condition,), blocks=self._blocks)
        for watched, state in states:
            watched.put({key: part.make(results) for key, part in state.items()})
        values = [plan if plan.__class__ is Undefined else plan.make(results) for plan in plans]
        for name, plan in zip(names, plans, strict=True):
            slot = None if plan.__class__ is Undefined else getattr(plan, "slot", None)
            if slot is not None and name.isidentifier() and name != RESULT:
                builder.name(results[slot], display_name(name))
        return values

    def _undefined(self, name: str, first: Any, second: Any) -> Undefined | None:
        if is_bound(first) and is_bound(second):
            return None
        if not is_bound(first) and not is_bound(second):
            found = first if first.__class__ is Undefined else second
            return found if found.__class__ is Undefined else Undefined(f"{name} has no value here: it is not assigned")
        return Undefined(self._missing(display_name(name)))

    def _missing(self, name: str) -> str:
        return self.site.error(
            f"{name} has no value behind this `if`, which is decided at run time, for only one branch assigns it",
            f"assign {name} before the `if`, or in both branches",
        )

    def _differ(self, error: Mismatch) -> str:
        name = display_name(error.path)
        return self.site.error(
            f"the condition is known only at run time, and {name} is {error.first} in one branch and {error.second} in "
            "the other",
            error.fix or f"give {name} one type and structure in both, for example by a conversion",
        )


class If:
    """`for branch in If(..)`: the statement's body runs for each branch; `leave` ends one.

    Yields 3 for the first branch and 2 for the second: bit 0 chooses, bit 1 says that there are two.
    """

    def __init__(
        self,
        builder: Any,
        condition: Any,
        names: tuple[str, ...],
        kept: tuple[str, ...],
        watched: tuple[str, ...],
        frame: FrameType,
    ) -> None:
        self._branches = Branches(builder, condition, Site.of(frame), watch_of(frame, watched))
        self._names = names
        self._all = names + kept
        self._entry = read(frame, self._all)
        self._first: list[Any] = []
        self._step = 0
        self._open = False

    def __iter__(self) -> If:
        return self

    def __next__(self) -> int:
        if self._open:
            self.leave()
        self._step += 1
        if self._step == 3:
            raise StopIteration
        self._branches.begin()
        self._open = True
        return 4 - self._step

    def leave(self) -> list[Any]:
        """End a branch; the values that the variables have from here on."""
        self._open = False
        values = read(sys._getframe(1), self._names) if self._names else []
        self._branches.end()
        if self._step == 1:
            self._first = values
            return [self._before_second(name, value) for name, value in zip(self._all, self._entry, strict=True)]
        joined = self._branches.finish(self._names, self._first, values)
        return joined + self._entry[len(joined) :]

    def _before_second(self, name: str, value: Any) -> Any:
        if value is not UNBOUND:
            return value
        text = f"{display_name(name)} has no value in this branch: it is assigned in the other one"
        return Undefined(self._branches.site.error(text, "assign it before the `if`"))


class Predicated:
    """A context manager whose body runs where a condition holds: `with cute.arch.elect_one():`.

    `condition()` gives the condition, when the `with` begins.
    """

    def __init__(self, condition: Any) -> None:
        self.condition = condition

    def __enter__(self) -> None:
        raise TypeError(
            "the body of this `with` runs where a condition holds that is known only at run time: it has to stand in a "
            "function decorated with @cute.jit or @cute.kernel, whose source Python can find"
        )

    def __exit__(self, *error: object) -> None:
        pass

    def __bool__(self) -> bool:
        raise TypeError("this is the condition of a `with`, and no truth value: write `with cute.arch.elect_one():`")


class With:
    """`with predicated:` as an `if` without another branch; `leave` gives the values of the variables behind it."""

    def __init__(
        self, builder: Any, condition: Any, names: tuple[str, ...], watched: tuple[str, ...], frame: FrameType
    ) -> None:
        self._branches = Branches(builder, condition, Site.of(frame), watch_of(frame, watched))
        self._names = names
        self._entry = read(frame, names)

    def __enter__(self) -> None:
        self._branches.begin()

    def __exit__(self, *error: object) -> None:
        pass

    def leave(self) -> list[Any]:
        values = read(sys._getframe(1), self._names)
        branches = self._branches
        branches.end()
        branches.begin()
        branches.end()
        return branches.finish(self._names, values, self._entry)
