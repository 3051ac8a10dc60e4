"""Run a traced program: on the device of its tensors, or on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.lang.cpu import run_on_cpu
from tilewright.lang.gpu import run_on_gpu

if TYPE_CHECKING:
    from tilewright.lang.arguments import Leaves
    from tilewright.lang.jit import Traced

__all__ = ["device_of", "run"]

_CUDA = 2  # DLPack's type of a CUDA device


def device_of(leaves: Leaves) -> tuple[int, int]:
    """The device on which all pointer arguments are: (DLPack's type, number); the CPU where there are none."""
    devices = {one.device: one.name for one in leaves.memory}
    if len(devices) > 1:
        shown = ", ".join(f"{name} on {_device_name(device)}" for device, name in devices.items())
        raise ValueError(f"the tensors are on several devices: {shown}; move them to one")
    return next(iter(devices), (1, 0))


def _device_name(device: tuple[int, int]) -> str:
    return f"cuda:{device[1]}" if device[0] == _CUDA else "the CPU"


def run(traced: Traced, leaves: Leaves) -> Any:
    """Run the host function of a program with the leaves of a call's arguments; what it returns."""
    device = device_of(leaves)
    if device[0] == _CUDA:
        return run_on_gpu(traced, leaves, device[1])
    return run_on_cpu(traced, leaves)
