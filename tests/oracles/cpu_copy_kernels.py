"""kernels/tiled_copy.cuh made into functions of the CPU by the C++ compiler: every CTA, thread by thread."""

from __future__ import annotations

import re

from cpu_ptx import compile_library, rewritten

RUN = r"""
template <class Copy> static typename Copy::Params params;
template <class Copy> static void direct() { Copy::run(params<Copy>); }
template <class Copy> static void staged() {
  const Copy copy(params<Copy>, reinterpret_cast<typename Copy::T*>(shared_memory));
  copy.load_tile();
  __syncthreads();
  copy.store_tile();
}
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
extern "C" int run(int index, const char* bytes, unsigned ctas) {
  using Run = void (*)(const char*, unsigned);
  static const Run table[] = {ENTRIES};
  misaligned = 0;
  table[index](bytes, ctas);
  return misaligned;
}
"""


class CopyKernels:
    """The kernels of plans, compiled together."""

    def __init__(self, plans, folder):
        rewritten("tiled_copy", folder)
        self.index = {name: i for i, name in enumerate(dict.fromkeys(plan.name for plan in plans))}
        entries = ",\n".join(re.sub(r"^copy_(\w+)<(.*)>$", r"&run_\1<\2>", name) for name in self.index)
        self.run = compile_library('#include "tiled_copy.cuh"\n' + RUN.replace("ENTRIES", entries), folder, 800).run

    def copy(self, plan, src, dst):
        """Run a plan's kernel on torch's tensors; no access may be misaligned."""
        from tilewright.kernels.common.operands import operand

        a, b = operand(src, "copy", "src"), operand(dst, "copy", "dst")
        p = plan.problem
        addresses = [x.address + d * p.element_bytes for x, d in ((a, p.src_offset), (b, p.dst_offset))]
        misaligned = self.run(self.index[plan.name], plan.params(*addresses, a.reach()), plan.ctas)
        assert misaligned == 0, f"{misaligned} accesses are misaligned"
