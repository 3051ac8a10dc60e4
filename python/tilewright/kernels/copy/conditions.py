"""What a plan's kernel relies on: checked before it runs on tensors that it was not made for, or with other layouts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.kernels.copy.packed_conditions import require_packed

if TYPE_CHECKING:
    from tilewright.kernels.copy.plan import CopyPlan

ACCESS = 16  # bytes of the widest access
MAX_TILES = 2**31 - 1
MAX_TILE = 2**22  # elements


NUMBERS = {  # what the fields that are numbers must be at least
    "load_vector": 1, "store_vector": 1, "src_mode": 0, "dst_mode": 0, "src_step": -1, "dst_shift": 0, "smem_store": 1,
    "smem_load": 1, "tiles_in_run": 1, "tiles_of_cta": 1,
}  # fmt: skip


def is_extents(value: Any) -> bool:
    """Whether a value is a tuple of integers."""
    return isinstance(value, tuple) and all(type(each) is int for each in value)


def is_given_copy(value: Any) -> bool:
    """Whether a value is a TiledCopy, or None."""
    if value is None:
        return True
    from tilewright.cute.tiled.tiled_copy import TiledCopy

    return isinstance(value, TiledCopy)


def is_tv(value: Any) -> bool:
    """Whether a value is a static layout of two modes."""
    return isinstance(value, _core.Layout) and _core.rank(value) == 2 and _core.is_static(value)


def require_fields(plan: CopyPlan) -> None:
    """ValueError where a field is out of its range; whether they fit together is looked at later."""

    def refuse(name: str, needed: str) -> None:
        raise ValueError(f"CopyPlan: {name} is {getattr(plan, name)!r}, but it must be {needed}")

    if plan.kernel not in ("direct", "staged", "packed") or (plan.kernel == "direct") != (plan.smem is None):
        refuse("kernel", '"staged" or "packed" where there is smem, else "direct"')
    if not plan.tile or not all(0 < t <= MAX_TILE for t in plan.tile):
        refuse("tile", f"a tuple of extents from 1 to {MAX_TILE}")
    for name, least in NUMBERS.items():
        most = len(plan.tile) if name.endswith("_mode") else 2**31
        if not least <= getattr(plan, name) < most:
            refuse(name, f"from {least} to {most - 1}")
    for name in ("load_tv", "store_tv"):
        if int(_core.size(getattr(plan, name))) > MAX_TILE:
            refuse(name, f"of at most {MAX_TILE} threads and values together")


def require(plan: CopyPlan, src_address: int, dst_address: int, function: str) -> None:
    """ValueError, in the name of `function`, where a plan does not fit its problem at these addresses."""
    p = plan.problem
    if len(p.extents) != len(plan.tile):
        raise ValueError(
            f"{function}: the plan is for tensors of {len(plan.tile)} modes (tile {text(plan.tile)}), but these "
            f"have {len(p.extents)}: {p}; make a plan for them"
        )
    if plan.kernel == "packed":
        require_packed(plan, src_address, dst_address, function)
        return
    _require_side(plan, "src", src_address + p.src_offset * p.element_bytes, function)
    _require_side(plan, "dst", dst_address + p.dst_offset * p.element_bytes, function)
    _require_shift(plan, function)
    _require_predicates(plan, function)
    if plan.ctas > MAX_TILES:
        raise ValueError(f"{function}: {plan.ctas} tiles are more than a grid has ({MAX_TILES}); use larger tiles")


def _require_side(plan: CopyPlan, side: str, address: int, function: str) -> None:
    """Strides that are built into the kernel, and the alignment of every access."""
    p, size = plan.problem, plan.problem.element_bytes
    what, mend = "plan", "make a plan for this tensor"
    if plan.tiled_copy is not None:
        what, mend = "TiledCopy", f"use an atom of {8 * size} bits, or pass an aligned tensor"
    if side == "src":
        strides, mode, vector, step, aligned = (
            p.src_strides, plan.src_mode, plan.load_vector, plan.src_step, plan.src_aligned
        )  # fmt: skip
        built_in = vector > 1 or step == 1
    else:
        strides, mode, vector, step, aligned = p.dst_strides, plan.dst_mode, plan.store_vector, 1, not plan.dst_shift
        built_in = vector > 1 or plan.dst_shift > 0
    if step >= 0 and built_in and strides[mode] != step:
        raise ValueError(
            f"{function}: the plan relies on stride {step} of {side} along mode {mode}, but this is {p}; make "
            "a plan for this tensor"
        )
    width = vector * max(step, 1) * size
    if width > ACCESS and step != -1:
        raise ValueError(f"{function}: the plan's accesses of {side} have {width} bytes, but {ACCESS} are the most")
    needed = vector * step * size
    if not aligned or needed <= size:
        return
    if address % needed:
        raise ValueError(
            f"{function}: {side} begins at 0x{address:x}, but the {what}'s accesses of {needed} bytes need a multiple "
            f"of {needed}; {mend}"
        )
    odd = [i for i, d in enumerate(strides) if i != mode and p.extents[i] > 1 and d * size % needed]
    if odd:
        raise ValueError(
            f"{function}: stride {strides[odd[0]]} of mode {odd[0]} of {side} is {strides[odd[0]] * size} bytes, no "
            f"multiple of the {what}'s accesses of {needed} bytes; {mend}"
        )


def _require_shift(plan: CopyPlan, function: str) -> None:
    shift, tile = plan.dst_shift, plan.tile[plan.dst_mode]
    if shift and (shift < 0 or shift & (shift - 1) or tile % shift or shift % plan.store_vector):
        raise ValueError(
            f"{function}: dst_shift is {shift}, but it must be a power of two that divides the tile's {tile} "
            f"coordinates along mode {plan.dst_mode}, and a multiple of store_vector, {plan.store_vector}"
        )


def _require_predicates(plan: CopyPlan, function: str) -> None:
    if plan.predicated:
        return
    p = plan.problem
    if any(e % t for e, t in zip(p.extents, plan.tile, strict=True)):
        raise ValueError(
            f"{function}: the plan has no predicates, so its tile {text(plan.tile)} must divide the extents "
            f"{text(p.extents)}; use plan.replace(predicated=True)"
        )
    if plan.ctas != math.prod(plan.tiles):
        raise ValueError(
            f"{function}: the plan has no predicates, so its runs of {plan.tiles_in_run} tiles must divide the "
            f"{plan.tiles[0]} tiles along mode 0 evenly; use plan.replace(predicated=True)"
        )


def _parts(smem: Any) -> tuple[Any, int, Any]:
    """A shared-memory layout as its linear part, the offset, and the swizzle (None: there is none)."""
    if isinstance(smem, _core.ComposedLayout):
        return smem.outer, int(smem.offset), smem.inner
    return smem, 0, None


def _flat(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def require_shared(plan: CopyPlan, function: str) -> None:
    """ValueError where shared memory does not hold the tile, or its accesses would meet other elements.

    Evaluated on the CPU any layout of shared memory works, element by element; the kernel's accesses need more. What a
    packed copy needs is looked at wherever its tensors are.
    """
    if plan.kernel == "packed":
        return
    layout, offset, swizzle = _parts(plan.smem)
    shape, strides = _flat(layout.shape), _flat(layout.stride)
    wanted = list(plan.tile)
    wanted[plan.dst_mode] += plan.dst_shift
    if any(isinstance(x, tuple) for x in (*shape, *strides)) or len(shape) != len(wanted):
        raise ValueError(
            f"{function}: smem is {plan.smem}, but it needs one plain mode for each mode of the tile {text(plan.tile)}"
        )
    if any(int(s) < w for s, w in zip(shape, wanted, strict=True)) or offset < 0 or any(int(d) < 0 for d in strides):
        raise ValueError(
            f"{function}: smem is {plan.smem}, but it must hold the tile {text(tuple(wanted))} from offset 0 on"
        )
    width = max(plan.smem_store, plan.smem_load)
    others = [int(d) for i, d in enumerate(strides) if i != plan.src_mode and int(shape[i]) > 1]
    together = int(strides[plan.src_mode]) == 1 and not any(x % width for x in (*others, offset))
    if width > 1 and not (together and (swizzle is None or swizzle.num_base >= width.bit_length() - 1)):
        raise ValueError(
            f"{function}: accesses to shared memory move {width} elements along mode {plan.src_mode} at once, but in "
            f"smem {plan.smem} they do not lie together at a multiple of {width}; use "
            "plan.replace(smem_store=1, smem_load=1)"
        )


def constant_step(plan: CopyPlan) -> int:
    """The distance in shared memory between the elements of an access along dst_mode; 0 if that is not constant.

    Where there is a swizzle, the step must touch neither the bits that it reads nor those that it changes, whatever the
    other modes have added.
    """
    layout, offset, swizzle = _parts(plan.smem)
    shape, strides = _flat(layout.shape), _flat(layout.stride)
    if any(isinstance(x, tuple) for x in (*shape, *strides)):
        return 0
    step = int(strides[plan.dst_mode])
    if swizzle is None:
        return step
    if plan.dst_shift or offset or swizzle.num_shift < 0 or step < 1 or step & (step - 1):
        return 0
    reach = step * plan.store_vector
    others = [(int(s) - 1, int(d)) for i, (s, d) in enumerate(zip(shape, strides, strict=True)) if i != plan.dst_mode]
    below = sum(n * d for n, d in others if d < step)
    free = below < step and all(d % reach == 0 for n, d in others if n and d >= step)
    changed, read = 1 << (swizzle.num_base + swizzle.num_bits), 1 << (swizzle.num_base + swizzle.num_shift)
    return step if free and step % changed == 0 and reach <= read else 0
