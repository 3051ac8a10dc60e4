// Sums and fragments of gemm_sm80 as registers that only its instructions know.
//
// A compiler takes much of its time to follow hundreds of values through unrolled loops, to no effect: which registers
// they get is for ptxas to say. So they are declared by name in the kernel's PTX: of the atoms (i, j) of a warp,
// tw_c<i>_<j>_<register> are the sums, tw_a<set>_<i>_<register> and tw_b<set>_<j>_<register> two sets of fragments. A
// constant operand becomes a part of such a name. Names belong to one function: all of this is inlined into a kernel,
// and declared there once. Four atoms of a row are multiplied, or written, by one statement.
//
// On an H200 4096^3 of 16-bit types is 1 to 3 % faster so, and the kernel is compiled in four fifths of the time. What
// is loaded through registers was slower, and fp32 by FMA up to 2 %: there sums are values.
#pragma once

#include "tilewright/mma.cuh"
#include "tilewright/numeric.cuh"

namespace tilewright {

#ifdef __CUDACC__
#define TILEWRIGHT_QUAD(kFirst, kStep) \
  "n"(kFirst), "n"((kFirst) + (kStep)), "n"((kFirst) + 2 * (kStep)), "n"((kFirst) + 3 * (kStep))
#define TILEWRIGHT_ZERO(J)                                                                                      \
  ".reg .b32 tw_c%0_%" #J "_<4>; mov.b32 tw_c%0_%" #J "_0, 0; mov.b32 tw_c%0_%" #J "_1, 0; mov.b32 tw_c%0_%" #J \
  "_2, 0; mov.b32 tw_c%0_%" #J "_3, 0;\n"
#define TILEWRIGHT_SUMS(J) "{tw_c%0_%" #J "_0, tw_c%0_%" #J "_1, tw_c%0_%" #J "_2, tw_c%0_%" #J "_3}"
#define TILEWRIGHT_4_2(J)                                                                                         \
  " " TILEWRIGHT_SUMS(J) ", {tw_a%5_%0_0, tw_a%5_%0_1, tw_a%5_%0_2, tw_a%5_%0_3}, {tw_b%5_%" #J "_0, tw_b%5_%" #J \
                         "_1}, " TILEWRIGHT_SUMS(J) ";\n"
#define TILEWRIGHT_TAKE(J, A, B, C, D)                                                                    \
  "mov.b32 %" #A ", tw_c%16_%" #J "_0; mov.b32 %" #B ", tw_c%16_%" #J "_1; mov.b32 %" #C ", tw_c%16_%" #J \
  "_2; mov.b32 %" #D ", tw_c%16_%" #J "_3;\n"
#define TILEWRIGHT_PUT(J, A, B)                                                                                      \
  "st.shared.v2.b32 [%0+%" #A "], {tw_c%1_%" #J "_0, tw_c%1_%" #J "_1}; st.shared.v2.b32 [%0+%" #B "], {tw_c%1_%" #J \
  "_2, tw_c%1_%" #J "_3};\n"

// The atom's instruction with four atoms of a row; none where names are not for it.
template <class MmaType>
struct NamedMma {
  static constexpr bool kExists = false;
};
#define TILEWRIGHT_NAMED(K, A, B, C, kHead)                                                \
  template <>                                                                              \
  struct NamedMma<Mma<16, 8, K, A, B, C>> {                                                \
    static constexpr bool kExists = true;                                                  \
    template <int kRow, int kFirst, int kStep, int kSet>                                   \
    __device__ __forceinline__ static void run() {                                         \
      asm volatile(kHead TILEWRIGHT_4_2(1) kHead TILEWRIGHT_4_2(2) kHead TILEWRIGHT_4_2(3) \
                       kHead TILEWRIGHT_4_2(4)::"n"(kRow),                                 \
                   TILEWRIGHT_QUAD(kFirst, kStep), "n"(kSet));                             \
    }                                                                                      \
  };
TILEWRIGHT_NAMED(16, Half, Half, float, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
TILEWRIGHT_NAMED(16, BFloat16, BFloat16, float, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32")

template <class MmaType, int kAtomsM, int kAtomsN>
struct MmaRegisters {
  static constexpr int kRows = kAtomsM, kColumns = kAtomsN;
  static constexpr bool kExists = NamedMma<MmaType>::kExists && kAtomsN % 4 == 0;

  // The sums begin as zeros.
  template <int kAtom = 0>
  __device__ __forceinline__ static void declare() {
    constexpr int kRow = kAtom / kAtomsN, kColumn = kAtom % kAtomsN;
    asm volatile(TILEWRIGHT_ZERO(1) TILEWRIGHT_ZERO(2) TILEWRIGHT_ZERO(3) TILEWRIGHT_ZERO(4)::"n"(kRow),
                 TILEWRIGHT_QUAD(kColumn, 1));
    if constexpr (kColumn == 0) asm volatile(".reg .b32 tw_a0_%0_<%1>, tw_a1_%0_<%1>;" ::"n"(kRow), "n"(MmaType::kA));
    if constexpr (kRow == 0) {
      asm volatile(
          ".reg .b32 tw_b0_%0_<%4>, tw_b0_%1_<%4>, tw_b0_%2_<%4>, tw_b0_%3_<%4>;\n"
          ".reg .b32 tw_b1_%0_<%4>, tw_b1_%1_<%4>, tw_b1_%2_<%4>, tw_b1_%3_<%4>;" ::TILEWRIGHT_QUAD(kColumn, 1),
          "n"(MmaType::kB));
    }
    if constexpr (kAtom + 4 < kAtomsM * kAtomsN) declare<kAtom + 4>();
  }

  // The products of a set, rows in turn there and back: one fragment is the same as before.
  template <int kSet, int kAtom = 0>
  __device__ __forceinline__ static void multiply() {
    constexpr int kRow = kAtom / kAtomsN, kColumn = kAtom % kAtomsN;
    if constexpr (kRow % 2 == 0) {
      NamedMma<MmaType>::template run<kRow, kColumn, 1, kSet>();
    } else {
      NamedMma<MmaType>::template run<kRow, kAtomsN - 1 - kColumn, -1, kSet>();
    }
    if constexpr (kAtom + 4 < kAtomsM * kAtomsN) multiply<kSet, kAtom + 4>();
  }

  // The sums as values.
  template <int kAtom = 0>
  __device__ __forceinline__ static void take(float (&sum)[kAtomsM][kAtomsN][4]) {
    constexpr int kRow = kAtom / kAtomsN, kColumn = kAtom % kAtomsN;
    auto* const to = sum[kRow] + kColumn;
    asm volatile(TILEWRIGHT_TAKE(17, 0, 1, 2, 3) TILEWRIGHT_TAKE(18, 4, 5, 6, 7) TILEWRIGHT_TAKE(19, 8, 9, 10, 11)
                     TILEWRIGHT_TAKE(20, 12, 13, 14, 15)
                 : "=f"(to[0][0]), "=f"(to[0][1]), "=f"(to[0][2]), "=f"(to[0][3]), "=f"(to[1][0]), "=f"(to[1][1]),
                   "=f"(to[1][2]), "=f"(to[1][3]), "=f"(to[2][0]), "=f"(to[2][1]), "=f"(to[2][2]), "=f"(to[2][3]),
                   "=f"(to[3][0]), "=f"(to[3][1]), "=f"(to[3][2]), "=f"(to[3][3])
                 : "n"(kRow), TILEWRIGHT_QUAD(kColumn, 1));
    if constexpr (kAtom + 4 < kAtomsM * kAtomsN) take<kAtom + 4>(sum);
  }

  // The sums of rows from kFrom up to kEnd to shared memory by pairs, at bytes from `to` on that Place has by row,
  // column and pair.
  template <class Place, int kFrom, int kEnd, int kRow = kFrom, int kColumn = 0>
  __device__ __forceinline__ static void put(unsigned to) {
    constexpr int kIn = kRow - kFrom;
    asm volatile(TILEWRIGHT_PUT(2, 6, 7) TILEWRIGHT_PUT(3, 8, 9) TILEWRIGHT_PUT(4, 10, 11)
                     TILEWRIGHT_PUT(5, 12, 13)::"r"(to),
                 "n"(kRow), TILEWRIGHT_QUAD(kColumn, 1), "n"(Place::kAll.at[kIn][kColumn][0]),
                 "n"(Place::kAll.at[kIn][kColumn][1]), "n"(Place::kAll.at[kIn][kColumn + 1][0]),
                 "n"(Place::kAll.at[kIn][kColumn + 1][1]), "n"(Place::kAll.at[kIn][kColumn + 2][0]),
                 "n"(Place::kAll.at[kIn][kColumn + 2][1]), "n"(Place::kAll.at[kIn][kColumn + 3][0]),
                 "n"(Place::kAll.at[kIn][kColumn + 3][1])
                 : "memory");
    if constexpr (kColumn + 4 < kAtomsN) {
      put<Place, kFrom, kEnd, kRow, kColumn + 4>(to);
    } else if constexpr (kRow + 1 < kEnd) {
      put<Place, kFrom, kEnd, kRow + 1>(to);
    }
  }
};
#undef TILEWRIGHT_QUAD
#undef TILEWRIGHT_ZERO
#undef TILEWRIGHT_SUMS
#undef TILEWRIGHT_4_2
#undef TILEWRIGHT_TAKE
#undef TILEWRIGHT_PUT
#undef TILEWRIGHT_NAMED
#else
template <class MmaType, int kAtomsM, int kAtomsN>
struct MmaRegisters {
  static constexpr bool kExists = false;
};
#endif

}  // namespace tilewright
