"""visualize_tv: the values of every thread as text, arrays and a picture; and the command that demonstrates it."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from cpu_device import COMPILER, CpuDevice, OnDevice
from tilewright import Int32, LayoutError, _core, cute, kernels
from tilewright.__main__ import USAGE, main
from tilewright.cute.runtime import from_dlpack
from tilewright.show.palette import thread_color

L = cute.parse
TV = L("((2,2),(2,3)):((2,12),(1,4))")
VALUES = [[0, 1, 4, 5, 8, 9], [2, 3, 6, 7, 10, 11], [12, 13, 16, 17, 20, 21], [14, 15, 18, 19, 22, 23]]
PICTURE = Path(__file__).parents[1] / "docs" / "img" / "tv.svg"


def column(dtype=np.int32):
    return np.arange(24, dtype=dtype).reshape(24, 1)


@pytest.fixture
def result():
    return kernels.visualize_tv(from_dlpack(column(), assumed_align=16), TV)


# ---- text and arrays ----


def test_text_of_the_article(result):
    """As seed 000's author printed it, the address apart."""
    first = result.tensor.iterator.toint()
    expected = ["TV Layout: ((2,2),(2,3)):((2,12),(1,4))"]
    for t, (offset, values) in enumerate(zip((0x0, 0x8, 0x30, 0x38), VALUES, strict=True)):
        expected.append(f"TIDX: {t}")
        expected.append(f"DATA: raw_ptr(0x{first + offset:016x}: i32, gmem, align<8>) o ((2,3)):((1,4)) = ")
        expected.append(f"  ( {', '.join(map(str, values))} )")
    assert str(result) == "\n".join(expected)


def test_arrays(result):
    assert result.values.tolist() == result.coordinates.tolist() == result.offsets.tolist() == VALUES
    assert result.values.dtype == np.int32
    assert (len(result), result[2].tolist(), [row[0] for row in result]) == (4, VALUES[2], [0, 2, 12, 14])
    assert repr(result) == "<4 threads x 6 values of (24,1):(1,1): each of 24 elements is read exactly once>"


def test_offsets_differ_from_coordinates_in_a_strided_tensor():
    result = kernels.visualize_tv(np.arange(24, dtype=np.int32).reshape(4, 6), L("(4,6):(1,4)"))
    assert result.coordinates[1].tolist() == [1, 5, 9, 13, 17, 21]
    assert result.offsets[1].tolist() == result.values[1].tolist() == [6, 7, 8, 9, 10, 11]


def test_threads(result):
    assert str(result.thread(3)) == "tensor<ptr<i32, gmem, align<8>> o ((2,3)):((1,4))>"
    assert list(result.thread(3)) == VALUES[3]
    for thread in (-1, 4):
        with pytest.raises(IndexError, match=rf"thread {thread} is out of range; there are 4 threads"):
            result.thread(thread)


def test_equality(result):
    assert result == kernels.visualize_tv(column(), TV)
    assert result != kernels.visualize_tv(column() + 1, TV)
    assert result != kernels.visualize_tv(column(), L("(4,6):(6,1)"))
    assert result != kernels.visualize_tv(np.arange(24), TV)
    assert result != str(result)
    with pytest.raises(TypeError, match="unhashable"):
        hash(result)


def test_torch():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(24, dtype=torch.int32).reshape(24, 1)
    result = kernels.visualize_tv(tensor, TV)
    assert result.values.tolist() == VALUES
    assert f"0x{tensor.data_ptr():016x}: i32, gmem, align<4>" in str(result)
    halves = kernels.visualize_tv(tensor.to(torch.bfloat16), TV)
    assert (halves.values.dtype, halves.values.tolist()) == (np.float32, VALUES)
    assert ": bf16, gmem" in str(halves)
    assert "( 0.000000, 1.000000," in str(halves)


def test_other_tensors():
    counting = kernels.visualize_tv(cute.make_tensor(100, L("24:1")), TV)
    assert counting.values[1].tolist() == [102, 103, 106, 107, 110, 111]
    assert "DATA: 102 o ((2,3)):((1,4)) = \n  ( 102, 103," in str(counting)
    coordinates = kernels.visualize_tv(cute.make_identity_tensor((4, 6)), L("(4,6):(1,4)"))
    assert coordinates[1].tolist() == [(1, n) for n in range(6)]
    assert coordinates.offsets is None
    assert "(1,5)" in coordinates.text()


def test_dynamic_layouts_have_values():
    tensor = from_dlpack(column(), assumed_align=16).mark_layout_dynamic(leading_dim=0)
    dynamic = cute.make_layout(((Int32(2), 2), (2, 3)), stride=((2, 12), (1, 4)))
    result = kernels.visualize_tv(tensor, dynamic)
    assert result.values.tolist() == VALUES
    assert str(result).startswith("TV Layout: ((?,2),(2,3)):((2,12),(1,4))\nTIDX: 0\n")


def test_the_array_stays_alive():
    result = kernels.visualize_tv(column(), TV)  # the only other reference to the array is gone
    assert list(result.thread(0)) == VALUES[0]


def test_swizzled_tensor():
    swizzled = cute.make_composed_layout(cute.make_swizzle(2, 0, 2), 0, L("(4,4):(4,1)"))
    tensor = cute.make_tensor(from_dlpack(np.arange(16, dtype=np.int32)).iterator, swizzled)
    result = kernels.visualize_tv(tensor, L("(4,4):(4,1)"))
    assert result.values.tolist() == [[0, 5, 10, 15], [1, 4, 11, 14], [2, 7, 8, 13], [3, 6, 9, 12]]
    assert "  ( 1, 4, 11, 14 )\n" in str(result)


def test_scalar():
    assert kernels.visualize_tv(np.array(3.5), L("(1,1):(0,0)")).values.tolist() == [[3.5]]


# ---- coverage ----


def test_coverage(result):
    assert result.coverage
    assert str(result.coverage) == "each of 24 elements is read exactly once"
    part = kernels.visualize_tv(np.arange(25), TV).coverage
    assert not part
    assert (part.size, part.missing.tolist(), part.repeated.tolist()) == (25, [24], [])
    assert str(part) == "1 of 25 elements is never read (24)"
    both = kernels.visualize_tv(np.arange(30), L("((2,2),(2,4)):((2,12),(1,2))")).coverage
    assert str(both) == (
        "10 of 30 elements are never read (10, 11, 22, 23, 24, 25, 26, 27, ...), "
        "12 of 30 elements are read more than once (2, 3, 4, 5, 6, 7, 14, 15, ...)"
    )
    broadcast = kernels.visualize_tv(np.arange(4), L("(2,4):(0,1)")).coverage
    assert broadcast.repeated.tolist() == [0, 1, 2, 3]


# ---- errors ----


def test_outside_the_tensor():
    with pytest.raises(LayoutError) as error:
        kernels.visualize_tv(np.arange(23), TV)
    assert str(error.value) == (
        "visualize_tv((23):(1), ((2,2),(2,3)):((2,12),(1,4))): thread 3, value 5 reads coordinate 23, outside the "
        "tensor of 23 elements (0 to 22); size(TV) is 24 and cosize(TV) must be at most 23"
    )
    with pytest.raises(LayoutError, match="thread 1, value 0 reads coordinate -1"):
        kernels.visualize_tv(np.arange(4), L("(2,2):(-1,2)"))


def test_rank_of_the_layout():
    with pytest.raises(
        LayoutError, match=r"a thread-value layout has rank 2, \(thread, value\), but this one has rank 1"
    ):
        kernels.visualize_tv(column(), L("24:1"))
    with pytest.raises(LayoutError, match="has rank 3; group_modes"):
        kernels.visualize_tv(column(), L("(2,2,6):(2,12,1)"))


def test_layout_that_maps_to_coordinates():
    tv = cute.make_identity_layout((4, 6))
    with pytest.raises(
        LayoutError, match=r"compose it with the shape first: composition\(make_layout\(\(4,6\)\), tv_layout\)"
    ):
        kernels.visualize_tv(np.arange(24).reshape(4, 6), tv)
    composed = cute.composition(cute.make_layout((4, 6)), tv)
    assert kernels.visualize_tv(np.arange(24).reshape(4, 6), composed).values.tolist()[1] == [6, 7, 8, 9, 10, 11]


def test_kinds_of_arguments():
    with pytest.raises(TypeError, match="expected tv_layout to be a Layout, but got tuple"):
        kernels.visualize_tv(column(), (4, 6))
    with pytest.raises(TypeError, match="visualize_tv: expected tensor to be a Tensor or an array"):
        kernels.visualize_tv([1, 2, 3], TV)


def test_composition_that_is_no_layout():
    with pytest.raises(LayoutError, match="composition"):
        kernels.visualize_tv(np.zeros((4, 6), np.int32)[:, :5], L("(4,5):(5,1)"))


# ---- device memory ----


@pytest.mark.parametrize(
    ("device", "message"),
    [
        (
            (10, 0),
            "the tensor lies in memory of rocm:0, where no kernel reads it; copy it to CUDA memory or to the CPU",
        ),
        ((2, 1), "the tensor lies in memory of cuda:1, but libcuda.so.1, .* cannot be loaded; install NVIDIA's driver"),
    ],
)
def test_device_memory_that_cannot_be_read(device, message, monkeypatch):
    monkeypatch.setattr(_core.cuda, "driver_path", lambda: None)
    with pytest.raises((ValueError, _core.cuda.DriverError), match=rf"^visualize_tv: {message}"):
        kernels.visualize_tv(OnDevice(cute.make_rmem_tensor((24, 1), Int32), device), TV)


def test_memory_of_an_unknown_owner():
    with pytest.raises(RuntimeError, match="the pointer was made from an address, so the size of its memory is not"):
        kernels.visualize_tv(cute.make_tensor(cute.make_ptr(Int32, 0x1000, tw.AddressSpace.gmem), L("24:1")), TV)


@pytest.fixture
def device(monkeypatch, tmp_path):
    if COMPILER is None:
        pytest.skip("no C++ compiler to stand for a device")
    return CpuDevice(monkeypatch, tmp_path)


def on_device(tensor):
    return from_dlpack(OnDevice(tensor), force_tf32=tensor.element_type is tw.TFloat32)


def both(tensor, tv_layout, layout=None):
    """The results for a tensor on the CPU and as if it lay in device memory."""
    there, here = on_device(tensor), from_dlpack(tensor, force_tf32=tensor.element_type is tw.TFloat32)
    if layout is not None:
        here, there = (cute.make_tensor(x.iterator, layout) for x in (here, there))
    return kernels.visualize_tv(here, tv_layout), kernels.visualize_tv(there, tv_layout)


def assert_same(here, there):
    assert str(there) == str(here)
    assert there == here
    assert there.values.dtype == here.values.dtype
    assert there.offsets.tolist() == here.offsets.tolist()
    assert there.svg() == here.svg()
    assert there.text(color=False) == here.text(color=False)
    assert repr(there) == repr(here)


def numbers(dtype, count):
    """A tensor with as many bit patterns of a type."""
    tensor = cute.make_rmem_tensor(count, dtype)
    memory = memoryview(tensor.iterator._memory)
    memory[:] = np.random.default_rng(0).integers(0, 256, len(memory), np.uint8).tobytes()
    memory[: dtype.bits // 8] = b"\xff" * (dtype.bits // 8)  # of floats a NaN with a sign
    return tensor


TYPES = [
    *(tw.Boolean, tw.Int4, tw.Int8, tw.Uint8, tw.Int16, tw.Uint16, tw.Int32, tw.Uint32, tw.Int64, tw.Uint64),
    *(tw.Float16, tw.BFloat16, tw.TFloat32, tw.Float32, tw.Float64, tw.Float8E4M3FN, tw.Float8E5M2, tw.Float8E8M0FNU),
    *(tw.Float8E4M3, tw.Float8E4M3B11FNUZ, tw.Float6E2M3FN, tw.Float6E3M2FN, tw.Float4E2M1FN),
]


@pytest.mark.parametrize("dtype", [*TYPES, tw.Int128, tw.Uint128])
def test_the_kernel_sees_what_the_cpu_sees(device, dtype):
    here, there = both(numbers(dtype, 24), TV)
    assert str(there) == str(here)
    assert there.values.dtype == here.values.dtype
    np.testing.assert_array_equal(there.values, here.values)
    assert there.offsets.tolist() == here.offsets.tolist() == VALUES
    assert [launch[2:] for launch in device.launches] == [(1, 4)]


@pytest.mark.parametrize("dtype", TYPES)
def test_the_kernel_prints_what_the_result_shows(device, dtype, capfd):
    tensor = on_device(numbers(dtype, 24))
    assert tensor.element_type is dtype
    result = kernels.visualize_tv(tensor, TV, printf=True)
    assert capfd.readouterr().out == f"{result}\n"


def test_printing_on_the_cpu(capfd):
    result = kernels.visualize_tv(column(), TV, printf=True)
    assert capfd.readouterr().out == f"{result}\n"


def test_strided_swizzled_and_other_layouts(device, capfd):
    base = from_dlpack(np.arange(64, dtype=np.float32))
    cases = [
        (L("(4,6):(6,1)"), L("(4,6):(1,4)")),
        (L("(8,8):(1,8)"), L("((4,2),(2,4)):((16,1),(8,2))")),
        (L("(4,6):(0,1)"), L("(4,6):(1,4)")),
        (cute.make_composed_layout(cute.make_swizzle(2, 0, 2), 0, L("(4,4):(4,1)")), L("(4,4):(4,1)")),
        (cute.make_composed_layout(cute.make_swizzle(1, 0, 2), 4, L("(4,8):(8,1)")), L("(4,8):(1,4)")),
        (L("40:1"), L("(1,40):(1,1)")),  # more values than printf shows
    ]
    for layout, tv_layout in cases:
        here, there = both(base, tv_layout, layout)
        assert_same(here, there)
        capfd.readouterr()
        kernels.visualize_tv(there.tensor, tv_layout, printf=True)
        assert capfd.readouterr().out == f"{here}\n"


def test_negative_strides_and_misaligned_elements(device):
    array = np.arange(24, dtype=np.int32)[::-1]
    assert_same(*both(from_dlpack(array), TV))
    raw = np.arange(25 * 4, dtype=np.uint8)[3:99].view(np.int32)
    assert_same(*both(from_dlpack(raw), TV))
    assert_same(*both(from_dlpack(raw.view(np.uint8)[3:27].view(np.int16)), L("(4,3):(1,4)")))
    read_as = [re.search(r"Bytes<\d, \d>", name)[0] for name, *_ in device.launches]
    assert read_as == ["Bytes<4, 4>", "Bytes<4, 1>", "Bytes<2, 2>"]


def test_packed_elements_that_begin_within_a_byte(device):
    tensor = numbers(tw.Float6E2M3FN, 30)
    here, there = (cute.make_tensor(x.iterator + 3, L("24:1")) for x in (tensor, from_dlpack(OnDevice(tensor))))
    assert (there.iterator._bits % 8, device.launches) == (2, [])
    assert kernels.visualize_tv(there, TV).values.tolist() == kernels.visualize_tv(here, TV).values.tolist()


def test_more_threads_than_a_block_has(device, capfd):
    array = np.arange(2100, dtype=np.int16)
    here, there = both(from_dlpack(array), L("(2100,1):(1,0)"))
    assert device.launches[-1][2:] == (3, 1024)
    assert_same(here, there)
    del device.launches[:]
    kernels.visualize_tv(there.tensor, L("(2100,1):(1,0)"), printf=True)
    assert [launch[3] for launch in device.launches] == [1024, *[128] * 16, 52]
    assert capfd.readouterr().out == f"{here}\n"


def test_threads_of_a_device_read_no_other_memory(device):
    tensor = from_dlpack(OnDevice(cute.make_rmem_tensor(24, Int32)))
    for iterator in (tensor.iterator + 1, tensor.iterator + -1):
        with pytest.raises(
            IndexError, match=r"^visualize_tv: an element of tensor<.*> lies outside the owner's memory \["
        ):
            kernels.visualize_tv(cute.make_tensor(iterator, L("24:1")), TV)
    assert device.launches == []


def test_what_the_device_cannot_print(device):
    with pytest.raises(ValueError, match="printf=True prints numbers of at most 64 bits, but the elements are Int128;"):
        kernels.visualize_tv(OnDevice(cute.make_rmem_tensor(24, tw.Int128)), TV, printf=True)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_the_kernels_compile(compiler, arch):
    from tilewright._runtime.compiler import compile_program
    from tilewright.kernels.visualize_tv_device import SOURCE, STEM, kernel_name, print_name

    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 2, 3), 0, L("(8,32):(32,1)"))
    names = []
    for dtype in [*TYPES, tw.Int128]:
        for address in (64, 65):
            pointer = cute.Pointer(dtype, address, tw.AddressSpace.gmem)
            tensors = [cute.composition(cute.make_tensor(pointer, L("24:1")), TV)]
            tensors.append(cute.composition(cute.make_tensor(pointer, swizzled), L("(32,8):(8,1)")))
            names += [kernel_name(x) for x in tensors]
            names += [print_name(x) for x in tensors if dtype.bits <= 64]
    names = list(dict.fromkeys(names))
    program = compile_program(STEM, names, arch, source=SOURCE)
    assert set(program.report) == set(names)
    for name, report in program.report.items():
        assert report.spill_bytes == 0 or name.startswith("print_tv"), (
            name
        )  # printf is a call, around which some are kept


# ---- pictures ----


def test_table(result):
    assert result.text(color=False) == (
        "(24,1):(1,1): each of 24 elements is read exactly once\n"
        "\n"
        "   +----+----+----+----+----+----+----+----+----+----+----+----+\n"
        " 0 |T0V0|T0V1|T1V0|T1V1|T0V2|T0V3|T1V2|T1V3|T0V4|T0V5|T1V4|T1V5|\n"
        "   | 0  | 1  | 2  | 3  | 4  | 5  | 6  | 7  | 8  | 9  | 10 | 11 |\n"
        "   +----+----+----+----+----+----+----+----+----+----+----+----+\n"
        "12 |T2V0|T2V1|T3V0|T3V1|T2V2|T2V3|T3V2|T3V3|T2V4|T2V5|T3V4|T3V5|\n"
        "   | 12 | 13 | 14 | 15 | 16 | 17 | 18 | 19 | 20 | 21 | 22 | 23 |\n"
        "   +----+----+----+----+----+----+----+----+----+----+----+----+\n"
        "\n"
        "TV = ((2,2),(2,3)):((2,12),(1,4)): (thread, value) to coordinate\n"
        "\n"
        "   V0 V1 V2 V3 V4 V5\n"
        "T0  0  1  4  5  8  9\n"
        "T1  2  3  6  7 10 11\n"
        "T2 12 13 16 17 20 21\n"
        "T3 14 15 18 19 22 23"
    )


def test_table_of_a_matrix():
    result = kernels.visualize_tv(np.array([[0.5, 1e-9], [2.0, -3.25]]), L("(2,1):(1,0)"))
    assert result.text(color=False).splitlines()[2:10] == [
        "    0    1",
        "  +----+----+",
        "0 |T0V0| -  |",
        "  |0.5 |    |",
        "  +----+----+",
        "1 |T1V0| -  |",
        "  | 2  |    |",
        "  +----+----+",
    ]


def test_table_is_coloured_on_a_terminal_only(result, monkeypatch):
    assert "\x1b" not in result.text()
    assert "\x1b[38;5;16;48;5;110mT0V0\x1b[0m" in result.text(color=True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b" in result.text()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in result.text()
    assert re.sub(r"\x1b\[[\d;]*m", "", result.text(color=True)) == result.text(color=False)


def cells(svg):
    """Fill, hover text and the lines of text of every cell."""
    space = "{http://www.w3.org/2000/svg}"
    for group in ET.fromstring(svg).iter(f"{space}g"):
        rect = group.find(f"{space}rect")
        yield rect.get("fill"), group.find(f"{space}title").text, [t.text for t in group.iter(f"{space}text")]


def test_picture_is_the_committed_one(result):
    assert result._repr_svg_() == result.svg() == PICTURE.read_text(encoding="utf-8")


def test_picture(result):
    drawn = list(cells(result.svg()))
    assert len(drawn) == 48
    for i, (fill, title, lines) in enumerate(drawn[:24]):
        thread, value = next((t, row.index(i)) for t, row in enumerate(VALUES) if i in row)
        assert fill == thread_color(thread)
        assert title == f"coordinate {i}, offset {i}\nthread {thread}, value {value}: {i}"
        assert lines == [str(i), f"T{thread}V{value}"]
    assert [fill for fill, _, _ in drawn[24:]] == [thread_color(t) for t in range(4) for _ in range(6)]
    assert [int(lines[0]) for _, _, lines in drawn[24:]] == [i for row in VALUES for i in row]


def test_picture_of_what_is_not_covered():
    result = kernels.visualize_tv(np.arange(5), L("(2,2):(1,1)"))
    drawn = list(cells(result.svg()))[:5]
    assert [lines[-1] for _, _, lines in drawn] == ["T0V0", "T0V1+1", "T1V1", "-", "-"]
    assert drawn[1][1] == "coordinate 1, offset 1\nthread 0, value 1: 1\nthread 1, value 0: 1"
    assert drawn[3][:2] == ("#fff", "coordinate 3\nread by no thread")


def test_picture_of_a_large_tensor_is_cut():
    result = kernels.visualize_tv(np.zeros((128, 96), np.float16), L("(128,96):(1,128)"))
    assert sum(1 for _ in cells(result.svg())) == 2 * 64 * 64
    assert "64 x 64 of 128 x 96 shown" in result.svg()
    assert "64 x 64 of 128 x 96 shown" in result.text()
    line = kernels.visualize_tv(np.zeros(10_000, np.int8), L("(100,100):(1,100)"))
    assert "of 10000 shown" in line.text()


def test_colours_of_threads():
    shades = [thread_color(t) for t in range(25)]
    assert len(set(shades)) == 24
    assert shades[24] == shades[0]
    for shade in shades:  # black text is readable on each: contrast 4.5 at least
        channels = [int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        assert (sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True)) + 0.05) / 0.0625 > 4.5


# ---- python -m tilewright ----


def test_demo(capsys, tmp_path):
    assert main(["demo", "--svg", str(tmp_path / "tv.svg")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("TV Layout: ((2,2),(2,3)):((2,12),(1,4))\nTIDX: 0\nDATA: raw_ptr(0x")
    assert "i32, gmem, align<8>) o ((2,3)):((1,4)) = \n  ( 0, 1, 4, 5, 8, 9 )\nTIDX: 1\n" in text
    assert "\nT3 14 15 18 19 22 23\n" in text
    assert (tmp_path / "tv.svg").read_bytes() == PICTURE.read_bytes()


def test_demo_without_torch(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["demo"]) == 0
    assert "  ( 14, 15, 18, 19, 22, 23 )\n" in capsys.readouterr().out


def test_version_and_help(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"tilewright {tw.__version__}\n"
    for arguments in (["-h"], ["--help"], ["doctor", "--help"], ["cache", "-h"]):
        assert main(arguments) == 0
        assert capsys.readouterr().out.startswith("usage: python -m tilewright demo [--svg FILE]\n")


@pytest.mark.parametrize("arguments", [[], ["dmeo"], ["demo", "--png", "x"]])
def test_arguments_that_are_not_understood(arguments, capsys):
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith(USAGE)
    assert (f"not understood: {' '.join(arguments)}\n" in captured.err) == bool(arguments)


def test_picture_that_cannot_be_written(capsys, tmp_path):
    file = tmp_path / "missing" / "tv.svg"
    assert main(["demo", "--svg", str(file)]) == 1
    assert capsys.readouterr().err == f"python -m tilewright: cannot write {file}: No such file or directory\n"


def test_as_a_module():
    run = subprocess.run([sys.executable, "-m", "tilewright", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"tilewright {tw.__version__}\n"
