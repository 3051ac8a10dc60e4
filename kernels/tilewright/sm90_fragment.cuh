// A of wgmma from registers, for elements of 32 bits that lie along M: the tensor cores read those along K only.
//
// TMA brings boxes of 32 rows by K, in rows of 128 bytes along M, swizzled. For an instruction a thread holds two rows,
// next to each other (sm90_rows.cuh), in two columns of K: two reads of 8 bytes, without bank conflicts.
#pragma once

#include "tilewright/shared_access.cuh"
#include "tilewright/sm90_rows.cuh"
#include "tilewright/wgmma.cuh"

namespace tilewright {

// What a thread holds of A for one stage.
template <class Operand, int kSteps, int kBlocks, int kStep>
struct Sm90Fragment {
  static constexpr int kColumnBytes = 128;                    // of a box: 32 rows in one column of K
  static constexpr int kBoxBytes = Operand::kBlockBytes / 2;  // 32 of the 64 rows of a block
  unsigned values[kSteps][kBlocks][4];

  // Where this thread's rows of its first two columns begin in a stage: t % 4, and 4 further on.
  struct Place {
    int first, second;
  };

  __device__ static Place place() {
    const int row = Sm90Rows<true>::first(), k = threadIdx.x % 4;
    const int box = row / 32 * kBoxBytes, chunk = row % 32 / 4, within = row % 4 * 4;
    return {box + k * kColumnBytes + ((chunk ^ k) << 4) + within,
            box + (k + 4) * kColumnBytes + ((chunk ^ (k + 4)) << 4) + within};
  }

  // `stage`: the address in shared memory of the consumer's first block.
  __device__ void read(unsigned stage, const Place& place) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        const unsigned at = stage + block * kStep * Operand::kBlockBytes + step * 8 * kColumnBytes;
        const auto low = load_shared_at<unsigned, 2>(at + place.first);
        const auto high = load_shared_at<unsigned, 2>(at + place.second);
        unsigned (&to)[4] = values[step][block];
        to[0] = low.at[0], to[1] = low.at[1], to[2] = high.at[0], to[3] = high.at[1];
      }
    }
  }

  // Instructions that read these registers have not ended before this: nothing that touches them may be moved across.
  __device__ void hold() {
#pragma unroll
    for (int i = 0; i < kSteps * kBlocks; ++i) {
      unsigned (&r)[4] = values[i / kBlocks][i % kBlocks];
      asm volatile("" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3])::"memory");
    }
  }
};

}  // namespace tilewright
