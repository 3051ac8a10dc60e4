// Stream-K: workers, which are CTAs or clusters, share tiles of C along K, so that none waits for long at the end.
//
// The K tiles ("steps") of the first tiles of C, one tile's after the other's, are cut into shares, one for each
// worker. A group of tiles is cut into as many shares as the next group. The last shares may be empty. Who has the
// first step of a tile finishes it; who has steps behind that leaves its sums in memory, which it comes to at the
// beginning of its share. Sums are added in the order of K.
//
// Worker 0 has the last share: who waits, waits for workers with lower numbers, which have begun before it.
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
struct StreamKShare {
  unsigned begin, end, index;
};

struct StreamKShares {
  FastDivisor steps;  // of a tile
  FastDivisor group;  // shares, of tiles that are cut together
  unsigned workers;   // those that share tiles
  unsigned tiles;     // which they share
  unsigned together;  // steps of a group
  unsigned least;     // steps of a share; the first `longer` shares of a group have one more
  unsigned longer;

  __device__ unsigned begin(unsigned index) const {
    const unsigned before = group.divide(index), within = index - before * group.divisor;
    return min(before * together + within * least + min(within, longer), tiles * steps.divisor);
  }

  // Of one of the workers.
  __device__ StreamKShare of(unsigned worker) const {
    const unsigned index = workers - 1 - worker;
    return {begin(index), begin(index + 1), index};
  }
};

// A flag of a share: 1 when its sums are there; 0 before the launch, and behind it. What threads have written that this
// one has waited for is seen by those that wait for the flag's waiter.
__device__ inline void stream_k_raise(unsigned* flag) {
  asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
}

// Until the flag is raised; it is then as the next launch wants it.
__device__ inline void stream_k_wait(unsigned* flag) {
  unsigned there;
  do {
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(there) : "l"(flag) : "memory");
  } while (there == 0);
  asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(flag), "r"(0) : "memory");
}

}  // namespace tilewright
