"""Exported functions on a GPU: run by C programs without Python, and loaded in Python, beside torch."""

from __future__ import annotations

import ctypes
import runpy
import shutil
import subprocess

import numpy as np
import pytest

from places import ROOT
from tilewright import Float32, _core, cute
from tilewright.cute.runtime import make_fake_compact_tensor, make_fake_stream

torch = pytest.importorskip("torch")

cc = shutil.which("cc") or "gcc"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    if i < cute.size(c):
        c[i] = a[i] + b[i]


@cute.jit
def add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, stream):
    grid = [cute.ceil_div(cute.size(c), 128), 1, 1]
    add_kernel(a, b, c).launch(grid=grid, block=[128, 1, 1], stream=stream)


def fake(*shape, order):
    extents = [cute.sym_int(divisibility=x) for x in shape]
    return make_fake_compact_tensor(Float32, extents, stride_order=order, assumed_align=16)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder with add and gemm, as objects and in one library."""
    folder = tmp_path_factory.mktemp("exported")
    vectors = [fake(1, order=(0,)) for _ in range(3)]
    cute.compile(add, *vectors, make_fake_stream()).export_to_c(folder, "add", "add")
    gemm = runpy.run_path(str(ROOT / "examples/article_gemm.py"))["gemm"]
    matrices = fake(1, 1, order=(1, 0)), fake(4, 1, order=(0, 1)), fake(1, 1, order=(1, 0))
    cute.compile(gemm, *matrices).export_to_c(folder, "gemm", "gemm")
    subprocess.run([cc, "-shared", "-o", "both.so", "add.o", "gemm.o"], cwd=folder, check=True)
    return folder


MAIN = """
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include "add.h"
#include "gemm.h"
typedef unsigned long long address;
#define CHECK(call) do { int e = (call); if (e) { \\
  fprintf(stderr, "%s: %d %s%s\\n", #call, e, add_error(), gemm_error()); \\
  exit(1); } } while (0)
static int (*allocate)(address *, size_t), (*to_device)(address, const void *, size_t);
static int (*to_host)(void *, address, size_t), (*synchronize)(void);
static void *device(const char *path, size_t floats) {
  address memory;
  float *host = calloc(floats, 4);
  FILE *file = fopen(path, "rb");
  if (file == NULL || fread(host, 4, floats, file) != floats) exit(2);
  fclose(file);
  CHECK(allocate(&memory, 4 * floats));
  CHECK(to_device(memory, host, 4 * floats));
  free(host);
  return (void *)(size_t)memory;
}
static void save(const char *path, void *memory, size_t floats) {
  float *host = calloc(floats, 4);
  FILE *file = fopen(path, "wb");
  CHECK(synchronize());
  CHECK(to_host(host, (size_t)memory, 4 * floats));
  fwrite(host, 4, floats, file);
  fclose(file);
}
int main(int count, char **words) {
  const int m = atoi(words[1]), n = atoi(words[2]), k = atoi(words[3]);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  add_Kernel_Module_t adds;
  gemm_Kernel_Module_t gemms;
  (void)count;
  *(void **)&allocate = dlsym(driver, "cuMemAlloc_v2");
  *(void **)&to_device = dlsym(driver, "cuMemcpyHtoD_v2");
  *(void **)&to_host = dlsym(driver, "cuMemcpyDtoH_v2");
  *(void **)&synchronize = dlsym(driver, "cuCtxSynchronize");
  CHECK(add_Kernel_Module_Load(&adds));
  CHECK(gemm_Kernel_Module_Load(&gemms));
  const gemm_Tensor_mA_t a = {device("a", m * k), {m, k}, {k}};
  const gemm_Tensor_mB_t b = {device("b", n * k), {n, k}, {n}};
  const gemm_Tensor_mC_t c = {device("c", m * n), {m, n}, {n}};
  CHECK(cute_dsl_gemm_wrapper(&gemms, &a, &b, &c));
  save("product", c.data, m * n);
  const add_Tensor_a_t x = {c.data, {m * n}};
  const add_Tensor_b_t y = {c.data, {m * n}};
  const add_Tensor_c_t z = {device("c", m * n), {m * n}};
  CHECK(cute_dsl_add_wrapper(&adds, &x, &y, &z, NULL));
  save("sum", z.data, m * n);
  CHECK(add_Kernel_Module_Unload(&adds));
  CHECK(gemm_Kernel_Module_Unload(&gemms));
  return 0;
}
"""


def problem(m, n, k, device="cuda"):
    torch.manual_seed(m)
    a, b = torch.randn(m, k, device=device), torch.randn(k, n, device=device).T  # (N, K), N innermost
    return a, b, torch.full((m, n), float("nan"), device=device)


@pytest.mark.parametrize("shape", [(128, 128, 16), (150, 132, 20), (1, 4, 3)])
def test_a_program_without_python(exported, shape):
    (exported / "main.c").write_text(MAIN)
    subprocess.run([cc, "-o", "main", "main.c", "add.o", "gemm.o", "-ldl"], cwd=exported, check=True)
    a, b, c = problem(*shape, "cpu")
    for name, tensor in (("a", a), ("b", b.T), ("c", c)):
        tensor.numpy().tofile(exported / name)
    subprocess.run([exported / "main", *map(str, shape)], cwd=exported, check=True)
    product = torch.from_numpy(np.fromfile(exported / "product", np.float32)).reshape(c.shape)
    torch.testing.assert_close(product, (a.double() @ b.double().T).float(), rtol=1e-4, atol=1e-4)
    total = torch.from_numpy(np.fromfile(exported / "sum", np.float32)).reshape(c.shape)
    torch.testing.assert_close(total, product + product, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["objects", "library"])
def test_loaded_in_python(exported, name):
    paths = ["add.o", "gemm.o"] if name == "objects" else ["both.so", "both.so"]
    modules = [cute.runtime.load_module(exported / path) for path in paths]
    for shape in ((128, 128, 16), (150, 132, 20), (256, 64, 8)):
        a, b, c = problem(*shape)
        modules[1].gemm(a, b, c)
        torch.testing.assert_close(c, (a.double() @ b.double().T).float(), rtol=1e-4, atol=1e-4)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        total = torch.empty_like(c).flatten()
        modules[0].add(c.flatten(), c.flatten(), total, stream)
        stream.synchronize()
        torch.testing.assert_close(total, (c + c).flatten(), rtol=0, atol=0)
    with pytest.raises(ValueError, match="but the function was compiled for"):
        modules[1].gemm(a.T.contiguous().T, b, c)


@pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9, reason="wgmma is Hopper's"
)
def test_a_gemm_by_tma_called_from_c(tmp_path):
    """The library makes its own tensor maps, of other memory at each call."""
    gemm = runpy.run_path(str(ROOT / "examples/gemm_tma_wgmma.py"))["gemm"]
    shapes = ((384, 192), (256, 192), (384, 256))  # A (M,K), B (N,K), C (M,N)
    tensors = [cute.runtime.from_dlpack(torch.empty(x, dtype=torch.bfloat16), assumed_align=16) for x in shapes]
    compiled = cute.compile(gemm, *tensors, 66, options="--gpu-arch sm_90a")
    _, made = compiled.export_to_c(tmp_path, "gemm", "gemm")
    subprocess.run([cc, "-shared", "-o", tmp_path / "gemm.so", made], check=True)
    library = ctypes.CDLL(str(tmp_path / "gemm.so"))
    library.gemm_error.restype = ctypes.c_char_p
    module = (ctypes.c_void_p * 16)()
    torch.cuda.init()
    assert library.gemm_Kernel_Module_Load(module) == 0, library.gemm_error()
    for seed in range(2):
        torch.manual_seed(seed)
        a, b = (torch.randn(x, device="cuda").bfloat16() for x in shapes[:2])
        c = torch.full(shapes[2], float("nan"), device="cuda").bfloat16()
        torch.cuda.synchronize()
        structs = [(ctypes.c_void_p * 1)(x.data_ptr()) for x in (a, b, c)]
        assert library.cute_dsl_gemm_wrapper(module, *structs) == 0, library.gemm_error()
        torch.cuda.synchronize()
        torch.testing.assert_close(c, (a.double() @ b.double().T).bfloat16(), rtol=1e-2, atol=1e-3)
    assert library.gemm_Kernel_Module_Unload(module) == 0


def test_called_by_tvm_ffi(tmp_path):
    tvm_ffi = pytest.importorskip("tvm_ffi")
    vectors = [fake(1, order=(0,)) for _ in range(3)]
    compiled = cute.compile(add, *vectors, make_fake_stream(), options="--enable-tvm-ffi")
    compiled.export_to_c(tmp_path / "add.o", function_name="add")
    libraries = cute.runtime.find_runtime_libraries(enable_tvm_ffi=True)
    subprocess.run([cc, "-shared", "-o", tmp_path / "add.so", tmp_path / "add.o", *libraries], check=True)
    function = tvm_ffi.load_module(str(tmp_path / "add.so")).add
    a, b, c = (torch.randn(1000, device="cuda") for _ in range(3))
    function(a, b, c, torch.cuda.current_stream())
    torch.testing.assert_close(c, a + b, rtol=0, atol=0)
    with pytest.raises(TypeError, match="expected elements of DLPack's type 2 with 32 bits"):
        function(a.double(), b, c)
