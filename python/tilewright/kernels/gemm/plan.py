"""The plan of a GEMM: every layout, atom and extent that the kernel gets, as an object to look at, change and run.

What all kernels have in common; GemmSimt, GemmSm80 and GemmSm90 are its kinds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from tilewright._core import LayoutError
from tilewright._traceback import short
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.plan import Plan, run_plan
from tilewright.kernels.gemm.choose.promotion import require_promotion
from tilewright.kernels.gemm.fields import require_kinds
from tilewright.kernels.kernel import kernel_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.composite.run import CompositeLaunch
    from tilewright.kernels.gemm.operands import GemmOperands
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.report import GemmReport
    from tilewright.kernels.gemm.tables import GemmTables

MAX_GRID = (2**31 - 1, 65535, 65535)


class GemmPlan(Plan, ABC):
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

    __slots__ = ("_name", "problem", "promote", "stages", "swapped", "tiled_mma", "tiler_mnk")
    FIELDS: ClassVar[tuple[str, ...]] = ("problem", "tiler_mnk", "tiled_mma", "stages", "swapped", "promote")
    DEFAULTS: ClassVar[Mapping[str, Any]] = {"swapped": False, "promote": 0}
    problem: GemmProblem
    tiler_mnk: tuple[int, int, int]
    tiled_mma: Any
    stages: int
    swapped: bool
    promote: int
    _name: str

    def __init__(self, **fields: Any) -> None:
        kind = type(self).__name__
        missing = [name for name in self.FIELDS if name not in fields and name not in self.DEFAULTS]
        if missing:
            raise TypeError(f"{kind}: no value for {', '.join(missing)}; kernels.gemm.plan makes plans")
        for name in self.FIELDS:
            object.__setattr__(self, name, fields.pop(name) if name in fields else self.DEFAULTS[name])
        object.__setattr__(self, "_name", "")
        if fields:
            raise TypeError(f"{kind}: no field named {', '.join(fields)}; the fields are {', '.join(self.FIELDS)}")
        require_kinds(kind, self._fields())
        require_promotion(self)
        self.require_fields()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a plan does not change: plan.replace({name}=...) gives another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a plan does not change: {name} stays")

    def replace(self, **fields: Any) -> Self:
        """The same plan with other values in some fields."""
        return type(self)(**{**self._fields(), **fields})

    def for_problem(self, problem: GemmProblem) -> Self:
        """The plan for other sizes."""
        return self.replace(problem=problem)

    def _fields(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.FIELDS}

    def __reduce__(self) -> Any:
        return _restore, (type(self), self._fields())

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    def __hash__(self) -> int:
        return hash((self.name, self.problem))

    # ---- what each kind says ----

    def require_fields(self) -> None:
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
    def __str__(self) -> str: ...

    def __repr__(self) -> str:
        return str(self)

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
    def _last_argument(self) -> str:
        """Of the kernel's template: how often sums are promoted, if they are."""
        return f", {self.promote}" if self.promote else ""

    @property
    def _promotion_text(self) -> list[str]:
        """The line of the plan's text that says so."""
        many = "step" if self.promote == 1 else f"{self.promote} steps"
        return [f"  promote    sums are added to totals every {many} along K"] if self.promote else []

    @property
    def name(self) -> str:
        """The kernel's name expression: the template and everything static, which is all of the plan but the sizes; of
        these, whether K needs 64 bits."""
        if not self._name:
            object.__setattr__(self, "_name", self._name_expression())
        return self._name

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
        return run_plan(self, mA, mB, mC, bias=bias, stream=stream, check=check)

    @short
    def bind(self, mA: Any, mB: Any, mC: Any, *, bias: Any = None) -> Any:
        """A callable that runs this plan on these tensors: bound(). It keeps them alive; their memory must stay."""
        from tilewright.kernels.gemm.run import bind_plan

        return bind_plan(self, mA, mB, mC, bias)


def _restore(kind: type[GemmPlan], fields: dict[str, Any]) -> GemmPlan:
    return kind(**fields)
