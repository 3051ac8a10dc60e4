"""What plans of several launches have in common: PackedGemm, EdgedGemm.

Each has a `gemm`, the plan whose tile, layouts and kernel it is about, and launches that and others one after another.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from tilewright._traceback import short
from tilewright.kernels.common.launch import compile_together

if TYPE_CHECKING:
    from typing_extensions import Self

    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.common.launch import KernelLaunch, Place
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.problem import GemmProblem

__all__ = ["CompositeGemm"]


class CompositeGemm(ABC):
    """A plan of several launches. `problem` is that of the tensors as they are.

    A plan does not change: `replace(gemm=...)` gives another one.
    """

    __slots__ = ("gemm", "problem")
    FIELDS: ClassVar[tuple[str, ...]] = ("problem", "gemm")
    KERNEL: ClassVar[str]
    swapped: ClassVar[bool] = False
    problem: GemmProblem
    gemm: GemmPlan

    def _set(self, kinds: tuple[tuple[str, Any, type], ...]) -> None:
        """Fields by name, each with its value and its kind, which may be None but for the GEMM; TypeError otherwise."""
        for name, value, kind in kinds:
            if not isinstance(value, kind) and not (value is None and name != "gemm"):
                raise TypeError(
                    f"{type(self).__name__}: {name} is a {type(value).__name__}, but it must be a {kind.__name__}"
                )
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a plan does not change: plan.replace({name}=...) gives another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a plan does not change: {name} stays")

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.FIELDS}

    def replace(self, **fields: Any) -> Self:
        """The same plan with other values in some fields."""
        kind, unknown = type(self), [name for name in fields if name not in self.FIELDS]
        if unknown:
            raise TypeError(
                f"{kind.__name__}: no field named {', '.join(unknown)}; the fields are {', '.join(self.FIELDS)}"
            )
        return kind(**{**self._fields(), **fields})

    def __reduce__(self) -> Any:
        return type(self), tuple(self._fields().values())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    def __hash__(self) -> int:
        return hash((self.problem, self.gemm))

    @property
    def kernel_plan(self) -> GemmPlan:
        """The plan of one launch that `gemm` is, or is about itself."""
        found: Any = self.gemm
        while isinstance(found, CompositeGemm):
            found = found.gemm
        plan: GemmPlan = found
        return plan

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
        from tilewright.kernels.gemm.run import run_plan

        return run_plan(self, mA, mB, mC, bias, stream, check)

    @short
    def bind(self, mA: Any, mB: Any, mC: Any, *, bias: Any = None) -> Any:
        """A callable that runs this plan on these tensors; as GemmPlan.bind. A workspace is made at each call."""
        from tilewright.kernels.gemm.run import bind_plan

        return bind_plan(self, mA, mB, mC, bias)

    def analyze(self, *tensors: Any, **options: Any) -> Any:
        """Every memory instruction of all launches, with totals: `analysis.analyze_plan` of this plan."""
        from tilewright.analysis import analyze

        return analyze(self, *tensors, **options)

    def __repr__(self) -> str:
        return str(self)

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
    def instructions(
        self, a: int, b: int, c: int, bias: int
    ) -> tuple[list[MemoryInstruction], list[MemoryInstruction], tuple[int, int]]:
        """The memory instructions of all launches for tensors at these addresses, those of `gemm` or its last launch,
        and where that finds A and B."""
