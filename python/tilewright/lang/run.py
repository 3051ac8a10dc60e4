"""Run a traced program: on the device of its tensors, or on the CPU."""

from __future__ import annotations

import contextlib
import re
import threading
from typing import TYPE_CHECKING, Any

from tilewright import _core, numeric
from tilewright.cute.runtime import current_device
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.lang.cpu import is_on_cpu, run_on_cpu
from tilewright.lang.gpu import run_on_gpu
from tilewright.runtime import device as devices_of_runtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tilewright.lang.arguments import Leaves
    from tilewright.lang.calls.decorated import Traced

__all__ = ["WATCHERS", "device_of", "on_device", "run"]

WATCHERS: list[Callable[[Traced, Leaves, tuple[int, int]], object]] = []
"""What is called before each call's launches, with its program, its arguments' leaves and their device."""

_CUDA = 2  # DLPack's type of a CUDA device
_CPU = (1, 0)


class _Chosen(threading.local):
    device: tuple[int, int] | None = None


_chosen = _Chosen()


@contextlib.contextmanager
def on_device(device: str) -> Iterator[None]:
    """Where kernels run inside of this `with` that have no tensors to run beside: "cpu", "cuda" or "cuda:1".

    A kernel runs where its tensors lie, and this says nothing else: a tensor that lies elsewhere is a ValueError there.
    Otherwise a kernel without tensors runs on the device of its stream, on the CUDA device that is current in torch or
    CuPy or was named to initialize_cuda_context, and without any of these on the CPU. Raises TypeError and ValueError
    for anything but such a text, RuntimeError where there is no such device. Source: tilewright.

    >>> with on_device("cpu"):
    ...     pass
    """
    found = re.fullmatch(r"cpu|cuda(?::(\d+))?", device) if isinstance(device, str) else None
    if found is None:
        kind = ValueError if isinstance(device, str) else TypeError
        raise kind(f'on_device: expected "cpu", "cuda" or "cuda:1", but got {device!r}')
    chosen = _CPU
    if device != "cpu":
        number = int(found[1]) if found[1] else max(current_device(), 0)
        count = _core.cuda.device_count() if _core.cuda.driver_path() is not None else 0
        if number >= count:
            raise RuntimeError(f"on_device: there is no {device}; CUDA devices here: {count}")
        chosen = (_CUDA, number)
    before = _chosen.device
    _chosen.device = chosen
    try:
        yield
    finally:
        _chosen.device = before


def device_of(leaves: Leaves) -> tuple[int, int]:
    """The device on which all pointer arguments are, (DLPack's type, number); where there are none, see on_device."""
    devices = {one.device: one.name for one in leaves.memory}
    for address, name in leaves.addresses:
        device = _core.cuda.device_of_address(address)
        if device >= 0:
            devices.setdefault((_CUDA, device), name)
    if len(devices) > 1:
        shown = ", ".join(f"{name} on {_device_name(device)}" for device, name in devices.items())
        raise ValueError(f"the tensors are on several devices: {shown}; move them to one")
    chosen = _chosen.device
    for where, name in devices.items():
        if chosen is not None and where != chosen:
            raise ValueError(
                f"{name} lies on {_device_name(where)}, but on_device says {_device_name(chosen)}: move the tensor, "
                "or call outside of the `with`"
            )
        return where
    return chosen or _device_without_memory(leaves)


def _device_without_memory(leaves: Leaves) -> tuple[int, int]:
    if is_on_cpu() or _core.cuda.driver_path() is None:
        return _CPU
    current = current_device()
    if current < 0 and devices_of_runtime.initialized:
        current = devices_of_runtime.initialized[-1]
    if leaves.stream is not None:
        current = max(current, 0) if leaves.stream_device is None else leaves.stream_device
    return _CPU if current < 0 else (_CUDA, current)


def _device_name(device: tuple[int, int]) -> str:
    return f"cuda:{device[1]}" if device[0] == _CUDA else "the CPU"


def run(traced: Traced, leaves: Leaves) -> tuple[Any, Any]:
    """Run the host function of a program with the leaves of a call's arguments.

    Returns what it returns, and what repeats its launches on a GPU for other tensors of the same kind, or None.
    """
    launches_again = leaves.stream is not None or traced.stream is None
    if leaves.stream is None:
        leaves.stream = traced.stream
    device = device_of(leaves)
    for watcher in WATCHERS:
        watcher(traced, leaves, device)
    prepared = None
    if device[0] == _CUDA:
        found, prepared = run_on_gpu(traced, leaves, device[1])
    else:
        found = run_on_cpu(traced, leaves)
    result = traced.returned.build(iter([_leaf(traced, leaves, i, one) for i, one in enumerate(found)]))
    # What has no memory may run elsewhere the next time.
    launches_again = launches_again and bool(leaves.memory or leaves.addresses)
    return result, prepared if launches_again and not WATCHERS else None


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
