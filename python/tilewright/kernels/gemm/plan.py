"""The plan of a GEMM: every layout, atom and extent that the kernel gets, as an object to look at, change and run.

What all kernels have in common; GemmSimt, GemmSm80 and GemmSm90 are its kinds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from tilewright._core import LayoutError
from tilewright._notebook import drawn
from tilewright._registry import load
from tilewright._traceback import short
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.launch import FLAGS, SCRATCH, KernelLaunch, Place
from tilewright.kernels.gemm.choose.promotion import require_promotion
from tilewright.kernels.gemm.fields import require_kinds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.tables import GemmTables

MAX_GRID = (2**31 - 1, 65535, 65535)


@drawn
class GemmPlan(ABC):
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
    KERNEL: ClassVar[str]  # "simt", "sm80" or "sm90"
    STEM: ClassVar[str]  # the kernel's file in kernels/, without .cuh
    MIN_ARCH: ClassVar[int]
    MAX_ARCH: ClassVar[int | None] = None  # where later devices lack its instructions
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

    def require_fields(self) -> None:  # noqa: B027
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

    def launches(self, tensors: tuple[Place | None, ...]) -> tuple[KernelLaunch, ...]:
        """The kernel of the plan, for A, B, C and bias at these places; A and B as passed to kernels.gemm."""
        order = (1, 0, 2, 3, 4, 5) if self.swapped else (0, 1, 2, 3, 4, 5)
        addresses = [0 if x is None else x.address for x in tensors]
        params = self.params(*(addresses[i] for i in order[:4]))
        pointers, maps = ([(order[i], at, add) for i, at, add in x] for x in (self.pointers(), self.tensor_maps()))
        if any(self.scratch):
            tensors = *tensors, Place(FLAGS, 0, 0), Place(SCRATCH, 0, 0)
        return (
            KernelLaunch(self, tensors, self.grid(), params, pointers, maps, self.programmatic, (*self.scratch, 0)),
        )

    def tensor_maps(self) -> list[tuple[int, int, int]]:
        """Where params has tensor maps of 128 bytes, with the same three numbers."""
        return []

    @abstractmethod
    def require(self, a_address: int, b_address: int, c_address: int, function: str) -> None:
        """Check what the kernel relies on, for tensors at these addresses; ValueError where it does not hold."""

    @abstractmethod
    def tables(self) -> GemmTables:
        """The same plan as tables of coordinates and offsets, from its layouts: what the CPU runs."""

    @abstractmethod
    def __str__(self) -> str: ...

    def __repr__(self) -> str:
        return str(self)

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


def _restore(kind: type[GemmPlan], fields: dict[str, Any]) -> GemmPlan:
    return kind(**fields)
