"""visualize_tv on a GPU: what its threads read and print is what the CPU shows, the pointers apart."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core, cute, kernels
from tilewright.cute.runtime import from_dlpack

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

L = cute.parse
TV = L("((2,2),(2,3)):((2,12),(1,4))")
TYPES = ("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16",
         "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")  # fmt: skip


def noise(dtype, count=24):
    """A tensor with random bit patterns, on the CPU."""
    size = torch.empty(0, dtype=dtype).element_size()
    raw = np.random.default_rng(1).integers(0, 2 if dtype is torch.bool else 256, count * size, np.uint8)
    return torch.from_numpy(raw).view(dtype)


def relative(text):
    """The text with each pointer as its distance from the first one."""
    first = int(re.search(r"raw_ptr\(0x([0-9a-f]{16})", text)[1], 16)
    return re.sub(r"raw_ptr\(0x([0-9a-f]{16})", lambda found: f"raw_ptr({int(found[1], 16) - first}", text)


def assert_same(there, here):
    assert relative(str(there)) == relative(str(here))
    assert there.values.dtype == here.values.dtype
    np.testing.assert_array_equal(there.values, here.values)
    assert there.coordinates.tolist() == here.coordinates.tolist()
    assert there.offsets.tolist() == here.offsets.tolist()
    assert there.svg() == here.svg()
    assert there.text(color=False) == here.text(color=False)
    assert repr(there) == repr(here)


def test_program_of_the_article(capfd):
    """As the author of seed 000 ran it and printed it, the address apart."""
    a = torch.arange(24, device="cuda", dtype=torch.int32).reshape(24, 1)
    result = kernels.visualize_tv(from_dlpack(a, assumed_align=16), TV, printf=True)
    lines = ["TV Layout: ((2,2),(2,3)):((2,12),(1,4))"]
    values = [[0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11], [12, 13, 16, 17, 20, 21], [14, 15, 18, 19, 22, 23]]
    for t, (offset, row) in enumerate(zip((0x0, 0x8, 0x30, 0x38), values, strict=True)):
        lines.append(f"TIDX: {t}")
        lines.append(f"DATA: raw_ptr(0x{a.data_ptr() + offset:016x}: i32, gmem, align<8>) o ((2,3)):((1,4)) = ")
        lines.append(f"  ( {', '.join(map(str, row))} )")
    assert str(result).splitlines() == lines
    assert capfd.readouterr().out.splitlines() == lines
    assert result.values.tolist() == result.offsets.tolist() == values


@pytest.mark.parametrize("name", TYPES)
def test_the_gpu_sees_and_prints_what_the_cpu_sees(name, capfd):
    array = noise(getattr(torch, name))
    there = kernels.visualize_tv(array.cuda(), TV, printf=True)
    assert_same(there, kernels.visualize_tv(array, TV))
    assert capfd.readouterr().out == f"{there}\n"


@pytest.mark.parametrize("dtype", [tw.Float4E2M1FN, tw.Float6E2M3FN, tw.Int4, tw.TFloat32, tw.Int128])
def test_types_that_torch_lacks(dtype, capfd):
    array = noise(torch.uint8, 24 * 16)
    results = []
    for base in (array.cuda(), array):
        pointer = cute.recast_ptr(from_dlpack(base, assumed_align=16).iterator, dtype=dtype)
        results.append(kernels.visualize_tv(cute.make_tensor(pointer, 24), TV, printf=dtype is not tw.Int128))
    assert_same(*results)
    if dtype is not tw.Int128:
        assert capfd.readouterr().out == f"{results[0]}\n{results[1]}\n"


@pytest.mark.parametrize(
    ("layout", "tv_layout"),
    [
        ("(4,6):(6,1)", "(4,6):(1,4)"),
        ("(8,8):(1,8)", "((4,2),(2,4)):((16,1),(8,2))"),
        ("(4,6):(0,1)", "(4,6):(1,4)"),
        ("40:1", "(1,40):(1,1)"),
        ("S<2,0,2> o 0 o (4,4):(4,1)", "(4,4):(4,1)"),
        ("S<1,0,2> o 4 o (4,8):(8,1)", "(4,8):(1,4)"),
    ],
)
def test_layouts(layout, tv_layout, capfd):
    array = torch.arange(64, dtype=torch.float32)
    swizzle = re.match(r"S<(\d),(\d),(\d)> o (\d) o (.*)", layout)
    if swizzle:
        bits, base, shift, offset = map(int, swizzle.groups()[:4])
        layout = cute.make_composed_layout(cute.make_swizzle(bits, base, shift), offset, L(swizzle[5]))
    else:
        layout = L(layout)
    there, here = (
        kernels.visualize_tv(cute.make_tensor(from_dlpack(x).iterator, layout), L(tv_layout))
        for x in (array.cuda(), array)
    )
    assert_same(there, here)
    kernels.visualize_tv(there.tensor, L(tv_layout), printf=True)
    assert capfd.readouterr().out == f"{there}\n"


def test_misaligned_elements():
    raw = torch.arange(100, dtype=torch.uint8)
    results = []
    for base in (raw.cuda(), raw):
        pointer = cute.recast_ptr(from_dlpack(base).iterator + 3, dtype=tw.Int32)
        results.append(kernels.visualize_tv(cute.make_tensor(pointer, 24), TV))
    assert_same(*results)


def test_views_of_torch():
    array = torch.arange(480, dtype=torch.int16).reshape(8, 3, 20)
    for view in (lambda x: x[1:7:2, 1, ::3], lambda x: x.permute(2, 0, 1)[:4, :2], lambda x: x[0, 0].expand(2, 20)):
        there, here = view(array.cuda()), view(array)
        tv = cute.make_layout((here.shape[0], here.numel() // here.shape[0]))
        assert_same(kernels.visualize_tv(there, tv), kernels.visualize_tv(here, tv))


@pytest.mark.parametrize("threads", [1023, 1024, 1025, 5000])
def test_several_blocks(threads, capfd):
    array = torch.arange(threads * 2, dtype=torch.int32)
    tv = cute.make_layout((threads, 2))
    there = kernels.visualize_tv(array.cuda(), tv, printf=True)
    assert_same(there, kernels.visualize_tv(array, tv))
    assert capfd.readouterr().out == f"{there}\n"


def test_many_values_a_thread(capfd):
    array = torch.arange(256 * 400, dtype=torch.float32)
    tv = cute.make_layout((256, 400))
    there = kernels.visualize_tv(array.cuda(), tv, printf=True)
    assert_same(there, kernels.visualize_tv(array, tv))
    assert capfd.readouterr().out == f"{there}\n"


def test_cupy(capfd):
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    array = cupy.arange(24, dtype=cupy.int32)[::-1]
    there = kernels.visualize_tv(array, TV, printf=True)
    assert_same(there, kernels.visualize_tv(np.arange(24, dtype=np.int32)[::-1], TV))
    assert capfd.readouterr().out == f"{there}\n"
    with cupy.cuda.using_allocator(cupy.cuda.malloc_managed):
        managed = cupy.arange(24, dtype=cupy.int32)
    assert_same(kernels.visualize_tv(managed, TV), kernels.visualize_tv(managed.get(), TV))


def test_the_current_stream_is_used():
    array = torch.zeros(24, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(200_000_000)
        array.fill_(1)
        assert kernels.visualize_tv(array, TV).values.tolist() == [[1] * 6] * 4


def test_errors():
    array = torch.arange(24, dtype=torch.int32, device="cuda")
    with pytest.raises(
        tw.LayoutError, match="thread 3, value 5 reads coordinate 23, outside the tensor of 23 elements"
    ):
        kernels.visualize_tv(array[:23], TV)
    with pytest.raises(IndexError, match="lies outside the owner's memory"):
        kernels.visualize_tv(cute.make_tensor(from_dlpack(array).iterator + 1, 24), TV)
    big = torch.zeros(24 * 16, dtype=torch.uint8, device="cuda")
    wide = cute.make_tensor(cute.recast_ptr(from_dlpack(big).iterator, dtype=tw.Int128), 24)
    with pytest.raises(ValueError, match="printf=True prints numbers of at most 64 bits, but the elements are Int128"):
        kernels.visualize_tv(wide, TV, printf=True)


def test_another_device():
    if torch.cuda.device_count() < 2:
        pytest.skip("one CUDA device only")
    array = torch.arange(24, dtype=torch.int32)
    with torch.cuda.device(0):
        assert_same(kernels.visualize_tv(array.to("cuda:1"), TV), kernels.visualize_tv(array, TV))
        assert torch.cuda.current_device() == 0
