// The tensor memory accelerator: one thread asks for a box of a tensor, which is copied between global and shared
// memory asynchronously. The host describes the tensor in a TensorMap, as
// python/tilewright/kernels/gemm/sm90/tensor_maps.py does; coordinates begin with the fastest mode. What lies outside
// the tensor is read as zero and not written.
#pragma once

#include "tilewright/mbarrier.cuh"

namespace tilewright {

struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

// Coordinates of a box, the fastest first.
template <int kRank>
struct BoxAt {
  int at[kRank];
};

__device__ inline void prefetch(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

#define TILEWRIGHT_AT_2 "{%2, %3}"
#define TILEWRIGHT_AT_3 "{%2, %3, %4}"
#define TILEWRIGHT_AT_4 "{%2, %3, %4, %5}"
#define TILEWRIGHT_AT_5 "{%2, %3, %4, %5, %6}"
#define TILEWRIGHT_COORDINATES_2 "r"(c.at[0]), "r"(c.at[1])
#define TILEWRIGHT_COORDINATES_3 TILEWRIGHT_COORDINATES_2, "r"(c.at[2])
#define TILEWRIGHT_COORDINATES_4 TILEWRIGHT_COORDINATES_3, "r"(c.at[3])
#define TILEWRIGHT_COORDINATES_5 TILEWRIGHT_COORDINATES_4, "r"(c.at[4])

// load: a box to shared memory, where `to` and the barrier are pointers or addresses; the barrier counts its bytes.
// With a mask, to the same place in the CTAs of the cluster that it names, each of which counts the bytes at its own
// barrier. store: a box from shared memory.
#define TILEWRIGHT_TMA(RANK, barrier_operand, mask_operand)                                                        \
  template <bool kMulticast, class To, class Full>                                                                 \
  __device__ void tma_load(To to, const TensorMap& map, const BoxAt<RANK>& c, Full barrier, unsigned short mask) { \
    if constexpr (kMulticast) {                                                                                    \
      asm volatile("cp.async.bulk.tensor." #RANK                                                                   \
                   "d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"                      \
                   " [%0], [%1, " TILEWRIGHT_AT_##RANK "], [" barrier_operand "], " mask_operand                   \
                                                       ";" ::"r"(shared_address(to)),                              \
                   "l"(&map), TILEWRIGHT_COORDINATES_##RANK, "r"(shared_address(barrier)), "h"(mask)               \
                   : "memory");                                                                                    \
    } else {                                                                                                       \
      asm volatile("cp.async.bulk.tensor." #RANK                                                                   \
                   "d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, " TILEWRIGHT_AT_##RANK        \
                   "], [" barrier_operand "];" ::"r"(shared_address(to)),                                          \
                   "l"(&map), TILEWRIGHT_COORDINATES_##RANK, "r"(shared_address(barrier))                          \
                   : "memory");                                                                                    \
    }                                                                                                              \
  }                                                                                                                \
  __device__ inline void tma_store(const TensorMap& map, const void* from, const BoxAt<RANK>& c) {                 \
    asm volatile("cp.async.bulk.tensor." #RANK "d.global.shared::cta.bulk_group [%1, " TILEWRIGHT_AT_##RANK        \
                 "], [%0];" ::"r"(shared_address(from)),                                                           \
                 "l"(&map), TILEWRIGHT_COORDINATES_##RANK                                                          \
                 : "memory");                                                                                      \
  }

TILEWRIGHT_TMA(2, "%4", "%5")
TILEWRIGHT_TMA(3, "%5", "%6")
TILEWRIGHT_TMA(4, "%6", "%7")
TILEWRIGHT_TMA(5, "%7", "%8")

__device__ inline void tma_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// At most kPending of the groups of stores that this thread committed still read shared memory.
template <int kPending>
__device__ void tma_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

// What this thread wrote to shared memory by ordinary stores is seen by the copy engine and the tensor cores.
__device__ inline void fence_async_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace tilewright
