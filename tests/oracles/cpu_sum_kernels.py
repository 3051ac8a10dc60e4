"""kernels/sum_parts.cuh made into functions of the CPU by the C++ compiler: every CTA, thread by thread."""

from __future__ import annotations

import ctypes
import re

from cpu_ptx import compile_library, rewritten

RUN = r"""
template <class Sum> static int run_sum(const char* bytes, unsigned size, unsigned ctas) {
  static typename Sum::Params params;
  if (size != sizeof params) return -1;
  std::memcpy(static_cast<void*>(&params), bytes, size);
  misaligned = outside = 0;
  for (blockIdx.x = 0; blockIdx.x < ctas; ++blockIdx.x) run_cta(Sum::kThreads, [] { Sum::run(params); });
  return misaligned + outside;
}
extern "C" int run(int index, const char* bytes, unsigned size, unsigned ctas, const unsigned long long* reach) {
  ranges = {{reach[0], reach[1]}, {reach[2], reach[3]}};
  using Run = int (*)(const char*, unsigned, unsigned);
  static const Run table[] = {ENTRIES};
  return table[index](bytes, size, ctas);
}
"""


class SumKernels:
    """The kernels of plans, compiled together."""

    def __init__(self, plans, folder):
        rewritten("sum_parts", folder)
        self.index = {name: i for i, name in enumerate(dict.fromkeys(plan.name for plan in plans))}
        entries = ",\n".join(re.sub(r"^sum_parts<(.*)>$", r"&run_sum<\1>", name) for name in self.index)
        self.library = compile_library('#include "sum_parts.cuh"\n' + RUN.replace("ENTRIES", entries), folder, 800)

    def run(self, plan, parts, c, bias=0):
        """Run a plan's kernel on arrays of NumPy; no access may be misaligned or outside of them."""
        places = [x.__array_interface__["data"][0] for x in (parts, c)]
        reach = (ctypes.c_uint64 * 4)(
            *(end for x, at in zip((parts, c), places, strict=True) for end in (at, at + x.nbytes))
        )
        plan.require(places[1], "test")
        params = plan.params(*places, bias)
        found = self.library.run(self.index[plan.name], params, len(params), plan.ctas, reach)
        assert found != -1, f"the plan's {len(params)} bytes are not the kernel's parameter"
        assert found == 0, f"{found} accesses are misaligned or outside of the tensors"
