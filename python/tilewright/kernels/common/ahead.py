"""Plans compiled before they are launched: each kernel once, on all cores, without a GPU."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.runtime.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Outcome", "compile_ahead", "kernels_of"]


class Outcome(NamedTuple):
    """How many kernels were compiled, how many were there already, and which could not be compiled, each with why.

    `left` are those that were not begun in time.
    """

    compiled: int
    found: int
    failed: tuple[tuple[Any, Exception], ...]
    left: tuple[Any, ...] = ()


def kernels_of(plans: Iterable[Any]) -> list[Any]:
    """The plans of one kernel each that these are made of, one for each instantiation.

    >>> import numpy
    >>> from tilewright import kernels
    >>> plans = [kernels.gemm.plan(*2 * (numpy.zeros((n, n), numpy.float32),)) for n in (512, 256, 512)]
    >>> len(kernels_of(plans)) == len({plan.name for plan in plans})
    True
    """
    singles = (one for plan in plans for one in getattr(plan, "single_plans", (plan,)))
    return list({(type(one), one.name): one for one in singles}.values())


def compile_ahead(
    plans: Iterable[Any], arch: str, title: str, workers: int | None = None, until: float | None = None
) -> Outcome:
    """Compile the kernels of plans, as many at a time as there are cores, or `workers`, and keep them on disk.

    They are begun in their order; `until` is the time.monotonic() from which on none is. How far it is is shown under a
    title. What cannot be compiled does not stop the others. Where the user does (KeyboardInterrupt), what is being
    compiled is finished and kept, and nothing else is begun.
    """
    wanted = kernels_of(plans)
    show = Progress(title, len(wanted))
    counts, failed, left = {True: 0, False: 0}, [], []

    def begin(plan: Any) -> Any:
        return compile_plan(plan, arch) if until is None or time.monotonic() < until else None

    with closing(show), ThreadPoolExecutor(max(min(workers or cores(), len(wanted)), 1)) as pool:
        futures = {pool.submit(begin, plan): plan for plan in wanted}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                error = future.exception()
                if isinstance(error, Exception):
                    failed.append((futures[future], error))
                elif error is not None:
                    raise error
                elif future.result() is None:
                    left.append(futures[future])
                else:
                    counts[future.result().from_cache is not None] += 1
                show(done, f"{counts[True]} were there")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return Outcome(counts[False], counts[True], tuple(failed), tuple(left))


def compile_plan(plan: Any, arch: str) -> Any:
    """The program of a plan of one kernel."""
    return plan.compile(arch)


def cores() -> int:
    """The processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
