"""Tensor maps: the numbers that the driver is given, the limits of the hardware, and their addresses at a launch.

The driver is one made for the tests; what a kernel copies through a map the GPU tests show.
"""

from __future__ import annotations

import re
import struct

import pytest

import test_driver
from launches import one_kernel
from places import SUPPORT
from tilewright import _core

fake = test_driver.fake
cuda = _core.cuda

GOOD = {"address": 4096, "element": 16, "shape": (100, 50), "strides": (208,), "box": (64, 128), "swizzle": 128}


def encode(**changes):
    return cuda.encode_tensor_map(**(GOOD | changes))


def test_what_the_driver_is_told(fake):
    code = """
        FAKE = ctypes.CDLL(cuda.driver_path())
        FAKE.fake_log.restype = ctypes.c_char_p
        def told(*args, **kwargs):
            made = cuda.encode_tensor_map(*args, **kwargs)
            assert type(made) is bytes and len(made) == 128 and made[16:] == b"\\xEE" * 112
            return [line.removeprefix("cuTensorMapEncodeTiled ") for line in log() if "Encode" in line]
        assert told(4096, 16, (100, 50), (208,), (64, 128), swizzle=128) == [
            "type 1 at 4096; 100 box 64 step 1; 50 box 128 step 1 stride 208; interleave 0 swizzle 3 l2 2 fill 0"]
        assert told(0, "tfloat32", [2**32], [], [256], [8], 0, 0, "nans") == [
            "type 11 at 0; 4294967296 box 256 step 8; interleave 0 swizzle 0 l2 0 fill 1"]
        assert told(16, 64, (1, 2, 3, 4, 5), (16, 2**40 - 16, 0, 32), (2, 3, 4, 5, 6), (1, 2, 3, 4, 5),
                    swizzle=32, l2_promotion=256, fill="zeros") == [
            "type 4 at 16; 1 box 2 step 1; 2 box 3 step 2 stride 16; 3 box 4 step 3 stride 1099511627760; "
            "4 box 5 step 4 stride 0; 5 box 6 step 5 stride 32; interleave 0 swizzle 1 l2 3 fill 0"]
        numbers = dict(uint8=0, uint16=1, uint32=2, int32=3, uint64=4, int64=5, float16=6, float32=7, float64=8,
                       bfloat16=9, float32_ftz=10, tfloat32=11, tfloat32_ftz=12)
        numbers |= {8: 0, 16: 1, 32: 2, 64: 4}
        for element, number in numbers.items():
            line, = told(0, element, (64,), (), (16,), swizzle=64 if element in (8, 16) else 0, l2_promotion=64)
            assert line.startswith(f"type {number} at 0; ") and " l2 1 " in line, line
        FAKE.fake_fail(b"cuTensorMapEncodeTiled", 1)
        assert "cuTensorMapEncodeTiled failed: CUDA_ERROR_INVALID_VALUE" in str(
            error_of(lambda: cuda.encode_tensor_map(0, 16, (64,), (), (64,))))
    """
    test_driver.run(fake, code)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"address": 4104}, "the address 4104 must be a multiple of 16 bytes"),
        ({"element": 12}, "elements of 12 bits; they have 8, 16, 32 or 64"),
        ({"element": "half"}, "elements of type 'half'; the types are uint8, uint16,"),
        ({"shape": ()}, "the shape has 0 modes; it must have 1 to 5"),
        ({"shape": (1,) * 6}, "the shape has 6 modes; it must have 1 to 5"),
        ({"shape": (0, 50)}, "shape[0] is 0; it must be from 1 to 4294967296"),
        ({"shape": (100, 2**32 + 1)}, "shape[1] is 4294967297; it must be from 1 to 4294967296"),
        ({"strides": ()}, "strides has 0 modes, but should have 1 for this shape"),
        ({"strides": (200,)}, "strides[0] is 200 bytes; it must be a multiple of 16"),
        ({"strides": (-16,)}, "strides[0] is -16; it must be from 0 to 1099511627775"),
        ({"strides": (2**40,)}, "strides[0] is 1099511627776; it must be from 0 to 1099511627775"),
        ({"box": (64,)}, "box has 1 modes, but should have 2 for this shape"),
        ({"box": (0, 1)}, "box[0] is 0; it must be from 1 to 256"),
        ({"box": (64, 257)}, "box[1] is 257; it must be from 1 to 256"),
        ({"box": (60, 1)}, "box[0] of 60 elements has 120 bytes, which must be a multiple of 16"),
        ({"box": (72, 1)}, "box[0] of 72 elements has 144 bytes, more than the 128 that the swizzle spans"),
        ({"swizzle": 64}, "box[0] of 64 elements has 128 bytes, more than the 64 that the swizzle spans"),
        ({"swizzle": 16}, "swizzle is 16; it must be 0, 32, 64 or 128 bytes"),
        ({"l2_promotion": 32}, "l2_promotion is 32; it must be 0, 64, 128 or 256 bytes"),
        ({"fill": "ones"}, "fill is 'ones'; it must be 'zeros' or 'nans'"),
        ({"fill": "nans"}, "fill 'nans' needs a floating-point type, not uint16"),
        ({"element_strides": (1,)}, "element_strides has 1 modes, but should have 2 for this shape"),
        ({"element_strides": (1, 9)}, "element_strides[1] is 9; it must be from 1 to 8"),
    ],
)
def test_limits_of_the_hardware(changes, message):
    with pytest.raises(ValueError, match=f"^encode_tensor_map: {re.escape(message)}"):
        encode(**changes)


def test_a_driver_without_tensor_maps(fake):
    code = """
        f = load()
        print(error_of(lambda: cuda.encode_tensor_map(0, 16, (64,), (), (64,))))
        print(error_of(lambda: one_kernel(f, (1, 1, 1), (1, 1, 1), 0, bytes(128), maps=[(0, 0, 0)])))
    """
    for name in ("cuTensorMapEncodeTiled", "cuTensorMapReplaceAddress"):
        lines = test_driver.run(fake, code, FAKE_MISSING=name, FAKE_PARAMETER="128").splitlines()
        assert len(lines) == 2
        assert all(f"has no {name} of CUDA 12.0; install a newer driver" in line for line in lines)


def test_a_launch_replaces_the_addresses(fake):
    code = f"""
        import sys
        sys.path.insert(0, {str(SUPPORT)!r})
        from launches import array_type

        f = load()
        params = bytes(64) + (1).to_bytes(8, "little") + bytes(120) + (2).to_bytes(8, "little") + bytes(180)
        make = lambda: one_kernel(f, (1, 1, 1), (1, 1, 1), 0, params, [(1, 8, 0)], maps=[(1, 64, 0), (0, 192, 32)])
        replaced = lambda: [line.split(" ", 1)[1] for line in log() if "Replace" in line]
        prepared = make()
        prepared.launch([4096, 8192], 3)
        assert log(False) == [
            "cuTensorMapReplaceAddress 1 to 8192", "cuTensorMapReplaceAddress 2 to 4128",
            "push 0", "cuLaunchKernel (1,1,1) (1,1,1) 0 stream 3 params 0 8192", "pop"], log(False)
        log()
        prepared.launch([16, 8192], 3)
        assert replaced() == ["8192 to 8192", "4128 to 48"]
        for add in (8, -8, 1):
            print(error_of(lambda: prepared.launch([4096 + add, 8192], 3), ValueError))
        log()

        # Through a launcher and bound to tensors: each has storage of its own, aligned like the other.
        array = array_type(device_type=2)
        launcher = cuda.Launcher(lambda src, dst: ("slow", make()))
        a, b, c = array(data=4096), array(data=8192), array(data=1 << 33)
        launcher(a, b)
        launcher(a, b)
        launcher(c, b)
        assert replaced() == ["1 to 8192", "2 to 4128", "8192 to 8192", f"4128 to {{(1 << 33) + 32}}"]
        prepared = make()
        bounds = [prepared.bind(a, b) for _ in range(8)]
        assert replaced() == ["1 to 8192", "2 to 4128"] * 8
        bounds[0]()
        assert replaced() == []  # their addresses were put in once for all
        FAKE.fake_fail(b"cuTensorMapReplaceAddress", 1)
        for call in (lambda: prepared.bind(a, b), lambda: launcher(a, b), lambda: prepared.launch([16, 16], 0)):
            assert "cuTensorMapReplaceAddress failed" in str(error_of(call))
    """
    lines = test_driver.run(fake, code, FAKE_PARAMETER="380").splitlines()
    assert lines == [
        f"launch: argument 0 is read through a tensor map from address {4128 + add}, which must be a multiple of 16 "
        "bytes"
        for add in (8, -8, 1)
    ]


def prepared(recorder=None, size=192, **options):
    return one_kernel(recorder or cuda.Recorder(), (1, 1, 1), (1, 1, 1), 0, bytes(size), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"maps": [(0, 128, 0)]}, "a tensor map at byte 128 does not lie in a parameter of 192 bytes"),
        ({"maps": [(0, -64, 0)]}, "a tensor map at byte -64 does not lie"),
        ({"maps": [(0, 32, 0)]}, "a tensor map at byte 32 of the parameter; it must lie at a multiple of 64"),
        ({"maps": [(32, 0, 0)]}, "maps names argument 32; arguments are 0 to 31"),
    ],
)
def test_wrong_maps(options, message):
    with pytest.raises(ValueError, match=message):
        prepared(**options)


def test_a_recorder_shows_the_addresses():
    recorder = cuda.Recorder()
    launch = prepared(recorder, maps=[(2, 64, 16)], programmatic=True)
    launch.launch([0, 0, 1 << 40], 7)
    assert struct.unpack_from("<Q", recorder.last[4], 64) == ((1 << 40) + 16,)
    assert len(recorder.last[4]) == 192
    assert (launch.kernels[0].programmatic, recorder.programmatic) == (True, True)
    with pytest.raises(ValueError, match="2 addresses were given, but the launch needs 3"):
        launch.launch([0, 0], 7)
    prepared(recorder).launch([], 0)
    assert not recorder.programmatic


def test_a_launch_through_maps_is_repeated():
    torch = pytest.importorskip("torch")
    recorder = cuda.Recorder()
    calls = []

    def slow(src, dst):
        calls.append(src)
        return "slow", prepared(recorder, maps=[(0, 0, 0)], result=1)

    launcher = cuda.Launcher(slow)
    words = torch.zeros(64, dtype=torch.int64)
    words = words[words.data_ptr() % 16 // 8 :]
    a, b, dst = words[:8], words[8:16], words[16:24]
    assert launcher(a, dst) == "slow"
    for tensor in (a, b):
        assert launcher(tensor, dst) is dst
        assert struct.unpack_from("<Q", recorder.last[4]) == (tensor.data_ptr(),)
    assert len(calls) == 1


def test_a_traced_function_makes_its_maps_at_each_call(fake):
    """For the extents of the call; the address is put in by the launch."""
    code = f"""
        import struct, sys
        sys.path.insert(0, {str(SUPPORT)!r})
        import tilewright as cutlass
        from tilewright import cute
        from tilewright.lang import gpu
        from tma_kernels import LAYOUTS, dynamic, numbers, run_load
        FAKE = ctypes.CDLL(cuda.driver_path())
        FAKE.fake_log.restype = ctypes.c_char_p
        fixed = LAYOUTS["128"]((64, 64), cutlass.Float16), (64, 64)
        compiled = cute.compile(run_load, dynamic(numbers((64, 64))), dynamic(numbers((64, 64))), *fixed)
        recorder = cuda.Recorder("load")
        def load(index):
            kernel = gpu.CompiledKernel(compiled.program, index, "sm_90a")
            return recorder, kernel.offsets, kernel.parameter_bytes, kernel.shared_bytes, kernel
        host = cuda.HostFunction(compiled.program, compiled.traced.host, gpu._sources(compiled.traced), load)
        for rows, columns in (100, 136), (8, 64):
            leaves = compiled.leaves((dynamic(numbers((rows, columns))), dynamic(numbers((128, 192)))), {{}})
            prepared = host.prepare(leaves.values)
            told, = [line.removeprefix("cuTensorMapEncodeTiled ") for line in log() if "Encode" in line]
            assert told == (f"type 6 at 1024; {{columns}} box 64 step 1; {{rows}} box 64 step 1 "
                            f"stride {{2 * columns}}; interleave 0 swizzle 3 l2 2 fill 0"), told
            prepared.launch([1 << 40, 2 << 40], 7)
            assert struct.unpack_from("<Q", recorder.last[4]) == (1 << 40,)
            assert (2 << 40).to_bytes(8, "little") in recorder.last[4]  # Y's own address
    """
    test_driver.run(fake, code)
