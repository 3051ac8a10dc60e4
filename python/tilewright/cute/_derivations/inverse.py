"""Inverses: the modes in the order of their strides, read backwards."""

from __future__ import annotations

from typing import Any

from tilewright.cute._derivations.coalesce import coalesced
from tilewright.cute._derivations.entries import by_entry, has_basis
from tilewright.cute._derivations.notes import Broken, Notes
from tilewright.cute._derivations.operands import as_pair
from tilewright.cute._derivations.values import flat_modes, join, known, layout, over, same, times, value_of


def by_stride(notes: Notes, a: Any, mirrored: bool) -> list[tuple[Any, Any, Any]]:
    """The modes of coalesce(A) whose stride is static, the least first: shape, stride, index of the step by the stride.

    Mirrored, a negative stride is its magnitude, and its steps go backwards. Equal strides are where exchanges of
    neighbours in the wrong order leave them.
    """
    simple = coalesced(a)
    if simple != a:
        notes.say(f"coalesced: {layout(simple)}")
    modes = []
    index: Any = 1
    for s, d in flat_modes(simple):
        if known(d):
            modes.append((s, -d, times(-1, index)) if mirrored and d < 0 else (s, d, index))
        index = times(index, s)
    for i in range(len(modes)):
        for j, later in enumerate(modes):
            if j > i and later[1] < modes[i][1]:
                modes[j] = modes[i]
                modes[i] = later
    listed = ", ".join(f"{layout((s, d))} ({index})" for s, d, index in modes)
    notes.say(f"the modes by stride, each with the index of its coordinate 1: {listed}")
    return modes


def together(notes: Notes, modes: list[Any]) -> Any:
    result = coalesced(join(modes))
    notes.say(f"together {layout(join(modes))}, coalesced {layout(result)}")
    return result


def right_inverse(notes: Notes, a: Any) -> Any:
    if has_basis(a):
        return by_entry(notes, a, right_inverse)
    taken = []
    offset: Any = 1
    for s, d, index in by_stride(notes, a, mirrored=False):
        if same(d, offset):
            offset = times(s, d)
            taken.append((s, index))
            notes.say(
                f"stride {d} of {layout((s, d))} is the next offset: {layout((s, index))} reaches those below {offset}"
            )
        else:
            why = (
                f"is not {offset}, the next offset"
                if known(offset)
                else f"is not known to be {offset}, the next offset"
            )
            notes.say(f"stride {d} of {layout((s, d))} {why}: left out")
    return together(notes, taken) if taken else (1, 0)


def left_inverse(notes: Notes, a: Any) -> Any:
    if has_basis(a):
        return by_entry(notes, a, left_inverse)
    modes = [mode for mode in by_stride(notes, a, mirrored=True) if mode[1]]
    if not modes:
        return coalesced(a)
    taken = []
    below: Any = 1
    index: Any = 0
    end = 1
    for s, d, next_index in modes:
        if d % below:
            raise Broken(f"stride {d} of {layout((s, d))} is not a multiple of the stride {below} before it")
        if d < end:
            notes.broken(f"stride {d} of {layout((s, d))} is below {end}, where the mode before it ends: not injective")
        end = value_of(s) * d
        gap = over(d, below)
        taken.append((gap, index))
        notes.say(
            f"offsets from {below} up to stride {d}: {d}/{below} = {gap} steps of index {index}, {layout((gap, index))}"
        )
        below, index = d, next_index
    s, d, index = modes[-1]
    taken.append((s, index))
    notes.say(f"then the {s} steps of {layout((s, d))} itself: {layout((s, index))}")
    return together(notes, taken)


def derive_right_inverse(notes: Notes, a: Any) -> str:
    return layout(right_inverse(notes, as_pair(a)))


def derive_left_inverse(notes: Notes, a: Any) -> str:
    return layout(left_inverse(notes, as_pair(a)))
