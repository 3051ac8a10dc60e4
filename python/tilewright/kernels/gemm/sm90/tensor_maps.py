"""Tensor maps of a GEMM's operands: what TMA is told of a tensor in global memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.kernels.gemm.sm90.shared_operand import ATOM_ROWS, SPAN
from tilewright.numeric import BFloat16, Float16, Float32, Int32, TFloat32

if TYPE_CHECKING:
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.numeric import Numeric

ADDRESSES = 1 << 48  # those above, and 0, stand for tensors that are not there yet; a launch puts in the right ones

# TFloat32: what TMA brings is rounded to the nearest; elements of a byte are bytes to it.
NAMES: dict[Any, str] = {
    BFloat16: "bfloat16", Float16: "float16", Float32: "float32", TFloat32: "tfloat32", Int32: "int32",
}  # fmt: skip


def _encode(dtype: type[Numeric], address: int, modes: list[tuple[int, int]], box: tuple[int, ...]) -> bytes:
    """The map of modes (extent, stride in elements), the contiguous one first; strides of extents 1 mean nothing."""
    size = dtype.bits // 8
    shape = [extent for extent, _ in modes]
    row = -(-shape[0] * size // 16) * 16
    strides = [stride * size if extent > 1 else row for extent, stride in modes[1:]]
    boxes = [*box, *[1] * (len(modes) - len(box))]
    encoded: bytes = _core.cuda.encode_tensor_map(
        address if 0 < address < ADDRESSES else SPAN, NAMES.get(dtype, "uint8"), shape, strides, boxes, swizzle=SPAN
    )
    return encoded


def tensor_map(
    dtype: type[Numeric], address: int, rows: int, k: int, batch: tuple[int, ...], strides: tuple[int, ...],
    k_major: bool, box: tuple[int, int],
) -> bytes:  # fmt: skip
    """The map of A or B; a batch mode over which it is broadcast has extent 1. `box`: the contiguous mode first."""
    matrix = [(rows, strides[0]), (k, strides[1])]
    modes = matrix[::-1] if k_major else matrix
    modes += [(extent if stride else 1, stride) for extent, stride in zip(batch, strides[2:], strict=True)]
    return _encode(dtype, address, modes, box)


def output_map(problem: GemmProblem, address: int, store: str, columns: int) -> bytes:
    """The map of C: stored in boxes of so many columns and of 64 rows, or of 128 bytes along M."""
    p = problem
    modes, box = [(p.n, p.c_strides[1]), (p.m, p.c_strides[0])], (columns, ATOM_ROWS)
    if store == "columns":
        modes, box = modes[::-1], (SPAN * 8 // p.c_type.bits, columns)
    return _encode(p.c_type, address, [*modes, *zip(p.batch, p.c_strides[2:], strict=True)], box)
