// mbarrier: a barrier in shared memory that counts arrivals and bytes. It completes a phase when both counts are
// reached, and begins the next; whoever waits names the parity of the phase that is to be complete.
#pragma once

#include "tilewright/shared_address.cuh"

namespace tilewright {

using Barrier = unsigned long long;

__device__ inline void barrier_init(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

// Barriers that were made by one thread are seen by the other threads of the cluster and by the copy engine.
__device__ inline void barrier_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// Below `At` is a pointer, or an address in shared memory.

// One arrival, and the bytes that copies will bring in this phase.
template <class At>
__device__ void barrier_expect(At barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

// The bytes without an arrival.
__device__ inline void barrier_expect_only(Barrier* barrier, int bytes) {
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

template <class At>
__device__ void barrier_arrive(At barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ inline void barrier_arrive(Barrier* barrier, int arrivals) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// One arrival, when all that this thread has copied by cp.async so far has landed.
__device__ inline void barrier_arrive_by_copies(Barrier* barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// The same at the barrier that lies at this place in another CTA of the cluster.
template <class At>
__device__ void barrier_arrive_at(At barrier, int cta) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(shared_address(barrier)),
      "r"(cta)
      : "memory");
}
__device__ inline void barrier_arrive_at(Barrier* barrier, int cta, int arrivals) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote], %2;\n}" ::"r"(shared_address(barrier)),
      "r"(cta), "r"(arrivals)
      : "memory");
}
__device__ inline void barrier_expect_at(Barrier* barrier, int bytes, int cta) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [remote], %2;\n}" ::"r"(shared_address(barrier)),
      "r"(cta), "r"(bytes)
      : "memory");
}
__device__ inline void barrier_expect_only_at(Barrier* barrier, int bytes, int cta) {
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [remote], %2;\n}" ::"r"(shared_address(barrier)),
      "r"(cta), "r"(bytes)
      : "memory");
}

template <class At>
__device__ void barrier_wait(At barrier, int parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@done bra finished;\n"
      "bra again;\n"
      "finished:\n}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
}

// Whether the phase is complete: at once, or after the hardware has waited a while for it.
__device__ inline bool barrier_test_wait(Barrier* barrier, int parity) {
  int done;
  asm volatile(
      "{\n.reg .pred done;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
      "selp.s32 %0, 1, 0, done;\n}"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}
__device__ inline bool barrier_try_wait(Barrier* barrier, int parity) {
  int done;
  asm volatile(
      "{\n.reg .pred done;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n"
      "selp.s32 %0, 1, 0, done;\n}"
      : "=r"(done)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return done != 0;
}

// One of several in turn, and the parity of the phase in which it is.
template <int kStages>
struct Slot {
  int index = 0;
  int parity = 0;

  __device__ void next() {
    if (++index == kStages) {
      index = 0;
      parity ^= 1;
    }
  }
};

// ---- clusters and named barriers ----

__device__ inline int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Nothing was written before but barriers, which barrier_init_fence has shown.
__device__ inline void cluster_arrive() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ inline void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

__device__ inline void named_barrier_sync(int name, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

__device__ inline void named_barrier_arrive(int name, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(name), "r"(threads) : "memory");
}

}  // namespace tilewright
