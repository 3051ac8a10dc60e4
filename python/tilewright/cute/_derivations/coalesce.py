"""Coalesce: neighbouring modes that are one."""

from __future__ import annotations

from typing import Any

from tilewright.cute._derivations.notes import Notes, by_mode
from tilewright.cute._derivations.operands import as_pair, as_tuple
from tilewright.cute._derivations.values import Basis, flat_modes, is_, join, known, layout, same, times, unwrapped


def merge(notes: Notes, modes: list[Any]) -> Any:
    """The modes, from the right: s0:d0 and s1:d1 are one where s0*d0 = d1, and a mode of shape 1 is dropped."""
    done = [modes[-1]]
    for s, d in reversed(modes[:-1]):
        s1, d1 = done[0]
        here, both = layout((s, d)), f"{layout((s, d))} and {layout((s1, d1))}"
        if is_(s, 1):
            notes.say(f"{here} has shape 1: dropped")
        elif is_(s1, 1):
            notes.say(f"{layout(done[0])} has shape 1: dropped")
            done[0] = s, d
        elif known(s1) and same(times(s, d), d1):
            done[0] = times(s, s1), d
            notes.say(f"{both}: {s}*{d} = {d1}, merged: {layout(done[0])}")
        else:
            done.insert(0, (s, d))
            if known(s, s1) and all(known(x.value if isinstance(x, Basis) else x) for x in (d, d1)):
                notes.say(f"{both}: {s}*{d} = {times(s, d)}, not {d1}: kept apart")
            else:
                notes.say(f"{both}: {s}*{d} = {d1} is not known to hold: kept apart")
    return (1, 0) if len(done) == 1 and is_(done[0][0], 1) else unwrapped(done)


def coalesce(notes: Notes, a: Any, profile: Any = None) -> Any:
    if isinstance(profile, tuple):
        return by_mode(notes, a, profile, lambda mode, _: layout(mode), coalesce, keep=True)
    flat = flat_modes(a)
    if not flat:
        return 1, 0
    if isinstance(a[0], tuple) and any(isinstance(mode, tuple) for mode in a[0]):
        notes.say(f"flattened: {layout(join(flat))}")
    if len(flat) > 1:
        notes.say("from the right: s0:d0 and s1:d1 are one mode s0*s1:d0 if s0*d0 = d1; a mode of shape 1 is dropped")
    return merge(notes, flat)


def coalesced(a: Any) -> Any:
    return coalesce(Notes(), a)


def derive_coalesce(notes: Notes, a: Any, target_profile: Any = None) -> str:
    return layout(coalesce(notes, as_pair(a), None if target_profile is None else as_tuple(target_profile)))
