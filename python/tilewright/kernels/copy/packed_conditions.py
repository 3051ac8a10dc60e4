"""What the kernel of packed copies relies on: checked before it runs on tensors that a plan was not made for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.kernels.copy.packed import MAX_MODES, MOST, READ, Packed, packed_of_plan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.kernels.copy.plan import CopyPlan

MAX_TILES = 2**31 - 1


def require_packed(plan: CopyPlan, src_address: int, dst_address: int, function: str) -> None:
    """ValueError, in the name of `function`, where a packed plan does not fit its problem at these addresses."""
    for broken in _broken_fields(plan):
        raise ValueError(f"{function}: {broken}")
    p, size = plan.problem, plan.problem.element_bytes
    addresses = {"src": src_address + p.src_offset * size, "dst": dst_address + p.dst_offset * size}
    for broken in (*_broken_unit(plan, addresses), *_broken_runs(plan, packed_of_plan(plan))):
        raise ValueError(f"{function}: {broken}")
    tiles = math.prod(plan.tiles)
    if tiles > MAX_TILES:
        raise ValueError(f"{function}: {tiles} tiles are more than a grid has ({MAX_TILES}); use larger tiles")


def _broken_fields(plan: CopyPlan) -> Iterator[str]:
    size, tile, smem = plan.problem.element_bytes, plan.tile, plan.smem
    flat = isinstance(smem, _core.Layout) and _core.rank(smem) == len(tile) == _core.depth(smem.shape) * len(tile)
    if len(tile) > 1 and not flat:
        yield f"smem is {smem}, but a packed copy needs one plain mode for each mode of the tile {text(tile)}"
    elif isinstance(smem, _core.Layout) and len(tile) > 1 and smem.shape != tile:
        yield f"smem is {smem}, which has not the shape of the tile {text(tile)}; replace both"
        return
    moved, store = size * plan.smem_load, size * plan.store_vector
    for name, width, least in (("smem_load", moved, 1), ("store_vector", store, moved)):
        if width & (width - 1) or not least <= width <= READ:
            yield (
                f"{name} is {getattr(plan, name)}, {width} bytes, but a packed copy moves a power of two from "
                f"{least} to {READ}"
            )
    if plan.is_async or plan.dst_shift or plan.dst_mode:
        yield "a packed copy has neither is_async nor dst_shift, and its dst_mode is 0"
    if math.prod(tile) > MOST or len(tile) > MAX_MODES:
        yield f"the tile {text(tile)} has more than {MOST} elements or {MAX_MODES} modes; use a smaller one"


def _broken_unit(plan: CopyPlan, addresses: dict[str, int]) -> Iterator[str]:
    """Elements that are moved as one must be one on both sides."""
    p, unit = plan.problem, plan.smem_load
    if p.dst_strides[0] != 1:
        yield f"the plan relies on stride 1 of dst along mode 0, but this is {p}; make a plan for this tensor"
    if unit == 1:
        return
    others = (*p.src_strides[1:], *p.dst_strides[1:], p.extents[0], plan.tile[0])
    if p.src_strides[0] != 1 or any(x % unit for x in others):
        yield (
            f"the plan moves {unit} elements along mode 0 as one, but this is {p}, with the tile {text(plan.tile)}; "
            "use plan.replace(smem_load=1)"
        )
    for side, address in addresses.items():
        if address % (unit * p.element_bytes):
            yield (
                f"{side} begins at 0x{address:x}, but the plan moves {unit * p.element_bytes} bytes as one, and needs "
                "a multiple of them; make a plan for this tensor"
            )


def _broken_runs(plan: CopyPlan, tile: Packed) -> Iterator[str]:
    """Runs of the source must not meet in shared memory, and lie there as in memory, modulo what is put in at once."""
    count = plan.problem.element_bytes * plan.store_vector // tile.bytes
    if count > tile.tile[0]:
        yield (
            f"a word of dst has {count} elements, but the tile {text(plan.tile)} has only {tile.tile[0]} along mode 0; "
            "use a smaller store_vector"
        )
    reach = tile.src_run
    for i in sorted(tile.run_modes, key=lambda i: tile.shared[i]):
        if tile.shared[i] < reach + READ - 1:
            yield (
                f"smem is {plan.smem}, in which runs of the source along mode {i} begin {tile.shared[i]} bytes apart, "
                f"but each needs {reach} and {READ - 1} more; use a larger stride there"
            )
        if (tile.shared[i] - tile.src[i]) % tile.put:
            yield (
                f"smem is {plan.smem}, whose stride of {tile.shared[i]} bytes along mode {i} differs from that of src, "
                f"{tile.src[i]} bytes, by no multiple of the {tile.put} bytes that are put in at once; use "
                "another stride"
            )
        reach += (tile.tile[i] - 1) * tile.shared[i]
    if any(d < 1 for d, t in zip(tile.shared, tile.tile, strict=True) if t > 1):
        yield f"smem is {plan.smem}, but a packed copy needs positive strides"
