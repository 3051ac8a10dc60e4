"""A kernel is one object, which has all that tilewright asks about the kernel's plans; `register` makes it known.

Each kernel declares its object in a file `kernel.py` of its folder. `analyze`, `show`, the methods of plans and the
choice of a GEMM's kernel find it by the class of a plan or of a problem, so that none of them lists kernels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilewright._registry import ANALYSES, KERNELS, Lazy, entry_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Kernel", "find_kernel", "kernel_of", "kernels_for", "register", "registered", "unregister"]

ANALYSIS = "tilewright.kernels.analyze.plans:analyze_plan"
FUNCTIONS = (
    "choose", "variants", "considered", "given", "expected", "fit", "conditions", "tables", "host", "launch",
    "accesses", "draw",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Kernel:
    """What is known of a kernel. Each member is a function, or its place "module:function", imported at first use.

    `name` and `plan` are needed; of the others, those for what the plans are to do. `addresses` are bytes, `operands`
    what `fit` returns, `function` is the name of the call for errors.

    - `plan`, `problem`: the classes of its plans and of its problems, each a class or "module:Class"
    - `tensors`: the names of what it takes, in the order of their addresses
    - `source`: its file in kernels/, such as "gemm_simt.cuh", or else the text of its CUDA source
    - `archs`: the first and the last capability that has its instructions; None: all later ones have them
    - `choose(problem, alignments, facts)`: the plan for a problem on a device; None where it does not take it
    - `variants(problem, alignments, facts)`: further plans, to be measured
    - `considered(problem, alignments, facts)`: what `choose` chooses from, an iterator of plans with Costs, best first
    - `given(problem, *parts, alignments)`: the plan of a user's TiledMma and TiledCopies; None where they are not its
    - `expected(plan, facts)`: the Cost of a plan, of which `seconds` is the time that it is expected to take
    - `fit(plan, function, *tensors, stream=None, check=False)`: the plan for these tensors, and their operands
    - `conditions(plan, addresses, function)`: ValueError where the kernel relies on what does not hold
    - `tables(plan)`: who does what, from the plan's layouts: what the CPU runs
    - `host(plan, operands, check)`: runs the plan on the CPU; with `check` it returns a report
    - `launch(plan, operands, stream)`: runs the plan on a GPU
    - `accesses(plan, addresses)`: its memory instructions, as `Accesses` of analysis/totals/accesses.py
    - `draw(plan)`: its `show.Picture`; `pictures`: others by name, for `plan.svg(name)`, the first by default

    >>> from tilewright.kernels.kernel import registered
    >>> [kernel.name for kernel in registered()]
    ['tiled_copy', 'simt', 'sm80', 'sm90', 'padded', 'residue', 'split_k', 'sum_parts', 'visualize_tv']
    """

    name: str
    plan: Any
    problem: Any = None
    tensors: tuple[str, ...] = ()
    source: str = ""
    archs: tuple[int, int | None] = (75, None)
    choose: Any = None
    variants: Any = lambda *args: ()
    considered: Any = lambda *args: iter(())
    given: Any = lambda *args: None
    expected: Any = None
    fit: Any = None
    conditions: Any = None
    tables: Any = None
    host: Any = None
    launch: Any = None
    accesses: Any = None
    draw: Any = None
    pictures: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("plan", "problem"):
            object.__setattr__(self, name, _class_name(getattr(self, name)))
        for name in FUNCTIONS:
            object.__setattr__(self, name, _function(getattr(self, name)))
        object.__setattr__(self, "pictures", {name: _function(x) for name, x in self.pictures.items()})

    @property
    def stem(self) -> str:
        """What its programs are called: its file without .cuh, or its name."""
        return self.source.removesuffix(".cuh") if self.source.endswith(".cuh") else self.name

    @property
    def text(self) -> str | None:
        """Its CUDA source, where that is no file in kernels/."""
        return None if self.source.endswith(".cuh") else self.source

    def runs_on(self, capability: int) -> bool:
        """Whether devices of a capability, such as 90, have its instructions."""
        first, last = self.archs
        return first <= capability and (last is None or capability <= last)


def _function(x: Any) -> Any:
    return Lazy(x) if isinstance(x, str) else x


def _class_name(kind: Any) -> str:
    """The full name of a class, or of one that is given as "module:Class"."""
    if kind is None:
        return ""
    return kind.replace(":", ".") if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"


def register(kernel: Kernel) -> Kernel:
    """Make a kernel known: from here on its plans are analysed, drawn and run. Returns the kernel.

    Raises: TypeError for what is no Kernel, ValueError where the class of its plans has a kernel already.
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(f"register: expected a Kernel, but got {type(kernel).__name__}")
    if kernel.plan in KERNELS:
        raise ValueError(
            f"register: plans of {kernel.plan} are those of the kernel {KERNELS[kernel.plan].name!r}; unregister it "
            "first, or give the plans of this one a class of their own"
        )
    KERNELS[kernel.plan] = kernel
    if kernel.accesses is not None:
        ANALYSES[kernel.plan] = ANALYSIS
    return kernel


def unregister(kernel: Kernel) -> None:
    """Forget a kernel; ValueError where it is not registered."""
    if KERNELS.get(kernel.plan) is not kernel:
        raise ValueError(f"unregister: the kernel {kernel.name!r} is not registered")
    del KERNELS[kernel.plan]
    ANALYSES.pop(kernel.plan, None)


def registered() -> tuple[Kernel, ...]:
    """All kernels, in the order in which they were registered."""
    return tuple(KERNELS.values())


def find_kernel(x: object) -> Kernel | None:
    """The kernel whose plan an object is, or None."""
    return entry_of(x, KERNELS)


def kernel_of(plan: object) -> Kernel:
    """The kernel of a plan, by its class or the nearest base that has one; TypeError where there is none.

    >>> kernel_of(3)
    Traceback (most recent call last):
    TypeError: int is no plan of a registered kernel; kernels.kernel.register makes one known
    """
    found = find_kernel(plan)
    if found is None:
        raise TypeError(
            f"{type(plan).__name__} is no plan of a registered kernel; kernels.kernel.register makes one known"
        )
    return found


def kernels_for(problem: object, capability: int | None = None) -> list[Kernel]:
    """The kernels that choose plans for such a problem, those with the newest instructions first.

    `capability`: of a device, such as 90, on which they are to run; None: of any.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> problem = problem_of(64, 64, 64, Float16)
    >>> [[kernel.name for kernel in kernels_for(problem, capability)] for capability in (75, 80, 90, 100)]
    [['simt'], ['sm80', 'simt'], ['sm90', 'sm80', 'simt'], ['sm80', 'simt']]
    """
    kind = _class_name(type(problem))
    found = [x for x in KERNELS.values() if x.problem == kind and x.choose is not None]
    found = [x for x in found if capability is None or x.runs_on(capability)]
    return sorted(found, key=lambda kernel: -kernel.archs[0])
