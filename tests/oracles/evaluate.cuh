// Writes down what a layout is at its coordinates. A test compares that with the host; also without a GPU, where the
// same text is compiled by the C++ compiler.
#pragma once

#include "tilewright/grid.cuh"
#include "tilewright/layout.cuh"

namespace tilewright {

template <class LayoutType>
struct EvaluateParams {
  int64* out;  // a row for each coordinate
  int64 count;
  int64 step;        // coordinate i * step, colexicographic, is number i
  int64 extents[8];  // of the layout's modes
  LayoutType layout;
};

// The same coordinate with one integer for each mode; what is beyond the size is in the last.
template <int kModes>
__device__ Coord<kModes, int64> by_modes(int64 index, const int64* extents) {
  Coord<kModes, int64> result{};
  for (int mode = 0; mode < kModes; ++mode) {
    const bool last = mode == kModes - 1;
    result.at[mode] = last ? index : index % extents[mode];
    index /= extents[mode];
  }
  return result;
}

// A row has kColumns values of the layout: at the coordinate of its modes, at the 1-D coordinate, and at the first as
// an offset of 32 bits. Where values are coordinates of kRank modes, each is kRank numbers.
template <class LayoutType, int kModes, int kRank, int kColumns>
__device__ void evaluate_at(const EvaluateParams<LayoutType>& params, int64 i) {
  const int64 index = i * params.step;
  const auto coordinate = by_modes<kModes>(index, params.extents);
  if constexpr (kRank > 0) {
    const auto all = params.layout.template operator()<Coord<kRank>>(coordinate);
    const auto one = params.layout.template operator()<Coord<kRank>>(index);
    for (int mode = 0; mode < kRank; ++mode) {
      params.out[(2 * i) * kRank + mode] = all.at[mode];
      params.out[(2 * i + 1) * kRank + mode] = one.at[mode];
    }
  } else {
    params.out[i * kColumns] = params.layout(coordinate);
    if constexpr (kColumns > 1) params.out[i * kColumns + 1] = params.layout(index);
    if constexpr (kColumns > 2) params.out[i * kColumns + 2] = params.layout.template operator()<int>(coordinate);
  }
}

template <class LayoutType, int kModes, int kRank, int kColumns>
__global__ void evaluate_layout(const __grid_constant__ EvaluateParams<LayoutType> params) {
  const int64 i = static_cast<int64>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < params.count) evaluate_at<LayoutType, kModes, kRank, kColumns>(params, i);
}

}  // namespace tilewright
