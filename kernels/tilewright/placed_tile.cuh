// The tile of a CTA in its tensor.
#pragma once

#include "tilewright/grid.cuh"
#include "tilewright/layout.cuh"

namespace tilewright {

template <int kRank>
__device__ Coord<kRank> operator+(Coord<kRank> a, const Coord<kRank>& b) {
#pragma unroll
  for (int mode = 0; mode < kRank; ++mode) a.at[mode] += b.at[mode];
  return a;
}

template <int kMode, int kRank>
__device__ constexpr Coord<kRank> shifted(Coord<kRank> c, int steps) {
  c.at[kMode] += steps;
  return c;
}

template <int kRank>
__device__ constexpr Coord<kRank> shifted_in(Coord<kRank> c, int mode, int steps) {
  c.at[mode] += steps;
  return c;
}

template <int kMode, int kRank>
__device__ Coord<kRank> with(Coord<kRank> c, int coordinate) {
  c.at[kMode] = coordinate;
  return c;
}

// Coordinates count from the tile's first one, `origin`. Those inside the tensor are below `end`, and, where a kernel
// looks in front of its tile (kLooksBack), not below `begin`.
template <int kRank, bool kLooksBack = false>
struct PlacedTile {
  Coord<kRank, int64> origin;
  Coord<kRank> begin, end;

  template <class TileType>
  __device__ PlacedTile(TileType, const Grid<kRank>& grid, const int64* extent) {
    const Coord<kRank> tile = grid(blockIdx.x);
#pragma unroll
    for (int mode = 0; mode < kRank; ++mode) {
      constexpr int64 kFar = 1 << 24;  // beyond every tile, so that what follows fits into 32 bits
      origin.at[mode] = static_cast<int64>(tile.at[mode]) * TileType::extent(mode);
      const int64 left = extent[mode] - origin.at[mode];
      end.at[mode] = static_cast<int>(left < kFar ? left : kFar);
      begin.at[mode] = -static_cast<int>(origin.at[mode] < kFar ? origin.at[mode] : kFar);
      // Only along mode 0, whose runs need not divide it, may a tile lie behind the tensor: said for the compiler.
      if (!kLooksBack && mode > 0 && end.at[mode] < 1) end.at[mode] = 1;
    }
  }

  // Whether all of the tile is inside.
  template <class TileType>
  __device__ bool is_whole(TileType) const {
    bool result = true;
#pragma unroll
    for (int mode = 0; mode < kRank; ++mode) result = result && TileType::extent(mode) <= end.at[mode];
    return result;
  }

  // Whether the kCount coordinates from c on, along kMode, are all inside.
  template <int kMode, int kCount>
  __device__ bool contains(const Coord<kRank>& c) const {
    bool result = true;
#pragma unroll
    for (int mode = 0; mode < kRank; ++mode) {
      const int last = c.at[mode] + (mode == kMode ? kCount - 1 : 0);
      result = result && last < end.at[mode] && (!kLooksBack || c.at[mode] >= begin.at[mode]);
    }
    return result;
  }

  // Which of the kCount coordinates from c on, along kMode, are inside: a bit for each.
  template <int kMode, int kCount>
  __device__ unsigned inside(const Coord<kRank>& c) const {
    const int left = end.at[kMode] - c.at[kMode], before = kLooksBack ? begin.at[kMode] - c.at[kMode] : 0;
    const int first = before > 0 ? before : 0, last = left < kCount ? left : kCount;
    if (first >= last || !contains<kMode, 1>(with<kMode>(c, c.at[kMode] + first))) return 0;
    return (1u << last) - (1u << first);
  }

  // Where a coordinate lies in the tensor.
  __device__ Coord<kRank, int64> operator()(const Coord<kRank>& c) const {
    Coord<kRank, int64> result = origin;
#pragma unroll
    for (int mode = 0; mode < kRank; ++mode) result.at[mode] += c.at[mode];
    return result;
  }
};

}  // namespace tilewright
