// Matrix multiplication by mma.sync: C = epilogue(A B^T), where A is (M,K), B is (N,K) and C is (M,N).
//
// A CTA has a tile of C and goes through K in steps. cp.async fills a ring of stages in shared memory several steps
// ahead; the layouts there are swizzled, so that neither filling nor reading them meets bank conflicts. Each warp reads
// the fragments of the next k block while the tensor cores multiply the present one.
#pragma once

#include "tilewright/early_launch.cuh"
#include "tilewright/fragment.cuh"
#include "tilewright/mma.cuh"
#include "tilewright/mma_registers.cuh"
#include "tilewright/tile_load.cuh"
#include "tilewright/tile_store.cuh"

namespace tilewright {

constexpr int kBatchModes = 3;

template <class A, class B, class EpilogueType>
struct GemmSm80Params {
  const A* a;
  const B* b;
  typename EpilogueType::Out* c;
  typename EpilogueType::Params epilogue;
  int64 m, n, k;
  int64 whole_k;  // where the last batch mode has parts of K, of which the last one may have less than k; else any more
  int64 a_stride[2], b_stride[2], c_stride[2];
  int64 a_batch[kBatchModes], b_batch[kBatchModes], c_batch[kBatchModes];
  unsigned batch[kBatchModes];
  unsigned tiles_m, tiles_n;
  unsigned run;  // tiles along m that CTAs take one after another, before those of the next n
};

// Which tile of which matrix of the batch a CTA has.
struct TilePlace {
  unsigned m, n;
  unsigned batch[kBatchModes];

  template <class Params>
  __device__ explicit TilePlace(const Params& params) {
    const unsigned tiles = params.tiles_m * params.tiles_n;
    unsigned rest = blockIdx.x / tiles;
    const unsigned index = blockIdx.x % tiles;
#pragma unroll
    for (int mode = 0; mode < kBatchModes; ++mode) {
      batch[mode] = rest % params.batch[mode];
      rest /= params.batch[mode];
    }
    const unsigned run = index / (params.run * params.tiles_n);
    const unsigned in_run = index % (params.run * params.tiles_n);
    const unsigned left = params.tiles_m - run * params.run;
    const unsigned length = left < params.run ? left : params.run;
    m = run * params.run + in_run % length;
    n = in_run / length;
  }

  __device__ int64 offset(const int64* strides) const {
    int64 result = 0;
#pragma unroll
    for (int mode = 0; mode < kBatchModes; ++mode) result += batch[mode] * strides[mode];
    return result;
  }
};

// LoadA and LoadB are TileLoads, FragmentA and FragmentB FragmentLoads, Store is a DirectStore or a SharedStore.
// kAtoms..: atoms of a warp along each mode of the tile; kUnitC: the mode of C with stride 1; kRaggedK: the last step
// is cut. After every kPromote steps sums are added to totals and begin anew, so that none has many terms; 0: never.
template <int kTileM, int kTileN, int kTileK, int kThreadCount, int kMinCtas, int kStages, class MmaType, int kAtomsM,
          int kAtomsN, int kAtomsK, class LoadA, class LoadB, class FragmentA, class FragmentB, class Store,
          class EpilogueType, int kUnitC, bool kRaggedK, int kPromote = 0>
struct GemmSm80 {
  static constexpr int kThreads = kThreadCount;
  static constexpr int kCtas = kMinCtas;
  using Params = GemmSm80Params<typename LoadA::T, typename LoadB::T, EpilogueType>;
  using Register = typename MmaType::Register;
  using Sum = typename MmaType::Sum;
  static constexpr unsigned kStageA = LoadA::Smem::kStage * sizeof(typename LoadA::T);
  static constexpr unsigned kStageB = LoadB::Smem::kStage * sizeof(typename LoadB::T);
  // With an even number of k blocks, the two sets of fragments take turns over the end of a step as well.
  static constexpr bool kOverlaps = kAtomsK % 2 == 0;

  // Whether sums and fragments are in named registers.
  using Named = MmaRegisters<MmaType, kAtomsM, kAtomsN>;
  static constexpr bool kNamed = Named::kExists && FragmentA::kHasNames && FragmentB::kHasNames && LoadA::kIsAsync &&
                                 LoadB::kIsAsync && kPromote == 0;

  struct Fragments {
    Register a[kAtomsM][MmaType::kA], b[kAtomsN][MmaType::kB];
  };

  using Sums = Sum[kAtomsM][kAtomsN][MmaType::kC];

  __device__ static void promote(Sums& sum, Sums& total) {
#pragma unroll
    for (int i = 0; i < kAtomsM; ++i) {
#pragma unroll
      for (int j = 0; j < kAtomsN; ++j) {
#pragma unroll
        for (int v = 0; v < MmaType::kC; ++v) {
          total[i][j][v] += sum[i][j][v];
          sum[i][j][v] = 0;
        }
      }
    }
  }

  __device__ static void run(const Params& params, void* memory) {
    let_next_begin();
    const unsigned shared = shared_address(memory);
    const TilePlace place(params);
    const int64 origin[2] = {static_cast<int64>(place.m) * kTileM, static_cast<int64>(place.n) * kTileN};
    const int extent[2] = {clamped(params.m - origin[0]), clamped(params.n - origin[1])};
    const int64 left = params.whole_k - place.batch[kBatchModes - 1] * params.k;
    const int64 depth = left < params.k ? left : params.k;
    const int steps = static_cast<int>((depth + kTileK - 1) / kTileK);

    LoadA load_a(params.a + place.offset(params.a_batch) + origin[0] * params.a_stride[0],
                 {params.a_stride[0], params.a_stride[1]}, extent[0]);
    LoadB load_b(params.b + place.offset(params.b_batch) + origin[1] * params.b_stride[0],
                 {params.b_stride[0], params.b_stride[1]}, extent[1]);
    const FragmentA read_a;
    const FragmentB read_b;
    const unsigned shared_b = shared + kStages * kStageA;

    int next = 0;  // the step that is loaded next
    unsigned fill_a = shared, fill_b = shared_b;
    const int cut = kRaggedK ? static_cast<int>(depth - static_cast<int64>(steps - 1) * kTileK) : kTileK;
    // A part of step `next` begins to be loaded, if there is such a step. Where all steps are alike its accesses are
    // made or not, so that they can lie between multiplications without a branch.
    const auto fetch = [&](int part, int parts) {
      const bool made = next < steps;
      if (kRaggedK && !made) return;
      if (kRaggedK && next == steps - 1) {
        load_a.template fetch<true>(fill_a, cut, part, parts, made);
        load_b.template fetch<true>(fill_b, cut, part, parts, made);
      } else {
        load_a.template fetch<false>(fill_a, kTileK, part, parts, made);
        load_b.template fetch<false>(fill_b, kTileK, part, parts, made);
      }
    };
    const auto put = [&] {  // what has gone through registers
      if (next < steps) {
        load_a.put(fill_a);
        load_b.put(fill_b);
      }
      cp_async_commit();
      load_a.advance(kTileK);
      load_b.advance(kTileK);
      ++next;
      fill_a = fill_a == shared + (kStages - 1) * kStageA ? shared : fill_a + kStageA;
      fill_b = fill_b == shared_b + (kStages - 1) * kStageB ? shared_b : fill_b + kStageB;
    };
    await_launches_before();
#pragma unroll 1
    for (int stage = 0; stage < kStages - 1; ++stage) {
      fetch(0, 1);
      put();
    }

    Sums sum = {}, total = {};
    if constexpr (kNamed) Named::declare();
    int until = kPromote;  // the sums are added to the totals
    Fragments fragments[2];
    unsigned read_from_a = shared, read_from_b = shared_b;
    const auto read = [&]<int64 kNumber>(Int<kNumber>) {
      constexpr int kBlock = kNumber;
      if constexpr (kNamed) {
        read_a.template read_named<false, kBlock % 2, MmaType::kA, kBlock>(read_from_a);
        read_b.template read_named<true, kBlock % 2, MmaType::kB, kBlock>(read_from_b);
      } else {
        Fragments& to = fragments[kBlock % 2];
        read_a(to.a, read_from_a, kBlock);
        read_b(to.b, read_from_b, kBlock);
      }
    };
    const auto wait = [&] {
      cp_async_wait<kStages - 2>();
      __syncthreads();
    };
    wait();
    if (steps > 0) read(Int<0>{});
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
      const auto next_stage = [&] {
        put();
        read_from_a = read_from_a == shared + (kStages - 1) * kStageA ? shared : read_from_a + kStageA;
        read_from_b = read_from_b == shared_b + (kStages - 1) * kStageB ? shared_b : read_from_b + kStageB;
        wait();
        read(Int<0>{});
      };
      const auto multiply = [&]<int64 kNumber>(auto self, Int<kNumber>) {
        constexpr int kBlock = kNumber, kParts = kAtomsK > 1 ? kAtomsK - 1 : 1;
        if constexpr (kBlock + 1 < kAtomsK) read(Int<kBlock + 1>{});
        if constexpr (kBlock < kParts) fetch(kBlock, kParts);
        if constexpr (kOverlaps && kBlock + 1 == kAtomsK) next_stage();
        if constexpr (kNamed) {
          Named::template multiply<kBlock % 2>();
        } else {
          const Fragments& now = fragments[kBlock % 2];
#pragma unroll
          for (int i = 0; i < kAtomsM; ++i) {
#pragma unroll
            for (int j = 0; j < kAtomsN; ++j) {  // there and back: one fragment is the same as before
              const int turn = i % 2 == 0 ? j : kAtomsN - 1 - j;
              MmaType::run(sum[i][turn], now.a[i], now.b[turn]);
            }
          }
        }
        if constexpr (kBlock + 1 < kAtomsK) self(self, Int<kBlock + 1>{});
      };
      multiply(multiply, Int<0>{});
      if (!kOverlaps) next_stage();
      if constexpr (kPromote > 0) {
        if (--until == 0) {
          promote(sum, total);
          until = kPromote;
        }
      }
    }
    if constexpr (kPromote > 0) promote(total, sum);
    cp_async_wait<0>();
    __syncthreads();

    const OutputTile<EpilogueType, kUnitC> tile{
        params.c + place.offset(params.c_batch) + origin[0] * params.c_stride[0] + origin[1] * params.c_stride[1],
        {params.c_stride[0], params.c_stride[1]},
        {origin[0], origin[1]},
        {extent[0], extent[1]},
        params.epilogue};
    if constexpr (kNamed && Store::kTakesNames) {
      Store::template run_named<Named>(tile, shared);
    } else {
      if constexpr (kNamed) Named::take(sum);
      Store::run(tile, shared, sum);
    }
  }

  // Beyond every tile, and within 32 bits.
  __device__ static int clamped(int64 extent) { return static_cast<int>(extent < (1 << 24) ? extent : 1 << 24); }
};

template <class Gemm>
__global__ void __launch_bounds__(Gemm::kThreads, Gemm::kCtas)
    gemm_sm80(const __grid_constant__ typename Gemm::Params params) {
  extern __shared__ uint4 bytes[];
  Gemm::run(params, bytes);
}

}  // namespace tilewright

using namespace tilewright;  // for the host, which names instantiations as Layout<..>
