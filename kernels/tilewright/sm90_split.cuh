// CTAs of a cluster that share a tile of C along K send each other their sums.
//
// Sums are sent by units of 8 columns by 64 rows, of which each of a consumer's threads has four elements. A CTA
// finishes `kOwn` units of each of its consumers, and gets what the other CTAs have of them into its inbox: a stage
// that its producer would fill next, so that nobody has to wait until it is free.
//
//   open       the producer: this stage is done with, the others may write into it
//   exchange   the consumers: send what others finish, wait for what they send, and add up in the order of the CTAs
#pragma once

#include "tilewright/mbarrier.cuh"

namespace tilewright {

// The address of the same place in the shared memory of another CTA of the cluster.
__device__ inline unsigned address_in(const void* place, int cta) {
  unsigned address;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(place)), "r"(cta));
  return address;
}

// 16 bytes into the shared memory of another CTA, whose barrier counts them; this thread does not wait.
__device__ inline void store_async(unsigned to, const unsigned (&words)[4], unsigned barrier) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(barrier)
               : "memory");
}

template <class Acc>
__device__ void load_four(Acc (&to)[4], const void* from) {
  unsigned r[4];
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(from))
               : "memory");
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = __builtin_bit_cast(Acc, r[i]);
}

template <class Acc, int kSplit, int kConsumers, int kUnits>
struct Sm90Split {
  static constexpr int kOwn = (kUnits + kSplit - 1) / kSplit;
  static constexpr int kWarpBytes = 32 * 16;  // of a unit
  static constexpr int kUnitBytes = 4 * kWarpBytes;
  static constexpr int kPartBytes = kOwn * kUnitBytes;  // from one consumer of one CTA
  static constexpr int kBytes = (kSplit - 1) * kConsumers * kPartBytes;

  struct Barriers {
    Barrier open, arrived;
  };

  // Units of a consumer that a CTA finishes: fewer than kOwn for the last ones where they are no multiple.
  __device__ static int owned(int rank) { return max(0, min(kOwn, kUnits - rank * kOwn)); }

  __device__ static void init(Barriers& barriers, int rank) {
    barrier_init(&barriers.open, kSplit - 1);
    barrier_init(&barriers.arrived, 1);
    barrier_expect(&barriers.arrived, (kSplit - 1) * kConsumers * owned(rank) * kUnitBytes);
  }

  __device__ static void open(Barriers& barriers, int rank) {
#pragma unroll
    for (int cta = 0; cta < kSplit; ++cta) {
      if (cta != rank) barrier_arrive_at(&barriers.open, cta);
    }
  }

  // All threads of a consumer. `own` becomes the sums of the units that this CTA finishes.
  __device__ static void exchange(const Acc (&acc)[4 * kUnits], Acc (&own)[4 * kOwn], unsigned char* inbox,
                                  Barriers& barriers, int rank, int consumer) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    unsigned char* const warps = inbox + (consumer * 4 + warp) * kOwn * kWarpBytes;  // part of the first sender
    barrier_wait(&barriers.open, 0);
#pragma unroll
    for (int cta = 0; cta < kSplit; ++cta) {
      if (cta == rank) continue;
      const unsigned to = address_in(warps + (rank < cta ? rank : rank - 1) * kConsumers * kPartBytes, cta);
      const unsigned barrier = address_in(&barriers.arrived, cta);
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const int unit = cta * kOwn + i;
        if (unit >= kUnits) continue;
        unsigned words[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          words[j] = __builtin_bit_cast(unsigned, acc[4 * unit + j]);
        }
        store_async(to + i * kWarpBytes + lane * 16, words, barrier);
      }
    }
#pragma unroll
    for (int cta = 0; cta < kSplit; ++cta) {
      if (cta > 0 && cta != rank) continue;
#pragma unroll
      for (int i = 0; i < 4 * kOwn; ++i) {
        const int unit = cta * kOwn + i / 4;
        if (unit < kUnits) own[i] = acc[4 * unit + i % 4];
      }
    }
    barrier_wait(&barriers.arrived, 0);
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      if (kUnits % kSplit != 0 && i >= owned(rank)) continue;
      Acc other[kSplit - 1][4];
#pragma unroll
      for (int sender = 0; sender < kSplit - 1; ++sender) {
        load_four(other[sender], warps + sender * kConsumers * kPartBytes + i * kWarpBytes + lane * 16);
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        Acc sum = rank == 0 ? own[4 * i + j] : other[0][j];
#pragma unroll
        for (int cta = 1; cta < kSplit; ++cta) {
          sum += rank == cta ? own[4 * i + j] : rank < cta || cta == kSplit - 1 ? other[cta - 1][j] : other[cta][j];
        }
        own[4 * i + j] = sum;
      }
    }
  }
};

}  // namespace tilewright
