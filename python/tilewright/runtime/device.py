"""What the runtime asks about a device."""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def properties(device: int) -> dict[str, Any]:
    """The properties of a CUDA device, asked for once: name, compute_capability, multiprocessors, l2_bytes, ...

    >>> from tilewright._core import cuda
    >>> [properties(i)["name"] != "" for i in range(cuda.device_count() if cuda.driver_path() else 0)].count(False)
    0
    """
    from tilewright._core import cuda

    return dict(cuda.device(device))


def arch_of(device: int) -> str:
    """The architecture to compile for on a device, such as sm_90a; see architecture.

    >>> from tilewright._core import cuda
    >>> all(arch_of(i).startswith("sm_") for i in range(cuda.device_count() if cuda.driver_path() else 0))
    True
    """
    major, minor = properties(device)["compute_capability"]
    return architecture(major, minor)


def architecture(major: int, minor: int) -> str:
    """The name of an architecture; from 9.0 on the one with all its instructions, such as wgmma.

    >>> architecture(8, 0), architecture(9, 0), architecture(10, 0)
    ('sm_80', 'sm_90a', 'sm_100a')
    """
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


def is_architecture(name: str) -> bool:
    """Whether this is the name of an architecture: sm_, its number, and a or f where it is one of those.

    >>> [is_architecture(name) for name in ("sm_80", "sm_90a", "90", "compute_90", "sm_90 -I/")]
    [True, True, False, False, False]
    """
    number = name.removeprefix("sm_")
    number = number[:-1] if number.endswith(("a", "f")) else number
    return name.startswith("sm_") and number.isascii() and number.isdecimal()
