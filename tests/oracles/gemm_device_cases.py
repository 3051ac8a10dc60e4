"""GEMM problems on tensors in CPU memory, of any strides and element types, and what their result must be."""

from __future__ import annotations

import itertools
import math

import numpy as np

from tilewright import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Float64, Int8, Int32, Uint8
from tilewright.kernels.gemm.problem import SUMS, Epilogue, GemmProblem, default_output

STORED = {
    Float32: np.float32, Float64: np.float64, Float16: np.float16, BFloat16: np.uint16, Float8E4M3FN: np.uint8,
    Float8E5M2: np.uint8, Int8: np.int8, Uint8: np.uint8, Int32: np.int32,
}  # fmt: skip
# Half of the distance between neighbours, relative, and the smallest number.
PRECISION = {
    Float32: (2**-24, 0), Float64: (2**-53, 0), Float16: (2**-11, 2**-25), BFloat16: (2**-8, 0),
    Float8E4M3FN: (2**-4, 2**-10), Float8E5M2: (2**-3, 2**-17),
}  # fmt: skip


def values(array, dtype):
    """The numbers that an array of stored elements stands for."""
    if dtype is BFloat16:
        with np.errstate(invalid="ignore"):
            return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype in (Float8E4M3FN, Float8E5M2):
        table = np.array([fp8(i, dtype) for i in range(256)])
        return table[array]
    with np.errstate(invalid="ignore"):  # signalling NaN
        return array.astype(np.float64)


def fp8(bits, dtype):
    """The number of eight bits."""
    mantissa, bias = (3, 7) if dtype is Float8E4M3FN else (2, 15)
    sign, magnitude = -1 if bits & 0x80 else 1, bits & 0x7F
    exponent, fraction = magnitude >> mantissa, magnitude & ((1 << mantissa) - 1)
    if dtype is Float8E4M3FN and magnitude == 0x7F:
        return math.nan
    if dtype is Float8E5M2 and exponent == 31:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, 1 - bias - mantissa)
    return sign * math.ldexp(fraction + (1 << mantissa), exponent - bias - mantissa)


def random_elements(rng, dtype, count):
    """Stored elements, of numbers about 1 where they have a fraction."""
    if dtype in (Int8, Uint8):
        info = np.iinfo(STORED[dtype])
        return rng.integers(info.min, info.max + 1, count).astype(STORED[dtype])
    if dtype is Int32:
        return rng.integers(-1000, 1000, count).astype(np.int32)
    if dtype is BFloat16:
        return (rng.standard_normal(count).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if dtype in (Float8E4M3FN, Float8E5M2):
        low, high = (0x20, 0x48) if dtype is Float8E4M3FN else (0x30, 0x44)
        return (rng.integers(low, high, count) | rng.integers(0, 2, count) << 7).astype(np.uint8)
    return rng.standard_normal(count).astype(STORED[dtype])


def tensor(rng, dtype, shape, kind):
    """An array of stored elements. `kind`: the modes from the outermost to the contiguous one, such as "10", or
    "10+3" with rows of 3 elements more, "10@1" beginning one element behind an aligned address, "10/2" of every second
    element, "10-" backwards along all modes, "10b" with all batch modes broadcast."""
    order = [int(c) for c in itertools.takewhile(str.isdigit, kind)]
    rest = kind[len(order) :]
    order = [*range(2, len(shape)), *order]

    def number(mark):
        return int(rest[rest.index(mark) + 1]) if mark in rest else None

    pad, start, step = number("+") or 0, number("@") or 0, number("/") or 1
    strides, size = [0] * len(shape), step
    for position, mode in enumerate(reversed(order)):
        if "b" in rest and mode >= 2:
            continue
        strides[mode] = size
        size *= max(shape[mode], 1)
        if position == 0:
            size += pad
    item = np.dtype(STORED[dtype]).itemsize
    memory = random_elements(rng, dtype, size + 64)
    first = (-memory.ctypes.data % 64) // item + start
    array = np.lib.stride_tricks.as_strided(memory[first:], shape, [d * item for d in strides])
    return np.flip(array) if "-" in rest else array


class Case:
    """A problem with its tensors; `batch` are its batch modes."""

    def __init__(
        self, dtype, m, n, k, a="01", b="01", c="01", batch=(), out=None, b_type=None, seed=0, bias=None,
        bias_type=None, **epilogue,
    ):  # fmt: skip
        rng = np.random.default_rng((seed, m, n, k))
        out = out or default_output(dtype)
        self.a, self.b = tensor(rng, dtype, (m, k, *batch), a), tensor(rng, b_type or dtype, (n, k, *batch), b)
        self.c = tensor(rng, out, (m, n, *batch), c)
        self.bias = None if bias is None else random_elements(rng, bias_type or out, m if bias == "m" else n)
        strides = [tuple(s // x.itemsize for s in x.strides) for x in (self.a, self.b, self.c)]
        has_bias = {} if bias is None else {"bias": bias, "bias_type": bias_type or out, "bias_stride": 1}
        self.problem = GemmProblem(
            dtype, b_type or dtype, out, SUMS[dtype], m, n, k, batch, *strides, Epilogue(**has_bias, **epilogue)
        )
        self.name = f"{dtype.__name__} {m}x{n}x{k} {a} {b} {c} {batch} {out.__name__} {epilogue} {bias}"

    @property
    def alignments(self):
        def of(array):
            return next(n for n in (16, 8, 4, 2, 1) if array.ctypes.data % n == 0)

        return of(self.a), of(self.b), of(self.c)

    def check(self, run):
        """Whether run(addresses of A, B, C and bias) gives the result, and writes nothing but C."""
        p, e = self.problem, self.problem.epilogue
        a, b = values(self.a, p.a_type), values(self.b, p.b_type)
        total = np.einsum("mk...,nk...->mn...", a, b)
        size = np.einsum("mk...,nk...->mn...", abs(a), abs(b))
        x = e.alpha * total
        if e.beta:
            x = x + e.beta * values(self.c, p.c_type)
        if e.bias is not None:
            bias = values(self.bias, e.bias_type)
            shape = (-1, 1) if e.bias == "m" else (1, -1)
            x = x + bias.reshape(*shape, *(1,) * len(p.batch))
        expected = activated(x, e.activation)
        memory = self.c
        while memory.base is not None:
            memory = memory.base
        before = memory.copy()
        run(*(x.ctypes.data for x in (self.a, self.b, self.c)), 0 if self.bias is None else self.bias.ctypes.data)
        found = values(self.c, p.c_type)
        if p.c_type is Int32 and p.acc_type is Int32:
            np.testing.assert_array_equal(found, np.rint(expected), err_msg=self.name)
        else:
            exact = 2**-53 if p.acc_type is Float64 else 2**-24
            relative, least = PRECISION.get(p.c_type, (0, 0.5))
            bound = 4 * exact * (p.k + 4) * (abs(e.alpha) * size + abs(x) + 1) + 1.01 * relative * abs(expected) + least
            worst = np.max(abs(found - expected) - bound, initial=-1, where=~np.isnan(expected))
            assert worst <= 0, f"{self.name}: {worst} beyond the bound"
            assert not np.isnan(found).any(), self.name
        inside = np.zeros(memory.shape, bool)
        start = (self.c.ctypes.data - memory.ctypes.data) // memory.itemsize
        strides = [d // memory.itemsize for d in self.c.strides]
        np.lib.stride_tricks.as_strided(inside[start:], self.c.shape, strides)[...] = True
        np.testing.assert_array_equal(memory[~inside], before[~inside], err_msg=f"{self.name}: around C")
        memory[...] = before


def activated(x, activation):
    """The activation of numbers."""
    if activation == "relu":
        return np.maximum(x, 0)
    if activation == "gelu":
        return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    if activation == "gelu_tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    if activation == "silu":
        return x / (1 + np.exp(-x))
    return x
