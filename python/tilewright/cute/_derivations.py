"""The derivations that `explain` shows: the arithmetic of an operation done by hand, with a note of every step.

A layout is a pair (shape, stride) of nested tuples here. A static leaf is a Python int; a dynamic integer and a basis
stride are the two small classes below. What an operation returns comes from the C++ core; tests compare the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["DERIVATIONS", "Broken", "Notes", "argument_text", "result_text"]


class Dynamic:
    """A dynamic integer and the value it has now."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __str__(self) -> str:
        return f"?{self.value}"


class Basis:
    """A stride along the axis `mode` (innermost first)."""

    __slots__ = ("mode", "value")

    def __init__(self, value: Any, mode: tuple[int, ...]) -> None:
        self.value = value
        self.mode = mode

    def __str__(self) -> str:
        return "@".join(map(str, (self.value, *self.mode)))


class Broken(Exception):
    """The condition, with its numbers, for want of which CuTe goes no further."""

    noted = False


class Notes:
    """The lines of a derivation, indented by depth, and the number of lines up to the first broken condition."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.broken_at: int | None = None
        self._depth = 0

    def say(self, text: str) -> None:
        self.lines.append("  " * self._depth + text)

    def broken(self, text: str) -> None:
        """A step whose condition does not hold. CuTe may go on all the same; whether that is right, the law decides."""
        self.say(text)
        if self.broken_at is None:
            self.broken_at = len(self.lines)

    def __enter__(self) -> Notes:
        self._depth += 1
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Broken) and not error.noted:
            self.broken(str(error))
            error.noted = True
        self._depth -= 1


# ---- arithmetic of leaves: static op static is static, 0 * x and 0 / x are 0, the rest is dynamic ----


def known(*xs: Any) -> bool:
    """Statically known, as plain integers."""
    return all(isinstance(x, int) for x in xs)


def is_(x: Any, value: int) -> bool:
    """Statically known to be the value."""
    return isinstance(x, int) and x == value


def same(a: Any, b: Any) -> bool:
    """Statically known to be equal."""
    if isinstance(a, Basis) and isinstance(b, Basis):
        return a.mode == b.mode and same(a.value, b.value)
    return known(a, b) and bool(a == b)


def value_of(x: Any) -> int:
    return x if isinstance(x, int) else int(x.value)


def combine(f: Callable[[int, int], int], a: Any, b: Any) -> Any:
    result = f(value_of(a), value_of(b))
    return result if known(a, b) else Dynamic(result)


def plus(a: Any, b: Any) -> Any:
    return combine(lambda x, y: x + y, a, b)


def times(a: Any, b: Any) -> Any:
    if isinstance(b, Basis):
        return Basis(times(a, b.value), b.mode)
    if isinstance(a, Basis):
        return Basis(times(a.value, b), a.mode)
    return 0 if is_(a, 0) or is_(b, 0) else combine(lambda x, y: x * y, a, b)


def over(a: Any, b: Any) -> Any:
    return 0 if is_(a, 0) else combine(lambda x, y: x // y, a, b)


def ceil_div(a: Any, b: Any) -> Any:
    return combine(lambda x, y: -(-x // y), a, b)


def magnitude(x: Any) -> Any:
    return abs(x) if isinstance(x, int) else Dynamic(abs(x.value))


# ---- nested tuples, and pairs of them ----


def leaves(x: Any) -> list[Any]:
    return [leaf for e in x for leaf in leaves(e)] if isinstance(x, tuple) else [x]


def product(shape: Any) -> Any:
    total: Any = 1
    for leaf in leaves(shape):
        total = times(total, leaf)
    return total


def modes_of(pair: Any) -> list[Any]:
    shape, stride = pair
    return list(zip(shape, stride, strict=True)) if isinstance(shape, tuple) else [pair]


def flat_modes(pair: Any) -> list[Any]:
    return list(zip(leaves(pair[0]), leaves(pair[1]), strict=True))


def join(pairs: Sequence[Any]) -> Any:
    return tuple(s for s, _ in pairs), tuple(d for _, d in pairs)


def unwrapped(pairs: Sequence[Any]) -> Any:
    """The modes as one layout; a single mode stands for itself."""
    return pairs[0] if len(pairs) == 1 else join(pairs)


def cosize(pair: Any) -> Any:
    """One more than the largest offset."""
    total: Any = 1
    for s, d in flat_modes(pair):
        total = plus(total, times(plus(s, -1), magnitude(d)))
    return total


def text(x: Any) -> str:
    """CuTe's text of a leaf or nested tuple."""
    return "(" + ",".join(map(text, x)) + ")" if isinstance(x, tuple) else "_" if x is None else str(x)


def layout(pair: Any) -> str:
    """CuTe's text of a layout."""
    return f"{text(pair[0])}:{text(pair[1])}"


def tiler_text(tiler: Any) -> str:
    if isinstance(tiler, list):
        return "(" + ",".join(map(tiler_text, tiler)) + ")"
    return "_" if tiler is None else layout(tiler)


def mode_name(path: tuple[int, ...]) -> str:
    return f"mode {path[0] if len(path) == 1 else text(path)}"


# ---- arguments ----


def is_dynamic(x: Any) -> bool:
    return hasattr(x, "_div")


def is_tensor(x: Any) -> bool:
    return hasattr(x, "iterator") and hasattr(x, "layout")


def as_leaf(x: Any) -> Any:
    if x is None or isinstance(x, int):
        return x
    if is_dynamic(x):
        return Dynamic(int(x._value))
    if isinstance(x, _core.ScaledBasis):
        return Basis(as_leaf(x.value), tuple(x.mode))
    raise TypeError(f"explain: expected an integer, but got {type(x).__name__}")


def as_tuple(x: Any) -> Any:
    return tuple(as_tuple(e) for e in x) if isinstance(x, (tuple, list)) else as_leaf(x)


def as_pair(x: Any) -> Any:
    """A layout, the layout of a tensor, or the compact layout of an extent."""
    if is_tensor(x):
        x = x.layout
    if isinstance(x, _core.Layout):
        return as_tuple(x.shape), as_tuple(x.stride)
    if isinstance(x, int) or is_dynamic(x):
        return as_leaf(x), 0 if is_(x, 1) else 1
    raise TypeError(f"explain: expected a Layout, but got {type(x).__name__}")


def as_tiler(x: Any) -> Any:
    """A pair, None (the mode stays whole), or a list of tilers (mode by mode)."""
    if isinstance(x, (tuple, list)):
        return [as_tiler(e) for e in x]
    return None if x is None else as_pair(x)


def as_right_operand(x: Any) -> Any:
    """The right operand of a composition: as a tiler, but the extent 1 is 1:1 there."""
    if isinstance(x, (tuple, list)):
        return [as_right_operand(e) for e in x]
    return (1, 1) if is_(x, 1) else as_tiler(x)


def result_text(x: Any) -> str:
    """A result as the last line of a derivation shows it."""
    if isinstance(x, tuple):  # of make_layout_tv
        return f"tiler {text(as_tuple(x[0]))}, layout {argument_text(x[1])}"
    return argument_text(x)


def argument_text(x: Any) -> str:
    if is_tensor(x):
        x = x.layout
    if isinstance(x, _core.Layout):
        return layout(as_pair(x))
    if isinstance(x, (tuple, list)):
        return "(" + ",".join(map(argument_text, x)) + ")"
    return text(as_leaf(x)) if x is None or isinstance(x, int) or is_dynamic(x) else str(x)


def by_mode(notes: Notes, a: Any, parts: Sequence[Any], heading: Callable[[Any, Any], str], f: Any, keep: bool) -> Any:
    """The modes of `a` with f(mode, part) in place of the leading ones; the others are kept or dropped."""
    modes = modes_of(a)
    if len(parts) > len(modes):
        raise Broken(f"there are {len(parts)} modes in the tiler, but {layout(a)} has {len(modes)}")
    results = []
    for i, (mode, part) in enumerate(zip(modes, parts, strict=False)):
        notes.say(f"mode {i}: {heading(mode, part)}")
        with notes:
            results.append(f(notes, mode, part))
            notes.say(f"= {layout(results[-1])}")
    return join([*results, *(modes[len(parts) :] if keep else [])])


# ---- coalesce ----


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


# ---- composition ----


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


# ---- complement ----


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


def derive_complement(notes: Notes, a: Any, cotarget: Any = None) -> str:
    pair = as_pair(a)
    if cotarget is None:
        target = cosize(filtered(pair))
        notes.say(f"no cotarget is given, so it is the cosize, {target}")
    else:
        target = as_tuple(cotarget.shape if isinstance(cotarget, _core.Layout) else cotarget)
    return layout(complement(notes, pair, target))


# ---- divide and product ----


def divide(notes: Notes, a: Any, tiler: Any) -> Any:
    """A o (B, B*), where B* is the complement of B in A."""
    if isinstance(tiler, list):
        return by_mode(notes, a, tiler, lambda m, t: f"{layout(m)} divided by {tiler_text(t)}", divide, keep=True)
    if tiler is None:
        return a
    shape = text(coalesced(a)[0])
    notes.say(f"= A o (B, B*), where B* = complement(B, {shape}), the shape of coalesce(A)")
    notes.say(f"complement({layout(tiler)}, {shape})")
    with notes:
        rest = complement(notes, tiler, coalesced(a)[0])
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
    size, copies = product(a[0]), cosize(tiler)
    target = times(size, copies)
    notes.say(f"= (A, A* o B), where A* = complement(A, size(A)*cosize(B)) = complement(A, {size}*{copies})")
    notes.say(f"complement({layout(a)}, {target})")
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


# ---- inverses ----


def by_stride(notes: Notes, a: Any) -> list[tuple[Any, Any, Any]]:
    """The modes of coalesce(A) whose stride is static, the least first: shape, stride, index of the step by +stride."""
    simple = coalesced(a)
    if simple != a:
        notes.say(f"coalesced: {layout(simple)}")
    modes = []
    index: Any = 1
    for s, d in flat_modes(simple):
        if known(d):
            modes.append((s, abs(d), -index if d < 0 else index))
        index = times(index, s)
    modes.sort(key=lambda mode: value_of(mode[1]))
    listed = ", ".join(f"{layout((s, d))} ({index})" for s, d, index in modes)
    notes.say(f"the modes by stride, each with the index of its coordinate 1: {listed}")
    return modes


def together(notes: Notes, modes: list[Any]) -> Any:
    result = coalesced(join(modes))
    notes.say(f"together {layout(join(modes))}, coalesced {layout(result)}")
    return result


def right_inverse(notes: Notes, a: Any) -> Any:
    taken = []
    offset: Any = 1
    for s, d, index in by_stride(notes, a):
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
    modes = [mode for mode in by_stride(notes, a) if mode[1]]
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


# ---- evaluation, thread-value layouts ----


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


DERIVATIONS: dict[str, Callable[..., str]] = {
    "composition": derive_composition,
    "coalesce": derive_coalesce,
    "complement": derive_complement,
    **{f"{form}_divide": deriver(form, divide) for form in ("logical", "zipped", "tiled", "flat")},
    **{f"{form}_product": deriver(form, multiply) for form in ("logical", "zipped", "tiled", "flat")},
    "blocked_product": derive_blocked,
    "raked_product": derive_raked,
    "right_inverse": derive_right_inverse,
    "left_inverse": derive_left_inverse,
    "make_layout_tv": derive_make_layout_tv,
    "crd2idx": derive_crd2idx,
}
