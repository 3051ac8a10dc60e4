"""What plans of all kernels can do; what it is depends on the kernel that is registered for the plan's class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright._notebook import drawn
from tilewright._registry import load
from tilewright._traceback import short
from tilewright.kernels.common.launch import bind, require_stream
from tilewright.kernels.common.operands import CPU, CUDA_HOST
from tilewright.kernels.kernel import Kernel, kernel_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Plan", "bind_plan", "run_plan"]


@drawn
class Plan:
    """A base class for the plans of a registered kernel.

    `name` is the kernel's name expression: the template and everything static. For the occupancy a plan has `threads`
    and `shared_bytes` of a CTA and `ctas`, their number.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def name(self) -> str: ...

    @property
    def kernel_name(self) -> str:
        """The name of the plan's kernel, such as "sm90"."""
        return kernel_of(self).name

    @property
    def min_ctas_per_sm(self) -> int:
        """The CTAs of a multiprocessor for which the kernel is compiled: it leaves them registers."""
        return 1

    # ---- compiling, without a GPU ----

    def _require_arch(self, capability: int, shown: str, function: str) -> None:
        kernel = kernel_of(self)
        if not kernel.runs_on(capability):
            low, high = kernel.archs
            needed = f"sm_{low}" if high == low else f"sm_{low} or later"
            raise ValueError(
                f"{function}: the plan's kernel {kernel.stem} has instructions of {needed}, but {shown}; choose a plan "
                "for that device"
            )

    @short
    def compile(self, arch: str = "sm_90a") -> Any:
        """The compiled program: `.ptx`, `.cubin`, `.source`, `.report` of registers and spills. Needs NVRTC, no GPU."""
        from tilewright.runtime.compiler import compile_program

        if not isinstance(arch, str):
            raise TypeError(f"plan.compile: expected arch to be a string such as sm_90a, but got {arch!r}")
        generation = arch.removeprefix("sm_").rstrip("af")
        if arch.startswith("sm_") and generation.isdecimal():
            self._require_arch(int(generation), f"arch is {arch}", "plan.compile")
        kernel = kernel_of(self)
        return compile_program(kernel.stem, [self.name], arch, source=kernel.text)

    def compiled(self, arch: str = "sm_90a") -> Any:
        """What `compile` gives, if this process has compiled it or run it on such a device; None if not."""
        from tilewright.runtime.compiler import compiled_program

        kernel = kernel_of(self)
        return compiled_program(kernel.stem, [self.name], arch, source=kernel.text)

    @property
    def source(self) -> str:
        """The kernel's C++ source and, above it, the instantiation."""
        from tilewright.runtime.discovery import kernels_folder

        kernel = kernel_of(self)
        text = kernel.text
        if text is None:
            text = (kernels_folder() / kernel.source).read_text(encoding="utf-8")
        return f"// {self.name}\n{text}"

    @property
    def ptx(self) -> str:
        """The PTX for sm_90a; `compile(arch).ptx` for another architecture."""
        ptx: str = self.compile().ptx
        return ptx

    # ---- running ----

    @short
    def run(self, *tensors: Any, **options: Any) -> Any:
        """Run the plan on tensors, on the GPU that they are on or on the CPU; the last of them is returned.

        Options: stream=..., and on the CPU check=True, which returns a report instead, of a whole run.
        """
        return run_plan(self, *tensors, **options)

    @short
    def bind(self, *tensors: Any, **options: Any) -> Callable[..., None]:
        """A callable that runs the plan on these tensors: bound(). It keeps them alive; their memory must stay."""
        return bind_plan(self, *tensors, **options)

    # ---- looking at it ----

    def analyze(self, *tensors: Any, **options: Any) -> Any:
        """Every memory instruction of a launch, with totals: `analysis.analyze_plan` of this plan."""
        from tilewright.analysis import analyze

        return analyze(self, *tensors, **options)

    def svg(self, of: str | None = None) -> str:
        """A picture, by its name; by default the first one. ValueError for any other name."""
        pictures = kernel_of(self).pictures
        which = next(iter(pictures), None) if of is None else of
        if which is None:
            return load("tilewright.show.registry:show")(self).svg()  # type: ignore[no-any-return]
        if not isinstance(which, str) or which not in pictures:
            raise ValueError(f"plan.svg: there is no picture of {which!r}, but of {', '.join(pictures)}")
        return pictures[which](self).svg()  # type: ignore[no-any-return]


def run_plan(plan: Any, *tensors: Any, stream: int | None = None, check: bool = False, **options: Any) -> Any:
    """plan.run: see there. `options` are those that the kernel's plans have besides."""
    function = "plan.run"
    require_stream(function, stream)
    if type(check) is not bool:
        raise TypeError(f"{function}: expected check to be True or False, but got {check!r}")
    kernel = kernel_of(plan)
    plan, operands = _member(kernel, "fit")(plan, function, *tensors, stream=stream, check=check, **options)
    output = operands.tensors[operands.output]
    if output.device[0] in (CPU, CUDA_HOST):
        host = _member(kernel, "host")
        if check:
            return host(plan, operands, True)
        if output.size:
            host(plan, operands, False)
    elif check:
        raise ValueError(f"{function}: check=True runs on the CPU; pass CPU tensors of the same shape and strides")
    elif output.size:
        _member(kernel, "launch")(plan, operands, stream)
    return output.owner


def bind_plan(plan: Any, *tensors: Any, **options: Any) -> Callable[..., None]:
    """plan.bind: see there."""
    kernel = kernel_of(plan)
    plan, operands = _member(kernel, "fit")(plan, "plan.bind", *tensors, **options)
    output = operands.tensors[operands.output]
    if output.size and output.device[0] not in (CPU, CUDA_HOST):
        return bind(plan, operands)
    host = _member(kernel, "host")

    def bound() -> None:
        if output.size:
            host(plan, operands, False)

    return bound


def _member(kernel: Kernel, name: str) -> Any:
    found = getattr(kernel, name)
    if found is None:
        raise ValueError(
            f"plan.run: the kernel {kernel.name} is registered without {name!r}, by which its plans run here"
        )
    return found
