// The stage of gemm_sm90 whose turn it is, by addresses that move on.
//
// Of a pointer the compiler makes an address anew at each step: it asks for the CTA's rank in its cluster, which is a
// part of an address, and multiplies in 64 bits. `Gemm` is the GemmSm90, whose constants count.
#pragma once

#include "tilewright/mbarrier.cuh"

namespace tilewright {

template <class Gemm>
struct Sm90Stage {
  static constexpr int kStages = Gemm::kStages;
  static constexpr unsigned kBytes = Gemm::kStageBytes, kBarrier = sizeof(Barrier);
  static constexpr unsigned kToEmpty = (kStages + (Gemm::kHeldB > 0)) * kBarrier;  // from a stage's `full`

  unsigned bytes, full;  // where the stage is, and its barrier
  int turn = 0;          // twice the stage's index, and the parity of its phase: one register less in a long epilogue

  __device__ explicit Sm90Stage(typename Gemm::Shared& shared)
      : bytes(shared_address(shared.stages)), full(shared_address(shared.full)) {}

  __device__ int index() const { return turn >> 1; }
  __device__ int parity() const { return turn & 1; }
  __device__ unsigned empty() const { return full + kToEmpty; }

  __device__ void next() {
    bytes += kBytes;
    full += kBarrier;
    turn += 2;
    if (turn >= 2 * kStages) {
      bytes -= kStages * kBytes;
      full -= kStages * kBarrier;
      turn = (turn - 2 * kStages) ^ 1;
    }
  }
  __device__ void skip(int count) {
    const int sum = index() + count, ahead = sum % kStages - index();
    bytes += ahead * static_cast<int>(kBytes);
    full += ahead * static_cast<int>(kBarrier);
    turn = (turn + 2 * ahead) ^ (sum / kStages & 1);
  }
};

}  // namespace tilewright
