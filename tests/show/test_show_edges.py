"""Pictures of what is large, odd, empty or wrong; and what a notebook shows where there is no picture."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tilewright._notebook as notebook
from tilewright import Float16, LayoutError, _core, analysis, cute, kernels

L = cute.parse


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("(64,64):(1000000007,12345678901)", "64 x 64 elements, offsets 0 to 840777771204, none twice"),
        ("(31623,31623):(7,5)", "31623 x 31623 elements, offsets 0 to 379464, some more than once"),
        ("(100000,3):(1000000007,500000011)", "100000 x 3 elements, offsets 0 to 100000000700015, none twice"),
        ("(2,2):(1@0,1@1) o 0 o (2,2):(1,2)", "2 x 2 elements"),
        ("4611686018427387904:1", "4611686018427387904 elements, offsets 0 to 4611686018427387903, each once"),
    ],
)
def test_layouts_that_cannot_be_counted_are_drawn(text, facts):
    start = time.perf_counter()
    picture = cute.show(L(text))
    assert len(picture.svg()) < 200_000
    assert time.perf_counter() - start < 1
    assert _core.picture.facts(L(text)) == facts


def test_a_thread_value_layout_of_many_is_summarised():
    start = time.perf_counter()
    picture = cute.show(L("(100000,1000):(1000,1)"), tile=(10000, 10000))
    assert len(picture.svg()) < 200_000
    assert time.perf_counter() - start < 1
    assert picture.notes[0].startswith("the tile is not drawn: 100000000 threads and values")
    (placed,) = picture.panels
    assert placed.panel.cells[-1].lines[0] == "99999999"  # the last value of the last thread


def test_owners_of_a_part_are_those_of_the_whole():
    tv, tile = L("((4,8),(2,3)):((2,24),(1,8))"), (16, 16)
    whole, part = _core.picture.owners_of(tv, tile), _core.picture.owners_of(tv, tile, {0, 3, 25, 200})
    assert part == {index: whole[index] for index in (0, 3, 25) if index in whole}
    twice = L("(4,2):(0,1)")
    assert _core.picture.owners_of(twice, (2,)) == {v: [(t, v) for t in range(4)] for v in range(2)}
    indices = _core.picture.indices_of(twice, (2,))
    assert _core.picture.coverage(indices, 3) == "1 of 3 elements with nobody, 2 with several"
    basis = L("(4,2):(1@0,1@1)")
    assert _core.picture.indices_of(basis, (4, 2)) == [0, 4, 1, 5, 2, 6, 3, 7]


@pytest.mark.parametrize(
    ("error", "says", "options"),
    [
        (LayoutError, "the extents of a tile must be at least 1", {"tile": (0, 4)}),
        (LayoutError, "the extents of a tile must be at least 1", {"tile": (-8, 8)}),
        (TypeError, "expected tile to be a shape, a Layout or a Tensor, not 'x'", {"tile": "x"}),
        (ValueError, r"color=\(0, 0\) names no mode of \(8,8\)", {"color": (0, 0)}),
        (ValueError, r"color=-1 names no mode", {"color": -1}),
        (ValueError, "most must be a whole number", {"most": 1}),
        (ValueError, "most must be a whole number", {"most": "x"}),
        (TypeError, "expected at to be a coordinate", {"at": "x"}),
        (TypeError, "expected base to be an address", {"dtype": Float16, "base": "x"}),
    ],
)
def test_options_that_are_none(error, says, options):
    with pytest.raises(error, match=f"show.*{says}"):
        cute.show(L("(8,8):(8,1)"), **options)


def test_arrays_are_drawn_as_their_tensors():
    array = np.arange(12.0).reshape(3, 4)
    assert cute.show(array) == cute.show(cute.from_dlpack(array))
    with pytest.raises(LayoutError, match=r"show: .*has no elements"):
        cute.show(np.zeros((0, 4)))


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.uint8, bool])
def test_elements_are_read_where_they_lie(dtype):
    array = np.arange(48).reshape(6, 8).astype(dtype)[::-2, 1:7:2]
    cells = cute.show(array).panels[0].panel.cells
    assert [cell.lines[0] for cell in cells] == [f"{x:.4g}" if dtype is np.float16 else str(int(x)) for x in array.flat]


def test_a_picture_of_a_tensor_is_quick():
    tensor = cute.from_dlpack(np.random.default_rng(0).random((64, 64), np.float32))
    best = 1.0
    for _ in range(5):
        start = time.process_time()
        assert len(cute.show(tensor).svg()) < 200_000
        best = min(best, time.process_time() - start)
    assert best < 0.1  # 0.04 alone on the machine


def test_threads_of_python_get_the_same():
    """Pictures, analyses and searches made at the same time by eight threads."""

    def work(_):
        made = cute.show(L("(16,32):(32,1)"), color="mode"), analysis.analyze(L("(64,8):(8,1)"), Float16)
        best = analysis.suggest_swizzle(L("(64,32):(32,1)"), L("(32,8):(1@0,1@1)"), dtype=Float16)[0]
        return (*(x.svg() for x in made), str(best))

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(work, range(32)))) == 1


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_gemm_with_no_k_is_drawn(dtype, arch):
    plan = kernels.gemm.plan(np.zeros((128, 0), dtype), np.zeros((96, 0), dtype), arch=arch)
    assert "A (128,0):" in cute.show(plan).notes[0]
    assert plan.svg().startswith("<svg")
    assert all("load" not in x.op for x in plan.analyze() if x.memory == "global")


def test_a_notebook_shows_text_where_a_picture_fails(monkeypatch):
    """Whatever goes wrong: an error of a display hook hides the object that somebody asked for."""

    def fail(x):
        raise IndexError("a defect")

    shown = (
        L("(4,8):(8,1)"),
        analysis.analyze(L("32:1"), Float16),
        kernels.tiled_copy.plan(np.zeros((8, 8)), np.zeros((8, 8))),
        kernels.visualize_tv(np.arange(24), L("((2,2),(2,3)):((2,12),(1,4))")),
    )
    assert all(x._repr_html_() for x in shown)
    monkeypatch.setattr(notebook, "_picture", fail)
    monkeypatch.setattr("tilewright.show.analysis.report.picture", fail)
    assert [x._repr_html_() for x in shown] == [None] * len(shown)
    assert L("4:1")._repr_html_() is None
    assert notebook.or_text(fail)(3) is None


def test_what_may_be_drawn_of_huge_operands_has_a_limit():
    with pytest.raises(ValueError, match=r"most must be .* at least 2 and at most 512, not 100000"):
        cute.show(L("(100000,100000):(1,1)"), most=100_000)
    drawn = cute.show(L("(100000,100000):(1,1)"))
    assert len(drawn.svg()) < 200_000
    assert "63 x 63 of 100000 x 100000" in drawn.text(color=False)
