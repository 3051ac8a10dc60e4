"""Run traced programs on a CUDA device: their kernels compiled once for its architecture, launched from C++."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from tilewright import _core, numeric
from tilewright.cute.runtime import work_stream
from tilewright.devices import architecture
from tilewright.lang.arguments import Number, PointerForm, Static, TensorForm
from tilewright.lang.compile import CompiledKernel
from tilewright.lang.cpu import HostPrints
from tilewright.lang.leaves import argument_of
from tilewright.runtime.device import properties

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.lang.arguments import Leaves
    from tilewright.lang.calls.decorated import Traced

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
            i: CompiledKernel(traced.program, i, arch, traced.nvrtc_options) for i, f in functions if f.is_kernel
        }
    return known


def _packed(kernel: CompiledKernel, types: Sequence[Any], values: Sequence[int]) -> bytearray:
    """The memory of a launch's parameters."""
    packed = bytearray(kernel.parameter_bytes)
    for kind, offset, bits in zip(types, kernel.offsets, values, strict=True):
        size = _SIZES.get(kind.kind) or _bytes_of(kind.scalar)
        packed[offset : offset + size] = (bits & (1 << 8 * size) - 1).to_bytes(size, "little")
    return packed


_SIZES = {"pointer": 8, "tensor_map": 128}  # bytes


def _encoded(map_: Any, address: int) -> int:
    """The bytes of a tensor map as one number."""
    encoded = _core.cuda.encode_tensor_map(
        address, map_.element, map_.shape, map_.strides, map_.box, swizzle=map_.swizzle
    )
    return int.from_bytes(encoded, "little")


@functools.cache
def _bytes_of(scalar: str) -> int:
    return max(int(getattr(numeric, scalar).bits) // 8, 1)


def run_on_gpu(traced: Traced, leaves: Leaves, device: int) -> tuple[tuple[Any, ...], Any]:
    """Launch the kernels of a call on a device.

    Returns the leaves of the host function's results, and what repeats the launches for other calls of the same kind
    (None where they cannot be repeated so).
    """
    on = work_stream(device) if leaves.stream is None else leaves.stream
    prepared = _loaded(traced, device).prepare(leaves.values, leaves.stream is not None)
    if prepared is None:
        return _run_one_by_one(traced, leaves, device, on), None
    addresses = [0] * len(traced.parameters)
    for parameter, argument in traced.addresses:
        addresses[argument] = leaves.values[parameter]
    prepared.launch(addresses, on)
    returns_nothing = isinstance(traced.returned, Static) and traced.returned.value is None
    return (), prepared if returns_nothing else None


def _run_one_by_one(traced: Traced, leaves: Leaves, device: int, stream: int) -> tuple[Any, ...]:
    """Launch what has to be evaluated at every call, such as what the host function prints and returns."""
    launches, prints, results = traced.program.evaluate(traced.host, leaves.values)
    host_prints = HostPrints(prints)
    kernels = kernels_of(traced, arch_of(device))
    for number, launch in enumerate(launches):
        host_prints.before(number)
        kernel = kernels[launch.kernel]
        types = traced.program.parameter_types(launch.kernel)
        maps = [_encoded(map_, argument_of(leaves.values, map_.address)) for map_ in launch.maps]
        given = [(argument_of(leaves.values, one), kind) for one, kind in zip(launch.arguments, types, strict=True)]
        values = [maps[bits] if kind.kind == "tensor_map" else bits for bits, kind in given]
        kernel.launch(
            device,
            launch.grid,
            launch.block,
            bytes(_packed(kernel, types, values)),
            stream=stream,
            shared=launch.shared_bytes,
            cluster=launch.cluster,
            cooperative=bool(launch.ints[_COOPERATIVE]),
            programmatic=bool(launch.ints[_PROGRAMMATIC]),
            **_events_of(traced, launch, leaves),
        )
    host_prints.before(len(launches))
    return results  # type: ignore[no-any-return]


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


def _loaded(traced: Traced, device: int) -> _core.cuda.HostFunction:
    """The host function with its kernels on a device."""
    found = traced.loaded.get(device)
    if found is None:
        sources = _sources(traced)
        load = functools.partial(_kernel_on, kernels_of(traced, arch_of(device)), device)
        found = _core.cuda.HostFunction(traced.program, traced.host, sources, load)
        traced.addresses = [(i, argument) for i, (place, argument, *_) in enumerate(sources) if place == "address"]
        traced.loaded[device] = found
    return found


def _kernel_on(kernels: dict[int, CompiledKernel], device: int, index: int) -> tuple[Any, ...]:
    """A kernel on a device as a HostFunction takes it."""
    kernel = kernels[index]
    return kernel.function(device), kernel.offsets, kernel.parameter_bytes, kernel.shared_bytes, kernel


def _sources(traced: Traced) -> list[tuple[str, int, int, int]]:
    """Where a call has each parameter of the host function: see `_core.cuda.HostFunction`."""
    found: list[tuple[str, int, int, int]] = []
    places = {name: i for i, name in enumerate(traced.parameters)}
    for name, form in traced.forms.items():
        argument = places.get(name, -1)
        if isinstance(form, TensorForm) and isinstance(form.iterator, PointerForm):
            found.append(("address", argument, 0, form.iterator.alignment))
            found += [_leaf(argument, form.name, number) for number in form.layout.numbers]
        elif isinstance(form, Number):
            found.append(("number", argument, 0, form.div))
        else:
            found += [_FIXED for _ in form.parameters()]
    return found


_FIXED = ("fixed", 0, 0, 1)


def _leaf(argument: int, name: str, number: Number) -> tuple[str, int, int, int]:
    """Where a tensor has a leaf of its layout, if that is flat."""
    where = re.fullmatch(r"(shape|stride)\[(\d+)\]", number.name.removeprefix(f"{name}."))
    return _FIXED if where is None else (where[1], argument, int(where[2]), number.div)
