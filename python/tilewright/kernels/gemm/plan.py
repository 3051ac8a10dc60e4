"""The plan of a GEMM: every layout, atom and extent that the kernel gets, as an object to look at, change and run.

What all kernels have in common; GemmSimt, GemmSm80 and GemmSm90 are its kinds.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tilewright._cached import cached_property
from tilewright._core import ComposedLayout, Layout, LayoutError
from tilewright._registry import Lazy
from tilewright._traceback import short
from tilewright.cute.int_tuple import text
from tilewright.cute.tiled.tiled_mma import TiledMma
from tilewright.kernels.common.launch import FLAGS, SCRATCH, KernelLaunch, Place, is_short
from tilewright.kernels.common.plan import bind_plan, run_plan
from tilewright.kernels.common.plan_value import Kind, Natural, PlanValue, Positive, counts, unchanging
from tilewright.kernels.gemm.choose.promotion import require_promotion
from tilewright.kernels.gemm.problem import GemmProblem
from tilewright.kernels.kernel import kernel_of

if TYPE_CHECKING:
    from typing_extensions import Self

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.common.why import Why
    from tilewright.kernels.gemm.choose.why import GemmCandidate
    from tilewright.kernels.gemm.report import GemmReport
    from tilewright.kernels.gemm.tables import GemmTables

MAX_GRID = (2**31 - 1, 65535, 65535)

_why_on = Lazy("tilewright.kernels.gemm.choose.why:why_on")

Tiler = Annotated[tuple[int, int, int], counts(3, "three positive integers (bM, bN, bK)")]
SharedOperandLayout = Annotated[
    Layout | ComposedLayout,
    Kind("a layout of (row, k, stage)", lambda value: isinstance(value, (Layout, ComposedLayout))),
]


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
        p = self.problem
        if p.whole_k:
            self._require_parts()
        self.require_layouts()

    def _require_parts(self) -> None:
        """LayoutError where the parts of K, of which the last one is shorter, do not fit the plan."""
        p, unit = self.problem, self.part_of_k
        if unit == 0:
            raise LayoutError(
                f"{type(self).__name__}: {p} has a last part of K that is shorter than {p.k}, but in this plan all "
                "parts have as many products; take parts that divide K, gemm_sm80, or gemm_sm90 with split_k=1 and "
                "stream_k_ctas=0"
            )
        if (
            p.k % unit
            or not p.batch
            or not (p.batch[-1] - 1) * p.k < p.whole_k < p.batch[-1] * p.k
            or any(strides[-1] != p.k * strides[1] for strides in (p.a_strides, p.b_strides))
        ):
            raise LayoutError(
                f"{type(self).__name__}: parts of K = {p.whole_k} have whole steps of {unit}, but for the last one, "
                f"and follow each other along the last batch mode; these are {text(p.batch[-1:])} parts of {p.k}, "
                f"{text(p.a_strides[-1:])} elements of A apart and {text(p.b_strides[-1:])} of B"
            )

    @short
    def why(self, arch: str | None = None) -> Why[GemmCandidate]:
        """What the plan was chosen from, with the time that each was expected to take and what bounds it.

        It prints as a table, the chosen plan first and marked with ">", then the others by their times. Its rows have
        `plan`, `kernel`, `tile`, `cluster`, `split_k`, `shares`, `stages`, `seconds`, `bound` and `cost`. The bound is
        what would save most of the time if it took none: "tensor cores" or "FMA", "shared memory", "L2", "memory",
        "latency" (stages that are waited for, pipelines that fill), "launch", "stores", "sums" (of CTAs that share K),
        "last wave" (multiprocessors without a tile there), "other launches". What takes place at the same time and
        takes equally long is named together: "tensor cores and L2". `cost.without(bound)` is the time without it.

        `arch` is the architecture to ask for, by default the device that the plan was chosen for, and an H200 for a
        plan that was given. A plan that is none of the candidates, such as a tuned one, is listed with them.
        ValueError for an unknown architecture.

        >>> import numpy
        >>> from tilewright import kernels
        >>> a = numpy.zeros((512, 512), numpy.float32)
        >>> found = kernels.gemm.plan(a, a).why()
        >>> found[0].chosen, found[0].tile, found[0].bound, found[0].seconds < found[1].seconds
        (True, (64, 32, 32), 'FMA', True)
        """
        return _why_on(self, arch)  # type: ignore[no-any-return]

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
    @abstractmethod
    def tile_run(self) -> int:
        """The tiles along M, or clusters of them, that are taken one after another, before those of other columns."""

    @property
    def programmatic(self) -> bool:
        """Whether the launch overlaps the end of the one before it: of short kernels that is much of the time."""
        return is_short(self.problem.moved_bytes)

    @property
    def cluster(self) -> int:
        """CTAs of a cluster."""
        return 1

    @property
    def scratch(self) -> tuple[int, int]:
        """The bytes of memory that a launch needs besides its tensors: what is zero before and after it, and others."""
        return 0, 0

    def launches(self, tensors: tuple[Place | None, ...]) -> tuple[KernelLaunch, ...]:
        """The kernel of the plan, for A, B, C and bias at these places; A and B as passed to kernels.gemm."""
        order = (1, 0, 2, 3, 4, 5) if self.swapped else (0, 1, 2, 3, 4, 5)
        addresses = [0 if x is None else x.address for x in tensors]
        params = self.params(*(addresses[i] for i in order[:4]))
        pointers, maps = ([(order[i], at, add) for i, at, add in x] for x in (self.pointers(), self.tensor_maps()))
        if any(self.scratch):
            tensors = *tensors, Place(FLAGS, 0, 0), Place(SCRATCH, 0, 0)
        return (
            KernelLaunch(
                self, tensors, self.grid(), params, pointers, maps, self.programmatic, (*self.scratch, 0), self.cluster
            ),
        )

    def tensor_maps(self) -> list[tuple[int, int, int]]:
        """Where params has tensor maps of 128 bytes, with the same three numbers."""
        return []

    @abstractmethod
    def require(self, a_address: int, b_address: int, c_address: int, function: str) -> None:
        """Check what the kernel relies on, for tensors at these addresses; ValueError where it does not hold."""

    @abstractmethod
    def __str__(self) -> str: ...

    # ---- what follows ----

    @property
    def kernel_plan(self) -> GemmPlan:
        """The plan itself; of a plan of several launches, that of one of them."""
        return self

    def tables(self) -> GemmTables:
        """The same plan as tables of coordinates and offsets, from its layouts: what the CPU runs."""
        return kernel_of(self).tables(self)  # type: ignore[no-any-return]

    def run_on_host(self, a: int, b: int, c: int, bias: int, check: bool) -> GemmReport | None:
        """Run it on the CPU for tensors mA, mB, mC and bias at these addresses; its report if `check`."""
        from tilewright.kernels.gemm.host import run_on_host

        return run_on_host(self, *((b, a) if self.swapped else (a, b)), c, bias, check=check)

    @property
    def part_of_k(self) -> int:
        """The products of which a part of K has a multiple, so that the last part may have less; 0: all have the same
        number."""
        return 0

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
        tensors = (mA, mB) if mC is None else (mA, mB, mC)
        return run_plan(self, *tensors, bias=bias, stream=stream, check=check)

    @short
    def bind(self, mA: Any, mB: Any, mC: Any, *, bias: Any = None) -> Any:
        """A callable that runs this plan on these tensors: bound(). It keeps them alive; their memory must stay."""
        return bind_plan(self, mA, mB, mC, bias=bias)
