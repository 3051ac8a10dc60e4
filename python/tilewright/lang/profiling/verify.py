"""Predictions of launches on a GPU, made from their arguments before they run, for `analysis.verify_with_ncu`."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from tilewright._core import cuda
from tilewright.analysis.ncu.by_line import Predicted
from tilewright.lang.profiling.launches import ALIGNMENT, count
from tilewright.lang.profiling.profile import MEMORIES
from tilewright.lang.run import WATCHERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tilewright.lang.arguments import Leaves
    from tilewright.lang.calls.decorated import Traced

__all__ = ["note_calls", "predicted_of"]

CUDA = 2  # DLPack's type of a CUDA device


def predicted_of(rows: Iterable[Any]) -> list[Predicted]:
    """What the rows of a launch's profile say of each kind of request of each line, in Nsight Compute's words."""
    return [
        Predicted(
            file=row.place[0], number=row.place[1], kind=row.kind, memory=MEMORIES[row.space], width=row.width,
            lanes=row.active_lanes, sectors=row.sectors, ideal_sectors=row.ideal_sectors,
            wavefronts=row.counted_wavefronts, ideal_wavefronts=row.ideal_counted_wavefronts,
        )
        for row in rows
        if row.width and row.kind != "wgmma"  # which no reading of single lines has been compared with
    ]  # fmt: skip


def note_calls(launches: list[dict[str, Any]]) -> Callable[..., None]:
    """From now on, write down what is predicted of each launch of a @cute.jit function; the watcher that does it."""

    def note(traced: Traced, leaves: Leaves, device: tuple[int, int]) -> None:
        if device[0] == CUDA and leaves.addresses:
            return  # how much memory there is behind a bare address is not known
        if device[0] == CUDA:
            counted = count(traced, leaves, read=_reader(device[1]), alignment=ALIGNMENT)
        else:
            counted = count(traced, leaves)
        launches.extend({"symbol": one.symbol, "lines": predicted_of(one.rows)} for one in counted)

    WATCHERS.append(note)
    return note


def _reader(device: int) -> Callable[[int, int, int], object]:
    """`read(to, from, bytes)` from a device's memory, behind what was enqueued there."""
    driver = ctypes.CDLL(cuda.driver_path() or "libcuda.so.1")

    def checked(name: str, *arguments: Any) -> None:
        error = getattr(driver, name)(*arguments)
        if error:
            raise RuntimeError(f"{name}: error {error} of the CUDA driver")

    def read(to: int, begin: int, size: int) -> None:
        context = ctypes.c_void_p()
        checked("cuDevicePrimaryCtxRetain", ctypes.byref(context), ctypes.c_int(device))
        try:
            checked("cuCtxPushCurrent_v2", context)
            try:
                checked("cuCtxSynchronize")
                checked("cuMemcpyDtoH_v2", ctypes.c_void_p(to), ctypes.c_uint64(begin), ctypes.c_size_t(size))
            finally:
                checked("cuCtxPopCurrent_v2", ctypes.byref(context))
        finally:
            checked("cuDevicePrimaryCtxRelease_v2", ctypes.c_int(device))

    return read
