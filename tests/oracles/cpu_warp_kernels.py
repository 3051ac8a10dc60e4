"""kernels/gemm_sm80.cuh as functions of the CPU: what a warp does together, its lanes do by exchanging registers.

At ldmatrix and mma.sync each lane lays open what it has, waits for the others (a fiber's turn ends), and takes its own
part of the result. Which element a register holds is written down here from the figures of the PTX manual, not from the
layouts that the plans are made of.
"""

from __future__ import annotations

import re
import subprocess

import cpu_ptx
from cpu_device import COMPILER
from tilewright.kernels.kernel import kernel_of

INSTRUCTIONS = r"""
// ---- what a warp does together ----
struct Registers { unsigned address; int count_a, count_b; unsigned long long a[8], b[8]; };
static Registers exchange[2][1024];
static thread_local int turns[1024];
static Registers* all_of_warp(const Registers& mine) {
  const unsigned thread = threadIdx.x;
  Registers* slot = exchange[turns[thread]++ & 1];  // the next exchange must not overwrite what others still read
  slot[thread] = mine;
  __syncthreads();
  return slot + thread / 32 * 32;
}
namespace ptx {
static unsigned word_at(unsigned address) {
  unsigned word;
  std::memcpy(&word, shared_memory + address, 4);
  return word;
}
template <int kCount, bool kTransposed>
static void matrices(unsigned* word, unsigned address) {
  const unsigned lane = threadIdx.x % 32, group = lane / 4, in_group = lane % 4;
  const Registers* warp = all_of_warp({address});
  for (int j = 0; j < kCount; ++j) {
    if (!kTransposed) {
      misaligned += warp[8 * j + group].address % 16 != 0;
      word[j] = word_at(warp[8 * j + group].address + 4 * in_group);
      continue;
    }
    unsigned halves[2];
    for (int i = 0; i < 2; ++i) {
      const unsigned row = warp[8 * j + 2 * in_group + i].address;
      misaligned += row % 16 != 0;
      halves[i] = word_at(row + 2 * group / 4 * 4) >> (group % 2 * 16) & 0xffff;
    }
    word[j] = halves[0] | halves[1] << 16;
  }
}
#define LDMATRIX(kSuffix, kTransposed)                                                                    \
  static void ldmatrix_sync_aligned_m8n8_x4_##kSuffix(unsigned& a, unsigned& b, unsigned& c, unsigned& d, \
                                                      unsigned address) {                                 \
    unsigned word[4];                                                                                     \
    matrices<4, kTransposed>(word, address);                                                              \
    a = word[0], b = word[1], c = word[2], d = word[3];                                                   \
  }                                                                                                       \
  static void ldmatrix_sync_aligned_m8n8_x2_##kSuffix(unsigned& a, unsigned& b, unsigned address) {       \
    unsigned word[2];                                                                                     \
    matrices<2, kTransposed>(word, address);                                                              \
    a = word[0], b = word[1];                                                                             \
  }
LDMATRIX(shared_b16, false)
LDMATRIX(trans_shared_b16, true)

static double value_of(unsigned long long bits, const char* type) {
  switch (type[0]) {
    case 't': return __builtin_bit_cast(float, static_cast<unsigned>(bits) & 0xffffe000u);
    case 'b': return __builtin_bit_cast(float, static_cast<unsigned>(bits & 0xffff) << 16);
    case 's': return static_cast<signed char>(bits);
    case 'u': return static_cast<unsigned char>(bits);
    case 'e':
      if (type[1] == '5') return __builtin_bit_cast(_Float16, static_cast<unsigned short>((bits & 0xff) << 8));
      return 256.0 * __builtin_bit_cast(_Float16, static_cast<unsigned short>((bits & 0x80) << 8 | (bits & 0x7f) << 7));
    default:
      if (type[1] == '6') return __builtin_bit_cast(double, bits);
      return __builtin_bit_cast(_Float16, static_cast<unsigned short>(bits));
  }
}
// The element (row of A or of B, k) of a warp's registers of `bits` bits an element.
static double element(const Registers* warp, bool is_a, int row, int k, int bits, const char* type) {
  const int held = bits == 64 ? 1 : 32 / bits, run = 4 * held;
  const Registers& lane = warp[row % 8 * 4 + k % run / held];
  const int rows = is_a && lane.count_a > 1 ? 2 : 1;  // registers of A take turns between the rows g and g + 8
  const int index = is_a ? row / 8 + rows * (k / run) : k / run;
  const unsigned long long word = is_a ? lane.a[index] : lane.b[index];
  return value_of(bits == 64 ? word : word >> (k % held * bits), type);
}
template <class Sum>
static void multiply(int k_extent, int bits, const char* type_a, const char* type_b, Sum** c, int count_c,
                     const Registers& mine) {
  const int lane = threadIdx.x % 32;
  const Registers* warp = all_of_warp(mine);
  for (int i = 0; i < count_c; ++i) {
    const int m = lane / 4 + i / 2 * 8, n = lane % 4 * 2 + i % 2;
    double sum = 0;
    for (int k = 0; k < k_extent; ++k) {
      sum += element(warp, true, m, k, bits, type_a) * element(warp, false, n, k, bits, type_b);
    }
    *c[i] = static_cast<Sum>(*c[i] + sum);
  }
}
static unsigned long long raw(unsigned x) { return x; }
static unsigned long long raw(double x) { return __builtin_bit_cast(unsigned long long, x); }
MMA

// ---- shared memory by its own addresses ----
template <class Word> static void load(unsigned address, Word* words, int count) {
  misaligned += address % (sizeof(Word) * count) != 0;
  std::memcpy(words, shared_memory + address, sizeof(Word) * count);
}
static void ld_shared_v4_b32(unsigned& x, unsigned& y, unsigned& z, unsigned& w, unsigned address) {
  unsigned words[4];
  load(address, words, 4);
  x = words[0], y = words[1], z = words[2], w = words[3];
}
static void ld_shared_v2_b32(unsigned& x, unsigned& y, unsigned address) {
  unsigned words[2];
  load(address, words, 2);
  x = words[0], y = words[1];
}
static void ld_shared_b32(unsigned& x, unsigned address) { load(address, &x, 1); }
static void ld_shared_b16(unsigned short& x, unsigned address) { load(address, &x, 1); }
static void ld_shared_u8(unsigned& x, unsigned address) { x = static_cast<unsigned char>(shared_memory[address]); }
static void st_shared_b32(unsigned to, unsigned x) { st(shared_memory + to, &x, 4); }
static void st_shared_b16(unsigned to, unsigned short x) { st(shared_memory + to, &x, 2); }
static void st_shared_u8(unsigned to, unsigned x) { shared_memory[to] = static_cast<char>(x); }
}  // namespace ptx
static unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= (both >> ((selector >> 4 * i & 7) * 8) & 0xff) << 8 * i;
  return result;
}
"""

# M, K, registers of A, of B, of C, types of A and B and the sums
SHAPES = [
    (8, 4, 1, 1, 2, "f64", "f64", "f64"), (16, 4, 2, 1, 4, "f64", "f64", "f64"), (16, 8, 4, 2, 4, "f64", "f64", "f64"),
    (16, 16, 8, 4, 4, "f64", "f64", "f64"), (16, 4, 2, 1, 4, "tf32", "tf32", "f32"),
    (16, 8, 4, 2, 4, "tf32", "tf32", "f32"),
    *((16, k, k // 4, k // 8, 4, t, t, "f32") for t in ("f16", "bf16") for k in (8, 16)),
    *((16, 32, 4, 2, 4, a, b, "f32") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
    *((16, k, k // 8, k // 16, 4, a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8") for k in (16, 32)),
]  # fmt: skip
BITS = {"f64": 64, "tf32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8}


def instruction(m, k, count_a, count_b, count_c, a, b, acc):
    """An mma.sync as a function of its registers, sums first."""
    sums = {"f32": "float", "f64": "double", "s32": "int"}[acc]
    register = "double" if a == "f64" else "unsigned"
    names = [f"{x}{i}" for x, count in (("a", count_a), ("b", count_b)) for i in range(count)]
    parameters = [f"{sums}& c{i}" for i in range(count_c)] + [f"{register} {x}" for x in names]
    fields = [", ".join(f"raw({x}{i})" for i in range(count)) for x, count in (("a", count_a), ("b", count_b))]
    name = f"mma_sync_aligned_m{m}n8k{k}_row_col_{acc}_{a}_{b}_{acc}"
    return (
        f"static void {name}({', '.join(parameters)}) {{\n"
        f"  {sums}* c[] = {{{', '.join(f'&c{i}' for i in range(count_c))}}};\n"
        f'  multiply<{sums}>({k}, {BITS[a]}, "{a}", "{b}", c, {count_c}, {{0, {count_a}, {count_b}, '
        f"{{{fields[0]}}}, {{{fields[1]}}}}});\n}}\n"
    )


class WarpKernels(cpu_ptx.GemmKernels):
    """The kernels of GemmSm80 plans, compiled together."""

    def __init__(self, plans, folder, arch=800):
        stem = kernel_of(plans[0]).stem
        cpu_ptx.rewritten(stem, folder)
        expand_macros(folder / "tilewright" / "mma.cuh")
        self.index = {name: i for i, name in enumerate(dict.fromkeys(plan.name for plan in plans))}
        entries = ",\n".join(re.sub(rf"^{stem}<(.*)>$", r"&run_gemm<\1>", name) for name in self.index)
        mma = "".join(instruction(*shape) for shape in SHAPES)
        code = INSTRUCTIONS.replace("MMA\n", mma, 1) + f'#include "{stem}.cuh"\n'
        self.library = cpu_ptx.compile_library(code + cpu_ptx.GEMM.replace("ENTRIES", entries), folder, arch)


def expand_macros(header):
    """The instructions of a header are made by macros: these are expanded first, and then become calls."""
    from tilewright.runtime.discovery import kernels_folder

    text = (kernels_folder() / "tilewright" / header.name).read_text(encoding="utf-8")
    includes = re.findall(r'#include "[^"]*"', text)
    bare = re.sub(r'#include "[^"]*"|#pragma once', "", text)
    command = [COMPILER, "-E", "-P", "-x", "c++", "-"]
    expanded = subprocess.run(command, input=bare, capture_output=True, text=True, check=True).stdout
    header.write_text("#pragma once\n" + "\n".join(includes) + "\n" + cpu_ptx.with_calls(expanded))
