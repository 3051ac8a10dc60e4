"""What a choice of plan asks about a device, and the device that stands for an architecture."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DEVICES", "H200", "SHARED_BYTES", "DeviceFacts", "architecture", "is_architecture"]


def architecture(major: int, minor: int) -> str:
    """The name of an architecture; from 9.0 on the one with all its instructions, such as wgmma.

    >>> architecture(8, 0), architecture(9, 0), architecture(10, 0)
    ('sm_80', 'sm_90a', 'sm_100a')
    """
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


def is_architecture(name: str) -> bool:
    """Whether this is the name of an architecture: sm_, its number, and a or f where it is one of those.

    >>> [is_architecture(name) for name in ("sm_80", "sm_90a", "90", "compute_90", "sm_90 -I/")]
    [True, True, False, False, False]
    """
    number = name.removeprefix("sm_")
    number = number[:-1] if number.endswith(("a", "f")) else number
    return name.startswith("sm_") and number.isascii() and number.isdecimal()


class DeviceFacts(NamedTuple):
    """What a choice of plan asks about a device; `capability` is 90 for 9.0, `shared_bytes` the most of a CTA."""

    name: str
    capability: int
    multiprocessors: int
    shared_bytes: int

    @property
    def arch(self) -> str:
        """The architecture to compile for, such as sm_90a."""
        return architecture(self.capability // 10, self.capability % 10)


# The device that stands for an architecture where there is none to ask.
DEVICES: dict[str, DeviceFacts] = {
    "sm_75": DeviceFacts("NVIDIA T4", 75, 40, 65536),
    "sm_80": DeviceFacts("NVIDIA A100", 80, 108, 166912),
    "sm_86": DeviceFacts("NVIDIA A10", 86, 72, 101376),
    "sm_89": DeviceFacts("NVIDIA L40S", 89, 142, 101376),
    "sm_90a": DeviceFacts("NVIDIA H200", 90, 132, 232448),
    "sm_100a": DeviceFacts("NVIDIA B200", 100, 148, 232448),
    "sm_120a": DeviceFacts("NVIDIA RTX PRO 6000", 120, 188, 101376),
}
H200 = DEVICES["sm_90a"]
# The most shared memory of a block, by the architecture without a or f.
SHARED_BYTES = {name.rstrip("a"): facts.shared_bytes for name, facts in DEVICES.items()}
