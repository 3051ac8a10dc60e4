"""The rule by which a GEMM's plan is chosen. See docs/gemm.md.

1. A and B change places (C transposed) where C's rows are few, or where C is contiguous along M: `turned`. Up to WIDE
   rows the kernel of wgmma is asked for both ways, and the one that is expected to be faster is taken.
2. The device's kernels are asked in the order of `gemm_devices.GENERATIONS`: wgmma and TMA, mma.sync, FMA. Each chooses
   its tile, or refuses what it does not take. The first that takes the problem, in either orientation, does it.
3. Where FMA would load A or B element by element, what has no accesses of 16 bytes is copied before, turned along M and
   N, if that is little of the time.
4. Where the last few rows or columns of a product by FMA would be tiles of their own, they are a GEMM of their own, if
   that is expected to be faster.
5. Where a faster kernel refuses A or B as they lie in memory, but takes copies of them in rows that are contiguous and
   aligned, and where the copies are expected to cost less than the slower kernel loses, they are copied before; where
   it takes either one as it lies, but not both, one of them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, cast

from tilewright.kernels.gemm.choose.devices import generation_of
from tilewright.kernels.gemm.choose.estimate import LAUNCH, seconds
from tilewright.numeric import Float32, TFloat32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.run import Plan
    from tilewright.kernels.gemm.sm90.build import GemmSm90
    from tilewright.numeric import Numeric

    Alignments = tuple[int, int, int]

EDGE_TILE, MOST_OF_EDGE = 128, 16  # rows or columns of a tile, and of what may be a GEMM of its own behind whole ones
EDGE_LAUNCH, EDGE_GAIN = 1.5, 0.995  # microseconds; the part of the time that must be left
ROW = 16  # bytes of whose multiple TMA wants rows to begin
# Of the expected time: more than that is not gained by wide accesses, where single elements lie along K, or not.
COPYING, COPYING_ALONG = 0.1, 0.075
UNALIGNED = 2.0  # times as long as expected, where a kernel loads single elements
FEW = 64  # rows of C: the other side takes the rows of an MMA, which are 64 for wgmma
WIDE = 640  # up to so many rows it is worth asking which side should be the columns, of which wgmma takes any eights


def module(kernel: str) -> Any:
    """The module of a kernel: gemm_simt, gemm_sm80 or gemm_sm90."""
    return importlib.import_module(f"tilewright.kernels.gemm.{kernel}.build")


def module_of(op: Any) -> Any:
    """The module of the kernel that multiplies by an operation.

    >>> from tilewright import Float32, cute
    >>> module_of(cute.nvgpu.MmaUniversalOp(Float32)).__name__
    'tilewright.kernels.gemm.simt.build'
    """
    from tilewright.cute.atoms.mma_ops import MmaUniversalOp
    from tilewright.cute.atoms.mma_warpgroup import WarpgroupMmaOp

    if isinstance(op, MmaUniversalOp):
        return module("simt")
    return module("sm90" if isinstance(op, WarpgroupMmaOp) else "sm80")


def turned(problem: GemmProblem) -> bool:
    """Whether to plan for C transposed: where C has few rows and more columns, or else where it is contiguous along M.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> [turned(problem_of(m, 256, 64, Float16, c=c)) for m, c in ((16, "n"), (256, "n"), (256, "m"))]
    [True, False, True]
    """
    if min(problem.m, problem.n) <= FEW and problem.m != problem.n:
        return problem.m < problem.n
    return problem.c_strides[0] == 1 and problem.c_strides[1] != 1


def orientations(problem: GemmProblem, alignments: Alignments) -> Iterator[tuple[GemmProblem, Alignments, bool]]:
    """The problem and that of C transposed, with the alignments and whether it is swapped; the preferred one first."""
    a, b, c = alignments
    both = ((problem, alignments, False), (problem.swapped(), (b, a, c), True))
    yield from reversed(both) if turned(problem) else both


def choose_gemm(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> Plan:
    """The plan for a problem with tensors at addresses of these alignments, on a device."""
    refused: list[str] = []
    for kernel in generation_of(facts).kernels:
        plan = _ask(kernel, problem, alignments, facts)
        if plan is not None:
            packed = _packed(refused, problem, alignments, facts, expected(plan, facts))
            if packed is not None or kernel != "simt":
                return packed or plan
            return (
                _edged(problem, alignments, facts)
                or _turned_copies(problem, alignments, facts, expected(plan, facts))
                or plan
            )
        refused.append(kernel)
    packed = _packed(refused, problem, alignments, facts, float("inf"))
    if packed is not None:
        return packed
    if problem.a_type is TFloat32:  # allowed, but the device has none: then not in TF32
        return choose_gemm(_without_tf32(problem), alignments, facts)
    raise ValueError(f"kernels.gemm: no kernel of sm_{facts.capability} takes {problem}")


def _without_tf32(problem: GemmProblem) -> GemmProblem:
    return problem._replace(a_type=Float32, b_type=Float32)


def _ask(kernel: str, problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> GemmPlan | None:
    """The plan of one kernel in the orientation that is preferred, else in the other one.

    Of wgmma the one that is expected to be faster, where one side has few rows, but not so few that it is clear, and
    where C is not read, which was not measured across its rows.
    """
    both = kernel == "sm90" and FEW < min(problem.m, problem.n) <= WIDE and not problem.epilogue.beta
    found: list[GemmPlan] = []
    for view, aligned, swapped in orientations(problem, alignments):
        plan: GemmPlan | None = module(kernel).choose(view, aligned, facts)
        if plan is not None:
            found.append(plan.replace(swapped=True) if swapped else plan)
            if not both:
                break
    return min(found, key=lambda plan: expected(plan, facts), default=None)


def expected(plan: GemmPlan, facts: DeviceFacts) -> float:
    """The seconds that a plan is expected to take on a device, by its kernel's own model where it has one."""
    if plan.KERNEL == "sm90":
        from tilewright.kernels.gemm.sm90.choose import expected as of_its_own

        return of_its_own(cast("GemmSm90", plan), facts)
    return seconds(plan.problem, plan.tiler_mnk, plan.KERNEL, facts)


def _packed(
    kernels: list[str], problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, bound: float
) -> Plan | None:
    """The plan by copies of what TMA does not take, and a kernel that refused them; None if it is slower."""
    from tilewright.kernels.gemm.composite.padded import PackedGemm, pack, packing_seconds

    p = problem
    lie = _lies(p.a_strides, p.a_type, alignments[0]), _lies(p.b_strides, p.b_type, alignments[1])
    sides = lie[0] is None, lie[1] is None
    if lie == ("through registers",) * 2:  # of one operand only; the other one, which is smaller, is copied
        sides = min(((False, True), (True, False)), key=lambda x: packing_seconds(p, x, facts))
    if not any(sides):
        return None
    bound = LAUNCH + UNALIGNED * (bound - LAUNCH)
    cost = packing_seconds(p, sides, facts)
    packed, aligned = pack(p, alignments, sides)
    for kernel in kernels:
        gemm = _ask(kernel, packed, aligned, facts) if cost < bound else None
        if gemm is not None and cost + expected(gemm, facts) < bound:
            return PackedGemm.of(p, alignments, sides, gemm)
    return None


def _turned_copies(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, seconds: float) -> Plan | None:
    """The plan of gemm_simt by copies in whole accesses; None where it has those, or where they take too much time."""
    from tilewright.kernels.gemm.composite.padded import PackedGemm, pack

    p, sides = problem, _turned_sides(problem, alignments, facts, seconds)
    if not any(sides):
        return None
    view, aligned, swapped = next(orientations(*pack(p, alignments, sides, is_turned=True)))
    padded = (sides[1], sides[0]) if swapped else sides
    gemm = module("simt").choose(view, aligned, facts, padded)
    return PackedGemm.of(p, alignments, sides, gemm.replace(swapped=swapped))


def _turned_sides(
    problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, seconds: float
) -> tuple[bool, bool]:
    """Which of A and B are copied, turned, before gemm_simt: what has no accesses of 16 bytes, if that is worth it."""
    from tilewright.kernels.gemm.composite.padded import packing_seconds

    p, strides = problem, (problem.a_strides, problem.b_strides)
    sides = (
        _is_loose(p.m, p.k, p.a_strides, p.a_type, alignments[0]),
        _is_loose(p.n, p.k, p.b_strides, p.b_type, alignments[1]),
    )
    along_k = any(loose and d[1] == 1 for loose, d in zip(sides, strides, strict=True))
    limit = (COPYING if along_k else COPYING_ALONG) * seconds
    if p.a_type is not Float32 or p.k == 0 or not any(sides) or packing_seconds(p, sides, facts) > limit:
        return False, False
    return sides


def _time_by_simt(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> float:
    """The microseconds that gemm_simt is expected to take, with copies where it would be given them."""
    from tilewright.kernels.gemm.composite.padded import pack, packing_seconds
    from tilewright.kernels.gemm.simt.model import least_time

    estimate = seconds(problem, (EDGE_TILE, EDGE_TILE, 8), "simt", facts)
    sides = _turned_sides(problem, alignments, facts, estimate)
    copying = packing_seconds(problem, sides, facts) * 1e6 if any(sides) else 0.0
    packed, aligned = pack(problem, alignments, sides, is_turned=True) if any(sides) else (problem, alignments)
    view, aligned, swapped = next(orientations(packed, aligned))
    return copying + least_time(view, aligned, facts, (sides[1], sides[0]) if swapped else sides)


def _edged(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> Plan | None:
    """The plan whose last few columns, or rows, are a GEMM of their own; None where that is not faster."""
    from tilewright.kernels.gemm.composite.residue import EdgedGemm, split

    p = problem
    if p.a_type is not Float32 or p.k == 0:
        return None
    whole = None
    for along, extent in ((1, p.n), (0, p.m)):
        if extent < EDGE_TILE or not 0 < extent % EDGE_TILE <= MOST_OF_EDGE:
            continue
        parts = split(p, along, extent // EDGE_TILE * EDGE_TILE)
        times = [_time_by_simt(part.problem, part.alignments(alignments), facts) for part in parts]
        whole = _time_by_simt(p, alignments, facts) if whole is None else whole
        if sum(times) + EDGE_LAUNCH < EDGE_GAIN * whole:
            gemm, edge = (choose_gemm(part.problem, part.alignments(alignments), facts) for part in parts)
            return EdgedGemm(
                problem=p, gemm=_as_of(gemm, p, facts), edge=edge, along=along, begin=extent // EDGE_TILE * EDGE_TILE
            )
    return None


def _as_of(plan: Plan, whole: GemmProblem, facts: DeviceFacts) -> Plan:
    """The plan with sums as short as those of the whole problem, of which it does most."""
    from tilewright.kernels.gemm.composite.plan import CompositeGemm
    from tilewright.kernels.gemm.simt.plan import GemmSimt

    if isinstance(plan, CompositeGemm):
        return plan.replace(gemm=_as_of(plan.gemm, whole, facts))
    return module("simt").promoted(plan, facts, whole) if isinstance(plan, GemmSimt) else plan


def _is_loose(rows: int, k: int, strides: tuple[int, ...], dtype: type[Numeric], alignment: int) -> bool:
    """Whether an operand does not lie so that it is loaded by accesses of 16 bytes."""
    along = 1 if strides[1] == 1 else 0
    elements = ((rows, k)[along], *(d for mode, d in enumerate(strides) if mode != along))
    return strides[along] != 1 or any(x % ROW for x in (alignment, *(d * dtype.bits // 8 for d in elements)))


def _lies(strides: tuple[int, ...], dtype: type[Numeric], alignment: int) -> str | None:
    """How TMA and wgmma take an operand as it lies: None where its rows are not contiguous or not aligned.

    "as it is" along K, or of 16 bits along M or N; TFloat32 along M or N "through registers".
    """
    size = dtype.bits // 8
    along = 1 if strides[1] == 1 else 0 if strides[0] == 1 and (size == 2 or dtype is TFloat32) else None
    others = [d for mode, d in enumerate(strides) if mode != along]
    if along is None or alignment % ROW or any(d < 0 or d * size % ROW for d in others):
        return None
    return "through registers" if along == 0 and size == 4 else "as it is"


def ranked(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> list[GemmPlan]:
    """All plans that the device's kernels offer for a problem, the one that is expected to be the fastest first."""
    found = []
    for kernel in generation_of(facts).kernels:
        for view, aligned, swapped in orientations(problem, alignments):
            for plan in module(kernel).variants(view, aligned, facts):
                if plan.shared_bytes <= facts.shared_bytes:
                    found.append(plan.replace(swapped=True) if swapped else plan)
    if not found and problem.a_type is TFloat32:
        return ranked(_without_tf32(problem), alignments, facts)
    return sorted(found, key=lambda plan: expected(plan, facts))
