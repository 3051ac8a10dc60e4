// The sums of a CTA on their way to global memory: directly, element by element, or through shared memory, out of which
// they are written by wide accesses along n.
#pragma once

#include "tilewright/output_tile.cuh"
#include "tilewright/shared_access.cuh"

namespace tilewright {

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
