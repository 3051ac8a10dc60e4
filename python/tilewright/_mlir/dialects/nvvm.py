"""Instructions of NVIDIA's GPUs, by the names that `cutlass._mlir.dialects.nvvm` has for them."""

from __future__ import annotations

from typing import Any

from tilewright.lang.trace import traced
from tilewright.numeric import Boolean, Int32
from tilewright.numeric.traced import emit

__all__ = ["elect_sync", "mbarrier_try_wait_parity_timelimit"]


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
