"""Small plans of gemm_sm80 that between them have everything, and matrices in memory to run them on."""

from __future__ import annotations

import numpy as np

from host_gemms import decoded, encoded
from tilewright import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Float64, Int8, Int32, TFloat32, Uint8
from tilewright.cute.atoms.mma_ops import MmaF64Op
from tilewright.kernels.gemm.composite.split_k import parts_problem
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm80.choose import Sm80Tile, build, operation

SMALL = Sm80Tile(64, 64, 64, (2, 2), 3, 1, 1.0)
FLAT = Sm80Tile(32, 64, 128, (1, 2), 2, 1, 1.0)
INTEGERS = (Int8, Uint8, Int32)


class Memory:
    """A, B, C and the bias of a problem in memory, their numbers exact in all types, and what they must come to."""

    def __init__(self, problem, shift=0):
        """The tensors begin `shift` elements behind an aligned address."""
        p, rng = problem, np.random.default_rng(0)
        self.problem = p
        self.extents = ((p.m, p.k, *p.batch), (p.n, p.k, *p.batch), (p.m, p.n, *p.batch))
        self.types = (p.a_type, p.b_type, p.c_type)
        self.strides = (p.a_strides, p.b_strides, p.c_strides)
        self.arrays, self.starts = [], []
        for extents, strides, dtype in zip(self.extents, self.strides, self.types, strict=True):
            reach = [max(e - 1, 0) * d for e, d in zip(extents, strides, strict=True)]
            low = sum(min(x, 0) for x in reach)
            size = sum(max(x, 0) for x in reach) - low + 1
            values = rng.integers(0 if dtype is Uint8 else -4, 5, size + 256)
            memory = encoded(values if dtype in INTEGERS else values / 4, dtype)
            aligned = np.zeros(memory.size + 64, memory.dtype)
            first = -aligned.ctypes.data % 64 // memory.itemsize
            aligned[first : first + memory.size] = memory
            self.arrays.append(aligned)
            self.starts.append(first + shift - low)
        self.before = self.arrays[2].copy()
        self.bias = None
        if p.epilogue.bias is not None:
            self.bias = (np.arange(p.m if p.epilogue.bias == "m" else p.n) % 7 - 3).astype(np.float32)

    def addresses(self):
        """Of A, B, C and the bias."""
        places = [x.ctypes.data + start * x.itemsize for x, start in zip(self.arrays, self.starts, strict=True)]
        return (*places, 0 if self.bias is None else self.bias.ctypes.data)

    def view(self, i, memory=None):
        array = self.arrays[i] if memory is None else memory
        strides = [d * array.itemsize for d in self.strides[i]]
        return np.lib.stride_tricks.as_strided(array[self.starts[i] :], self.extents[i], strides)

    def expected(self):
        p, e = self.problem, self.problem.epilogue
        a, b = (decoded(self.view(i), self.types[i]).astype(np.float64) for i in range(2))
        if p.whole_k:  # behind it lies what is no part of these sums
            a = a * (np.arange(p.k)[:, None] + p.k * np.arange(p.batch[-1]) < p.whole_k).reshape(
                (p.k, *(1,) * (len(p.batch) - 1), p.batch[-1])
            )
        old = decoded(self.view(2, self.before), p.c_type).astype(np.float64)
        result = e.alpha * np.einsum("mk...,nk...->mn...", a, b) + e.beta * old
        if self.bias is not None:
            result = result + self.bias.reshape((-1, *(1,) * ((e.bias == "m") + len(p.batch))))
        return np.maximum(result, 0) if e.activation == "relu" else result

    def outside(self, memory):
        """The elements around those of C."""
        mask = np.ones(memory.shape, bool)
        self.view(2, mask)[...] = False
        return memory[mask]


def compare(memory, plan):
    """C is what it must be, and nothing else in its memory has changed."""
    p = plan.problem
    found = decoded(memory.view(2), p.c_type).astype(np.float64)
    rounding = {BFloat16: 2**-8, Float16: 2**-11}.get(p.c_type, 1e-6)
    np.testing.assert_allclose(found, memory.expected(), rtol=rounding, atol=1e-6, err_msg=str(plan))
    assert (memory.outside(memory.arrays[2]) == memory.outside(memory.before)).all(), f"written outside of C: {plan}"


def output(dtype):
    """A type that holds the sums exactly."""
    return Int32 if dtype in INTEGERS else Float64 if dtype is Float64 else Float32


def planned(problem, tile=SMALL, alignment=16):
    return build(problem, operation(problem, 90), tile, (alignment,) * 3)


def small_plans(thorough=True):
    """(plan, elements by which its tensors begin behind an aligned address): all types, else all ways of the kernel."""
    types = [(Float16, None), (TFloat32, None), (Float64, None), (Int8, None)]
    if thorough:
        types += [(BFloat16, None), (Uint8, Int8), (Float8E4M3FN, None), (Float8E5M2, Float8E4M3FN)]
    for dtype, b_type in types:
        out = output(dtype)
        for a in "km":
            for b in "kn":
                yield planned(problem_of(80, 72, 144, dtype, a=a, b=b, out=out, b_type=b_type)), 0
        if thorough or dtype is Int8:
            ragged = problem_of(67, 75, 83, dtype, out=out, b_type=b_type, batch=(2,))
            yield planned(ragged, SMALL, dtype.bits // 8), 1
            turned = problem_of(67, 75, 83, dtype, a="m", b="n", c="m", out=out, b_type=b_type)
            yield planned(turned, SMALL, dtype.bits // 8), 1
        if thorough or dtype is Float16:
            padded = problem_of(65, 130, 70, dtype, a="m", out=out, b_type=b_type, pads=(15, 10, 2))
            yield planned(padded, FLAT, 8), 0
    if not thorough:
        yield planned(problem_of(40, 40, 70, Float8E4M3FN, a="m", out=Float32, b_type=Float8E5M2)), 0
        yield planned(problem_of(40, 40, 70, Uint8, b_type=Int8)), 0
    for dtype, (a, b), k, length, alignment in (
        (Float64, "kk", 300, 128, 16), (Float64, "mn", 40, 16, 16), (Float16, "kn", 330, 128, 2),
        (Int8, "kk", 272, 64, 16),
    ):  # fmt: skip
        parts = parts_problem(problem_of(72, 40, k, dtype, a=a, b=b, out=output(dtype), batch=(2,)), length)
        yield planned(parts, SMALL, alignment), alignment % 16 * 8 // dtype.bits
    deep = SMALL._replace(bytes_k=128)
    for shape in ((8, 8, 4), (16, 8, 4), (16, 8, 16)):
        for a, b in ("kk", "mn") if thorough else ("kn",):
            yield build(problem_of(50, 40, 36, Float64, a=a, b=b), MmaF64Op(shape), deep, (16,) * 3), 0
    epilogue = Epilogue(alpha=0.5, beta=2, bias="n", bias_type=Float32, bias_stride=1, activation="relu")
    for c in "nm":
        e = epilogue._replace(bias=c)
        yield planned(problem_of(70, 50, 40, Float16, c=c, batch=(2, 2, 2), epilogue=e, out=Float32)), 0
    yield planned(problem_of(40, 40, 0, Float16, epilogue=Epilogue(beta=1)), SMALL, 2), 0
    small = problem_of(33, 20, 40, Float16, out=Float32)
    yield planned(small._replace(a_strides=(-40, 1), b_strides=(0, 1)), SMALL, 8), 0
    yield planned(small._replace(a_strides=(80, 2), b_strides=(3, 66)), SMALL, 2), 0
    yield planned(problem_of(33, 20, 40, Float64)._replace(a_strides=(80, 2), b_strides=(3, 66)), SMALL, 8), 0
    yield planned(problem_of(3, 2, 5, BFloat16), SMALL, 2), 0
    large = problem_of(130, 260, 70, BFloat16, pads=(2, 2, 4))
    yield planned(large, Sm80Tile(128, 256, 64, (2, 4), 4, 1, 1.0), 4), 0
