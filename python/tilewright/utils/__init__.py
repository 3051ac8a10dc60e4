"""Helpers of kernels, as `cutlass.utils`: shared memory, what a device holds, the order of a matrix, pictures."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tilewright._boundary import shown
from tilewright._names import did_you_mean, names_of
from tilewright.cute.atoms.mma_warpgroup import OperandMajorMode
from tilewright.cute.tensors.tensor import as_tensor
from tilewright.cute.text.print_tv import print_latex_tv
from tilewright.cute.text.printing import print_latex
from tilewright.devices import SHARED_BYTES
from tilewright.lang.library.smem import SmemAllocator
from tilewright.utils import hardware_info, hopper_helpers
from tilewright.utils.grouped_scheduler import (
    GroupedGemmTileSchedulerHelper,
    GroupSearchResult,
    create_initial_search_state,
)
from tilewright.utils.hardware_info import HardwareInfo
from tilewright.utils.tensor_map_manager import TensorMapManager, TensorMapUpdateMode
from tilewright.utils.tile_scheduler import (
    PersistentTileSchedulerParams,
    StaticPersistentTileScheduler,
    WorkTileInfo,
)

if TYPE_CHECKING:
    from tilewright.cute.tensors.tensor import Tensor

__all__ = [
    "GroupSearchResult",
    "GroupedGemmTileSchedulerHelper",
    "HardwareInfo",
    "LayoutEnum",
    "PersistentTileSchedulerParams",
    "SmemAllocator",
    "StaticPersistentTileScheduler",
    "TensorMapManager",
    "TensorMapUpdateMode",
    "WorkTileInfo",
    "create_initial_search_state",
    "get_smem_capacity_in_bytes",
    "hardware_info",
    "hopper_helpers",
    "print_latex",
    "print_latex_tv",
]

# The generations have the names that CuTeDSL's functions take beside sm_90.
_GENERATIONS = {"ampere": "sm_80", "ada": "sm_89", "hopper": "sm_90", "blackwell": "sm_100"}
_SHARED_BYTES = SHARED_BYTES | {name: SHARED_BYTES[arch] for name, arch in _GENERATIONS.items()}


def get_smem_capacity_in_bytes(compute_capability: str = "sm_90") -> int:
    """The most shared memory of a block, in bytes.

    Source: CuTeDSL `utils.get_smem_capacity_in_bytes`.

    >>> get_smem_capacity_in_bytes("sm_80"), get_smem_capacity_in_bytes("sm_90")
    (166912, 232448)
    """
    if not isinstance(compute_capability, str):
        raise TypeError(
            f"get_smem_capacity_in_bytes: expected compute_capability to be a str such as 'sm_90', but got "
            f"{shown(compute_capability)}"
        )
    try:
        is_number = compute_capability.startswith("sm_")
        return _SHARED_BYTES[compute_capability.rstrip("af") if is_number else compute_capability]
    except KeyError:
        raise ValueError(
            f"get_smem_capacity_in_bytes: {compute_capability!r} is no architecture that is known here"
            f"{did_you_mean(compute_capability, _SHARED_BYTES)}; known are {', '.join(_SHARED_BYTES)}"
        ) from None


class LayoutEnum(Enum):
    """Which mode of a matrix is contiguous: the last (row major) or the first (column major).

    >>> import numpy
    >>> from tilewright.cute.runtime import from_dlpack
    >>> LayoutEnum.from_tensor(from_dlpack(numpy.zeros((4, 8), numpy.float32)))
    <LayoutEnum.ROW_MAJOR: 'row_major'>
    """

    ROW_MAJOR = "row_major"
    COL_MAJOR = "col_major"

    @staticmethod
    def from_tensor(tensor: Tensor) -> LayoutEnum:
        """The order of a tensor, of which modes beyond the first two do not count."""
        leading = as_tensor(tensor, "LayoutEnum.from_tensor").leading_dim
        if leading not in (0, 1):
            raise ValueError(f"LayoutEnum.from_tensor({tensor}): neither of the first two modes has stride 1")
        return LayoutEnum.COL_MAJOR if leading == 0 else LayoutEnum.ROW_MAJOR

    def sm90_mma_major_mode(self) -> OperandMajorMode:
        """Which mode of A (M, K) or B (N, K) is contiguous, as wgmma calls it."""
        return OperandMajorMode.K if self is LayoutEnum.ROW_MAJOR else OperandMajorMode.MN

    def is_m_major_c(self) -> bool:
        """Of C: M is contiguous."""
        return self is LayoutEnum.COL_MAJOR

    def is_n_major_c(self) -> bool:
        """Of C: N is contiguous."""
        return self is LayoutEnum.ROW_MAJOR

    def is_k_major_a(self) -> bool:
        """Of A (M, K): K is contiguous."""
        return self is LayoutEnum.ROW_MAJOR

    def is_m_major_a(self) -> bool:
        """Of A (M, K): M is contiguous."""
        return self is LayoutEnum.COL_MAJOR

    def is_k_major_b(self) -> bool:
        """Of B (N, K): K is contiguous."""
        return self is LayoutEnum.ROW_MAJOR

    def is_n_major_b(self) -> bool:
        """Of B (N, K): N is contiguous."""
        return self is LayoutEnum.COL_MAJOR


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
