"""The road from a naive GEMM to the last one: every step is a plan with one idea more than the step before it.

All plans are made by the public API: `kernels.gemm.plan` with given parts, and `plan.replace`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import torch

from tilewright import BFloat16, Float32, cute, kernels
from tilewright.cute.nvgpu import MmaUniversalOp, cpasync, warp, warpgroup
from tilewright.kernels.gemm.composite.padded import PaddedGemm, pad
from tilewright.kernels.gemm.simt import build as gemm_simt
from tilewright.kernels.gemm.sm90.plan import GemmSm90

Tensor = torch.Tensor
Plan = Any
SMEM, K_MAJOR = warpgroup.OperandSource.SMEM, warpgroup.OperandMajorMode.K
ALIGNED = (128, 128, 128)
ALL = 1 << 20  # more workers than there are tiles: each CTA has one


@dataclass(frozen=True)
class Step:
    """A plan for A (M,K) and B (N,K); `picture` says how it is drawn: "tile", "stages" or "order"."""

    name: str
    idea: str
    make: Callable[[Tensor, Tensor], Plan]
    picture: str = "tile"

    @property
    def file(self) -> str:
        """The picture, in docs/img."""
        return f"gemm_{self.name.replace(' ', '_')}.svg"


@dataclass(frozen=True)
class Ladder:
    """Steps on one problem; `b_order`: the mode along which B is contiguous. A is contiguous along K, C along N."""

    title: str
    dtype: torch.dtype
    extents: tuple[int, int, int]
    b_order: str
    steps: tuple[Step, ...]
    tf32: bool = False

    @property
    def flops(self) -> int:
        m, n, k = self.extents
        return 2 * m * n * k

    def operands(self, device: str, small: int = 0, empty: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        """A, B and C; with all extents `small`, where it is given."""
        m, n, k = (small,) * 3 if small else self.extents
        make = torch.empty if empty else torch.randn
        a = make(m, k, device=device, dtype=self.dtype)
        b = make(n, k, device=device, dtype=self.dtype) if self.b_order == "k" else None
        return a, make(k, n, device=device, dtype=self.dtype).T if b is None else b, a.new_empty(m, n)


# --- FMA


def fma(permuted: bool = False) -> Any:
    """256 threads, (16,16); permuted: each has four neighbours at a time along M and along N."""
    each = cute.make_layout((16, (4, 2)), stride=(4, (1, 64))) if permuted else None
    atoms = cute.make_layout((16, 16, 1), stride=(16, 1, 0))
    return cute.make_tiled_mma(MmaUniversalOp(Float32), atoms, (each, each, None) if permuted else None)


def copy(threads: Any, values: Any, bits: int = 32) -> Any:
    """Who brings what by cp.async."""
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=bits)
    return cute.make_tiled_copy_tv(atom, threads, values)


def one_element(a: Tensor, b: Tensor) -> Plan:
    along_k = copy(cute.make_layout((16, 16), stride=(16, 1)), cute.make_layout((1, 1)))
    along_n = copy(cute.make_layout((16, 16)), cute.make_layout((1, 1)))
    return kernels.gemm.plan(
        a, b, tiled_mma=fma(), tiled_copy_a=along_k, tiled_copy_b=along_n, tiler_mnk=(16, 16, 16), stages=1
    )


def seed_002(a: Tensor, b: Tensor, *, permuted: bool = False, stages: int = 1) -> Plan:
    """The configuration of "Honey, I Tiled the Tensors"."""
    t_a = copy(cute.make_layout((32, 8), stride=(8, 1)), cute.make_layout((1, 1)))
    t_b = copy(cute.make_layout((32, 8), stride=(1, 32)), cute.make_layout((4, 1)), 128)
    return kernels.gemm.plan(
        a, b, tiled_mma=fma(permuted), tiled_copy_a=t_a, tiled_copy_b=t_b, tiler_mnk=(128, 128, 8), stages=stages
    )


def padded(a: Tensor, b: Tensor, *, permuted: bool = False, stages: int = 1) -> Plan:
    smem = cute.make_layout((128, 8, stages), stride=(1, 132, 1056))
    return seed_002(a, b, permuted=permuted, stages=stages).replace(smem_a=smem)


FP32 = Ladder(
    "fp32, FMA",
    torch.float32,
    (4096, 4096, 4096),
    "n",
    (
        Step("one element", "a tile in shared memory, one element of C a thread", one_element),
        Step("seed 002", "8 x 8 elements of C a thread, kept in registers", seed_002),
        Step("padding", "rows of A in shared memory padded: no bank conflicts", padded),
        Step(
            "vectors",
            "four neighbours at a time from shared memory, by 16 bytes",
            lambda a, b: padded(a, b, permuted=True),
        ),
        Step(
            "cp async",
            "three stages: the next tiles are on their way",
            lambda a, b: padded(a, b, permuted=True, stages=3),
            "stages",
        ),
        Step(
            "whole tiles",
            "8 x 16 elements a thread, 16 bytes of A at a time",
            lambda a, b: kernels.gemm.plan(a, b).replace(stream_k_ctas=0),
        ),
        Step("simt chosen", "CTAs share tiles along K: the chosen plan", kernels.gemm.plan, "order"),
    ),
)


def few_warps(a: Tensor, b: Tensor) -> Plan:
    """A small tile without slices."""
    chosen = kernels.gemm.plan(a, b)
    plans = gemm_simt.variants(chosen.problem, (16, 16, 16))
    return next(x for x in plans if x.tiler_mnk == (64, 64, 16) and x.sliced_k == 1)


def slices(a: Tensor, b: Tensor) -> Plan:
    """The same tile, each by two groups of two warps."""
    chosen = kernels.gemm.plan(a, b)
    plans = gemm_simt.variants(chosen.problem, (16, 16, 16))
    return next(x for x in plans if (x.tiler_mnk, x.sliced_k, x.stages, x.stream_k_ctas) == ((64, 64, 16), 2, 3, 0))


FEW_FMA = Ladder(
    "fp32, few tiles",
    torch.float32,
    (1000, 1000, 1000),
    "k",
    (
        Step("few warps", "64 x 64: 256 tiles of two warps", few_warps, ""),
        Step("slices", "two groups of warps share the steps along K", slices, ""),
        Step("shares", "CTAs share tiles of 128 x 128 along K: the chosen plan", kernels.gemm.plan, ""),
    ),
)

# --- mma.sync


def mma_sync(a: Tensor, b: Tensor, stages: int = 2) -> Plan:
    """128 x 128 x 64 by 8 warps; what is not given is chosen: swizzled shared memory, cp.async of 16 bytes."""
    op = warp.MmaF16BF16Op(BFloat16, Float32, (16, 8, 16))
    tiled_mma = cute.make_tiled_mma(op, (2, 4, 1), (32, 64, 16))
    return kernels.gemm.plan(a, b, tiled_mma=tiled_mma, tiler_mnk=(128, 128, 64), stages=stages)


def plain(a: Tensor, b: Tensor) -> Plan:
    smem = cute.make_layout((128, 64, 2), stride=(64, 1, 8192))
    return mma_sync(a, b).replace(smem_a=smem, smem_b=smem)


# --- TMA and wgmma


def hopper(a: Tensor, b: Tensor, tiler: tuple[int, int, int], consumers: int, stages: int, **fields: Any) -> Plan:
    """A plan of wgmma; fields are those of GemmSm90."""
    op = warpgroup.MmaF16BF16Op(BFloat16, Float32, (64, tiler[1], 16), SMEM, K_MAJOR, K_MAJOR)
    tiled_mma = cute.make_tiled_mma(op, (consumers, 1, 1))
    plan = kernels.gemm.plan(a, b, tiled_mma=tiled_mma, tiler_mnk=tiler, stages=stages)
    return plan.replace(**fields)


def wgmma(stages: int) -> Callable[[Tensor, Tensor], Plan]:
    return lambda a, b: hopper(a, b, (64, 256, 64), 1, stages, store="pairs", workers=ALL, group=1)


def large(**fields: Any) -> Callable[[Tensor, Tensor], Plan]:
    """128 x 256 by two consumers."""
    return lambda a, b: hopper(a, b, (128, 256, 64), 2, 4, **fields)


BF16 = Ladder(
    "bf16, tensor cores",
    torch.bfloat16,
    (4096, 4096, 4096),
    "k",
    (
        Step("mma sync", "tensor cores by mma.sync, fragments by ldmatrix", plain),
        Step("swizzle", "shared memory swizzled: no bank conflicts", mma_sync),
        Step("mma stages", "four stages by cp.async", lambda a, b: mma_sync(a, b, 4), "stages"),
        Step(
            "mma chosen",
            "128 x 256: fewer bytes for each product; what is chosen for sm_80",
            lambda a, b: kernels.gemm.plan(a, b, arch="sm_80"),
        ),
        Step("wgmma", "TMA brings, wgmma reads shared memory: no thread touches A or B", wgmma(2)),
        Step("wgmma stages", "four stages", wgmma(4), "stages"),
        Step("two consumers", "two warpgroups share 128 x 256", large(store="pairs", workers=ALL, group=1)),
        Step("tma store", "C through shared memory, by stmatrix and TMA", large(workers=ALL, group=1)),
        Step("persistent", "132 CTAs that stay: the next tile comes while the last is stored", large(group=1), "order"),
        Step("order", "tiles taken 16 along M at a time: the L2 serves more of them", large(group=16), "order"),
        Step("cluster", "two CTAs bring B to each other by multicast", large(group=16, cluster_mn=(2, 1))),
        Step(
            "ping pong",
            "instead: a tile of 128 x 128 for each consumer; one stores while the other multiplies",
            lambda a, b: hopper(a, b, (128, 128, 64), 1, 6, group=16, cluster_mn=(2, 1), ping_pong=True),
        ),
        Step("chosen", "the chosen plan", kernels.gemm.plan, ""),
    ),
)


def few_tiles(split_k: int) -> Callable[[Tensor, Tensor], Plan]:
    """Tiles of 64 x 64; the CTAs of a cluster share one along K."""
    store = "pairs" if split_k > 1 else "boxes"
    return lambda a, b: hopper(a, b, (64, 64, 64), 1, 8, store=store, split_k=split_k, group=32)


FEW = Ladder(
    "bf16, few tiles",
    torch.bfloat16,
    (512, 512, 16384),
    "k",
    (
        Step("large tile", "128 x 256, as above: 8 tiles for 132 multiprocessors", large(group=16), "order"),
        Step("small tile", "64 x 64: 64 tiles", few_tiles(1), "order"),
        Step("split", "two CTAs share a tile along K and add up through their shared memory", few_tiles(2), "order"),
    ),
)

# --- tf32 that does not lie along K


def copied_first(a: Tensor, b: Tensor) -> Plan:
    """B is copied so that it lies along K, and then multiplied as the chosen plan of such operands does it."""
    along_k = kernels.gemm.plan(a, torch.empty(*b.shape, device=b.device), allow_tf32=True)
    problem = kernels.gemm.plan(a, b, allow_tf32=True).problem.swapped()
    padded, _ = pad(problem, ALIGNED, (False, True))
    return PaddedGemm.of(problem, ALIGNED, (False, True), along_k.for_problem(padded))


def tf32_chosen(a: Tensor, b: Tensor) -> Plan:
    return kernels.gemm.plan(a, b, allow_tf32=True)


TF32 = Ladder(
    "tf32, tensor cores",
    torch.float32,
    (4096, 4096, 4096),
    "n",
    (
        Step("copied", "wgmma reads 32 bits along K only: B is copied first", copied_first, ""),
        Step(
            "registers",
            "B takes the side that may come from registers, each thread's elements together: the chosen plan",
            tf32_chosen,
        ),
    ),
    tf32=True,
)

# --- short kernels


class Waiting(GemmSm90):
    """A plan whose launches begin when the ones before them have ended."""

    @property
    def programmatic(self) -> bool:
        return False


def waiting(a: Tensor, b: Tensor) -> Plan:
    plan = kernels.gemm.plan(a, b)
    return Waiting(**{field.name: getattr(plan, field.name) for field in fields(plan)})


SHORT = Ladder(
    "bf16, short",
    torch.bfloat16,
    (512, 512, 512),
    "k",
    (
        Step("one by one", "each launch waits for the one before it", waiting, ""),
        Step(
            "overlap", "programmatic launches: the next kernel starts up while the last one ends", kernels.gemm.plan, ""
        ),
    ),
)

LADDERS = (FP32, FEW_FMA, BF16, TF32, FEW, SHORT)
