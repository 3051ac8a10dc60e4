"""The script that measures random shapes: what it draws, how tensors lie, what it counts."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

import gemm_random
from gemm_random import RandomBench, case_of
from gemm_random_shapes import ALONG_K, DRAWS, MOST, TYPES, Shape, shapes
from tilewright import BFloat16
from tilewright.kernels.common.ahead import kernels_of


@pytest.mark.parametrize("name", TYPES)
def test_a_seed_draws_the_same_shapes_again(name):
    found = shapes("2026-11-28", name, 300)
    assert found == shapes("2026-11-28", name, 300)
    assert found[:100] == shapes("2026-11-28", name, 100)
    assert found != shapes("2026-11-29", name, 300)
    assert len(set(shapes("2026-11-28", name, 2000))) == 2000  # also where few shapes are taken
    assert len(set(found)) == 300
    assert {x.kind for x in found} == {*DRAWS}
    assert sum(x.kind == "any" for x in found) == 80
    assert all(768 <= x.m == x.n == x.k <= 10_000 + 128 for x in found if x.kind == "square")
    assert all(x.k >= 4096 and max(x.m, x.n) <= 768 for x in found if x.kind == "long K")
    size = TYPES[name].bits // 8
    assert all(x.m * (x.k + x.pad) * size <= MOST[0] for x in found)
    if name in ALONG_K:
        assert all(x.m % 16 == x.n % 16 == x.k % 16 == x.pad == x.offset == 0 for x in found)
    else:
        assert {x.b for x in found} == {*"kn"}
        assert any(x.k % 2 for x in found)
        assert any(x.pad for x in found)
        assert any(x.offset for x in found)


def test_the_problem_lies_as_the_name_says():
    problem, alignments = Shape("any", 64, 48, 32, "n", pad=8, offset=2).problem(BFloat16)
    assert (problem.a_strides, problem.b_strides, problem.c_strides) == ((40, 1), (1, 56), (48, 1))
    assert alignments == (4, 4, 256)
    assert Shape("any", 64, 48, 32, "n", pad=8, offset=2).name == "64x48x32 kn +8 at 2"
    assert Shape("square", 64, 64, 64).problem(BFloat16)[1] == (256, 256, 256)


@pytest.mark.parametrize("shape", [Shape("any", 33, 40, 35), Shape("any", 33, 40, 35, "n", 8, 4)])
def test_tensors_lie_as_the_problem_says(shape):
    options = SimpleNamespace(dry=True)
    bench = RandomBench(options, None)
    a, b, c = (x[1] for x in bench.operands(case_of("bf16", shape, False), 2))
    problem, alignments = shape.problem(BFloat16)
    for x, strides, rows, columns, aligned in (
        (a, problem.a_strides, 33, 35, alignments[0]),
        (b, problem.b_strides, 40, 35, alignments[1]),
        (c, problem.c_strides, 33, 40, alignments[2]),
    ):
        assert (x.shape, x.stride()) == ((rows, columns), strides)
        assert x.storage_offset() * 2 % 512 == (shape.offset * 2 if x is not c else 0)
        assert aligned % 4 == 0
    assert a.float().std() == pytest.approx(1, rel=0.2)


def test_kernels_are_counted_once_each():
    found = shapes("2026-11-28", "bf16", 40)
    kernels, bounds, plans = gemm_random.count("bf16", found)
    assert len(plans) == 40 == sum(bounds.values())
    assert {one.name for one in kernels.values()} == {one.name for one in kernels_of(plans)}
    (every, first), *left = gemm_random.left_without(kernels.values())
    assert every == "all"
    assert len(kernels) / 2 < first <= len(kernels)
    numbers = [first, *(n for _, n in left)]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[-1] == 1
    assert {"ragged end", "tile", "stages", "kernel"} <= {name for name, _ in left}


def test_plans_and_a_dry_run(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", ["gemm_random.py", "--plans", "--count", "10", "--types", "fp32,int8"])
    assert gemm_random.main() == 0
    said = capsys.readouterr().out
    assert re.findall(r"## (\w+)", said) == ["fp32", "int8"]
    assert re.search(r"\d+ kernels \(sm90 \d+\) for 10 plans; at most 40: yes", said)
    monkeypatch.setattr(gemm_random, "MOST_KERNELS", 3)
    assert gemm_random.main() == 1
    words = ["gemm_random.py", "--dry", "--count", "5", "--types", "fp16", "--seed", "a", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", words)
    assert gemm_random.main() == 0
    (result,) = tmp_path.glob("gemm_random-*.md")
    assert "5 shapes a type by seed a" in result.read_text()
    assert "Cases failed: none." in result.read_text()


def test_what_is_measured_is_summed_up(capsys):
    """Ratios of a made-up race: the limits of issue 24, and the worst first."""
    lines = []
    bench = SimpleNamespace(missed=[], failed=[], options=SimpleNamespace(dry=False, listed=False))
    found = shapes("s", "bf16", 25)
    ratios = {shape.name: 1.3 for shape in found} | {found[7].name: 0.8}

    def run(case):
        name = f"{found[len(lines_run)].name}"
        lines_run.append(name)
        times = {"tilewright": SimpleNamespace(over=lambda rival: (ratios[name], 0, 0), median=1e-5), "cuBLAS": True}
        plan = SimpleNamespace(tiler_mnk=(1, 2, 3), kernel_name="sm90", why=lambda: [SimpleNamespace(bound="L2")])
        return {"timings": times, "errors": {"tilewright": 1.05, "cuBLAS": 1.0}, "plan": plan}

    lines_run = []
    bench.run = run
    report = SimpleNamespace(add=lambda *said: lines.extend(said))
    gemm_random.measure(bench, "bf16", found, report)
    text = "\n".join(lines)
    assert "| share that reaches 0.97 | 0.960 | 0.92 | yes |" in text
    assert "| share that reaches 0.85 | 0.960 | 1 | **no** |" in text
    assert "| least | 0.800 | 0.85 | **no** |" in text
    assert "| largest error / cuBLAS's | 1.05 | 1.1 | yes |" in text
    rows = [line for line in lines if line.startswith(f"| {found[7].name}")]
    assert rows == [f"| {found[7].name} | {found[7].kind} | 0.800 | 10 | 1.05 | sm90 1x2x3 | L2 |"]
    assert lines.index(rows[0]) == min(i for i, line in enumerate(lines) if line.endswith("| L2 |"))
    assert bench.missed == ["bf16: share that reaches 0.85 0.960 of 1", "bf16: least 0.800 of 0.85"]
