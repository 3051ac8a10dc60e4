"""Plans measured on a GPU, and the winners kept on disk.

An entry holds the text of the winner, not the plan itself: what is read from disk only picks one of the plans that the
kernels offer for the problem. So an entry that is damaged, or from other versions, can at worst be ignored.
"""

from __future__ import annotations

import functools
import statistics
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._imported import imported_torch
from tilewright.cute.runtime import work_stream
from tilewright.kernels.common.ahead import compile_ahead
from tilewright.kernels.common.launch import addresses_of, facts_of, prepare
from tilewright.kernels.common.operands import CUDA, CUDA_MANAGED
from tilewright.kernels.gemm.choose.candidates import candidates, text_of
from tilewright.kernels.gemm.run import conditions
from tilewright.runtime.cache import default_cache
from tilewright.runtime.entry import digest
from tilewright.runtime.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.kernels.gemm.operands import GemmOperands
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.request import GemmRequest
    from tilewright.kernels.gemm.run import Plan

SCHEMA = "tilewright tuned gemm 1"
FINALISTS = 4
ROUNDS = 5
SAMPLE = 2e-3  # seconds of launches in one measurement
ACCESS = 16  # bytes: no plan relies on more alignment

_found: dict[Any, Plan | None] = {}


def tune(function: str, mA: Any, mB: Any, mC: Any, request: GemmRequest) -> Plan:
    """kernels.gemm.tune: see there."""
    from tilewright.kernels.gemm.choose.planned import planned

    operands, plan = planned(function, mA, mB, mC, request)
    if plan is None:
        raise ValueError(f"{function}: {operands.c} has no elements, so there is nothing to tune")
    if operands.c.device[0] not in (CUDA, CUDA_MANAGED):
        raise ValueError(
            f"{function}: mA lies on {operands.a.place}, but plans are measured on a GPU; pass CUDA tensors, or take "
            "kernels.gemm.plan"
        )
    known = stored(operands)
    if known is not None:
        return known
    plans = _candidates(operands)
    best = measured(plans, operands, request.stream)
    _keep(operands, best)
    return best


def _candidates(operands: GemmOperands) -> list[Plan]:
    """The plans to be measured; see candidates.py."""
    return candidates(operands.problem, operands.alignments, facts_of(operands.c.device[1]))


# ---- measuring ----


def measured(plans: list[Plan], operands: GemmOperands, stream: int | None) -> Plan:
    """The fastest of the plans on these operands: each measured once, the best of them several times in turn."""
    on = work_stream(operands.c.device[1]) if stream is None else stream
    clock = clock_of(operands.c.device[1], on)
    plans = [plan for plan in plans if _fits(plan, operands)]
    done = compile_ahead(plans, facts_of(operands.c.device[1]).arch, "kernels.gemm.tune: compiling")
    for _, error in done.failed:
        raise error
    launches = [_launch_of(plan, operands, on) for plan in plans]
    times: dict[int, list[float]] = {}
    show = Progress("kernels.gemm.tune", len(plans))
    with closing(show):
        for i, launch in enumerate(launches):
            if launch is not None:
                times[i] = [_sample(launch, clock)]
                best = min(times, key=lambda j: times[j][0])
                show(i + 1, _said(plans[best], times[best][0]))
        if not times:
            raise ValueError("kernels.gemm.tune: none of the plans could be launched")
        finalists = sorted(times, key=lambda i: times[i][0])[:FINALISTS]
        for _ in range(ROUNDS):
            for i in finalists:
                launch = launches[i]
                assert launch is not None
                times[i].append(_sample(launch, clock))
    return plans[min(finalists, key=lambda i: statistics.median(times[i][1:]))]


def _said(plan: Plan, seconds: float) -> str:
    """How fast a plan is, in a few words."""
    kernel = plan.kernel_plan.kernel_name
    return f"{plan.problem.flops / seconds / 1e12:.1f} TFLOP/s by {kernel} {plan.tiler_mnk}"


def _fits(plan: Plan, operands: GemmOperands) -> bool:
    """Whether a plan goes with these tensors."""
    try:
        conditions(plan, operands.addresses, "kernels.gemm.tune")
    except ValueError:
        return False
    return True


def _launch_of(plan: Plan, operands: GemmOperands, stream: int) -> Callable[[], None] | None:
    """A function that launches a plan, compiled; None for a plan that the device does not take."""
    try:
        prepared = prepare(plan, operands)
    except ValueError:
        return None
    addresses = addresses_of(operands)
    return lambda: prepared.launch(addresses, stream)


def _sample(launch: Callable[[], None], clock: Callable[[Callable[[], None]], float]) -> float:
    """Seconds of one launch, among as many as take about SAMPLE."""

    def repeat(count: int) -> Callable[[], None]:
        def body() -> None:
            for _ in range(count):
                launch()

        return body

    launch()  # the first one may load the kernel
    once = max(clock(repeat(1)), 1e-6)
    count = max(min(int(SAMPLE / once), 200), 1)
    return clock(repeat(count)) / count


def clock_of(device: int, stream: int) -> Callable[[Callable[[], None]], float]:
    """A function that tells how many seconds what another one enqueues on the stream takes there.

    By CUDA events where torch has some, else by waiting for the stream.
    """
    torch = imported_torch()
    if torch is not None and torch.cuda.is_available():
        # 0 and 1 are CUDA's own names of the default stream, of which torch makes no stream object.
        default = stream in (0, 1)
        on = torch.cuda.default_stream(device) if default else torch.cuda.ExternalStream(stream, device=device)

        def by_events(body: Callable[[], None]) -> float:
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record(on)
            body()
            end.record(on)
            end.synchronize()
            return float(begin.elapsed_time(end)) / 1e3

        return by_events

    def by_waiting(body: Callable[[], None]) -> float:
        _core.cuda.synchronize_stream(device, stream)
        begin = time.perf_counter()
        body()
        _core.cuda.synchronize_stream(device, stream)
        return time.perf_counter() - begin

    return by_waiting


# ---- keeping ----


def _general(problem: GemmProblem) -> GemmProblem:
    """The problem without the values of alpha and beta, of which only whether they are 1 and 0 makes another kernel."""
    epilogue = problem.epilogue
    return problem._replace(
        epilogue=epilogue._replace(alpha=1 if epilogue.alpha == 1 else 2, beta=0 if epilogue.beta == 0 else 1)
    )


def _subject(operands: GemmOperands) -> tuple[Any, ...]:
    """What a tuned plan is for: problem, alignments up to an access, device."""
    aligned = tuple(min(x, ACCESS) for x in operands.alignments)
    return _general(operands.problem), aligned, operands.c.device[1]


@functools.cache
def _environment(device: int) -> tuple[str, ...]:
    """The device's name, its driver and the kernels: what else a measurement depends on."""
    from tilewright.runtime.compiler import kernels_digest

    facts = facts_of(device)
    return facts.name, str(facts.capability), str(_core.cuda.driver_version()), kernels_digest()


def key_of(operands: GemmOperands) -> str:
    """The key of the cache's entry for a problem on a device."""
    problem, aligned, device = _subject(operands)
    return digest(SCHEMA, *_environment(device), str(problem), " ".join(map(str, aligned)))


def stored(operands: GemmOperands) -> Plan | None:
    """The plan that was measured to be the fastest for such operands on their device; None if none was."""
    subject = _subject(operands)
    if subject not in _found:
        cache = default_cache()
        sections = cache.get(key_of(operands)) if cache is not None else None
        wanted = sections.get("tuned") if sections is not None else None
        _found[subject] = None if wanted is None else _named(operands, wanted.decode("utf-8", "replace"))
    plan = _found[subject]
    return None if plan is None else plan.for_problem(operands.problem.swapped() if plan.swapped else operands.problem)


def _named(operands: GemmOperands, text: str) -> Plan | None:
    """The plan of that text, among those that the kernels offer."""
    general = operands._replace(problem=_general(operands.problem))
    return next((plan for plan in _candidates(general) if text_of(plan) == text), None)


def _keep(operands: GemmOperands, plan: Plan) -> None:
    general = _general(operands.problem)
    kept = plan.for_problem(general.swapped() if plan.swapped else general)
    _found[_subject(operands)] = kept
    cache = default_cache()
    if cache is not None:
        title = f"{kept.tiler_mnk} for {general}"
        cache.put(key_of(operands), {"tuned": text_of(kept).encode(), "title": title.encode()})
