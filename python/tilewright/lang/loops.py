"""Loops that the program runs: the body is traced once, and what it changes goes round as values of the loop."""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any

from tilewright.lang.branches import display_name, truth, watch_of
from tilewright.lang.carry import Mismatch, Round, describe, is_dynamic, leaf_of, number_like, parts_of, symbol_of
from tilewright.lang.site import Site, is_bound, read, read_path
from tilewright.lang.undefined import UNBOUND, Undefined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from tilewright.lang.watch import Watch, Watched

__all__ = ["Loop", "PythonWhile", "Range", "While"]


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
        **hints: Any,
    ) -> None:
        self.start, self.stop, self.step = (0, start, step) if stop is None else (start, stop, step)
        self.unroll = -1 if unroll_full else int(unroll or 0)
        self._is_static = not (is_dynamic(self.start) or is_dynamic(self.stop) or is_dynamic(self.step))
        if self._is_static:
            self.static = builtins.range(*map(int, (self.start, self.stop, self.step)))

    @property
    def is_empty(self) -> bool:
        """Whether it is known that there is no trip."""
        return self._is_static and not self.static

    def bounds(self) -> tuple[Any, list[Any]]:
        """A value of the index's type, and the symbols of start, stop and step."""
        given = [x for x in (self.start, self.stop, self.step) if leaf_of(type(x)) is not None]
        kind: Any = type(number_like(0, 0))
        for x in given:
            if type(x).width > kind.width or (kind.width == type(x).width and type(x).__name__.startswith("Uint")):
                kind = type(x)
        like = kind(0)
        values = [
            kind(x) if leaf_of(type(x)) else number_like(int(x), like) for x in (self.start, self.stop, self.step)
        ]
        return like, [symbol_of(x, like) for x in values]

    def __iter__(self) -> Iterator[int]:
        """Python's own loop, where nothing is traced."""
        if not self._is_static:
            raise TypeError("range: a bound is known only at run time, and nothing is being traced")
        return iter(self.static)


class Carried:
    """What goes round a loop: variables that its body assigns, and objects that it changes in place."""

    def __init__(
        self,
        site: Site,
        names: Sequence[str],
        values: Sequence[Any],
        watch: Watch,
        stores: Sequence[tuple[Any, str | None]],
    ) -> None:
        self.site = site
        self.names = names
        self._is_bound = [is_bound(value) for value in values]
        self._values = values
        self._watch = watch
        self._round = Round()
        self._paths: list[str] = []
        self._cells: list[tuple[Watched, Any]] = []  # a part of an object that goes round
        self._whole: list[tuple[Watched, int]] = []  # an object whose kind says what goes round
        self._new: list[tuple[Watched, Any]] = []
        try:
            for name, value, bound in zip(names, values, self._is_bound, strict=True):
                if bound:
                    self._add(value, name)
            for watched in watch.objects:
                if watched.how.is_carried:
                    self._add_object(watched)
            for base, attribute in stores:
                self._add_store(base, attribute)
        except Mismatch as error:
            raise TypeError(self._changed(error)) from None

    def _add(self, value: Any, path: str) -> None:
        self._round.add(value, path)
        self._paths.append(path)

    def _add_object(self, watched: Watched) -> None:
        parts = parts_of(type(watched.value))
        assert parts is not None
        inside = parts.split(watched.value)[1]
        for i, part in enumerate(inside):
            self._add(part, f"{watched.path}[{i}]")
        self._whole.append((watched, len(inside)))

    def _add_store(self, base: Any, attribute: str | None) -> None:
        watched = self._watch.find(base)
        if watched is None or watched.how.is_carried:
            return
        for key in watched.state if attribute is None else [attribute]:
            if key in watched.state and (watched, key) not in self._cells:
                self._add(watched.state[key], watched.name(key))
                self._cells.append((watched, key))

    def symbols(self) -> list[Any]:
        """The values when the loop begins."""
        try:
            return self._round.symbols()
        except Mismatch as error:
            raise TypeError(self._changed(error)) from None

    def put(self, symbols: Sequence[Any], builder: Any) -> list[Any]:
        """Give objects, and the variables that have a value, these symbols; the variables' values."""
        values = iter(self._round.values(symbols))
        found = [next(values) if bound else None for bound in self._is_bound]
        for watched, count in self._whole:
            parts = parts_of(type(watched.value))
            assert parts is not None
            assert parts.assign is not None
            parts.assign(watched.value, [next(values) for _ in range(count)])
        states: dict[int, tuple[Watched, dict[Any, Any]]] = {}
        for watched, key in self._cells:
            states.setdefault(id(watched.value), (watched, watched.now()))[1][key] = next(values)
        for watched, state in states.values():
            watched.put(state)
        for name, value in zip(self.names, found, strict=True):
            leaf = leaf_of(type(value))
            if leaf is not None and leaf.is_dynamic(value):
                builder.name(leaf.symbol_of(value), display_name(name))
        return found

    def enter(self, symbols: Sequence[Any], builder: Any) -> list[Any]:
        """The values of the variables when a trip begins."""
        values = self.put(symbols, builder)
        self._watch.again()
        return [
            value if bound else self._unbound_inside(name, old)
            for name, value, bound, old in zip(self.names, values, self._is_bound, self._values, strict=True)
        ]

    def returned(self, values: Sequence[Any]) -> list[Any]:
        """The symbols of everything that goes round, when a trip ends."""
        now = [value for value, bound in zip(values, self._is_bound, strict=True) if bound]
        try:
            for name, value, bound in zip(self.names, values, self._is_bound, strict=True):
                if bound and not is_bound(value):
                    raise Mismatch(name, "assigned before the loop", "without a value at the end of a trip")
            for watched, count in self._whole:
                parts = parts_of(type(watched.value))
                assert parts is not None
                inside = parts.split(watched.value)[1]
                if len(inside) != count:
                    raise Mismatch(watched.path, f"{count} values", f"{len(inside)} values")
                now.extend(inside)
            self._require_unchanged()
            for watched, key in self._cells:
                state = watched.now()
                if key not in state:
                    raise Mismatch(watched.name(key), describe(watched.state[key]), "missing")
                now.append(state[key])
            return self._round.returned(now)
        except Mismatch as error:
            raise TypeError(self._changed(error)) from None

    def _require_unchanged(self) -> None:
        carried = {(id(watched.value), key) for watched, key in self._cells}
        for watched, now in self._watch.changes():
            if watched.how.is_carried:
                continue
            if len(now) != len(watched.state) and watched.how.part == "[{!r}]" and not isinstance(watched.value, dict):
                fix = (
                    "that happens once, while the loop is traced: use cutlass.range_constexpr, or a tensor in registers"
                )
                raise Mismatch(watched.path, f"{len(watched.state)} elements", f"{len(now)} elements", fix)
            for key, value in watched.state.items():
                if (id(watched.value), key) in carried or now.get(key, UNBOUND) is value:
                    continue
                new = describe(now[key]) if key in now else "missing"
                fix = (
                    "a function that the loop calls changes it, once, while the loop is traced: assign it in the loop "
                    "itself, or give its class __extract_mlir_values__ and __new_from_mlir_values__"
                )
                raise Mismatch(watched.name(key), describe(value), new, fix)
            self._new.extend((watched, key) for key in now if key not in watched.state)

    def leave(self, symbols: Sequence[Any], builder: Any) -> list[Any]:
        """The values of the variables behind the loop."""
        values = self.put(symbols, builder)
        for watched, key in self._new:
            watched.put({**watched.now(), key: Undefined(self._unbound_text(watched.name(key)))})
        return [
            value if bound else Undefined(self._unbound_text(name))
            for name, value, bound in zip(self.names, values, self._is_bound, strict=True)
        ]

    def _unbound_inside(self, name: str, old: Any) -> Any:
        if old.__class__ is Undefined:
            return old
        return Undefined(
            self.site.error(
                f"{display_name(name)} has no value in the first trip: the loop assigns it behind this use",
                "assign it before the loop",
            )
        )

    def _unbound_text(self, name: str) -> str:
        return self.site.error(
            f"{display_name(name)} has no value behind this loop, which may make no trip at run time",
            "assign it before the loop, with the type that it has inside",
        )

    def _changed(self, error: Mismatch) -> str:
        name = display_name(error.path)
        return self.site.error(
            f"the loop runs at run time and changes {name} from {error.first} to {error.second}",
            error.fix
            or "a variable keeps its type and structure round a loop: begin with that type, or convert at the end",
        )


class Loop:
    """`for index in loop`: one trip, traced; `enter` before it and `leave` at its end give the variables their values."""

    def __init__(
        self,
        builder: Any,
        over: Range,
        names: tuple[str, ...],
        watched: tuple[str, ...],
        stores: tuple[str, ...],
        index: str,
        frame: FrameType,
    ) -> None:
        self._builder = builder
        self._site = site = Site.of(frame)
        watch = watch_of(frame, watched)
        self._names = names
        self._carried = Carried(site, names, read(frame, names), watch, stores_of(frame, stores))
        try:
            self._like, bounds = over.bounds()
        except Mismatch as error:
            raise TypeError(site.error(f"a bound of the range is {error.first}", error.fix)) from None
        inits = self._carried.symbols()
        self._operands = (*bounds, *inits)
        self._unroll = over.unroll
        self._depth = builder.depth
        parameters = builder.begin_block([bounds[0].type, *(symbol.type for symbol in inits)])
        if index:
            builder.name(parameters[0], index)
        self._index = leaf_of(type(self._like)).wrap(parameters[0], self._like)  # type: ignore[union-attr]
        self._values = self._carried.enter(parameters[1:], builder)
        self._step = 0

    def enter(self) -> list[Any]:
        return self._values

    def __iter__(self) -> Loop:
        return self

    def __next__(self) -> Any:
        self._step += 1
        if self._step == 1:
            return self._index
        if self._step == 2:
            self.leave()
        raise StopIteration

    def leave(self) -> list[Any]:
        """End the trip."""
        self._step = 2
        values = read(sys._getframe(1), self._names) if self._names else []
        builder = self._builder
        yields = self._carried.returned(values)
        builder.abandon(self._depth + 1)  # what an error left open that was caught inside
        block = builder.end_block(yields)
        results = builder.op("for", self._operands, blocks=(block,), ints=(self._unroll,))
        return self._carried.leave(results or (), builder)


def stores_of(frame: FrameType, stores: Sequence[str]) -> list[tuple[Any, str | None]]:
    """The objects of which a loop assigns a part: `ns.count` or `values[]`."""
    found: list[tuple[Any, str | None]] = []
    for path in stores:
        if path.endswith("[]"):
            found.append((read_path(frame, path[:-2]), None))
        else:
            base, _, attribute = path.rpartition(".")
            found.append((read_path(frame, base), attribute))
    return found


class While:
    """`while loop.begin():` around the test and the body of the user's loop.

    The test is evaluated as it stands first. A result that is Python's decides at trace time, trip by trip. Where it is
    the program's, that evaluation is forgotten, and test and body are traced once each with the variables that go round:
    `dynamic` is true then, and `values` gives the variables' values in front of each.
    """

    def __init__(
        self, builder: Any, names: tuple[str, ...], watched: tuple[str, ...], stores: tuple[str, ...], frame: FrameType
    ) -> None:
        self.dynamic = False
        self._builder = builder
        self._names, self._watched, self._stores = names, watched, stores
        self._site = Site.of(frame)
        self._depth = builder.depth
        self._is_over = False

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
            yields = [truth(builder, value), *self._carried.returned(read(frame, self._names))]
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
        return not self._is_over

    def leave(self) -> list[Any]:
        """Behind the body; the values of the variables behind the loop."""
        builder = self._builder
        yields = self._carried.returned(read(sys._getframe(1), self._names))
        builder.abandon(self._depth + 1)  # what an error left open that was caught inside
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
