"""gemm_simt itself, compiled by the C++ compiler of this machine, and its plans as the CPU runs them."""

from __future__ import annotations

import itertools
import math

import pytest

from cpu_device import COMPILER
from cpu_ptx import GemmKernels
from gemm_device_cases import Case
from tilewright import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    Uint8,
    cute,
)
from tilewright.cute.nvgpu import CopyUniversalOp, MmaUniversalOp, cpasync
from tilewright.devices import H200
from tilewright.kernels.gemm.host import run_on_host
from tilewright.kernels.gemm.simt import build as gemm_simt
from tilewright.kernels.gemm.simt import plan as gemm_simt_plan
from tilewright.kernels.gemm.simt.tiles import SimtTiles

ORDERS = ("01", "10")
TILES, LOOSE = SimtTiles.of(H200).tiles, SimtTiles.of(H200).loose


def seed_parts(dtype=Float32, threads=256, tiler=(128, 128, 8)):
    """The parts of the SIMT GEMM in "Honey, I Tiled the Tensors"."""
    _, n, k = tiler
    atom_a = cute.make_copy_atom(cpasync.CopyG2SOp(), dtype, num_bits_per_copy=dtype.width)
    atom_b = cute.make_copy_atom(cpasync.CopyG2SOp(), dtype, num_bits_per_copy=4 * dtype.width)
    t_a = cute.make_layout((threads // k, k), stride=(k, 1))
    t_b = cute.make_layout((n // 4, threads // (n // 4)), stride=(1, n // 4))
    atoms = cute.make_layout((threads // 16, 16, 1), stride=(16, 1, 0))
    return (
        cute.make_tiled_mma(MmaUniversalOp(dtype), atom_layout_mnk=atoms),
        cute.make_tiled_copy_tv(atom_a, t_a, cute.make_layout((1, 1))),
        cute.make_tiled_copy_tv(atom_b, t_b, cute.make_layout((4, 1))),
        tiler,
    )


def chosen(case, **kwargs):
    """The plan of a case with one of the tiles, or the one that is chosen."""
    tile = kwargs.pop("tile", None)
    if tile is None:
        return gemm_simt.choose(case.problem, case.alignments)
    return gemm_simt._plan(case.problem, case.alignments, TILES[tile], **kwargs)


def problems():
    """(case, plan)"""
    # All transposes, aligned and ragged, by every tile, depth and number of stages.
    for number, (a, b, tile) in enumerate((a, b, t) for a in ORDERS for b in ORDERS for t in range(len(TILES))):
        if (number + number // len(TILES)) % 2 == 0 or tile < 2:
            case = Case(Float32, 133, 140, 36, a + "+4", b, seed=number)
            plan = chosen(case, tile=tile, stages=1 + number % 4, depth=(8, 16, 32)[number % 3])
            yield case, plan.replace(group=1)
    for number, tile in enumerate(LOOSE):  # element by element along K, in fewer, as many and more tiles than stages
        case = Case(Float32, 65, 70, (40, 203, 256, 131, 517)[number], "01" + "+3" * (number % 2), "10", seed=number)
        yield case, gemm_simt._plan(case.problem, case.alignments, tile)
    for a, b in itertools.product(ORDERS, ORDERS):  # the last rows of a tile lie just outside
        case = Case(Float32, 126, 127, 24, a + "+4", b + "+4")
        yield case, chosen(case, tile=0)
    # Memory behind the rows up to whole tiles, which is read; sums by way of shared memory, in slices and without.
    for tile, a, b, c in (
        (0, "10+2", "10+1", "01"),
        (6, "10+2", "10+1", "01@1"),
        (6, "10+2", "01", "10"),
        (7, "01", "10+1", "10@1"),
    ):
        case = Case(Float32, 126, 127, 37, a, b, c)
        plan = chosen(case, tile=tile, padded=("+" in a, "+" in b))
        assert plan.smem_c is not None
        yield case, plan
    # Totals in shared memory: of two, three and four sums, and of one alone; tiles of one block and of two; an operand
    # by way of registers; and C by way of shared memory, in the place of stages and totals.
    for k, promote, depth, a, c in (
        (32, 2, 8, "10+2", "10"),
        (45, 2, 8, "10+2", "01"),
        (56, 2, 8, "01", "10"),
        (16, 2, 8, "10+2", "10"),
        (70, 2, 16, "10+2", "01@1"),
        (40, 1 << 30, 16, "10+2", "10"),
    ):
        case = Case(Float32, 130, 140, k, a, "10", c)
        plan = chosen(case, tile=0, depth=depth).replace(promote=promote)
        assert (plan.totals, plan.smem_c is not None) == (128, "@" in c)
        yield case, plan
    # Tiles that are shared along K: fewer shares than tiles, more, and more than a tile has steps; by registers and by
    # cp.async; in slices; with totals in shared memory and in registers; with an epilogue; in batches.
    for m, n, k, tile, stream_k_ctas, promote, a, b, told in (
        (300, 260, 40, 0, 4, 0, "01", "10", {}),
        (300, 260, 40, 0, 2, 2, "10", "10", {"beta": 2.0, "bias": "n", "activation": "relu"}),
        (130, 140, 45, 3, 7, 0, "10", "01", {}),
        (70, 65, 200, 6, 9, 3, "01", "01", {"alpha": 0.5}),
        (64, 64, 300, 8, 32, 0, "10", "10", {}),
        (40, 33, 66, 5, 5, 0, "10", "10", {"batch": (2, 3)}),
        (64, 32, 8, 5, 9, 0, "10", "10", {}),
    ):
        case = Case(Float32, m, n, k, a, b, **told)
        plan = chosen(case, tile=tile, stream_k_ctas=stream_k_ctas)
        assert 0 < plan.stream_k_tiles <= math.prod(plan.tiles) * plan.problem.batches
        yield case, plan.replace(promote=promote)
    case = Case(Float32, 65, 40, 517)
    yield case, gemm_simt._plan(case.problem, case.alignments, LOOSE[3], 11)
    case = Case(Float32, 40, 33, 130)  # by one warp, which waits for one share at a time
    mma = cute.make_tiled_mma(MmaUniversalOp(Float32), (8, 4, 1))
    yield (
        case,
        gemm_simt.given(case.problem, mma, None, None, (32, 16, 8), 2, case.alignments).replace(stream_k_ctas=40),
    )
    # Rows that begin anywhere, strides in all modes, backwards, broadcast; C along M, padded, misaligned.
    for a, b, c in (
        ("01+1", "10@1", "01@1"), ("01/2", "10/2", "10+4"), ("01-", "10-", "10"), ("10+3", "01@3", "01/2"),
    ):  # fmt: skip
        case = Case(Float32, 70, 65, 43, a, b, c)
        yield case, chosen(case)
    # Batches.
    for batch, a, b in (((3,), "01b", "10"), ((2, 3), "10", "01b"), ((2, 1, 3), "01", "01")):
        case = Case(Float32, 40, 33, 21, a, b, batch=batch)
        yield case, chosen(case)
    # Short and empty sums, single rows and columns.
    for m, n, k in ((30, 40, 0), (1, 50, 3), (45, 1, 100), (1, 1, 1), (300, 17, 8)):
        case = Case(Float32, m, n, k, beta=2 if k == 0 else 0)
        yield case, chosen(case)
    # Types.
    for dtype in (Float64, Float16, BFloat16, Float8E4M3FN, Float8E5M2, Int8, Uint8):
        for a, b in (("01", "10"), ("10@1", "01@1")):
            case = Case(dtype, 75, 70, 52, a, b)
            yield case, chosen(case, tile=5)
    case = Case(Int8, 40, 48, 32, b_type=Uint8, out=Float32, alpha=0.5)
    yield case, chosen(case)
    # Epilogues.
    for activation, bias, c, out in (
        ("relu", "n", "01", Float16), ("gelu", "m", "10", Float32), ("gelu_tanh", "n", "01@1", BFloat16),
        ("silu", "m", "01", Float8E4M3FN), (None, "n", "10", Float8E5M2),
    ):  # fmt: skip
        case = Case(Float32, 37, 44, 20, c=c, out=out, alpha=0.25, beta=-0.5, bias=bias, activation=activation)
        yield case, chosen(case)
    case = Case(Float64, 20, 24, 20, alpha=0.1, beta=3, bias="n", activation="gelu_tanh", bias_type=Float32)
    yield case, chosen(case)
    case = Case(Int8, 20, 24, 20, alpha=3, beta=-2, bias="m", activation="relu", bias_type=Int32)
    yield case, chosen(case)
    # Given parts: the seed's, with one stage as there and with more, where its accesses are aligned and where not.
    for b, stages in (("10", 1), ("10", 3), ("01", 1), ("10@1", 2)):
        case = Case(Float32, 130, 150, 29, "01", b)
        yield case, gemm_simt.given(case.problem, *seed_parts(), stages, case.alignments)
    # Fewer threads than a warp has, and registers on the way.
    mma = cute.make_tiled_mma(MmaUniversalOp(Float32), (5, 8, 1))
    atom = cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=64)
    copy = cute.make_tiled_copy_tv(atom, cute.make_layout((10, 2)), cute.make_layout((1, 2)))
    case = Case(Float32, 33, 41, 18, beta=1)
    yield case, gemm_simt.given(case.problem, mma, copy, None, (20, 24, 4), 2, case.alignments)


PROBLEMS = list(problems())


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("arch", [750, 800])
def test_kernel(arch, tmp_path):
    chosen = PROBLEMS if arch == 800 else PROBLEMS[::5]
    kernels = GemmKernels([plan for _, plan in chosen], tmp_path, arch)
    for case, plan in chosen:
        case.check(lambda *addresses, plan=plan: kernels.run(plan, *addresses))


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_k_in_64_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(gemm_simt_plan, "WIDE_K", 1)
    case = Case(Float32, 130, 140, 45, "10+2", "10")
    plan = chosen(case, tile=0, depth=8)
    assert plan.name.endswith("int64>>")
    kernels = GemmKernels([plan], tmp_path, 800)
    case.check(lambda *addresses: kernels.run(plan, *addresses))


def test_on_host():
    for case, plan in PROBLEMS:
        case.check(lambda *addresses, plan=plan: run_on_host(plan, *addresses))


def test_nothing_is_wrong_on_host():
    for case, plan in PROBLEMS[::3]:
        report = run_on_host(plan, *(x.ctypes.data for x in (case.a, case.b, case.c)), check=True, move=False)
        assert report, f"{case.name}: {report}, in the {plan}"
