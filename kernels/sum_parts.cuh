// C from the sums of parts along K, which a GEMM has left in memory: split-K's second launch.
//
// Each thread has kVector neighbours of a row of C. It adds up what the parts have of them in their order, so that the
// bits are the same each time, and finishes them by the epilogue. Many parts are on their way at a time: there are
// seldom enough elements of C to hide the memory's latency otherwise.
#pragma once

#include "tilewright/early_launch.cuh"
#include "tilewright/output_tile.cuh"

namespace tilewright {

// kUnit: the mode of C whose stride is 1 (-1: none). kAligned: C takes accesses of kVector elements along n.
template <class Acc_, class EpilogueType, int kVector, bool kAligned, int kUnit, int kBatch>
struct SumParts {
  using Acc = Acc_;
  using Epilogue = EpilogueType;
  using Out = typename Epilogue::Out;
  static constexpr int kThreads = 128;
  static constexpr int kAtOnce = 16;  // parts on their way

  struct Params {
    const Acc* parts;
    Out* c;
    typename Epilogue::Params epilogue;
    Strides<2, kUnit> strides;
    int64 batch_strides[kBatch + 1];
    int64 step;          // elements from a part to the next one
    int extent[2];       // of C
    unsigned count;      // parts
    unsigned pitch;      // elements from a row of a part to the next one
    unsigned vectors;    // all, batches included
    FastDivisor across;  // vectors of a row
    FastDivisor rows;    // of a matrix
    FastDivisor batch[kBatch + 1];
  };

  __device__ static void run(const Params& params) {
    const unsigned at = blockIdx.x * kThreads + threadIdx.x;
    if (at >= params.vectors) return;
    const unsigned line = params.across.divide(at);
    unsigned matrix = params.rows.divide(line);
    const int m = static_cast<int>(line - matrix * params.rows.divisor);
    const int n = static_cast<int>(at - line * params.across.divisor) * kVector;
    Out* c = params.c;
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const unsigned rest = params.batch[i].divide(matrix);
      c += (matrix - rest * params.batch[i].divisor) * params.batch_strides[i];
      matrix = rest;
    }
    const Acc* from = params.parts + static_cast<int64>(line) * params.pitch + n;
    await_launches_before();
    Vector<Acc, kVector> sum = load_part(from);
#pragma unroll 1
    for (unsigned first = 1; first < params.count; first += kAtOnce) {
      Vector<Acc, kVector> part[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i < params.count) part[i] = load_part(from + (first + i) * params.step);
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + i < params.count) {
#pragma unroll
          for (int j = 0; j < kVector; ++j) sum.at[j] = added(sum.at[j], part[i].at[j]);
        }
      }
    }
    const OutputTile<Epilogue, kUnit> tile{
        c, params.strides, {0, 0}, {params.extent[0], params.extent[1]}, params.epilogue};
    if constexpr (kAligned) {
      tile.template store_vector<true>(m, n, sum);
    } else {
#pragma unroll
      for (int j = 0; j < kVector; ++j) tile.store(m, n + j, sum.at[j]);
    }
  }

 private:
  // The parts are in the L2, where another kernel has just put them.
  __device__ static Vector<Acc, kVector> load_part(const Acc* from) {
    using Access = typename Word<sizeof(Acc) * kVector>::type;
    return __builtin_bit_cast(Vector<Acc, kVector>, __ldcg(reinterpret_cast<const Access*>(from)));
  }

  // Integers wrap around.
  __device__ static Acc added(Acc x, Acc y) {
    if constexpr (kIsSame<Acc, int>) {
      return static_cast<int>(static_cast<unsigned>(x) + static_cast<unsigned>(y));
    } else {
      return x + y;
    }
  }
};

template <class Sum>
__global__ void __launch_bounds__(Sum::kThreads) sum_parts(const __grid_constant__ typename Sum::Params params) {
  Sum::run(params);
}

}  // namespace tilewright

using namespace tilewright;  // for the host, which names instantiations as SumParts<..>
