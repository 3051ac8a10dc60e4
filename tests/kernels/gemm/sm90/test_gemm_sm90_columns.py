"""C of 16 bits that lies along M, in boxes of TMA: run on the CPU bit by bit as single elements are, and compiled."""

from __future__ import annotations

import numpy as np
import pytest

from host_gemms import Gemm, decoded, encoded
from tilewright import BFloat16, Float16, Float32
from tilewright.devices import H200
from tilewright.kernels.gemm.host import run_on_host
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90.choose import Config, Sm90Configs, _majors, plan_of
from tilewright.kernels.gemm.sm90.conditions import stores_of
from tilewright.kernels.gemm.sm90.plan import N_EXTENTS

ALIGNED = (256, 256, 256)
CONFIGS = Sm90Configs.of(H200).configs
CHOSEN = {
    "8 columns": Config(64, 8, 1),
    "16 columns": Config(64, 16, 1, buffers=1),
    "odd units": Config(64, 40, 1),
    "one box": Config(128, 256, buffers=1),
    "three boxes": Config(128, 128, buffers=3),
    "three boxes of 48 columns": Config(128, 144),
    "blocks": Config(256, 160),
    "three consumers": Config(192, 192, 3),
    "ping-pong": Config(64, 128, ping_pong=True),
    "cluster": Config(128, 128, cluster=(2, 1)),
    "split": Config(128, 80, split_k=2, buffers=1),
    "split-4": Config(64, 128, 1, split_k=4),
    "split blocks": Config(128, 128, 1, split_k=2),
    "two a multiprocessor": Config(128, 64, resident=2, stages=4),
    "stream-K": Config(128, 128, stream_k_ctas=3),
}
EPILOGUES = {
    "plain": Epilogue(),
    "all along n": Epilogue(2, -1, "n", Float32, 1, "relu"),
    "all along m": Epilogue(-1, 2, "m", Float32, 2),
    "gelu": Epilogue(activation="gelu"),
}


def planned(config, problem):
    plan = plan_of(config._replace(stream_k_ctas=0), problem, _majors(problem, ALIGNED), ALIGNED, H200)
    assert plan is not None
    return plan.replace(stream_k_ctas=config.stream_k_ctas)


@pytest.mark.parametrize("dtype", [BFloat16, Float16], ids=str)
@pytest.mark.parametrize("name", CHOSEN)
def test_columns_are_stored_as_single_elements_are(name, dtype):
    """M is a multiple of 8 elements, as TMA needs it, but of no tile; N is any number."""
    random = np.random.default_rng(sum(map(ord, name)))
    for i, epilogue in enumerate(EPILOGUES.values()):
        m, n = 8 * int(random.integers(1, 50)), int(random.integers(1, 400))
        k = 16 * int(random.integers(3, 7)) + (512 if CHOSEN[name].split_k > 1 or name == "stream-K" else 0)
        batch = (2,) if i == 1 else ()
        gemm = Gemm(m, max(n, 2), k, dtype, c="m", batch=batch, most=1, epilogue=epilogue, pads=(0, 0, 8 * (i == 2)))
        plan = planned(CHOSEN[name], gemm.problem)
        assert plan.store == "columns"
        addresses = [0 if x is None else x.ctypes.data for x in (gemm.a, gemm.b, gemm.c, gemm.bias)]
        results = []
        for store in ("columns", "singles"):
            gemm.c[...] = encoded(gemm.before, dtype)
            run_on_host(plan.replace(store=store), *addresses)
            results.append(gemm.c.copy())
        np.testing.assert_array_equal(results[0], results[1])
        if epilogue.activation != "gelu":
            np.testing.assert_array_equal(decoded(results[0], dtype), gemm.expected())
        gemm.c[...] = encoded(gemm.before, dtype)
        report = run_on_host(plan, *addresses, check=True)
        assert report, f"{plan}\n{report}"


def test_every_width_is_boxes():
    """Of a tile a box has the largest number of columns, eights up to 64, of which the tile is a multiple."""
    problem, boxes = problem_of(512, 512, 512, BFloat16, c="m"), {}
    for bN in N_EXTENTS:
        plan = planned(Config(64, bN, 1), problem)
        assert plan.store == "columns"
        boxes[bN] = plan.box_columns
    assert boxes == {
        8: 8, 16: 16, 24: 24, 32: 32, 40: 40, 48: 48, 56: 56, 64: 64, 72: 24, 80: 40, 88: 8, 96: 48, 104: 8, 112: 56,
        120: 40, 128: 64, 136: 8, 144: 48, 152: 8, 160: 40, 168: 56, 176: 16, 184: 8, 192: 64, 200: 40, 208: 16,
        216: 24, 224: 56, 232: 8, 240: 48, 248: 8, 256: 64,
    }  # fmt: skip
    assert planned(Config(128, 80, split_k=2), problem).box_columns == 40
    assert planned(Config(64, 128, 1, split_k=4), problem).box_columns == 32
    assert planned(Config(128, 144), problem).replace(store="singles").box_columns == 64


def test_what_makes_columns_boxes():
    def ways(problem, alignment=16, tile=(128, 144), split=1, consumers=2):
        return stores_of(problem, *tile, split, consumers, alignment, False)

    both, singles = ("columns", "singles"), ("singles",)
    assert ways(problem_of(512, 511, 512, BFloat16, c="m")) == both
    assert ways(problem_of(512, 511, 512, BFloat16, c="m"), 8) == singles
    assert ways(problem_of(508, 511, 512, BFloat16, c="m", pads=(0, 0, 4))) == singles  # columns of 1016 bytes
    assert ways(problem_of(512, 511, 512, BFloat16, c="m", pads=(0, 0, 4))) == singles  # each begins at 8 bytes
    assert ways(problem_of(512, 511, 512, BFloat16, c="m", pads=(0, 0, 8))) == both
    assert ways(problem_of(512, 511, 512, BFloat16, c="m", batch=(3,))) == both
    assert ways(problem_of(512, 511, 512, BFloat16, c="m", batch=(3,))._replace(c_strides=(1, 512, 261636))) == singles
    assert ways(problem_of(512, 511, 512, BFloat16, c="m", out=Float32)) == singles
    # Of 18 units three CTAs finish 6 each, which are a box; four finish 5, 5, 5 and 3.
    assert ways(problem_of(512, 511, 512, BFloat16, c="m"), split=3) == both
    assert ways(problem_of(512, 511, 512, BFloat16, c="m"), split=4) == singles


# Those that store C of 16 bits along M by boxes, which splits do only where all of their CTAs finish as much.
BY_BOXES = [x for x in CONFIGS if planned(x, problem_of(4096, 4096, 4096, BFloat16, c="m")).store == "columns"]


@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("config", [CHOSEN["8 columns"], CHOSEN["odd units"], *BY_BOXES[1::9]], ids=str)
def test_columns_compile_without_spills(compiler, config, epilogue):
    plan = planned(config, problem_of(4096, 4096, 4096, BFloat16, c="m", epilogue=EPILOGUES[epilogue]))
    assert plan.store == "columns"
    program = plan.compile("sm_90a")
    report = program.report[plan.name]
    assert (report.spill_bytes, report.stack_bytes) == (0, 0)
    assert "C75" not in program.log, "the compiler serialises wgmma or ignores setmaxnreg"
    assert "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16" in program.ptx
    assert ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16" in program.ptx) == (EPILOGUES[epilogue].beta != 0)
