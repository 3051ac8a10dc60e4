"""Signatures of public functions that are written in Python: real types, which a type checker and help() show."""

from __future__ import annotations

import importlib
import inspect

import pytest

pytest.importorskip("torch", reason="tilewright.torch is among what is looked at")

NAMESPACES = (
    *("tilewright", "tilewright.analysis", "tilewright.cute", "tilewright.cute.arch", "tilewright.cute.runtime"),
    *("tilewright.cute.nvgpu.warpgroup", "tilewright.kernels", "tilewright.torch"),
)
# Nested tuples of anything, and what a function that is passed makes of them, have no narrower type.
OF_ANY_LEAF = {"transform_leaf", "static"}


def functions():
    """Each public function, method and property but those of the core, with its name."""
    for space in NAMESPACES:
        module = importlib.import_module(space)
        for name in module.__all__:
            x = getattr(module, name)
            origin = str(getattr(x, "__module__", ""))
            if not origin.startswith("tilewright") or origin.startswith("tilewright._core") or inspect.ismodule(x):
                continue
            if inspect.isclass(x):
                for method, value in vars(x).items():
                    if inspect.isfunction(getattr(value, "__func__", value)) and not method.startswith("_"):
                        yield f"{name}.{method}", getattr(value, "__func__", value)
            elif callable(x):
                yield name, x
                for beside in ("plan", "tune", "calibrate"):
                    if hasattr(x, beside):
                        yield f"{name}.{beside}", getattr(x, beside)


FUNCTIONS = dict(functions())


def test_there_are_many():
    assert len(FUNCTIONS) > 100
    some = "gemm.plan gemm.tune gemm.calibrate tiled_copy.plan transpose visualize_tv matmul jit"
    assert set(some.split()) <= set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_annotations_are_types(name):
    signature = inspect.signature(FUNCTIONS[name])
    annotations = {x.name: x.annotation for x in signature.parameters.values() if x.name not in ("self", "cls")}
    annotations["return"] = signature.return_annotation
    assert inspect.Parameter.empty not in annotations.values()
    plain = [each for each, annotation in annotations.items() if annotation in ("Any", "Any | None")]
    assert plain == [] or name in OF_ANY_LEAF


PROGRAM = """
import numpy as np
from tilewright import Float32, Int32, analysis, cute, kernels

a = np.zeros((8, 8), np.float32)
reveal_type(kernels.gemm.plan(a, a, stages=3))
reveal_type(kernels.gemm.tune(a, a))
reveal_type(kernels.gemm.calibrate(seconds=60))
reveal_type(kernels.tiled_copy.plan(a, a))
reveal_type(kernels.visualize_tv(a, cute.parse("8:1")))
reveal_type(analysis.analyze(cute.parse("8:1"), Float32))
reveal_type(cute.make_tensor(0, (2, 3)))
reveal_type(cute.make_rmem_tensor((2, 3), Float32).load())

c: np.ndarray = kernels.gemm(a, a)
d: np.ndarray = kernels.transpose(a)
e: int = kernels.permute(a, (1, 0))
kernels.gemm(a, a, alfa=2)
kernels.gemm.plan(a, a, stagess=2)
kernels.gemm.calibrate(second=60)
kernels.gemm(3, a)
cute.copy(a, a)
cute.make_tiled_mma(3)
"""


def test_a_type_checker_knows_them(tmp_path):
    mypy = pytest.importorskip("mypy.api")
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    out, _, _ = mypy.run([str(file), "--cache-dir", str(tmp_path / "cache"), "--no-pretty"])
    lines = out.splitlines()
    revealed = [line.rpartition("Revealed type is ")[2].strip('"') for line in lines if "Revealed" in line]
    ends = ["CompositeGemm"] * 2 + ["Calibrated]", "CopyPlan", "ThreadValues", "Analysis", "Tensor", "TensorSSA"]
    assert [each.rpartition(".")[2] for each in revealed] == ends
    wrong = [int(line.split(":")[1]) for line in lines if ": error: " in line]
    first = PROGRAM.splitlines().index("e: int = kernels.permute(a, (1, 0))") + 1
    assert sorted(set(wrong)) == list(range(first, first + 7))
