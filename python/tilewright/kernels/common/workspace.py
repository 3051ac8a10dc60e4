"""Memory of a device for what is enqueued on a stream: of the library that the tensors are of, where it can be."""

from __future__ import annotations

import contextlib
from typing import Any

from tilewright import _core
from tilewright._imported import imported_torch
from tilewright.kernels.common.recent import make_room

__all__ = ["Workspace", "library_of", "workspace"]

MOST = 16  # streams whose scratch is kept

_kept: dict[tuple[int, int], tuple[tuple[int, int], Any, int, Any, int]] = {}


def library_of(tensor: Any) -> str:
    """The name of the package that a tensor's type is of."""
    return type(tensor).__module__.partition(".")[0]


def workspace(device: int, size: int, stream: int, library: str, *, is_zero: bool = False) -> tuple[Any, int]:
    """Memory for what is enqueued on a stream, and its address: torch's for tensors of torch, else the driver's.

    With `is_zero`, zeros are enqueued.
    """
    torch = imported_torch()
    if library == "torch" and torch is not None:
        stream = 0 if stream == 1 else stream  # two names of the default stream; torch's is 0
        on: Any = contextlib.nullcontext()
        if stream != torch.cuda.current_stream(device).cuda_stream:
            wanted = torch.cuda.ExternalStream(stream, device) if stream else torch.cuda.default_stream(device)
            on = torch.cuda.stream(wanted)
        with on:
            make = torch.zeros if is_zero else torch.empty
            memory = make(size, dtype=torch.uint8, device=f"cuda:{device}")
        return memory, memory.data_ptr()
    memory = _core.cuda.allocate_async(device, size, stream)
    if is_zero:
        memory.zero()
    return memory, memory.address


class Workspace:
    """What a prepared launch asks for its three buffers each time: flags, scratch and padded operands, of so many
    bytes.

    Flags are zero before and after each launch. Launches of one stream follow each other, so that they take the same
    flags and scratch, torch's, which are kept. Those that a graph captures, and those for tensors of other libraries,
    have memory of their own. So have all padded operands.
    """

    def __init__(self, device: int, sizes: tuple[int, int, int], library: str) -> None:
        self.device = device
        self.sizes = sizes
        self.library = library

    def __call__(self, stream: int) -> tuple[Any, tuple[int, int, int]]:
        """What owns the buffers, and their addresses. Whatever is enqueued after the owner is gone may have them."""
        flags, scratch, padded = self.sizes
        kept: Any = _scratch(self.device, (flags, scratch), stream, self.library) if flags or scratch else None
        own, third = workspace(self.device, padded, stream, self.library) if padded else (None, 0)
        return (kept, own), (kept[2] if kept else 0, kept[4] if kept else 0, third)


def _scratch(
    device: int, sizes: tuple[int, int], stream: int, library: str
) -> tuple[tuple[int, int], Any, int, Any, int]:
    """The sizes of flags and scratch for a stream, what owns the flags, their address, and both of the scratch."""
    identity = _core.cuda.stream_identity(device, stream) if library == "torch" else 0
    found = _kept.get((device, identity))
    if found is not None and found[0][0] >= sizes[0] and found[0][1] >= sizes[1]:
        return found
    if found is not None:
        sizes = max(sizes[0], found[0][0]), max(sizes[1], found[0][1])
    flags, first = workspace(device, sizes[0], stream, library, is_zero=True)
    others, second = workspace(device, sizes[1], stream, library)
    made = sizes, flags, first, others, second
    if identity:
        make_room(_kept, MOST)
        _kept[device, identity] = made
    return made
