"""The sentence that says what to change in a copy: where most is lost, and the layout that would not lose it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tilewright import _core
from tilewright.analysis.suggest.shared_memory import suggest_padding
from tilewright.analysis.suggest.tile_access import Access
from tilewright.kernels.analyze.advice import conflict, in_global, joined
from tilewright.kernels.copy.accesses import skips

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.kernels.copy.plan import CopyPlan
    from tilewright.numeric import Numeric

__all__ = ["advice_on_copy"]


def advice_on_copy(plan: CopyPlan, found: Sequence[MemoryInstruction], limits: Mapping[str, str]) -> str:
    """What to change in a copy's plan or its tensors; empty where nothing has to be. `limits`: by "src" and "dst"."""

    def on_sectors(x: MemoryInstruction) -> str:
        return in_global(x, limits["dst" if x.op == "store" else "src"])

    said = joined(found, on_sectors, lambda x: _conflict_in_copy(plan, x.instruction))
    if not skips(plan):
        return said
    step = f"'load' moves {plan.src_step} elements for each that is copied, since {limits['src']}"
    return "; ".join(x for x in (said, step) if x)


def _conflict_in_copy(plan: CopyPlan, x: MemoryInstruction) -> str:
    head = conflict(x)
    if plan.kernel == "packed":
        return f"{head}: let rows of the tile begin at other offsets, with another smem"
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
