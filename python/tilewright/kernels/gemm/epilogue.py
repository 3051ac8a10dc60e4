"""The epilogue of a GEMM as a device type and its parameters: what kernels/tilewright/epilogue.cuh reads."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from tilewright.kernels.common.device_types import numeric_type
from tilewright.numeric import Float32, Float64, Int32

if TYPE_CHECKING:
    from tilewright.kernels.gemm.problem import GemmProblem

__all__ = ["ACTIVATIONS", "bias_offset", "compute_type", "epilogue_type", "pack_epilogue"]

ACTIVATIONS = {None: 0, "relu": 1, "gelu": 2, "gelu_tanh": 3, "silu": 4}
MODES = {None: -1, "m": 0, "n": 1}
FORMATS: dict[Any, str] = {Float32: "ff", Float64: "dd", Int32: "ii"}  # alpha and beta


def compute_type(problem: GemmProblem) -> Any:
    """The type in which the epilogue computes: Float64 after Float64, Int32 where all of it is integers, else Float32.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> compute_type(problem_of(64, 64, 64, Float16)).__name__
    'Float32'
    """
    e = problem.epilogue
    if problem.acc_type is Float64:
        return Float64
    whole = all(float(x).is_integer() for x in (e.alpha, e.beta)) and e.activation in (None, "relu")
    if problem.acc_type is Int32 and problem.c_type is Int32 and whole and e.bias_type in (None, Int32):
        return Int32
    return Float32


def epilogue_type(problem: GemmProblem) -> str:
    """The device type of a problem's epilogue; the values of alpha and beta are no part of it.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> epilogue_type(problem_of(64, 64, 64, Float16))
    'Epilogue<float, Half, float, -1, 0, false, false>'
    """
    e = problem.epilogue
    compute = compute_type(problem)
    bias = numeric_type(e.bias_type if e.bias is not None else compute)
    scales, reads = (str(flag).lower() for flag in (e.alpha != 1, e.beta != 0))
    types = f"{numeric_type(compute)}, {numeric_type(problem.c_type)}, {bias}"
    return f"Epilogue<{types}, {MODES[e.bias]}, {ACTIVATIONS[e.activation]}, {scales}, {reads}>"


def pack_epilogue(problem: GemmProblem, bias_address: int = 0) -> bytes:
    """The epilogue's parameters: alpha and beta, the bias's address and its stride in elements.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> pack_epilogue(problem_of(64, 64, 64, Float16)).hex(" ", 4)
    '0000803f 00000000 00000000 00000000 00000000 00000000'
    """
    e = problem.epilogue
    compute = compute_type(problem)
    kind = int if compute is Int32 else float
    scales = kind(e.alpha), kind(e.beta)
    return struct.pack(f"<{FORMATS[compute]}Qq", *scales, bias_address, e.bias_stride)


def bias_offset(problem: GemmProblem) -> int:
    """The offset of the bias's address in those parameters, in bytes.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> bias_offset(problem_of(64, 64, 64, Float16))
    8
    """
    return struct.calcsize(f"<{FORMATS[compute_type(problem)]}")
