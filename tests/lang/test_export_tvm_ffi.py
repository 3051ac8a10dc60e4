"""Exported functions that TVM's FFI calls: what they read from its arguments, and what they refuse."""

from __future__ import annotations

import subprocess

import pytest

from compiling import nvrtc
from test_export import Program, axpy, axpy_kernel, cc, driver, fake
from tilewright import Float16, Float32, Int32, cute

__all__ = ["driver"]
pytestmark = [nvrtc, pytest.mark.skipif(cc is None, reason="no C compiler")]
STUBS = """
#include <string.h>
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message) {{ printf("%s: %s\\n", kind, message); }}
void *TVMFFIEnvGetStream(int32_t type, int32_t device) {{ return (void *)(size_t)(100 * type + device); }}
typedef struct {{ int32_t type; uint32_t padding; union {{ int64_t i; double d; const void *p; }}; }} Any;
typedef struct {{
  void *data; int32_t device_type, device, rank; uint8_t code, bits; uint16_t lanes; int64_t *shape, *strides;
  uint64_t at;
}} DLTensor;
int __tvm_ffi_{name}(void *, const Any *, int32_t, Any *);
static inline Any integer(int64_t i) {{ Any any = {{1, 0, {{0}}}}; any.i = i; return any; }}
static inline Any real(double d) {{ Any any = {{3, 0, {{0}}}}; any.d = d; return any; }}
static inline Any pointer(const void *p) {{ Any any = {{p ? 4 : 0, 0, {{0}}}}; any.p = p; return any; }}
static inline Any tensor(const DLTensor *t) {{ Any any = {{7, 0, {{0}}}}; any.p = t; return any; }}
static inline void call(int count, Any a, Any b, Any c, Any d) {{
  const Any args[] = {{a, b, c, d}};
  Any result;
  const int error = __tvm_ffi_{name}(0, args, count, &result);
  printf("%d\\n", error);
}}
"""


def program(folder, driver, compiled, body, name="axpy"):
    compiled.export_to_c(str(folder / f"{name}.o"), function_name=name)
    header = folder / f"{name}.h"
    header.write_text(header.read_text() + "\n#include <stdio.h>\n" + STUBS.format(name=name))
    return Program(folder, driver, [name], body)


@pytest.fixture(scope="module")
def compiled():
    n = cute.sym_int(divisibility=4)
    given = fake(n), fake(n, assumed_align=16), Float32(1), cute.runtime.make_fake_stream()
    return cute.compile(axpy, *given, options="--enable-tvm-ffi")


def test_calls(compiled, tmp_path, driver):
    body = """
      int64_t shape[] = {64}, one[] = {1};
      struct { char object[24]; DLTensor tensor; } held = {{0}, {(void *)0x1000, 2, 1, 1, 2, 32, 1, shape, one, 0x20}};
      DLTensor y = {(void *)0x2000, 2, 1, 1, 2, 32, 1, shape, 0, 0};
      Any x = {70, 0, {0}};
      x.p = &held;
      call(4, x, tensor(&y), real(0.5), pointer((void *)9));
      call(3, x, tensor(&y), integer(2), pointer(0));
      call(4, x, tensor(&y), integer(2), pointer(0));
      log_driver();
    """
    assert program(tmp_path, driver, compiled, body).run(parameters=1) == [
        *"000",
        "cuInit",
        "cuDevicePrimaryCtxRetain",
        "cuCtxSetCurrent 1",
        "cuLibraryLoadData",
        "cuLibraryGetKernel axpy_kernel",
        *(
            f"cuLaunchKernelEx axpy_kernel (2,1,1) (32,1,1) 0 stream {stream} params 4128 of 0"
            for stream in (9, 201, 201)
        ),
    ]


def test_refusals(compiled, tmp_path, driver):
    body = """
      int64_t shape[] = {64}, strides[] = {2}, odd[] = {66}, big[] = {INT64_C(1) << 32};
      const DLTensor good = {(void *)0x1000, 2, 0, 1, 2, 32, 1, shape, 0, 0};
      DLTensor bad = good;
    #define TRY(change) change; call(4, tensor(&good), tensor(&bad), real(1), pointer(0)); bad = good
      TRY(bad.device_type = 1);
      TRY(bad.device = 1);
      TRY(bad.bits = 16);
      TRY(bad.lanes = 2);
      TRY(bad.rank = 2);
      TRY(bad.strides = strides);
      TRY(bad.shape = odd);
      TRY(bad.shape = big);
      TRY(bad.at = 4);
      call(4, tensor(&good), real(1), real(1), pointer(0));
      call(4, tensor(&good), tensor(&good), pointer(&bad), pointer(0));
      call(4, tensor(&good), tensor(&good), real(1), real(1));
      call(2, tensor(&good), tensor(&good), real(1), real(1));
    """
    lines = program(tmp_path, driver, compiled, body).run()
    assert lines[1::2] == ["-1"] * 13
    assert lines[::2] == [
        "ValueError: axpy: y: expected a tensor of a CUDA device, but it is on DLPack's device type 1",
        "ValueError: axpy: y is on cuda:1, but the tensors before it on cuda:0; move them to one device",
        "TypeError: axpy: y: expected elements of DLPack's type 2 with 32 bits, but they are 2 with 16 bits, 1 lanes",
        "TypeError: axpy: y: expected elements of DLPack's type 2 with 32 bits, but they are 2 with 32 bits, 2 lanes",
        "ValueError: axpy: y: expected 1 modes, but it has 2",
        "ValueError: axpy: y.stride[0] is 2, but the function was compiled for 1, which is fixed in it",
        "ValueError: axpy: y.shape[0] is 66, but the function was compiled for multiples of 4",
        "ValueError: axpy: y.shape[0] is 4294967296, which has more than the 32 bits that the function was compiled "
        "for",
        "ValueError: axpy: y: the address 0x1004 is no multiple of 16 bytes, for which the function was compiled",
        "TypeError: axpy: y: expected a tensor, but got a value of TVM's type 3",
        "TypeError: axpy: a: expected a number, but got a value of TVM's type 4",
        "TypeError: axpy: stream: expected a pointer, but got a value of TVM's type 3",
        "TypeError: axpy takes 3 to 4 arguments, but got 2",
    ]


def test_names_of_c(tmp_path, driver):
    """Arguments may be called what C and the object call something else."""

    @cute.jit
    def named(int: cute.Tensor, module: Int32, error: Int32, args: Int32, count: Int32, device: Int32, result):
        axpy_kernel(int, int, Float32(module + error + args + count + device)).launch(stream=result)

    stream = cute.runtime.make_fake_stream()
    compiled = cute.compile(named, fake(8), 1, 2, 3, 4, 5, stream, options="--enable-tvm-ffi")
    body = """
      named_Kernel_Module_t module;
      named_Tensor_int__t x = {(void *)0x1000};
      named_Kernel_Module_Load(&module);
      printf("%d\\n", cute_dsl_named_wrapper(&module, &x, 1, 2, 3, 4, 5, 0));
    """
    assert program(tmp_path, driver, compiled, body, "named").run()[0] == "0"


def test_static_extents_numbers_and_devices(tmp_path, driver):
    @cute.jit
    def fill(x: cute.Tensor, n: Int32):
        axpy_kernel(x, x, Float32(n)).launch(block=[32, 1, 1])

    compiled = cute.compile(fill, fake(cute.sym_int(), 8), 1, options="--enable-tvm-ffi")
    body = """
      int64_t shape[] = {3, 8}, other[] = {3, 9};
      DLTensor x = {(void *)0x1000, 2, 0, 2, 2, 32, 1, shape, 0, 0}, y = x;
      y.shape = other;
      call(2, tensor(&x), integer(-5), pointer(0), pointer(0));
      call(2, tensor(&y), integer(1), pointer(0), pointer(0));
      call(2, tensor(&x), integer(INT64_C(1) << 31), pointer(0), pointer(0));
      call(2, tensor(&x), real(1), pointer(0), pointer(0));
    """
    assert program(tmp_path, driver, compiled, body, "fill").run() == [
        "0",
        "ValueError: fill: x.shape[1] is 9, but the function was compiled for 8, which is fixed in it",
        "-1",
        "OverflowError: fill: n is 2147483648; expected -2147483648 to 2147483647",
        "-1",
        "TypeError: fill: n: expected an integer, but got a value of TVM's type 3",
        "-1",
    ]


@pytest.mark.parametrize("argument", [Float16(1), (Int32(1), Int32(2)), cute.make_layout((cute.sym_int().leaf(), 2))])
def test_arguments_that_it_does_not_have(tmp_path, argument):
    @cute.jit
    def take(x):
        pass

    compiled = cute.compile(take, argument, options="--enable-tvm-ffi")
    with pytest.raises(TypeError, match="TVM's FFI does not pass the argument x"):
        compiled.export_to_c(tmp_path / "take.o")


def test_loaded_by_tvm_ffi(compiled, tmp_path, monkeypatch):
    tvm_ffi = pytest.importorskip("tvm_ffi")
    torch = pytest.importorskip("torch")
    compiled.export_to_c(tmp_path / "axpy.o")
    libraries = cute.runtime.find_runtime_libraries(enable_tvm_ffi=True)
    subprocess.run([cc, "-shared", "-o", tmp_path / "axpy.so", tmp_path / "axpy.o", *libraries], check=True)
    function = tvm_ffi.load_module(str(tmp_path / "axpy.so")).axpy
    with pytest.raises(ValueError, match="expected a tensor of a CUDA device, but it is on DLPack's device type 1"):
        function(torch.ones(64), torch.ones(64), 1.0)
    with pytest.raises(TypeError, match="axpy takes 3 to 4 arguments, but got 1"):
        function(torch.ones(64))


def test_given_to_tvm_ffi(tmp_path):
    """A function that was compiled without the option, and one that was loaded, become functions of TVM's FFI."""
    tvm_ffi = pytest.importorskip("tvm_ffi")
    compiled = cute.compile(axpy, fake(cute.sym_int()), fake(4), Float32(1), cute.runtime.make_fake_stream())
    compiled.export_to_c(tmp_path / "axpy.o")
    for function in (compiled, cute.runtime.load_module(tmp_path / "axpy.o").axpy):
        known = function.__tvm_ffi_object__()
        assert isinstance(known, tvm_ffi.Function)
        assert function.__tvm_ffi_object__() is known
        with pytest.raises(TypeError, match="axpy: x: expected a tensor, but got a value of TVM's type 1"):
            known(1, 2, 3.0)
