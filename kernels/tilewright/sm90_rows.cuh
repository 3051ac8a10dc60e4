// Which rows of 64 a thread of a warpgroup has sums of: two for each 8 columns.
//
//   plain    those of wgmma: 16 (t / 32) + t % 32 / 4, and the row 8 below
//   paired   two next to each other. wgmma does not know which rows of A it gets from registers, so the plan says which
//            (permutation_mnk of its TiledMma): those that a thread can read together where A lies along M
//
// Bits of the first row, paired: a warp has 16 of 32 rows, four by four: those whose bit 3 is that of the warp.
//   1 and 4   bits 0 and 1 of t % 32 / 4: a half of a warp reads rows in both halves of a row of 128 bytes of shared
//             memory, whose swizzle gives the four columns of K that it reads the four places in each
//   2         bit 2 of t % 32 / 4
//   3 and 5   bits 0 and 1 of t / 32
#pragma once

namespace tilewright {

template <bool kPaired>
struct Sm90Rows {
  static constexpr int kNext = kPaired ? 1 : 8;  // from a thread's first row to its second

  __device__ static int first() {
    const int warp = threadIdx.x % 128 / 32, group = threadIdx.x % 32 / 4;
    if constexpr (kPaired) {
      return warp / 2 * 32 + warp % 2 * 8 + group % 2 * 2 + group / 2 % 2 * 16 + group / 4 * 4;
    } else {
      return warp * 16 + group;
    }
  }
};

}  // namespace tilewright
