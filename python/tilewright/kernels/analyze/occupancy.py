"""How many CTAs of a plan share a multiprocessor, and what keeps more from it."""

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright.analysis.arguments import whole
from tilewright.devices import DEVICES, H200, DeviceFacts
from tilewright.runtime.program import Program

__all__ = ["Multiprocessor", "Occupancy", "multiprocessor_of", "occupancy"]

WARP = 32
MOST_REGISTERS = 255  # of a thread
REGISTER_UNIT = 256  # registers that a warp gets at a time
WARP_UNIT = 4  # warps of a CTA get registers by so many: one of each part of a multiprocessor


class Multiprocessor(NamedTuple):
    """What the CTAs of a multiprocessor share.

    `shared_bytes`: all of its shared memory for CTAs; `reserved_bytes`: what the system takes of every CTA's;
    `shared_unit`: a CTA's is a multiple of it.
    """

    threads: int
    ctas: int
    shared_bytes: int
    registers: int = 65536
    reserved_bytes: int = 1024
    shared_unit: int = 128


# By capability. Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
MULTIPROCESSORS: dict[int, Multiprocessor] = {
    75: Multiprocessor(1024, 16, 65536, reserved_bytes=0, shared_unit=256),
    80: Multiprocessor(2048, 32, 167936),
    86: Multiprocessor(1536, 16, 102400),
    87: Multiprocessor(1536, 16, 167936),
    89: Multiprocessor(1536, 24, 102400),
    90: Multiprocessor(2048, 32, 233472),
    100: Multiprocessor(2048, 32, 233472),
    120: Multiprocessor(1536, 24, 102400),
}


def multiprocessor_of(facts: DeviceFacts) -> Multiprocessor:
    """That of a device; of one that is not in the table, that of the newest older one.

    >>> from tilewright.devices import H200
    >>> multiprocessor_of(H200).shared_bytes
    233472
    """
    return MULTIPROCESSORS[max((c for c in MULTIPROCESSORS if c <= facts.capability), default=75)]


class Occupancy(NamedTuple):
    """How many CTAs share a multiprocessor.

    - `ctas`: the least of the limits; `at_least`: for how many the kernel is compiled, so that its registers allow
      them, where `registers` are not known and `ctas` is an upper limit; else the same as `ctas`
    - `warps`: those of all `ctas`, of `most_warps` that a multiprocessor has room for
    - `limits`: the CTAs by "threads", "CTAs", "shared memory" and, where they are known, "registers"
    - `limited_by`: the limits that are least
    - `threads`, `shared_bytes`, `registers` (of a thread; None: not known): what a CTA takes
    - `waves`: how often all multiprocessors get their CTAs until the launch is done
    """

    ctas: int
    at_least: int
    warps: int
    most_warps: int
    limits: dict[str, int]
    limited_by: tuple[str, ...]
    threads: int
    shared_bytes: int
    registers: int | None
    waves: float
    device: str

    @property
    def fraction(self) -> float:
        """The part of the warps that a multiprocessor has room for."""
        return self.warps / self.most_warps

    def __str__(self) -> str:
        limits = ", ".join(f"{name} {count}" for name, count in self.limits.items())
        ctas, warps, waves = f"{self.ctas} CTA{'s' * (self.ctas != 1)}", f"{self.warps}", f"{self.waves:.4g}"
        known = ""
        if self.registers is None:
            known = "; registers are not known before it is compiled"
        if self.at_least < self.ctas:
            part = self.at_least / self.ctas
            ctas, warps = f"{self.at_least} to {ctas}", f"{round(self.warps * part)} to {warps}"
            waves = f"{waves} to {self.waves / part:.4g}"
        return (
            f"{ctas} of {self.threads} threads on a multiprocessor of {self.device}, {warps} of {self.most_warps} "
            f"warps, limited by {' and '.join(self.limited_by)} ({limits}{known}); {waves} waves"
        )


def _facts(operation: str, given: Any) -> DeviceFacts:
    if not isinstance(given, DeviceFacts):
        raise TypeError(
            f"{operation}: expected the device to be a DeviceFacts, not {given!r}; take one of "
            f"tilewright.devices.DEVICES, by {', '.join(map(repr, DEVICES))}, or leave it out: an H200"
        )
    return given


def _registers(operation: str, plan: Any, facts: DeviceFacts, given: Any) -> int | None:
    """Those of a thread, by number or by the plan's program; None: not known."""
    program = plan.compiled(facts.arch) if given is None else given
    if program is None:
        return None
    if isinstance(program, Program):
        if program.arch.removeprefix("sm_").rstrip("af") != str(facts.capability):
            raise ValueError(
                f"{operation}: registers = a program for {program.arch}, but {facts.name} needs one for {facts.arch}"
            )
        if plan.name not in program.report:
            raise ValueError(f"{operation}: registers = a program of {program.stem} without the kernel of this plan")
        return program.report[plan.name].registers
    count = whole(operation, "registers", program)
    if not 1 <= count <= MOST_REGISTERS:
        raise ValueError(
            f"{operation}: registers = {count} of a thread must be 1 to {MOST_REGISTERS}; plan.compile().report has "
            "those of a kernel"
        )
    return count


def occupancy(
    plan: Any, facts: DeviceFacts | None = None, registers: int | Program | None = None, operation: str = "occupancy"
) -> Occupancy:
    """The CTAs of a plan that share a multiprocessor, by what each of them takes.

    ctas = min(threads, CTAs, shared memory and registers of a multiprocessor, each divided by what a CTA takes of it)

    A short launch, which may begin before the one before it has ended, keeps fewer together.

    Args:
        plan: of any kernel of one launch. facts: the device's; None: an H200's.
        registers: of a thread, 1 to 255, or the plan's program, plan.compile(...), for the device's architecture; None:
            those of plan.compiled(facts.arch), and where there is none they are left out.
        operation: in whose name errors are said.
    Raises: TypeError where `facts` are no DeviceFacts or `registers` no integer or program; ValueError for another
        number of them, and for a program of another plan or architecture.
    Source: CUDA C++ Programming Guide, "Multiprocessor Level"; the allocation units are those of its occupancy
    calculator.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.sm80.build import choose
    >>> found = occupancy(choose(problem_of(4096, 4096, 4096, Float16), (16, 16, 16)), registers=255)
    >>> found.ctas, found.limits, found.limited_by
    (1, {'threads': 8, 'CTAs': 32, 'shared memory': 2, 'registers': 1}, ('registers',))
    """
    facts = H200 if facts is None else _facts(operation, facts)
    count = _registers(operation, plan, facts, registers)
    has = multiprocessor_of(facts)
    threads, shared = int(plan.threads), int(plan.shared_bytes)
    warps = -(-threads // WARP)
    limits = {"threads": has.threads // (warps * WARP), "CTAs": has.ctas}
    takes = -(-(shared + has.reserved_bytes) // has.shared_unit) * has.shared_unit
    if takes:
        limits["shared memory"] = has.shared_bytes // takes
    if count is not None:
        of_warp = -(-count * WARP // REGISTER_UNIT) * REGISTER_UNIT
        limits["registers"] = has.registers // (of_warp * -(-warps // WARP_UNIT) * WARP_UNIT)
    ctas = min(limits.values())
    limited = tuple(name for name, count in limits.items() if count == ctas)
    room = ctas * facts.multiprocessors
    at_least = min(ctas, max(plan.min_ctas_per_sm, 1)) if count is None else ctas
    return Occupancy(
        ctas, at_least, ctas * warps, has.threads // WARP, limits, limited, threads, shared, count,
        plan.ctas / room if room else 0.0, facts.name,
    )  # fmt: skip
