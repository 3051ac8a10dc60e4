"""Memory of a device for what is enqueued on a stream: of the library that the tensors are of, where it can be."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from tilewright import _core

__all__ = ["library_of", "workspace"]


def library_of(tensor: Any) -> str:
    """The name of the package that a tensor's type is of."""
    return type(tensor).__module__.partition(".")[0]


def workspace(device: int, size: int, stream: int, library: str, *, is_zero: bool = False) -> tuple[Any, int]:
    """Memory for what is enqueued on a stream, and its address: torch's for tensors of torch, else the driver's.

    With `is_zero`, zeros are enqueued.
    """
    torch: Any = sys.modules.get("torch")
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
