// Clusters of gemm_sm90 that share tiles of C along K (stream_k.cuh): each CTA has the same steps of its own tile.
//
// The clusters of a launch have a share each, unless it is empty, and whole tiles behind it. A consumer's sums are left
// and added thread by thread, four at once, by the consumer with the same rows of the same CTA's tile.
#pragma once

#include "tilewright/mbarrier.cuh"
#include "tilewright/stream_k.cuh"

namespace tilewright {

// Without: what a cluster does first, all steps along K of a tile.
template <int kCluster>
struct Sm90FirstTile {
  unsigned tile;
  int begin, end;

  template <class Params>
  __device__ explicit Sm90FirstTile(const Params& params)
      : tile(blockIdx.x / kCluster), begin(0), end(params.k_tiles) {}
};

template <class Acc, int kCluster, int kConsumers, int kUnits>
struct Sm90StreamK {
  Acc* parts;         // of each share, of each CTA of its cluster: the sums of the threads of each consumer
  unsigned* arrived;  // in the same order, whether they are there
  StreamKShares shares;

  static constexpr int kGroup = 128;  // threads of a consumer

  // What a cluster does, piece by piece: steps along K, from `begin` to before `end`, of a tile.
  struct Work {
    unsigned tile;
    int begin, end;
    StreamKShare share;
    unsigned whole;  // the tile that is taken as a whole next

    template <class Params>
    __device__ explicit Work(const Params& params)
        : share(params.stream_k.shares.of(blockIdx.x / kCluster)),
          whole(params.stream_k.shares.tiles + blockIdx.x / kCluster) {
      take(params);
    }

    template <class Params>
    __device__ bool more(const Params& params) const {
      return tile < params.tiles;
    }

    template <class Params>
    __device__ void next(const Params& params) {
      share.begin += min(static_cast<unsigned>(end - begin), share.end - share.begin);
      take(params);
    }

    // The steps along K that come behind this piece. More tiles than `enough` make no difference.
    template <class Params>
    __device__ int behind(const Params& params, unsigned enough) const {
      const unsigned workers = params.stream_k.shares.workers;
      const unsigned later = whole < params.tiles ? (params.tiles - 1 - whole) / workers + 1 : 0;
      const unsigned piece = min(static_cast<unsigned>(end - begin), share.end - share.begin);
      return static_cast<int>(share.end - share.begin - piece + min(later, enough) * params.k_tiles);
    }

   private:
    template <class Params>
    __device__ void take(const Params& params) {
      const StreamKShares& shares = params.stream_k.shares;
      if (share.begin < share.end) {
        tile = shares.steps.divide(share.begin);
        begin = static_cast<int>(share.begin - tile * shares.steps.divisor);
        end = min(params.k_tiles, begin + static_cast<int>(share.end - share.begin));
      } else {
        tile = whole;
        begin = 0;
        end = tile < params.tiles ? params.k_tiles : 0;
        whole += shares.workers;
      }
    }
  };

  // Of a share: which sums, among those of all consumers, are this one's.
  __device__ static unsigned place(unsigned share, int rank, int consumer) {
    return (share * kCluster + rank) * kConsumers + consumer;
  }

  __device__ uint4* sums(unsigned place) const {
    return reinterpret_cast<uint4*>(parts) + static_cast<int64>(place) * (kUnits * kGroup) + threadIdx.x % kGroup;
  }

  // The sums of a share's first tile, of which another cluster has the first step.
  __device__ void put(const Work& work, int rank, int consumer, const Acc (&acc)[4 * kUnits]) const {
    const unsigned own = place(work.share.index, rank, consumer);
    uint4* const to = sums(own);
#pragma unroll
    for (int i = 0; i < kUnits; ++i) {
      unsigned four[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) four[j] = __builtin_bit_cast(unsigned, acc[4 * i + j]);
      __stcg(to + i * kGroup, uint4{four[0], four[1], four[2], four[3]});
    }
    named_barrier_sync(1 + consumer, kGroup);
    if (threadIdx.x % kGroup == 0) stream_k_raise(arrived + own);
  }

  // The sums that other shares have of the tile are added, in the order of K.
  __device__ void add(const Work& work, int rank, int consumer, Acc (&acc)[4 * kUnits]) const {
    const unsigned end = (work.tile + 1) * shares.steps.divisor;
#pragma unroll 1
    for (unsigned other = work.share.index + 1; shares.begin(other) < end; ++other) {
      const unsigned theirs = place(other, rank, consumer);
      if (threadIdx.x % kGroup == 0) stream_k_wait(arrived + theirs);
      named_barrier_sync(1 + consumer, kGroup);
      const uint4* const from = sums(theirs);
#pragma unroll
      for (int i = 0; i < kUnits; ++i) {
        const uint4 word = __ldcg(from + i * kGroup);
        const unsigned four[4] = {word.x, word.y, word.z, word.w};
#pragma unroll
        for (int j = 0; j < 4; ++j) acc[4 * i + j] += __builtin_bit_cast(Acc, four[j]);
      }
    }
  }
};

}  // namespace tilewright
