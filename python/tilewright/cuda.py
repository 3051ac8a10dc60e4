"""The helpers of `cutlass.cuda`: the context and its streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright._core import cuda as driver
from tilewright._names import names_of
from tilewright.runtime.device import initialized, properties

__all__ = ["CUstream", "default_stream", "initialize_cuda_context", "stream_sync"]


def initialize_cuda_context(device_id: int = 0) -> int:
    """Make sure that a device can be used, and run kernels without tensors there; its number.

    A machine without a driver or device has no context, and none is needed: kernels run on its CPU then. DriverError
    for a device that is not among those that are there.
    """
    if driver.driver_path() is not None and driver.device_count() > 0:
        properties(device_id)
        initialized.append(device_id)
    return device_id


class CUstream(int):
    """A CUDA stream by its handle, as a parameter's annotation and its value.

    >>> int(CUstream(7))
    7
    """


def default_stream() -> CUstream:
    """The legacy default stream."""
    return CUstream(1)


def stream_sync(stream: Any) -> None:
    """Wait until all work of a stream of the first device is done; there is none on a machine without a device."""
    if driver.driver_path() is None or driver.device_count() == 0:
        return
    handle = getattr(stream, "cuda_stream", stream)
    driver.synchronize_stream(0, int(handle) or 1)


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
