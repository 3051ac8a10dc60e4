// What a consumer of gemm_sm90 does with the stages that the producer fills: it multiplies, and gives them back.
//
//   from shared memory   wgmma reads A and B by descriptors
//   from registers       A lies along M in elements of 32 bits: each thread reads its own of the next step while the
//                        instructions of this one run
//
// `Gemm` is the GemmSm90, whose constants count.
#pragma once

#include "tilewright/sm90_fragment.cuh"
#include "tilewright/sm90_stage.cuh"
#include "tilewright/wgmma.cuh"

namespace tilewright {

template <class Gemm>
struct Sm90Multiply {
  using A = typename Gemm::A;
  using B = typename Gemm::B;
  using Shared = typename Gemm::Shared;
  static constexpr int kBlocks = Gemm::kBlocks, kColumns = Gemm::kTileN, kSteps = Gemm::kSteps;
  using Fragment = Sm90Fragment<A, kSteps, kBlocks, Gemm::kSharing>;
  using Sums = WgmmaSums<typename Gemm::Acc, kBlocks, kColumns>;  // which the kernel has declared
  using Acc = typename Gemm::Acc[kBlocks * kColumns / 2];
  static constexpr bool kPromotes = Gemm::kPromote > 0;

  Shared& shared;
  Sm90Stage<Gemm>& stage;  // of the next step
  const int first_block;   // of 64 rows of a stage, with which the consumer's begin
  const int tiles;         // steps along K
  const int behind;        // steps that the CTA's later tiles have
  unsigned last = 0;       // `empty` of the step before
  int summed = 0;          // steps in the sums, if those are promoted

  __device__ __forceinline__ void run(Acc& acc) {
    // A split may have more CTAs than tiles along K. What is added to the sums of stream-K lies in their registers if
    // nobody reads these before they have values again.
    if constexpr (Gemm::kSplit > 1 || Gemm::kStreamK || kWgmmaNeedsValues) Sums::clear();
    if constexpr (kPromotes) {
#pragma unroll
      for (auto& total : acc) total = 0;
    }
    if constexpr (A::kFromRegisters) {
      Fragment a[2];
      const typename Fragment::Place place = Fragment::place();
      if (tiles > 0) read(a[0], place);
#pragma unroll 1
      for (int k = 0; k < tiles; k += 2) {
        step(k, a[0], a[1], place, acc);
        if (k + 1 < tiles) step(k + 1, a[1], a[0], place, acc);
      }
    } else {
#pragma unroll 1
      for (int k = 0; k < tiles; ++k) step(k, acc);
    }
    wgmma_wait<0>();
    take(acc);
    if (tiles > 0) release(last, behind);
  }

 private:
  // The sums, or where they are promoted, totals with them added.
  __device__ __forceinline__ static void take(Acc& acc) {
    if constexpr (kPromotes) {
      Acc part;
      Sums::take(part);
#pragma unroll
      for (int i = 0; i < kBlocks * kColumns / 2; ++i) acc[i] += part[i];
    } else {
      Sums::take(acc);
    }
  }

  // How many steps are in the sums to which step k adds. If those are enough, they go to the totals before.
  __device__ __forceinline__ int summed_before(int k, Acc& totals) {
    if constexpr (!kPromotes) return k;
    if (summed == Gemm::kPromote) {
      wgmma_wait<0>();
      take(totals);
      summed = 0;
    }
    return summed++;
  }

  // The instructions of a step: all blocks with one part of K, then with the next. Those of a step to sums of none do
  // not add to what the registers held.
  template <int kAt = 0>
  __device__ __forceinline__ static void multiply(unsigned long long a, unsigned long long b, int summed) {
    constexpr int i = kAt / kBlocks, kBlock = kAt % kBlocks;
    Wgmma<kColumns>::template run<typename A::T, typename B::T, A::kMajorK ? 0 : 1, B::kMajorK ? 0 : 1, kBlock>(
        a + (kBlock * Gemm::kSharing * A::kBlockBytes + i * A::kStepBytes) / 16, b + i * B::kStepBytes / 16,
        summed | i);
    if constexpr (kAt + 1 < kSteps * kBlocks) multiply<kAt + 1>(a, b, summed);
  }
  template <int kAt = 0>
  __device__ __forceinline__ static void multiply(const Fragment& a, unsigned long long b, int summed) {
    constexpr int i = kAt / kBlocks, kBlock = kAt % kBlocks;
    Wgmma<kColumns>::template run<kBlock>(a.values[i][kBlock], b + i * B::kStepBytes / 16, summed | i);
    if constexpr (kAt + 1 < kSteps * kBlocks) multiply<kAt + 1>(a, b, summed);
  }

  // B of step k.
  __device__ __forceinline__ unsigned long long descriptor_of_b(int k) const {
    if constexpr (Gemm::kHeldB > 0) return B::descriptor(shared_address(shared.held[k]));
    return B::descriptor(stage.bytes + A::kStageBytes);
  }

  // Both operands from shared memory.
  __device__ __forceinline__ void step(int k, Acc& totals) {
    barrier_wait(stage.full, stage.parity());
    const unsigned long long a = A::descriptor(stage.bytes + first_block * A::kBlockBytes);
    const unsigned long long b = descriptor_of_b(k);
    const int in_sums = summed_before(k, totals);
    wgmma_fence();
    multiply(a, b, in_sums);
    wgmma_commit();
    if (k > 0) {
      wgmma_wait<1>();
      release(last, behind + tiles - k);
    }
    last = stage.empty();
    stage.next();
  }

  // A in the registers `a`; those of the next step come into `next`.
  __device__ __forceinline__ void step(int k, Fragment& a, Fragment& next, const typename Fragment::Place& place,
                                       Acc& totals) {
    const unsigned long long b = descriptor_of_b(k);
    const int in_sums = summed_before(k, totals);
    wgmma_fence();
    multiply(a, b, in_sums);
    wgmma_commit();
    if (k > 0) {
      wgmma_wait<1>();  // those that read `next` have ended
      next.hold();
      release(last, behind + tiles - k);
    }
    last = stage.empty();
    stage.next();
    if (k + 1 < tiles) read(next, place);
  }

  __device__ void read(Fragment& a, const typename Fragment::Place& place) const {
    barrier_wait(stage.full, stage.parity());
    a.read(stage.bytes + first_block * A::kBlockBytes, place);
  }

  // A warp has done with a stage, and `left` more steps along K come: all producers that write into it hear of it.
  //
  // CTAs of a cluster end without waiting for each other, so nothing may reach one that has ended:
  //   arrivals   at `empty`, of the last steps, whose stages nobody fills again, are left out. For every other step all
  //              warps of the cluster arrive once, and each producer waits for that before it fills the stage, which it
  //              does: all CTAs of a cluster have as many tiles and steps, those outside of C included.
  //   bytes      that others bring are part of a step, for which the consumers of this CTA wait. What a CTA has sent
  //              itself gets there without it.
  __device__ void release(unsigned empty, int left) const {
    const int lane = threadIdx.x % 32;
    if constexpr (Gemm::kShares) {
      constexpr int kAll = Gemm::kClusterM * Gemm::kClusterN;
      if (left >= Gemm::kStages && lane < kAll) barrier_arrive_at(empty, lane);
    } else {
      if (lane == 0) barrier_arrive(empty);
    }
  }
};

}  // namespace tilewright
