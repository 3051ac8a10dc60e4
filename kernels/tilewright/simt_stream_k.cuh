// CTAs of gemm_simt that share tiles of C along K, so that all of them have the same work.
//
// The K tiles ("steps") of the first tiles of C, one tile's after the other's, are cut into equal shares, one for each
// of the first CTAs. A share begins within a tile, or at its first step, and goes on through one or two more. Who has
// the first step of a tile finishes it; who has steps behind that leaves its sums in memory, which it comes to at the
// beginning of its share. So the CTA that finishes a tile seldom waits. Sums are added in the order of K. The other
// tiles of C have a CTA each.
//
// CTA 0 has the last share: who waits, waits for CTAs with lower numbers, which have begun before it.
#pragma once

#include "tilewright/grid.cuh"
#include "tilewright/numeric.cuh"

namespace tilewright {

template <bool kFirst, class First, class Second>
struct EitherType {
  using Type = First;
};
template <class First, class Second>
struct EitherType<false, First, Second> {
  using Type = Second;
};

// Steps, counted over all tiles; and which of the shares it is.
struct SimtShare {
  unsigned begin, end, index;
};

template <class Acc>
struct SimtStreamK {
  Acc* parts;         // of each share, the sums of the CTA's threads
  unsigned* arrived;  // of each share: 1 when its sums are there; 0 before the launch, and behind it
  FastDivisor steps;  // of a tile
  unsigned ctas;      // those that share tiles
  unsigned tiles;     // which they share
  unsigned least;     // steps of a share; the first `longer` shares have one more
  unsigned longer;

  __device__ unsigned begin(unsigned index) const { return index * least + min(index, longer); }

  __device__ SimtShare share(unsigned cta) const {
    if (cta < ctas) {
      const unsigned index = ctas - 1 - cta;
      return {begin(index), begin(index + 1), index};
    }
    const unsigned tile = tiles + cta - ctas;
    return {tile * steps.divisor, (tile + 1) * steps.divisor, 0};
  }

  // The sums of a share's first tile, of which another CTA has the first step.
  template <int kThreads, int kRows, int kColumns>
  __device__ void put(const SimtShare& share, const Acc (&sum)[kRows][kColumns]) const {
    Acc* const to = parts + static_cast<int64>(share.index) * (kThreads * kRows * kColumns) + threadIdx.x;
#pragma unroll
    for (int i = 0; i < kRows * kColumns; ++i) __stcg(to + i * kThreads, sum[i / kColumns][i % kColumns]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(arrived + share.index), "r"(1) : "memory");
  }

  // The sums of the tile `index` that other shares have are added: of two at a time, where a thread has few sums, since
  // each is long on its way. A second warp waits for the second of them, so that a CTA of one warp takes one at a time.
  template <int kThreads, int kRows, int kColumns>
  __device__ void add(const SimtShare& share, unsigned index, Acc (&sum)[kRows][kColumns]) const {
    constexpr int kSums = kRows * kColumns, kAtOnce = kSums <= 16 && kThreads > 32 ? 2 : 1;
    const unsigned end = (index + 1) * steps.divisor;
#pragma unroll 1
    for (unsigned other = share.index + 1; begin(other) < end; other += kAtOnce) {
      const bool both = kAtOnce > 1 && begin(other + 1) < end;
      if (threadIdx.x == 0 || (both && threadIdx.x == 32)) wait(other + threadIdx.x / 32);
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

  // Until a share's sums are there; its flag is then as the next launch wants it.
  __device__ void wait(unsigned share) const {
    unsigned there;
    do {
      asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(there) : "l"(arrived + share) : "memory");
    } while (there == 0);
    asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(arrived + share), "r"(0) : "memory");
  }
};

}  // namespace tilewright
