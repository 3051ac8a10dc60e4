"""A layout evaluated at a coordinate, and the layout of threads and values."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.cute._derivations.complement import compact_modes
from tilewright.cute._derivations.composition import compose
from tilewright.cute._derivations.inverse import right_inverse
from tilewright.cute._derivations.notes import Broken, Notes
from tilewright.cute._derivations.operands import as_pair, as_tuple, is_tensor
from tilewright.cute._derivations.tiling import interleave
from tilewright.cute._derivations.values import (
    Basis,
    combine,
    join,
    layout,
    leaves,
    modes_of,
    over,
    plus,
    product,
    text,
    times,
)


def natural(notes: Notes, coord: Any, shape: Any) -> Any:
    """The natural coordinate: an integer is split with mode 0 fastest, and the last mode takes what is left."""
    if isinstance(coord, tuple):
        if not isinstance(shape, tuple) or len(coord) != len(shape):
            raise Broken(f"the coordinate {text(coord)} does not fit the shape {text(shape)}")
        return tuple(natural(notes, c, s) for c, s in zip(coord, shape, strict=True))
    if not isinstance(shape, tuple):
        return coord
    digits, shown = [], []
    below: Any = 1
    for i, extent in enumerate(shape):
        digit, size = over(coord, below), product(extent)
        part = str(coord) if i == 0 else f"floor({coord}/{below})"
        if i + 1 < len(shape):
            digit = combine(lambda x, y: x % y, digit, size)
            part += f" mod {size}"
        digits.append(digit)
        shown.append(part)
        below = times(below, size)
    notes.say(f"{coord} in {text(shape)}: ({', '.join(shown)}) = {text(tuple(digits))}")
    return tuple(natural(notes, digit, extent) for digit, extent in zip(digits, shape, strict=True))


def derive_crd2idx(notes: Notes, coord: Any, a: Any) -> str:
    shape, stride = as_pair(a) if isinstance(a, _core.Layout) or is_tensor(a) else (as_tuple(a), None)
    if stride is None:
        strides = [d for _, d in compact_modes(leaves(shape))]
        notes.say(f"the compact strides of {text(shape)}: {text(tuple(strides))}")
    else:
        strides = leaves(stride)
    digits = leaves(natural(notes, as_tuple(coord), shape))
    terms = " + ".join(f"{c}*{text(d)}" for c, d in zip(digits, strides, strict=True))
    if any(isinstance(d, Basis) for d in strides):
        notes.say(f"{text(tuple(digits))} . {text(tuple(strides))} = {terms}, a coordinate")
        return ""
    total: Any = 0
    for c, d in zip(digits, strides, strict=True):
        total = plus(total, times(c, d))
    notes.say(f"{text(tuple(digits))} . {text(tuple(strides))} = {terms} = {total}")
    return text(total)


def derive_make_layout_tv(notes: Notes, thr: Any, val: Any) -> str:
    threads, values = as_pair(thr), as_pair(val)
    notes.say(f"where the values of the threads lie: raked_product({layout(threads)}, {layout(values)})")
    with notes:
        tile = interleave(notes, threads, values, raked=True)
    tiler = tuple(product(shape) for shape, _ in modes_of(tile))
    notes.say(f"the tile has the size of each mode: {text(tiler)}")
    notes.say(f"read backwards: right_inverse({layout(tile)})")
    with notes:
        inverse = right_inverse(notes, tile)
    grid = join(compact_modes([product(threads[0]), product(values[0])]))
    notes.say(f"as (threads, values): composition({layout(inverse)}, {layout(grid)})")
    with notes:
        return f"tiler {text(tiler)}, layout {layout(compose(notes, inverse, grid))}"
