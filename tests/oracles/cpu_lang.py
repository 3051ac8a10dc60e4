"""Kernels of traced programs as functions of the CPU: their CUDA C++ and the device library, compiled for the host.

Threads of a block are fibers that take turns between barriers, as in cpu_ptx. In what the lanes
of a warp exchange, all threads of the block have to take part. Arithmetic that C++ leaves undefined is written to
stderr.
"""

from __future__ import annotations

import ctypes
import re
import subprocess

import numpy as np

import cpu_matrices
import cpu_ptx
from tilewright._core import program as core

PRELUDE = r"""
#include <cfenv>
#include <cstdio>
#define __align__(bytes) alignas(bytes)
#undef __global__
#define __global__
static struct { unsigned x, y, z; } blockDim, gridDim;
template <class T> static T min(T x, T y) { return y < x ? y : x; }
template <class T> static T max(T x, T y) { return x < y ? y : x; }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
template <class To, class From> static To saturated(From x) {
  if (x != x) return 0;
  constexpr auto least = std::numeric_limits<To>::min(), most = std::numeric_limits<To>::max();
  if (x <= static_cast<From>(least)) return least;
  if (x >= static_cast<From>(most)) return most;
  return static_cast<To>(x);
}
static int __float2int_rz(float x) { return saturated<int>(x); }
static unsigned __float2uint_rz(float x) { return saturated<unsigned>(x); }
static long long __float2ll_rz(float x) { return saturated<long long>(x); }
static unsigned long long __float2ull_rz(float x) { return saturated<unsigned long long>(x); }
static int __double2int_rz(double x) { return saturated<int>(x); }
static unsigned __double2uint_rz(double x) { return saturated<unsigned>(x); }
static long long __double2ll_rz(double x) { return saturated<long long>(x); }
static unsigned long long __double2ull_rz(double x) { return saturated<unsigned long long>(x); }
template <class T> static float toward_zero(T x) {
  const float nearest = static_cast<float>(x);
  const bool is_beyond = x < 0 ? static_cast<long double>(nearest) < x : static_cast<long double>(nearest) > x;
  return is_beyond ? std::nextafter(nearest, 0.0f) : nearest;
}
static float __ll2float_rz(long long x) { return toward_zero(x); }
static float __ull2float_rz(unsigned long long x) { return toward_zero(x); }
static float rsqrtf(float x) { return 1 / std::sqrt(x); }
static double rsqrt(double x) { return 1 / std::sqrt(x); }
#define __expf(x) std::exp(float(x))
#define __logf(x) std::log(float(x))
#define __log2f(x) std::log2(float(x))
#define __log10f(x) std::log10(float(x))
#define __sinf(x) std::sin(float(x))
#define __cosf(x) std::cos(float(x))
#define __tanf(x) std::tan(float(x))
static void* __cvta_shared_to_generic(unsigned address) { return shared_memory + address; }
// Integers wrap around, as on a GPU.
template <class T, class U> static T atomicAdd(T* p, U x) {
  T sum;
  if constexpr (std::is_integral_v<T>) __builtin_add_overflow(*p, T(x), &sum);
  else sum = *p + x;
  return std::exchange(*p, sum);
}
template <class T, class U> static T atomicMin(T* p, U x) { return std::exchange(*p, min(*p, T(x))); }
template <class T, class U> static T atomicMax(T* p, U x) { return std::exchange(*p, max(*p, T(x))); }
template <class T, class U> static T atomicAnd(T* p, U x) { return std::exchange(*p, *p & x); }
template <class T, class U> static T atomicOr(T* p, U x) { return std::exchange(*p, *p | x); }
template <class T, class U> static T atomicXor(T* p, U x) { return std::exchange(*p, *p ^ x); }
template <class T, class U> static T atomicExch(T* p, U x) { return std::exchange(*p, T(x)); }
template <class T, class U, class V> static T atomicCAS(T* p, U expected, V x) {
  return std::exchange(*p, *p == T(expected) ? T(x) : *p);
}
#define atomicAdd_system atomicAdd
#define atomicMin_system atomicMin
#define atomicMax_system atomicMax
static void __threadfence_system() {}
static void __threadfence_block() {}
// Every thread puts its value, and takes those of others when all have.
static unsigned thread_number() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
static unsigned long long exchanged[1024];
template <class T, class F> static auto exchange(T x, F take) {
  std::memset(&exchanged[thread_number()], 0, 8);
  std::memcpy(&exchanged[thread_number()], &x, sizeof x);
  __syncthreads();
  const auto found = take([first = thread_number() / 32 * 32](unsigned lane) {
    T other;
    std::memcpy(&other, &exchanged[first + lane], sizeof other);
    return other;
  });
  __syncthreads();
  return found;
}
static int lane() { return thread_number() % 32; }
template <class T> static T taken(T x, int from) {
  return exchange(x, [&](auto of) { return from < 0 || from > 31 ? x : of(from); });
}
template <class T> static T __shfl_sync(unsigned, T x, int from) { return taken(x, from); }
template <class T> static T __shfl_up_sync(unsigned, T x, int by) { return taken(x, lane() - by); }
template <class T> static T __shfl_down_sync(unsigned, T x, int by) { return taken(x, lane() + by); }
template <class T> static T __shfl_xor_sync(unsigned, T x, int by) { return taken(x, lane() ^ by); }
template <class T, class F> static T reduced(T x, F join) {
  return exchange(x, [&](auto of) {
    T found = of(0);
    for (int i = 1; i < 32; ++i) found = join(found, of(i));
    return found;
  });
}
static unsigned __ballot_sync(unsigned, int x) {
  return exchange(x, [](auto of) {
    unsigned found = 0;
    for (int i = 0; i < 32; ++i) found |= unsigned(of(i) != 0) << i;
    return found;
  });
}
static int __any_sync(unsigned, int x) { return __ballot_sync(~0u, x) != 0; }
static int __all_sync(unsigned, int x) { return __ballot_sync(~0u, x) == ~0u; }
template <class T> static T __reduce_add_sync(unsigned, T x) {
  return reduced(x, [](T a, T b) { return T(unsigned(a) + unsigned(b)); });
}
template <class T> static T __reduce_min_sync(unsigned, T x) { return reduced(x, [](T a, T b) { return min(a, b); }); }
template <class T> static T __reduce_max_sync(unsigned, T x) { return reduced(x, [](T a, T b) { return max(a, b); }); }
static unsigned __reduce_and_sync(unsigned, unsigned x) { return reduced(x, [](auto a, auto b) { return a & b; }); }
static unsigned __reduce_or_sync(unsigned, unsigned x) { return reduced(x, [](auto a, auto b) { return a | b; }); }
static unsigned __reduce_xor_sync(unsigned, unsigned x) { return reduced(x, [](auto a, auto b) { return a ^ b; }); }
static int traps = 0;
static void __trap() { ++traps; }
static void __syncwarp(unsigned = ~0u) {}
static long long clock64() { return 42; }
namespace ptx {
static void sqrt_approx_ftz_f32(float& to, float from) { to = std::sqrt(from); }
static void rsqrt_approx_ftz_f32(float& to, float from) { to = 1 / std::sqrt(from); }
static void prmt_b32(unsigned& result, unsigned a, unsigned b, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(b) << 32 | a;
  result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned which = selector >> 4 * i & 15, byte = both >> 8 * (which & 7) & 255;
    result |= (which & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * i;
  }
}
static void neg_s32(int& to, int from) { to = static_cast<int>(0u - static_cast<unsigned>(from)); }
static void tanh_approx_f32(float& to, float from) { to = std::tanh(from); }
static void fence_acq_rel_gpu() {}
static void fence_acq_rel_cta() {}
static void fence_acq_rel_sys() {}
// One thread runs at a time: what orders others' accesses has nothing to order.
#define MESSAGE(kName, kFunction) \
  template <class T, class P, class V> static void kName(T& old, P* at, V x) { old = kFunction(at, x); }
#define OF_BITS(kHow, kBits)                             \
  MESSAGE(atom_##kHow##_global_add_u##kBits, atomicAdd)  \
  MESSAGE(atom_##kHow##_global_add_f##kBits, atomicAdd)  \
  MESSAGE(atom_##kHow##_global_min_s##kBits, atomicMin)  \
  MESSAGE(atom_##kHow##_global_min_u##kBits, atomicMin)  \
  MESSAGE(atom_##kHow##_global_max_s##kBits, atomicMax)  \
  MESSAGE(atom_##kHow##_global_max_u##kBits, atomicMax)  \
  MESSAGE(atom_##kHow##_global_and_b##kBits, atomicAnd)  \
  MESSAGE(atom_##kHow##_global_or_b##kBits, atomicOr)    \
  MESSAGE(atom_##kHow##_global_xor_b##kBits, atomicXor)  \
  MESSAGE(atom_##kHow##_global_exch_b##kBits, atomicExch)
#define OF_SCOPE(kOrder, kScope) OF_BITS(kOrder##_##kScope, 32) OF_BITS(kOrder##_##kScope, 64)
#define OF_ORDER(kOrder) OF_SCOPE(kOrder, cta) OF_SCOPE(kOrder, gpu) OF_SCOPE(kOrder, sys)
OF_ORDER(acquire) OF_ORDER(release) OF_ORDER(acq_rel)
static void bar_sync(int, int) { __syncthreads(); }
}
"""

# In place of the header of the same name, which is PTX.
SPECIAL = """
#pragma once
static int dynamic_smem_size() { return 0; }
static bool elect_one() { return lane() == 0; }
"""

RUN = r"""
static void* const* arguments;
extern "C" int run_NAME(const unsigned* grid, const unsigned* block, void* const* given) {
  arguments = given;
  traps = 0;
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  for (blockIdx.z = 0; blockIdx.z < grid[2]; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; ++blockIdx.x)
        if (!run_cta(block[0] * block[1] * block[2], [] { NAME(ARGUMENTS); })) return -1;
  return traps;
}
"""

SIGNATURE = re.compile(r'extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\((.*)\) \{')


def host_text(source: str) -> str:
    """A kernel's text as host C++."""
    text = cpu_ptx.with_calls(source)
    return re.sub(r"extern __shared__ \S+ uint8 (\w+)\[\];", r"uint8* \1 = (uint8*)shared_memory;", text)


UNDEFINED = "-fsanitize=signed-integer-overflow,shift,integer-divide-by-zero,bounds,alignment"


class HostKernels:
    """All kernels of programs, compiled together; their names must differ, unless they are numbered."""

    def __init__(self, programs, folder, *, numbered=False, options=("-O1", UNDEFINED)) -> None:
        self.parameters, texts = {}, []
        for program in programs:
            for index, function in enumerate(program.functions):
                if not function.is_kernel:
                    continue
                source = core.cuda_source(program, index, "none")
                if numbered:
                    source = SIGNATURE.sub(lambda x: x[0].replace(f"{x[1]}(", f"{x[1]}_{len(texts)}("), source)
                found = SIGNATURE.search(source)
                name, parameters = found[1], [x for x in found[2].split(", ") if x]
                types = [re.sub(r" ?\w+$", "", x) for x in parameters]
                self.parameters[name] = types
                taken = ", ".join(f"*({t}*)arguments[{i}]" for i, t in enumerate(types))
                run = RUN.replace("NAME", name).replace("ARGUMENTS", taken)
                texts.append(host_text(source) + run.replace("static void* const* arguments;\n", ""))
        code = PRELUDE + cpu_matrices.PTX + "static void* const* arguments;\n" + "\n".join(texts)
        for name in re.findall(r'#include "(tilewright/.*?)"', code):
            cpu_ptx.rewritten(name.removesuffix(".cuh"), folder)
        (folder / "tilewright" / "lang_special.cuh").write_text(SPECIAL)
        self.library = self._compiled(code, folder, options)

    def _compiled(self, code, folder, options):
        source, library = folder / "lang.cpp", folder / "lang.so"
        prelude = cpu_ptx.PRELUDE.replace("static struct { unsigned x; } threadIdx, blockIdx;",
                                          "static struct { unsigned x, y, z; } threadIdx, blockIdx;")  # fmt: skip
        prelude = prelude.replace("threadIdx.x = i;", "set_thread(i);")
        run_cta = "static bool run_cta(unsigned threads"
        prelude = prelude.replace(run_cta, f"static void set_thread(unsigned);\n{run_cta}")
        prelude = prelude.replace("static unsigned min(unsigned x, unsigned y) { return x < y ? x : y; }\n", "")
        source.write_text("#define __CUDA_ARCH__ 800\n#include <limits>\n" + prelude + code + SET_THREAD)
        command = [
            cpu_ptx.COMPILER,
            "-std=c++20",
            "-shared",
            "-fPIC",
            "-w",
            "-ffp-contract=off",
            *options,
            f"-I{folder}",
        ]
        done = subprocess.run([*command, str(source), "-o", str(library)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
        return ctypes.CDLL(str(library))

    def __call__(self, name, *arguments, grid=(1, 1, 1), block=(1, 1, 1)) -> int:
        """Run a kernel on NumPy arrays (their memory) and NumPy scalars; how often it trapped."""
        assert len(arguments) == len(self.parameters[name]), (name, self.parameters[name])
        kept, pointers = [], (ctypes.c_void_p * max(len(arguments), 1))()
        for i, x in enumerate(arguments):
            value = np.array([x.ctypes.data], np.uint64) if isinstance(x, np.ndarray) else np.array([x])
            kept.append(value)
            pointers[i] = value.ctypes.data
        three = [(ctypes.c_uint * 3)(*(*x, 1, 1)[:3]) for x in (grid, block)]
        traps = getattr(self.library, f"run_{name}")(*three, pointers)
        assert traps >= 0, f"{name}: some threads wait at a barrier that others never reach"
        return traps


SET_THREAD = """
static void set_thread(unsigned i) {
  threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / blockDim.x / blockDim.y};
}
"""
