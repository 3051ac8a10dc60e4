"""The plan of a copy: every layout, width and extent that the kernel gets, as an object to look at, change and run."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from tilewright import _core
from tilewright._cached import cached_property
from tilewright._core import ComposedLayout, Layout, LayoutError
from tilewright._registry import Lazy
from tilewright._traceback import short
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.device_types import device_type
from tilewright.kernels.common.launch import KernelLaunch, Place, is_short
from tilewright.kernels.common.operands import Operand, operand
from tilewright.kernels.common.params import fast_divisor
from tilewright.kernels.common.plan import Plan, run_plan
from tilewright.kernels.common.plan_value import Kind, PlanValue, unchanging
from tilewright.kernels.copy.conditions import (
    constant_step,
    is_extents,
    is_given_copy,
    is_tv,
    require,
    require_fields,
    require_shared,
)
from tilewright.kernels.copy.packed import THREADS, packed_of_plan, packed_params, packed_text
from tilewright.kernels.copy.problem import CopyProblem, copy_problem

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.common.why import Why
    from tilewright.kernels.copy.why import CopyCandidate

_why = Lazy("tilewright.kernels.copy.why:why")

Extents = Annotated[tuple[int, ...], Kind("a tuple of integers", is_extents)]
GivenCopy = Annotated[Any, Kind("a TiledCopy, or None", is_given_copy)]  # whose module few copies need
ThreadValue = Annotated[Layout, Kind("a static Layout of two modes, (thread, value)", is_tv)]


@unchanging
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class CopyPlan(PlanValue):
    """How a copy is done; `kernels.tiled_copy.plan(src, dst)` makes one. Its fields:

    - `problem`: extents and the strides of both sides, `kernel`: "direct", or through shared memory "staged",
      by rows of one mode, or "packed", by what lies together over several modes
    - `tile`: the extents of a CTA's tile; `load_tv`, `store_tv`: (thread, value) to coordinate of the tile
    - `load_vector`, `store_vector`: elements of one access, along mode `src_mode` and `dst_mode`
    - `smem`: coordinate of the tile to offset in shared memory; `smem_store`, `smem_load`: elements of one access there
    - `src_step`: the source's stride along `src_mode` (-1: any); `src_aligned`: whether its accesses are aligned
    - `dst_shift`: where the destination's rows begin at any address, the elements to whose multiple they are aligned;
      else 0
    - `tiles_in_run`: the tiles along mode 0 that are taken one after another, before those of other modes
    - `tiles_of_cta`: the tiles that a CTA of a packed copy has, one after another
    - `predicated`: whether tiles reach over the end of the tensor
    - `is_async`: whether a staged copy reads by cp.async, past the registers
    - `tiled_copy`: the TiledCopy that the plan was made from, if one was given

    `replace(smem=...)` gives a plan with other layouts in it; `layouts` has them all by name.
    """

    STEM: ClassVar[str] = "tiled_copy"  # the kernel's file in kernels/, without .cuh
    problem: CopyProblem
    kernel: str
    tile: Extents
    load_tv: ThreadValue
    store_tv: ThreadValue
    load_vector: int
    store_vector: int
    smem: Layout | ComposedLayout | None = None
    src_mode: int
    dst_mode: int
    src_step: int = 1
    src_aligned: bool = True
    dst_shift: int = 0
    smem_store: int = 1
    smem_load: int = 1
    tiles_in_run: int = 2**31 - 1
    tiles_of_cta: int = 1
    predicated: bool = True
    is_async: bool = False
    tiled_copy: GivenCopy = None

    def require_fields(self) -> None:
        """ValueError where a field is out of its range; whether they fit together is looked at later."""
        require_fields(self)

    # ---- what follows from the fields ----

    @property
    def layouts(self) -> dict[str, Any]:
        """All layouts of the plan by name: the tensors, the tile, who loads and stores what, shared memory."""
        p = self.problem
        layouts = {
            "src": _core.make_layout(p.extents, stride=p.src_strides),
            "dst": _core.make_layout(p.extents, stride=p.dst_strides),
            "tile": _core.make_layout(self.tile),
            "load_tv": self.load_tv,
            "store_tv": self.store_tv,
        }
        if self.smem is not None:
            layouts["smem"] = self.smem
        return layouts

    @property
    def threads(self) -> int:
        """The threads of a CTA, whole warps."""
        if self.kernel == "packed":
            return THREADS
        most = max(int(_core.size(tv, mode=[0])) for tv in (self.load_tv, self.store_tv))
        return -(-most // 32) * 32

    @property
    def tiles(self) -> tuple[int, ...]:
        """The grid of tiles, one CTA each, mode by mode."""
        reach = list(self.problem.extents)
        if self.dst_shift:
            reach[self.dst_mode] += self.dst_shift - 1
        return tuple(-(-e // t) for e, t in zip(reach, self.tile, strict=True))

    def _grid(self) -> tuple[int, ...]:
        """The length of a run, the number of runs, and the tiles of the other modes."""
        first, *others = self.tiles
        runs = -(-first // self.tiles_in_run)
        return -(-first // runs), runs, *others

    @property
    def ctas(self) -> int:
        """The CTAs of a launch; where runs do not divide the tiles, some have none."""
        return -(-math.prod(self._grid()) // self.tiles_of_cta)

    @property
    def shared_bytes(self) -> int:
        """The shared memory of a CTA."""
        if self.smem is None:
            return 0
        if self.kernel == "packed":
            return packed_of_plan(self).image(self.store_vector * self.problem.element_bytes)[1]
        if isinstance(self.smem, _core.ComposedLayout):  # a swizzle changes bits below this power of two only
            inner = self.smem.inner
            block: int = 1 << (inner.num_bits + inner.num_base + max(-inner.num_shift, 0))
            size = -(-(int(_core.cosize(self.smem.outer)) + int(self.smem.offset)) // block) * block
        else:
            size = int(_core.cosize(self.smem))
        return size * self.problem.element_bytes

    @cached_property
    def name(self) -> str:
        """The kernel's name expression: the template and everything static, which is all of the plan but the sizes."""
        p = self.problem
        if self.kernel == "packed":
            sizes = p.element_bytes * self.smem_load, p.element_bytes * self.store_vector
            return f"copy_packed<PackedCopy<{', '.join(map(str, sizes))}>>"
        src_unit, dst_unit = self._units()
        tile = f"Tile<{', '.join(map(str, self.tile))}>"
        threads, values = ([int(_core.size(tv, mode=[i])) for tv in (self.load_tv, self.store_tv)] for i in (0, 1))
        tensors = f"{p.element_bytes}, {tile}, {src_unit}, {dst_unit}, {device_type(self.load_tv)}"
        aligned, checked, is_async = (str(flag).lower() for flag in (self.src_aligned, self.predicated, self.is_async))
        if self.kernel == "direct":
            return (
                f"copy_direct<DirectCopy<{tensors}, {threads[0]}, {values[0]}, {self.load_vector}, {self.src_mode}, "
                f"{self.src_step}, {aligned}, {self.dst_shift}, {checked}>>"
            )
        return (
            f"copy_staged<StagedCopy<{tensors}, {device_type(self.store_tv)}, {device_type(self.smem)}, "
            f"{threads[0]}, {values[0]}, {self.load_vector}, {threads[1]}, {values[1]}, {self.store_vector}, "
            f"{self.src_mode}, {self.dst_mode}, {1 if self.is_async else self.src_step}, {self.smem_store}, "
            f"{self.smem_load}, {self._smem_step()}, {aligned}, {self.dst_shift}, {checked}, {is_async}>>"
        )

    def _smem_step(self) -> int:
        """The distance in shared memory between the elements of an access along dst_mode; 0 if that is not constant."""
        return constant_step(self)

    def _units(self) -> tuple[int, int]:
        """The modes in which the kernel may rely on stride 1; -1 for none. All other strides are run-time values."""
        p = self.problem
        src = self.src_mode if self.src_step == 1 else -1
        return src, self.dst_mode if p.dst_strides[self.dst_mode] == 1 else -1

    def params(self, src: int = 0, dst: int = 0, src_memory: tuple[int, int] = (0, 0)) -> bytes:
        """The kernel's parameter: addresses of coordinate 0 and of the source's memory, extents, strides, grid."""
        if self.kernel == "packed":
            return packed_params(self, src, dst, src_memory, self._grid())
        p = self.problem
        sizes = (*p.extents, *p.src_strides, *p.dst_strides)
        grid = [word for n in self._grid() for word in fast_divisor(n)]
        return struct.pack(f"<4Q{len(sizes)}q{len(grid)}I{-4 * len(grid) % 8}x", src, dst, *src_memory, *sizes, *grid)

    def launches(self, tensors: tuple[Place | None, ...]) -> tuple[KernelLaunch, ...]:
        """The kernel of the plan, for a source and a destination at these places."""
        p, size = self.problem, self.problem.element_bytes
        ends = [(e - 1) * d for e, d in zip(p.extents, p.src_strides, strict=True)]
        first, last = (p.src_offset + sum(f(x, 0) for x in ends) for f in (min, max))
        pointers = [
            (0, 0, p.src_offset * size),
            (1, 8, p.dst_offset * size),
            (0, 16, first * size),  # the source's memory: where it begins and ends
            (0, 24, (last + 1) * size),
        ]
        early = is_short(2 * size * math.prod(p.extents))
        return (KernelLaunch(self, tensors, (self.ctas, 1, 1), self.params(), pointers, programmatic=early),)

    def require_device(self, facts: DeviceFacts) -> None:
        """LayoutError where the tile does not fit into the shared memory of a device."""
        if self.shared_bytes > facts.shared_bytes:
            raise LayoutError(
                f"kernels.tiled_copy: the tile {text(self.tile)} takes {self.shared_bytes} bytes of shared memory "
                f"({self.smem}), but a CTA of {facts.name} has at most {facts.shared_bytes}; use a smaller tile"
            )

    @short
    def why(self) -> Why[CopyCandidate]:
        """What the plan was chosen from, with the time that each is expected to take on an H200 and what bounds it.

        It prints as a table, the chosen plan first and marked with ">", then the others by their times. Its rows have
        `plan`, `moved`, `seconds`, `bound` and `cost`. `moved` are the bytes of the sectors that are moved, as a
        multiple of those that are copied, on average of the L2 and the memory. The bound is what would save most of the
        time if it took none: "memory", "instructions", "shared memory", "waiting" (of CTAs for their memory), "last
        wave" (multiprocessors without a CTA), "launch", "first instructions" (of a long program); `cost.without(bound)`
        is the time without it. Copies of less than 128 KiB, and those all of whose accesses have 16 bytes, are chosen
        without a look at the times; others are packed where that takes less than 90 % of the time. A plan that is none
        of the candidates is listed with them.

        >>> import numpy
        >>> from tilewright import kernels
        >>> x = numpy.zeros((2048, 4096), numpy.float32)
        >>> found = kernels.tiled_copy.plan(x.T, numpy.zeros((4096, 2048), numpy.float32)).why()
        >>> found[0].chosen, found[0].plan.kernel, found[0].moved, found[0].bound
        (True, 'staged', 1.0, 'memory')
        """
        return _why(self)  # type: ignore[no-any-return]

    # ---- compiling, without a GPU ----

    @short
    def compile(self, arch: str = "sm_90a") -> Any:
        """As Plan.compile."""
        generation = arch.removeprefix("sm_").rstrip("af")
        if self.is_async and generation.isdecimal() and int(generation) < 80:
            raise ValueError(
                f"plan.compile: the plan reads by cp.async, which needs sm_80 or later, but arch is {arch}"
            )
        return Plan.compile(self, arch)

    # ---- running ----

    def fit(
        self, src: Any, dst: Any, stream: int | None = None, check: bool = False
    ) -> tuple[CopyPlan, Operand, Operand]:
        """This plan for other tensors: sizes may differ, what the kernel relies on must not. ValueError otherwise.

        Whether shared memory is laid out right is not looked at for a `check`, which tells it itself.
        """
        a, b = operand(src, "plan.run", "src", stream), operand(dst, "plan.run", "dst", stream)
        problem = copy_problem(a, b, "plan.run", self.tiled_copy is None)
        if problem.element_bytes != self.problem.element_bytes:
            raise ValueError(
                f"plan.run: the plan moves elements of {self.problem.element_bytes} bytes, but src has elements of "
                f"{problem.element_bytes} ({a.element_type}); make a plan for them"
            )
        plan = self if problem == self.problem else self.replace(problem=problem)  # what it has made is kept
        if a.size:
            plan.require(a.address, b.address)
            if not check:
                plan.require_shared()
        return plan, a, b

    def require(self, src_address: int, dst_address: int, function: str = "plan.run") -> None:
        """Check what the kernel relies on, for tensors at these addresses; ValueError where it does not hold."""
        require(self, src_address, dst_address, function)

    def require_shared(self, function: str = "plan.run") -> None:
        """Check what the kernel relies on in shared memory; ValueError where it does not hold."""
        if self.smem is not None:
            require_shared(self, function)

    @short
    def run(self, src: Any, dst: Any, *, stream: int | None = None, check: bool = False) -> Any:
        """Copy src to dst by this plan, on the GPU that they are on, or on the CPU; dst is returned.

        On the CPU `check=True` runs it with marks on every element and returns a report: elements never written,
        written twice, read before they are written. dst is written, as without a check.
        """
        return run_plan(self, src, dst, stream=stream, check=check)

    # ---- looking at it ----

    def __str__(self) -> str:
        p = self.problem
        lines = [
            f"{self.kernel} copy of {p}",
            f"  tile       {text(self.tile)}, {text(self.tiles)} tiles, {self.threads} threads"
            + (", predicated" if self.predicated else ""),
        ]
        if self.kernel == "packed":
            return "\n".join([*lines, *packed_text(self), f"  shared     {self.shared_bytes} bytes: {self.smem}"])
        lines += [
            f"  load       {self._accesses(self.load_vector, self.src_mode, self.src_step)}: {self.load_tv}",
            f"  store      {self._accesses(self.store_vector, self.dst_mode, 1)}: {self.store_tv}",
        ]
        if self.smem is not None:
            lines.append(f"  shared     {self.shared_bytes} bytes: {self.smem}")
        if self.dst_shift or not self.src_aligned:
            sides = [f"dst to {self.dst_shift} elements"] if self.dst_shift else []
            lines.append(f"  realigned  {', '.join(['src'] * (not self.src_aligned) + sides)}")
        return "\n".join(lines)

    def _accesses(self, vector: int, mode: int, step: int) -> str:
        bits = 8 * self.problem.element_bytes
        if step == -1 and vector > 1:
            return f"{bits} bits, element by element"
        if step == 0:
            return f"{bits} bits, one element for {vector}"
        along = f" along mode {mode}" if vector > 1 else ""
        return f"{bits * vector} bits{along}" + (f" with step {step}" if step > 1 else "")
