// Copy between two layouts of one shape, tile by tile: dst(c) = src(c).
//
// A CTA has a tile; a thread-value layout says which coordinates of the tile a thread moves, kVector values along one
// mode by one access. `copy_direct` goes through registers. `copy_staged` goes through shared memory, where the threads
// are dealt out anew: they read along the mode in which the source is contiguous, and write along the destination's.
//
// Rows may begin at any address. A source that is not aligned is read by aligned accesses, which are shifted into each
// other. In a destination that is not aligned, the tile begins earlier in every row, at the multiple of kDstShift
// elements before it, a number that differs from row to row.
#pragma once

#include "tilewright/cp_async.cuh"
#include "tilewright/early_launch.cuh"
#include "tilewright/grid.cuh"
#include "tilewright/layout.cuh"
#include "tilewright/packed_copy.cuh"
#include "tilewright/placed_tile.cuh"
#include "tilewright/vector.cuh"

namespace tilewright {

template <int kBytes, int kRank, int kSrcUnit, int kDstUnit>
struct CopyParams {
  const Element<kBytes>* src;
  Element<kBytes>* dst;
  const void* src_begin;  // the memory of the source's elements
  const void* src_end;
  int64 extent[kRank];
  Strides<kRank, kSrcUnit> src_layout;
  Strides<kRank, kDstUnit> dst_layout;
  Grid<kRank> grid;
};

// The thread's own coordinate, and what its values add to it.
template <int kRank, class ThreadValue>
__device__ Coord<kRank> thread_coordinate() {
  return ThreadValue{}.template operator()<Coord<kRank>>(Coord<2>{static_cast<int>(threadIdx.x), 0});
}

// What the first value of every access adds to the thread's coordinate, as constants.
template <int kRank, class ThreadValue, int kAccesses, int kStep>
struct AccessCoordinates {
  Coord<kRank> at[kAccesses];

  __device__ constexpr AccessCoordinates() : at{} {
    for (int k = 0; k < kAccesses; ++k) {
      at[k] = ThreadValue{}.template operator()<Coord<kRank>>(Coord<2>{0, k * kStep});
    }
  }
};

// By how many elements the destination's row of coordinate c begins behind a multiple of kDstShift.
template <int kBytes, int kDstMode, int kDstShift, class Params, class Tile, int kRank>
__device__ int dst_gap(const Params& params, const Tile& tile, const Coord<kRank>& c) {
  if constexpr (kDstShift == 0) return 0;
  const int64 begin = reinterpret_cast<int64>(params.dst) / kBytes;
  return static_cast<int>(begin + params.dst_layout(tile(with<kDstMode>(c, 0)))) & (kDstShift - 1);
}

// How the source's elements of one access are read. kStep is the stride of the source along the access: what lies
// between and behind elements is read too if all of it fits into 16 bytes, and lies in the source's memory; with step 0
// one element serves all; -1 stands for any step. What is not aligned is read by two aligned accesses, and joined,
// where it has 4 bytes and no word that nobody uses; else element by element. Reading has two parts, so that a thread
// has all its accesses under way before it waits for the first.
template <class T, int kVector, int kStep, bool kAligned>
struct SrcAccess {
  static constexpr int kBytes = kStep >= 1 && kVector > 1 ? static_cast<int>(sizeof(T)) * kVector * kStep : 0;
  static constexpr bool kJoins = !kAligned && kBytes >= 4 && (kStep == 1 || kStep * sizeof(T) <= 4);
  static constexpr bool kAtOnce = kStep >= 1 && kAligned;
  static constexpr bool kSkips = kAtOnce && kStep > 1;
  static constexpr bool kMayLack = kJoins || (kAtOnce && kVector > 1);  // elements of an access that is not read
  static constexpr int kSpan = kAtOnce || kJoins ? kVector * kStep : kVector;
  Vector<T, kSpan> elements;
  UnalignedWords<kJoins ? kBytes : 0> words;

  // Whether something is read of an access whose first element has coordinate c: of what reaches over an end of the
  // tensor, all that is read at once must be there, of the rest the memory is known.
  template <int kMode, bool kChecked, class Tile, int kRank>
  __device__ static bool readable(const Tile& tile, const Coord<kRank>& c, unsigned inside) {
    if constexpr (!kChecked) return true;
    if constexpr (kAtOnce) return tile.template contains<kMode, kVector>(c);
    return inside != 0;
  }

  // Whether what is read behind the elements of a tile is in memory as well.
  template <class TileType, class Params, class Tile>
  __device__ static bool surrounds(TileType, const Params& params, const Tile& tile) {
    if constexpr (!kSkips) return true;
    int64 last = params.src_layout(tile.origin);
#pragma unroll
    for (int mode = 0; mode < TileType::kRank; ++mode) {
      const int64 reach = params.src_layout(shifted_in(Coord<TileType::kRank>{}, mode, TileType::extent(mode) - 1));
      last += reach > 0 ? reach : 0;
    }
    return params.src + last + kStep <= params.src_end;
  }

  // `step`: the stride, where it is not static. Elements that are not `inside` may have any value. Nothing is read
  // unless all of it can be, which is kKnown or not: the answer.
  template <bool kKnown>
  __device__ bool begin(const T* from, int64 step, unsigned inside, const void* memory_begin, const void* memory_end) {
    if constexpr (kAtOnce) {
      if (kSkips && !kKnown && from + kSpan > memory_end) return false;
      elements = load_global<T, kSpan>(from);
    } else if constexpr (kJoins) {
      if (!surrounded<kBytes>(from, memory_begin, memory_end)) return false;
      words.load(from);
    } else if constexpr (kStep == 0) {
      const T element = *from;
#pragma unroll
      for (int j = 0; j < kVector; ++j) elements.at[j] = element;
    } else {
#pragma unroll
      for (int j = 0; j < kVector; ++j) {
        if (inside >> j & 1) elements.at[j] = from[j * step];
      }
    }
    return true;
  }

  __device__ Vector<T, kVector> finish() const {
    Vector<T, kSpan> read = elements;
    if constexpr (kJoins) read = words.template joined<T, kSpan>();
    if constexpr (kSpan == kVector) {
      return read;
    } else {
      Vector<T, kVector> result;
#pragma unroll
      for (int j = 0; j < kVector; ++j) result.at[j] = read.at[j * kStep];
      return result;
    }
  }
};

// Whether an access of a tile may reach over an end: those of whole tiles need not look.
template <class Copy, class Params, class Tile>
__device__ bool may_end(const Params& params, const Tile& tile) {
  using Type = typename Copy::Type;
  if (Copy::kLooksBack) return true;
  if (!Copy::kMayBeCut && !Copy::Access::kSkips) return false;
  return !tile.is_whole(Type{}) || !Copy::Access::surrounds(Type{}, params, tile);
}

template <int kBytes, class TileType, int kSrcUnit, int kDstUnit, class ThreadValue, int kThreadCount, int kValues,
          int kVector, int kMode, int kSrcStep, bool kSrcAligned, int kDstShift, bool kPredicated>
struct DirectCopy {
  static constexpr int kRank = TileType::kRank;
  static constexpr int kThreads = (kThreadCount + 31) / 32 * 32;
  static constexpr int kAccesses = kValues / kVector;
  static constexpr bool kLooksBack = kDstShift > 0, kMayBeCut = kPredicated;
  using Type = TileType;
  using T = Element<kBytes>;
  using Params = CopyParams<kBytes, kRank, kSrcUnit, kDstUnit>;
  using Access = SrcAccess<T, kVector, kSrcStep, kSrcAligned>;
  using Tile = PlacedTile<kRank, kLooksBack>;

  __device__ static void run(const Params& params) {
    let_next_begin();
    if (kThreadCount < kThreads && threadIdx.x >= kThreadCount) return;
    const Tile tile(TileType{}, params.grid, params.extent);
    may_end<DirectCopy>(params, tile) ? move<true>(params, tile) : move<false>(params, tile);
  }

  // Accesses are kChecked where some may reach over an end.
  template <bool kChecked>
  __device__ static void move(const Params& params, const Tile& tile) {
    constexpr AccessCoordinates<kRank, ThreadValue, kAccesses, kVector> kValue;
    const Coord<kRank> mine = thread_coordinate<kRank, ThreadValue>();
    const T* const src = params.src + params.src_layout(tile.origin) + params.src_layout(mine);
    T* const dst = params.dst + params.dst_layout(tile.origin) + params.dst_layout(mine);
    const int64 step = params.src_layout(shifted<kMode>(Coord<kRank>{}, 1));
    Access access[kAccesses];
    bool read[kAccesses];
    unsigned inside[kAccesses];
    int gap[kAccesses];
    await_launches_before();
#pragma unroll
    for (int k = 0; k < kAccesses; ++k) {
      gap[k] = dst_gap<kBytes, kMode, kDstShift>(params, tile, mine + kValue.at[k]);
      const Coord<kRank> c = shifted<kMode>(mine + kValue.at[k], -gap[k]);
      inside[k] = kChecked ? tile.template inside<kMode, kVector>(c) : (1u << kVector) - 1;
      read[k] = Access::template readable<kMode, kChecked>(tile, c, inside[k]);
      if (read[k]) {
        const T* from = src + params.src_layout(kValue.at[k]) - gap[k] * step;
        read[k] = access[k].template begin<!kChecked>(from, step, inside[k], params.src_begin, params.src_end);
      }
    }
#pragma unroll
    for (int k = 0; k < kAccesses; ++k) {
      if (read[k]) {
        store_inside(dst + params.dst_layout(kValue.at[k]) - gap[k], access[k].finish(), inside[k]);
      } else if constexpr (Access::kMayLack) {  // the access reaches over an end
        const Coord<kRank> c = shifted<kMode>(mine + kValue.at[k], -gap[k]);
#pragma unroll 1
        for (int j = 0; j < kVector; ++j) {
          const Coord<kRank> e = shifted<kMode>(c, j);
          if (inside[k] >> j & 1) params.dst[params.dst_layout(tile(e))] = params.src[params.src_layout(tile(e))];
        }
      }
    }
  }
};

template <class Copy>
__global__ void __launch_bounds__(Copy::kThreads, 1) copy_direct(const __grid_constant__ typename Copy::Params params) {
  Copy::run(params);
}

// Shared memory holds the tile as the layout Smem says. kSmemStore elements along kSrcMode lie next to each other there
// when they are put in, kSmemLoad when they are taken out: value v + kStoreVector * w of a thread, for w < kSmemLoad.
// kSmemStep is the distance there between neighbours along kDstMode that one access takes out, or 0 where a swizzle
// comes between them. With kDstShift, the tile in shared memory is larger by that many elements in front.
template <int kBytes, class TileType, int kSrcUnit, int kDstUnit, class LoadThreadValue, class StoreThreadValue,
          class Smem, int kLoadThreads, int kLoadValues, int kLoadVector, int kStoreThreads, int kStoreValues,
          int kStoreVector, int kSrcMode, int kDstMode, int kSrcStep, int kSmemStore, int kSmemLoad, int kSmemStep,
          bool kSrcAligned, int kDstShift, bool kPredicated, bool kAsync>
struct StagedCopy {
  static constexpr int kRank = TileType::kRank;
  static constexpr bool kLooksBack = kDstShift > 0, kMayBeCut = kPredicated;
  using Type = TileType;
  static constexpr int kThreads = ((kLoadThreads > kStoreThreads ? kLoadThreads : kStoreThreads) + 31) / 32 * 32;
  static_assert(kSmemLoad == 1 || !kLooksBack);
  static_assert(!kAsync || (kSrcStep == 1 && kSrcAligned && kSmemStore == kLoadVector));
  using T = Element<kBytes>;
  using Access = SrcAccess<T, kLoadVector, kSrcStep, kSrcAligned>;
  using Params = CopyParams<kBytes, kRank, kSrcUnit, kDstUnit>;

  const Params& params;
  T* shared;
  PlacedTile<kRank, kLooksBack> tile;

  __device__ StagedCopy(const Params& params, T* shared)
      : params(params), shared(shared), tile(TileType{}, params.grid, params.extent) {}

  // Which of the kCount elements from coordinate c on, along kMode, are inside of the tensor.
  template <bool kLooks, int kMode, int kCount>
  __device__ unsigned inside(const Coord<kRank>& c) const {
    return kLooks ? tile.template inside<kMode, kCount>(c) : (1u << kCount) - 1;
  }

  __device__ void load() const { may_end<StagedCopy>(params, tile) ? load_tile<true>() : load_tile<false>(); }
  __device__ void store() const { may_end<StagedCopy>(params, tile) ? store_tile<true>() : store_tile<false>(); }

  __device__ static constexpr int linear(const Coord<kRank>& c) {
    return typename Parts<Smem>::Linear{}.template operator()<int>(c);
  }

  // What each part of an access adds to the thread's offset in shared memory, before the swizzle, as constants.
  template <class ThreadValue, int kMode, int kAccesses, int kStep, int kParts, int kPart = 1>
  struct SharedOffsets {
    int at[kAccesses][kParts];

    __device__ constexpr SharedOffsets() : at{} {
      constexpr AccessCoordinates<kRank, ThreadValue, kAccesses, kStep> kValue;
      for (int k = 0; k < kAccesses; ++k) {
        for (int j = 0; j < kParts; ++j) at[k][j] = linear(shifted<kMode>(kValue.at[k], j * kPart));
      }
    }
  };

  __device__ T* in_shared(int linear_offset) const { return shared + Parts<Smem>::finish(linear_offset); }

  // Accesses are kLooks where some may reach over an end.
  template <bool kLooks>
  __device__ void load_tile() const {
    if (kLoadThreads < kThreads && threadIdx.x >= kLoadThreads) return;
    constexpr int kAccesses = kLoadValues / kLoadVector;
    constexpr AccessCoordinates<kRank, LoadThreadValue, kAccesses, kLoadVector> kValue;
    constexpr SharedOffsets<LoadThreadValue, kSrcMode, kAccesses, kLoadVector, kLoadVector / kSmemStore, kSmemStore>
        kShared;
    const Coord<kRank> at = thread_coordinate<kRank, LoadThreadValue>();
    const Coord<kRank> mine = shifted<kDstMode>(at, -kDstShift);
    const T* const src = params.src + params.src_layout(tile.origin) + params.src_layout(mine);
    const int base = linear(at);
    const int64 step = params.src_layout(shifted<kSrcMode>(Coord<kRank>{}, 1));
    Access access[kAccesses];
    bool read[kAccesses];
#pragma unroll
    for (int k = 0; k < kAccesses; ++k) {
      const unsigned in = Access::kAtOnce ? 0 : inside<kLooks, kSrcMode, kLoadVector>(mine + kValue.at[k]);
      read[k] = Access::template readable<kSrcMode, kLooks>(tile, mine + kValue.at[k], in);
      if (read[k]) {
        const T* from = src + params.src_layout(kValue.at[k]);
        if constexpr (kAsync) {
          cp_async<kBytes * kLoadVector>(in_shared(base + kShared.at[k][0]), from);
          continue;
        }
        read[k] = access[k].template begin<!kLooks>(from, step, in, params.src_begin, params.src_end);
      }
    }
#pragma unroll
    for (int k = 0; k < kAccesses; ++k) {
      if (read[k]) {  // what of it is outside of the tensor has its place in the tile, too
        if constexpr (kAsync) continue;
        const auto vector = access[k].finish();
        if constexpr (kSmemStore == kLoadVector) {
          store_shared(in_shared(base + kShared.at[k][0]), vector);
        } else {
#pragma unroll
          for (int j = 0; j < kLoadVector; j += kSmemStore) {
            Vector<T, kSmemStore> part;
#pragma unroll
            for (int i = 0; i < kSmemStore; ++i) part.at[i] = vector.at[j + i];
            store_shared(in_shared(base + kShared.at[k][j / kSmemStore]), part);
          }
        }
      } else if constexpr (Access::kJoins || (kLooks && Access::kMayLack)) {
        const unsigned in = inside<kLooks, kSrcMode, kLoadVector>(mine + kValue.at[k]);
#pragma unroll 1
        for (int j = 0; j < kLoadVector; ++j) {
          const Coord<kRank> c = shifted<kSrcMode>(mine + kValue.at[k], j);
          if (!(in >> j & 1)) continue;
          *in_shared(linear(shifted<kDstMode>(c, kDstShift))) = params.src[params.src_layout(tile(c))];
        }
      }
    }
    if constexpr (kAsync) cp_async_wait_all();
  }

  template <bool kLooks>
  __device__ void store_tile() const {
    if (kStoreThreads < kThreads && threadIdx.x >= kStoreThreads) return;
    constexpr int kAccesses = kStoreValues / (kStoreVector * kSmemLoad);
    constexpr AccessCoordinates<kRank, StoreThreadValue, kAccesses, kStoreVector * kSmemLoad> kValue;
    constexpr int kParts = kSmemStep > 0 ? 1 : kStoreVector;
    constexpr SharedOffsets<StoreThreadValue, kDstMode, kAccesses, kStoreVector * kSmemLoad, kParts> kShared;
    const Coord<kRank> mine = thread_coordinate<kRank, StoreThreadValue>();
    T* const dst = params.dst + params.dst_layout(tile.origin) + params.dst_layout(mine);
    const int base = linear(mine);
#pragma unroll
    for (int k = 0; k < kAccesses; ++k) {
      const int gap = dst_gap<kBytes, kDstMode, kDstShift>(params, tile, mine + kValue.at[k]);
      const int row = base + linear(shifted<kDstMode>(Coord<kRank>{}, kDstShift - gap));
      const T* const column_begin = in_shared(row + kShared.at[k][0]);
      Vector<T, kStoreVector> rows[kSmemLoad];
#pragma unroll
      for (int j = 0; j < kStoreVector; ++j) {
        const T* const from = kSmemStep > 0 ? column_begin + j * kSmemStep : in_shared(row + kShared.at[k][j % kParts]);
        const auto column = load_shared<T, kSmemLoad>(from);
#pragma unroll
        for (int w = 0; w < kSmemLoad; ++w) rows[w].at[j] = column.at[w];
      }
#pragma unroll
      for (int w = 0; w < kSmemLoad; ++w) {
        const Coord<kRank> value = kSmemLoad == 1 ? kValue.at[k] : shifted<kSrcMode>(kValue.at[k], w);
        const Coord<kRank> c = shifted<kDstMode>(mine + value, -gap);
        store_inside(dst + params.dst_layout(value) - gap, rows[w], inside<kLooks, kDstMode, kStoreVector>(c));
      }
    }
  }
};

template <class Copy>
__global__ void __launch_bounds__(Copy::kThreads, 1) copy_staged(const __grid_constant__ typename Copy::Params params) {
  extern __shared__ uint4 bytes[];
  let_next_begin();
  const Copy copy(params, reinterpret_cast<typename Copy::T*>(bytes));
  await_launches_before();
  copy.load();
  __syncthreads();
  copy.store();
}

}  // namespace tilewright

using namespace tilewright;  // for the host, which names instantiations as Tile<..>, Layout<..>
