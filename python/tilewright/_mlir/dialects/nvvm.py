"""Instructions of NVIDIA's GPUs, by the names that `cutlass._mlir.dialects.nvvm` has for them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from tilewright._core import program
from tilewright._mlir.ir import symbol_of
from tilewright.lang.trace import traced
from tilewright.numeric import Boolean, Int32
from tilewright.numeric.traced import emit

if TYPE_CHECKING:
    from collections.abc import Sequence

_BOX_ALIGNMENT = 128  # bytes

__all__ = [
    "CpAsyncBulkTensorGlobalToSharedClusterOp",
    "TMALoadMode",
    "elect_sync",
    "mbarrier_try_wait_parity_timelimit",
]


class TMALoadMode(Enum):
    """Which elements a box has: those of a rectangle. Boxes of convolutions are not there."""

    TILE = 0


def CpAsyncBulkTensorGlobalToSharedClusterOp(
    dstMem: Any,
    tmaDescriptor: Any,
    coordinates: Sequence[Any],
    mbar: Any,
    im2colOffsets: Sequence[Any] = (),
    predicate: Any = None,
    *,
    mode: TMALoadMode = TMALoadMode.TILE,
    loc: object = None,
    ip: object = None,
) -> None:
    """A box of a tensor to shared memory, by a tensor map in global memory: threads whose predicate holds ask for it.

    Pointers are `pointer.llvm_ptr`, coordinates Int32 with the contiguous mode first. Without a predicate the warp
    elects a thread. ValueError for boxes of convolutions.
    """
    traced("nvvm.CpAsyncBulkTensorGlobalToSharedClusterOp")
    if im2colOffsets or mode is not TMALoadMode.TILE:
        raise ValueError("CpAsyncBulkTensorGlobalToSharedClusterOp: only boxes in the mode TILE are supported")
    to = emit("recast", [symbol_of(dstMem)], type=program.pointer("Uint8", "smem", _BOX_ALIGNMENT))
    operands = [symbol_of(tmaDescriptor), *(symbol_of(x) for x in coordinates)]
    if predicate is not None:
        operands.append(symbol_of(predicate))
    emit("tma_load", operands, accesses=[to, symbol_of(mbar)], ints=(0, 0, int(predicate is not None)))


def mbarrier_try_wait_parity_timelimit(
    addr: Any, phase: Any, time_limit: Any, *, loc: object = None, ip: object = None
) -> Boolean:
    """Whether the phase of an mbarrier is complete, after a wait for as long as the hardware likes.

    addr: the barrier, as `pointer.llvm_ptr`; phase: the parity. time_limit is a hint, which is not passed on.
    RuntimeError outside of a function that is traced.
    """
    traced("nvvm.mbarrier_try_wait_parity_timelimit")
    parity = phase if isinstance(phase, Int32) else Int32(phase)
    return Boolean._of(emit("mbarrier_test", [parity.ir_value()], accesses=[addr], text="try_wait"))


def elect_sync(*, loc: object = None, ip: object = None) -> Boolean:
    """Whether this lane is the one that the warp elects. RuntimeError outside of a function that is traced."""
    traced("nvvm.elect_sync")
    return Boolean._of(emit("elect_one", ()))
