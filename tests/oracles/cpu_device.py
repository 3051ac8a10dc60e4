"""A CUDA device made of the C++ compiler: a kernel's own source, run block by block and thread by thread.

Kernels whose threads wait for each other to write something cannot run here; those that only take turns can.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess

from tilewright import _core

COMPILER = shutil.which("g++") or shutil.which("c++")

PRELUDE = r"""
#include <cstdio>
#include <cstring>
#define __device__
#define __global__ static
#define __launch_bounds__(threads)
#define __grid_constant__
// The one instruction that kernels write by hand: cvt.f32.f16.
#define asm(...) value = from_half(word)
static struct { unsigned x; } threadIdx, blockIdx, blockDim;
static void __syncthreads() {}
static float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
static double __longlong_as_double(long long bits) { return __builtin_bit_cast(double, bits); }
static float from_half(unsigned bits) {
  const unsigned magnitude = (bits & 0x7fff) << 13, sign = (bits & 0x8000) << 16;
  if (magnitude >= 0x0f800000) return __uint_as_float(magnitude | 0x7f800000 | sign);
  return __uint_as_float(__builtin_bit_cast(unsigned, __uint_as_float(magnitude) * 0x1p112f) | sign);
}
"""

RUN = r"""
template <class Params>
static bool run_kernel(void (*kernel)(Params), const char* bytes, unsigned size, unsigned blocks, unsigned threads) {
  if (size != sizeof(Params)) return false;
  Params params;
  std::memcpy(&params, bytes, size);
  blockDim.x = threads;
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) kernel(params);
  }
  return true;
}
extern "C" bool run(const char* bytes, unsigned size, unsigned blocks, unsigned threads) {
  return run_kernel(KERNEL, bytes, size, blocks, threads);
}
"""


COMPILED = {}  # by name


def compile_kernel(source, name, folder):
    """The kernel `name` of a source, as a function of a launch's arguments."""
    from tilewright.runtime.discovery import kernels_folder

    code, library = (folder / f"kernel{len(COMPILED)}.{suffix}" for suffix in ("cpp", "so"))
    code.write_text(PRELUDE + source + RUN.replace("KERNEL", name))
    command = [COMPILER, "-std=c++20", "-O1", "-shared", "-fPIC", "-w", f"-I{kernels_folder()}", str(code)]
    subprocess.run([*command, "-o", str(library)], check=True)
    run = ctypes.CDLL(str(library)).run
    run.restype = ctypes.c_bool

    def launch(blocks, threads, params):
        assert run(params, len(params), blocks, threads), f"{name}: {len(params)} bytes are not its parameter"

    return launch


class CpuDevice:
    """Stands for the driver: kernels run on the CPU, over memory that only claims to be a GPU's."""

    def __init__(self, monkeypatch, folder):
        self.launches = []

        def launch(name, device, blocks, threads, params):
            if name not in COMPILED:
                from tilewright.kernels.visualize.kernel import VISUALIZE_TV

                COMPILED[name] = compile_kernel(VISUALIZE_TV.text, name, folder)
            self.launches.append((name, device, blocks, threads))
            COMPILED[name](blocks, threads, params)

        monkeypatch.setattr("tilewright.kernels.visualize.device._launch", launch)
        monkeypatch.setattr(_core.cuda, "driver_path", lambda: "the C++ compiler")
        monkeypatch.setattr(_core.cuda, "allocate_pinned", lambda device, size: _core.Memory.allocate(size, 64))


class OnDevice:
    """A host tensor as an array of CUDA memory: its DLPack capsule says so, and the memory is where it was."""

    def __init__(self, tensor, device=(2, 0)):
        self.tensor = tensor
        self.device = device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None):
        capsule = self.tensor.__dlpack__(max_version=(1, 0))
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        address = pointer(capsule, b"dltensor_versioned")
        # version, context, deleter and flags, and the data pointer, come before the device
        ctypes.memmove(address + 40, bytes(ctypes.c_int32(self.device[0])) + bytes(ctypes.c_int32(self.device[1])), 8)
        return capsule
