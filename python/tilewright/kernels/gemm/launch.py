"""Plans of GEMMs on a CUDA device: compiled once, launched on the current stream of the tensors' device."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.devices import DeviceFacts

if TYPE_CHECKING:
    from tilewright.kernels.copy.problem import Operand
    from tilewright.kernels.gemm.operands import GemmOperands
    from tilewright.kernels.gemm.plan import GemmPlan

_functions: dict[tuple[type[GemmPlan], str, int], Any] = {}


@functools.cache
def facts_of(device: int) -> DeviceFacts:
    """What plans ask about a CUDA device."""
    from tilewright.runtime.device import properties

    found = properties(device)
    major, minor = found["compute_capability"]
    return DeviceFacts(found["name"], 10 * major + minor, found["multiprocessors"], found["shared_per_block_optin"])


def function_of(plan: GemmPlan, device: int) -> Any:
    """The plan's kernel on a device, compiled and loaded the first time."""
    key = (type(plan), plan.name, device)
    function = _functions.get(key)
    if function is None:
        from tilewright.runtime.compiler import kernel

        facts = facts_of(device)
        plan.require_device(facts)
        function = kernel(plan.compile(facts.arch), plan.name, device)
        if plan.shared_bytes > 48 * 1024:
            function.set_dynamic_shared(plan.shared_bytes)
        _functions[key] = function
    return function


def prepare(
    plan: GemmPlan, operands: GemmOperands, positions: tuple[int, ...], keep: Any = None, result: bool = True
) -> Any:
    """The launch of a plan with everything but the addresses filled in.

    A, B, C and bias are the arguments at `positions`; C is what the call returns. It refuses tensors whose memory
    overlaps that of C: those have to be looked at element by element.
    """
    order = (1, 0, 2, 3) if plan.swapped else (0, 1, 2, 3)
    behind = max(positions) + 1  # scratch, which is no tensor

    def placed(places: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
        of_tensors = [(positions[order[i]], at, add + operands.shifts[order[i]]) for i, at, add in places if i < 4]
        return of_tensors + [(behind + i - 4, at, add) for i, at, add in places if i >= 4]

    addresses = [operands.addresses[i] for i in order]
    given = [(i, x) for i, x in enumerate(operands.tensors) if x is not None and x.size]
    ranges = [(positions[i], x.reach()[0] - x.address, x.reach()[1] - x.address) for i, x in given]
    last = [i for i, _ in given].index(2)
    return _core.cuda.Prepared(
        function_of(plan, operands.c.device[1]),
        plan.grid(),
        (plan.threads, 1, 1),
        plan.shared_bytes,
        plan.params(*addresses),
        pointers=placed(plan.pointers()),
        ranges=ranges,
        disjoint=[] if interleaved(operands) else [(i, last) for i in range(len(given)) if i != last],
        result=positions[2] if result else None,
        keep=(plan, keep),
        maps=placed(plan.tensor_maps()),
        programmatic=plan.programmatic,
    )


def interleaved(operands: GemmOperands) -> bool:
    """Whether elements of C, which are known to be its own, lie between those of another tensor."""

    def meets(x: Operand | None) -> bool:
        if x is None or not x.size:
            return False
        (a, b), (c, d) = x.reach(), operands.c.reach()
        return a < d and c < b

    return any(meets(x) for x in (operands.a, operands.b, operands.bias))


def addresses_by_position(operands: GemmOperands, positions: tuple[int, ...]) -> list[int]:
    """The addresses of the tensors at their positions, 0 at all others."""
    addresses = [0] * (max(positions) + 1)
    for position, x in zip(positions, operands.tensors, strict=True):
        addresses[position] = x.address if x is not None else 0
    return addresses


def launch(plan: GemmPlan, operands: GemmOperands, stream: int | None, positions: tuple[int, ...]) -> Any:
    """Launch a plan on a stream, by default the current one; the launch if it can be repeated, else None."""
    from tilewright.cute.runtime import work_stream

    prepared = prepare(plan, operands, positions)
    on = work_stream(operands.c.device[1]) if stream is None else stream
    prepared.launch(addresses_by_position(operands, positions), on)
    return None if interleaved(operands) else prepared


def bind(plan: GemmPlan, operands: GemmOperands) -> Any:
    """A callable that launches the plan on these tensors.

    Where their library does not offer DLPack's C functions, which tell the current stream, it needs stream=...
    """
    tensors = [x for x in operands.tensors if x is not None]
    positions = (0, 1, 2, 3)
    prepared = prepare(plan, operands, positions, tuple(x.memory for x in tensors), result=False)
    owners = [x.owner for x in tensors]
    if all(_core.cuda.describe(x) is not None for x in owners):
        return prepared.bind(*owners)
    return prepared.bind(*owners, addresses=[x.address for x in tensors])
