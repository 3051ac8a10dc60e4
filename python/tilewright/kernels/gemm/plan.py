"""The plan of a GEMM: every layout, atom and extent that the kernel gets, as an object to look at, change and run.

What all kernels have in common; GemmSimt, GemmSm80 and GemmSm90 are its kinds.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tilewright._cached import cached_property
from tilewright._core import ComposedLayout, Layout, LayoutError
from tilewright._notebook import drawn
from tilewright._registry import load
from tilewright._traceback import short
from tilewright.cute.int_tuple import text
from tilewright.cute.tiled.tiled_mma import TiledMma
from tilewright.kernels.common.plan_value import Kind, Natural, PlanValue, Positive, counts, unchanging
from tilewright.kernels.gemm.choose.promotion import require_promotion
from tilewright.kernels.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from typing_extensions import Self

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.composite.run import CompositeLaunch
    from tilewright.kernels.gemm.operands import GemmOperands
    from tilewright.kernels.gemm.tables import GemmTables

MAX_GRID = (2**31 - 1, 65535, 65535)

Tiler = Annotated[tuple[int, int, int], counts(3, "three positive integers (bM, bN, bK)")]
SharedOperandLayout = Annotated[
    Layout | ComposedLayout,
    Kind("a layout of (row, k, stage)", lambda value: isinstance(value, (Layout, ComposedLayout))),
]


@drawn
@unchanging
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class GemmPlan(PlanValue):
    """How a GEMM is done; `kernels.gemm.plan(mA, mB)` makes one. The fields that all plans have:

    - `problem`: element types, extents, strides and epilogue
    - `tiler_mnk`: the extents (bM, bN, bK) of a CTA's tile of C and of a step along K
    - `tiled_mma`: the TiledMma that multiplies such a tile
    - `stages`: the tiles of A and B that shared memory holds at a time
    - `promote`: steps along K after which sums are added to totals and begin anew, so that none is long; 0: never
    - `swapped`: whether `problem` is that of C transposed, so that A and B have changed places

    A plan does not change, and is equal to another of the same kind with equal fields. `replace(stages=4)` gives one
    with other fields.
    """

    KERNEL: ClassVar[str]  # "simt", "sm80" or "sm90"
    STEM: ClassVar[str]  # the kernel's file in kernels/, without .cuh
    MIN_ARCH: ClassVar[int]
    MAX_ARCH: ClassVar[int | None] = None  # where later devices lack its instructions
    problem: GemmProblem
    tiler_mnk: Tiler
    tiled_mma: TiledMma
    stages: Positive
    swapped: bool = False
    promote: Natural = 0

    def for_problem(self, problem: GemmProblem) -> Self:
        """The plan for other sizes."""
        return self.replace(problem=problem)

    def require_fields(self) -> None:
        """TypeError, ValueError or LayoutError where the fields are none that a kernel takes."""
        require_promotion(self)
        self.require_layouts()

    # ---- what each kind says ----

    @abstractmethod
    def require_layouts(self) -> None:
        """TypeError, ValueError or LayoutError where the kind's own fields are none that its kernel takes."""

    @property
    @abstractmethod
    def threads(self) -> int:
        """The threads of a CTA."""

    @abstractmethod
    def grid(self) -> tuple[int, int, int]:
        """The CTAs of a launch."""

    @property
    @abstractmethod
    def shared_bytes(self) -> int:
        """The shared memory of a CTA, all of it dynamic."""

    @abstractmethod
    def _name_expression(self) -> str:
        """The kernel's name expression."""

    @abstractmethod
    def params(self, a: int = 0, b: int = 0, c: int = 0, bias: int = 0) -> bytes:
        """The kernel's parameter, for the addresses of the problem's tensors."""

    @abstractmethod
    def pointers(self) -> list[tuple[int, int, int]]:
        """Where params has addresses: (0 for A, 1 B, 2 C, 3 bias, 4 and 5 the two kinds of scratch; offset in bytes;
        bytes added to the address)."""

    @property
    def programmatic(self) -> bool:
        """Whether a launch may begin before the one before it has ended, for which the kernel itself then waits."""
        return False

    @property
    def scratch(self) -> tuple[int, int]:
        """The bytes of memory that a launch needs besides its tensors: what is zero before and after it, and others."""
        return 0, 0

    def prepare(self, operands: GemmOperands) -> CompositeLaunch:
        """The launch of a plan with scratch for these operands."""
        from tilewright.kernels.gemm.workspace_run import ScratchLaunch

        return ScratchLaunch(self, operands)

    def tensor_maps(self) -> list[tuple[int, int, int]]:
        """Where params has tensor maps of 128 bytes, with the same three numbers."""
        return []

    @abstractmethod
    def require(self, a_address: int, b_address: int, c_address: int, function: str) -> None:
        """Check what the kernel relies on, for tensors at these addresses; ValueError where it does not hold."""

    @abstractmethod
    def tables(self) -> GemmTables:
        """The same plan as tables of coordinates and offsets, from its layouts: what the CPU runs."""

    # ---- what follows ----

    @property
    def _last_argument(self) -> str:
        """Of the kernel's template: how often sums are promoted, if they are."""
        return f", {self.promote}" if self.promote else ""

    @property
    def _promotion_text(self) -> list[str]:
        """The line of the plan's text that says so."""
        many = "step" if self.promote == 1 else f"{self.promote} steps"
        return [f"  promote    sums are added to totals every {many} along K"] if self.promote else []

    @cached_property
    def name(self) -> str:
        """The kernel's name expression: the template and everything static, which is all of the plan but the sizes; of
        these, whether K needs 64 bits."""
        return self._name_expression()

    @property
    def ctas(self) -> int:
        """The CTAs of a launch."""
        return math.prod(self.grid())

    def require_device(self, facts: DeviceFacts, function: str = "kernels.gemm") -> None:
        """ValueError where a device lacks the plan's instructions, LayoutError where it lacks the shared memory."""
        self._require_arch(facts.capability, f"{facts.name} is sm_{facts.capability}", function)
        if self.shared_bytes > facts.shared_bytes:
            raise LayoutError(
                f"{function}: {self.stages} stages of the tile {text(self.tiler_mnk)} take {self.shared_bytes} bytes "
                f"of shared memory, but a CTA of {facts.name} has at most {facts.shared_bytes}; use fewer stages or a "
                "smaller tile"
            )
        grid = self.grid()
        if any(n > most for n, most in zip(grid, MAX_GRID, strict=True)):
            raise LayoutError(
                f"{function}: a grid of {text(grid)} tiles is more than a launch has, {text(MAX_GRID)}; use larger "
                "tiles"
            )

    def _require_arch(self, capability: int, shown: str, function: str) -> None:
        low, high = self.MIN_ARCH, self.MAX_ARCH
        if capability < low or (high is not None and capability > high):
            needed = f"sm_{low}" if high == low else f"sm_{low} or later"
            raise ValueError(
                f"{function}: the plan's kernel {self.STEM} has instructions of {needed}, but {shown}; choose a plan "
                "for that device"
            )

    # ---- compiling, without a GPU ----

    @short
    def compile(self, arch: str = "sm_90a") -> Any:
        """The compiled program: `.ptx`, `.cubin`, `.source`, `.report` of registers and spills. Needs NVRTC, no GPU."""
        from tilewright.runtime.compiler import compile_program

        if not isinstance(arch, str):
            raise TypeError(f"plan.compile: expected arch to be a string such as sm_90a, but got {arch!r}")
        generation = arch.removeprefix("sm_").rstrip("af")
        if arch.startswith("sm_") and generation.isdecimal():
            self._require_arch(int(generation), f"arch is {arch}", "plan.compile")
        return compile_program(self.STEM, [self.name], arch)

    def compiled(self, arch: str = "sm_90a") -> Any:
        """What `compile` gives, if this process has compiled it or run it on such a device; None if not."""
        from tilewright.runtime.compiler import compiled_program

        return compiled_program(self.STEM, [self.name], arch)

    @property
    def source(self) -> str:
        """The kernel's C++ source and, above it, the instantiation."""
        from tilewright.runtime.discovery import kernels_folder

        return f"// {self.name}\n" + (kernels_folder() / f"{self.STEM}.cuh").read_text(encoding="utf-8")

    @property
    def ptx(self) -> str:
        """The PTX for sm_90a; `compile(arch).ptx` for another architecture."""
        ptx: str = self.compile().ptx
        return ptx

    # ---- running ----

    @short
    def run(
        self, mA: Any, mB: Any, mC: Any = None, *, bias: Any = None, stream: int | None = None, check: bool = False
    ) -> Any:
        """Multiply by this plan, on the GPU that the tensors are on or on the CPU, with the plan's own epilogue.

        mC, which is returned, is made where it is None. On the CPU `check=True` returns a report instead: races on
        shared memory, reads of what was never written, elements of C that are never or twice written. What it reports
        on is a whole run: mC then holds what the plan computes, as without a check.
        """
        from tilewright.kernels.gemm.run import run_plan

        return run_plan(self, mA, mB, mC, bias, stream, check)

    @short
    def bind(self, mA: Any, mB: Any, mC: Any, *, bias: Any = None) -> Any:
        """A callable that runs this plan on these tensors: bound(). It keeps them alive; their memory must stay."""
        from tilewright.kernels.gemm.run import bind_plan

        return bind_plan(self, mA, mB, mC, bias)

    def analyze(self, *tensors: Any, **options: Any) -> Any:
        """Every memory instruction of a launch, with totals: `analysis.analyze_plan` of this plan."""
        from tilewright.analysis import analyze

        return analyze(self, *tensors, **options)

    def svg(self, of: str = "tile") -> str:
        """A picture: the "tile" of a CTA by who brings and who multiplies it, with the banks of shared memory; its
        "stages" step by step; or the "order" of the tiles of C. ValueError for any other."""
        draws = {
            "tile": "tilewright.show.kernels.gemm_tile:draw_gemm",
            "stages": "tilewright.show.kernels.gemm_order:draw_stages",
            "order": "tilewright.show.kernels.gemm_order:draw_order",
        }
        if not isinstance(of, str) or of not in draws:
            raise ValueError(f"plan.svg: there is no picture of {of!r}, but of {', '.join(draws)}")
        return load(draws[of])(self)  # type: ignore[no-any-return]
