// The sums of a CTA on their way to global memory: directly, element by element, or through shared memory, out of which
// they are written by wide accesses along n.
#pragma once

#include "tilewright/epilogue.cuh"
#include "tilewright/grid.cuh"
#include "tilewright/shared_access.cuh"

namespace tilewright {

// C from the tile's first element on, of which `extent` are inside.
template <class EpilogueOfTile, int kUnit>
struct OutputTile {
  using EpilogueType = EpilogueOfTile;
  using Out = typename EpilogueType::Out;
  using Compute = typename EpilogueType::Compute;
  Out* c;
  Strides<2, kUnit> strides;
  int64 origin[2];
  int extent[2];
  const typename EpilogueType::Params& epilogue;

  __device__ Compute bias(int m, int n) const {
    if constexpr (!EpilogueType::kHasBias) return 0;
    const int64 at = EpilogueType::kBiasAlong == 0 ? origin[0] + m : origin[1] + n;
    return convert<Compute>(epilogue.bias[at * epilogue.bias_stride]);
  }

  template <class Sum>
  __device__ void store(int m, int n, Sum sum) const {
    if (m >= extent[0] || n >= extent[1]) return;
    Out* const at = c + strides(Coord<2>{m, n});
    Compute old = 0;
    if constexpr (EpilogueType::kReads) old = convert<Compute>(*at);
    *at = convert<Out>(EpilogueType::apply(epilogue, sum, old, bias(m, n)));
  }

  // kVector neighbours along n, whose first is aligned to all of them. kSplits: an access may reach over the last one.
  template <bool kSplits, class Sum, int kVector>
  __device__ void store_vector(int m, int n, const Vector<Sum, kVector>& sums) const {
    if (m >= extent[0] || n >= extent[1]) return;
    if constexpr (kSplits && kVector > 1) {
      if (n + kVector > extent[1]) {
#pragma unroll
        for (int j = 0; j < kVector; ++j) store(m, n + j, sums.at[j]);
        return;
      }
    }
    Out* const at = c + strides(Coord<2>{m, n});
    Vector<Out, kVector> result;
    if constexpr (EpilogueType::kReads) result = load_global<Out, kVector>(at);
    Compute value[kVector];
#pragma unroll
    for (int j = 0; j < kVector; ++j) {
      Compute old = 0;
      if constexpr (EpilogueType::kReads) old = convert<Compute>(result.at[j]);
      value[j] = EpilogueType::apply(epilogue, sums.at[j], old, bias(m, n + j));
    }
    if constexpr (sizeof(Out) == 2 && kIsSame<Compute, float> && kVector % 2 == 0) {
      Vector<unsigned, kVector / 2> pairs;
#pragma unroll
      for (int j = 0; j < kVector; j += 2) pairs.at[j / 2] = convert_pair<Out>(value[j], value[j + 1]);
      result = __builtin_bit_cast(decltype(result), pairs);
    } else {
#pragma unroll
      for (int j = 0; j < kVector; ++j) result.at[j] = convert<Out>(value[j]);
    }
    store_global(at, result);
  }
};

// Thread: thread to (m, n); Value: (value, atom along m, atom along n) to the (m, n) that this adds.
template <class Thread, class Value>
struct DirectStore {
  static constexpr int kSharedElements = 0;
  static constexpr bool kTakesNames = false;

  template <class Tile, class Sum, int kAtomsM, int kAtomsN, int kValues>
  __device__ static void run(const Tile& tile, unsigned, const Sum (&sum)[kAtomsM][kAtomsN][kValues]) {
    const auto mine = Thread{}.template operator()<Coord<2>>(static_cast<int>(threadIdx.x));
#pragma unroll
    for (int i = 0; i < kAtomsM; ++i) {
#pragma unroll
      for (int j = 0; j < kAtomsN; ++j) {
#pragma unroll
        for (int v = 0; v < kValues; ++v) {
          const auto step = Value{}.template operator()<Coord<2>>(Coord<3>{v, i, j});
          tile.store(mine.at[0] + step.at[0], mine.at[1] + step.at[1], sum[i][j][v]);
        }
      }
    }
  }
};

// Whether an epilogue is long code, of which there had better be few copies.
template <class EpilogueType>
struct IsLong;

template <class Compute, class Out, class Bias, int kBiasMode, int kActivation, bool kScales, bool kReads>
struct IsLong<Epilogue<Compute, Out, Bias, kBiasMode, kActivation, kScales, kReads>> {
  static constexpr bool value = kActivation >= 2;
};

// In rounds of kRows rows, which kAtomsInRound atoms of every warp along m make up. SmemLayout: (row, n) to the offset
// in one of two buffers of kBuffer elements, used in turn; kWrite neighbours along n are put there at once. ThreadValue
// deals a round out to the threads that write it, kVector neighbours along n by one access. kSplits: C has no whole
// number of such accesses along n.
template <class Thread, class Value, class SmemLayout, class ThreadValue, int kThreads, int kAccesses, int kVector,
          int kRows, int kAtomsInRound, int kWrite, int kBuffer, bool kSplits>
struct SharedStore {
  static constexpr int kSharedElements = 2 * kBuffer;

  template <class Tile, class Sum, int kAtomsM, int kAtomsN, int kValues>
  __device__ static void run(const Tile& tile, unsigned shared, const Sum (&sum)[kAtomsM][kAtomsN][kValues]) {
    const auto mine = Thread{}.template operator()<Coord<2>>(static_cast<int>(threadIdx.x));
    const auto out = ThreadValue{}.template operator()<Coord<2>>(Coord<2>{static_cast<int>(threadIdx.x), 0});
    const unsigned put = shared + SmemLayout{}.template operator()<int>(mine) * sizeof(Sum);
    const unsigned take = shared + SmemLayout{}.template operator()<int>(out) * sizeof(Sum);
#pragma unroll
    for (int round = 0; round < kAtomsM / kAtomsInRound; ++round) {
      const unsigned buffer = round % 2 * kBuffer * sizeof(Sum);
#pragma unroll
      for (int i = 0; i < kAtomsInRound; ++i) {
#pragma unroll
        for (int j = 0; j < kAtomsN; ++j) {
#pragma unroll
          for (int v = 0; v < kValues; v += kWrite) {
            const auto step = Value{}.template operator()<Coord<2>>(Coord<3>{v, i, j});
            Vector<Sum, kWrite> values;
#pragma unroll
            for (int w = 0; w < kWrite; ++w) values.at[w] = sum[round * kAtomsInRound + i][j][v + w];
            store_shared_at(put + buffer + SmemLayout{}.template operator()<int>(step) * sizeof(Sum), values);
          }
        }
      }
      __syncthreads();
      written<Sum>(tile, take + buffer, round, out);
    }
  }

  // From named registers, which go by pairs. The rounds stay a loop: unrolled they are half of what has to be compiled.
  static constexpr bool kTakesNames = kWrite == 2;
  template <class Named, class Tile>
  __device__ static void run_named(const Tile& tile, unsigned shared) {
    const auto mine = Thread{}.template operator()<Coord<2>>(static_cast<int>(threadIdx.x));
    const auto out = ThreadValue{}.template operator()<Coord<2>>(Coord<2>{static_cast<int>(threadIdx.x), 0});
    unsigned put = shared + SmemLayout{}.template operator()<int>(mine) * 4;
    unsigned take = shared + SmemLayout{}.template operator()<int>(out) * 4;
    int step = kBuffer * 4;  // to the other buffer
#pragma unroll 1
    for (int round = 0; round < Named::kRows / kAtomsInRound; ++round) {
      put_round<Named>(put, round);
      __syncthreads();
      written<float>(tile, take, round, out);
      put += step;
      take += step;
      step = -step;
    }
  }

 private:
  // Where a thread's pairs of sums of a round go, in bytes from its first one on.
  template <int kAtomsN>
  struct Places {
    int at[kAtomsInRound][kAtomsN][2];
    __device__ constexpr Places() : at{} {
      for (int i = 0; i < kAtomsInRound; ++i) {
        for (int j = 0; j < kAtomsN; ++j) {
          for (int pair = 0; pair < 2; ++pair) {
            const auto step = Value{}.template operator()<Coord<2>>(Coord<3>{2 * pair, i, j});
            at[i][j][pair] = SmemLayout{}.template operator()<int>(step) * 4;
          }
        }
      }
    }
  };
  template <int kAtomsN>
  struct PlaceTable {
    static constexpr Places<kAtomsN> kAll{};
  };

  template <class Named, int kRound = 0>
  __device__ static void put_round(unsigned put, int round) {
    constexpr int kFrom = kRound * kAtomsInRound, kEnd = kFrom + kAtomsInRound;
    if (round == kRound) Named::template put<PlaceTable<Named::kColumns>, kFrom, kEnd>(put);
    if constexpr (kEnd < Named::kRows) put_round<Named, kRound + 1>(put, round);
  }

  // What the threads write of a round.
  template <class Sum, class Tile>
  __device__ static void written(const Tile& tile, unsigned take, int round, const Coord<2>& out) {
    if (kThreads > 0 && threadIdx.x >= kThreads) return;
    constexpr int kUnroll = IsLong<typename Tile::EpilogueType>::value ? 1 : kAccesses;
#pragma unroll kUnroll
    for (int k = 0; k < kAccesses; ++k) {
      const auto step = ThreadValue{}.template operator()<Coord<2>>(Coord<2>{0, k * kVector});
      const int m = round * kRows + out.at[0] + step.at[0], n = out.at[1] + step.at[1];
      if (m >= tile.extent[0] || n >= tile.extent[1]) continue;
      constexpr int kWidest = 16 / sizeof(Sum);
      constexpr int kPart = kVector < kWidest ? kVector : kWidest;
      Vector<Sum, kVector> values;
#pragma unroll
      for (int j = 0; j < kVector; j += kPart) {
        const Coord<2> at = {step.at[0], step.at[1] + j};
        const auto part = load_shared_at<Sum, kPart>(take + SmemLayout{}.template operator()<int>(at) * sizeof(Sum));
#pragma unroll
        for (int w = 0; w < kPart; ++w) values.at[j + w] = part.at[w];
      }
      tile.template store_vector<kSplits>(m, n, values);
    }
  }
};

}  // namespace tilewright
