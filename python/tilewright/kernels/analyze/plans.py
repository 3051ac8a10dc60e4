"""`analyze` of a plan: every memory instruction of a launch, and what to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.analysis.arguments import whole
from tilewright.analysis.instructions import Analysis
from tilewright.analysis.totals.accesses import Accesses, narrowest
from tilewright.kernels.analyze.occupancy import occupancy
from tilewright.kernels.kernel import find_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright._typing import SupportsDLPack
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.common.plan import Plan
    from tilewright.runtime.program import Program

__all__ = ["analyze_plan"]


def analyze_plan(
    plan: Plan,
    *tensors: SupportsDLPack,
    bias: SupportsDLPack | None = None,
    addresses: Sequence[int] | None = None,
    device: DeviceFacts | None = None,
    registers: int | Program | None = None,
) -> Analysis:
    """Every memory instruction of a launch of a plan, with totals over the whole launch.

    The totals are exact: of ragged tiles and predicated accesses what they do, of misaligned tensors what their
    addresses make of it. They count what is requested of the caches and of shared memory, not what caches then save.

    Args:
        plan: of any registered kernel that has `accesses`.
        tensors: (src, dst) of a copy, (mA, mB) or (mA, mB, mC) of a GEMM; none: tensors of the plan's problem at
            `addresses`. bias: that of a GEMM.
        addresses: bytes, of (src, dst) or of (A, B, C, bias); None: multiples of 128. Those of A and B are as passed to
            kernels.gemm, also where the plan has exchanged them.
        device: the facts of the device that the occupancy is for, of tilewright.devices.DEVICES; None: an H200's.
        registers: of a thread, for the occupancy: 1 to 255, or the program that they are taken from, plan.compile(...);
            None: those of plan.compiled(device.arch), the program that this process has compiled, if it has.
    Returns: an Analysis with an instruction for each kind of access, whose scope is "the whole launch".
    Raises: ValueError where the plan does not fit the tensors, for registers that no thread has and for a program of
        another plan or architecture; TypeError for another kind of plan, of device or of number.
    Source: tilewright; the rules are those of `warp_access`.

    Examples:
        >>> import numpy as np
        >>> from tilewright import kernels
        >>> a = np.zeros((100, 64), np.float32)
        >>> found = analyze_plan(kernels.tiled_copy.plan(a, a.copy()), addresses=(0, 4))  # dst is moved by 4 bytes
        Traceback (most recent call last):
        ...
        ValueError: analyze: dst begins at 0x4, but the plan's accesses of 16 bytes need a multiple of 16; make a plan \
for this tensor
        >>> print(str(analyze_plan(kernels.tiled_copy.plan(a, a.copy()))).rpartition("occupancy")[0])
        direct copy: memory instructions of the whole launch
                 instruction  requests  lanes  sectors  ideal  lines  moved  useful
          load   LDG.E.128          50     32      800    800    200  25600   25600
          store  STG.E.128          50     32      800    800    200  25600   25600
        widest access: 16 bytes
        <BLANKLINE>
    """
    kernel = find_kernel(plan)
    if kernel is None or kernel.accesses is None:
        raise TypeError(f"analyze: expected a plan of a kernel that is analysed, but got {type(plan).__name__}")
    places = _numbers(addresses, len(kernel.tensors))
    if tensors:
        plan, operands = kernel.fit(plan, "analyze", *tensors, **({} if bias is None else {"bias": bias}))
        places = operands.addresses
    if kernel.conditions is not None:
        kernel.conditions(plan, places, "analyze")
    found: Accesses = kernel.accesses(plan, places)
    instructions = found.instructions
    widest, limit, limits = narrowest(found.tensors)
    return Analysis(
        instructions, title=found.title, scope="the whole launch", widest=widest, limit=limit,
        advice=found.advice(instructions, limits),
        occupancy=None if found.plan is None else occupancy(found.plan, device, registers, "analyze"),
    )  # fmt: skip


def _numbers(addresses: Sequence[int] | None, count: int) -> tuple[int, ...]:
    if addresses is None:
        return (0,) * count
    if not isinstance(addresses, (tuple, list)) or len(addresses) > count:
        raise TypeError(f"analyze: addresses = {addresses!r} must be at most {count} integers, in bytes")
    found = tuple(whole("analyze", f"addresses[{i}]", x) for i, x in enumerate(addresses))
    if any(x < 0 or x >= 1 << 62 for x in found):
        raise ValueError(f"analyze: addresses = {found} must be bytes from 0 on, below 2^62")
    return (*found, *(0,) * (count - len(found)))
