"""Plans on a CUDA device: compiled once, launched on the current stream of the tensors' device."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.kernels.copy.plan import CopyPlan, check_static
from tilewright.kernels.copy.problem import Operand
from tilewright.runtime.device import arch_of

SRC, DST = 0, 1  # the arguments of a launch

_functions: dict[tuple[str, int], Any] = {}
_limits: dict[int, tuple[int, str, str]] = {}


def device_limits(device: int) -> tuple[int, str, str]:
    """Shared memory of a CTA, the architecture to compile for, and the device's name."""
    if device not in _limits:
        facts = _core.cuda.device(device)
        _limits[device] = facts["shared_per_block_optin"], arch_of(device), facts["name"]
    return _limits[device]


def function_of(plan: CopyPlan, device: int) -> Any:
    """The plan's kernel on a device, compiled and loaded the first time."""
    key = (plan.name, device)
    function = _functions.get(key)
    if function is None:
        from tilewright.runtime.compiler import kernel

        limit, arch, name = device_limits(device)
        check_static(plan, limit, name)
        program = plan.compile(arch)
        function = kernel(program, plan.name, device)
        if plan.shared_bytes > 48 * 1024:
            function.set_dynamic_shared(plan.shared_bytes)
        _functions[key] = function
    return function


def prepare(plan: CopyPlan, src: Operand, dst: Operand, keep: Any = None) -> Any:
    """The launch of a plan with everything but the pointers filled in.

    It refuses other tensors whose memory overlaps: those have to be looked at element by element.
    """
    p, size = plan.problem, plan.problem.element_bytes
    reaches = ((x.address, *x.reach()) for x in (src, dst))
    src_memory, dst_memory = ((low - address, high - address) for address, low, high in reaches)
    return _core.cuda.Prepared(
        function_of(plan, src.device[1]),
        (plan.ctas, 1, 1),
        (plan.threads, 1, 1),
        plan.shared_bytes,
        plan.params(),
        pointers=[
            (SRC, 0, p.src_offset * size),
            (DST, 8, p.dst_offset * size),
            (SRC, 16, src_memory[0]),
            (SRC, 24, src_memory[1]),
        ],
        ranges=[(SRC, *src_memory), (DST, *dst_memory)],
        disjoint=[] if _interleaved(src, dst) else [(0, 1)],
        result=DST,
        keep=(plan, keep),
    )


def _interleaved(src: Operand, dst: Operand) -> bool:
    """Whether the elements, which are known to be disjoint, lie between each other."""
    (a, b), (c, d) = src.reach(), dst.reach()
    return a < d and c < b


def launch(plan: CopyPlan, src: Operand, dst: Operand, stream: int | None) -> Any:
    """Launch a plan on a stream, by default the current one; the launch if it can be repeated, else None."""
    from tilewright.cute.runtime import work_stream

    prepared = prepare(plan, src, dst)
    prepared.launch([src.address, dst.address], work_stream(src.device[1]) if stream is None else stream)
    return None if _interleaved(src, dst) else prepared


def bind(plan: CopyPlan, src: Operand, dst: Operand) -> Any:
    """A callable that launches the plan on these two tensors.

    Where their library does not offer DLPack's C functions, which tell the current stream, it needs stream=...
    """
    prepared = prepare(plan, src, dst, (src.memory, dst.memory))
    if all(_core.cuda.describe(x.owner) is not None for x in (src, dst)):
        return prepared.bind(src.owner, dst.owner)
    return prepared.bind(src.owner, dst.owner, addresses=[src.address, dst.address])
