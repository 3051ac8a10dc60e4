// wgmma: D (64 x N) += A (64 x K) B (K x N) by the 128 threads of a warpgroup, asynchronously. A and B lie in shared
// memory and are named by descriptors; D is kept in registers: thread t has, of every 8 columns, a unit, two next to
// each other in row 16 (t / 32) + t % 32 / 4 and two in the row 8 below (docs/gemm.md has the picture).
//
//   using D = WgmmaSums<float, 2, 128>;                // two blocks of 64 x 128
//   D::declare();                                      // once in a kernel, before all branches
//   D::clear();                                        // where kWgmmaNeedsValues
//   wgmma_fence();                                     // registers and shared memory written before are seen
//   Wgmma<128>::run<Half, Half, 0, 0, 1>(a, b, adds);  // the second block; any number of them
//   wgmma_commit();
//   wgmma_wait<0>();                                   // A and B may be overwritten
//   D::take(d);                                        // D as values
//
// D is declared by name in the kernel's PTX, and known to these statements only: a compiler takes most of its time to
// follow 128 values through each of them, to no effect, since it may not touch them while the tensor cores do. That the
// statements are volatile keeps them in order. Unit u of block b is in tw<b>a<u>, tw<b>b<u>, tw<b>c<u> and tw<b>d<u>.
// Names belong to one function: all of this is inlined into a kernel.
//
// PTX has a form of the instruction for each N; those in use are made by the macros below.
#pragma once

#include "tilewright/numeric.cuh"

namespace tilewright {

__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int kPending>
__device__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// How a descriptor says where an operand lies: the address and two distances, in units of 16 bytes, and the swizzle.
//   swizzle: 1 for 128 bytes, 2 for 64, 3 for 32, 0 for none
__device__ constexpr unsigned long long wgmma_descriptor(int leading_bytes, int stride_bytes, int swizzle) {
  return static_cast<unsigned long long>((leading_bytes >> 4) & 0x3FFF) << 16 |
         static_cast<unsigned long long>((stride_bytes >> 4) & 0x3FFF) << 32 |
         static_cast<unsigned long long>(swizzle) << 62;
}

// Before CUDA 13 the assembler makes the instructions wait for each other where D has no value before the first one.
#if __CUDACC_VER_MAJOR__ < 13
constexpr bool kWgmmaNeedsValues = true;
#else
constexpr bool kWgmmaNeedsValues = false;
#endif

#define TILEWRIGHT_TAKE "mov.b32 %0, tw%4a%5; mov.b32 %1, tw%4b%5; mov.b32 %2, tw%4c%5; mov.b32 %3, tw%4d%5;"

// kBlocks blocks of 64 x kN, of a thread unit by unit.
template <class T, int kBlocks, int kN>
struct WgmmaSums {
  static constexpr int kUnits = kN / 8;  // of a block

  template <int kBlock = 0>
  __device__ __forceinline__ static void declare() {
    asm volatile(".reg .b32 tw%0a<%1>, tw%0b<%1>, tw%0c<%1>, tw%0d<%1>;" ::"n"(kBlock), "n"(kUnits));
    if constexpr (kBlock + 1 < kBlocks) declare<kBlock + 1>();
  }

  template <int kUnit = 0>
  __device__ __forceinline__ static void clear() {
    asm volatile(
        "mov.b32 tw%0a%1, 0; mov.b32 tw%0b%1, 0; mov.b32 tw%0c%1, 0; mov.b32 tw%0d%1, 0;" ::"n"(kUnit / kUnits),
        "n"(kUnit % kUnits));
    if constexpr (kUnit + 1 < kBlocks * kUnits) clear<kUnit + 1>();
  }

  template <int kUnit = 0>
  __device__ __forceinline__ static void take(T (&to)[kBlocks * kN / 2]) {
    T* const four = to + 4 * kUnit;
    if constexpr (kIsSame<T, float>) {
      asm volatile(TILEWRIGHT_TAKE
                   : "=f"(four[0]), "=f"(four[1]), "=f"(four[2]), "=f"(four[3])
                   : "n"(kUnit / kUnits), "n"(kUnit % kUnits));
    } else {
      asm volatile(TILEWRIGHT_TAKE
                   : "=r"(four[0]), "=r"(four[1]), "=r"(four[2]), "=r"(four[3])
                   : "n"(kUnit / kUnits), "n"(kUnit % kUnits));
    }
    if constexpr (kUnit + 1 < kBlocks * kUnits) take<kUnit + 1>(to);
  }
};

// The registers of a block, whose number is operand 0 of a statement.
#define TILEWRIGHT_UNIT(U) ", tw%0a" #U ", tw%0b" #U ", tw%0c" #U ", tw%0d" #U
#define TILEWRIGHT_UNITS_8 "tw%0a0, tw%0b0, tw%0c0, tw%0d0"
#define TILEWRIGHT_UNITS_16 TILEWRIGHT_UNITS_8 TILEWRIGHT_UNIT(1)
#define TILEWRIGHT_UNITS_24 TILEWRIGHT_UNITS_16 TILEWRIGHT_UNIT(2)
#define TILEWRIGHT_UNITS_32 TILEWRIGHT_UNITS_24 TILEWRIGHT_UNIT(3)
#define TILEWRIGHT_UNITS_40 TILEWRIGHT_UNITS_32 TILEWRIGHT_UNIT(4)
#define TILEWRIGHT_UNITS_48 TILEWRIGHT_UNITS_40 TILEWRIGHT_UNIT(5)
#define TILEWRIGHT_UNITS_56 TILEWRIGHT_UNITS_48 TILEWRIGHT_UNIT(6)
#define TILEWRIGHT_UNITS_64 TILEWRIGHT_UNITS_56 TILEWRIGHT_UNIT(7)
#define TILEWRIGHT_UNITS_72 TILEWRIGHT_UNITS_64 TILEWRIGHT_UNIT(8)
#define TILEWRIGHT_UNITS_80 TILEWRIGHT_UNITS_72 TILEWRIGHT_UNIT(9)
#define TILEWRIGHT_UNITS_88 TILEWRIGHT_UNITS_80 TILEWRIGHT_UNIT(10)
#define TILEWRIGHT_UNITS_96 TILEWRIGHT_UNITS_88 TILEWRIGHT_UNIT(11)
#define TILEWRIGHT_UNITS_104 TILEWRIGHT_UNITS_96 TILEWRIGHT_UNIT(12)
#define TILEWRIGHT_UNITS_112 TILEWRIGHT_UNITS_104 TILEWRIGHT_UNIT(13)
#define TILEWRIGHT_UNITS_120 TILEWRIGHT_UNITS_112 TILEWRIGHT_UNIT(14)
#define TILEWRIGHT_UNITS_128 TILEWRIGHT_UNITS_120 TILEWRIGHT_UNIT(15)
#define TILEWRIGHT_UNITS_136 TILEWRIGHT_UNITS_128 TILEWRIGHT_UNIT(16)
#define TILEWRIGHT_UNITS_144 TILEWRIGHT_UNITS_136 TILEWRIGHT_UNIT(17)
#define TILEWRIGHT_UNITS_152 TILEWRIGHT_UNITS_144 TILEWRIGHT_UNIT(18)
#define TILEWRIGHT_UNITS_160 TILEWRIGHT_UNITS_152 TILEWRIGHT_UNIT(19)
#define TILEWRIGHT_UNITS_168 TILEWRIGHT_UNITS_160 TILEWRIGHT_UNIT(20)
#define TILEWRIGHT_UNITS_176 TILEWRIGHT_UNITS_168 TILEWRIGHT_UNIT(21)
#define TILEWRIGHT_UNITS_184 TILEWRIGHT_UNITS_176 TILEWRIGHT_UNIT(22)
#define TILEWRIGHT_UNITS_192 TILEWRIGHT_UNITS_184 TILEWRIGHT_UNIT(23)
#define TILEWRIGHT_UNITS_200 TILEWRIGHT_UNITS_192 TILEWRIGHT_UNIT(24)
#define TILEWRIGHT_UNITS_208 TILEWRIGHT_UNITS_200 TILEWRIGHT_UNIT(25)
#define TILEWRIGHT_UNITS_216 TILEWRIGHT_UNITS_208 TILEWRIGHT_UNIT(26)
#define TILEWRIGHT_UNITS_224 TILEWRIGHT_UNITS_216 TILEWRIGHT_UNIT(27)
#define TILEWRIGHT_UNITS_232 TILEWRIGHT_UNITS_224 TILEWRIGHT_UNIT(28)
#define TILEWRIGHT_UNITS_240 TILEWRIGHT_UNITS_232 TILEWRIGHT_UNIT(29)
#define TILEWRIGHT_UNITS_248 TILEWRIGHT_UNITS_240 TILEWRIGHT_UNIT(30)
#define TILEWRIGHT_UNITS_256 TILEWRIGHT_UNITS_248 TILEWRIGHT_UNIT(31)

// An instruction with N columns.
#define TILEWRIGHT_WGMMA_TEXT(N, types, a, tail)                                                               \
  "{ .reg .pred p; setp.ne.b32 p, %1, 0; wgmma.mma_async.sync.aligned.m64n" #N types " {" TILEWRIGHT_UNITS_##N \
      "}, " a ", %2, p" tail "; }"
#define TILEWRIGHT_WGMMA_OPERANDS "n"(kBlock), "r"(adds), "l"(b), "l"(a)
#define TILEWRIGHT_WGMMA_K(N, types, tail) \
  asm volatile(TILEWRIGHT_WGMMA_TEXT(N, types, "%3", tail)::TILEWRIGHT_WGMMA_OPERANDS)
// 16-bit types say for either operand whether it is contiguous along M or N instead of along K.
#define TILEWRIGHT_WGMMA_16(N, types)                                                                            \
  asm volatile(TILEWRIGHT_WGMMA_TEXT(N, types, "%3", ", 1, 1, %4, %5")::TILEWRIGHT_WGMMA_OPERANDS, "n"(kMajorA), \
               "n"(kMajorB))

// run: to a block of D, added to what it is or not; A and B from shared memory, or A's elements of 32 bits from
// registers.
template <int kN>
struct Wgmma;
template <class T>
constexpr bool kIsFloat8 = kIsSame<T, Float8E4M3> || kIsSame<T, Float8E5M2>;
#define TILEWRIGHT_WGMMA(N)                                                                                            \
  template <>                                                                                                          \
  struct Wgmma<N> {                                                                                                    \
    template <class A, class B, int kMajorA, int kMajorB, int kBlock>                                                  \
    __device__ __forceinline__ static void run(unsigned long long a, unsigned long long b, int adds) {                 \
      if constexpr (kIsSame<A, Half>) {                                                                                \
        TILEWRIGHT_WGMMA_16(N, "k16.f32.f16.f16");                                                                     \
      } else if constexpr (kIsSame<A, BFloat16>) {                                                                     \
        TILEWRIGHT_WGMMA_16(N, "k16.f32.bf16.bf16");                                                                   \
      } else if constexpr (kIsSame<A, TFloat32>) {                                                                     \
        TILEWRIGHT_WGMMA_K(N, "k8.f32.tf32.tf32", ", 1, 1");                                                           \
      } else if constexpr (kIsSame<A, signed char> && kIsSame<B, signed char>) {                                       \
        TILEWRIGHT_WGMMA_K(N, "k32.s32.s8.s8", "");                                                                    \
      } else if constexpr (kIsSame<A, signed char>) {                                                                  \
        TILEWRIGHT_WGMMA_K(N, "k32.s32.s8.u8", "");                                                                    \
      } else if constexpr (kIsSame<B, signed char>) {                                                                  \
        TILEWRIGHT_WGMMA_K(N, "k32.s32.u8.s8", "");                                                                    \
      } else if constexpr (kIsSame<A, unsigned char>) {                                                                \
        TILEWRIGHT_WGMMA_K(N, "k32.s32.u8.u8", "");                                                                    \
      } else {                                                                                                         \
        static_assert(kIsFloat8<A> && kIsFloat8<B>);                                                                   \
        constexpr int kE[] = {kIsSame<A, Float8E4M3> ? 4 : 5, kIsSame<B, Float8E4M3> ? 4 : 5};                         \
        asm volatile(TILEWRIGHT_WGMMA_TEXT(N, "k32.f32.e%4m%5.e%6m%7", "%3", ", 1, 1")::TILEWRIGHT_WGMMA_OPERANDS,     \
                     "n"(kE[0]), "n"(7 - kE[0]), "n"(kE[1]), "n"(7 - kE[1]));                                          \
      }                                                                                                                \
    }                                                                                                                  \
    template <int kBlock>                                                                                              \
    __device__ __forceinline__ static void run(const unsigned (&r)[4], unsigned long long b, int adds) {               \
      asm volatile(TILEWRIGHT_WGMMA_TEXT(N, "k8.f32.tf32.tf32", "{%3, %4, %5, %6}", ", 1, 1")::"n"(kBlock), "r"(adds), \
                   "l"(b), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]));                                                \
    }                                                                                                                  \
  }

TILEWRIGHT_WGMMA(8);
TILEWRIGHT_WGMMA(16);
TILEWRIGHT_WGMMA(24);
TILEWRIGHT_WGMMA(32);
TILEWRIGHT_WGMMA(40);
TILEWRIGHT_WGMMA(48);
TILEWRIGHT_WGMMA(56);
TILEWRIGHT_WGMMA(64);
TILEWRIGHT_WGMMA(72);
TILEWRIGHT_WGMMA(80);
TILEWRIGHT_WGMMA(88);
TILEWRIGHT_WGMMA(96);
TILEWRIGHT_WGMMA(104);
TILEWRIGHT_WGMMA(112);
TILEWRIGHT_WGMMA(120);
TILEWRIGHT_WGMMA(128);
TILEWRIGHT_WGMMA(136);
TILEWRIGHT_WGMMA(144);
TILEWRIGHT_WGMMA(152);
TILEWRIGHT_WGMMA(160);
TILEWRIGHT_WGMMA(168);
TILEWRIGHT_WGMMA(176);
TILEWRIGHT_WGMMA(184);
TILEWRIGHT_WGMMA(192);
TILEWRIGHT_WGMMA(200);
TILEWRIGHT_WGMMA(208);
TILEWRIGHT_WGMMA(216);
TILEWRIGHT_WGMMA(224);
TILEWRIGHT_WGMMA(232);
TILEWRIGHT_WGMMA(240);
TILEWRIGHT_WGMMA(248);
TILEWRIGHT_WGMMA(256);

#undef TILEWRIGHT_TAKE
#undef TILEWRIGHT_UNIT
#undef TILEWRIGHT_WGMMA_TEXT
#undef TILEWRIGHT_WGMMA_OPERANDS
#undef TILEWRIGHT_WGMMA_K
#undef TILEWRIGHT_WGMMA_16
#undef TILEWRIGHT_WGMMA

}  // namespace tilewright
