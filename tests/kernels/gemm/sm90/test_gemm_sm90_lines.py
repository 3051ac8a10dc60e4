"""C that TMA cannot store, by lines: run on the CPU for odd shapes, types and epilogues, refused, and compiled."""

from __future__ import annotations

import numpy as np
import pytest

from host_gemms import Gemm, decoded, encoded
from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Int8, Int32, LayoutError, TFloat32
from tilewright.devices import H200
from tilewright.kernels.gemm.host import run_on_host
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90.choose import Config, Sm90Configs, _majors, plan_of
from tilewright.kernels.gemm.sm90.conditions import run_columns, stores_of

ALIGNED = (256, 256, 256)
CONFIGS = [config for config in Sm90Configs.of(H200).configs if config.consumers < 3]
CHOSEN = {
    "one": Config(64, 128, 1),
    "two": Config(128, 256),
    "part of a box": Config(128, 80),
    "odd units": Config(64, 24, 1),
    "blocks": Config(256, 64),
    "ping-pong": Config(64, 128, ping_pong=True),
    "split": Config(128, 128, split_k=2, buffers=1),
    "split-4": Config(64, 128, 1, split_k=4),
    "split blocks": Config(128, 128, 1, split_k=2),
    "cluster": Config(128, 128, cluster=(2, 1)),
}
# The types of A and of C.
TYPES = {
    "bf16": (BFloat16, None), "fp16 to fp32": (Float16, Float32), "fp8": (Float8E4M3FN, Float8E4M3FN),
    "int8": (Int8, Int32), "tf32": (TFloat32, None),
}  # fmt: skip
EPILOGUES = {
    "plain": Epilogue(),
    "all along n": Epilogue(2, -1, "n", Float32, 1, "relu"),
    "all along m": Epilogue(-1, 2, "m", Float32, 2),
}


def lines_of(config, problem):
    plan = plan_of(config, problem, _majors(problem, ALIGNED), ALIGNED, H200)
    assert plan is not None
    return plan.replace(store="lines")


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("name", CHOSEN)
def test_odd_rows_are_stored_as_the_product_is(name, types):
    random = np.random.default_rng(sum(map(ord, name + types)))
    dtype, out = TYPES[types]
    for i, epilogue in enumerate(EPILOGUES.values()):
        if epilogue.bias and dtype is Int8:
            epilogue = epilogue._replace(bias_type=Int32)
        m, n = (int(x) for x in random.integers(1, (200, 300)))
        k = 16 * int(random.integers(3, 7)) + (512 if "split" in name else 0)
        batch = (2,) if i == 1 and "split" not in name else ()
        if name in ("two", "cluster") and types in ("fp16 to fp32", "int8", "tf32"):
            epilogue = epilogue._replace(beta=0)
        gemm = Gemm(m, n, k, dtype, out=out, batch=batch, most=1, epilogue=epilogue, pads=(0, 0, int(i == 2)))
        plan = lines_of(CHOSEN[name], gemm.problem)
        addresses = [0 if x is None else x.ctypes.data for x in (gemm.a, gemm.b, gemm.c, gemm.bias)]
        for check in (False, True):
            gemm.c[...] = encoded(gemm.before, gemm.problem.c_type)
            report = run_on_host(plan, *addresses, check=check)
            rounding = 2.0**-4 if out is Float8E4M3FN else 0
            np.testing.assert_allclose(decoded(gemm.c, gemm.problem.c_type), gemm.expected(), rounding)
        assert report, f"{plan}\n{report}"


def test_what_a_split_finishes_at_a_time():
    assert run_columns(128, 128, 1, 2) == 128
    assert run_columns(128, 128, 2, 2) == 64
    assert run_columns(128, 128, 2, 1) == 128  # a block of 64 rows each
    assert run_columns(128, 128, 3, 2) == 0  # the last of three would finish less
    assert run_columns(192, 128, 2, 1) == 0  # a block and a half


def test_all_ways_to_store_are_named_the_best_one_first():
    def ways(problem, alignment=256, tile=(128, 128), split=1, paired=False):
        return stores_of(problem, *tile, split, 2, alignment, paired)

    assert ways(problem_of(512, 512, 512, BFloat16)) == ("boxes", "lines", "pairs", "singles")
    assert ways(problem_of(512, 511, 512, BFloat16)) == ("lines", "singles")
    assert ways(problem_of(512, 512, 512, BFloat16), 4) == ("lines", "pairs", "singles")
    assert ways(problem_of(512, 511, 512, BFloat16), split=3) == ("singles",)
    assert ways(problem_of(512, 511, 512, TFloat32, a="m"), paired=True) == ("singles",)
    assert ways(problem_of(512, 512, 512, BFloat16, c="m")) == ("columns", "singles")
    # 32 columns are no box of TMA, but 64 bytes of each row.
    assert ways(problem_of(512, 32, 512, BFloat16), tile=(128, 32)) == ("lines", "pairs", "singles")


@pytest.mark.parametrize(
    ("config", "problem", "words"),
    [
        (Config(128, 128), problem_of(512, 512, 512, BFloat16, c="m"), "C's stride along N is 512, not 1"),
        (Config(128, 128), problem_of(512, 511, 512, TFloat32, a="m"), "A comes from registers"),
        (Config(192, 192, 3), problem_of(512, 511, 512, BFloat16), "3 warpgroups have too few registers"),
        (Config(128, 256), problem_of(512, 511, 512, Float16, out=Float32, epilogue=Epilogue(beta=1.0)), "is read"),
        (Config(64, 128, 1, split_k=3), problem_of(512, 511, 512, BFloat16), "finishes no whole rows"),
    ],
)
def test_what_is_not_stored_by_lines_is_refused(config, problem, words):
    with pytest.raises(LayoutError, match="store is lines, but") as caught:
        lines_of(config, problem)
    assert words in str(caught.value)


# ---- compiled ----


@pytest.mark.parametrize("epilogue", [EPILOGUES["plain"], Epilogue(0.5, -1.5, "n", Float32, 1, "gelu_tanh")], ids=str)
@pytest.mark.parametrize("out", [BFloat16, Float32], ids=str)
@pytest.mark.parametrize("config", [*CONFIGS[::5], Config(128, 120), Config(128, 128), Config(256, 64)], ids=str)
def test_lines_compile_without_spills(compiler, config, out, epilogue):
    problem = problem_of(4096, 4095, 4096, BFloat16, out=out, epilogue=epilogue)
    plan = plan_of(config, problem, (True, True), ALIGNED, H200)
    if plan.store == "singles":
        pytest.skip("C of 32 bits is not read beside so many sums")
    plan = plan.replace(store="lines")
    program = plan.compile("sm_90a")
    report = program.report[plan.name]
    assert (report.spill_bytes, report.stack_bytes) == (0, 0)
    assert "C75" not in program.log, "the compiler serialises wgmma or ignores setmaxnreg"
    assert "st.global.v4.b32" in program.ptx
