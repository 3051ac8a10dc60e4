"""The accesses that are compared with Nsight Compute: those that settle a rule, then random ones.

The order is the same in every run, and what settles a rule comes first: a run that is cut short has it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from probes.access import GLOBAL_BYTES, KINDS, SHARED_BYTES, Access

ALL = 0xFFFFFFFF
LANES = range(32)
WIDTHS = (1, 2, 4, 8, 16)


class Case(NamedTuple):
    """An access and the question that it answers."""

    name: str
    access: Access


# --- masks


def mask(lanes: Iterable[int]) -> int:
    return sum(1 << t for t in set(lanes))


MASKS = {
    "all": ALL,
    "even lanes": mask(range(0, 32, 2)),
    "odd lanes": mask(range(1, 32, 2)),
    "first half": mask(range(16)),
    "second half": mask(range(16, 32)),
    "first quarter": mask(range(8)),
    "lanes 8 to 23": mask(range(8, 24)),
    "one lane of 8": mask(range(0, 32, 8)),
    "lane 0": 1,
    "lane 31": 1 << 31,
    "12 lanes": mask(range(12)),
    "none": 0,
}


# --- which lanes share an address: lane -> number of the address

SHARING: dict[str, Callable[[int], int]] = {
    "all one": lambda t: 0,
    "n and n^1": lambda t: t // 2,
    "n and n^2": lambda t: (t & 1) | (t >> 2 << 1),
    "n and n^4": lambda t: (t & 3) | (t >> 3 << 2),
    "n and n^8": lambda t: (t & 7) | (t >> 4 << 3),
    "n and n^16": lambda t: t & 15,
    "n and n^3": lambda t: (t >> 2 << 1) | ((t ^ t >> 1) & 1),
    "four in a row": lambda t: t // 4,
    "four, every second": lambda t: (t & 1) | (t >> 3 << 1),
    "eight in a row": lambda t: t // 8,
    "sixteen in a row": lambda t: t // 16,
    "every second": lambda t: t & 1,
    "every fourth": lambda t: t & 3,
    "every eighth": lambda t: t & 7,
    "n^1 in the first half, none in the second": lambda t: t // 2 if t < 16 else t,
    "n^1 in the first half, n^2 in the second": lambda t: t // 2 if t < 16 else 32 + ((t & 1) | (t >> 2 << 1)),
    "n^1 or n^2 in turn by four": lambda t: t // 2 if t // 4 % 2 else 32 + ((t & 1) | (t >> 2 << 1)),
    "n^1 but for lane 31": lambda t: 40 if t == 31 else t // 2,
    "n^1 but for lane 5": lambda t: 40 if t == 5 else t // 2,
    "n^1, the second half as the first": lambda t: (t & 15) // 2,
    "none": lambda t: t,
}
PLACES = ("in a row", "in one bank")


def place(number: int, width: int, where: str) -> int:
    return number * width if where == "in a row" else number * 128


def calibration() -> Iterator[Case]:
    """Shared memory: lanes with one address, which lanes are served together, what a mask changes."""
    for width in (16, 8, 4):
        for sharing, number in SHARING.items():
            for where in PLACES if width > 4 else PLACES[1:]:
                offsets = tuple(place(number(t), width, where) for t in LANES)
                yield Case(f"sharing {sharing}, {where}", Access(f"ld.shared.{width}", offsets))
    for width in (16, 8):
        for sharing in ("all one", "n and n^1", "n and n^2", "every eighth", "none", "sixteen in a row"):
            for name, lanes in MASKS.items():
                if name in ("all", "none"):
                    continue
                offsets = tuple(place(SHARING[sharing](t), width, "in a row") for t in LANES)
                yield Case(f"sharing {sharing}, {name}", Access(f"ld.shared.{width}", offsets, lanes))
        for other in (1, 2, 3, 4, 7, 8, 12, 15, 16, 24, 31):  # two lanes: what is served with lane 0?
            for words in (32, 8):  # in the same banks, and in others
                offsets = tuple(4 * words if t == other else 0 for t in LANES)
                yield Case(
                    f"lanes 0 and {other}, {words} words apart", Access(f"ld.shared.{width}", offsets, mask((0, other)))
                )


def stores() -> Iterator[Case]:
    """Shared memory: the same for stores, where lanes that write one word can be merged or not."""
    for width in WIDTHS[::-1]:
        for sharing in (
            "all one",
            "n and n^1",
            "n and n^2",
            "n and n^16",
            "every eighth",
            "sixteen in a row",
            "none",
            "n^1 in the first half, none in the second",
            "n^1 but for lane 5",
        ):
            for where in PLACES:
                offsets = tuple(place(SHARING[sharing](t), width, where) for t in LANES)
                yield Case(f"sharing {sharing}, {where}", Access(f"st.shared.{width}", offsets))
    for width in (16, 8):
        for name in ("even lanes", "first half", "lanes 8 to 23", "one lane of 8", "lane 31", "12 lanes"):
            for sharing in ("n and n^1", "none"):
                offsets = tuple(place(SHARING[sharing](t), width, "in a row") for t in LANES)
                yield Case(f"sharing {sharing}, {name}", Access(f"st.shared.{width}", offsets, MASKS[name]))


def matrices() -> Iterator[Case]:
    """ldmatrix and stmatrix: rows in one bank, rows that are the same, and addresses of lanes that do not count."""
    rows: dict[str, Callable[[int], int]] = {
        "rows in a row": lambda t: 16 * t,
        "rows of 32 bytes": lambda t: 32 * t,
        "rows of 64 bytes": lambda t: 64 * t,
        "rows of 128 bytes": lambda t: 128 * t,
        "rows of 144 bytes": lambda t: 144 * t,
        "rows swizzled by 128 bytes": lambda t: 128 * (t % 8) + 16 * (t // 8 ^ t % 8),
        "rows swizzled by 64 bytes": lambda t: 64 * (t % 8) + 16 * (t // 8 ^ (t % 8) // 2 % 4),
        "one row": lambda t: 0,
        "each row twice in a matrix": lambda t: 16 * (t // 2),
        "each row twice, in one bank": lambda t: 128 * (t // 2),
        "all matrices the same": lambda t: 16 * (t % 8),
        "all matrices the same, in one bank": lambda t: 128 * (t % 8),
        "one row a matrix": lambda t: 128 * (t // 8),
        "first matrix in one bank": lambda t: 128 * t if t < 8 else 4096 + 16 * t,
    }
    for op in ("ldmatrix", "stmatrix"):
        for count in (4, 2, 1):
            for trans in ("", ".trans"):
                for name, row in rows.items():
                    if trans and name not in ("rows in a row", "rows of 128 bytes", "each row twice in a matrix"):
                        continue
                    if count == 1 and name.startswith("all matrices"):
                        continue
                    offsets = tuple(row(t) if t < 8 * count else 16384 + 128 * t for t in LANES)
                    yield Case(name, Access(f"{op}.x{count}{trans}", offsets))


def global_memory() -> Iterator[Case]:
    """Sectors, lines and tag lookups: misaligned bases, strides, lanes that share a line far apart."""
    for op in ("ld", "st"):
        for width in WIDTHS[::-1]:
            kind = f"{op}.global.{width}"
            for base in sorted({0, width, 16, 64, 112, 128 - width, 32 - min(width, 16)}):
                if base % width == 0:
                    yield Case(f"in a row from byte {base}", Access(kind, tuple(base + width * t for t in LANES)))
            for step in (2, 3, 8) if width < 16 else (2, 3, 8, 9):
                yield Case(f"every {step}.", Access(kind, tuple(width * step * t for t in LANES)))
            for name, number in {
                "reversed": lambda t: 31 - t,
                "halves side by side": lambda t: t % 16 * 2 + t // 16,
                "quarters side by side": lambda t: t % 8 * 4 + t // 8,
                "one element": lambda t: 0,
                "pairs of one": lambda t: t // 2,
                "halves of one": lambda t: t % 16,
            }.items():
                yield Case(name, Access(kind, tuple(width * number(t) for t in LANES)))
            yield Case("a line a lane", Access(kind, tuple(128 * t for t in LANES)))
            yield Case("a line a lane, in turn", Access(kind, tuple(128 * (t % 16) + 64 * (t // 16) for t in LANES)))
            yield Case(
                "a line for four lanes far apart", Access(kind, tuple(128 * (t % 8) + 32 * (t // 8) for t in LANES))
            )
            for name in ("even lanes", "second half", "12 lanes", "lane 31", "none"):
                yield Case(f"in a row, {name}", Access(kind, tuple(width * t for t in LANES), MASKS[name]))


def asynchronous() -> Iterator[Case]:
    """cp.async: what the shared side costs, what lanes that are off cost, and what lanes that fill with zeros cost."""
    shared: dict[str, Callable[[int, int], int]] = {
        "in a row": lambda t, w: t * w,
        "in one bank": lambda t, w: 128 * t,
        "to one address": lambda t, w: 0,
        "pairs to one address": lambda t, w: t // 2 * w,
        "swizzled rows of 128 bytes": lambda t, w: 128 * (t // 8) + 16 * (t % 8 ^ t // 8),
        "every second": lambda t, w: 2 * t * w,
    }
    source: dict[str, Callable[[int, int], int]] = {
        "in a row": lambda t, w: t * w,
        "from byte 16": lambda t, w: 16 + t * w,
        "a line a lane": lambda t, w: 128 * t,
        "one element": lambda t, w: 0,
        "rows of 8 lanes": lambda t, w: 4096 * (t // 8) + w * (t % 8),
    }
    for kind in (k for k in KINDS if k.startswith("cp.async")):
        width = KINDS[kind].size
        pairs = (
            [(s, "in a row") for s in source] + [("in a row", d) for d in shared] + [("rows of 8 lanes", "in one bank")]
        )
        for s, d in dict.fromkeys(pairs):
            offsets = tuple(source[s](t, width) for t in LANES)
            yield Case(f"{s}, shared {d}", Access(kind, offsets, ALL, tuple(shared[d](t, width) for t in LANES)))
        for name in ("even lanes", "second half", "12 lanes", "none"):
            offsets = tuple(width * t for t in LANES)
            yield Case(f"in a row, {name}", Access(kind, offsets, MASKS[name], offsets))


def joined_passes() -> Iterator[Case]:
    """Loads of 8 and 16 bytes of a few lanes: which of them keep the passes of the warp apart?"""
    choose = random.Random(77)
    for width in (16, 8):
        for lanes in (1, 2, 4, 8, 12, 16, 24, 31):
            for sharing in ("none", "n and n^1", "n and n^2"):
                for where in PLACES[: 2 if lanes in (4, 12, 24) else 1]:
                    chosen = mask(choose.sample(range(32), lanes))
                    offsets = tuple(place(SHARING[sharing](t), width, where) for t in LANES)
                    yield Case(
                        f"sharing {sharing}, {lanes} lanes, {where}", Access(f"ld.shared.{width}", offsets, chosen)
                    )
        for first, second in (("even lanes", "pairs"), ("pairs", "even lanes"), ("even lanes", "all"), ("all", "none")):
            halves = {"even lanes": 0x5555, "pairs": 0x3333, "all": 0xFFFF, "none": 0}
            for sharing in ("none", "n and n^1", "n and n^2"):
                offsets = tuple(place(SHARING[sharing](t), width, "in a row") for t in LANES)
                name = f"sharing {sharing}, {first} of the first half, {second} of the second"
                yield Case(name, Access(f"ld.shared.{width}", offsets, halves[first] | halves[second] << 16))


def asynchronous_lines() -> Iterator[Case]:
    """cp.async: a source that is not aligned as its destination is, and conflicts on one side or on both."""
    choose = random.Random(78)
    for kind in (k for k in KINDS if k.startswith("cp.async") and "filled" not in k):
        width = KINDS[kind].size
        row = tuple(width * t for t in LANES)
        for start in sorted({width, 2 * width, 32, 48, 64, 128 - width}):
            yield Case(f"from byte {start}, shared in a row", Access(kind, tuple(start + x for x in row), ALL, row))
            yield Case(f"in a row, shared from byte {start}", Access(kind, row, ALL, tuple(start + x for x in row)))
        for _ in range(8):
            mixed = tuple(width * t for t in choose.sample(range(32), 32))
            far = tuple(x + 128 * width * choose.randrange(16) for x in row)
            scattered = tuple(choose.randrange(64) * width for _ in LANES)
            yield Case("permutation, shared in a row", Access(kind, mixed, ALL, row))
            yield Case("in lines of their own, shared in a row", Access(kind, far, ALL, row))
            yield Case("scatter, shared in a row", Access(kind, scattered, ALL, row))
            yield Case("in a row, shared scatter", Access(kind, row, ALL, scattered))
            yield Case("permutation, shared scatter", Access(kind, mixed, random_mask(choose), scattered))


# --- random accesses


def random_offsets(choose: random.Random, width: int, limit: int) -> tuple[str, tuple[int, ...]]:
    """Offsets as layouts make them: two strides, a swizzle, a broadcast, a permutation, or no order at all."""
    room, form = limit // 2, choose.choice(("strides", "strides", "swizzle", "broadcast", "permutation", "scatter"))
    inner = choose.choice((2, 4, 8, 16))
    if form == "scatter":
        span = choose.choice((256, 1024, room))
        found = [choose.randrange(span // width) * width for _ in LANES]
    elif form == "permutation":
        found = [width * t for t in choose.sample(range(32), 32)]
    elif form == "broadcast":
        step, other = choose.choice((0, 1, 2, 33)), choose.choice((0, 0, 1, 8, 32))
        found = [width * (t % inner * step + t // inner * other) for t in LANES]
    else:
        step, other = choose.randint(0, 9), choose.choice((1, 2, 4, 8, 16, 17, 32, 33, 64))
        found = [width * (t % inner * step + t // inner * other) for t in LANES]
        if form == "swizzle":
            bits, base, shift = choose.randint(1, 3), choose.choice((4, 4, 4, 3)), choose.randint(3, 4)
            found = [x ^ (x >> shift & ((1 << bits) - 1) << base) for x in found]
            found = [x // width * width for x in found]
    start = choose.choice((0, 0, 0, choose.randrange(256 // width) * width))
    return form, tuple((start + x) % room for x in found)


def random_mask(choose: random.Random) -> int:
    return choose.choice((ALL, ALL, ALL, choose.getrandbits(32), mask(range(choose.randint(1, 31)))))


def random_cases(count: int, seed: int = 2026) -> Iterator[Case]:
    """As many accesses of each sort."""
    choose = random.Random(seed)
    kinds = [k for k in KINDS if ".trans" not in k]
    for i in range(count):
        kind = kinds[i % len(kinds)]
        sides = KINDS[kind].sides
        found = [
            random_offsets(choose, width, GLOBAL_BYTES if memory == "global" else SHARED_BYTES)
            for memory, _, width, _ in sides
        ]
        lanes = ALL if "matrix" in kind else random_mask(choose)
        name = "random " + " and ".join(form for form, _ in found)
        yield Case(name, Access(kind, found[0][1], lanes, found[1][1] if len(found) > 1 else ()))


def cases() -> list[Case]:
    """All of them, the unsettled rules first; no access twice."""
    made: dict[Access, Case] = {}
    for family in (
        calibration(),
        stores(),
        matrices(),
        asynchronous(),
        global_memory(),
        random_cases(640),
        joined_passes(),
        asynchronous_lines(),
    ):
        for case in family:
            made.setdefault(case.access, case)
    return list(made.values())
