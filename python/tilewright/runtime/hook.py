"""A look at every kernel launch: for logs, for profilers, for predictions that are compared with measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._core import cuda
from tilewright._core.cuda import Launch, LaunchHook

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Launch", "LaunchHook", "on_launch"]


def on_launch(callback: Callable[[Launch], object]) -> LaunchHook:
    """Call a function with each kernel that tilewright launches, right after it is enqueued.

    It is called for every kernel of copies, GEMMs and all their parts, visualize_tv and bound plans, on every thread
    and stream, in the order of the launches of each. A CUDA graph that is replayed launches without tilewright, and
    the CPU launches nothing. The function gets a `Launch`: `plan`, `kernel` (its symbol), `addresses` of the plan's
    tensors, `grid`, `block`, `shared`, `programmatic`, `device`, `stream`. It may itself enqueue work on that stream,
    such as an event; what it launches by tilewright is not reported. Where none is set, a launch takes no longer.

    Returns: a LaunchHook, which is a context manager: the function is called until the block ends, or until
        `remove()`.
    Raises: TypeError where `callback` cannot be called. An error of the function itself is raised by the call that
        launched, once all kernels of that call are enqueued; no function is told of the rest of them.
    Source: tilewright.

    Examples:
        >>> import numpy as np
        >>> from tilewright import kernels, runtime
        >>> seen = []
        >>> with runtime.on_launch(seen.append):
        ...     _ = kernels.transpose(np.ones((2, 3)))  # on a GPU: [Launch(copy_..., grid=(1, 1, 1), block=...)]
        >>> seen
        []
    """
    return cuda.on_launch(callback)
