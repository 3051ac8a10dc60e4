"""Layouts with basis strides, entry by entry of their coordinates: in each they are layouts of integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.cute._derivations.values import Basis, cosize, flat_modes, join, layout, leaves, times

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.cute._derivations.notes import Notes


def has_basis(a: Any) -> bool:
    return any(isinstance(d, Basis) for d in leaves(a[1]))


def paths(a: Any) -> list[tuple[int, ...]]:
    """The entry of the coordinates that each mode with a basis stride moves, the outermost mode first."""
    return [tuple(reversed(d.mode)) for d in leaves(a[1]) if isinstance(d, Basis)]


def count(a: Any, at: tuple[int, ...]) -> int:
    """How many entries the modes need inside of one entry; 0 where it is a number."""
    depth = len(at)
    return max([0, *[path[depth] + 1 for path in paths(a) if len(path) > depth and path[:depth] == at]])


def part(a: Any, at: tuple[int, ...]) -> Any:
    """The layout in one entry, of integers; 1:0 where no mode moves it."""
    if not any(path == at for path in paths(a)):
        return 1, 0
    modes = []
    for s, d in flat_modes(a):
        inside = isinstance(d, Basis) and tuple(reversed(d.mode)) == at
        modes.append((s, d.value if inside else 0))
    return join(modes)


def heading(at: tuple[int, ...], a: Any) -> str:
    return f"entry {''.join(f'@{i}' for i in reversed(at))}: {layout(a)}"


def by_entry(notes: Notes, a: Any, f: Callable[[Notes, Any], Any], at: tuple[int, ...] = ()) -> Any:
    """f of the layout in each entry, in the profile of the coordinates."""
    n = count(a, at)
    if n:
        return join([by_entry(notes, a, f, (*at, i)) for i in range(n)])
    inside = part(a, at)
    notes.say(heading(at, inside))
    with notes:
        return f(notes, inside)


def coshape(a: Any, at: tuple[int, ...] = ()) -> Any:
    """One more than the largest number in each entry."""
    n = count(a, at)
    if n:
        return tuple(coshape(a, (*at, i)) for i in range(n))
    return cosize(part(a, at)) if has_basis(a) else cosize(a)


def with_room(sizes: Any, copies: Any) -> Any:
    """The entries with room for copies in each."""
    return tuple(with_room(x, copies) for x in sizes) if isinstance(sizes, tuple) else times(sizes, copies)
