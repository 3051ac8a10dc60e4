"""Every layout that the project gives to a kernel, and what the host says that it is."""

from __future__ import annotations

import math
import struct
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from copy_plans import instantiations
from tilewright import Int32, Int64, _core, cute, kernels
from tilewright.cute.runtime import from_dlpack
from tilewright.kernels.common.device_types import device_type

HEADER = Path(__file__).with_name("evaluate.cuh").read_text(encoding="utf-8")
SOURCE = '#include "evaluate.cuh"\nusing namespace tilewright;\n'
ALL = 1 << 14  # larger static layouts, which are those of tiles, are looked at in about so many places
SOME = 1 << 9  # and those of tensors in so many
BEYOND = 3  # coordinates past the size, with which the last mode goes on
L = cute.parse


class Evaluation(NamedTuple):
    """A kernel of evaluate.cuh, its parameter without the pointer that it begins with, and the rows that it writes."""

    label: str
    name: str
    params: bytes
    expected: np.ndarray


@cache
def evaluations() -> list[Evaluation]:
    """One for each layout; those with one device type and one set of dynamic values are one."""
    found: dict[Any, tuple[str, Any]] = {}
    for label, layout in layouts():
        found.setdefault((device_type(layout), *values_of(layout)), (label, layout))
    sides = {(side.layout, side.unit): side for side in strides()}
    return [evaluate(label, layout) for label, layout in found.values()] + [side.evaluate() for side in sides.values()]


def layouts():
    yield from HAND_MADE
    for name, plan in instantiations():
        given = {"load_tv": plan.load_tv, "store_tv": plan.store_tv, "smem": plan.smem}
        yield from ((f"{key} of {name}", layout) for key, layout in given.items() if layout is not None)
    yield from seen_by_threads()


def strides():
    """The tensors of the plans, whose strides a kernel gets at run time."""
    for name, plan in instantiations():
        for key, unit in zip(("src", "dst"), plan._units(), strict=True):
            yield Side(f"{key} of {name}", plan.layouts[key], unit)
    large = cute.make_layout((5_000_000_001, 7, 3), stride=(1, -3, 5_000_000_001))
    yield from (Side("large", large, unit) for unit in (0, -1))


class Side(NamedTuple):
    """A tensor's layout, and the mode in which the kernel relies on stride 1; -1 for none."""

    label: str
    layout: Any
    unit: int

    def evaluate(self) -> Evaluation:
        p = self.layout
        extents, stride = (tuple(map(int, _core.flatten_to_tuple(x))) for x in (p.shape, p.stride))
        step, count = places(math.prod(extents), SOME)
        expected = [[int(p(*by_modes(i * step, extents)))] for i in range(count)]
        given = tuple(99 if mode == self.unit else d for mode, d in enumerate(stride))  # that one is not looked at
        name = f"evaluate_layout<Strides<{len(extents)}, {self.unit}>, {len(extents)}, 0, 1>"
        return Evaluation(f"{self.label}: {p}", name, pack(count, step, extents, given), np.array(expected, np.int64))


def seen_by_threads():
    """What visualize_tv composes of a tensor and a thread-value layout."""
    array = np.arange(480, dtype=np.int16)
    cube = array.reshape(8, 3, 20)
    views = [
        (array[:24], L("((2,2),(2,3)):((2,12),(1,4))")),
        (array[:24][::-1], L("(4,6):(1,4)")),
        (cube[1:7:2, 1, ::3], cute.make_layout((3, 7))),
        (cube.transpose(2, 0, 1)[:4, :2], cute.make_layout((4, 6))),
        (np.broadcast_to(cube[0, 0], (2, 20)), cute.make_layout((2, 20))),
    ]
    for i, (view, tv) in enumerate(views):
        yield f"visualize_tv of view {i}", kernels.visualize_tv(view, tv).composed.layout
    swizzled = cute.make_composed_layout(cute.make_swizzle(1, 0, 2), 4, L("(4,8):(8,1)"))
    tensor = cute.make_tensor(from_dlpack(array).iterator, swizzled)
    yield "visualize_tv of a swizzle", kernels.visualize_tv(tensor, L("(4,8):(1,4)")).composed.layout


def composed(bits, base, shift, offset, outer):
    return cute.make_composed_layout(cute.make_swizzle(bits, base, shift), offset, L(outer))


def dynamic(shape, stride):
    """All leaves dynamic, in turn of 32 and of 64 bits."""
    types = iter([Int64, Int32] * 8)

    def leaves(x: Any) -> Any:
        return tuple(map(leaves, x)) if isinstance(x, tuple) else (Int64 if abs(x) >> 31 else next(types))(x)

    return cute.make_layout(leaves(shape), stride=leaves(stride))


HAND_MADE = [
    *((text, L(text)) for text in (
        "1:0", "7:1", "7:-3", "(4,8):(8,1)", "(3,5,7):(1,3,15)", "(3,5,7):(-35,7,-1)", "(4,(2,3)):(1,(4,8))",
        "((2,3),(4,(5,2))):((1,60),(2,(8,1000)))", "(((2),3),1):(((9),-4),0)", "(4,1,6):(0,5,1)", "(8,8):(0,0)",
        "(2,2,2,2,2,2,2,2):(1,-2,4,-8,16,-32,64,-128)", "(4,4):(3000000000,1)",
        "(4,8):(1@1,4@0)", "((16,16),(4,4)):((4@0,1@1),(1@0,16@1))", "(8,3):(1@2,-1@0)",
        "((2,3),(2,(2,2))):((0,1@1),(1@0,(2@0,3@1)))",
    )),
    ("nested, dynamic", dynamic(((3, 5), (2, (7, 2))), ((1, -3), (15, (-30, 1000))))),
    ("dynamic, large", dynamic((70_001, 65_537, 3), (65_537, 1, 70_001 * 65_537))),
    ("dynamic, with a long mode", dynamic((3, 5_000_000_001, 2), (1, 3, -7))),
    ("nested, with a long mode", dynamic(((5_000_000_001, 2), 3), ((6, 1), 2))),
    ("dynamic and negative", dynamic((100_003, 50_021), (-1, -100_003))),
    ("partly dynamic", cute.make_layout((Int64(1000), 8, Int32(7)), stride=(Int32(8), 1, 9000))),
    *((f"S<{bits},{base},{shift}> o {offset} o {outer}", composed(bits, base, shift, offset, outer))
      for bits, base, shift, offset, outer in (
        (3, 4, 3, 0, "(8,128):(128,1)"), (3, 3, 3, 0, "(64,64):(64,1)"), (2, 0, -3, 0, "(32,32):(1,32)"),
        (3, 2, -4, 0, "((8,4),64):((64,512),1)"), (3, 2, 6, 16, "(64,64):(1,64)"), (1, 0, 1, 7, "5:3"),
        (0, 4, 3, 0, "(4,8):(8,1)"),
    )),
]  # fmt: skip


def evaluate(label: str, layout: Any) -> Evaluation:
    extents = tuple(int(_core.size(layout, mode=[i])) for i in range(_core.rank(layout.shape)))
    values, rank = values_of(layout), coordinate_rank(layout)
    step, count = places(math.prod(extents), SOME if values else ALL)
    expected = []
    for index in range(0, count * step, step):
        one, all_ = layout(index), layout(*by_modes(index, extents))
        if rank:
            expected.append([*padded(all_, rank), *padded(one, rank)])
        else:
            expected.append([int(all_), int(one), int(all_)])
    rows = np.array(expected, np.int64)
    columns = 2 if rank or values or np.abs(rows).max() >> 31 else 3
    rows = rows if rank else rows[:, :columns]
    name = f"evaluate_layout<{device_type(layout)}, {len(extents)}, {rank}, {columns}>"
    return Evaluation(f"{label}: {layout}", name, pack(count, step, extents, values), rows)


def places(size: int, most: int) -> tuple[int, int]:
    """The step between the coordinates that are looked at, and their number."""
    step = -(-size // most) | 1
    return step, -(-size // step) + BEYOND


def by_modes(index: int, extents: tuple[int, ...]) -> tuple[int, ...]:
    """A 1-D coordinate as one integer for each mode; what is beyond the size is in the last."""
    coordinate = []
    for extent in extents[:-1]:
        index, here = divmod(index, extent)
        coordinate.append(here)
    return (*coordinate, index)


def pack(count: int, step: int, extents: tuple[int, ...], values: Any) -> bytes:
    """EvaluateParams without the pointer; a layout without dynamic values takes space, too."""
    return struct.pack(f"<2q8q{len(values) or 1}q", count, step, *islice((*extents, *[1] * 8), 8), *(values or [0]))


def values_of(layout: Any) -> list[int]:
    """The dynamic leaves, shape then stride, as device_type numbers them; a composed layout has none."""
    if isinstance(layout, _core.ComposedLayout):
        return []
    leaves = _core.flatten_to_tuple((layout.shape, layout.stride))
    return [int(x) for x in leaves if isinstance(x, (Int32, Int64))]


def coordinate_rank(layout: Any) -> int:
    """The modes of the coordinates that are the layout's values; 0 for offsets."""
    if isinstance(layout, _core.ComposedLayout) or not _core.has_scaled_basis(layout.stride):
        return 0
    bases = [d for d in _core.flatten_to_tuple(layout.stride) if isinstance(d, _core.ScaledBasis)]
    return max(2, *(d.mode[0] + 1 for d in bases))


def padded(x: Any, rank: int) -> list[int]:
    x = x if isinstance(x, tuple) else (x,)
    return [*map(int, x), *[0] * (rank - len(x))]
