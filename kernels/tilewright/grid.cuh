// The grid of tiles: which tile a CTA has.
#pragma once

#include "tilewright/layout.cuh"

namespace tilewright {

// n / divisor for 0 <= n < 2^31 by one multiplication: (n * multiplier) >> 32 >> shift, where the host chooses
// multiplier = ceil(2^(32 + shift) / divisor) and shift = ceil(log2(divisor)) - 1; the divisor 1 has multiplier 0.
struct FastDivisor {
  unsigned divisor, multiplier, shift;

  __device__ unsigned divide(unsigned n) const { return multiplier == 0 ? n : __umulhi(n, multiplier) >> shift; }
};

// The static extents of a tile.
template <int... kExtents>
struct Tile {
  static constexpr int kRank = sizeof...(kExtents);
  __device__ static constexpr int extent(int mode) {
    constexpr int kAll[] = {kExtents...};
    return kAll[mode];
  }
};

// The strides of a tensor: run-time values, but for the mode kUnitMode, whose stride is 1 (-1: there is none).
template <int kRank, int kUnitMode>
struct Strides {
  int64 stride[kRank];

  template <class T>
  __device__ int64 operator()(const Coord<kRank, T>& c) const {
    int64 offset = 0;
#pragma unroll
    for (int mode = 0; mode < kRank; ++mode) offset += mode == kUnitMode ? c.at[mode] : c.at[mode] * stride[mode];
    return offset;
  }
};

// The tiles of a tensor, in runs of `run` tiles along mode 0: within a run colexicographic, and then the next run. CTAs
// that run at the same time so have tiles next to each other along mode 0, where the destination is contiguous: what is
// written together in long stretches decides the speed (docs/copy.md).
template <int kRank>
struct Grid {
  FastDivisor run;
  FastDivisor tiles[kRank];  // of mode 0: the number of runs, by which nothing is divided

  __device__ Coord<kRank> operator()(unsigned index) const {
    Coord<kRank> result;
    unsigned rest = run.divide(index);
    result.at[0] = index - rest * run.divisor;
    index = rest;
#pragma unroll
    for (int mode = 1; mode < kRank; ++mode) {
      rest = tiles[mode].divide(index);
      result.at[mode] = index - rest * tiles[mode].divisor;
      index = rest;
    }
    result.at[0] += index * run.divisor;
    return result;
  }
};

}  // namespace tilewright
