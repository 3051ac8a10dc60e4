"""Composition: every mode of B walks through the modes of A."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.cute._derivations.coalesce import merge
from tilewright.cute._derivations.notes import Broken, Notes, by_mode
from tilewright.cute._derivations.operands import as_pair, as_right_operand, as_tuple
from tilewright.cute._derivations.values import (
    Basis,
    ceil_div,
    combine,
    flat_modes,
    is_,
    join,
    known,
    layout,
    leaves,
    magnitude,
    mode_name,
    modes_of,
    over,
    text,
    tiler_text,
    times,
    unwrapped,
    value_of,
)


def profile_of(strides: list[Any]) -> Any:
    """The profile whose modes the basis strides select; 0 where there are none."""
    paths = [tuple(reversed(d.mode)) for d in strides if isinstance(d, Basis)]

    def nested(paths: list[tuple[int, ...]]) -> Any:
        paths = [path for path in paths if path]
        if not paths:
            return 0
        count = max(path[0] for path in paths) + 1
        return tuple(nested([path[1:] for path in paths if path[0] == i]) for i in range(count))

    return nested(paths)


def endless(a: Any, profile: Any) -> Any:
    """What composition makes of its left layout: coalesced, but the last mode, even of shape 1, goes on for ever."""
    if isinstance(profile, tuple):
        modes = modes_of(a)
        return join([*(endless(m, p) for m, p in zip(modes, profile, strict=False)), *modes[len(profile) :]])
    flat = flat_modes(a)
    if flat and is_(flat[-1][0], 1):
        flat[-1] = 2, flat[-1][1]
    return merge(Notes(), flat) if flat else (1, 0)


class Reach:
    """How far the modes of the right layout reach, together, into each mode of A but the last."""

    def __init__(self) -> None:
        self._modes: dict[tuple[tuple[int, ...], int], tuple[Any, list[int]]] = {}

    def add(self, axis: tuple[int, ...], index: int, mode: Any, count: Any, step: Any) -> None:
        self._modes.setdefault((axis, index), (mode, []))[1].append((value_of(count) - 1) * value_of(step))

    def check(self, notes: Notes) -> None:
        for mode, parts in self._modes.values():
            total, last = sum(parts), value_of(mode[0]) - 1
            if total > last:
                sums = " + ".join(map(str, parts))
                notes.broken(
                    f"in {layout(mode)} the modes of B reach {sums} = {total} together, beyond its last index {last}: "
                    "they carry into the next mode"
                )


def step_into(notes: Notes, s: Any, d: Any, mode: Any) -> tuple[Any, Any, Any]:
    """s:d at one mode of A but the last: the piece that stays in it, or None, and the s:d that goes on."""
    s0, d0 = mode
    size = magnitude(d)
    here = f"{layout((s, d))} in {layout(mode)}"
    if known(d, s0) and not is_(s, 1) and size > s0 and size % s0:
        raise Broken(f"{here}: {size} does not divide {s0}, nor {s0} {size}: stride divisibility is broken")
    room = ceil_div(s0, size)
    onward = times(ceil_div(size, s0), -1 if value_of(d) < 0 else 1)
    if is_(s, 1):
        return None, s, onward
    if is_(room, 1):
        notes.say(f"{here}: {s0} divides {size}, the index into it stays 0: go on with {layout((s, onward))}")
        return None, s, onward
    part = combine(min, room, s)
    even = value_of(s0) % value_of(size) == 0
    q = f"q = {s0}/{size} = {room}" if even else f"q = ceil({s0}/{size}) = {room}"
    if known(s, part) and s % part:
        raise Broken(f"{here}: {q}, but {part} does not divide {s}: shape divisibility is broken")
    piece, rest = (part, times(d, d0)), over(s, part)
    take = f"take {layout(piece)} (stride {d}*{text(d0)})"
    left = f"go on with {layout((rest, onward))}"
    if is_(rest, 1):
        notes.say(f"{here}: {q} steps fit, {s} are wanted: {take}")
    elif even or value_of(s) <= value_of(room):
        notes.say(f"{here}: {f'{size} divides {s0}, ' if even else ''}{q}: {take}, {left}")
    else:
        index = value_of(size) * value_of(room)
        past = index % value_of(s0)
        notes.broken(f"{here}: {size} does not divide {s0}, {room} steps end at index {index}, {past} past a multiple")
        notes.say(f"CuTe goes on all the same: {take}, {left}")
    return piece, rest, onward


def compose_leaf(notes: Notes, a: Any, s: Any, d: Any, reach: Reach, axis: tuple[int, ...] = ()) -> Any:
    """A o s:d for one mode s:d of B, where A is coalesced."""
    whole = layout((s, d))
    if isinstance(d, Basis):
        axis = tuple(reversed(d.mode))
        for i in axis:
            a = modes_of(a)[i]
        if axis:
            notes.say(f"{whole}: steps of {d.value} along {mode_name(axis)} of A, {layout(a)}")
        return compose_leaf(notes, a, s, d.value, reach, axis)
    if is_(d, 0):
        notes.say(f"{whole} reads A(0) only: {whole}")
        return s, d
    if not isinstance(a[0], tuple):
        result = s, times(d, a[1])
        notes.say(f"{whole} in the single mode {layout(a)}: stride {d}*{text(a[1])}, so {layout(result)}")
        return result
    taken = []
    *modes, last = modes_of(a)
    for index, mode in enumerate(modes):
        step = magnitude(d)
        piece, s, d = step_into(notes, s, d, mode)
        if piece is not None:
            reach.add(axis, index, mode, piece[0], step)
            taken.append(piece)
    if not taken or not is_(s, 1):
        piece = s, times(d, last[1])
        take = f"take {layout(piece)} (stride {d}*{text(last[1])})"
        notes.say(f"{layout((s, d))} in {layout(last)}, the last mode: {take}")
        taken.append(piece)
    result = unwrapped(taken)
    if len(taken) > 1:
        notes.say(f"{whole} becomes {layout(result)}")
    return result


def compose(notes: Notes, a: Any, b: Any) -> Any:
    """R with R(i) = A(B(i)): every mode of B is composed with the whole of A."""
    outer = endless(a, profile_of(leaves(b[1])))
    if outer != a:
        notes.say(f"A = {layout(a)} as a function: {layout(outer)}, where the last mode has no end")
    reach = Reach()

    def nested(b: Any, path: tuple[int, ...]) -> Any:
        if isinstance(b[0], tuple):
            return join([nested(mode, (*path, i)) for i, mode in enumerate(modes_of(b))])
        if not path:
            return compose_leaf(notes, outer, b[0], b[1], reach)
        notes.say(f"{mode_name(path)} of B, {layout(b)}")
        with notes:
            return compose_leaf(notes, outer, b[0], b[1], reach)

    result = nested(b, ())
    reach.check(notes)
    return result


def compose_tiler(notes: Notes, a: Any, tiler: Any) -> Any:
    if isinstance(tiler, list):
        heading = "{} o {}".format
        return by_mode(notes, a, tiler, lambda m, t: heading(layout(m), tiler_text(t)), compose_tiler, keep=False)
    return a if tiler is None else compose(notes, a, tiler)


def derive_composition(notes: Notes, a: Any, b: Any) -> str:
    tiler = as_right_operand(b)
    if not isinstance(a, _core.ComposedLayout):
        return layout(compose_tiler(notes, as_pair(a), tiler))
    outer = as_pair(a.outer)
    head = f"{a.inner} o {text(as_tuple(a.offset))} o "
    notes.say(f"A = {head}{layout(outer)}: only the layout on the right is composed with B")
    return head + layout(compose_tiler(notes, outer, tiler))
