// An operand's tile on its way from global to shared memory, by the threads of a thread-value layout.
//
// What lies outside of the tensor becomes zeros. By cp.async, an access goes past the registers; otherwise its elements
// wait there (`fetch`) until their place in shared memory is free (`put`).
#pragma once

#include "tilewright/cp_async.cuh"
#include "tilewright/grid.cuh"
#include "tilewright/layout.cuh"
#include "tilewright/shared_access.cuh"

namespace tilewright {

// The bits of an offset that a swizzle reads or changes.
template <class LayoutType>
struct SwizzledBits {
  static constexpr int value = 0;
};

template <int kBits, int kBase, int kShift, int64 kOffset, class Outer>
struct SwizzledBits<Composed<Swizzle<kBits, kBase, kShift>, kOffset, Outer>> {
  static constexpr int kChanged = ((1 << kBits) - 1) << kBase;
  static constexpr int value = kShift >= 0 ? kChanged | kChanged << kShift : kChanged | kChanged << -kShift;
};

// Offsets in a stage of shared memory, in elements: a thread's own, and a constant for each of its values. Bits of the
// constant that a swizzle neither reads nor changes are added behind it, so that addresses which differ in them alone
// are one register and immediate operands. No carry may come from them: the plan has compared all offsets with the
// layout.
template <class SmemLayout>
struct SharedTile {
  using Linear = typename Parts<SmemLayout>::Linear;
  static constexpr int kStage = Linear{}.template operator()<int>(Coord<3>{0, 0, 1});

  __device__ static constexpr int linear(const Coord<2>& c) {
    return Linear{}.template operator()<int>(Coord<3>{c.at[0], c.at[1], 0});
  }
  __device__ static constexpr int offset(int thread, int constant) {
    constexpr int kTouched = SwizzledBits<SmemLayout>::value;
    return Parts<SmemLayout>::finish(thread + (constant & kTouched)) + (constant & ~kTouched);
  }
};

// kAccesses accesses of kVector elements along mode kMode of (row, k), by the first kThreads threads (0: by all). kUnit
// is the mode of stride 1 (-1: none). kRagged: tiles reach over the last row.
template <class Type, class SmemLayout, class ThreadValue, int kThreads, int kAccesses, int kVector, int kMode,
          int kUnit, bool kAsync, bool kRagged>
struct TileLoad {
  using T = Type;
  using Smem = SharedTile<SmemLayout>;
  using Access = Vector<T, kVector>;
  static constexpr bool kIsAsync = kAsync;

  // Where each access lies from the thread's first one, as constants.
  struct Steps {
    Coord<2> at[kAccesses];
    __device__ constexpr Steps() : at{} {
      for (int i = 0; i < kAccesses; ++i) {
        at[i] = ThreadValue{}.template operator()<Coord<2>>(Coord<2>{0, i * kVector});
      }
    }
  };

  const T* from;
  Strides<2, kUnit> strides;
  Coord<2> mine;
  int rows;  // of the tensor, from the tile's first one on
  int to;
  T held[kAsync ? 1 : kAccesses * kVector];

  __device__ TileLoad(const T* tile, const Strides<2, kUnit>& strides, int rows) : strides(strides), rows(rows) {
    mine = ThreadValue{}.template operator()<Coord<2>>(Coord<2>{static_cast<int>(threadIdx.x), 0});
    from = tile + strides(mine);
    to = Smem::linear(mine);
  }

  // How many elements of an access lie inside; kCut: the tensor ends after `depth` elements of k.
  template <bool kCut>
  __device__ int inside(const Coord<2>& step, int depth) const {
    int count = kVector;
    const int left[2] = {rows - mine.at[0] - step.at[0], depth - mine.at[1] - step.at[1]};
#pragma unroll
    for (int mode = 0; mode < 2; ++mode) {
      if (!(mode == 0 ? kRagged : kCut)) continue;
      if (mode == kMode && kVector > 1) {
        count = left[mode] < count ? left[mode] : count;
      } else {
        count = left[mode] > 0 ? count : 0;
      }
    }
    return count > 0 ? count : 0;
  }

  // One of so many parts of a K tile, or nothing where it is not `made`; `stage` is the address in shared memory.
  template <bool kCut>
  __device__ void fetch(unsigned stage, int depth, int part, int parts, bool made) {
    if (kThreads > 0 && threadIdx.x >= kThreads) made = false;
    if (!kAsync && !made) return;
    constexpr Steps kSteps;
#pragma unroll
    for (int i = 0; i < kAccesses; ++i) {
      if (i < part * kAccesses / parts || i >= (part + 1) * kAccesses / parts) continue;
      const T* source = from + strides(kSteps.at[i]);
      const int count = inside<kCut>(kSteps.at[i], depth);
      if constexpr (kAsync) {
        const int offset = Smem::offset(to, Smem::linear(kSteps.at[i]));
        cp_async_if<sizeof(Access)>(made, stage + offset * sizeof(T), source, count * static_cast<int>(sizeof(T)));
      } else {
#pragma unroll
        for (int j = 0; j < kVector; ++j) {
          held[i * kVector + j] = j < count ? source[strides(Coord<2>{kMode == 0 ? j : 0, kMode == 1 ? j : 0})] : T{};
        }
      }
    }
  }

  __device__ void put(unsigned stage) const {
    if constexpr (!kAsync) {
      if (kThreads > 0 && threadIdx.x >= kThreads) return;
      constexpr Steps kSteps;
#pragma unroll
      for (int i = 0; i < kAccesses; ++i) {
#pragma unroll
        for (int j = 0; j < kVector; ++j) {
          const Coord<2> step = {kSteps.at[i].at[0] + (kMode == 0 ? j : 0), kSteps.at[i].at[1] + (kMode == 1 ? j : 0)};
          store_shared_at(stage + Smem::offset(to, Smem::linear(step)) * sizeof(T),
                          Vector<T, 1>{held[i * kVector + j]});
        }
      }
    }
  }

  // To the next K tile.
  __device__ void advance(int depth) { from += strides(Coord<2>{0, depth}); }
};

}  // namespace tilewright
