"""The examples whose speed is the memory's: right for all lengths, by wide accesses, without conflicts or spills."""

from __future__ import annotations

import re
import runpy

import pytest

from places import ROOT
from tilewright import cute

torch = pytest.importorskip("torch")

ROWS = runpy.run_path(str(ROOT / "examples/rows.py"))
OPS = [ROWS["softmax"], ROWS["rms_norm"], ROWS["layer_norm"]]
TRANSPOSE = runpy.run_path(str(ROOT / "examples/transpose.py"))


def aligned(*tensors):
    return [cute.runtime.from_dlpack(x, assumed_align=16) for x in tensors]


def rows_are_right(op, m, n, dtype, tolerance):
    src = torch.randn(m, n).to(dtype)
    dst = torch.full_like(src, float("nan"))
    with cute.on_cpu(check=True):
        ROWS["rows"](op, *aligned(src, dst))
    torch.testing.assert_close(dst.double(), ROWS["expected"](op, src), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("n", [1 << i for i in range(10, 18)])
def test_rows_of_all_lengths(n):
    for op in OPS if n in (1024, 8192, 65536) else OPS[:1]:
        rows_are_right(op, 3 if n < 1 << 16 else 1, n, torch.bfloat16, 1e-2)


@pytest.mark.parametrize(("m", "n"), [(1, 1), (9, 3), (130, 4), (2, 1000), (5, 2050), (1, 5001), (1, 80004)])
def test_rows_of_any_length(m, n):
    """Among them: fewer threads than a warp, rows that end inside of the last accesses, and one that nothing holds."""
    rows_are_right(OPS[n % 3], m, n, torch.float32, 1e-5)


def test_softmax_of_what_is_not_finite():
    src = torch.randn(5, 1000)
    src[1], src[2, :900], src[3, 5], src[4, 7] = -torch.inf, -torch.inf, torch.nan, torch.inf
    dst = torch.zeros_like(src)
    ROWS["rows"](OPS[0], *aligned(src, dst))
    torch.testing.assert_close(dst.double(), torch.softmax(src.double(), 1), rtol=1e-5, atol=1e-6, equal_nan=True)


def test_rows_that_are_far_apart_and_whose_number_is_dynamic():
    src, dst = torch.randn(6, 1030), torch.zeros(6, 1030)
    with cute.on_cpu(check=True):
        for m in (6, 3):
            given = [x[:m, :1024] for x in (src, dst)]
            ROWS["rows"](OPS[0], *aligned(*given))
            torch.testing.assert_close(given[1].double(), ROWS["expected"](OPS[0], given[0]), rtol=1e-5, atol=1e-5)
            assert (dst[:, 1024:] == 0).all()
    x, y = (x[:, :1024].contiguous() for x in (src, dst))
    dynamic = [x.mark_compact_shape_dynamic(0) for x in aligned(x, y)]
    compiled = cute.compile(ROWS["rows"], OPS[1], *dynamic)
    compiled(*dynamic)
    torch.testing.assert_close(y.double(), ROWS["expected"](OPS[1], x), rtol=1e-5, atol=1e-5)
    fewer = [x.mark_compact_shape_dynamic(0) for x in aligned(x[:5], y[:5].fill_(0))]
    compiled(*fewer)
    torch.testing.assert_close(y.double(), ROWS["expected"](OPS[1], x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("op", OPS[1:])
def test_weight_and_bias(op):
    src, weight, bias = torch.randn(3, 520), torch.randn(520), torch.randn(520)
    dst = torch.full_like(src, float("nan"))
    ROWS["rows"](op, *aligned(src, dst, weight, bias))
    torch.testing.assert_close(dst.double(), ROWS["expected"](op, src, weight, bias), rtol=1e-5, atol=1e-5)
    ROWS["rows"](op, *aligned(src, dst, weight))
    torch.testing.assert_close(dst.double(), ROWS["expected"](op, src, weight), rtol=1e-5, atol=1e-5)


def test_rows_that_cannot_be_read_asynchronously():
    x = torch.zeros(2, 7, dtype=torch.bfloat16)
    with pytest.raises(ValueError, match="rows begin at multiples of 2 bytes"):
        ROWS["rows"](OPS[0], *aligned(x, x.clone()))
    with pytest.raises(ValueError, match="length and stride of rows have to be static"):
        ROWS["rows"](OPS[0], torch.zeros(2, 8), torch.zeros(2, 8))


@pytest.mark.parametrize("n", [1024, 16384, 131072])
@pytest.mark.usefixtures("compiler")
def test_the_machine_code_of_rows(n):
    """One read of 16 bytes for each 8 elements, at most 64 registers, no spills; a bf16 becomes a float by one move."""
    x = torch.zeros(2, n, dtype=torch.bfloat16)
    compiled = cute.compile(ROWS["rows"], OPS[0], *aligned(x, x.clone()))
    assert compiled.registers <= 64
    assert compiled.spills == 0
    ptx = compiled.ptx
    parts = max(8, n >> 13)
    wide = len(re.findall(r"cp\.async\.cg\.shared\.global \[.*\], 16", ptx)), len(re.findall(r"ld\.global\.v4", ptx))
    assert sum(wide) == parts
    assert len(re.findall(r"st\.global\.v4", ptx)) == parts
    assert ptx.count("shl.b32") < 16
    assert "div.rn.f32" not in ptx


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("kind", TRANSPOSE["LAYOUTS"])
def test_the_conflicts_of_a_transpose(kind, dtype):
    src = torch.randn(256, 128).to(dtype)
    dst = torch.empty(128, 256, dtype=dtype)
    profile = cute.profile(TRANSPOSE["transpose"], *aligned(src, dst), kind)
    assert all(line.sectors == line.ideal_sectors for line in profile.lines)
    ways = [line.wavefronts / line.ideal_wavefronts for line in profile.lines if line.ideal_wavefronts]
    assert ways == ([1, 1] if kind != "plain" else [1, 8])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.usefixtures("compiler")
def test_a_transpose_moves_16_bytes_at_a_time(dtype):
    x = torch.zeros(256, 256, dtype=dtype)
    compiled = cute.compile(TRANSPOSE["transpose"], *aligned(x, x.clone()), "swizzled")
    counts = [len(re.findall(rf"{name}\.v4", compiled.ptx)) for name in (r"ld\.global", r"st\.shared", r"st\.global")]
    assert counts == [2 * dtype.itemsize] * 3
    assert compiled.spills == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_at_any_address_are_moved_16_bytes_at_a_time(dtype):
    """But for the access in which the source's memory ends, and the ends of the destination's rows."""
    src = torch.zeros(511, 513, dtype=dtype)
    dst = torch.empty(513, 511, dtype=dtype)
    profile = cute.profile(TRANSPOSE["transpose"], *aligned(src, dst), "swizzled")
    of_global = [line for line in profile.lines if line.sectors]
    load, last, store, ends = [line.bytes for line in of_global]
    assert [line.bytes / line.request_lanes for line in of_global] == [16, dtype.itemsize] * 2
    assert last == 2 * (src.numel() * dtype.itemsize % 16)  # read, and put into shared memory
    assert store + ends == src.numel() * dtype.itemsize
    assert ends <= 2 * 31 * 513
    assert load <= 1.7 * src.numel() * dtype.itemsize  # rows and columns that several blocks load


@pytest.mark.parametrize(("m", "n"), [(1, 1), (3, 130), (66, 62), (100, 260)])
def test_a_transpose_of_any_size(m, n):
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        for kind in TRANSPOSE["LAYOUTS"]:
            src = torch.randn(m, n).to(dtype)
            dst = torch.full((n, m), float("nan")).to(dtype)
            with cute.on_cpu(check=True):
                TRANSPOSE["transpose"](*aligned(src, dst), kind)
            torch.testing.assert_close(dst, src.T, rtol=0, atol=0)
