// An operand of wgmma in shared memory: boxes that the copy engine brings, descriptors that the tensor cores read.
//
// All numbers are read off the plan's shared-memory layout by the host
// (python/tilewright/kernels/gemm/sm90/shared_operand.py):
//
//   rows            of the tile: along M for A, along N for B
//   boxes           into which the tile is cut along the rows, each of `box_bytes`, one behind the other
//   parts           into which boxes are cut along K, where CTAs of a cluster cannot have whole ones of a tile each
//   block_bytes     from 64 rows to the next 64 rows (A only)
//   step_bytes      from one instruction's columns along K to the next one's
//   leading, stride, swizzle: of the descriptor
//
// With kRagged, of a tile that reaches over the end of the tensor only the rows inside are brought, in eights or all of
// a box, or in boxes along M or N: filling up with zeros is slow for the copy engine, 0.2 us on an H200 for 127 rows of
// a step. What lies in the stage instead goes into sums that nobody stores.
#pragma once

#include "tilewright/tma.cuh"
#include "tilewright/wgmma.cuh"

namespace tilewright {

template <bool kRagged>
struct Sm90Maps {
  TensorMap whole;
};
template <>
struct Sm90Maps<true> {
  TensorMap whole, last;  // `last`: of the last tile, where rows are along K, in boxes of so many rows
  int last_rows;
};

template <class Type, bool kMajorK_, int kRows_, int kBoxes, int kBoxBytes, int kBlockBytes_, int kStepBytes_,
          int kLeading, int kStride, int kSwizzle, bool kRagged = false, int kParts = 1>
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

  using Params = Sm90Maps<kRagged>;

  // The boxes of one tile: `rows` of each, 0: there are none.
  struct Boxes {
    const TensorMap* map;
    int first, rows, inside;

    __device__ unsigned bytes() const {
      if (!kRagged) return kStageBytes;
      return kMajorK ? kBoxes * 128 * rows : (min(inside, kRows) + kBoxRows - 1) / kBoxRows * kBoxBytes;
    }
  };

  // Of the tile at a row, of a tensor with `extent` of them.
  __device__ static Boxes boxes(const Params& params, int row, int extent) {
    const int inside = max(extent - row, 0);
    if constexpr (kRagged && kMajorK) {
      if (inside < kRows) return {&params.last, row, inside > 0 ? params.last_rows : 0, inside};
    }
    return {&params.whole, row, kBoxRows, inside};
  }

  // This CTA's share of a tile at k: all of it, or, where kSharers CTAs of the cluster need the same tile, the boxes,
  // or the part of all boxes, that it brings to all of them.
  template <int kSharers, int kRank>
  __device__ static void load(unsigned stage, const Boxes& boxes, BoxAt<kRank> at, int k, unsigned full, int share,
                              unsigned short mask) {
    static_assert(kParts > 1 ? kParts == kSharers && !kMajorK : kBoxes % kSharers == 0);
    constexpr int kOwn = kParts > 1 ? kBoxes : kBoxes / kSharers;
    constexpr int kDepth = 128 / sizeof(T) / kParts;  // of K, in a part
    const int part = kParts > 1 ? share : 0, box = kParts > 1 ? 0 : share * kOwn;
    stage += part * (kBoxBytes / kParts);
    at.at[kMajorK ? 0 : 1] = k + part * kDepth;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int first = (box + i) * boxes.rows;
      at.at[kMajorK ? 1 : 0] = boxes.first + first;
      if (!kRagged || (kMajorK ? boxes.rows > 0 : first < boxes.inside)) {
        tma_load<(kSharers > 1)>(stage + first * (kBoxBytes / kBoxRows), *boxes.map, at, full, mask);
      }
    }
  }

  // The descriptor of the first instruction in a stage; adding bytes / 16 moves it. Addresses of a CTA in a cluster
  // have its rank in bits that the descriptor uses for other things.
  __device__ static unsigned long long descriptor(unsigned stage) {
    return wgmma_descriptor(kLeading, kStride, kSwizzle) | (stage >> 4 & 0x3FFF);
  }
};

}  // namespace tilewright
