"""The sentence that says what to change in a GEMM: where most is lost, and the layout that would not lose it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from tilewright.kernels.analyze.advice import Loss, conflict, in_global, joined
from tilewright.kernels.gemm.accesses import kept_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.kernels.gemm.plan import GemmPlan

Remedies: TypeAlias = Mapping[str, Callable[[Any, str], str]]

__all__ = ["Remedies", "advice_on_gemm"]


def advice_on_gemm(
    plan: GemmPlan, remedies: Remedies, found: Sequence[MemoryInstruction], limits: Mapping[str, str]
) -> str:
    """What to change in a GEMM's plan or its tensors; empty where nothing has to be.

    `remedies`: by "A", "B" or "C", what to do about conflicts where a field of the plan decides on the layout; called
    with the plan and the operand in lower case. `limits`: by "A", "B" and "C".
    """

    def on_sectors(x: MemoryInstruction) -> str:
        return in_global(x, limits.get(_tensor_of(x), "")) if x.by_lanes else _in_boxes(x)

    return joined(found, on_sectors, lambda x: _conflict_in_gemm(plan, remedies, x))


def _in_boxes(x: MemoryInstruction) -> str:
    """Sectors of boxes that hold no more bytes of the tensor than fewer would."""
    which = _tensor_of(x)
    return f"'{x.name}' moves {x.sectors} sectors where {x.ideal_sectors} would do; of {which}: {x.remedy}"


def _tensor_of(x: MemoryInstruction) -> str:
    """The tensor that a GEMM's instruction is about: "A" of "load A, into shared", "bias" of "load bias"."""
    return next((word for word in x.name.partition(",")[0].split() if word in ("A", "B", "C", "bias")), "")


def _conflict_in_gemm(plan: GemmPlan, remedies: Remedies, x: Loss) -> str:
    head, which = conflict(x.instruction), _tensor_of(x.instruction)
    find = remedies.get(which)
    known = kept_of(plan).advice  # it does not depend on the tensors
    if find is not None and which not in known:
        known[which] = find(plan, which.lower())
    if find is not None and known[which]:
        return f"{head}: {known[which]}"
    why = "no field of the plan mends that, for the layout is the kernel's own"
    if find is not None:
        why = f"no padding of smem_{which.lower()} takes fewer for what is written and read together"
    return f"{head}: {why}; the conflicts are {100 * x.part:.2g} % of the launch's wavefronts in shared memory"
