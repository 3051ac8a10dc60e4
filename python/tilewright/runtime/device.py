"""What the runtime asks about a device."""

from __future__ import annotations

import functools
from typing import Any

from tilewright._core import cuda
from tilewright.devices import architecture

initialized: list[int] = []
"""The devices that initialize_cuda_context was called for."""


@functools.cache
def properties(device: int) -> dict[str, Any]:
    """The properties of a CUDA device, asked for once: name, compute_capability, multiprocessors, l2_bytes, ...

    >>> from tilewright._core import cuda
    >>> [properties(i)["name"] != "" for i in range(cuda.device_count() if cuda.driver_path() else 0)].count(False)
    0
    """
    return dict(cuda.device(device))


def arch_of(device: int) -> str:
    """The architecture to compile for on a device, such as sm_90a; see architecture.

    >>> from tilewright._core import cuda
    >>> all(arch_of(i).startswith("sm_") for i in range(cuda.device_count() if cuda.driver_path() else 0))
    True
    """
    major, minor = properties(device)["compute_capability"]
    return architecture(major, minor)
