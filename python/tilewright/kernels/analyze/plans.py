"""`analyze` of a plan: every memory instruction of a launch, and what to change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright.analysis.instructions import Analysis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright._typing import SupportsDLPack
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.copy.plan import CopyPlan
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.run import Plan
    from tilewright.runtime.program import Program

__all__ = ["analyze_plan"]

WIDEST = 16  # bytes


def analyze_plan(
    plan: Plan | CopyPlan,
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
        plan: a CopyPlan, a GemmPlan, a PackedGemm or an EdgedGemm.
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
    from tilewright.kernels.copy.plan import CopyPlan
    from tilewright.kernels.gemm.composite.plan import CompositeGemm
    from tilewright.kernels.gemm.plan import GemmPlan

    if isinstance(plan, CopyPlan):
        return _copy(plan, tensors, addresses, device, registers)
    if isinstance(plan, (GemmPlan, CompositeGemm)):
        return _gemm(plan, tensors, bias, addresses, device, registers)
    raise TypeError(f"analyze: expected a plan of a copy or a GEMM, but got {type(plan).__name__}")


def _copy(
    plan: CopyPlan, tensors: Sequence[Any], addresses: Sequence[int] | None, device: Any, registers: Any
) -> Analysis:
    from tilewright.kernels.analyze.advice import advice_on_copy
    from tilewright.kernels.analyze.occupancy import occupancy
    from tilewright.kernels.copy.accesses import copy_instructions

    memory = None
    src, dst = _numbers(addresses, 2)
    if tensors:
        if len(tensors) != 2:
            raise TypeError(f"analyze: a copy has two tensors, src and dst, but {len(tensors)} are given")
        plan, a, b = plan.fit(*tensors)
        src, dst, memory = a.address, b.address, a.reach()
    plan.require(src, dst, "analyze")
    p = plan.problem
    found = copy_instructions(plan, src, dst, memory)
    starts = (src + p.src_offset * p.element_bytes, dst + p.dst_offset * p.element_bytes)
    widest, limit, limits = _narrowest(
        ("src", starts[0], p.extents, p.src_strides, p.element_bytes),
        ("dst", starts[1], p.extents, p.dst_strides, p.element_bytes),
    )
    return Analysis(
        found, title=f"{plan.kernel} copy", scope="the whole launch", widest=widest, limit=limit,
        advice=advice_on_copy(plan, found, limits), occupancy=occupancy(plan, device, registers, "analyze"),
    )  # fmt: skip


def _numbers(addresses: Sequence[int] | None, count: int) -> tuple[int, ...]:
    from tilewright.analysis.arguments import whole

    if addresses is None:
        return (0,) * count
    if not isinstance(addresses, (tuple, list)) or len(addresses) > count:
        raise TypeError(f"analyze: addresses = {addresses!r} must be at most {count} integers, in bytes")
    found = tuple(whole("analyze", f"addresses[{i}]", x) for i, x in enumerate(addresses))
    if any(x < 0 or x >= 1 << 62 for x in found):
        raise ValueError(f"analyze: addresses = {found} must be bytes from 0 on, below 2^62")
    return (*found, *(0,) * (count - len(found)))


def _gemm(
    plan: Any, tensors: Sequence[Any], bias: Any, addresses: Sequence[int] | None, device: Any, registers: Any
) -> Analysis:
    from tilewright.kernels.analyze.advice import advice_on_gemm
    from tilewright.kernels.analyze.occupancy import occupancy
    from tilewright.kernels.gemm.composite.plan import CompositeGemm

    places = _numbers(addresses, 4)
    if tensors:
        plan, places = _fitted(plan, tensors, bias)
    gemm: GemmPlan = plan
    a, b, c, v = places
    if isinstance(plan, CompositeGemm):
        plan.require(a, b, c, "analyze")
        found, own, (a, b) = plan.instructions(a, b, c, v)
        gemm = plan.kernel_plan
    else:
        from tilewright.kernels.gemm.accesses import gemm_instructions

        a, b = (b, a) if plan.swapped else (a, b)
        plan.require(a, b, c, "analyze")
        own = found = gemm_instructions(plan, (a, b, c, v))
    p, batch = gemm.problem, gemm.problem.batch
    widest, limit, limits = _narrowest(
        ("A", a, (p.m, p.k, *batch), p.a_strides, int(p.a_type.bits) // 8),
        ("B", b, (p.n, p.k, *batch), p.b_strides, int(p.b_type.bits) // 8),
        ("C", c, (p.m, p.n, *batch), p.c_strides, int(p.c_type.bits) // 8),
    )
    return Analysis(
        found, title=f"gemm_{gemm.KERNEL}", scope="the whole launch", widest=widest, limit=limit,
        advice=advice_on_gemm(gemm, own, limits), occupancy=occupancy(gemm, device, registers, "analyze"),
    )  # fmt: skip


def _fitted(plan: Any, tensors: Sequence[Any], bias: Any) -> tuple[Any, tuple[int, ...]]:
    """The plan for these tensors, and their addresses."""
    from tilewright.kernels.gemm.output import empty_output
    from tilewright.kernels.gemm.run import _operands, fitted

    if len(tensors) not in (2, 3):
        raise TypeError(f"analyze: a GEMM has the tensors mA, mB and, if it exists, mC, but {len(tensors)} are given")
    a, b = tensors[:2]
    c = tensors[2] if len(tensors) == 3 else empty_output("analyze", a, b, plan.problem.c_type)
    operands = _operands("analyze", plan, a, b, c, bias, None)
    return fitted(plan, operands, "analyze"), operands.addresses


Tensor = tuple[str, int, tuple[int, ...], tuple[int, ...], int]  # name, address, extents, strides, bytes of an element


def _narrowest(*tensors: Tensor) -> tuple[int, str, dict[str, str]]:
    """The widest access that is legal in all tensors, what limits it, and what limits the accesses of each of them."""
    widths, limits = {}, {}
    for tensor in tensors:
        name = tensor[0]
        widths[name], why = widest_legal(*tensor[1:])
        limits[name] = f"{name}: {why}" if why else ""
    narrowest = min(widths, key=lambda name: widths[name])
    return widths[narrowest], limits[narrowest], limits


def widest_legal(address: int, extents: Sequence[int], strides: Sequence[int], size: int) -> tuple[int, str]:
    """The widest access of neighbouring elements that is aligned everywhere in a tensor, and what makes it no wider.

    >>> widest_legal(0, (64, 64), (66, 1), 4)
    (8, 'stride 66 of mode 0 is 264 bytes, no multiple of 16')
    >>> widest_legal(4, (64, 64), (64, 1), 4)
    (4, 'it begins at 0x4, no multiple of 8')
    """
    count = math.prod(extents)
    if count < 2:  # of no elements, K = 0, there is no access
        return (size, "one element") if count else (WIDEST, "")
    modes = [i for i, (e, d) in enumerate(zip(extents, strides, strict=True)) if d == 1 and e > 1]
    if not modes:
        return size, "no mode has stride 1"
    width = size
    while width < WIDEST:
        wanted = 2 * width
        if address % wanted:
            return width, f"it begins at {address:#x}, no multiple of {wanted}"
        for i, (e, d) in enumerate(zip(extents, strides, strict=True)):
            if i != modes[0] and e > 1 and d * size % wanted:
                return width, f"stride {d} of mode {i} is {d * size} bytes, no multiple of {wanted}"
        width = wanted
    return width, ""
