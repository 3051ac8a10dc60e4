"""Plans of one launch that need memory besides their tensors, on a CUDA device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.gemm_composite_run import CompositeLaunch
from tilewright.kernels.workspace import library_of, workspace

if TYPE_CHECKING:
    from tilewright.kernels.gemm_operands import GemmOperands
    from tilewright.kernels.gemm_plan import GemmPlan


class ScratchLaunch(CompositeLaunch):
    """A launch, each time with memory of its own."""

    def __init__(self, plan: GemmPlan, operands: GemmOperands) -> None:
        from tilewright.kernels import gemm_launch

        super().__init__(operands)
        self.zeros, self.bytes = plan.scratch
        self.library = library_of(operands.c.owner)
        self.gemm = gemm_launch.prepare(plan, operands, (0, 1, 2, 3), result=False)

    def launch(self, addresses: list[int], stream: int) -> None:
        """As CompositeLaunch.launch."""
        zeros, first = workspace(self.device, self.zeros, stream, self.library, is_zero=True)
        others, second = workspace(self.device, self.bytes, stream, self.library)
        self.gemm.launch([*addresses, first, second], stream)
        del zeros, others  # what is enqueued on the stream later may have them
