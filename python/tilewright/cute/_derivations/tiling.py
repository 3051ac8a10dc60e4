"""Divides and products: a composition with a complement, and the order of the modes that results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.cute._derivations.coalesce import coalesced
from tilewright.cute._derivations.complement import complement
from tilewright.cute._derivations.composition import compose
from tilewright.cute._derivations.entries import coshape, has_basis, with_room
from tilewright.cute._derivations.notes import Broken, Notes, by_mode
from tilewright.cute._derivations.operands import as_pair, as_tiler
from tilewright.cute._derivations.values import join, layout, modes_of, product, text, tiler_text, times

if TYPE_CHECKING:
    from collections.abc import Callable


def divide(notes: Notes, a: Any, tiler: Any) -> Any:
    """A o (B, B*), where B* is the complement of B in A."""
    if isinstance(tiler, list):
        return by_mode(notes, a, tiler, lambda m, t: f"{layout(m)} divided by {tiler_text(t)}", divide, keep=True)
    if tiler is None:
        return a
    whole, name = (a[0], "A") if has_basis(tiler) else (coalesced(a)[0], "coalesce(A)")
    shape = text(whole)
    notes.say(f"= A o (B, B*), where B* = complement(B, {shape}), the shape of {name}")
    notes.say(f"complement({layout(tiler)}, {shape})")
    with notes:
        rest = complement(notes, tiler, whole)
    both = join([tiler, rest])
    notes.say(f"B* = {layout(rest)}, (B, B*) = {layout(both)}")
    notes.say(f"composition({layout(a)}, {layout(both)})")
    with notes:
        return compose(notes, a, both)


def multiply(notes: Notes, a: Any, tiler: Any) -> Any:
    """(A, A* o B), where A* is the complement of A in the whole."""
    if isinstance(tiler, list):
        return by_mode(notes, a, tiler, lambda m, t: f"{layout(m)} times {tiler_text(t)}", multiply, keep=True)
    if tiler is None:
        return a
    copies = product(coshape(tiler))
    if has_basis(a):
        target = with_room(coshape(a), copies)
        notes.say(f"= (A, A* o B), where A* = complement(A, coshape(A)*cosize(B)) = complement(A, {text(target)})")
    else:
        size = product(a[0])
        target = times(size, copies)
        notes.say(f"= (A, A* o B), where A* = complement(A, size(A)*cosize(B)) = complement(A, {size}*{copies})")
    notes.say(f"complement({layout(a)}, {text(target)})")
    with notes:
        room = complement(notes, a, target)
    notes.say(f"A* = {layout(room)}")
    notes.say(f"composition({layout(room)}, {layout(tiler)})")
    with notes:
        placed = compose(notes, room, tiler)
    notes.say(f"A* o B = {layout(placed)}")
    return join([a, placed])


def unzip(pair: Any, guide: Any) -> Any:
    """((t0,r0),(t1,r1),l..) as ((t0,t1),(r0,r1,l..)): the guide tells which modes are pairs, and which are nested."""
    if not isinstance(guide, list):
        return pair
    modes = modes_of(pair)
    halves = [modes_of(unzip(mode, part)) for mode, part in zip(modes, guide, strict=False)]
    for half in halves:
        if len(half) != 2:
            raise Broken(f"a mode that the tiler leaves whole must be a pair (tile, rest), but is {layout(join(half))}")
    return join([join([tile for tile, _ in halves]), join([*(rest for _, rest in halves), *modes[len(guide) :]])])


def side_by_side(pair: Any) -> list[Any]:
    """The modes without their parentheses; a single one keeps them."""
    modes = modes_of(pair)
    return modes if len(modes) > 1 else [pair]


def regroup(notes: Notes, form: str, pair: Any, tiler: Any) -> Any:
    """The logical form of a divide or product in another form."""
    if form == "logical":
        return pair
    notes.say(f"logical: {layout(pair)}")
    first, second = modes_of(unzip(pair, tiler))
    if form == "zipped":
        result = join([first, second])
        notes.say(f"zipped, the first of every pair, then the second: {layout(result)}")
    elif form == "tiled":
        result = join([first, *side_by_side(second)])
        notes.say(f"tiled, the second ones side by side: {layout(result)}")
    else:
        result = join([*side_by_side(first), *side_by_side(second)])
        notes.say(f"flat, all side by side: {layout(result)}")
    return result


def deriver(form: str, operation: Callable[[Notes, Any, Any], Any]) -> Callable[[Notes, Any, Any], str]:
    def derive(notes: Notes, a: Any, b: Any) -> str:
        tiler = as_tiler(b)
        return layout(regroup(notes, form, operation(notes, as_pair(a), tiler), tiler))

    return derive


def interleave(notes: Notes, a: Any, b: Any, raked: bool) -> Any:
    """The product, mode by mode: (a0, b0) in the blocked form, (b0, a0) in the raked one."""
    rank = max(len(modes_of(a)), len(modes_of(b)))

    def padded(pair: Any) -> Any:
        missing = rank - len(modes_of(pair))
        return join([*modes_of(pair), *[(1, 0)] * missing]) if missing else pair

    block, tiler = padded(a), padded(b)
    if (block, tiler) != (a, b):
        notes.say(f"filled up to {rank} modes with 1:0: A = {layout(block)}, B = {layout(tiler)}")
    both = multiply(notes, block, tiler)
    notes.say(f"logical: {layout(both)}")
    # Of two layouts of rank 1 the modes keep their parentheses unless both have them.
    opened = rank > 1 or (isinstance(block[0], tuple) and isinstance(tiler[0], tuple))
    first, second = (modes_of(mode) if opened else [mode] for mode in modes_of(both))
    result = join([join([y, x] if raked else [x, y]) for x, y in zip(first, second, strict=True)])
    order = "raked, (mode i of B, mode i of A)" if raked else "blocked, (mode i of A, mode i of B)"
    notes.say(f"{order}: {layout(result)}")
    return result


def derive_blocked(notes: Notes, a: Any, b: Any) -> str:
    return layout(interleave(notes, as_pair(a), as_pair(b), raked=False))


def derive_raked(notes: Notes, a: Any, b: Any) -> str:
    return layout(interleave(notes, as_pair(a), as_pair(b), raked=True))
