"""Plans of one launch that need memory besides their tensors, on a CUDA device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.kernels.common.workspace import library_of, workspace
from tilewright.kernels.gemm.composite.run import CompositeLaunch

if TYPE_CHECKING:
    from tilewright.kernels.gemm.operands import GemmOperands
    from tilewright.kernels.gemm.plan import GemmPlan

MOST = 16  # streams whose scratch is kept

_kept: dict[tuple[int, int], tuple[tuple[int, int], Any, int, Any, int]] = {}


class ScratchLaunch(CompositeLaunch):
    """A launch with memory of its stream's, or of its own.

    Launches of one stream follow each other, so that they take the same memory, torch's, which is kept; what has to be
    zero each of them leaves so. Those that a graph captures, and others, have memory of their own.
    """

    def __init__(self, plan: GemmPlan, operands: GemmOperands) -> None:
        from tilewright.kernels.gemm import launch as gemm_launch

        super().__init__(operands)
        self.sizes = plan.scratch
        self.library = library_of(operands.c.owner)
        self.gemm = gemm_launch.prepare(plan, operands, (0, 1, 2, 3), result=False)

    def launch(self, addresses: list[int], stream: int) -> None:
        """As CompositeLaunch.launch."""
        found = scratch(self.device, self.sizes, stream, self.library)
        self.gemm.launch([*addresses, found[2], found[4]], stream)
        del found  # what is enqueued on the stream later may have it


def scratch(
    device: int, sizes: tuple[int, int], stream: int, library: str
) -> tuple[tuple[int, int], Any, int, Any, int]:
    """Memory for what is enqueued on a stream: its sizes, what is zero and its address, the rest and its address."""
    identity = _core.cuda.stream_identity(device, stream) if library == "torch" else 0
    found = _kept.get((device, identity))
    if found is not None and found[0][0] >= sizes[0] and found[0][1] >= sizes[1]:
        return found
    if found is not None:
        sizes = max(sizes[0], found[0][0]), max(sizes[1], found[0][1])
    zeros, first = workspace(device, sizes[0], stream, library, is_zero=True)
    others, second = workspace(device, sizes[1], stream, library)
    made = sizes, zeros, first, others, second
    if identity:
        while len(_kept) >= MOST:
            del _kept[next(iter(_kept))]
        _kept[device, identity] = made
    return made
