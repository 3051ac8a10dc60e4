"""The programs in examples/ give torch's results on the CPU, with every access checked."""

from __future__ import annotations

import runpy

import pytest

from compiling import nvrtc
from places import ROOT
from tilewright import cute

torch = pytest.importorskip("torch")

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_some():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_right(path):
    with cute.on_cpu(check=True):
        runpy.run_path(str(path))["check"]("cpu")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_what_to_learn_and_has_a_picture(path):
    program = runpy.run_path(str(path))
    assert "What to learn: " in program["__doc__"]
    assert "<svg" in cute.show(cute.parse(program["PICTURE"])).svg()


@nvrtc
@pytest.mark.parametrize(("order", "bytes_"), [("m", 16), ("k", 4)])
def test_the_pipelined_gemm_multiplies_between_registers(order, bytes_):
    """All products are in the main loop, of fragments that 16-byte loads bring; nothing goes to local memory."""
    program = runpy.run_path(str(ROOT / "examples" / "pipelined_gemm.py"))
    stages, (_, _, steps) = program["STAGES"], program["TILE"]
    a, c = (torch.empty(4096, 4096) for _ in range(2))
    tensors = [cute.runtime.from_dlpack(x, assumed_align=16) for x in (a if order == "k" else a.T, a.T, c)]
    compiled = cute.compile(program["gemm"], *tensors)
    assert compiled.spills == 0
    assert compiled.registers <= 255
    ptx = compiled.ptx
    assert ptx.count("fma.rn.f32") == steps * 8 * 16
    assert ptx.count("ld.shared") == ptx.count("ld.shared.v4.f32") == (steps + 1) * (8 + 16) // 4
    # In each stage, a thread has 8 elements of A and 8 of B, which come 4 at a time: before the loop and in it.
    copies = stages * (8 * 4 // bytes_ + 2)
    assert ptx.count("cp.async.c") - ptx.count("cp.async.commit") == copies
