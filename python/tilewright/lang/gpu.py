"""Run traced programs on a CUDA device: their kernels compiled once for its architecture, launched from C++."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from tilewright import _core, numeric
from tilewright.cute.runtime import work_stream
from tilewright.devices import architecture
from tilewright.lang.arguments import TensorForm
from tilewright.lang.compile import CompiledKernel
from tilewright.lang.cpu import HostPrints
from tilewright.runtime.device import properties

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.lang.arguments import Leaves
    from tilewright.lang.jit import Traced

__all__ = ["arch_of", "kernels_of", "run_on_gpu"]

_COOPERATIVE, _PROGRAMMATIC = 2, 3  # among the numbers of a launch
_EVENTS = slice(4, 9)  # the same: the completion event, its flags, the programmatic one, its flags, at block start


@functools.cache
def arch_of(device: int) -> str:
    """The architecture of a CUDA device."""
    return architecture(*properties(device)["compute_capability"])


def kernels_of(traced: Traced, arch: str) -> dict[int, CompiledKernel]:
    """The kernels of a program for an architecture, by their index; each is compiled when it is first launched."""
    known = traced.compiled.get(arch)
    if known is None:
        functions = enumerate(traced.program.functions)
        known = traced.compiled[arch] = {
            i: CompiledKernel(traced.program, i, arch) for i, f in functions if f.is_kernel
        }
    return known


def _packed(kernel: CompiledKernel, types: Sequence[Any], values: Sequence[int]) -> bytearray:
    """The memory of a launch's parameters."""
    packed = bytearray(kernel.parameter_bytes)
    for kind, offset, bits in zip(types, kernel.offsets, values, strict=True):
        size = 8 if kind.kind == "pointer" else _bytes_of(kind.scalar)
        packed[offset : offset + size] = (bits & (1 << 8 * size) - 1).to_bytes(size, "little")
    return packed


@functools.cache
def _bytes_of(scalar: str) -> int:
    return max(int(getattr(numeric, scalar).bits) // 8, 1)


def run_on_gpu(traced: Traced, leaves: Leaves, device: int) -> tuple[tuple[Any, ...], Any]:
    """Launch the kernels of a call on a device.

    Returns the leaves of the host function's results, and what repeats the launches for other tensors of the same kind
    (None where they cannot be repeated so).
    """
    launches, prints, results = traced.program.evaluate(traced.host, leaves.values)
    host_prints = HostPrints(prints)
    kernels = kernels_of(traced, arch_of(device))
    on = work_stream(device) if leaves.stream is None else leaves.stream
    # What prints has to be evaluated at every call.
    prepared = None if host_prints else _prepared(traced, launches, kernels, device, leaves)
    if prepared is not None:
        addresses = [0] * len(traced.forms)
        for parameter, argument in _arguments_of(traced).items():
            addresses[argument] = leaves.values[parameter]
        prepared.launch(addresses, on)
        return results, prepared if leaves.stream is None else None
    for number, launch in enumerate(launches):
        host_prints.before(number)
        kernel = kernels[launch.kernel]
        types = traced.program.parameter_types(launch.kernel)
        values = [bits if base < 0 else leaves.values[base] + bits for bits, base in launch.arguments]
        kernel.launch(
            device,
            launch.grid,
            launch.block,
            bytes(_packed(kernel, types, values)),
            stream=on,
            shared=launch.shared_bytes,
            cluster=launch.cluster,
            cooperative=bool(launch.ints[_COOPERATIVE]),
            programmatic=bool(launch.ints[_PROGRAMMATIC]),
            **_events_of(traced, launch, leaves),
        )
    host_prints.before(len(launches))
    return results, None


def _events_of(traced: Traced, launch: Any, leaves: Leaves) -> dict[str, tuple[int, int, bool]]:
    """The events that a launch records, as keywords of Function.launch."""
    numbers = launch.ints[_EVENTS]
    if not numbers:
        return {}
    completion, completion_flags, programmatic, programmatic_flags, at_block_start = numbers
    events = {}
    if completion:
        events["completion_event"] = (leaves.events[traced.events[completion - 1]], completion_flags, False)
    if programmatic:
        handle = leaves.events[traced.events[programmatic - 1]]
        events["programmatic_event"] = (handle, programmatic_flags, bool(at_block_start))
    return events


def _arguments_of(traced: Traced) -> dict[int, int]:
    """The argument whose address each pointer parameter of the host function is."""
    found, parameter = {}, 0
    for argument, form in enumerate(traced.forms.values()):
        parameters = list(form.parameters())
        if isinstance(form, TensorForm) and parameters and parameters[0][1].kind == "pointer":
            found[parameter] = argument
        parameter += len(parameters)
    return found


def _prepared(
    traced: Traced, launches: Sequence[Any], kernels: dict[int, CompiledKernel], device: int, leaves: Leaves
) -> Any:
    """The launches with everything but the addresses of tensors that are arguments; None where there is more."""
    arguments = _arguments_of(traced)
    made = []
    for launch in launches:
        is_plain = list(launch.cluster) == [1, 1, 1] and not launch.ints[_COOPERATIVE] and not launch.ints[_EVENTS]
        bases = [base for _, base in launch.arguments if base >= 0]
        if not is_plain or any(base not in arguments for base in bases):
            return None
        kernel = kernels[launch.kernel]
        function = kernel.function(device)
        shared = max(kernel.shared_bytes, launch.shared_bytes)
        if shared > 48 * 1024:
            function.set_dynamic_shared(shared)
        types = traced.program.parameter_types(launch.kernel)
        values = [bits if base < 0 else 0 for bits, base in launch.arguments]
        pointers = [
            (arguments[base], offset, bits if bits < 1 << 63 else bits - (1 << 64))
            for (bits, base), offset in zip(launch.arguments, kernel.offsets, strict=True)
            if base >= 0
        ]
        params = bytes(_packed(kernel, types, values))
        made.append(
            _core.cuda.Kernel(
                function, launch.grid, launch.block, shared, params, pointers,
                programmatic=bool(launch.ints[_PROGRAMMATIC]), plan=kernel,
            )
        )  # fmt: skip
    return _core.cuda.Prepared(made, keep=traced) if made else None
