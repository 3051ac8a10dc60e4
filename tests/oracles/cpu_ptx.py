"""Kernels as functions of the CPU, with barriers: a CTA's threads are fibers that take turns between barriers.

Instructions that are spelled in PTX become calls of functions with their names. What cp.async copies arrives only when
it is waited for, and shared memory begins as NaN, so that what is read too early shows.
"""

from __future__ import annotations

import ctypes
import re
import subprocess

import numpy as np

from cpu_device import COMPILER
from tilewright.kernels.kernel import kernel_of
from tilewright.runtime.discovery import kernels_folder

PRELUDE = r"""
#include <ucontext.h>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>
#define __device__
#define __global__ static
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
static struct { unsigned x; } threadIdx, blockIdx;
template <class T> static T __ldca(const T* from) { return *from; }
template <class T> static T __ldcs(const T* from) { return *from; }
template <class T> static T __ldcg(const T* from);
template <class T> static void __stcg(T* to, T x);
static void __threadfence() {}
static unsigned min(unsigned x, unsigned y) { return x < y ? x : y; }
static unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned long long>(a) * b >> 32; }
static unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
static float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
static double __fma_rn(double x, double y, double z) { return std::fma(x, y, z); }
static float __fdividef(float x, float y) { return x / y; }
alignas(1024) static char shared_memory[1 << 18];
static int misaligned = 0;
static unsigned long long __cvta_generic_to_global(const void* p) { return reinterpret_cast<unsigned long long>(p); }
static unsigned long long __cvta_generic_to_shared(const void* p) {
  return static_cast<const char*>(p) - shared_memory;
}
// Shared memory, and the tensors: what lies elsewhere may not be there at all.
static std::vector<std::pair<unsigned long long, unsigned long long>> ranges;
static int outside = 0, late = 0;
static void look_at(unsigned long long address, unsigned bytes, unsigned touched) {
  misaligned += address % bytes != 0;
  for (const auto& [begin, end] : ranges) {
    if (address >= begin && address + touched <= end) return;
  }
  outside += touched > 0;
}
template <class Access, class T> static Access* aligned(T* p) {
  look_at(reinterpret_cast<unsigned long long>(p), sizeof(Access), sizeof(Access));
  return reinterpret_cast<Access*>(p);
}
template <class T> static T __ldcg(const T* from) { return *aligned<const T>(from); }
template <class T> static void __stcg(T* to, T x) { *aligned<T>(to) = x; }

// ---- fibers ----
struct Copy { char* to; const char* from; int bytes, count; };
struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[1 << 16]};
  bool done = false;
  unsigned votes = 0;  // that it has taken part in
  std::vector<std::vector<Copy>> groups{{}};
};
static ucontext_t scheduler;
static std::vector<Fiber> fibers;
static Fiber* running;
static void (*body)();
static void __syncthreads() { swapcontext(&running->context, &scheduler); }
// Three counts: this vote's, the last one's, which others may not have read yet, and the next one's, which is empty.
static int votes[3];
static int __syncthreads_or(int vote) {
  const unsigned now = running->votes++;
  votes[now % 3] |= vote;
  __syncthreads();
  votes[(now + 2) % 3] = 0;
  return votes[now % 3];
}
static void fiber_main() {
  body();
  running->done = true;
  swapcontext(&running->context, &scheduler);
}
// A CTA; false where some threads wait at a barrier that others never reach.
static bool run_cta(unsigned threads, void (*each)()) {
  body = each;
  std::memset(shared_memory, 0xff, sizeof shared_memory);
  if (fibers.size() < threads) fibers.resize(threads);
  votes[0] = votes[1] = votes[2] = 0;
  for (unsigned i = 0; i < threads; ++i) {
    Fiber& fiber = fibers[i];
    fiber.done = false;
    fiber.votes = 0;
    fiber.groups.assign(1, {});
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = 1 << 16;
    makecontext(&fiber.context, fiber_main, 0);
  }
  for (unsigned left = threads; left > 0;) {
    unsigned ended = 0;
    for (unsigned i = 0; i < threads; ++i) {
      running = &fibers[i];
      threadIdx.x = i;
      swapcontext(&scheduler, &running->context);
      ended += running->done;
    }
    if (ended != 0 && ended != threads) return false;
    left -= ended;
  }
  return true;
}

// ---- instructions ----
namespace ptx {
static void copy(unsigned to, unsigned long long from, int bytes, int count) {
  misaligned += to % bytes != 0;
  look_at(from, bytes, count);
  running->groups.back().push_back({shared_memory + to, reinterpret_cast<const char*>(from), bytes, count});
}
static void cp_async_cg_shared_global(unsigned to, unsigned long long from) { copy(to, from, 16, 16); }
static void cp_async_cg_shared_global(unsigned to, unsigned long long from, int count) { copy(to, from, 16, count); }
static void cp_async_ca_shared_global(unsigned to, unsigned long long from, int bytes) { copy(to, from, bytes, bytes); }
static void cp_async_ca_shared_global(unsigned to, unsigned long long from, int bytes, int count) {
  copy(to, from, bytes, count);
}
static void if_cp_async_cg_shared_global(int made, unsigned to, unsigned long long from, int count) {
  if (made) copy(to, from, 16, count);
}
static void if_cp_async_ca_shared_global(int made, unsigned to, unsigned long long from, int bytes, int count) {
  if (made) copy(to, from, bytes, count);
}
static void cp_async_commit_group() { running->groups.emplace_back(); }
static void cp_async_wait_group(int pending) {
  auto& groups = running->groups;
  while (static_cast<int>(groups.size()) > pending + 1) {
    for (const Copy& x : groups.front()) {
      std::memset(x.to, 0, x.bytes);
      std::memcpy(x.to, x.from, x.count);
    }
    groups.erase(groups.begin());
  }
}
static void cp_async_wait_all() { cp_async_commit_group(); cp_async_wait_group(0); }
static void st(char* to, const void* from, int bytes) {
  look_at(reinterpret_cast<unsigned long long>(to), bytes, bytes);
  std::memcpy(to, from, bytes);
}
template <class... Words> static void st_words(unsigned long long to, Words... word) {
  const unsigned words[] = {word...};
  st(reinterpret_cast<char*>(to), words, sizeof words);
}
static void st_global_cs_v4_b32(unsigned long long to, unsigned x, unsigned y, unsigned z, unsigned w) {
  st_words(to, x, y, z, w);
}
static void st_global_cs_v2_b32(unsigned long long to, unsigned x, unsigned y) { st_words(to, x, y); }
static void if_st_global_v4_b32(int made, unsigned long long to, unsigned x, unsigned y, unsigned z, unsigned w) {
  if (made) st_words(to, x, y, z, w);
}
static void if_st_global_v2_b32(int made, unsigned long long to, unsigned x, unsigned y) {
  if (made) st_words(to, x, y);
}
static void if_st_global_b32(int made, unsigned long long to, unsigned x) { if (made) st_words(to, x); }
static void if_st_global_b16(int made, unsigned long long to, unsigned short x) {
  if (made) st(reinterpret_cast<char*>(to), &x, 2);
}
static void if_st_global_u8(int made, unsigned long long to, unsigned x) {
  if (made) st(reinterpret_cast<char*>(to), &x, 1);
}
static void ld(void* to, unsigned long long from, int bytes) {
  look_at(from, bytes, bytes);
  std::memcpy(to, reinterpret_cast<const char*>(from), bytes);
}
static void if_ld_global_v4_b32(unsigned& x, unsigned& y, unsigned& z, unsigned& w, int made, unsigned long long from) {
  unsigned words[4];
  if (!made) return;
  ld(words, from, 16);
  x = words[0], y = words[1], z = words[2], w = words[3];
}
static void if_ld_global_v2_b32(unsigned& x, unsigned& y, int made, unsigned long long from) {
  unsigned words[2];
  if (!made) return;
  ld(words, from, 8);
  x = words[0], y = words[1];
}
static void if_ld_global_b32(unsigned& x, int made, unsigned long long from) { if (made) ld(&x, from, 4); }
static void if_ld_global_b16(unsigned short& x, int made, unsigned long long from) { if (made) ld(&x, from, 2); }
static void if_ld_global_u8(unsigned& x, int made, unsigned long long from) { if (made) ld(&x, from, 1); }
static void st_shared_v4_b32(unsigned to, unsigned x, unsigned y, unsigned z, unsigned w) {
  const unsigned words[] = {x, y, z, w};
  st(shared_memory + to, words, 16);
}
static void st_shared_v2_b32(unsigned to, unsigned x, unsigned y) {
  const unsigned words[] = {x, y};
  st(shared_memory + to, words, 8);
}
static void cvt_f32_f16(float& to, unsigned short from) { to = __builtin_bit_cast(_Float16, from); }
// mov.b32 of {0, from}.
static void mov_b32(float& to, unsigned short from) {
  to = __builtin_bit_cast(float, static_cast<unsigned>(from) << 16);
}
static void cvt_rn_f16_f32(unsigned short& to, float from) {
  to = __builtin_bit_cast(unsigned short, static_cast<_Float16>(from));
  if (from != from) to = 0x7fff;
}
static void cvt_rn_f16x2_f32(unsigned& to, float hi, float lo) {
  unsigned short high, low;
  cvt_rn_f16_f32(high, hi);
  cvt_rn_f16_f32(low, lo);
  to = static_cast<unsigned>(high) << 16 | low;
}
// By the definition of the type: (-1)^s 2^(e-7) 1.m, or 2^-6 0.m; all ones are NaN.
static unsigned short half_of_e4m3(unsigned x) {
  const unsigned e = x >> 3 & 15, m = x & 7;
  const double size = e == 0 ? __builtin_ldexp(m, -9) : __builtin_ldexp(8 + m, static_cast<int>(e) - 10);
  unsigned short bits = __builtin_bit_cast(unsigned short, static_cast<_Float16>(size));
  if (e == 15 && m == 7) bits = 0x7fff;
  return static_cast<unsigned short>(bits | (x & 128) << 8);
}
static void cvt_rn_f16x2_e4m3x2(unsigned& to, unsigned short from) {
  to = static_cast<unsigned>(half_of_e4m3(from >> 8)) << 16 | half_of_e4m3(from & 255);
}
static unsigned short bfloat(float x) {
  const unsigned bits = __builtin_bit_cast(unsigned, x);
  return static_cast<unsigned short>(x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
static void cvt_rn_bf16_f32(unsigned short& to, float from) { to = bfloat(from); }
static void cvt_rn_bf16x2_f32(unsigned& to, float hi, float lo) {
  to = static_cast<unsigned>(bfloat(hi)) << 16 | bfloat(lo);
}
static void cvt_rna_tf32_f32(unsigned& to, unsigned from) {
  to = (from & 0x7F800000) == 0x7F800000 ? from : (from + 0x1000) & ~0x1FFFu;
}
static int clamped(double x) {
  const double whole = std::nearbyint(x);
  return x != x ? 0 : whole < INT32_MIN ? INT32_MIN : whole > INT32_MAX ? INT32_MAX : static_cast<int>(whole);
}
// Only from sm_89 on, as which nothing is compiled here.
void cvt_rn_satfinite_e4m3x2_f32(unsigned short& to, float hi, float lo);
void cvt_rn_satfinite_e5m2x2_f32(unsigned short& to, float hi, float lo);
static void ex2_approx_ftz_f32(float& to, float from) { to = std::exp2(from); }
static void rcp_approx_ftz_f32(float& to, float from) { to = 1 / from; }
static void cvt_rni_s32_f32(int& to, float from) { to = clamped(from); }
static void cvt_rni_s32_f64(int& to, double from) { to = clamped(from); }
static void st_release_gpu_u32(unsigned* to, unsigned x) { st(reinterpret_cast<char*>(to), &x, 4); }
static void st_relaxed_gpu_u32(unsigned* to, unsigned x) { st_release_gpu_u32(to, x); }
// Here CTAs follow each other: what is not there yet would be waited for forever.
static void ld_acquire_gpu_u32(unsigned& x, const unsigned* from) {
  ld(&x, reinterpret_cast<unsigned long long>(from), 4);
  late += x != 1;
  x = 1;
}
}  // namespace ptx
"""

STATEMENT = re.compile(r"asm(?: volatile)?\((?=\s*\")")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def with_calls(text: str) -> str:
    """A header whose instructions are calls.

    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(y)) is ptx::cvt_f32_f16(x, y).
    """
    result, at = [], 0
    for found in STATEMENT.finditer(text):
        end, depth, quoted = found.end(), 1, False
        while depth:
            c = text[end]
            quoted ^= c == '"'
            depth += 0 if quoted else (c == "(") - (c == ")")
            end += 1
        inside = text[found.end() : end - 1]
        instruction = re.match(r'\s*(?:"[^"]*"\s*)+', inside)
        assert instruction
        words = "".join(STRING.findall(instruction[0]))
        result.append(text[at : found.start()])
        at = end
        if not words:  # nothing but a fence for the compiler, which g++ knows as well
            result.append(text[found.start() : end])
            continue
        if "@p" in words:  # { .reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.b32 [%1], %2; }
            words = "if." + words.split("@p ")[1]
        name = re.sub(r"[.:]+", "_", words.split(";")[0].split()[0])
        result.append(f"ptx::{name}({', '.join(operands(inside[instruction.end() :]))})")
    return "".join(result) + text[at:]


def operands(text: str) -> list[str]:
    """The expressions of `: "=f"(x) : "h"(y), "r"(z) : "memory"`, in order."""
    found, i = [], 0
    while True:
        start = re.compile(r'"[^"]*"\s*\(').search(text, i)
        if start is None:
            return found
        i, depth = start.end(), 1
        while depth:
            depth += (text[i] == "(") - (text[i] == ")")
            i += 1
        found.append(text[start.end() : i - 1])


def rewritten(stem: str, folder) -> None:
    """The kernel file `stem` and what it includes, as calls, in a folder."""
    todo, done = [f"{stem}.cuh"], set()
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        text = (kernels_folder() / name).read_text(encoding="utf-8")
        todo += re.findall(r'#include "(.*?)"', text)
        text = re.sub(
            r"\*reinterpret_cast<(const )?Access\*>\((to|from)\)", r"*aligned<\1Access>(\2)", with_calls(text)
        )
        text = re.sub(r"reinterpret_cast<const Access\*>\(from\)", "aligned<const Access>(from)", text)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def compile_library(code: str, folder, arch: int, name: str = "kernels"):
    """A library of C++ code that includes rewritten headers, as for an architecture such as 800."""
    source, library = folder / f"{name}.cpp", folder / f"{name}.so"
    source.write_text(f"#define __CUDA_ARCH__ {arch}\n{PRELUDE}{code}")
    command = [COMPILER, "-std=c++20", "-O1", "-shared", "-fPIC", "-w", f"-I{folder}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


GEMM = r"""
template <class Gemm> static int run_gemm(const char* bytes, unsigned size, unsigned ctas) {
  static typename Gemm::Params params;
  if (size != sizeof params) return -1;
  std::memcpy(static_cast<void*>(&params), bytes, size);
  misaligned = outside = late = 0;
  for (blockIdx.x = 0; blockIdx.x < ctas; ++blockIdx.x) {
    if (!run_cta(Gemm::kThreads, [] { Gemm::run(params, shared_memory); })) return -2;
    if (late) return -3;
  }
  return misaligned + outside;
}
extern "C" int run(int index, const char* bytes, unsigned size, unsigned ctas, const unsigned long long* reach) {
  const auto shared = reinterpret_cast<unsigned long long>(shared_memory);
  ranges = {{shared, shared + sizeof shared_memory}, {reach[0], reach[1]}, {reach[2], reach[3]}, {reach[4], reach[5]}};
  ranges.insert(ranges.end(), {{reach[6], reach[7]}, {reach[8], reach[9]}});
  using Run = int (*)(const char*, unsigned, unsigned);
  static const Run table[] = {ENTRIES};
  return table[index](bytes, size, ctas);
}
"""


class GemmKernels:
    """The kernels of GEMM plans of one kind, compiled together."""

    def __init__(self, plans, folder, arch=800):
        stem = kernel_of(plans[0]).stem
        rewritten(stem, folder)
        self.index = {name: i for i, name in enumerate(dict.fromkeys(plan.name for plan in plans))}
        entries = ",\n".join(re.sub(rf"^{stem}<(.*)>$", r"&run_gemm<\1>", name) for name in self.index)
        code = f'#include "{stem}.cuh"\n' + GEMM.replace("ENTRIES", entries)
        self.library = compile_library(code, folder, arch)

    def run(self, plan, a, b, c, bias=0):
        """Run a plan's kernel on addresses in CPU memory."""
        plan.require(a, b, c, "test")
        zeros, others = np.zeros(plan.scratch[0], np.uint8), np.full(plan.scratch[1], 0xFF, np.uint8)
        scratch = [(x.ctypes.data, x.ctypes.data + x.nbytes) for x in (zeros, others)]
        params = bytearray(plan.params(a, b, c, bias))
        for argument, place, added in plan.pointers():
            if argument >= 4:
                params[place : place + 8] = (scratch[argument - 4][0] + added).to_bytes(8, "little")
        params = bytes(params)
        pairs = *reaches(_there(plan), (a, b, c)), *scratch
        reach = (ctypes.c_uint64 * 10)(*(x for pair in pairs for x in pair))
        found = self.library.run(self.index[plan.name], params, len(params), plan.ctas, reach)
        assert found != -1, f"the plan's {len(params)} bytes are not the kernel's parameter"
        assert found != -2, "some threads wait at a barrier that others never reach"
        assert not zeros.any(), "flags stay set, which the next launch would take for its own"
        assert found != -3, "a CTA waits for sums of one that is launched after it"
        assert found == 0, f"{found} accesses are misaligned or outside of the tensors"


def _there(plan):
    """The strides and extents of a plan's tensors, of A and B with what may be read behind their rows."""
    p = plan.problem
    m = p.a_strides[1] if getattr(plan, "padded_a", False) else p.m
    n = p.b_strides[1] if getattr(plan, "padded_b", False) else p.n
    return p, ((m, p.k), (n, p.k), (p.m, p.n))


def reaches(there, addresses):
    """From where to where the elements of A, B and C lie in memory."""
    p, matrices = there
    for address, dtype, strides, extents in zip(
        addresses, (p.a_type, p.b_type, p.c_type), (p.a_strides, p.b_strides, p.c_strides),
        matrices, strict=True,
    ):  # fmt: skip
        steps = [(e - 1) * d for e, d in zip((*extents, *p.batch), strides, strict=True)]
        empty = 0 in extents
        low, high = (0, -1) if empty else (sum(min(x, 0) for x in steps), sum(max(x, 0) for x in steps))
        yield address + low * dtype.bits // 8, address + (high + 1) * dtype.bits // 8
