"""Run a traced program: on the device of its tensors, or on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core, numeric
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.lang.cpu import run_on_cpu
from tilewright.lang.gpu import run_on_gpu

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.lang.arguments import Leaves
    from tilewright.lang.jit import Traced

__all__ = ["WATCHERS", "device_of", "run"]

WATCHERS: list[Callable[[Traced, Leaves, tuple[int, int]], object]] = []
"""What is called before each call's launches, with its program, its arguments' leaves and their device."""

_CUDA = 2  # DLPack's type of a CUDA device


def device_of(leaves: Leaves) -> tuple[int, int]:
    """The device on which all pointer arguments are: (DLPack's type, number); the CPU where there are none."""
    devices = {one.device: one.name for one in leaves.memory}
    for address, name in leaves.addresses:
        device = _core.cuda.device_of_address(address)
        if device >= 0:
            devices.setdefault((_CUDA, device), name)
    if len(devices) > 1:
        shown = ", ".join(f"{name} on {_device_name(device)}" for device, name in devices.items())
        raise ValueError(f"the tensors are on several devices: {shown}; move them to one")
    return next(iter(devices), (1, 0))


def _device_name(device: tuple[int, int]) -> str:
    return f"cuda:{device[1]}" if device[0] == _CUDA else "the CPU"


def run(traced: Traced, leaves: Leaves) -> tuple[Any, Any]:
    """Run the host function of a program with the leaves of a call's arguments.

    Returns what it returns, and what repeats its launches on a GPU for other tensors of the same kind, or None.
    """
    device = device_of(leaves)
    for watcher in WATCHERS:
        watcher(traced, leaves, device)
    prepared = None
    if device[0] == _CUDA:
        found, prepared = run_on_gpu(traced, leaves, device[1])
    else:
        found = run_on_cpu(traced, leaves)
    result = traced.returned.build(iter([_leaf(traced, leaves, i, one) for i, one in enumerate(found)]))
    return result, None if WATCHERS else prepared


def _leaf(traced: Traced, leaves: Leaves, index: int, result: tuple[int, int]) -> Any:
    """A leaf of what a host function returns: a Python number, or a pointer into an argument's memory."""
    bits, base = result
    _, kind = list(traced.returned.parameters())[index]
    dtype = getattr(numeric, kind.scalar)
    if kind.kind == "number":
        return dtype._decode(bits)
    owner = next((one.owner for one in leaves.memory if one.parameter == base), None)
    address = bits if base < 0 else leaves.values[base] + bits
    return Pointer(dtype, address, AddressSpace[kind.space], kind.align, owner)
