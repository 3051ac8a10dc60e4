"""Runs a kernel with a bug that one of compute-sanitizer's tools is to report: planted.py TOOL [gemm].

scripts/gpu_check.sh runs each under its tool: a clean run of the tests says something only where this one is not clean.
The memory comes from the driver itself, so that the tools know where each block ends and what was written there.
"""

from __future__ import annotations

import ctypes
import struct
import sys

import numpy as np

from tilewright import Float32, _core, kernels
from tilewright.devices import DeviceFacts
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.simt import build as gemm_simt
from tilewright.runtime.compiler import compile_program, kernel
from tilewright.runtime.device import arch_of
from tilewright.runtime.discovery import kernels_folder

DEVICE = 0
COUNT = 64 * 64  # elements of 4 bytes
BLOCK = COUNT + 1  # elements of a block of memory: its end is not where the driver could have put another block
BARRIER = "  __syncthreads();\n"
GEMM_BARRIER = "cp_async_wait<kPending>();\n    __syncthreads();\n"  # of the main loop
SOURCE = """
struct Params { const unsigned* src; unsigned* dst; };

// One thread writes behind the end of dst.
extern "C" __global__ void tilewright_memcheck(const __grid_constant__ Params p) {
  if (threadIdx.x == 0) p.dst[BLOCK] = p.src[0];
}

// src was never written.
extern "C" __global__ void tilewright_initcheck(const __grid_constant__ Params p) {
  p.dst[threadIdx.x] = p.src[threadIdx.x];
}

// A quarter of the threads goes past the barrier.
extern "C" __global__ void tilewright_synccheck(const __grid_constant__ Params p) {
  __shared__ unsigned shared[64];
  shared[threadIdx.x] = p.src[threadIdx.x];
  if (threadIdx.x < 48) {
    shared[threadIdx.x] += 1;
    __syncthreads();
  }
  p.dst[threadIdx.x] = shared[threadIdx.x];
}
""".replace("BLOCK", str(BLOCK))


def allocate(driver: ctypes.CDLL, *, written: bool) -> int:
    """A block of the device's memory."""
    address = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * BLOCK)) == 0
    if written:
        assert driver.cuMemsetD32_v2(address, ctypes.c_uint(7), ctypes.c_size_t(BLOCK)) == 0
    return address.value


def small(tool: str, src: int, dst: int) -> None:
    """A kernel of SOURCE."""
    program = compile_program("planted", [], arch_of(DEVICE), source=SOURCE)
    function = _core.cuda.load(DEVICE, program.cubin).function(f"tilewright_{tool}")
    function.launch((1, 1, 1), (64, 1, 1), 0, 0, struct.pack("<2Q", src, dst))


def racecheck(src: int, dst: int) -> None:
    """The staged copy, which reads what other threads put into shared memory, without the barrier in between."""
    matrix = np.zeros((64, 64), np.float32)
    plan = kernels.tiled_copy.plan(matrix, np.empty((64, 64), np.float32).T)
    assert plan.kernel == "staged", plan
    text = (kernels_folder() / "tiled_copy.cuh").read_text(encoding="utf-8")
    assert text.count(BARRIER) == 1, "the staged copy's barrier has changed"
    headers = {"tiled_copy.cuh": text.replace(BARRIER, "")}
    program = compile_program("tiled_copy", [plan.name], arch_of(DEVICE), headers=headers)
    params = plan.params(src, dst, (src, src + 4 * COUNT))
    function = kernel(program, plan.name, DEVICE)
    function.launch((plan.ctas, 1, 1), (plan.threads, 1, 1), plan.shared_bytes, 0, params)


def gemm(tool: str, src: int, dst: int) -> None:
    """A GEMM that writes a row behind the end of C, reads an A that was never written, or lacks a barrier."""
    rows = 65 if tool == "memcheck" else 64
    properties = _core.cuda.device(DEVICE)
    major, minor = properties["compute_capability"]
    facts = DeviceFacts(
        properties["name"], 10 * major + minor, properties["multiprocessors"], properties["shared_per_block_optin"]
    )
    plan = gemm_simt.choose(problem_of(rows, 64, 32, Float32), (16, 16, 16), facts)
    headers = {}
    if tool == "racecheck":
        text = (kernels_folder() / "gemm_simt.cuh").read_text(encoding="utf-8")
        assert text.count(GEMM_BARRIER) == 1, "the barrier of gemm_simt's main loop has changed"
        headers = {"gemm_simt.cuh": text.replace(GEMM_BARRIER, "cp_async_wait<kPending>();\n")}
    program = compile_program("gemm_simt", [plan.name], arch_of(DEVICE), headers=headers)
    function = kernel(program, plan.name, DEVICE)
    function.set_dynamic_shared(plan.shared_bytes)
    function.launch(plan.grid(), (plan.threads, 1, 1), plan.shared_bytes, 0, plan.params(src, src, dst))


def main(tool: str, of_gemm: bool) -> None:
    driver = ctypes.CDLL("libcuda.so.1")
    context, device = ctypes.c_void_p(), ctypes.c_int()
    assert driver.cuInit(0) == 0
    assert driver.cuDeviceGet(ctypes.byref(device), DEVICE) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    src, dst = allocate(driver, written=tool != "initcheck"), allocate(driver, written=True)
    assert driver.cuCtxSynchronize() == 0
    if of_gemm:
        gemm(tool, src, dst)
    elif tool == "racecheck":
        racecheck(src, dst)
    else:
        small(tool, src, dst)
    driver.cuCtxSynchronize()  # an error of the kernel is the tool's to report
    print(f"the {'GEMM' if of_gemm else 'kernel'} planted for {tool} has run")


if __name__ == "__main__":
    tool, *rest = sys.argv[1:] or [""]
    if tool not in ("memcheck", "racecheck", "initcheck", "synccheck") or rest not in ([], ["gemm"]):
        raise SystemExit("usage: planted.py memcheck|racecheck|initcheck|synccheck [gemm]")
    main(tool, bool(rest))
