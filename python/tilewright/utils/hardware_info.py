"""What a CUDA device has, as `cutlass.utils.hardware_info`."""

from __future__ import annotations

from typing import Any

from tilewright.runtime.device import properties

__all__ = ["HardwareInfo"]


class HardwareInfo:
    """What a CUDA device has."""

    def __init__(self, device_id: int = 0) -> None:
        self.device_id = device_id

    def _properties(self) -> dict[str, Any]:
        return properties(self.device_id)

    def get_device_multiprocessor_count(self) -> int:
        """The multiprocessors of the device."""
        return int(self._properties()["multiprocessors"])

    def get_max_active_clusters(self, cluster_size: int) -> int:
        """Clusters of so many blocks that run at a time, one block a multiprocessor."""
        if cluster_size < 1:
            raise ValueError(f"get_max_active_clusters: cluster_size is {cluster_size}; expected at least 1")
        return self.get_device_multiprocessor_count() // cluster_size
