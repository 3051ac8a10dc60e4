"""The GEMMs that are measured: shapes, element types, orders in memory, and what is asked of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

LARGE_HALVES = "bf16 and fp16, 4096^3 to 16384^3"
ORDERS = (("k", "k"), ("k", "n"), ("m", "k"), ("m", "n"))  # the contiguous mode of A and of B


@dataclass(frozen=True)
class Type:
    """Element types of A and B, and of C; the TFLOP/s of the datasheet, for a guess of how long a launch takes."""

    name: str
    ab: torch.dtype
    c: torch.dtype
    peak: float
    tf32: bool = False


TYPES = {
    t.name: t
    for t in (
        Type("bf16", torch.bfloat16, torch.bfloat16, 700),
        Type("fp16", torch.float16, torch.float16, 700),
        Type("fp8", torch.float8_e4m3fn, torch.bfloat16, 1300),
        Type("tf32", torch.float32, torch.float32, 350, tf32=True),
        Type("int8", torch.int8, torch.int32, 1000),
        Type("fp32", torch.float32, torch.float32, 50),
        Type("fp64", torch.float64, torch.float64, 55),
    )
}


@dataclass(frozen=True)
class Case:
    """C (M,N) = A (M,K) B (N,K), C with N contiguous; `limit` is the ratio of throughput to cuBLAS that is asked for.

    The cases of a `group` also have a limit on the geometric mean of their ratios.
    """

    type: Type
    m: int
    n: int
    k: int
    orders: tuple[str, str] = ("k", "k")
    batch: int = 0  # 0: no batch mode
    limit: float | None = None
    group: str = ""
    epilogue: str = ""

    @property
    def name(self) -> str:
        shape = f"{self.m}^3" if self.m == self.n == self.k else f"{self.m}x{self.n}x{self.k}"
        if self.batch:
            shape = f"{self.batch}x{shape}"
        return f"{shape} {self.type.name} A:{self.orders[0]} B:{self.orders[1]} {self.epilogue}".rstrip()

    @property
    def matrices(self) -> int:
        return self.batch or 1

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k * self.matrices

    @property
    def bytes(self) -> int:
        """What has to be read and written once."""
        size, out = self.type.ab.itemsize, self.type.c.itemsize
        return self.matrices * (size * self.k * (self.m + self.n) + out * self.m * self.n)

    @property
    def guess(self) -> float:
        """Seconds of a launch, about."""
        return max(self.flops / (self.type.peak * 1e12), self.bytes / 4e12) + 2e-6


def cube(name: str, extent: int, **fields: object) -> Case:
    return replace(Case(TYPES[name], extent, extent, extent), **fields)


def halves(name: str) -> Iterator[Case]:
    limits = {512: 0.95, 1024: 0.95, 2048: 0.97, 4096: 0.97, 8192: 0.97, 16384: 0.97}
    for extent, limit in limits.items():
        for orders in ORDERS:
            yield cube(name, extent, orders=orders, limit=limit, group=LARGE_HALVES if extent >= 4096 else "")


def small_m() -> Iterator[Case]:
    for m in (1, 16, 128):
        for n, k in ((4096, 4096), (14336, 4096), (4096, 14336), (128256, 4096)):
            yield Case(TYPES["bf16"], m, n, k, limit=0.97)


def vectors() -> Iterator[Case]:
    """fp32 of a few rows: the time of reading B."""
    for m in (1, 2, 4):
        for n, k in ((1024, 1024), (4096, 4096), (14336, 4096), (4096, 14336), (512, 16384), (16384, 256)):
            for order in "kn":
                yield Case(TYPES["fp32"], m, n, k, orders=("k", order))


def odd_m() -> Iterator[Case]:
    """Rows that fill no tiles of 128."""
    for m in (80, 129, 200, 257, 320, 640):
        for n, k in ((4096, 4096), (14336, 4096), (4096, 14336)):
            yield Case(TYPES["bf16"], m, n, k)


def batches() -> Iterator[Case]:
    for batch, m, n, k in ((64, 512, 512, 64), (32, 2048, 2048, 128), (16, 4096, 4096, 64)):
        yield Case(TYPES["bf16"], m, n, k, batch=batch, limit=1.0)


def ragged() -> Iterator[Case]:
    for name, limit in (("bf16", 3.0), ("fp16", 3.0), ("tf32", None), ("fp32", 1.0)):
        yield Case(TYPES[name], 4095, 4097, 4103, limit=limit)
    for name in ("bf16", "fp16", "tf32", "fp32"):
        yield cube(name, 1000, limit=1.0)


def sizes() -> Iterator[Case]:
    """fp32 of few tiles and long sums, and of tiles that do not come in whole rounds."""
    for m, n, k in (
        (64, 64, 4096),
        (300, 300, 16384),
        (32, 1024, 8192),
        (512, 512, 4096),
        (768, 768, 768),
        (257, 4096, 4096),
        (1500, 1500, 4096),
        (2500, 2500, 2500),
        (3000, 3000, 3000),
        (6000, 6000, 6000),
    ):
        for orders in ORDERS:
            yield Case(TYPES["fp32"], m, n, k, orders=orders)


def epilogues() -> Iterator[Case]:
    for epilogue in ("bias", "bias relu", "bias gelu_tanh", "residual"):
        yield cube("bf16", 4096, epilogue=epilogue)


# Name of a section to its cases. Larger cases come after smaller ones: the chip warms up and its clock falls.
SECTIONS = {
    "bf16": lambda: halves("bf16"),
    "fp16": lambda: halves("fp16"),
    "fp8": lambda: (cube("fp8", extent, limit=0.98) for extent in (4096, 8192)),
    "tf32": lambda: (cube("tf32", e, orders=o, limit=1.0) for e in (4096, 8192) for o in ORDERS),
    "int8": lambda: (cube("int8", extent, limit=1.3) for extent in (4096, 8192)),
    "fp64": lambda: (cube("fp64", extent, limit=0.9) for extent in (4096, 8192)),
    "fp32": lambda: (cube("fp32", e, orders=o, limit=1.0) for e in (4096, 8192) for o in ORDERS),
    "fp32 sizes": sizes,
    "ragged": ragged,
    "small M": small_m,
    "odd M": odd_m,
    "fp32 few rows": vectors,
    "batched": batches,
    "epilogue": epilogues,
}
MEANS = {LARGE_HALVES: 1.0}  # limits of geometric means


def small(case: Case) -> Case:
    """The same case with small extents, for a dry run on the CPU."""
    m, n, k = (extent if extent < 48 else 32 + extent % 16 for extent in (case.m, case.n, case.k))
    return replace(case, m=m, n=n, k=k, batch=min(case.batch, 3))


def cases(section: str, *, quick: bool, dry: bool) -> list[Case]:
    found = list(SECTIONS[section]())
    if quick:  # one order of each, and nothing that takes long
        found = [c for c in found if c.orders in (("k", "k"), ("k", "n")) and c.guess < 5e-3]
    return [small(c) for c in found] if dry else found
