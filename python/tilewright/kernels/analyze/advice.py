"""The sentence that says what to change in a plan: where most is lost, and the layout that would not lose it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tilewright import _core
from tilewright.analysis.suggest.shared_memory import ranked_swizzles, suggest_padding
from tilewright.analysis.suggest.tile_access import Access
from tilewright.kernels.copy.accesses import skips
from tilewright.kernels.gemm.accesses import kept_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.kernels.copy.plan import CopyPlan
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.numeric import Numeric

WORTH = 0.05  # the part of all wavefronts or sectors from which on their loss is worth a sentence
ROW = 16  # bytes of a row of a matrix


class Loss(NamedTuple):
    """The instruction that loses the most, and which part of all wavefronts or sectors that is."""

    instruction: MemoryInstruction
    part: float


def _losses(found: Sequence[MemoryInstruction]) -> list[Loss]:
    """What each instruction loses, the most first; what is hardly worth a word is left out."""
    wavefronts = sum(x.wavefronts for x in found) or 1
    sectors = sum(x.sectors for x in found) or 1
    losses = [
        Loss(x, x.conflicts / wavefronts if x.memory == "shared" else x.excessive_sectors / sectors)
        for x in found
        if x.by_lanes or x.op == "tma"
    ]
    return sorted((loss for loss in losses if loss.part >= WORTH), key=lambda loss: -loss.part)


def _in_global(x: MemoryInstruction, limit: str) -> str:
    """Sectors that are moved for a part of their bytes; `limit`: what limits accesses of the same tensor."""
    per, ideal = x.sectors / x.requests, x.ideal_sectors / x.requests
    reason = f"; what limits accesses is {limit}" if limit else "; let neighbouring lanes access neighbouring elements"
    return f"'{x.name}': a request takes {per:.4g} sectors where {ideal:.4g} would do{reason}"


def _conflict(x: MemoryInstruction) -> str:
    ways = x.worst.ways if x.worst is not None else 1
    return f"'{x.name}' conflicts {ways} ways, {x.wavefronts} wavefronts instead of {x.ideal_wavefronts}"


def advice_on_copy(plan: CopyPlan, found: Sequence[MemoryInstruction], limits: Mapping[str, str]) -> str:
    """What to change in a copy's plan or its tensors; empty where nothing has to be. `limits`: by "src" and "dst"."""

    def on_sectors(x: MemoryInstruction) -> str:
        return _in_global(x, limits["dst" if x.op == "store" else "src"])

    said = _joined(found, on_sectors, lambda x: _conflict_in_copy(plan, x.instruction))
    if not skips(plan):
        return said
    step = f"'load' moves {plan.src_step} elements for each that is copied, since {limits['src']}"
    return "; ".join(x for x in (said, step) if x)


def _joined(
    found: Sequence[MemoryInstruction],
    on_sectors: Callable[[MemoryInstruction], str],
    on_conflict: Callable[[Loss], str],
) -> str:
    """What to do about the greatest loss in shared memory, and about that in global memory."""
    losses = _losses(found)
    shared = next((on_conflict(x) for x in losses if x.instruction.memory == "shared"), "")
    outside = next((on_sectors(x.instruction) for x in losses if x.instruction.memory == "global"), "")
    return "; ".join(x for x in (shared, outside) if x)


def _conflict_in_copy(plan: CopyPlan, x: MemoryInstruction) -> str:
    head = _conflict(x)
    layout = plan.smem.outer if isinstance(plan.smem, _core.ComposedLayout) else plan.smem
    assert layout is not None
    size = plan.problem.element_bytes
    other = f"{head}: deal the tile out to the threads in another order, with another store_tv"
    if plan.smem_load > 1 or not isinstance(layout.shape, tuple):
        return other
    best = suggest_padding(
        layout,
        Access(plan.load_tv, "store", plan.smem_store * size),
        Access(plan.store_tv, "load", size),
        dtype=cast("type[Numeric]", _Bytes(size)),
    )[0]
    return f"{head}: pad it to smem = {best.layout}" if best.layout != layout else other


class _Bytes:
    """An element type of so many bytes that mean nothing."""

    def __init__(self, count: int) -> None:
        self.bits = 8 * count


def advice_on_gemm(plan: GemmPlan, found: Sequence[MemoryInstruction], limits: Mapping[str, str]) -> str:
    """What to change in a GEMM's plan or its tensors; empty where nothing has to be. `limits`: by "A", "B" and "C"."""

    def on_sectors(x: MemoryInstruction) -> str:
        return _in_global(x, limits.get(_tensor_of(x), "")) if x.by_lanes else _in_boxes(x)

    return _joined(found, on_sectors, lambda x: _conflict_in_gemm(plan, x))


def _in_boxes(x: MemoryInstruction) -> str:
    """Sectors of boxes that hold no more bytes of the tensor than fewer would."""
    which = _tensor_of(x)
    return f"'{x.name}' moves {x.sectors} sectors where {x.ideal_sectors} would do; of {which}: {x.remedy}"


def _tensor_of(x: MemoryInstruction) -> str:
    """The tensor that a GEMM's instruction is about: "A" of "load A, into shared", "bias" of "load bias"."""
    return next((word for word in x.name.partition(",")[0].split() if word in ("A", "B", "C", "bias")), "")


def _conflict_in_gemm(plan: GemmPlan, x: Loss) -> str:
    head, which = _conflict(x.instruction), _tensor_of(x.instruction)
    find = _REMEDIES.get((plan.KERNEL, which))
    known = kept_of(plan).advice  # it does not depend on the tensors
    if find is not None and which not in known:
        known[which] = find(plan, which.lower())
    if find is not None and known[which]:
        return f"{head}: {known[which]}"
    why = "no field of the plan mends that, for the layout is the kernel's own"
    if find is not None:
        why = f"no padding of smem_{which.lower()} takes fewer for what is written and read together"
    return f"{head}: {why}; the conflicts are {100 * x.part:.2g} % of the launch's wavefronts in shared memory"


def _image(plan: Any, which: str) -> str:
    """The padding of the sums by which gemm_simt writes C; empty where none takes fewer wavefronts."""
    from tilewright.kernels.gemm.simt.image_advice import best_image

    best = best_image(plan)
    if best is None:
        return ""
    return f"pad its rows: smem_{which} = {best.layout} takes {best.wavefronts} wavefronts a tile, not {best.before}"


def _padding(plan: Any, which: str) -> str:
    """The padding under which gemm_simt writes and reads an operand without conflicts; it takes no swizzles."""
    from tilewright.kernels.gemm.simt.plan import by_cp_async

    tiled_copy, smem, wide, _, _, dtype = plan.side(which)
    tv, vector, _ = plan.copy_layout(which)
    shape, stride = smem.shape, smem.stride
    tile = _core.make_layout(tuple(shape[:2]), stride=tuple(stride[:2]))
    size = int(dtype.bits) // 8
    together = vector if wide and _steps_by_one(tile, tv) else 1
    put = Access(tv, "cp.async" if by_cp_async(tiled_copy) and together * size >= 4 else "store", together * size)
    rows = plan.rows if which == "a" else plan.columns
    steps = _core.make_layout(int(shape[1]), stride=1 * _core.E(1))  # along K, where alignment must hold too
    down = _down(rows)
    fragments = _core.make_layout([down[0], _core.make_layout([down[1], steps])])
    take = Access(fragments, "load", plan.fragment_vector(which) * size)
    padded = suggest_padding(tile, put, take, dtype=dtype)
    best = padded[0].layout
    if best == tile:
        return (
            "no padding helps, for the rows that a request reads lie in the same banks of the first-level cache; let "
            "neighbouring lanes read neighbouring elements"
        )
    row, depth = (int(d) for d in best.stride)
    step = max(int(_core.cosize(best)), row * int(shape[0]), depth * int(shape[1]))
    found = _core.make_layout(shape, stride=(row, depth, -(-step * size // ROW) * ROW // size))
    return f"pad the leading stride to {max(row, depth)}: smem_{which} = {found}"


def _steps_by_one(tile: Any, tv: Any) -> bool:
    """Whether a thread's first two values are neighbours in a tile."""
    first, second = (tv(0, value) for value in (0, 1))
    return int(tile(second)) - int(tile(first)) == 1


def _down(rows: Any) -> Any:
    """(thread, value) -> row as a layout into coordinates (row, k)."""

    def scale(stride: Any) -> Any:
        return tuple(map(scale, stride)) if isinstance(stride, tuple) else int(stride) * _core.E(0)

    return _core.make_layout(rows.shape, stride=scale(rows.stride))


def _swizzle(plan: Any, which: str) -> str:
    """The swizzle under which gemm_sm80 writes and reads an operand without conflicts."""
    from tilewright.kernels.gemm.sm80.fragments import contiguous_mode

    side = plan.sides["ab".index(which)]
    outer = side.smem.outer if isinstance(side.smem, _core.ComposedLayout) else side.smem
    tile = _core.make_layout([outer[0], outer[1]])
    size = side.bits // 8
    put = Access(side.load_tv, "cp.async" if side.is_async else "store", (side.vector if side.is_async else 1) * size)
    accesses = [put]
    if side.fragment.kind == "plain":
        together = contiguous_mode(side.smem, side.tile, side.bits) or 0
        units = _core.make_layout(side.fragment.units, stride=1 * _core.E(together))
        values = _core.make_layout([units, side.fragment.access])
        read = _core.make_layout([side.fragment.thread, values])
        accesses.append(Access(read, "load", side.fragment.units * size))
    else:
        along = _core.E(1) if side.fragment.kind == "ldmatrix" else _core.E(0)
        row = _core.make_layout(ROW // size, stride=1 * along)
        accesses.append(Access(_core.make_layout([side.fragment.thread, row]), "ldmatrix"))
    best = next(ranked_swizzles(tile, *accesses, dtype=side.dtype))
    s = best.swizzle
    return f"use Swizzle<{s.num_bits},{s.num_base},{s.num_shift}> in smem_{which}"


# By the kernel of a plan and the operand: what to do about conflicts, where a field of the plan decides on the layout.
_REMEDIES: dict[tuple[str, str], Callable[[Any, str], str]] = {
    ("simt", "A"): _padding,
    ("simt", "B"): _padding,
    ("simt", "C"): _image,
    ("sm80", "A"): _swizzle,
    ("sm80", "B"): _swizzle,
}
