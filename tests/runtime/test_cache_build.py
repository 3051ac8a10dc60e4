"""`cache build`: what it compiles is what launches ask for, once, and a launch then compiles nothing."""

from __future__ import annotations

import json
import time
from types import SimpleNamespace

import pytest

import test_driver
from compiling import nvrtc
from test_launch_driver import MISSING, PLANS
from tilewright import _core, kernels
from tilewright.__main__ import main
from tilewright.explore.workload import problems_of_word
from tilewright.kernels.common import ahead
from tilewright.runtime import compiler
from tilewright.runtime.cache import Cache, default_cache

fake = test_driver.fake

LAUNCHED = (
    PLANS.replace("launch.functions_of = functions_of", "# ")
    + """
load()
import tilewright.runtime.nvrtc as nvrtc

def compiled_by(*arguments):
    raise AssertionError("a launch compiles")

nvrtc.compiled_by = compiled_by
Array = library(77)
for m, n, k in ((256, 512, 128), (777, 1030, 4097)):
    kernels.gemm(Array(m, k), Array(n, k), Array(m, n))
print(kernels_of(driver_calls()))
"""
)
SHAPES = ["256x512x128,f32", "777x1030x4097,f32"]


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEWRIGHT_CACHE_SIZE", raising=False)
    monkeypatch.setattr(_core.cuda, "driver_path", lambda: None)
    compiler.forget()
    yield tmp_path / "cache"
    compiler.forget()


@pytest.fixture
def compiled(monkeypatch):
    """The plans that would be compiled, in their order; nothing is."""
    found = []

    def compile_plan(plan, arch):
        assert arch == "sm_90a"
        key = f"{len(found):064x}"
        default_cache().put(key, {"cubin": b"code"})
        found.append(plan)
        monkeypatch.setattr(type(plan), "compiled", lambda plan, arch: SimpleNamespace(key="0" * 64))
        return SimpleNamespace(from_cache=None)

    monkeypatch.setattr(ahead, "compile_plan", compile_plan)
    return found


def build(*words):
    return main(["cache", "build", "--arch", "sm_90a", *words])


@nvrtc
def test_a_launch_finds_what_was_built(fake, folder, tmp_path, capsys):
    """The keys are those that a launch on a GPU of the architecture asks for; in one's own folder or a shared one."""
    assert build("--for", *SHAPES) == 0
    said = capsys.readouterr().out
    assert "3 compiled, 0 were there already" in said
    for own, shared in ((folder, ""), (tmp_path / "other", str(folder))):
        environment = {"TILEWRIGHT_CACHE_DIR": str(own), "TILEWRIGHT_CACHE_PATH": shared, **MISSING}
        assert test_driver.run(fake, LAUNCHED, **environment).count("gemm_simt") == 2
    compiler.forget()
    assert build("--for", *SHAPES) == 0
    assert "0 compiled, 3 were there already" in capsys.readouterr().out
    default_cache().clear()
    with pytest.raises(AssertionError, match="a launch compiles"):
        test_driver.run(fake, LAUNCHED, TILEWRIGHT_CACHE_DIR=str(folder), **MISSING)


def test_each_kernel_is_compiled_once(compiled, capsys):
    assert build("--for", "512x512x512,bf16", "512x512x512,bf16", "512x512x512,f16") == 0
    assert len({(type(x), x.name) for x in compiled}) == len(compiled) == 2
    assert "as planned for NVIDIA H200: plans 2, kernels 2" in capsys.readouterr().out


def test_what_is_stopped_keeps_what_was_compiled(compiled, monkeypatch, capsys):
    compile_plan = ahead.compile_plan

    begun = []

    def stopped(plan, arch):
        begun.append(plan)
        if len(begun) == 2:
            raise KeyboardInterrupt
        time.sleep(0.1)
        return compile_plan(plan, arch)

    monkeypatch.setattr(ahead, "compile_plan", stopped)
    assert build("--jobs", "1", "--for", "1..4096x4096x4096,bf16") == 130
    assert 1 <= len(compiled) <= 3  # of about ten
    assert len(default_cache().list()) == len(compiled)
    assert "stopped; what was compiled is kept" in capsys.readouterr().err


def test_what_cannot_be_compiled_does_not_stop_the_rest(compiled, monkeypatch, capsys):
    compile_plan = ahead.compile_plan

    def refusing(plan, arch):
        if plan.kernel_name == "simt":
            raise RuntimeError("no room\nfor it")
        return compile_plan(plan, arch)

    monkeypatch.setattr(ahead, "compile_plan", refusing)
    assert build("--for", "512x512x512,f32", "512x512x512,bf16") == 1
    assert len(compiled) == 1
    captured = capsys.readouterr()
    assert "1 compiled, 0 were there already" in captured.out
    assert captured.err.rstrip().endswith(": no room")


def test_what_is_not_kept_is_said(compiled, monkeypatch, capsys):
    monkeypatch.setattr(Cache, "put", lambda self, key, sections: False)
    assert build("--for", "512x512x512,f32") == 1
    assert "1 could not be kept: the folder holds 512 MiB (TILEWRIGHT_CACHE_SIZE)" in capsys.readouterr().err


def test_files_of_plans(compiled, tmp_path, capsys):
    problems = [{"m": 512, "n": 256, "k": 64, "dtype": "bf16", "b": "n", "bias": "n", "activation": "relu"}]
    (tmp_path / "gemms.json").write_text(json.dumps(problems))
    (tmp_path / "plans.py").write_text(
        "import numpy\nfrom tilewright import kernels\na = numpy.zeros((64, 64), numpy.float32)\n"
        "plans = [kernels.tiled_copy.plan(a, a.T.copy().T)]\n"
    )
    assert build("--plans", str(tmp_path / "gemms.json"), "--plans", str(tmp_path / "plans.py")) == 0
    copy, gemm = sorted(compiled, key=lambda plan: plan.kernel_name != "tiled_copy")
    assert (copy.kernel_name, gemm.kernel_name) == ("tiled_copy", "sm90")
    problem = gemm.problem.swapped() if gemm.swapped else gemm.problem
    assert str(problem.epilogue) == "relu(AB + bias along n of BFloat16)"
    assert problem.b_strides == (1, 256)


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--for", "512x512,bf16"], 2, "'512x512' is no M x N x K; write three extents, such as 4096x4096x4096"),
        (["--for", "512x512x512"], 2, "dtype is missing, such as bf16"),
        (["--for", "512x512x512,bf61"], 2, "there is no element type 'bf61'"),
        (["--for", "512x512x512,bf16,bais=n"], 2, "there is no 'bais'; there are m, n, k, dtype"),
        (["--for", "512x512x512,i32"], 2, "no GEMM multiplies elements of Int32"),
        (["--for", "0x512x512,bf16"], 2, "'0' is no extent; write a number, or a range such as 1..4096"),
        (["--for", "512x512x512,bf16,a=n"], 2, "a is 'n', but it must be 'k' or 'm'"),
        (["--for", "hidden=4096,bf16"], 2, "hidden alone makes no product; add intermediate=..."),
        (["--for", "intermediate=4096,bf16"], 2, "a model has a size hidden=..."),
        (["--plans", "/no such/file.json"], 1, "cannot read /no such/file.json: No such file or directory"),
        (["--plans", "/no such/file.py"], 1, "cannot read /no such/file.py: No such file or directory"),
        (["--for", "8x8x8,f32", "--jobs", "0"], 2, "--jobs 0: it must be at least 1"),
        (["--for", "8x8x8,f32", "--arch", "sm_90"], 2, "--arch sm_90: it must be one of sm_75,"),
        (["--fro", "8x8x8,f32"], 2, "there is no option --fro. Did you mean: '--for'?"),
        ([], 2, "say what to compile: --for 4096x4096x4096,bf16 or --plans FILE"),
    ],
)
def test_errors_say_what_to_give(words, status, said, capsys):
    assert build(*words) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert said in captured.err


def test_without_a_gpu_the_architecture_is_asked_for(capsys):
    assert main(["cache", "build", "--for", "8x8x8,f32"]) == 2
    assert "there is no GPU here whose architecture it could be; add --arch, one of sm_75" in capsys.readouterr().err


def test_without_a_cache_nothing_is_compiled(compiled, monkeypatch, capsys):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "off")
    assert build("--for", "8x8x8,f32") == 1
    assert compiled == []
    assert "the disk cache is" in capsys.readouterr().err


def test_files_that_are_no_lists(tmp_path, capsys):
    for name, text in (("a.json", "{}"), ("b.json", "["), ("c.json", '[{"m": 1}]'), ("d.py", "plan = 3")):
        (tmp_path / name).write_text(text)
        assert build("--plans", str(tmp_path / name)) == 2
        assert f"--plans {tmp_path / name}" in capsys.readouterr().err


def test_the_products_of_a_models_layers():
    model = problems_of_word("hidden=4096,intermediate=14336,heads=32,kv_heads=8,vocab=128256,bf16,tokens=16")
    assert {(p.m, p.n, p.k) for p in model} == {
        (16, 6144, 4096), (16, 4096, 4096), (16, 1024, 4096), (16, 14336, 4096), (16, 28672, 4096), (16, 4096, 14336),
        (16, 128256, 4096),
    }  # fmt: skip
    forward, data, weights = problems_of_word("hidden=8,vocab=24,f32,tokens=3,training")
    assert (forward.m, forward.n, forward.k) == (3, 24, 8)
    assert (data.m, data.n, data.k, data.b_strides) == (3, 8, 24, (1, 8))  # dx = dy W, by rows of W
    assert (weights.m, weights.n, weights.k) == (24, 8, 3)  # dW = dy^T x
    assert (weights.a_strides, weights.b_strides) == ((1, 24), (1, 8))
    assert [p.m for p in problems_of_word("3..24x8x8,f32")] == [3, 6, 12, 24]
    (odd,) = problems_of_word("8x8x8,tf32,c=m,batch=4,alpha=2,beta=1")
    assert (odd.batch, odd.c_strides, str(odd.epilogue)) == ((4,), (1, 8, 64), "2.0 AB + C")


def test_it_plans_as_kernels_gemm_does():
    import numpy

    a = numpy.zeros((512, 256), numpy.float32)
    (problem,) = problems_of_word("512x512x256,f32")
    assert kernels.gemm.plan(a, a.copy()).problem == problem
