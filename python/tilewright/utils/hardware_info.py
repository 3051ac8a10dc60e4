"""What a CUDA device has, as `cutlass.utils.hardware_info`."""

from __future__ import annotations

from tilewright._boundary import integer, shown
from tilewright._core import cuda
from tilewright.devices import H200
from tilewright.runtime.device import properties

__all__ = ["HardwareInfo"]


class HardwareInfo:
    """What a CUDA device has; where there is no driver, what an H200 has, as kernels that run on the CPU see it.

    Source: CuTeDSL `utils.HardwareInfo`.
    """

    def __init__(self, device_id: int = 0) -> None:
        number = integer(device_id)
        if number is None or number < 0:
            raise TypeError(
                f"HardwareInfo: expected device_id to be an integer of at least 0, but got {shown(device_id)}"
            )
        self.device_id = number

    def get_device_multiprocessor_count(self) -> int:
        """The multiprocessors of the device."""
        if cuda.driver_path() is None:
            return H200.multiprocessors
        return int(properties(self.device_id)["multiprocessors"])

    def get_max_active_clusters(self, cluster_size: int) -> int:
        """Clusters of so many blocks that run at a time, one block a multiprocessor.

        It is the bound that the multiprocessors give. Where a GPC has a number of them that cluster_size does not
        divide, fewer run at a time, and the others follow.
        """
        if cluster_size < 1:
            raise ValueError(f"get_max_active_clusters: cluster_size is {cluster_size}; expected at least 1")
        return self.get_device_multiprocessor_count() // cluster_size
