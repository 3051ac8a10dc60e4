"""Shapes of GEMMs that nobody tuned for, drawn at random by a seed: what gemm_random.py measures and counts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Float64, Int8, TFloat32
from tilewright.kernels.gemm.problem import GemmProblem, problem_of

TYPES: dict[str, Any] = {
    "bf16": BFloat16, "fp16": Float16, "fp32": Float32, "tf32": TFloat32, "fp8": Float8E4M3FN, "int8": Int8,
    "fp64": Float64,
}  # fmt: skip
ALONG_K = ("fp8", "int8")  # cuBLAS multiplies these where both lie along K, with rows of 16 bytes
ALIGNED = 256  # bytes at whose multiple tensors begin
# Of a large model: the columns and terms of its layers' products, as in gemm_cases.py and in issue 24's list.
LAYERS = ((4096, 4096), (14336, 4096), (4096, 14336), (128256, 4096), (3072, 8192), (5120, 5120), (8192, 8192))
TOKENS = (1, 16, 64, 100, 120, 128, 256, 512, 1000, 1536, 2048, 4096, 6000)  # rows that half of them have
MOST = (380 << 20, 630 << 20, 570 << 20)  # bytes of A, B and C, which gemm.py has room for twice


@dataclass(frozen=True)
class Shape:
    """C (M,N) = A (M,K) B (N,K), A along K and B along K or N; rows of A and B are `pad` elements longer than need be,
    and their addresses `offset` elements behind a multiple of 256 bytes."""

    kind: str
    m: int
    n: int
    k: int
    b: str = "k"
    pad: int = 0
    offset: int = 0

    @property
    def name(self) -> str:
        extents = f"{self.m}^3" if self.m == self.n == self.k else f"{self.m}x{self.n}x{self.k}"
        more = f" +{self.pad}" * bool(self.pad) + f" at {self.offset}" * bool(self.offset)
        return f"{extents} k{self.b}{more}"

    def problem(self, dtype: Any) -> tuple[GemmProblem, tuple[int, int, int]]:
        """The problem, and the alignments of A, B and C."""
        begin = self.offset * dtype.bits // 8
        aligned = begin & -begin if begin else ALIGNED
        problem = problem_of(self.m, self.n, self.k, dtype, b=self.b, pads=(self.pad, self.pad, 0))
        return problem, (aligned, aligned, ALIGNED)


# Those that issue 24 names: what was slower than cuBLAS on an H200 when it was written.
LISTED: dict[str, tuple[tuple[str, str], ...]] = {
    "bf16": (
        ("few tiles", "64x64x32768 k, 256x256x131072 k, 120x4132x5952 n, 100x5120x5120 k"),
        ("last wave", "1536x3072x8192 k, 3000x3000x3000 n, 2680x1584x1824 k, 2304x2304x2304 n, 512x3072x8192 k"),
        ("last wave", "2048x5120x5120 k, 1720x5960x4144 k, 256x5120x5120 k, 6000x3072x8192 k, 1792x1792x1792 k"),
        ("last wave", "5000x5000x5000 n, 5000x5000x5000 k"),
        ("short K", "2416x4397x126 k, 3320x4182x120 n, 1000000x32x128 k"),
        ("large", "10000x10000x10000 k"),
    ),
    "fp16": (
        ("few tiles", "128x128x16384 k, 32x1968x8718 k, 488x48x7400 n, 243x136x6112 n"),
        ("short K", "2954x264x432 k"),
    ),
    "fp32": (("listed", "5649x131x5268 n, 64x8192x8192 k, 512x512x8192 n, 124x4652x4785 k, 777x1777x2777 n"),),
    "fp64": (("listed", "3000x3000x3000 k"),),
}  # fmt: skip


def listed(name: str) -> list[Shape]:
    """The shapes of a type that issue 24 names."""
    found = []
    for kind, said in LISTED.get(name, ()):
        for one in said.split(", "):
            extents, b = one.split()
            found.append(Shape(kind, *map(int, extents.split("x")), b))
    return found


def shapes(seed: str, name: str, count: int) -> list[Shape]:
    """So many different shapes for a type, the same ones for the same seed: 80 of 300 are drawn logarithmically."""
    drawn = random.Random(f"{seed} {name}")
    found: dict[Shape, None] = {}
    kinds = [kind for kind, share in KINDS for _ in range(share)]
    while len(found) < count:
        kind = kinds[len(found) % len(kinds)]
        one = _shape(drawn, kind, name)
        a, b = (TYPES[name].bits // 8 * rows * (one.k + one.pad) + 1024 for rows in (one.m, one.n))
        c = max(TYPES[name].bits // 8, 4) * one.m * one.n
        if all(size <= most for size, most in zip((a, b, c), MOST, strict=True)):
            found.setdefault(one)
    return list(found)


def _log(drawn: random.Random, low: int, high: int) -> int:
    return round(low * (high / low) ** drawn.random())


def _rounded(drawn: random.Random, extent: int) -> int:
    """An extent as people choose them: mostly a multiple of 8 to 128, sometimes odd."""
    step = drawn.choice((1, 8, 8, 16, 64, 128))
    return max(-(-extent // step) * step, step)


def _model(drawn: random.Random) -> tuple[int, int, int]:
    n, k = drawn.choice(LAYERS)
    return drawn.choice((*TOKENS, *(_log(drawn, 1, 16_384) for _ in TOKENS))), n, k


def _square(drawn: random.Random) -> tuple[int, int, int]:
    return (_rounded(drawn, _log(drawn, 768, 10_000)),) * 3


def _long_k(drawn: random.Random) -> tuple[int, int, int]:
    m, n = (_rounded(drawn, _log(drawn, 32, 640)) for _ in range(2))
    return m, n, _rounded(drawn, _log(drawn, 4096, 131_072))


def _tall(drawn: random.Random) -> tuple[int, int, int]:
    m, n, k = _log(drawn, 20_000, 1_000_000), _log(drawn, 8, 512), _log(drawn, 16, 512)
    m, n, k = (_rounded(drawn, x) for x in (m, n, k))
    return (m, n, k) if drawn.random() < 0.7 else (n, m, k)


def _logarithmic(drawn: random.Random) -> tuple[int, int, int]:
    m, n, k = (_rounded(drawn, _log(drawn, 32, 10_000)) for _ in range(3))
    return m, n, k


DRAWS: dict[str, Callable[[random.Random], tuple[int, int, int]]] = {
    "model": _model, "square": _square, "long K": _long_k, "tall": _tall, "any": _logarithmic,
}  # fmt: skip
KINDS = (("any", 4), ("model", 3), ("square", 3), ("long K", 3), ("tall", 2))


def _shape(drawn: random.Random, kind: str, name: str) -> Shape:
    m, n, k = DRAWS[kind](drawn)
    if name in ALONG_K:
        m, n, k = (-(-max(x, 32) // 16) * 16 for x in (m, n, k))  # all that torch's calls of cuBLAS take
        return Shape(kind, m, n, k)
    b, pad, offset = drawn.choice("kn"), 0, 0
    if drawn.random() < 0.1:
        pad = drawn.choice((1, 8, 64))
    if drawn.random() < 0.05:
        offset = drawn.choice((1, 2, 4, 8))
    return Shape(kind, m, n, k, b, pad, offset)
