"""kernels.gemm.calibrate: the numbers of a device, measured on it within a given time and kept for later processes.

Kernels are compiled first, on all cores, so that nothing is compiled while the device is measured. What is not compiled
or measured in time is left out, the least telling first (samples.py has the order); a model of which too little was
measured keeps the package's numbers, and so does one whose fitted numbers choose no faster plans.
"""

from __future__ import annotations

import datetime
import functools
import time
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from tilewright import _core
from tilewright.cute.runtime import current_device
from tilewright.kernels.common import calibration
from tilewright.kernels.common.ahead import compile_ahead, kernels_of
from tilewright.kernels.common.launch import facts_of
from tilewright.kernels.devices import SECTIONS, as_packaged, forget, packaged
from tilewright.kernels.gemm.api import gemm
from tilewright.kernels.gemm.calibrate.clock import DeviceClock
from tilewright.kernels.gemm.calibrate.models import fits
from tilewright.kernels.gemm.calibrate.samples import steps
from tilewright.kernels.gemm.calibrate.text import text_of
from tilewright.runtime import folder as folders
from tilewright.runtime.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.calibrate.models import Fit
    from tilewright.kernels.gemm.calibrate.samples import Sample

    Clock = Callable[[Sample], float | None]

__all__ = ["Calibrated", "calibrate", "measured", "when"]

NAME = "kernels.gemm.calibrate"
COMPILING, MEASURING = 0.5, 0.85  # of the time, when compiling ends, and measuring; what is left is for fitting


class Calibrated(NamedTuple):
    """What `kernels.gemm.calibrate` found out about a device, and the file that keeps it.

    >>> print(Calibrated("NVIDIA X1", "/home/me/x1.txt", ("the memory: 2 TB/s",)))
    NVIDIA X1 is calibrated: the memory: 2 TB/s
    From now on plans are chosen by /home/me/x1.txt, before the package's numbers; `tilewright calibrate --remove`, or
    removing the file, undoes that.
    """

    device: str
    file: str
    findings: tuple[str, ...]

    def __str__(self) -> str:
        return (
            "\n".join((f"{self.device} is calibrated: {self.findings[0]}", *self.findings[1:]))
            + f"\nFrom now on plans are chosen by {self.file}, before the package's numbers; `tilewright calibrate "
            "--remove`, or\nremoving the file, undoes that."
        )


def calibrate(device: int | None, seconds: float) -> Calibrated:
    """kernels.gemm.calibrate: see there."""
    if type(seconds) not in (int, float) or not 0 < seconds < float("inf"):
        raise ValueError(f"{NAME}: seconds is {seconds!r}, but it must be a positive number of seconds, such as 110")
    facts, number = facts_and_number(NAME, device)
    _require_place(facts.name)
    base = as_packaged(facts)
    fits = measured(base, functools.partial(DeviceClock, number), seconds)
    began_from = calibration.fingerprint({name: packaged(name, base) for name in SECTIONS})
    head = (
        f'"""{facts.name}: what {NAME} measured on one. What is not here is the package\'s."""\n\n'
        f'DEVICE = {facts.name!r}\nMEASURED = "{when()}"\nBEGAN_FROM = "{began_from}"'
    )
    path = calibration.write(facts.name, text_of(fits, base, head, when()))
    forget()
    gemm.clear()
    return Calibrated(facts.name, path, tuple(map(_finding, fits)))


def facts_and_number(function: str, device: int | None) -> tuple[DeviceFacts, int]:
    """A CUDA device, by default the current one. ValueError where it is not there."""
    count = _core.cuda.device_count() if _core.cuda.driver_path() is not None else 0
    if device is None:
        device = max(current_device(), 0)
    if type(device) is not int or not 0 <= device < count:
        there = f"the devices are 0 to {count - 1}" if count else "there is no GPU here (`tilewright doctor` says why)"
        raise ValueError(f"{function}: device is {device!r}, but {there}")
    return facts_of(device), device


def measured(facts: DeviceFacts, clock_of: Callable[[list[Sample]], Clock], seconds: float) -> list[Fit]:
    """The numbers of a device, beginning from those of `facts`, within so many seconds."""
    began = time.monotonic()
    wanted = list(steps(facts))
    samples = [sample for step in wanted for sample in step]
    done = compile_ahead([x.plan for x in samples], facts.arch, f"{NAME}: compiling", until=began + COMPILING * seconds)
    for _, error in done.failed:
        raise error
    left = {(type(one), one.name) for one in done.left}
    ready = [step for step in wanted if not any((type(x), x.name) in left for x in kernels_of(s.plan for s in step))]
    timed = _timed(ready, clock_of([sample for step in ready for sample in step]), began + MEASURING * seconds)
    show = Progress(f"{NAME}: fitting", 1)
    with closing(show):
        show(0, "")
        return fits(timed, facts, began + seconds)


def _timed(wanted: Sequence[list[Sample]], clock: Clock, until: float) -> list[tuple[Sample, float]]:
    """The samples with their seconds, of the steps that were measured to their end in time, and of the first one."""
    found: list[tuple[Sample, float]] = []
    show = Progress(f"{NAME}: measuring", sum(map(len, wanted)))
    done = 0
    with closing(show):
        for step in wanted:
            of_step = []
            for sample in step:
                if found and time.monotonic() >= until:
                    return found
                seconds = clock(sample)
                if seconds is not None:
                    of_step.append((sample, seconds))
                done += 1
                show(done, _said(sample))
            found += of_step
    return found


def _said(sample: Sample) -> str:
    kernel, problem = sample.plan.kernel_name, sample.problem
    extents = (problem.m, problem.n, problem.k) if hasattr(problem, "k") else problem.extents
    return f"{kernel} {'x'.join(map(str, extents))}"


def _finding(fit: Fit) -> str:
    said = " ".join(fit.said.split())
    return f"{fit.subject.partition(':')[0]}: {said}" + ("" if fit.is_better else " The package's numbers hold.")


def _require_place(device: str) -> None:
    """ValueError where a calibration could not be kept: before any time is spent on it."""
    path = calibration.path_of(device)
    if path is None:
        raise ValueError(f"{NAME}: nothing would be kept, for calibrations are {folders.WHY_NO_DEVICES}; unset it")
    calibration.require_writable(path)


def when() -> str:
    """Today, and the driver."""
    return f"{datetime.date.today().isoformat()}, CUDA driver {_core.cuda.driver_version()}"
