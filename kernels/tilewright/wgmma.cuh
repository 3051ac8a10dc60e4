// wgmma: D (64 x N) += A (64 x K) B (K x N) by the 128 threads of a warpgroup, asynchronously. A and B lie in shared
// memory and are named by descriptors; D is kept in registers: thread t has, of every 8 columns, two next to each other
// in row 16 (t / 32) + t % 32 / 4 and two in the row 8 below (docs/gemm.md has the picture).
//
//   wgmma_fence();                       // registers and shared memory written before are seen
//   wgmma<Half, Half, 0, 0, 256>(d, a, b, accumulate);  // any number of them
//   wgmma_commit();
//   wgmma_wait<0>();                     // D may be read, A and B overwritten
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

// The accumulators are in use by instructions that have not ended: nothing that touches them may be moved across this.
template <int kCount, class T>
__device__ void wgmma_hold(T (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if constexpr (sizeof(T) == 4 && static_cast<T>(0.5f) != 0) {
      asm volatile("" : "+f"(d[i])::"memory");
    } else {
      asm volatile("" : "+r"(d[i])::"memory");
    }
  }
}

// How a descriptor says where an operand lies: the address and two distances, in units of 16 bytes, and the swizzle.
//   swizzle: 1 for 128 bytes, 2 for 64, 3 for 32, 0 for none
__device__ constexpr unsigned long long wgmma_descriptor(int leading_bytes, int stride_bytes, int swizzle) {
  return static_cast<unsigned long long>((leading_bytes >> 4) & 0x3FFF) << 16 |
         static_cast<unsigned long long>((stride_bytes >> 4) & 0x3FFF) << 32 |
         static_cast<unsigned long long>(swizzle) << 62;
}

template <int kN>
struct WgmmaForm;

// The registers of D: their names in the text, and their operands.
#define TILEWRIGHT_NAMES_8 "%0, %1, %2, %3"
#define TILEWRIGHT_REGISTERS_8(X) X(0), X(1), X(2), X(3)
#define TILEWRIGHT_NAMES_16 TILEWRIGHT_NAMES_8 ", %4, %5, %6, %7"
#define TILEWRIGHT_REGISTERS_16(X) TILEWRIGHT_REGISTERS_8(X), X(4), X(5), X(6), X(7)
#define TILEWRIGHT_NAMES_24 TILEWRIGHT_NAMES_16 ", %8, %9, %10, %11"
#define TILEWRIGHT_REGISTERS_24(X) TILEWRIGHT_REGISTERS_16(X), X(8), X(9), X(10), X(11)
#define TILEWRIGHT_NAMES_32 TILEWRIGHT_NAMES_24 ", %12, %13, %14, %15"
#define TILEWRIGHT_REGISTERS_32(X) TILEWRIGHT_REGISTERS_24(X), X(12), X(13), X(14), X(15)
#define TILEWRIGHT_NAMES_40 TILEWRIGHT_NAMES_32 ", %16, %17, %18, %19"
#define TILEWRIGHT_REGISTERS_40(X) TILEWRIGHT_REGISTERS_32(X), X(16), X(17), X(18), X(19)
#define TILEWRIGHT_NAMES_48 TILEWRIGHT_NAMES_40 ", %20, %21, %22, %23"
#define TILEWRIGHT_REGISTERS_48(X) TILEWRIGHT_REGISTERS_40(X), X(20), X(21), X(22), X(23)
#define TILEWRIGHT_NAMES_64 TILEWRIGHT_NAMES_48 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define TILEWRIGHT_REGISTERS_64(X) TILEWRIGHT_REGISTERS_48(X), X(24), X(25), X(26), X(27), X(28), X(29), X(30), X(31)
#define TILEWRIGHT_NAMES_80 TILEWRIGHT_NAMES_64 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define TILEWRIGHT_REGISTERS_80(X) TILEWRIGHT_REGISTERS_64(X), X(32), X(33), X(34), X(35), X(36), X(37), X(38), X(39)
#define TILEWRIGHT_NAMES_96 TILEWRIGHT_NAMES_80 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define TILEWRIGHT_REGISTERS_96(X) TILEWRIGHT_REGISTERS_80(X), X(40), X(41), X(42), X(43), X(44), X(45), X(46), X(47)
#define TILEWRIGHT_NAMES_112 TILEWRIGHT_NAMES_96 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define TILEWRIGHT_REGISTERS_112(X) TILEWRIGHT_REGISTERS_96(X), X(48), X(49), X(50), X(51), X(52), X(53), X(54), X(55)
#define TILEWRIGHT_NAMES_128 TILEWRIGHT_NAMES_112 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define TILEWRIGHT_REGISTERS_128(X) TILEWRIGHT_REGISTERS_112(X), X(56), X(57), X(58), X(59), X(60), X(61), X(62), X(63)
#define TILEWRIGHT_NAMES_160 \
  TILEWRIGHT_NAMES_128 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define TILEWRIGHT_REGISTERS_160(X)                                                                                \
  TILEWRIGHT_REGISTERS_128(X), X(64), X(65), X(66), X(67), X(68), X(69), X(70), X(71), X(72), X(73), X(74), X(75), \
      X(76), X(77), X(78), X(79)
#define TILEWRIGHT_NAMES_192 \
  TILEWRIGHT_NAMES_160 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define TILEWRIGHT_REGISTERS_192(X)                                                                                \
  TILEWRIGHT_REGISTERS_160(X), X(80), X(81), X(82), X(83), X(84), X(85), X(86), X(87), X(88), X(89), X(90), X(91), \
      X(92), X(93), X(94), X(95)
#define TILEWRIGHT_NAMES_224 \
  TILEWRIGHT_NAMES_192 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define TILEWRIGHT_REGISTERS_224(X)                                                                                \
  TILEWRIGHT_REGISTERS_192(X), X(96), X(97), X(98), X(99), X(100), X(101), X(102), X(103), X(104), X(105), X(106), \
      X(107), X(108), X(109), X(110), X(111)
#define TILEWRIGHT_NAMES_256 \
  TILEWRIGHT_NAMES_224       \
  ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define TILEWRIGHT_REGISTERS_256(X)                                                                                    \
  TILEWRIGHT_REGISTERS_224(X), X(112), X(113), X(114), X(115), X(116), X(117), X(118), X(119), X(120), X(121), X(122), \
      X(123), X(124), X(125), X(126), X(127)
#define TILEWRIGHT_FLOAT(i) "+f"(d[i])
#define TILEWRIGHT_INT(i) "+r"(d[i])

// An instruction with N columns; a, b, scale, x, y are the numbers of the operands behind D's registers.
#define TILEWRIGHT_WGMMA_TEXT(N, types, a, b, scale, tail)                                     \
  "{\n.reg .pred p;\nsetp.ne.b32 p, " scale ", 0;\nwgmma.mma_async.sync.aligned.m64n" #N types \
  " {" TILEWRIGHT_NAMES_##N "}, " a ", " b ", p" tail ";\n}"

// 16-bit types say for either operand whether it is contiguous along M or N instead of along K.
#define TILEWRIGHT_WGMMA_16(N, types, a, b, scale, x, y)                         \
  asm volatile(TILEWRIGHT_WGMMA_TEXT(N, types, a, b, scale, ", 1, 1, " x ", " y) \
               : TILEWRIGHT_REGISTERS_##N(TILEWRIGHT_FLOAT)                      \
               : "l"(descriptor_a), "l"(descriptor_b), "r"(accumulate), "n"(kMajorA), "n"(kMajorB))

#define TILEWRIGHT_WGMMA_K(N, types, a, b, scale, tail, kind)     \
  asm volatile(TILEWRIGHT_WGMMA_TEXT(N, types, a, b, scale, tail) \
               : TILEWRIGHT_REGISTERS_##N(kind)                   \
               : "l"(descriptor_a), "l"(descriptor_b), "r"(accumulate))

#define TILEWRIGHT_WGMMA(N, a, b, scale, x, y)                                                                      \
  template <>                                                                                                       \
  struct WgmmaForm<N> {                                                                                             \
    template <class A, class B, int kMajorA, int kMajorB>                                                           \
    __device__ static void run(float (&d)[N / 2], unsigned long long descriptor_a, unsigned long long descriptor_b, \
                               int accumulate) {                                                                    \
      if constexpr (kIsSame<A, Half>) {                                                                             \
        TILEWRIGHT_WGMMA_16(N, "k16.f32.f16.f16", a, b, scale, x, y);                                               \
      } else if constexpr (kIsSame<A, BFloat16>) {                                                                  \
        TILEWRIGHT_WGMMA_16(N, "k16.f32.bf16.bf16", a, b, scale, x, y);                                             \
      } else if constexpr (kIsSame<A, TFloat32>) {                                                                  \
        TILEWRIGHT_WGMMA_K(N, "k8.f32.tf32.tf32", a, b, scale, ", 1, 1", TILEWRIGHT_FLOAT);                         \
      } else if constexpr (kIsSame<A, Float8E4M3> && kIsSame<B, Float8E4M3>) {                                      \
        TILEWRIGHT_WGMMA_K(N, "k32.f32.e4m3.e4m3", a, b, scale, ", 1, 1", TILEWRIGHT_FLOAT);                        \
      } else if constexpr (kIsSame<A, Float8E4M3>) {                                                                \
        TILEWRIGHT_WGMMA_K(N, "k32.f32.e4m3.e5m2", a, b, scale, ", 1, 1", TILEWRIGHT_FLOAT);                        \
      } else if constexpr (kIsSame<B, Float8E4M3>) {                                                                \
        TILEWRIGHT_WGMMA_K(N, "k32.f32.e5m2.e4m3", a, b, scale, ", 1, 1", TILEWRIGHT_FLOAT);                        \
      } else {                                                                                                      \
        static_assert(kIsSame<A, Float8E5M2> && kIsSame<B, Float8E5M2>);                                            \
        TILEWRIGHT_WGMMA_K(N, "k32.f32.e5m2.e5m2", a, b, scale, ", 1, 1", TILEWRIGHT_FLOAT);                        \
      }                                                                                                             \
    }                                                                                                               \
    template <class A, class B, int, int>                                                                           \
    __device__ static void run(int (&d)[N / 2], unsigned long long descriptor_a, unsigned long long descriptor_b,   \
                               int accumulate) {                                                                    \
      if constexpr (kIsSame<A, signed char> && kIsSame<B, signed char>) {                                           \
        TILEWRIGHT_WGMMA_K(N, "k32.s32.s8.s8", a, b, scale, "", TILEWRIGHT_INT);                                    \
      } else if constexpr (kIsSame<A, signed char>) {                                                               \
        TILEWRIGHT_WGMMA_K(N, "k32.s32.s8.u8", a, b, scale, "", TILEWRIGHT_INT);                                    \
      } else if constexpr (kIsSame<B, signed char>) {                                                               \
        TILEWRIGHT_WGMMA_K(N, "k32.s32.u8.s8", a, b, scale, "", TILEWRIGHT_INT);                                    \
      } else {                                                                                                      \
        TILEWRIGHT_WGMMA_K(N, "k32.s32.u8.u8", a, b, scale, "", TILEWRIGHT_INT);                                    \
      }                                                                                                             \
    }                                                                                                               \
  }

TILEWRIGHT_WGMMA(8, "%4", "%5", "%6", "%7", "%8");
TILEWRIGHT_WGMMA(16, "%8", "%9", "%10", "%11", "%12");
TILEWRIGHT_WGMMA(24, "%12", "%13", "%14", "%15", "%16");
TILEWRIGHT_WGMMA(32, "%16", "%17", "%18", "%19", "%20");
TILEWRIGHT_WGMMA(40, "%20", "%21", "%22", "%23", "%24");
TILEWRIGHT_WGMMA(48, "%24", "%25", "%26", "%27", "%28");
TILEWRIGHT_WGMMA(64, "%32", "%33", "%34", "%35", "%36");
TILEWRIGHT_WGMMA(80, "%40", "%41", "%42", "%43", "%44");
TILEWRIGHT_WGMMA(96, "%48", "%49", "%50", "%51", "%52");
TILEWRIGHT_WGMMA(112, "%56", "%57", "%58", "%59", "%60");
TILEWRIGHT_WGMMA(128, "%64", "%65", "%66", "%67", "%68");
TILEWRIGHT_WGMMA(160, "%80", "%81", "%82", "%83", "%84");
TILEWRIGHT_WGMMA(192, "%96", "%97", "%98", "%99", "%100");
TILEWRIGHT_WGMMA(224, "%112", "%113", "%114", "%115", "%116");
TILEWRIGHT_WGMMA(256, "%128", "%129", "%130", "%131", "%132");

template <class A, class B, int kMajorA, int kMajorB, int kN, class Acc>
__device__ void wgmma(Acc (&d)[kN / 2], unsigned long long descriptor_a, unsigned long long descriptor_b,
                      int accumulate) {
  WgmmaForm<kN>::template run<A, B, kMajorA, kMajorB>(d, descriptor_a, descriptor_b, accumulate);
}

}  // namespace tilewright
