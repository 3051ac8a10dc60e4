"""What each thread of a kernel gets, where the tensor lies in device memory: kernels run on the CPU here."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from cpu_device import COMPILER, CpuDevice, OnDevice
from tilewright import Int32, _core, cute, kernels
from tilewright.cute.runtime import from_dlpack
from tv_examples import TV, VALUES, both, column, on_device

L = cute.parse


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
    from tilewright.kernels.visualize.device import kernel_name, print_name
    from tilewright.kernels.visualize.kernel import VISUALIZE_TV
    from tilewright.runtime.compiler import compile_program

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
    program = compile_program(VISUALIZE_TV.stem, names, arch, source=VISUALIZE_TV.text)
    assert set(program.report) == set(names)
    for name, report in program.report.items():
        assert report.spill_bytes == 0 or name.startswith("print_tv"), (
            name
        )  # printf is a call, around which some are kept
