"""Analyses of plans: the totals of a launch beside those of walking through every CTA and thread of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from packed_walk import walk_packed
from plan_walk import WALKS, predicted, walk_copy
from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Float64, Int8, TFloat32, cute, kernels
from tilewright.devices import H200
from tilewright.kernels.copy.packing import packed_copy
from tilewright.kernels.gemm.composite.split_k import parts_problem
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.simt import build as gemm_simt
from tilewright.kernels.gemm.simt.layouts import SimtTile
from tilewright.kernels.gemm.sm80 import build as gemm_sm80
from tilewright.kernels.gemm.sm90 import build as gemm_sm90
from tilewright.kernels.gemm.sm90 import choose as choose_gemm_sm90
from tilewright.kernels.gemm.sm90.choose import Config
from tilewright.kernels.kernel import kernel_of


def array(shape, dtype=np.float32, offset=0):
    """An array that begins `offset` bytes behind a multiple of 128."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 256 + offset, np.uint8)
    start = -memory.ctypes.data % 128 + offset
    return memory[start : start + size].view(dtype).reshape(shape)


def sliced(shape, dtype=np.float32, by=1):
    return array((*shape[:-1], shape[-1] + by), dtype)[..., by:]


COPIES = {
    "whole": lambda: (array((40, 512)), array((40, 512))),
    "ragged": lambda: (array((33, 130)), array((33, 256))[:, :130]),
    "shifted source": lambda: (sliced((30, 512)), array((30, 512))),
    "shifted destination": lambda: (array((30, 512)), sliced((30, 512))),
    "odd rows": lambda: (array((9, 1001), np.float16), array((9, 1003), np.float16)[:, 2:]),
    "bytes": lambda: (sliced((9, 515), np.uint8, 3), array((9, 515), np.uint8)),
    "steps": lambda: (array((31, 130))[:, ::2], array((31, 65))),
    "steps of halves": lambda: (array((30, 520), np.float16)[:, ::4], array((30, 130), np.float16)),
    "steps of 3": lambda: (array((30, 390))[:, ::3], array((30, 130))),
    "backwards": lambda: (array((30, 130))[::-1, ::-1], array((30, 130))),
    "broadcast": lambda: (np.broadcast_to(array((30, 4))[:, :1], (30, 130)), array((30, 130))),
    "transposed": lambda: (array((100, 60)), array((60, 100)).T),
    "transposed, odd": lambda: (array((101, 61)), array((61, 101)).T),
    "transposed halves": lambda: (array((136, 72), np.float16), array((72, 136), np.float16).T),
    "transposed odd halves": lambda: (array((131, 71), np.float16), array((71, 131), np.float16).T),
    "transposed doubles": lambda: (array((40, 41), np.float64), array((41, 40), np.float64).T),
    "transposed slices": lambda: (sliced((100, 60)), sliced((60, 100)).T),
    "transposed by cp.async": lambda: (array((132, 68)), array((68, 132)).T, {"is_async": True}),
    # The first lane of a warp writes behind the line of others.
    "permuted by cp.async": lambda: (
        array((64, 40, 40), np.float16).transpose(2, 1, 0), array((40, 40, 64), np.float16), {"is_async": True}
    ),
    "permuted": lambda: (array((5, 40, 3, 12)), array((5, 3, 40, 12)).transpose(0, 2, 1, 3)),
    "permuted, short odd rows": lambda: (
        array((2, 37, 3, 5, 20), np.int8).transpose(4, 2, 0, 3, 1), array((20, 3, 2, 5, 37), np.int8)
    ),
    "permuted, odd rows": lambda: (
        array((2, 77, 3, 5, 9), np.float16).transpose(4, 2, 0, 3, 1), array((9, 3, 2, 5, 77), np.float16)
    ),
    "odd rows of bytes": lambda: (array((5, 3, 301), np.int8).transpose(1, 0, 2), array((3, 5, 301), np.int8)),
    "steps of bytes": lambda: (sliced((9, 514), np.int8, 3)[:, ::2], array((9, 257), np.int8)),
    "steps of unaligned halves": lambda: (sliced((9, 514), np.float16)[:, ::2], array((9, 257), np.float16)),
    "steps, unaligned": lambda: (sliced((9, 514))[:, ::2], array((9, 257))),
    "steps of bytes, transposed": lambda: (sliced((70, 301), np.int8, 1)[:, ::2], array((151, 70), np.int8).T),
    "steps, transposed": lambda: (sliced((70, 301))[:, ::2], array((151, 70)).T),
    "bytes backwards, odd rows": lambda: (array((5, 1001), np.int8)[:, ::-1], sliced((5, 1001), np.int8, 3)),
    "backwards, transposed": lambda: (array((70, 90), np.int8)[:, ::-1], array((90, 70), np.int8).T),
    "batch of transposes": lambda: (array((3, 70, 36)), array((3, 36, 70)).transpose(0, 2, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_walked(name):
    src, dst, *fields = COPIES[name]()
    plan, a, b = kernels.tiled_copy.plan(src, dst).replace(**(fields[0] if fields else {})).fit(src, dst)
    found = predicted(kernel_of(plan).accesses(plan, (a.address, b.address)).instructions)
    assert found == walk_copy(plan, a.address, b.address, a.reach())
    stored = sum(x["useful"] for (what, _), x in found.items() if what.startswith("store"))
    assert stored == dst.nbytes  # each element once


def permuted(shape, axes, dtype, offset=0):
    return array(shape, dtype, offset).transpose(axes), array(tuple(shape[i] for i in axes), dtype)


PACKED = {
    "bytes": lambda: permuted((75, 88, 31), (1, 2, 0), np.int8),
    "bytes of 5 modes": lambda: permuted((7, 5, 12, 6, 33), (2, 3, 1, 4, 0), np.int8, 3),
    "pairs of bytes": lambda: permuted((8, 16, 9, 14, 6), (0, 2, 3, 1, 4), np.int8),
    "halves": lambda: permuted((41, 9, 70), (2, 1, 0), np.float16, 2),
    "floats": lambda: permuted((70, 6, 50), (2, 0, 1), np.float32),
    "doubles": lambda: permuted((9, 37, 21), (1, 2, 0), np.float64, 8),
}


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("apart", [0, 8])
def test_packed_copies_are_walked(name, apart):
    """`apart`: bytes by which runs lie further apart in shared memory: 16 bytes are no longer put in at once."""
    src, dst = PACKED[name]()
    plan, a, b = kernels.tiled_copy.plan(src, dst).fit(src, dst)
    plan = packed_copy(plan.problem, *(x.address & -x.address for x in (a, b)))
    if apart:
        strides = plan.smem.stride
        farthest = strides.index(max(strides))
        moved = [d + (i == farthest) * apart // src.itemsize for i, d in enumerate(strides)]
        plan = plan.replace(smem=cute.make_layout(plan.tile, stride=tuple(moved)))
    plan.require(a.address, b.address)
    found = predicted(kernel_of(plan).accesses(plan, (a.address, b.address)).instructions)
    assert found == walk_packed(plan, a.address, b.address, a.reach())
    assert sum(x["useful"] for (what, _), x in found.items() if what.startswith("store")) == dst.nbytes


def simt(m, n, k, dtype=Float32, align=(16, 16, 16), tile=None, **options):
    problem = problem_of(m, n, k, dtype, **options)
    return gemm_simt._plan(problem, align, tile) if tile else gemm_simt.choose(problem, align)


def shared(m, n, k, stream_k_ctas, tile=None, **options):
    """Of tiles that so many CTAs share along K."""
    tile = tile or SimtTile(1, 1, 1, 1, 4, 1.0)
    plan = gemm_simt._plan(problem_of(m, n, k, Float32, **options), (16, 16, 16), tile, stream_k_ctas)
    assert any(first for _, first, _ in plan.parts_of_tiles)
    return plan


def padded(m, n, k, sides):
    """With memory behind the last row of A, B or both, up to a multiple of 256."""
    problem = problem_of(m, n, k, Float32, a="m", b="n", pads=(-m % 256, -n % 256, 0))
    return gemm_simt._plan(problem, (16, 16, 4), SLICED, padded=sides)


def sm80(m, n, k, dtype=Float16, align=(16, 16, 16), **options):
    return gemm_sm80.choose(problem_of(m, n, k, dtype, **options), align)


def sm90_of(config, m, n, k, dtype=Float16, **options):
    """The plan of a configuration."""
    problem = problem_of(m, n, k, dtype, **options)
    aligned = 128, 128, 128
    plan = choose_gemm_sm90.plan_of(config, problem, choose_gemm_sm90._majors(problem, aligned), aligned, H200)
    assert plan is not None
    return plan


def sm90(m, n, k, dtype=Float16, align=(128, 128, 128), **options):
    return gemm_sm90.choose(problem_of(m, n, k, dtype, **options), align)


def seed_002(m=256, n=256, k=64):
    """The configuration of the article: 256 threads, tiles (128,128,8), A along K by single elements."""
    atom_a = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
    atom_b = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    copy_a = cute.make_tiled_copy_tv(atom_a, cute.make_layout((32, 8), stride=(8, 1)), cute.make_layout((1, 1)))
    copy_b = cute.make_tiled_copy_tv(atom_b, cute.make_layout((32, 8)), cute.make_layout((4, 1)))
    mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), cute.make_layout((16, 16, 1), stride=(16, 1, 0)))
    a, b = array((m, k)), array((k, n)).T
    parts = {"tiled_mma": mma, "tiled_copy_a": copy_a, "tiled_copy_b": copy_b, "tiler_mnk": (128, 128, 8)}
    return kernels.gemm.plan(a, b, **parts), (a, b, array((m, n))), copy_a


ALL = Epilogue(alpha=2, beta=1, bias="n", bias_type=Float32, bias_stride=1, activation="relu")
BY_ROW = ALL._replace(bias="m", bias_stride=3)
SLICED = SimtTile(1, 1, 1, 1, 4, 1.0, 4)

GEMMS = {
    "simt": lambda: simt(64, 64, 32),
    "simt ragged": lambda: simt(70, 41, 20, align=(4, 4, 4)),
    "simt by cp.async": lambda: simt(40, 72, 24, a="m", b="n"),
    "simt by cp.async with zeros": lambda: simt(40, 72, 21, a="m", b="n"),
    "simt epilogue": lambda: simt(40, 36, 12, a="m", b="n", epilogue=ALL),
    "simt epilogue by row": lambda: simt(36, 40, 12, align=(16, 4, 16), c="m", epilogue=BY_ROW),
    "simt batch": lambda: simt(33, 20, 9, batch=(2, 3), align=(4, 4, 4)),
    "simt halves": lambda: simt(40, 40, 40, Float16),
    "simt doubles": lambda: simt(40, 36, 20, Float64, a="m"),
    "simt bytes": lambda: simt(40, 36, 32, Int8),
    "simt slices": lambda: simt(70, 36, 32, tile=SLICED),
    "simt slices, epilogue": lambda: simt(40, 36, 24, a="m", b="n", tile=SLICED, epilogue=ALL),
    "simt slices, by row": lambda: simt(36, 40, 24, a="m", b="n", c="m", tile=SLICED, epilogue=BY_ROW),
    "simt padded": lambda: padded(70, 41, 20, (True, True)),
    "simt padded on one side": lambda: padded(70, 71, 20, (True, False)),
    "simt totals": lambda: simt(140, 36, 40, a="m", b="n", tile=SimtTile(2, 2, 2, 4, 2, 0.9)).replace(promote=2),
    "simt shares": lambda: shared(70, 100, 60, 4),
    "simt shares by cp.async": lambda: shared(72, 100, 61, 11, a="m", b="n"),
    "simt shares in slices": lambda: shared(70, 36, 200, 7, tile=SLICED, epilogue=ALL),
    "simt shares, totals": lambda: shared(140, 136, 75, 3, b="n", tile=SimtTile(2, 2, 2, 4, 2, 0.9)).replace(promote=2),
    "simt shares in batches": lambda: shared(33, 36, 70, 5, batch=(2, 2)),
    "simt one stage": lambda: gemm_simt._plan(problem_of(40, 36, 20, Float32), (16, 16, 16), SLICED, stages=1),
    "simt as given": lambda: seed_002(140, 132, 20)[0],
    "simt odd stages": lambda: seed_002(140, 132, 36)[0].replace(
        smem_a=cute.parse("(128,8,2):(1,130,1042)"), smem_b=cute.parse("(128,8,2):(1,132,1060)")
    ),
    "sm80": lambda: sm80(64, 128, 64),
    "sm80 ragged": lambda: sm80(72, 40, 44, align=(8, 8, 8)),
    "sm80 odd": lambda: sm80(67, 41, 37, align=(2, 2, 2)),
    "sm80 cut stores": lambda: sm80(40, 67, 40, pads=(0, 0, 5), epilogue=ALL),
    "sm80 cut stores, by row": lambda: sm80(40, 67, 40, pads=(0, 0, 5), epilogue=BY_ROW),
    "sm80 epilogue": lambda: sm80(40, 72, 40, epilogue=ALL),
    "sm80 direct": lambda: sm80(40, 72, 40, c="m", epilogue=BY_ROW),
    "sm80 m and n": lambda: sm80(72, 72, 40, BFloat16, a="m", b="n"),
    "sm80 tf32": lambda: sm80(72, 72, 24, TFloat32, a="m", b="n"),
    "sm80 doubles": lambda: sm80(40, 36, 20, Float64),
    "sm80 bytes": lambda: sm80(72, 80, 48, Int8, a="m"),
    "sm80 batch": lambda: sm80(40, 40, 40, batch=(3,)),
    "sm80 parts of K": lambda: gemm_sm80.choose(parts_problem(problem_of(67, 40, 170, Float64), 64), (16,) * 3, H200),
    "sm80 odd parts of K": lambda: gemm_sm80.choose(
        parts_problem(problem_of(40, 41, 331, Float16, batch=(2,)), 128), (2, 2, 16), H200
    ),
    "sm90 boxes": lambda: sm90(200, 136, 72),
    "sm90 boxes of floats": lambda: sm90(200, 136, 72, out=Float32, epilogue=ALL),
    "sm90 registers": lambda: sm90_of(Config(64, 64, 1), 200, 136, 72, TFloat32, a="m", epilogue=ALL),
    "sm90 registers by row": lambda: sm90_of(Config(64, 64, 1), 200, 136, 72, TFloat32, a="m", epilogue=BY_ROW),
    "sm90 columns": lambda: sm90_of(Config(64, 64, 1), 200, 136, 72, TFloat32, a="m", c="m", epilogue=ALL),
    "sm90 columns by row": lambda: sm90_of(Config(64, 64, 1), 72, 136, 72, TFloat32, a="m", c="m", epilogue=BY_ROW),
    "sm90 columns, blocks": lambda: sm90_of(Config(256, 64), 264, 68, 72, TFloat32, a="m", c="m"),
    "sm90 columns, ping-pong": lambda: sm90_of(Config(64, 64, ping_pong=True), 136, 68, 72, TFloat32, a="m", c="m"),
    "sm90 columns of halves": lambda: sm90_of(Config(64, 40, 1), 72, 75, 72, c="m", epilogue=ALL),
    "sm90 columns of halves by row": lambda: sm90_of(Config(64, 8, 1), 136, 20, 72, c="m", epilogue=BY_ROW),
    "sm90 columns of halves, blocks": lambda: sm90_of(Config(256, 48), 264, 67, 72, c="m", batch=(3,)),
    "sm90 columns of halves, split": lambda: sm90_of(Config(128, 80, split_k=2), 136, 67, 264, c="m", epilogue=ALL),
    "sm90 columns of halves, ping-pong": lambda: sm90_of(
        Config(64, 144, ping_pong=True), 136, 150, 72, c="m", epilogue=ALL
    ),
    "sm90 registers, singles": lambda: sm90(72, 67, 72, TFloat32, a="m", c="m", epilogue=ALL),
    "sm90 boxes by row": lambda: sm90(72, 136, 72, epilogue=BY_ROW),
    "sm90 pairs": lambda: sm90(72, 70, 72, epilogue=ALL),
    "sm90 singles": lambda: sm90(72, 67, 72, epilogue=ALL),
    "sm90 singles by row": lambda: sm90(70, 67, 72, c="m", epilogue=BY_ROW),
    "sm90 lines": lambda: sm90_of(Config(64, 128, 1), 72, 131, 72, epilogue=ALL),
    "sm90 lines of floats": lambda: sm90_of(Config(128, 80), 130, 77, 72, out=Float32, epilogue=ALL),
    "sm90 lines of bytes": lambda: sm90_of(Config(128, 160), 130, 155, 144, Float8E4M3FN, out=Float8E4M3FN,
                                           epilogue=ALL),
    "sm90 lines of pairs, by row": lambda: sm90_of(Config(64, 48, 1), 72, 46, 72, epilogue=BY_ROW),
    "sm90 lines, blocks": lambda: sm90_of(Config(256, 64), 264, 67, 72, batch=(3,)),
    "sm90 lines, ping-pong": lambda: sm90_of(Config(64, 128, ping_pong=True), 136, 201, 72, epilogue=ALL),
    "sm90 lines, split": lambda: sm90_of(Config(128, 128, split_k=2), 130, 141, 264, epilogue=ALL),
    "sm90 lines, split blocks": lambda: sm90_of(Config(128, 128, 1, split_k=2), 130, 141, 264),
    "sm90 lines, rows with ends": lambda: sm90_of(Config(64, 128, 1), 72, 125, 72, pads=(0, 0, 3), epilogue=ALL),
    "sm90 split": lambda: sm90(16, 64, 2048),
    "sm90 batch": lambda: sm90(72, 70, 72, batch=(2,)),
    "sm90 bytes": lambda: sm90(72, 144, 144, Float8E4M3FN, epilogue=ALL),
    "sm90 clusters": lambda: sm90(330, 136, 72, epilogue=ALL).replace(cluster_mn=(2, 1)),
    "sm90 ping-pong": lambda: sm90(200, 136, 72, epilogue=ALL).replace(ping_pong=True),
    "sm90 clusters of 4": lambda: gemm_sm90.variants(problem_of(512, 512, 512, Float16), (128, 128, 128))[12],
    "sm90 shared tiles": lambda: sm90_of(Config(64, 64, 1), 200, 136, 200).replace(stream_k_ctas=5),
    "sm90 shared tiles of clusters": lambda: (
        sm90_of(Config(128, 64, cluster=(2, 1)), 300, 136, 200, batch=(2,), epilogue=ALL).replace(stream_k_ctas=10)
    ),
    "sm90 split with a bias": lambda: sm90(16, 64, 2048, epilogue=BY_ROW),
}  # fmt: skip


@pytest.mark.parametrize("name", GEMMS)
def test_gemms_are_walked(name):
    plan = GEMMS[name]()
    assert plan is not None
    addresses = (0, 0, 0, 4)
    found = predicted(kernel_of(plan).accesses(plan, addresses).instructions)
    walked = WALKS[plan.kernel_name](plan, addresses)
    assert found == walked
