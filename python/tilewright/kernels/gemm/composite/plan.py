"""What plans of several launches have in common: PaddedGemm, ResidueGemm.

Each has a `gemm`, the plan whose tile, layouts and kernel it is about, and launches that and others one after another.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tilewright._registry import Lazy
from tilewright._traceback import short
from tilewright.kernels.common.launch import compile_together
from tilewright.kernels.common.plan import bind_plan, run_plan
from tilewright.kernels.common.plan_value import PlanValue, unchanging
from tilewright.kernels.gemm.plan import GemmPlan
from tilewright.kernels.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.analysis.totals.accesses import Accesses
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.common.launch import KernelLaunch, Place
    from tilewright.kernels.common.why import Why
    from tilewright.kernels.gemm.choose.why import GemmCandidate

__all__ = ["CompositeGemm", "beside"]

_why_on = Lazy("tilewright.kernels.gemm.choose.why:why_on")


def beside(
    gemm: Accesses, before: Sequence[MemoryInstruction] = (), behind: Sequence[MemoryInstruction] = ()
) -> Accesses:
    """The accesses of a plan with those of launches before and behind it; what is advised is about the plan alone."""
    own = gemm.instructions
    return gemm._replace(requests=[*before, *own, *behind], advice=lambda _, limits: gemm.advice(own, limits))


@unchanging
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class CompositeGemm(PlanValue):
    """A plan of several launches. `problem` is that of the tensors as they are.

    A plan does not change: `replace(gemm=...)` gives another one.
    """

    swapped: ClassVar[bool] = False
    problem: GemmProblem
    gemm: GemmPlan | CompositeGemm

    @property
    def kernel_plan(self) -> GemmPlan:
        """The plan of one launch that `gemm` is, or is about itself."""
        return self.gemm.kernel_plan

    @property
    def tiler_mnk(self) -> tuple[int, int, int]:
        """The tile of the GEMM."""
        return self.gemm.tiler_mnk

    @property
    def stages(self) -> int:
        """The stages of the GEMM."""
        return self.gemm.stages

    def require_device(self, facts: DeviceFacts, function: str = "kernels.gemm") -> None:
        """ValueError or LayoutError where a device lacks what the GEMM needs."""
        self.gemm.require_device(facts, function)

    @short
    def compile(self, arch: str = "sm_90a") -> Any:
        """The compiled program of `gemm`; the other launches' are compiled at the same time, each by its own thread."""
        if isinstance(arch, str):
            compile_together(self.single_plans, arch)
        return self.gemm.compile(arch)

    def compiled(self, arch: str = "sm_90a") -> Any:
        """The same, if this process has compiled it; as GemmPlan.compiled."""
        return self.gemm.compiled(arch)

    @short
    def run(
        self, mA: Any, mB: Any, mC: Any = None, *, bias: Any = None, stream: int | None = None, check: bool = False
    ) -> Any:
        """Multiply by this plan; as GemmPlan.run."""
        tensors = (mA, mB) if mC is None else (mA, mB, mC)
        return run_plan(self, *tensors, bias=bias, stream=stream, check=check)

    @short
    def bind(self, mA: Any, mB: Any, mC: Any, *, bias: Any = None) -> Any:
        """A callable that runs this plan on these tensors; as GemmPlan.bind. A workspace is made at each call."""
        return bind_plan(self, mA, mB, mC, bias=bias)

    @short
    def why(self, arch: str | None = None) -> Why[GemmCandidate]:
        """What the plan was chosen from; as GemmPlan.why. Times are those of all launches."""
        return _why_on(self, arch)  # type: ignore[no-any-return]

    # ---- what each kind says ----

    @property
    @abstractmethod
    def single_plans(self) -> tuple[Any, ...]:
        """The plans of one launch each that this one is made of, in the order of the launches."""

    @abstractmethod
    def launches(self, tensors: tuple[Place | None, ...]) -> tuple[KernelLaunch, ...]:
        """The kernels in their order, for A, B, C and bias at these places."""

    @abstractmethod
    def for_problem(self, problem: GemmProblem) -> Self:
        """The plan for other sizes."""

    @abstractmethod
    def require(self, a_address: int, b_address: int, c_address: int, function: str) -> None:
        """Check what the launches rely on; ValueError where it does not hold."""

    @abstractmethod
    def run_on_host(self, a: int, b: int, c: int, bias: int, check: bool) -> Any:
        """Run it on the CPU for tensors at these addresses; its report if `check`."""

    @abstractmethod
    def accesses(self, addresses: tuple[int, int, int, int]) -> Accesses:
        """The accesses of all launches, for A, B, C and bias at these addresses; what is said of one plan is said of
        `gemm`."""
