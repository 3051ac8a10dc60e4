// An operand of wgmma in shared memory: boxes that the copy engine brings, descriptors that the tensor cores read.
//
// All numbers are read off the plan's shared-memory layout by the host (python/tilewright/kernels/gemm_sm90.py):
//
//   rows            of the tile: along M for A, along N for B
//   boxes           into which the tile is cut along the rows, each of `box_bytes`, one behind the other
//   block_bytes     from 64 rows to the next 64 rows (A only)
//   step_bytes      from one instruction's columns along K to the next one's
//   leading, stride, swizzle: of the descriptor
#pragma once

#include "tilewright/tma.cuh"
#include "tilewright/wgmma.cuh"

namespace tilewright {

template <class Type, bool kMajorK_, int kRows_, int kBoxes, int kBoxBytes, int kBlockBytes_, int kStepBytes_,
          int kLeading, int kStride, int kSwizzle>
struct Sm90Operand {
  using T = Type;
  static constexpr bool kMajorK = kMajorK_;
  static constexpr int kRows = kRows_;
  static constexpr int kStageBytes = kBoxes * kBoxBytes;
  static constexpr int kBlockBytes = kBlockBytes_;
  static constexpr int kStepBytes = kStepBytes_;
  static constexpr int kBoxRows = kRows / kBoxes;
  // The tensor cores read 16-bit elements along M or N, others along K only: then it is A, and goes through registers.
  static constexpr bool kFromRegisters = !kMajorK && sizeof(T) == 4;

  // This CTA's share of the tile at (row, k): all of it, or, where kSharers CTAs of the cluster need the same tile, the
  // boxes that it brings to all of them.
  template <int kSharers, int kRank>
  __device__ static void load(unsigned char* stage, const TensorMap& map, BoxAt<kRank> at, int row, int k,
                              Barrier* full, int share, unsigned short mask) {
    static_assert(kBoxes % kSharers == 0);
    constexpr int kOwn = kBoxes / kSharers;
    at.at[kMajorK ? 0 : 1] = k;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int box = share * kOwn + i;
      at.at[kMajorK ? 1 : 0] = row + box * kBoxRows;
      tma_load<(kSharers > 1)>(stage + box * kBoxBytes, map, at, full, mask);
    }
  }

  // The descriptor of the first instruction in a stage; adding bytes / 16 moves it. Addresses of a CTA in a cluster
  // have its rank in bits that the descriptor uses for other things.
  __device__ static unsigned long long descriptor(const unsigned char* stage) {
    return wgmma_descriptor(kLeading, kStride, kSwizzle) | (shared_address(stage) >> 4 & 0x3FFF);
  }
};

}  // namespace tilewright
