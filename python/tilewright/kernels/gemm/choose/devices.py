"""What is known of devices and kernels, as data: from this table plans are chosen.

Rates are those of a whole device with dense operands, in TFLOP/s of multiplications and additions, from data sheets.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.kernels.gemm.plan import H200, DeviceFacts
from tilewright.numeric import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float64,
    Int8,
    Numeric,
    TFloat32,
    Uint8,
)

__all__ = ["DEVICES", "GENERATIONS", "H200", "Generation", "generation_of"]

Type = type[Numeric]


class Generation(NamedTuple):
    """Devices of one capability.

    - `kernels`: those that they run, the one to be asked first at the front, each with the share that it reaches of the
      rates below
    - `rates` of the tensor cores by type of A; `fma`: of Float32 without them; `fma64`: of Float64
    - `bandwidth` of the memory in TB/s
    """

    kernels: dict[str, float]
    rates: dict[Type, float]
    fma: float
    fma64: float
    bandwidth: float


def _rates(half: float, tf32: float, float8: float, int8: float, float64: float) -> dict[Type, float]:
    return {
        Float16: half, BFloat16: half, TFloat32: tf32, Float8E4M3FN: float8, Float8E5M2: float8, Int8: int8,
        Uint8: int8, Float64: float64,
    }  # fmt: skip


# A rate of 0: there is no such instruction, and the kernel does not take the type.
GENERATIONS: dict[int, Generation] = {
    75: Generation({"simt": 0.7}, _rates(65, 0, 0, 130, 0), fma=8, fma64=0.25, bandwidth=0.3),
    80: Generation({"sm80": 0.85, "simt": 0.75}, _rates(312, 156, 0, 624, 19.5), fma=19.5, fma64=9.7, bandwidth=1.9),
    86: Generation({"sm80": 0.85, "simt": 0.6}, _rates(125, 62, 0, 250, 0.5), fma=31, fma64=0.5, bandwidth=0.6),
    89: Generation({"sm80": 0.8, "simt": 0.6}, _rates(362, 183, 733, 733, 1.4), fma=91, fma64=1.4, bandwidth=0.86),
    90: Generation(
        {"sm90": 0.68, "sm80": 0.4, "simt": 0.76}, _rates(989, 494, 1979, 1979, 67), fma=67, fma64=34, bandwidth=4.2
    ),
    100: Generation({"sm80": 0.25, "simt": 0.7}, _rates(2250, 1100, 4500, 4500, 40), fma=80, fma64=40, bandwidth=7.0),
    120: Generation({"sm80": 0.7, "simt": 0.6}, _rates(500, 250, 1000, 1000, 2), fma=125, fma64=2, bandwidth=1.6),
}

# The device that stands for an architecture where there is none to ask.
DEVICES: dict[str, DeviceFacts] = {
    "sm_75": DeviceFacts("NVIDIA T4", 75, 40, 65536),
    "sm_80": DeviceFacts("NVIDIA A100", 80, 108, 166912),
    "sm_86": DeviceFacts("NVIDIA A10", 86, 72, 101376),
    "sm_89": DeviceFacts("NVIDIA L40S", 89, 142, 101376),
    "sm_90a": H200,
    "sm_100a": DeviceFacts("NVIDIA B200", 100, 148, 232448),
    "sm_120a": DeviceFacts("NVIDIA RTX PRO 6000", 120, 188, 101376),
}


def generation_of(facts: DeviceFacts) -> Generation:
    """The newest generation that the device's capability has reached.

    >>> generation_of(DeviceFacts("NVIDIA Jetson Orin", 87, 16, 166912)) is GENERATIONS[86]
    True
    """
    return GENERATIONS[max((c for c in GENERATIONS if c <= facts.capability), default=75)]
