"""kernels/tiled_copy.cuh made into functions of the CPU by the C++ compiler: every CTA, thread by thread."""

from __future__ import annotations

import ctypes
import re

from cpu_ptx import compile_library, rewritten

LOADS = r"""
namespace ptx {
static void ld_shared(void* to, unsigned from, int bytes) {
  ld(to, reinterpret_cast<unsigned long long>(shared_memory + from), bytes);
}
static void ld_shared_v4_b32(unsigned& x, unsigned& y, unsigned& z, unsigned& w, unsigned from) {
  unsigned words[4];
  ld_shared(words, from, 16);
  x = words[0], y = words[1], z = words[2], w = words[3];
}
static void ld_shared_v2_b32(unsigned& x, unsigned& y, unsigned from) {
  ld_shared(&x, from, 4), ld_shared(&y, from + 4, 4);
  misaligned += from % 8 != 0;
}
static void ld_shared_b32(unsigned& x, unsigned from) { ld_shared(&x, from, 4); }
static void ld_shared_b16(unsigned short& x, unsigned from) { ld_shared(&x, from, 2); }
template <class... Words> static void put(int made, unsigned to, Words... word) {
  const unsigned words[] = {word...};
  if (made) st(shared_memory + to, words, sizeof words);
}
static void if_st_shared_v4_b32(int made, unsigned to, unsigned x, unsigned y, unsigned z, unsigned w) {
  put(made, to, x, y, z, w);
}
static void if_st_shared_v2_b32(int made, unsigned to, unsigned x, unsigned y) { put(made, to, x, y); }
static void if_st_shared_b32(int made, unsigned to, unsigned x) { put(made, to, x); }
static void ld_shared_u8(unsigned& x, unsigned from) { x = 0, ld_shared(&x, from, 1); }
}  // namespace ptx
#include "tiled_copy.cuh"
"""

RUN = r"""
template <class Copy> static typename Copy::Params params;
template <class Copy> static void direct() { Copy::run(params<Copy>); }
template <class Copy> static void staged() {
  const Copy copy(params<Copy>, reinterpret_cast<typename Copy::T*>(shared_memory));
  copy.load();
  __syncthreads();
  copy.store();
}
template <class Copy> static void packed() { Copy{params<Copy>, shared_memory}.run(); }
template <class Copy> static void run_copy(const char* bytes, unsigned ctas, void (*each)()) {
  std::memcpy(static_cast<void*>(&params<Copy>), bytes, sizeof(typename Copy::Params));
  for (blockIdx.x = 0; blockIdx.x < ctas; ++blockIdx.x) run_cta(Copy::kThreads, each);
}
template <class Copy> static void run_direct(const char* bytes, unsigned ctas) {
  run_copy<Copy>(bytes, ctas, direct<Copy>);
}
template <class Copy> static void run_staged(const char* bytes, unsigned ctas) {
  run_copy<Copy>(bytes, ctas, staged<Copy>);
}
template <class Copy> static void run_packed(const char* bytes, unsigned ctas) {
  run_copy<Copy>(bytes, ctas, packed<Copy>);
}
// The memory of the source and of the destination: begin and end of each.
extern "C" void run(int index, const char* bytes, unsigned ctas, const unsigned long long* memory, int* found) {
  using Run = void (*)(const char*, unsigned);
  static const Run table[] = {ENTRIES};
  const auto shared = reinterpret_cast<unsigned long long>(shared_memory);
  ranges = {{memory[0], memory[1]}, {memory[2], memory[3]}, {shared, shared + sizeof shared_memory}};
  misaligned = outside = 0;
  table[index](bytes, ctas);
  found[0] = misaligned, found[1] = outside;
}
"""


class CopyKernels:
    """The kernels of plans, compiled together."""

    def __init__(self, plans, folder):
        rewritten("tiled_copy", folder)
        self.index = {name: i for i, name in enumerate(dict.fromkeys(plan.name for plan in plans))}
        entries = ",\n".join(re.sub(r"^copy_(\w+)<(.*)>$", r"&run_\1<\2>", name) for name in self.index)
        self.run = compile_library(LOADS + RUN.replace("ENTRIES", entries), folder, 800).run

    def copy(self, plan, src, dst):
        """Run a plan's kernel on torch's tensors; no access may be misaligned, or reach out of their memory."""
        from tilewright.kernels.common.operands import operand

        a, b = operand(src, "copy", "src"), operand(dst, "copy", "dst")
        p = plan.problem
        addresses = [x.address + d * p.element_bytes for x, d in ((a, p.src_offset), (b, p.dst_offset))]
        memory, found = (ctypes.c_ulonglong * 4)(*a.reach(), *b.reach()), (ctypes.c_int * 2)()
        self.run(self.index[plan.name], plan.params(*addresses, a.reach()), plan.ctas, memory, found)
        assert tuple(found) == (0, 0), f"{found[0]} accesses are misaligned, {found[1]} reach out of the tensors"
