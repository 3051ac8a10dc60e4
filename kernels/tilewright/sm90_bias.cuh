// The bias of a consumer's tile: fetched before it multiplies, so that nobody waits for it afterwards.
//
//   along N   a row for all threads, in shared memory
//   along M   of each thread's two rows of a block of 64, in registers
#pragma once

#include "tilewright/epilogue.cuh"
#include "tilewright/mbarrier.cuh"
#include "tilewright/vector.cuh"

namespace tilewright {

// kNext: from a thread's first row of a block to its second.
template <class Epilogue, int kColumns, int kBlocks, int kStep, int kNext>
struct Sm90Bias {
  using Compute = typename Epilogue::Compute;
  static constexpr bool kRow = Epilogue::kHasBias && Epilogue::kBiasAlong == 1;
  static constexpr int kBytes = kRow ? kColumns * static_cast<int>(sizeof(Compute)) : 0;  // of a consumer
  static constexpr int kValues = kRow ? (kColumns + 127) / 128 : Epilogue::kHasBias ? 2 * kBlocks : 1;

  Compute* const row;
  Compute values[kValues];

  __device__ explicit Sm90Bias(void* shared) : row(static_cast<Compute*>(shared)) {}

  // Of the tile whose first row of this thread is m and whose first column is n. What lies outside of C is zero.
  __device__ void fetch(const typename Epilogue::Params& params, int m, int n, int rows, int columns) {
    if constexpr (Epilogue::kHasBias) {
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        const int at = kRow ? n + i * 128 + static_cast<int>(threadIdx.x % 128) : m + i / 2 * kStep + i % 2 * kNext;
        values[i] = at < (kRow ? columns : rows) ? Epilogue::bias_at(params, at, at) : 0;
      }
    }
  }

  // All threads of the consumer; nobody reads what was there any more.
  __device__ void share(int consumer) const {
    if constexpr (kRow) {
      named_barrier_sync(1 + consumer, 128);
#pragma unroll
      for (int i = 0; i < kValues; ++i) {
        const int at = i * 128 + static_cast<int>(threadIdx.x % 128);
        if (at < kColumns) row[at] = values[i];
      }
      named_barrier_sync(1 + consumer, 128);
    }
  }

  // Of two columns next to each other, in the first or second one of the thread's rows of a block.
  __device__ Vector<Compute, 2> at(int block, int half, int column) const {
    Vector<Compute, 2> found{};
    if constexpr (kRow) {
      found = *reinterpret_cast<const Vector<Compute, 2>*>(row + column);
    } else if constexpr (Epilogue::kHasBias) {
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
        if (i == 0 || i == block) found.at[0] = found.at[1] = values[2 * i + half];
      }
    }
    return found;
  }
};

}  // namespace tilewright
