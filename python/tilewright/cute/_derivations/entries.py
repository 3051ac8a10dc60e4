"""Layouts with basis strides, entry by entry of their coordinates: in each they are layouts of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.cute._derivations.values import Basis, cosize, flat_modes, join, layout, leaves, times

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.cute._derivations.notes import Notes


def has_basis(a: Any) -> bool:
    return any(isinstance(d, Basis) for d in leaves(a[1]))


def paths(a: Any) -> set[tuple[int, ...]]:
    """The entries of the coordinates that the modes move, the outermost mode first."""
    return {tuple(reversed(d.mode)) for d in leaves(a[1]) if isinstance(d, Basis)}


def count(a: Any, at: tuple[int, ...]) -> int:
    """How many entries the modes need inside of one entry; 0 where it is a number."""
    return max((path[len(at)] + 1 for path in paths(a) if path[: len(at)] == at and path != at), default=0)


def part(a: Any, at: tuple[int, ...]) -> Any:
    """The layout in one entry, of integers; 1:0 where no mode moves it."""
    if at not in paths(a):
        return 1, 0
    mode = tuple(reversed(at))
    return join([(s, d.value if isinstance(d, Basis) and d.mode == mode else 0) for s, d in flat_modes(a)])


def heading(at: tuple[int, ...], a: Any) -> str:
    return f"entry {''.join(f'@{i}' for i in reversed(at))}: {layout(a)}"


def by_entry(notes: Notes, a: Any, f: Callable[[Notes, Any], Any], at: tuple[int, ...] = ()) -> Any:
    """f of the layout in each entry, in the profile of the coordinates."""
    if n := count(a, at):
        return join([by_entry(notes, a, f, (*at, i)) for i in range(n)])
    inside = part(a, at)
    notes.say(heading(at, inside))
    with notes:
        return f(notes, inside)


def coshape(a: Any, at: tuple[int, ...] = ()) -> Any:
    """One more than the largest number in each entry."""
    if n := count(a, at):
        return tuple(coshape(a, (*at, i)) for i in range(n))
    return cosize(part(a, at)) if has_basis(a) else cosize(a)


def with_room(sizes: Any, copies: Any) -> Any:
    """The entries with room for copies in each."""
    return tuple(with_room(x, copies) for x in sizes) if isinstance(sizes, tuple) else times(sizes, copies)
