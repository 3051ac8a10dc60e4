"""What goes round a loop: variables that its body assigns, and objects that it changes in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.lang.carry.registry import Mismatch, describe, is_dynamic, leaf_of, parts_of, symbol_of
from tilewright.lang.carry.rounds import Round
from tilewright.lang.carry.undefined import UNBOUND, Undefined
from tilewright.lang.control.site import display_name, is_bound, read_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from tilewright.lang.carry.watch import Watch, Watched
    from tilewright.lang.control.site import Site

__all__ = ["Carried", "stores_of"]


class Carried:
    """What goes round a loop: variables that its body assigns, and objects that it changes in place."""

    def __init__(
        self,
        site: Site,
        names: Sequence[str],
        values: Sequence[Any],
        watch: Watch,
        stores: Sequence[tuple[Any, str | None]],
        entries: Sequence[Any] = (),
        objects: Sequence[Any] | None = None,
    ) -> None:
        """`entries`: what goes round has these values when the loop begins, and not those that it is found with.

        `objects`: those of the watched ones that go round whole, by default all whose values are known here.
        """
        self.site = site
        self.names = names
        self._is_bound = [is_bound(value) for value in values]
        self._values = values
        self._watch = watch
        self._stores = stores
        self._round = Round()
        self._entries = iter(entries)
        self._more: list[tuple[Any, str | None]] = []  # objects that functions called here change by their methods
        self._now: list[Any] = []
        self._paths: list[str] = []
        self._cells: list[tuple[Watched, Any]] = []  # a part of an object that goes round
        self._whole: list[tuple[Watched, int]] = []  # an object whose kind says what goes round
        self._new: list[tuple[Watched, Any]] = []
        try:
            for name, value, bound in zip(names, values, self._is_bound, strict=True):
                if bound:
                    self._add(value, name)
            for watched in watch.objects:
                if watched.how.is_carried and (objects is None or any(watched.value is one for one in objects)):
                    self._add_object(watched, is_known=objects is not None)
            for base, attribute in stores:
                self._add_store(base, attribute)
        except Mismatch as error:
            raise TypeError(self._changed(error)) from None

    def _add(self, value: Any, path: str) -> None:
        self._round.add(next(self._entries, value), path)
        self._paths.append(path)

    def _add_object(self, watched: Watched, is_known: bool) -> None:
        parts = parts_of(type(watched.value))
        assert parts is not None
        inside = parts.split(watched.value)[1]
        if not is_known and not _is_of_this_function(inside):
            return
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
            self._require_unchanged(dict(zip(self.names, values, strict=True)))
            for watched, key in self._cells:
                state = watched.now()
                if key not in state:
                    raise Mismatch(watched.name(key), describe(watched.state[key]), "missing")
                now.append(state[key])
            self._now = now
            return self._round.returned(now)
        except Mismatch as error:
            raise TypeError(self._changed(error)) from None

    @property
    def is_too_strong(self) -> bool:
        """Whether something else has to go round, or less known than when the loop begins: see `weakened`."""
        return self._round.is_too_strong or bool(self._more)

    def weakened(self, builder: Any, depth: int) -> Carried:
        """What goes round the loop instead, as the last trip has ended; its blocks are forgotten."""
        builder.abandon(depth)
        self._watch.restore()
        entries = self._round.weakened(self._now)
        objects = [watched.value for watched, _ in self._whole]
        stores = [*self._stores, *self._more]
        return Carried(self.site, self.names, self._values, self._watch, stores, entries, objects)

    def _require_unchanged(self, variables: dict[str, Any]) -> None:
        carried = {(id(watched.value), key) for watched, key in self._cells}
        whole = {id(watched.value) for watched, _ in self._whole}
        for watched, now in self._watch.changes():
            if id(watched.value) in whole or watched.is_one_of(variables):
                continue
            if len(now) != len(watched.state) and watched.how.part == "[{!r}]":
                fix = "that happens once, while the loop is traced: use cutlass.range_constexpr, or a tensor"
                raise Mismatch(watched.path, f"{len(watched.state)} elements", f"{len(now)} elements", fix)
            parts = parts_of(type(watched.value))
            for key, value in watched.state.items():
                if (id(watched.value), key) in carried or now.get(key, UNBOUND) is value:
                    continue
                if parts is not None and parts.if_called:
                    self._more.append((watched.value, None))
                    break
                new = describe(now[key]) if key in now else "missing"
                fix = (
                    "that happens once, while the loop is traced, in a function that it calls or under another name: "
                    "assign it by its name in the loop, or give its class __extract_mlir_values__ and "
                    "__new_from_mlir_values__"
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
            or "a variable keeps its type and structure in a loop: begin with that type, or convert at the end",
        )


def _is_of_this_function(values: Sequence[Any]) -> bool:
    """Whether the program's values are known here; those of the host function are not in a kernel."""
    found = Round()
    for value in values:
        found.add(value, "")
    return all(symbol_of(like, like).is_visible for like in found.likes if is_dynamic(like))


def stores_of(frame: FrameType, stores: Sequence[Any]) -> list[tuple[Any, str | None]]:
    """The objects of which a loop assigns a part, and which: an attribute, or None for any element.

    () stands for a method that the loop calls.
    """
    found: list[tuple[Any, str | None]] = []
    for path, part in stores:
        base = read_path(frame, path)
        if part == ():
            parts = parts_of(type(base))
            if parts is not None and parts.if_called:
                found.append((base, None))
        else:
            found.append((base, part))
    return found
