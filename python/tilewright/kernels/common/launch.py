"""Plans on a CUDA device: prepared, launched on the current stream of the tensors' device, and launched again.

A plan has `launches(tensors)`: its kernels in their order, for tensors at these places. The plan of each kernel has
`name`, `threads`, `shared_bytes`, `require_device(facts)`, `compile(arch)` and `compiled(arch)`.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload

from tilewright import _core
from tilewright.devices import DeviceFacts
from tilewright.runtime.device import properties

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import ParamSpec, TypeVar

    from tilewright._core.cuda import Prepared
    from tilewright._typing import Answer, Launched, Planned, Tuned
    from tilewright.kernels.common.operands import Operand
    from tilewright.kernels.common.workspace import Workspace

    P = ParamSpec("P")
    Q = ParamSpec("Q")
    R = ParamSpec("R")
    S = TypeVar("S")
    T = TypeVar("T")
    U = ParamSpec("U")
    V = TypeVar("V")

__all__ = [
    "FLAGS",
    "PADDED",
    "SCRATCH",
    "KernelLaunch",
    "Place",
    "addresses_of",
    "bind",
    "compile_together",
    "facts_of",
    "is_short",
    "launch",
    "launched_again",
    "prepare",
    "require_stream",
]

SHORT = 48 << 20  # bytes that a kernel moves in some 12 us
EARLY = 90  # the first compute capability, times 10, with early launches
RESERVED = 1024  # bytes of shared memory that the driver takes for each CTA
FLAGS, SCRATCH, PADDED = -1, -2, -3  # the buffers of a workspace, as places; see Workspace

_functions: dict[tuple[type, str, int], Any] = {}


class Place(NamedTuple):
    """Where a kernel finds a tensor: `shift` bytes behind the address of an argument, or of a buffer of the workspace.

    `address` is that place in the call that is prepared; of a buffer any address that is aligned as it is.
    """

    base: int  # the argument; FLAGS, SCRATCH or PADDED
    shift: int
    address: int

    def moved(self, shift: int) -> Place:
        """The place so many bytes behind.

        >>> Place(0, 16, 4096).moved(8)
        Place(base=0, shift=24, address=4104)
        """
        return Place(self.base, self.shift + shift, self.address + shift)


def is_short(moved: int) -> bool:
    """Whether a kernel moves so few bytes that its launch is much of its time: then it may begin early.

    >>> is_short(1 << 20), is_short(1 << 30)
    (True, False)
    """
    return moved < SHORT


class KernelLaunch(NamedTuple):
    """One kernel of a plan with everything of its launch but the addresses.

    `pointers` and `maps` say where params has addresses and tensor maps: (which of the tensors, offset in bytes, bytes
    added to its place).
    """

    plan: Any
    tensors: tuple[Place | None, ...]  # None: one that this call does without
    grid: tuple[int, int, int]
    params: bytes
    pointers: Sequence[tuple[int, int, int]]
    maps: Sequence[tuple[int, int, int]] = ()
    # It may begin before the kernel before it has ended, and waits for its data itself. It may get more shared memory
    # than the plan says then, so that its CTAs keep apart: see shared_apart().
    programmatic: bool = False
    workspace: tuple[int, int, int] = (0, 0, 0)  # bytes that it needs of FLAGS, SCRATCH and PADDED
    cluster: int = 1  # CTAs of a cluster


class Plan(Protocol):
    """What a plan says to be launched."""

    def launches(self, tensors: tuple[Place | None, ...]) -> tuple[KernelLaunch, ...]:
        """Its kernels in their order, for tensors at these places."""


class Operands(Protocol):
    """The tensors of a call: None for one that is left out."""

    @property
    def tensors(self) -> tuple[Operand | None, ...]:
        """In the order in which the plan has them."""

    @property
    def shifts(self) -> tuple[int, ...]:
        """How many bytes behind the address of each tensor the plan has it begin."""

    @property
    def output(self) -> int:
        """Which of them is written, and is the result of the call."""


# ---- kernels on a device ----


@functools.cache
def facts_of(device: int) -> DeviceFacts:
    """What plans ask about a CUDA device."""
    found = properties(device)
    major, minor = found["compute_capability"]
    return DeviceFacts(found["name"], 10 * major + minor, found["multiprocessors"], found["shared_per_block_optin"])


def compile_together(plans: Iterable[Any], arch: str) -> None:
    """Compile plans of one kernel each, those that this process has yet to compile at the same time."""
    every = {(type(plan), plan.name): plan for plan in plans}
    missing = [plan for plan in every.values() if plan.compiled(arch) is None]
    if len(missing) > 1:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(missing)) as pool:
            list(pool.map(lambda plan: plan.compile(arch), missing))
    elif missing:
        missing[0].compile(arch)


def functions_of(plans: Sequence[Any], device: int) -> list[Any]:
    """The kernels of plans on a device, compiled and loaded the first time."""
    keys = [(type(plan), plan.name, device) for plan in plans]
    missing = {key: plan for key, plan in zip(keys, plans, strict=True) if key not in _functions}
    if missing:
        from tilewright.runtime.compiler import kernel

        facts = facts_of(device)
        for plan in missing.values():
            plan.require_device(facts)
        if len(missing) > 1:
            compile_together(missing.values(), facts.arch)
        for key, plan in missing.items():
            _functions[key] = kernel(plan.compile(facts.arch), plan.name, device)
    return [_functions[key] for key in keys]


# ---- launches ----


def prepare(
    plan: Plan,
    operands: Operands,
    positions: Sequence[int] | None = None,
    keep: Any = None,
    workspace: type[Workspace] | None = None,
) -> Prepared:
    """The launch of a plan with everything but the addresses filled in.

    The tensors are the arguments at `positions`, by default in their order. It refuses other tensors whose memory
    overlaps that of the output: those have to be looked at element by element. A `workspace` may be given in place of
    the usual one.
    """
    tensors, places = operands.tensors, positions or range(len(operands.tensors))
    output: Any = tensors[operands.output]
    kernels = plan.launches(
        tuple(
            None if x is None else Place(place, shift, x.address + shift)
            for x, place, shift in zip(tensors, places, operands.shifts, strict=True)
        )
    )
    facts = facts_of(output.device[1])
    functions = functions_of([one.plan for one in kernels], output.device[1])
    reaches = _reaches(operands)
    last = [*reaches].index(operands.output)
    return _core.cuda.Prepared(
        [_kernel(one, function, facts) for one, function in zip(kernels, functions, strict=True)],
        ranges=[(places[i], low, high) for i, (low, high) in reaches.items()],
        disjoint=[] if _interleaved(operands, reaches) else [(i, last) for i in range(len(reaches)) if i != last],
        result=places[operands.output],
        keep=(plan, keep),
        workspace=_workspace(kernels, output, workspace),
    )


def _workspace(kernels: Iterable[KernelLaunch], output: Operand, kind: type[Workspace] | None) -> Workspace | None:
    """What provides the buffers that kernels need, each as large as the one that needs most of it."""
    flags, scratch, padded = (max(sizes) for sizes in zip(*(one.workspace for one in kernels), strict=True))
    if not (flags or scratch or padded):
        return None
    from tilewright.kernels.common.workspace import Workspace, library_of

    return (kind or Workspace)(output.device[1], (flags, scratch, padded), library_of(output.owner))


def begins_early(one: KernelLaunch, facts: DeviceFacts) -> bool:
    """Whether a launch may begin before the one before it has ended; devices before sm_90 launch in turn."""
    return one.programmatic and facts.capability >= EARLY


def shared_apart(one: KernelLaunch, fits: int, facts: DeviceFacts) -> int:
    """The bytes of shared memory that a launch which begins early asks for; `fits`: CTAs of a multiprocessor.

    CTAs that come early come where there is room: the first multiprocessors to become idle take as many as fit, and
    the last ones few or none. So they ask for so much shared memory that no more fit than each has to take. Where that
    many fit anyway they leave it to the cache.
    """
    asked = int(one.plan.shared_bytes)
    # Clusters of more than two find a place on 120 of an H200's 132 multiprocessors: `quads` of gemm_sm90's model.
    places = facts.multiprocessors if one.cluster <= 2 else facts.multiprocessors * 10 // 11
    beside = -(-math.prod(one.grid) // places)
    apart = (facts.shared_bytes + RESERVED) // (beside + 1) + 1 - RESERVED  # the least that one more has no room for
    return asked if fits <= beside else max(asked, apart)


def _kernel(one: KernelLaunch, function: Any, facts: DeviceFacts) -> Any:
    def placed(found: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        at: Any = one.tensors
        return [(at[i].base, offset, at[i].shift + add) for i, offset, add in found]

    early, shared = begins_early(one, facts), int(one.plan.shared_bytes)
    if early:
        shared = shared_apart(one, function.occupancy(one.plan.threads, shared), facts)
    return _core.cuda.Kernel(
        function,
        one.grid,
        (one.plan.threads, 1, 1),
        shared,
        one.params,
        placed(one.pointers),
        maps=placed(one.maps),
        programmatic=early,
        plan=one.plan,
        tensors=[None if x is None else x[:2] for x in one.tensors],
    )


def _reaches(operands: Operands) -> dict[int, tuple[int, int]]:
    """Where the elements of each tensor that has some begin and end, in bytes from its address."""
    given = ((i, x, x.reach()) for i, x in enumerate(operands.tensors) if x is not None and x.size)
    return {i: (low - x.address, high - x.address) for i, x, (low, high) in given}


def _interleaved(operands: Operands, reaches: dict[int, tuple[int, int]]) -> bool:
    """Whether elements of the output, which are known to be its own, lie between those of another tensor."""
    at: Any = operands.tensors
    a, b = (at[operands.output].address + end for end in reaches[operands.output])
    others = (i for i in reaches if at[i] is not at[operands.output])
    return any(at[i].address + reaches[i][0] < b and a < at[i].address + reaches[i][1] for i in others)


def addresses_of(operands: Operands, positions: Sequence[int] | None = None) -> list[int]:
    """The addresses of the tensors at their positions, 0 at all others: what a prepared launch is launched at."""
    places = positions or range(len(operands.tensors))
    addresses = [0] * (max(places) + 1)
    for place, x in zip(places, operands.tensors, strict=True):
        addresses[place] = x.address if x is not None else 0
    return addresses


def launch(
    plan: Plan, operands: Operands, stream: int | None = None, positions: Sequence[int] | None = None
) -> Prepared | None:
    """Launch a plan on a stream, by default the current one; the launch if it can be repeated, else None."""
    from tilewright.cute.runtime import work_stream

    prepared = prepare(plan, operands, positions)
    output: Any = operands.tensors[operands.output]
    prepared.launch(addresses_of(operands, positions), work_stream(output.device[1]) if stream is None else stream)
    return None if _interleaved(operands, _reaches(operands)) else prepared


def bind(plan: Plan, operands: Operands) -> Callable[..., None]:
    """A callable that launches a plan on these tensors, on the current stream or on stream=...; it keeps them alive."""
    from tilewright.cute.runtime import work_stream

    given = [x for x in operands.tensors if x is not None]
    prepared = prepare(plan, operands, keep=tuple(x.memory for x in given))
    owners = [x.owner for x in given]
    if all(_core.cuda.describe(x) is not None for x in owners):
        return prepared.bind(*owners)  # type: ignore[no-any-return]
    bound = prepared.bind(*owners, addresses=[x.address for x in given])
    device = given[0].device[1]

    def launched(*, stream: int | None = None) -> None:
        bound(stream=work_stream(device) if stream is None else stream)

    return launched


# ---- launches again ----


@overload
def launched_again() -> Callable[[Callable[P, Answer[T]]], Launched[P, T]]: ...
@overload
def launched_again(*, plan: Callable[Q, S]) -> Callable[[Callable[P, Answer[T]]], Planned[P, T, Q, S]]: ...
@overload
def launched_again(
    *, plan: Callable[Q, S], tune: Callable[R, S], calibrate: Callable[U, V]
) -> Callable[[Callable[P, Answer[T]]], Tuned[P, T, Q, S, R, U, V]]: ...
def launched_again(**functions: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: a callable that repeats, for arguments of the same kind, the launch that the function returns with
    its result. It has other functions beside it, such as `plan`, as attributes."""

    def decorate(function: Callable[..., tuple[Any, Any]]) -> Any:
        code = function.__code__  # inspect.signature would say the same, and take ten times as long to import
        parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        launcher: Any = functools.update_wrapper(_core.cuda.Launcher(function, parameters), function)
        answer = function.__annotations__["return"]
        function.__annotations__["return"] = answer.removeprefix("Answer[").removesuffix("]")
        launcher.__module__ = "tilewright.kernels"  # where it is public
        for name, beside in functions.items():
            beside.__name__, beside.__qualname__ = name, f"{function.__qualname__}.{name}"
            setattr(launcher, name, beside)
        return launcher

    return decorate


def require_stream(function: str, stream: Any) -> None:
    """TypeError where this is neither the number of a CUDA stream nor None."""
    if stream is not None and (type(stream) is not int or stream < 0):
        raise TypeError(f"{function}: expected stream to be the number of a CUDA stream or None, but got {stream!r}")
