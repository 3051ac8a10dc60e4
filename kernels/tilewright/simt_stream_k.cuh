// CTAs of gemm_simt that share tiles of C along K (stream_k.cuh). The other tiles of C have a CTA each.
#pragma once

#include "tilewright/stream_k.cuh"

namespace tilewright {

template <class Acc>
struct SimtStreamK {
  Acc* parts;         // of each share, the sums of the CTA's threads
  unsigned* arrived;  // of each share, whether they are there
  StreamKShares shares;

  __device__ StreamKShare share(unsigned cta) const {
    if (cta < shares.workers) return shares.of(cta);
    const unsigned tile = shares.tiles + cta - shares.workers;
    return {tile * shares.steps.divisor, (tile + 1) * shares.steps.divisor, 0};
  }

  // The sums of a share's first tile, of which another CTA has the first step.
  template <int kThreads, int kRows, int kColumns>
  __device__ void put(const StreamKShare& share, const Acc (&sum)[kRows][kColumns]) const {
    Acc* const to = parts + static_cast<int64>(share.index) * (kThreads * kRows * kColumns) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < kRows * kColumns; ++i) __stcg(to + i * kThreads, sum[i / kColumns][i % kColumns]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) stream_k_raise(arrived + share.index);
  }

  // The sums of the tile `index` that other shares have are added: of two at a time, where a thread has few sums, since
  // each is long on its way. A second warp waits for the second of them, so that a CTA of one warp takes one at a time.
  template <int kThreads, int kRows, int kColumns>
  __device__ void add(const StreamKShare& share, unsigned index, Acc (&sum)[kRows][kColumns]) const {
    constexpr int kSums = kRows * kColumns, kAtOnce = kSums <= 16 && kThreads > 32 ? 2 : 1;
    const unsigned end = (index + 1) * shares.steps.divisor;
#pragma unroll 1
    for (unsigned other = share.index + 1; shares.begin(other) < end; other += kAtOnce) {
      const bool both = kAtOnce > 1 && shares.begin(other + 1) < end;
      if (threadIdx.x == 0 || (both && threadIdx.x == 32)) stream_k_wait(arrived + (other + threadIdx.x / 32));
      __syncthreads();
      const Acc* const from = parts + static_cast<int64>(other) * (kThreads * kSums) + threadIdx.x;
      if (both) {
        Acc part[2][kSums];
#pragma unroll
        for (int i = 0; i < 2 * kSums; ++i) part[i / kSums][i % kSums] = __ldcg(from + i * kThreads);
#pragma unroll
        for (int i = 0; i < 2 * kSums; ++i) sum[i % kSums / kColumns][i % kColumns] += part[i / kSums][i % kSums];
      } else {
#pragma unroll
        for (int i = 0; i < kSums; ++i) sum[i / kColumns][i % kColumns] += __ldcg(from + i * kThreads);
      }
    }
  }
};

}  // namespace tilewright
