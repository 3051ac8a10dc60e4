"""GEMMs to try: any shape, element type and order in memory, and how far the result is from the right one.

The result is right where its relative Frobenius error against float64 is at most 1.1 of cuBLAS's on the same numbers.
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

import torch

from compile_plans import SANITIZED
from copies import DEVICE, bits

EXTENTS = (1, 2, 3, 7, 16, 17, 31, 64, 127, 128, 129, 255, 1000, 4095, 4096, 4097)
MARGIN = 1.1
# An error that is right in any case, of C in float32 from elements of so many bytes: that of rounding each element, and
# where tensor cores cut off the sums of an instruction somewhat more.
ROUNDING = {4: 2.0**-24, 2: 1.5 * 2.0**-24}
# That of one sum in order, by the root of K: plans that are not chosen may have it.
IN_ORDER = {4: 2.0**-24, 2: 2.0**-23}
# Fewer elements than these have errors of which no average can be taken: one rounding may go the other way.
FEW = 4096


class Kind(NamedTuple):
    """Element types of A, B and C; tf32: products of float32 are taken in TF32."""

    a: torch.dtype
    b: torch.dtype
    c: torch.dtype
    tf32: bool = False

    @property
    def keywords(self):
        return {"allow_tf32": True} if self.tf32 else {}


KINDS = {
    "bf16": Kind(torch.bfloat16, torch.bfloat16, torch.bfloat16),
    "bf16 to fp32": Kind(torch.bfloat16, torch.bfloat16, torch.float32),
    "fp16": Kind(torch.float16, torch.float16, torch.float16),
    "fp16 to fp32": Kind(torch.float16, torch.float16, torch.float32),
    "fp32": Kind(torch.float32, torch.float32, torch.float32),
    "tf32": Kind(torch.float32, torch.float32, torch.float32, tf32=True),
    "fp64": Kind(torch.float64, torch.float64, torch.float64),
    "e4m3": Kind(torch.float8_e4m3fn, torch.float8_e4m3fn, torch.bfloat16),
    "e5m2 by e4m3": Kind(torch.float8_e5m2, torch.float8_e4m3fn, torch.bfloat16),
    "int8": Kind(torch.int8, torch.int8, torch.int32),
    "uint8": Kind(torch.uint8, torch.uint8, torch.int32),
}


class Sample(NamedTuple):
    """Contiguous modes of A, B and C ("k" or "m", "k" or "n", "n" or "m"), elements that each row has too many, and
    elements in front of each matrix."""

    kind: str
    m: int
    n: int
    k: int
    orders: tuple[str, str, str] = ("k", "k", "n")
    pads: tuple[int, int, int] = (0, 0, 0)
    offsets: tuple[int, int, int] = (0, 0, 0)

    def __str__(self):
        shape = f"{self.kind} {self.m}x{self.n}x{self.k} {''.join(self.orders)}"
        return shape + (f" {self.pads} {self.offsets}" if any(self.pads + self.offsets) else "")

    @property
    def of(self):
        return KINDS[self.kind]

    def operands(self, *, filled=True):
        """A (M,K), B (N,K), C (M,N) and the memory that C is a view of, which holds a pattern."""
        views = []
        sides = ((self.m, self.k, "m", self.of.a), (self.n, self.k, "n", self.of.b), (self.m, self.n, "m", self.of.c))
        for place, (rows, columns, first, dtype) in enumerate(sides):
            turned = self.orders[place] == first
            outer, inner = (columns, rows) if turned else (rows, columns)
            pitch, offset = inner + self.pads[place], self.offsets[place]
            make = uninitialised if not filled else numbers if place < 2 else pattern
            memory = make(dtype, offset + outer * pitch + 64)
            view = memory.as_strided((outer, inner), (pitch, 1), offset)
            views.append(view.t() if turned else view)
        return (*views, memory)


def sample(number: int) -> Sample:
    """Rows begin where their lengths say, at multiples of 16 elements, which the fast kernels need, or anywhere."""
    choose = random.Random(number)
    kind = choose.choice(list(KINDS))
    m, n, k = (choose.choice(EXTENTS) for _ in range(3))
    orders = choose.choice("km"), choose.choice("kn"), choose.choice("nnnm")
    if KINDS[kind].a.itemsize != 2 and choose.random() < 0.5:
        orders = "k", "k", orders[2]  # the fast kernels take no others of these types
    inner = (k if orders[0] == "k" else m, k if orders[1] == "k" else n, n if orders[2] == "n" else m)
    pads = offsets = (0, 0, 0)
    rows = choose.choice(("compact", "aligned", "aligned", "anywhere"))
    if rows == "aligned":
        pads = tuple(-extent % 16 + choose.choice((0, 0, 16)) for extent in inner)
    if rows == "anywhere":
        pads = tuple(choose.choice((0, 1, 8, 13, 64)) for _ in range(3))
        offsets = tuple(choose.choice((0, 0, 1, 2, 8, 16)) for _ in range(3))
    return Sample(kind, m, n, k, orders, pads, offsets)


def numbers(dtype, count):
    """Random normal numbers. Those of float64 have so few bits that any sum of their products is exact."""
    normal = torch.randn(count, device=DEVICE)
    if dtype == torch.float64:
        return (normal * 2**14).round().double() * 2**-14
    if dtype.is_floating_point:
        return normal.to(dtype)
    integers = (normal * 40).round().clamp(-128, 127)
    return (integers.abs() if dtype == torch.uint8 else integers).to(dtype)


def uninitialised(dtype, count):
    return torch.empty(count, dtype=dtype, device=DEVICE)


def pattern(dtype, count):
    """What memory holds before a result is written: of floats, NaNs."""
    return torch.full((count * dtype.itemsize,), 0xFF, dtype=torch.uint8, device=DEVICE).view(dtype)


def exact(a, b):
    """The products in float64; a and b are (..., M, K) and (..., N, K)."""
    return a.double() @ b.double().mT


def cublas(kind: Kind, a, b):
    """What cuBLAS makes of the same numbers, or None for types that it does not take."""
    torch.backends.cuda.matmul.allow_tf32 = kind.tf32
    if kind.a.itemsize == 1 and not kind.a.is_floating_point:
        return None
    if kind.a.itemsize == 1:  # it needs multiples of 16, so zeros are put around
        m, n = len(a), len(b)
        a, b = (padded(x, 16) for x in (a, b))
        one = torch.ones((), device=DEVICE)
        made = torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=kind.c, use_fast_accum=True)
        return made[:m, :n]
    if kind.c != kind.a:
        return torch.mm(a, b.t(), out_dtype=kind.c)
    return torch.mm(a, b.t())


def padded(matrix, multiple):
    """A copy with rows of zeros and longer rows, in row-major order."""
    rows, columns = (-(-extent // multiple) * multiple for extent in matrix.shape)
    copy = torch.zeros(rows, columns, dtype=torch.uint8, device=DEVICE)
    copy[: matrix.shape[0], : matrix.shape[1]] = matrix.view(torch.uint8)
    return copy.view(matrix.dtype)


def error(result, expected):
    """Relative Frobenius error; where all should be 0, the norm itself."""
    norm = float(expected.norm())
    return float((result.double() - expected).norm()) / (norm or 1.0)


def tf32(x):
    """What tensor cores take of float32: ten bits of the mantissa; they ignore the others."""
    return (x.contiguous().view(torch.int32) & ~0x1FFF).view(torch.float32)


def bound(kind: Kind, a, b, expected, in_order=False):
    """The largest relative error that is right for a result of these operands; `in_order`: of one sum along K."""
    if SANITIZED:
        return 0.0 if kind.c == torch.int32 else 0.1  # the tools look at memory
    theirs = cublas(kind, a, b)
    if theirs is None:
        return 0.0
    allowed = MARGIN * error(theirs, expected)
    norm = float(expected.norm()) or 1.0
    if kind.tf32:
        usual = MARGIN * error(exact(tf32(a), tf32(b)), expected)
        if allowed < usual / 4:  # cuBLAS multiplies matrices of some shapes without TF32
            allowed = usual
    if kind.c == torch.float32 and not kind.tf32:
        allowed = max(
            allowed, MARGIN * ROUNDING[kind.a.itemsize], IN_ORDER[kind.a.itemsize] * in_order * math.sqrt(a.shape[-1])
        )
    if expected.numel() < FEW and kind.a != torch.float64:
        unit = {torch.bfloat16: 2**-8, torch.float16: 2**-11, torch.float32: 2**-24}[kind.c]
        products = {1: 2**-12, 2: 2**-23, 4: 2**-23}[kind.a.itemsize] if not kind.tf32 else 2**-10
        magnitude = float((a.double().square() @ b.double().square().mT).sum().sqrt())
        allowed = max(allowed, unit + products * magnitude * math.sqrt(max(a.shape[-1], 1)) / norm)
    return allowed


def assert_right(sample: Sample, run, *, in_order=False):
    """run(a, b, c) writes what it should, nothing else, and the same again."""
    a, b, c, memory = sample.operands()
    run(a, b, c)
    expected = exact(a, b)
    found, allowed = error(c, expected), bound(sample.of, a, b, expected, in_order)
    assert found <= allowed, f"{sample}: relative error {found:.3g}, but at most {allowed:.3g} is right"
    again = pattern(memory.dtype, memory.numel())
    second = again.as_strided(c.shape, c.stride(), c.storage_offset())
    run(a, b, second)
    assert torch.equal(bits(memory), bits(again)), f"{sample}: a second run gives other bits, or writes elsewhere"
    c.copy_(pattern(memory.dtype, 1).expand(c.shape))
    assert torch.equal(bits(memory), bits(pattern(memory.dtype, memory.numel()))), (
        f"{sample}: something else is written"
    )
