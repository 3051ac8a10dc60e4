"""Plans of copies: small ones that several tests begin with, and those that stand for all others.

Of each kind of plan that is ever chosen there is one of every shape it comes in. They are compiled for every
architecture where there is no GPU, so that a kernel that spills, or that moves less at once than its plan says, is
found before it is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tilewright import Float32, cute, kernels
from tilewright.cute.nvgpu.cpasync import CopyG2SOp
from tilewright.kernels.common.operands import CPU, SIZES, Operand
from tilewright.kernels.copy.choose import copy_by_rows
from tilewright.kernels.copy.packing import packed_copy
from tilewright.kernels.copy.plan import CopyPlan
from tilewright.kernels.copy.planned import plan_operands
from tilewright.kernels.copy.problem import CopyProblem

SRC, DST = 1 << 60, 1 << 61  # addresses of nothing, aligned to all and far from each other
TYPES = {1: "Int8", 2: "BFloat16", 4: "Float32", 8: "Float64", 16: "Int128"}


def plan_of_layouts(
    size: int,
    shape: tuple[int, ...],
    src_strides: tuple[int, ...],
    dst_strides: tuple[int, ...] | None = None,
    *,
    src_start: int = 0,
    dst_start: int = 0,
    tiled_copy: Any = None,
    rule: Callable[[CopyProblem, int, int], CopyPlan | None] | None = None,
) -> CopyPlan:
    """The plan of a copy of elements of `size` bytes between tensors that do not exist.

    The first elements lie `src_start` and `dst_start` elements behind aligned addresses; without dst_strides the
    destination is row-major. The plan is what the rule chooses, or another one.

    >>> print(plan_of_layouts(4, (1024, 1024), (1, 1024)))
    staged copy of Float32 (1024,1024): src strides (1024,1), dst strides (1,1024)
      tile       (64,64), (16,16) tiles, 256 threads
      load       128 bits along mode 1: ((16,16),(4,4)):((4@1,1@0),(1@1,16@0))
      store      128 bits along mode 0: ((8,4,2,4),(4,4)):((4@0,1@1,32@0,4@1),(1@0,16@1))
      shared     16384 bytes: S<3,2,6> o 0 o (64,64):(64,1)
    """

    def side(name: str, address: int, strides: tuple[int, ...]) -> Operand:
        return Operand(name, address, TYPES[size], size, shape, strides, (CPU, 0), False, f"{shape}:{strides}", None)

    dst_strides = row_major(shape) if dst_strides is None else dst_strides
    src, dst = side("src", SRC + src_start * size, src_strides), side("dst", DST + dst_start * size, dst_strides)
    plan: CopyPlan = plan_operands("plan_of_layouts", src, dst, tiled_copy)[0]
    if rule is None:
        return plan
    starts = SRC + (src_start + plan.problem.src_offset) * size, DST + (dst_start + plan.problem.dst_offset) * size
    other = rule(plan.problem, *(x & -x for x in starts))
    assert other is not None
    return other


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a compact tensor whose last mode is contiguous.

    >>> row_major((2, 3, 5))
    (15, 5, 1)
    """
    return permuted(shape, range(len(shape)))


def permuted(shape: tuple[int, ...], memory: Any) -> tuple[int, ...]:
    """The strides of a compact tensor whose modes lie in memory in the given order, the contiguous one last.

    >>> permuted((2, 3, 5, 7), (0, 2, 3, 1))  # NCHW kept as NHWC
    (105, 1, 21, 3)
    """
    strides = [0] * len(shape)
    step = 1
    for mode in reversed(memory):
        strides[mode] = step
        step *= shape[mode]
    return tuple(strides)


def instantiations() -> Iterator[tuple[str, CopyPlan]]:
    """Named plans: every element size, contiguous, transposed, permuted, sliced, broadcast, and by cp.async.

    >>> plans = dict(instantiations())
    >>> print(plans["transpose, 16-bit"].load_vector, plans["reversal of 5 modes, 16-bit"].kernel)
    8 staged
    """
    for size in SIZES:
        for name, plan in _of_every_size(size):
            yield f"{name}, {8 * size}-bit", plan
    for size in (2, 4):
        for name, plan in _of_common_sizes(size):
            yield f"{name}, {8 * size}-bit", plan
    for bits in (32, 64, 128):
        yield f"cp.async, {bits} bits", _by_cp_async(bits)
    shape = (2, 3, 2, 3, 2, 3, 8, 16)
    for rows in (9, 5, 3):  # so few that words are shorter
        yield f"packed rows of {rows}, 8-bit", _reordered(1, (rows, 64, 40, 31), (2, 3, 1, 0))
    yield "8 modes, 32-bit", plan_of_layouts(4, shape, permuted(shape, (0, 2, 7, 4, 6, 1, 3, 5)))


def _of_every_size(size: int) -> Iterator[tuple[str, CopyPlan]]:
    yield "contiguous", plan_of_layouts(size, (1 << 20,), (1,))
    yield "contiguous and ragged", plan_of_layouts(size, (12345,), (1,))
    yield "transpose", plan_of_layouts(size, (1024, 1024), (1, 1024))
    yield "ragged transpose", plan_of_layouts(size, (1000, 1040), (1, 1008))
    if size == 16:  # such elements are always aligned
        return
    yield "contiguous from an odd address", plan_of_layouts(size, (1 << 20,), (1,), src_start=1)
    yield "contiguous to an odd address", plan_of_layouts(size, (1 << 20,), (1,), dst_start=1)
    yield "transpose of odd rows", plan_of_layouts(size, (1024, 1024), (1, 1025))
    yield "transpose to odd rows", plan_of_layouts(size, (1024, 1024), (1, 1024), (1025, 1), rule=copy_by_rows)
    yield "transpose between odd rows", plan_of_layouts(size, (1023, 1025), (1, 1023), rule=copy_by_rows)
    yield "packed transpose between odd rows", plan_of_layouts(size, (1023, 1025), (1, 1023), rule=packed_copy)
    yield "packed, 5 modes", _reordered(size, (75, 5, 12, 24, 88), (2, 3, 1, 4, 0))
    yield "packed, short rows", _reordered(size, (35, 40, 32, 93), (1, 0, 2, 3))
    yield "packed steps", plan_of_layouts(size, (90, 500, 7), (3500 * 2 + 1, 2, 1000), src_start=1, rule=packed_copy)


def _of_common_sizes(size: int) -> Iterator[tuple[str, CopyPlan]]:
    image, pixels, heads, packed = (8, 64, 56, 56), (8, 3, 224, 224), (2, 16, 512, 64), (3, 2, 16, 512, 64)
    yield "NCHW to NHWC", plan_of_layouts(size, image, row_major(image), permuted(image, (0, 2, 3, 1)))
    yield "NHWC to NCHW", plan_of_layouts(size, image, permuted(image, (0, 2, 3, 1)))
    yield "NCHW to NHWC, 3 channels", plan_of_layouts(size, pixels, row_major(pixels), permuted(pixels, (0, 2, 3, 1)))
    yield "NHWC to NCHW, 3 channels", plan_of_layouts(size, pixels, permuted(pixels, (0, 2, 3, 1)))
    yield "BSHD to BHSD", plan_of_layouts(size, heads, permuted(heads, (0, 2, 1, 3)))
    yield "BS3HD to 3BHSD", plan_of_layouts(size, packed, permuted(packed, (1, 3, 0, 2, 4)))
    yield "reversal of 5 modes", plan_of_layouts(size, (16,) * 5, permuted((16,) * 5, (4, 3, 2, 1, 0)))
    for step in (2, 4):
        yield f"every {step}. element", plan_of_layouts(size, (1024, 1024), (1024 * step, step))
    yield "broadcast row", plan_of_layouts(size, (1024, 1024), (0, 1))
    yield "broadcast column", plan_of_layouts(size, (1024, 1024), (1, 0))
    yield "broadcast elements", plan_of_layouts(size, (1024, 1024), (2048, 0))
    yield "reversed", plan_of_layouts(size, (1024, 1024), (1024, -1), src_start=1023)
    yield "padded to packed", plan_of_layouts(size, (1024, 1000), (1024, 1))
    odd = (3, 77, 5, 9, 40)
    order = tuple(row_major(odd)[i] for i in (4, 2, 0, 3, 1))
    yield "5 modes, short odd rows", plan_of_layouts(size, (40, 5, 3, 9, 77), order)
    yield "every 2. element, unaligned", plan_of_layouts(size, (1024, 1024), (2051, 2), src_start=1)
    yield "every 2. element, unaligned and transposed", plan_of_layouts(size, (1024, 1024), (2, 2051), src_start=1)


def _reordered(size: int, shape: tuple[int, ...], axes: tuple[int, ...]) -> CopyPlan:
    """The packed plan of a compact tensor whose modes are put into another order."""
    strides = row_major(shape)
    order = tuple(shape[i] for i in axes), tuple(strides[i] for i in axes)
    return plan_of_layouts(size, *order, rule=packed_copy)


def _by_cp_async(bits: int) -> CopyPlan:
    atom = cute.make_copy_atom(CopyG2SOp(), Float32, num_bits_per_copy=bits)
    threads, values = cute.make_layout((8, 32), stride=(32, 1)), cute.make_layout((1, bits // 32))
    return plan_of_layouts(4, (1000, 1024), (1024, 1), tiled_copy=cute.make_tiled_copy_tv(atom, threads, values))


def aligned(shape, dtype="f4"):
    """Zeros that begin at a multiple of 64 bytes."""
    count = int(np.prod(shape))
    memory = np.zeros(count + 64, dtype)
    start = -memory.ctypes.data % 64 // memory.itemsize
    return memory[start : start + count].reshape(shape)


def numbers(shape, dtype="f4"):
    array = aligned(shape, dtype)
    array[...] = np.arange(1, array.size + 1).reshape(shape)
    return array


def contiguous():
    """A plan for rows of 16, by 4 threads."""
    return kernels.tiled_copy.plan(aligned(16), aligned(16))


def transposing():
    """A staged plan for 8 x 12 elements."""
    return kernels.tiled_copy.plan(aligned((8, 12), "i2"), aligned((12, 8), "i2").T)
