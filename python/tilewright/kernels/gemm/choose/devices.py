"""What kernels reach on a generation of devices, as data: from this table plans are chosen.

Rates are those of a whole device with dense operands, in TFLOP/s of multiplications and additions, from data sheets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

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

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts

__all__ = ["GENERATIONS", "Generation", "generation_of"]

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


def generation_of(facts: DeviceFacts) -> Generation:
    """The newest generation that the device's capability has reached.

    >>> from tilewright.devices import DeviceFacts
    >>> generation_of(DeviceFacts("NVIDIA Jetson Orin", 87, 16, 166912)) is GENERATIONS[86]
    True
    """
    return GENERATIONS[max((c for c in GENERATIONS if c <= facts.capability), default=75)]
