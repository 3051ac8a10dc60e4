"""The programs in examples/ give torch's results on the CPU, with every access checked."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from compiling import nvrtc
from places import ROOT
from tilewright import cute

torch = pytest.importorskip("torch")

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PARTS = {path.parent.name for path in (ROOT / "examples").glob("*/*.py")}  # folders of what several programs share


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


@pytest.mark.parametrize("path", [*EXAMPLES, *(ROOT / "examples").glob("*/*.py")], ids=lambda path: path.stem)
def test_no_file_is_long(path):
    """A program under 400 lines reads like its paper."""
    assert len(path.read_text().splitlines()) < 400


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_profiled(path):
    """The site's pages show this; what mends a line is something else than the line as it stands."""
    function, *arguments = runpy.run_path(str(path))["problem"]("cpu")
    profile = cute.profile(function, *arguments)
    files = {line.file for line in profile.lines}
    assert str(path) in files or "from tilewright.examples" in path.read_text()  # one may be made of others
    assert {Path(file).parent.name for file in files} <= {"examples", *PARTS}
    assert profile.total.executed > 0
    assert not any("Swizzle<0" in line.hint for line in profile.worst)


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


@nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("orders", ["kk", "kn", "mk", "mn"])
def test_the_gemm_by_tensor_cores_multiplies_between_registers(arch, orders):
    """Of the warps' tiles all products are in the main loop, between fragments that ldmatrix brings a step ahead."""
    program = runpy.run_path(str(ROOT / "examples" / "gemm_mma_sync.py"))
    stages = program["STAGES"]
    a, b, c = (torch.empty(4096, 4096, dtype=torch.bfloat16) for _ in range(3))
    operands = (a if orders[0] == "k" else a.T, b if orders[1] == "k" else b.T, c)
    tensors = [cute.runtime.from_dlpack(x, assumed_align=16) for x in operands]
    compiled = cute.compile(program["gemm"], *tensors, options=f"--gpu-arch {arch}")
    assert compiled.spills == 0
    assert compiled.registers <= 244  # gemm_sm80's plan for this problem takes 230 to 238
    ptx = compiled.ptx
    assert ptx.count("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") == 2 * 4 * 8
    # Four of A and four of B for a step: both of the loop, and one before it.
    transposed = 12 * (2 - orders.count("k"))
    assert ptx.count("ldmatrix.sync.aligned.m8n8.x4.shared") == 24 - transposed
    assert ptx.count("ldmatrix.sync.aligned.m8n8.x4.trans.shared") == transposed
    assert ptx.count("cp.async.cg") == stages * (2 + 4)


@nvrtc
@pytest.mark.parametrize("orders", ["kk", "kn", "mk", "mn"])
@pytest.mark.parametrize("name", ["gemm_wgmma", "gemm_tma_wgmma"])
def test_the_gemms_by_wgmma_keep_the_tensor_cores_busy(name, orders):
    """One stage's instructions follow each other in the main loop, sums stay in registers, nothing is serialised."""
    program = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
    a, b, c = (torch.empty(4096, 4096, dtype=torch.bfloat16) for _ in range(3))
    a, b = (x if order == "k" else x.T for x, order in zip((a, b), orders, strict=True))
    tensors = [cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b, c)]
    clusters = [66] if name == "gemm_tma_wgmma" else []
    compiled = cute.compile(program["gemm"], *tensors, *clusters, options="--gpu-arch sm_90a")
    (kernel,) = compiled.kernels
    assert compiled.spills == 0
    assert "serialized" not in kernel.binary.log
    assert compiled.ptx.count("wgmma.mma_async.sync") == 4  # 64 elements along K
    assert compiled.ptx.count("wgmma.wait_group") == 2
    assert compiled.registers <= 168
