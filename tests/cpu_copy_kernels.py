"""kernels/tiled_copy.cuh made into functions of the CPU by the C++ compiler: every CTA, thread by thread.

The two halves of a staged copy are run one after the other, each by all threads, which is what the barrier between them
stands for. The accesses that the kernels spell in PTX become assignments, which also look at the address's alignment.
"""

from __future__ import annotations

import ctypes
import re
import subprocess

from cpu_device import COMPILER
from tilewright._runtime.discovery import kernels_folder

PRELUDE = r"""
#include <cstring>
#define __device__
#define __global__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
static struct { unsigned x; } threadIdx, blockIdx;
static void __syncthreads() {}
template <class T> static T __ldca(const T* from) { return *from; }
template <class T> static T __ldcs(const T* from) { return *from; }
static unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned long long>(a) * b >> 32; }
static unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
static unsigned long long __cvta_generic_to_global(const void* p) { return reinterpret_cast<unsigned long long>(p); }
static unsigned long long __cvta_generic_to_shared(const void* p) { return reinterpret_cast<unsigned long long>(p); }
template <int kBytes> struct Chunk { char at[kBytes]; };
static int misaligned = 0;
template <class Access, class T> static Access* aligned(T* p) {
  misaligned += reinterpret_cast<unsigned long long>(p) % sizeof(Access) != 0;
  return reinterpret_cast<Access*>(p);
}
"""

RUN = r"""
alignas(1024) static char bytes_shared[1 << 18];

template <class Copy, class Each> static void each_thread(Each each) {
  for (threadIdx.x = 0; threadIdx.x < Copy::kThreads; ++threadIdx.x) each();
}
template <class Copy> static typename Copy::Params& read_params(const char* bytes) {
  static typename Copy::Params params;
  std::memcpy(static_cast<void*>(&params), bytes, sizeof params);
  return params;
}
template <class Copy> static void run_direct(const char* bytes, unsigned ctas) {
  const auto& params = read_params<Copy>(bytes);
  for (blockIdx.x = 0; blockIdx.x < ctas; ++blockIdx.x) each_thread<Copy>([&] { Copy::run(params); });
}
template <class Copy> static void run_staged(const char* bytes, unsigned ctas) {
  const auto& params = read_params<Copy>(bytes);
  auto* shared = reinterpret_cast<typename Copy::T*>(bytes_shared);
  for (blockIdx.x = 0; blockIdx.x < ctas; ++blockIdx.x) {
    std::memset(bytes_shared, 0xcd, sizeof bytes_shared);
    each_thread<Copy>([&] { Copy(params, shared).load_tile(); });
    each_thread<Copy>([&] { Copy(params, shared).store_tile(); });
  }
}
extern "C" int run(int index, const char* bytes, unsigned ctas) {
  using Run = void (*)(const char*, unsigned);
  static const Run table[] = {ENTRIES};
  misaligned = 0;
  table[index](bytes, ctas);
  return misaligned;
}
"""


def without_ptx(text: str) -> str:
    """A header whose instructions are assignments."""

    def assignment(found: re.Match[str]) -> str:
        instruction = re.search(r'"([\w.]+)', found[1])[1]
        if instruction.startswith("st."):
            return "*reinterpret_cast<Access*>(to) = word;"
        if instruction == "cp.async.wait_all":
            return ""
        assert instruction.startswith("cp.async.c"), f"{instruction}: no assignment stands for it"
        return "*aligned<Chunk<kBytes>>(to) = *aligned<const Chunk<kBytes>>(from);"

    text = re.sub(r"asm volatile\((.*?)\);(?=\s*[\n}])", assignment, text, flags=re.DOTALL)
    return re.sub(r"reinterpret_cast<(const )?Access\*>\((to|from)\)", r"aligned<\1Access>(\2)", text)


class CopyKernels:
    """The kernels of plans, compiled together."""

    def __init__(self, plans, folder):
        for file in kernels_folder().rglob("*.cuh"):
            copy = folder / file.relative_to(kernels_folder())
            copy.parent.mkdir(exist_ok=True)
            copy.write_text(without_ptx(file.read_text(encoding="utf-8")))
        self.index = {name: i for i, name in enumerate(dict.fromkeys(plan.name for plan in plans))}
        entries = ",\n".join(re.sub(r"^copy_(\w+)<", r"&run_\1<", name) for name in self.index)
        source, library = folder / "copies.cpp", folder / "copies.so"
        source.write_text(PRELUDE + '#include "tiled_copy.cuh"\n' + RUN.replace("ENTRIES", entries))
        command = [COMPILER, "-std=c++20", "-O1", "-shared", "-fPIC", "-w", "-fpermissive", f"-I{folder}", str(source)]
        subprocess.run([*command, "-o", str(library)], check=True)
        self.run = ctypes.CDLL(str(library)).run

    def copy(self, plan, src, dst):
        """Run a plan's kernel on torch's tensors; no access may be misaligned."""
        from tilewright.kernels.copy_problem import operand

        a, b = operand(src, "copy", "src"), operand(dst, "copy", "dst")
        p = plan.problem
        addresses = [x.address + d * p.element_bytes for x, d in ((a, p.src_offset), (b, p.dst_offset))]
        misaligned = self.run(self.index[plan.name], plan.params(*addresses, a.reach()), plan.ctas)
        assert misaligned == 0, f"{misaligned} accesses are misaligned"
