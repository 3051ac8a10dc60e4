"""Complement: the gaps between the modes of A, and the room above them."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.cute._derivations.coalesce import coalesced
from tilewright.cute._derivations.entries import coshape, count, has_basis, heading, part
from tilewright.cute._derivations.notes import Broken, Notes
from tilewright.cute._derivations.operands import as_pair, as_tuple
from tilewright.cute._derivations.values import (
    Basis,
    ceil_div,
    flat_modes,
    is_,
    join,
    known,
    layout,
    leaves,
    over,
    product,
    text,
    times,
    unwrapped,
    value_of,
)


def filtered(a: Any) -> Any:
    """Without the modes of stride 0."""
    return coalesced(join([(1, d) if is_(d, 0) else (s, d) for s, d in flat_modes(a)]))


def rest_of(cotarget: Any, size: Any) -> Any:
    """ceil(cotarget/size); a tuple is divided mode by mode, each mode by what the ones before it left over."""
    if not isinstance(cotarget, tuple):
        return ceil_div(cotarget, size)
    result = []
    for extent in cotarget:
        result.append(rest_of(extent, size))
        size = ceil_div(size, product(extent))
    return tuple(result)


def compact_modes(extents: list[Any], stride: Any = 1) -> list[Any]:
    """The modes of the column-major layout that starts with a stride; a shape 1 has stride 0."""
    modes = []
    for extent in extents:
        modes.append((extent, 0 if is_(extent, 1) else stride))
        stride = times(stride, extent)
    return modes


def merged_modes(extents: list[Any], stride: Any) -> list[Any]:
    """The same of the extents with static neighbours, and dynamic neighbours, multiplied."""
    merged: list[Any] = []
    for extent in extents:
        if merged and (is_(merged[-1], 1) or is_(extent, 1) or known(merged[-1]) == known(extent)):
            merged[-1] = times(merged[-1], extent)
        else:
            merged.append(extent)
    return compact_modes(merged, stride)


def complement(notes: Notes, a: Any, cotarget: Any) -> Any:
    """The gaps between the modes of A in order of stride, and the room above the last one up to the cotarget."""
    if has_basis(a):
        return by_cotarget(notes, a, cotarget, ())
    simple, target = filtered(a), text(cotarget)
    if simple != a:
        notes.say(f"without the modes of stride 0 and shape 1, coalesced: {layout(simple)}")
    if is_(simple[1], 0):
        result = coalesced(unwrapped(merged_modes(leaves(cotarget), 1)))
        notes.say(f"the only offset is 0: all up to {target} is left over, {layout(result)}")
        return result
    modes = sorted(flat_modes(simple), key=lambda mode: value_of(mode[1]))
    notes.say(f"the modes by stride: {layout(unwrapped(modes))}")
    gaps = []
    covered: Any = 1
    end = "1"
    for s, d in modes:
        gap = over(d, covered)
        if is_(gap, 0):
            raise Broken(f"mode {layout((s, d))} overlaps the modes below it, which end at {end}: not injective")
        quotient = f"{d}/{covered}" if value_of(d) % value_of(covered) == 0 else f"floor({d}/{covered})"
        notes.say(f"from {end} up to stride {d}: {quotient} = {gap}, a mode {layout((gap, covered))}")
        gaps.append((gap, covered))
        covered = times(s, d)
        end = f"{s}*{d} = {covered}"
    rest = rest_of(cotarget, covered)
    tail = merged_modes(leaves(rest), covered)
    shown = layout(unwrapped(tail))
    notes.say(f"beyond {end} up to {target}: ceil({target}/{covered}) = {text(rest)}, a mode {shown}")
    whole = join([*gaps, *tail])
    result = coalesced(whole)
    notes.say(f"together {layout(whole)}, coalesced {layout(result)}")
    return result


def by_cotarget(notes: Notes, a: Any, cotarget: Any, at: tuple[int, ...]) -> Any:
    """The complement in each entry of the coordinates, within that entry of the cotarget."""
    needed = count(a, at)
    parts = cotarget if isinstance(cotarget, tuple) else (cotarget,)
    if needed > len(parts):
        raise Broken(f"the cotarget {text(cotarget)} has no entry {needed - 1}")
    if needed:
        return join([by_cotarget(notes, a, c, (*at, i)) for i, c in enumerate(parts)])
    inside = part(a, at)
    notes.say(f"{heading(at, inside)} in {text(cotarget)}")
    with notes:
        shape, stride = complement(notes, inside, cotarget)
    strides = [0 if is_(d, 0) else Basis(d, tuple(reversed(at))) for d in leaves(stride)]
    return shape, (tuple(strides) if isinstance(stride, tuple) else strides[0])


def derive_complement(notes: Notes, a: Any, cotarget: Any = None) -> str:
    pair = as_pair(a)
    if cotarget is None:
        target = coshape(pair)
        name = "coshape" if has_basis(pair) else "cosize"
        notes.say(f"no cotarget is given, so it is the {name}, {text(target)}")
    else:
        target = as_tuple(cotarget.shape if isinstance(cotarget, _core.Layout) else cotarget)
    return layout(complement(notes, pair, target))
