// An operand of gemm_simt: how a CTA's threads bring tiles of it to shared memory, and read from there what they
// multiply.
#pragma once

#include "tilewright/cp_async.cuh"
#include "tilewright/layout.cuh"
#include "tilewright/numeric.cuh"
#include "tilewright/vector.cuh"

namespace tilewright {

// What each value of a thread adds to the thread's row or column, as constants.
template <class Rows, int kCount>
struct Positions {
  int at[kCount];

  __device__ constexpr Positions() : at{} {
    for (int value = 0; value < kCount; ++value) at[value] = Rows{}.template operator()<int>(Coord<2>{0, value});
  }
};

// An operand: elements T; ThreadValue: (thread, value) -> (row, k) of the tile, kAtom values along kMode by one call of
// the atom; SmemLayout: (row, k, stage) -> offset in shared memory. Global memory has stride 1 along the mode kUnit
// (-1: in none). kWide: an access of kAtom elements is aligned there, and inside or outside as a whole; else elements
// are brought one by one. kByCpAsync: they go by cp.async where that can be, else through registers. kIsPadded: there
// is memory up to the tile's last row everywhere.
template <class ElementType, class ThreadValue, class SmemLayout, int kThreadCount, int kValues, int kAtom, int kMode,
          int kUnit, bool kWide, bool kByCpAsync, bool kIsPadded>
struct SimtOperand {
  using T = ElementType;
  static constexpr int kThreads = kThreadCount;
  static constexpr int kVector = kWide ? kAtom : 1;
  static constexpr int kAccesses = kValues / kVector;
  static constexpr bool kPadded = kIsPadded;
  static constexpr bool kAsync = kByCpAsync && kArch >= 800 && sizeof(T) * kVector >= 4;

  struct Params {
    const T* pointer;
    int64 stride[2];  // of rows and of k
    int64 batch[3];
  };

  // Shared memory is linear in row, k and stage.
  static constexpr int kRowStep = SmemLayout{}.template operator()<int>(Coord<3>{1, 0, 0});
  static constexpr int kDepthStep = SmemLayout{}.template operator()<int>(Coord<3>{0, 1, 0});
  static constexpr int kStageStep = SmemLayout{}.template operator()<int>(Coord<3>{0, 0, 1});
  static constexpr int kNeighbourStep = kMode == 0 ? kRowStep : kDepthStep;

  __device__ static constexpr Coord<2> coordinate(int thread, int value) {
    return ThreadValue{}.template operator()<Coord<2>>(Coord<2>{thread, value});
  }

  __device__ static constexpr int place(const Coord<2>& c) { return c.at[0] * kRowStep + c.at[1] * kDepthStep; }

  // What each access adds to the thread's coordinate, as constants.
  struct Accesses {
    Coord<2> at[kAccesses];

    __device__ constexpr Accesses() : at{} {
      for (int i = 0; i < kAccesses; ++i) at[i] = coordinate(0, i * kVector);
    }
  };

  Coord<2> mine;  // the thread's own coordinate in the tile
  const T* next;  // its element in the tile that is loaded next
  int64 stride[2];
  Vector<T, kVector> staged[kAsync ? 1 : kAccesses];

  __device__ SimtOperand(const Params& params, int64 first_row, int64 first_k, const unsigned* batch)
      : mine(coordinate(static_cast<int>(threadIdx.x), 0)) {
    stride[0] = kUnit == 0 ? 1 : params.stride[0];
    stride[1] = kUnit == 1 ? 1 : params.stride[1];
    next = params.pointer + (first_row + mine.at[0]) * stride[0] + (first_k + mine.at[1]) * stride[1];
#pragma unroll
    for (int i = 0; i < 3; ++i) next += batch[i] * params.batch[i];
  }

  template <int kAll>
  __device__ static bool loads() {
    return kThreads >= kAll || threadIdx.x < kThreads;
  }

  // A tile with so many rows and so much depth; what is outside of them becomes zero. `to` is the thread's place in the
  // stage, kDepth the tile's extent along K. By cp.async nothing is loaded where there is no depth.
  template <int kDepth, bool kChecked>
  __device__ void load(T* to, int rows, int depth) {
    constexpr Accesses kAt;
    Coord<2> left{rows - mine.at[0], depth - mine.at[1]};
    // Nothing of what the checks compute is to be kept in registers through the main loop.
    if constexpr (kChecked) asm volatile("" : "+r"(left.at[0]), "+r"(left.at[1]));
    const T* from = next;
#pragma unroll
    for (int i = 0; i < kAccesses; ++i) {
      // Along the contiguous mode the distance is a constant of the instruction.
      if (i > 0 && kUnit != 0) from += (kAt.at[i].at[0] - kAt.at[i - 1].at[0]) * stride[0];
      if (i > 0 && kUnit != 1) from += (kAt.at[i].at[1] - kAt.at[i - 1].at[1]) * stride[1];
      const T* const address = kUnit < 0 ? from : from + kAt.at[i].at[kUnit < 0 ? 0 : kUnit];
      const bool inside = !kChecked || ((kPadded || kAt.at[i].at[0] < left.at[0]) && kAt.at[i].at[1] < left.at[1]);
      if constexpr (!kAsync) {
        staged[i] = {};
        if (inside) staged[i] = load_cached<T, kVector>(address);
      } else {
        constexpr int kBytes = sizeof(T) * kVector;
        const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to + place(kAt.at[i])));
        cp_async_if<kBytes>(depth > 0, shared, address, inside ? kBytes : 0);
      }
    }
    next += kDepth * stride[1];
  }

  // From registers to shared memory, after `load` without cp.async.
  __device__ void store(T* to) const {
    constexpr Accesses kAt;
#pragma unroll
    for (int i = 0; i < kAccesses; ++i) {
      T* const first = to + place(kAt.at[i]);
      if constexpr (kNeighbourStep == 1) {
        store_shared(first, staged[i]);
      } else {
#pragma unroll
        for (int j = 0; j < kVector; ++j) first[j * kNeighbourStep] = staged[i].at[j];
      }
    }
  }

  // What a thread multiplies in one step: kCount rows, kWidth at a time; Rows: (thread, value) -> row.
  template <class Rows, class Acc, int kCount, int kWidth>
  struct Fragment {
    static constexpr int kAccesses = kCount / kWidth;
    Acc at[kCount];

    __device__ void load(const T* from, int part) {
      constexpr Positions<Rows, kCount> kRow;
      const auto values = load_shared<T, kWidth>(from + kRow.at[part * kWidth] * kRowStep);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) at[part * kWidth + j] = convert<Acc>(values.at[j]);
    }
  };
};

}  // namespace tilewright
