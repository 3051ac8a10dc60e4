"""What a device reaches: the rates of its multiplications, and the bandwidth of its memory."""

from __future__ import annotations

from typing import ClassVar

from tilewright.kernels.devices import Section
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

__all__ = ["Rates"]

NAMES: dict[type[Numeric], str] = {
    Float16: "half", BFloat16: "half", TFloat32: "tf32", Float8E4M3FN: "float8", Float8E5M2: "float8", Int8: "int8",
    Uint8: "int8", Float64: "float64",
}  # fmt: skip


class Rates(Section):
    """The rates of a whole device with dense operands, in TFLOP/s of multiplications and additions.

    - `kernels`: those that it runs, the one to be asked first at the front, each with the share that it reaches
    - `half` to `float64`: of the tensor cores; `fma` of Float32 without them, `fma64` of Float64
    - `bandwidth` of the memory in TB/s
    """

    SECTION: ClassVar[str] = "RATES"
    kernels: dict[str, float]
    half: float
    tf32: float
    float8: float
    int8: float
    float64: float
    fma: float
    fma64: float
    bandwidth: float

    def of_tensor_cores(self, dtype: type[Numeric]) -> float:
        """Of products of a type; 0 where there is no such instruction.

        >>> from tilewright.devices import H200
        >>> Rates.of(H200).of_tensor_cores(Float16)
        989.0
        """
        name = NAMES.get(dtype)
        return float(getattr(self, name)) if name else 0.0
