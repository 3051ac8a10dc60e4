// mma.sync: a warp multiplies matrices that lie in its registers, C += A B^T.
//
// Mma<M, N, K, A, B, C>::run for element types A and B and sums of type C. Which element of a matrix a register of a
// lane holds is said by the thread-value layouts of the atom (tilewright/cute/atoms/mma_traits.py). A register has 4
// bytes, or is one double.
#pragma once

#include "tilewright/numeric.cuh"

namespace tilewright {

template <int kM, int kN, int kK, class A, class B, class C>
struct Mma;

// 16x8 with A in four registers and B in two; kConstraint is that of C's registers.
#define TILEWRIGHT_MMA_4_2(K, A, B, C, kTypes, kConstraint)                                            \
  template <>                                                                                          \
  struct Mma<16, 8, K, A, B, C> {                                                                      \
    using Register = unsigned;                                                                         \
    using Sum = C;                                                                                     \
    static constexpr int kA = 4, kB = 2, kC = 4;                                                       \
    __device__ static void run(Sum (&c)[4], const Register (&a)[4], const Register (&b)[2]) {          \
      asm("mma.sync.aligned.m16n8k" #K ".row.col." kTypes                                              \
          " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                           \
          : "+" kConstraint(c[0]), "+" kConstraint(c[1]), "+" kConstraint(c[2]), "+" kConstraint(c[3]) \
          : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                         \
    }                                                                                                  \
  };

// 16x8 of half that K: A in two registers and B in one.
#define TILEWRIGHT_MMA_2_1(K, A, B, C, kTypes, kConstraint)                                                      \
  template <>                                                                                                    \
  struct Mma<16, 8, K, A, B, C> {                                                                                \
    using Register = unsigned;                                                                                   \
    using Sum = C;                                                                                               \
    static constexpr int kA = 2, kB = 1, kC = 4;                                                                 \
    __device__ static void run(Sum (&c)[4], const Register (&a)[2], const Register (&b)[1]) {                    \
      asm("mma.sync.aligned.m16n8k" #K ".row.col." kTypes " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};" \
          : "+" kConstraint(c[0]), "+" kConstraint(c[1]), "+" kConstraint(c[2]), "+" kConstraint(c[3])           \
          : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                                                    \
    }                                                                                                            \
  };

TILEWRIGHT_MMA_4_2(16, Half, Half, float, "f32.f16.f16.f32", "f")
TILEWRIGHT_MMA_4_2(16, BFloat16, BFloat16, float, "f32.bf16.bf16.f32", "f")
TILEWRIGHT_MMA_4_2(8, TFloat32, TFloat32, float, "f32.tf32.tf32.f32", "f")
TILEWRIGHT_MMA_4_2(32, Float8E4M3, Float8E4M3, float, "f32.e4m3.e4m3.f32", "f")
TILEWRIGHT_MMA_4_2(32, Float8E4M3, Float8E5M2, float, "f32.e4m3.e5m2.f32", "f")
TILEWRIGHT_MMA_4_2(32, Float8E5M2, Float8E4M3, float, "f32.e5m2.e4m3.f32", "f")
TILEWRIGHT_MMA_4_2(32, Float8E5M2, Float8E5M2, float, "f32.e5m2.e5m2.f32", "f")
TILEWRIGHT_MMA_4_2(32, signed char, signed char, int, "s32.s8.s8.s32", "r")
TILEWRIGHT_MMA_4_2(32, signed char, unsigned char, int, "s32.s8.u8.s32", "r")
TILEWRIGHT_MMA_4_2(32, unsigned char, signed char, int, "s32.u8.s8.s32", "r")
TILEWRIGHT_MMA_4_2(32, unsigned char, unsigned char, int, "s32.u8.u8.s32", "r")
TILEWRIGHT_MMA_2_1(8, Half, Half, float, "f32.f16.f16.f32", "f")
TILEWRIGHT_MMA_2_1(8, BFloat16, BFloat16, float, "f32.bf16.bf16.f32", "f")
TILEWRIGHT_MMA_2_1(4, TFloat32, TFloat32, float, "f32.tf32.tf32.f32", "f")
TILEWRIGHT_MMA_2_1(16, signed char, signed char, int, "s32.s8.s8.s32", "r")
TILEWRIGHT_MMA_2_1(16, signed char, unsigned char, int, "s32.s8.u8.s32", "r")
TILEWRIGHT_MMA_2_1(16, unsigned char, signed char, int, "s32.u8.s8.s32", "r")
TILEWRIGHT_MMA_2_1(16, unsigned char, unsigned char, int, "s32.u8.u8.s32", "r")

#undef TILEWRIGHT_MMA_4_2
#undef TILEWRIGHT_MMA_2_1

template <>
struct Mma<8, 8, 4, double, double, double> {
  using Register = double;
  using Sum = double;
  static constexpr int kA = 1, kB = 1, kC = 2;
  __device__ static void run(Sum (&c)[2], const Register (&a)[1], const Register (&b)[1]) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c[0]), "+d"(c[1])
        : "d"(a[0]), "d"(b[0]));
  }
};

// The larger shapes of double are of sm_90 and later.
template <>
struct Mma<16, 8, 4, double, double, double> {
  using Register = double;
  using Sum = double;
  static constexpr int kA = 2, kB = 1, kC = 4;
  __device__ static void run(Sum (&c)[4], const Register (&a)[2], const Register (&b)[1]) {
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(b[0]));
  }
};

template <>
struct Mma<16, 8, 8, double, double, double> {
  using Register = double;
  using Sum = double;
  static constexpr int kA = 4, kB = 2, kC = 4;
  __device__ static void run(Sum (&c)[4], const Register (&a)[4], const Register (&b)[2]) {
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
  }
};

template <>
struct Mma<16, 8, 16, double, double, double> {
  using Register = double;
  using Sum = double;
  static constexpr int kA = 8, kB = 4, kC = 4;
  __device__ static void run(Sum (&c)[4], const Register (&a)[8], const Register (&b)[4]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
        "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
          "d"(b[2]), "d"(b[3]));
  }
};

}  // namespace tilewright
