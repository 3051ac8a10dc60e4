// GEMM by universal FMA, for any architecture: D = epilogue(A B^T), where A is (M,K), B is (N,K) and D is (M,N).
//
// A CTA has a tile of D. Tiles of A and B go through shared memory, kStages of them at a time; thread-value layouts say
// which elements a thread brings there, and which rows and columns of D it computes. Fragments of A and B for the next
// step along K are read from shared memory while the present ones are multiplied.
//
// In tiles that reach over an end every access is checked by its coordinate, and what lies outside becomes zero.
#pragma once

#include "tilewright/cp_async.cuh"
#include "tilewright/early_launch.cuh"
#include "tilewright/epilogue.cuh"
#include "tilewright/grid.cuh"
#include "tilewright/layout.cuh"
#include "tilewright/numeric.cuh"
#include "tilewright/simt_operand.cuh"
#include "tilewright/simt_store.cuh"
#include "tilewright/simt_stream_k.cuh"
#include "tilewright/vector.cuh"

namespace tilewright {

__device__ inline float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ inline double multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }
__device__ inline int multiply_add(int a, int b, int c) { return a * b + c; }

// kM, kN, kK: the tile. Rows, Columns: (thread, value) -> row and column of D, kRows by kColumns of each of the
// kMmaThreads, of which kWidthA and kWidthB lie next to each other in shared memory. The threads are in kSlicedK
// groups, one behind the other, each of which multiplies every kSlicedK-th k of a tile; Store adds up what they have.
// After every kPromote tiles sums are added to totals and begin anew, so that no sum has many terms; 0: never. With
// more than kRegisterSums sums a thread, the totals are in shared memory, behind the stages. Count: an integer that
// holds K. kStreamK: some CTAs share tiles of D along K, as SimtStreamK says.
template <class A, class B, class Acc, int kM, int kN, int kK, int kStages, int kThreadCount, int kCtas,
          int kMmaThreads, int kSlicedK, class Rows, class Columns, int kRows, int kColumns, int kWidthA, int kWidthB,
          class Store, class EpilogueType, int kPromote = 0, class Count = int, bool kStreamK = false>
struct GemmSimt {
  using Epilogue = EpilogueType;
  using Out = typename Epilogue::Out;
  static constexpr int kThreads = kThreadCount;
  static constexpr int kMinCtas = kCtas;

  struct Whole {
    typename A::Params a;
    typename B::Params b;
    Out* out;
    int64 out_stride[2];
    int64 out_batch[3];
    int64 m, n, k;
    Grid<2> grid;
    FastDivisor tiles;     // of one matrix, those that do not exist included
    FastDivisor batch[2];  // the extents of the first two batch modes
    typename Epilogue::Params epilogue;
  };
  struct Shared : Whole {
    SimtStreamK<Acc> stream_k;
  };
  using Params = typename EitherType<kStreamK, Shared, Whole>::Type;

  static constexpr int kSteps = kK / kSlicedK;  // along K, of a thread in a tile
  // Whether the fragments of the next tile are read while the last ones are multiplied. Otherwise every tile is waited
  // for, and all of it is multiplied before the next one is loaded.
  static constexpr bool kReadsEarly = kStages > 1 && kSteps % 2 == 0;
  // So many steps along K are unrolled: more make the code long to compile and no faster, fewer make it slower.
  static constexpr int kUnroll = kSteps % 8 == 0 ? 8 : kSteps;
  static constexpr int kBlocks = kSteps / kUnroll;
  // From one step to the next in shared memory.
  static constexpr int kStepA = kSlicedK * A::kDepthStep, kStepB = kSlicedK * B::kDepthStep;

  // The order of the products. It decides which registers the compiler gives to sums and factors, of which it takes
  // longer to read two that are both even or both odd, and where it puts the loads for the next step; each way was the
  // fastest of ten for its threads. There and back, so that neighbouring products share a factor: one column after the
  // other where there are more of them than rows and no slices, else one row after the other. Rows always from their
  // first column on, where operands on their way are in registers.
  static constexpr bool kByColumns = (kColumns > kRows) && (kSlicedK == 1);
  static constexpr bool kThereAndBack = kByColumns || (A::kAsync && B::kAsync);

  // Whether loads have no branch around them, by which two warps of a scheduler lose 1 % of the time; but every access
  // is then checked. Loads to registers would be moved by the compiler to where they are late, and tiles of several
  // blocks have branches anyway.
  static constexpr bool kBranchFree = A::kAsync && B::kAsync && kBlocks == 1;

  static constexpr int kRegisterSums = 64;  // gemm_promotion.py has the same
  static constexpr bool kSharedTotals = (kPromote > 0) && (kRegisterSums < kRows * kColumns);
  static constexpr int kSpan = kPromote < (1 << 30) / kBlocks ? kPromote * kBlocks : 1 << 30;  // blocks of a sum

  using FragmentA = typename A::template Fragment<Rows, Acc, kRows, kWidthA>;
  using FragmentB = typename B::template Fragment<Columns, Acc, kColumns, kWidthB>;

  static constexpr int kBytesA = (kStages * A::kStageStep * static_cast<int>(sizeof(typename A::T)) + 15) / 16 * 16;
  static constexpr int kBytesB = (kStages * B::kStageStep * static_cast<int>(sizeof(typename B::T)) + 15) / 16 * 16;

  __device__ static constexpr int row(int thread, int value) {
    return Rows{}.template operator()<int>(Coord<2>{thread, value});
  }
  __device__ static constexpr int column(int thread, int value) {
    return Columns{}.template operator()<int>(Coord<2>{thread, value});
  }
  // Threads beyond those that multiply do as the first one does, but write nothing.
  __device__ static int mma_thread() {
    const int thread = static_cast<int>(threadIdx.x);
    return kMmaThreads == kThreads || thread < kMmaThreads ? thread : 0;
  }
  __device__ static int below(int n) { return n; }
  __device__ static int below(int64 n) { return static_cast<int>(n < (1 << 30) ? n : 1 << 30); }

  __device__ static void run(const Params& params, void* shared) {
    let_next_begin();
    if constexpr (!kStreamK) {
      run_tile(params, shared, blockIdx.x, 0, params.k, {});
    } else {
      const FastDivisor& steps = params.stream_k.shares.steps;
      StreamKShare share = params.stream_k.share(blockIdx.x);
#pragma unroll 1
      while (share.begin < share.end) {
        const unsigned tile = steps.divide(share.begin);
        const unsigned first = share.begin - tile * steps.divisor;
        const unsigned count = min(steps.divisor - first, share.end - share.begin);
        const int64 begin = static_cast<int64>(first) * kK, end = static_cast<int64>(first + count) * kK;
        run_tile(params, shared, tile, begin, end < params.k ? end : params.k, share);
        share.begin += count;
        __syncthreads();  // the next tile comes to the same shared memory
      }
    }
  }

  // The k of a tile of C from `begin` to before `end`.
  __device__ static void run_tile(const Params& params, void* shared, unsigned index, int64 begin, int64 end,
                                  const StreamKShare& share) {
    const unsigned matrix = params.tiles.divide(index);
    const Coord<2> tile = params.grid(index - matrix * params.tiles.divisor);
    const int64 first_row = static_cast<int64>(tile.at[0]) * kM, first_column = static_cast<int64>(tile.at[1]) * kN;
    const int rows = below(params.m - first_row), columns = below(params.n - first_column);
    if (rows <= 0 || columns <= 0) return;
    unsigned batch[3];
    batch[2] = params.batch[0].divide(matrix);
    batch[0] = matrix - batch[2] * params.batch[0].divisor;
    batch[1] = batch[2];
    batch[2] = params.batch[1].divide(batch[1]);
    batch[1] -= batch[2] * params.batch[1].divisor;

    await_launches_before();
    const Extent extent{first_row, first_column, begin, end - begin, rows, columns};
    Acc sum[kRows][kColumns] = {};
    if constexpr (kPromote > 0 && !kSharedTotals) {
      Acc part[kRows][kColumns] = {};
      multiply(params, shared, extent, batch, part, sum);
      promote(part, sum);
    } else {
      multiply(params, shared, extent, batch, sum, sum);
    }
    if constexpr (kStreamK) {
      if (begin > 0) {
        params.stream_k.template put<kThreads>(share, sum);
        return;
      }
      if (end < params.k) params.stream_k.template add<kThreads>(share, index, sum);
    }
    Out* out = params.out + first_row * params.out_stride[0] + first_column * params.out_stride[1];
#pragma unroll
    for (int i = 0; i < 3; ++i) out += batch[i] * params.out_batch[i];
    const SimtOutput<Epilogue> output{out,
                                      {params.out_stride[0], params.out_stride[1]},
                                      {first_row, first_column},
                                      {rows, columns},
                                      params.k,
                                      params.epilogue};
    const bool writes = kMmaThreads == kThreads || threadIdx.x < kMmaThreads;
    Store::template run<Rows, Columns>(output, mma_thread(), writes, shared, sum);
  }

  // What is multiplied for a tile of C: where it begins, and how much of it there is.
  struct Extent {
    int64 first_row, first_column, first_k, depth;
    int rows, columns;
  };

  __device__ static void multiply(const Params& params, void* shared, const Extent& extent, const unsigned* batch,
                                  Acc (&sum)[kRows][kColumns], Acc (&total)[kRows][kColumns]) {
    const int thread = mma_thread(), rows = extent.rows, columns = extent.columns;
    auto* const shared_a = static_cast<typename A::T*>(shared);
    auto* const shared_b = reinterpret_cast<typename B::T*>(static_cast<char*>(shared) + kBytesA);
    A a(params.a, extent.first_row, extent.first_k, batch);
    B b(params.b, extent.first_column, extent.first_k, batch);
    const int tiles = static_cast<int>((extent.depth + kK - 1) / kK);
    Count ahead = static_cast<Count>(extent.depth);  // of which nothing is under way yet
    // The tiles of which no element is outside of memory.
    const bool is_inside = (A::kPadded || rows >= kM) && (B::kPadded || columns >= kN);
    const int whole = is_inside ? static_cast<int>(extent.depth / kK) : 0;
    int loaded = 0;

    // The next tile of each operand gets under way to the stage that the pointers are in.
    const auto load = [&](typename A::T* to_a, typename B::T* to_b) {
      if constexpr (kBranchFree) {
        const int depth = below(ahead);
        if (A::template loads<kThreads>()) a.template load<kK, true>(to_a, rows, depth);
        if (B::template loads<kThreads>()) b.template load<kK, true>(to_b, columns, depth);
        ahead -= kK;
      } else if (loaded < whole) {
        if (A::template loads<kThreads>()) a.template load<kK, false>(to_a, rows, kK);
        if (B::template loads<kThreads>()) b.template load<kK, false>(to_b, columns, kK);
      } else if (loaded < tiles) {
        const int depth = below(extent.depth - static_cast<int64>(loaded) * kK);
        if (A::template loads<kThreads>()) a.template load<kK, true>(to_a, rows, depth);
        if (B::template loads<kThreads>()) b.template load<kK, true>(to_b, columns, depth);
      }
      ++loaded;
      commit();
    };
    // The second half, for operands that wait in registers. Behind the last tile it writes what nobody reads.
    const auto store = [&](typename A::T* to_a, typename B::T* to_b) {
      if constexpr (!A::kAsync) {
        if (A::template loads<kThreads>()) a.store(to_a);
      }
      if constexpr (!B::kAsync) {
        if (B::template loads<kThreads>()) b.store(to_b);
      }
    };

    int until = kSpan;  // the sums are added to the totals
    const auto end_blocks = [&](int count) {
      if constexpr (kPromote > 0 && !kSharedTotals) {
        until -= count;
        if (until > 0) return;
        promote(sum, total);
        until = kSpan;
      }
    };

    typename A::T* to_a = shared_a + A::place(a.mine);
    typename B::T* to_b = shared_b + B::place(b.mine);
    const int slice = kSlicedK > 1 ? thread / (kMmaThreads / kSlicedK) : 0;
    const typename A::T* from_a = shared_a + row(thread, 0) * A::kRowStep + slice * A::kDepthStep;
    const typename B::T* from_b = shared_b + column(thread, 0) * B::kRowStep + slice * B::kDepthStep;
    if constexpr (!kReadsEarly) {
      FragmentA fragment_a;
      FragmentB fragment_b;
      static_assert(!kSharedTotals, "totals are in shared memory only where fragments are read ahead");
#pragma unroll 1
      for (int tile = 0; tile < tiles; ++tile) {
        load(to_a, to_b);
        store(to_a, to_b);
        wait<0>();
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          fetch(fragment_a, from_a + step * kStepA, fragment_b, from_b + step * kStepB);
          add_products(fragment_a, fragment_b, sum, [](int) {});
        }
        end_blocks(kBlocks);
        __syncthreads();
      }
    } else {
#pragma unroll 1
      for (int stage = 0; stage < kStages - 1; ++stage) {
        load(to_a, to_b);
        store(to_a, to_b);
        to_a += A::kStageStep;
        to_b += B::kStageStep;
      }
      wait<kStages - 2>();
      int read = 0;   // the stage that is multiplied; the one before it is loaded
      int block = 0;  // of the tile, kUnroll steps each
      // The pointers go on to the next block. While a tile is multiplied, the one kStages - 1 behind it is on its way.
      const auto advance = [&] {
        from_a += kUnroll * kStepA;
        from_b += kUnroll * kStepB;
        if (kBlocks > 1 && ++block < kBlocks) return;
        block = 0;
        store(to_a, to_b);
        to_a += read == 0 ? -(kStages - 1) * A::kStageStep : A::kStageStep;
        to_b += read == 0 ? -(kStages - 1) * B::kStageStep : B::kStageStep;
        read = read + 1 == kStages ? 0 : read + 1;
        from_a += (read == 0 ? -(kStages - 1) * A::kStageStep : A::kStageStep) - kK * A::kDepthStep;
        from_b += (read == 0 ? -(kStages - 1) * B::kStageStep : B::kStageStep) - kK * B::kDepthStep;
        wait<kStages - 2>();
      };
      FragmentA fragment_a, next_a;
      FragmentB fragment_b, next_b;
      fetch(fragment_a, from_a, fragment_b, from_b);
      const auto multiply_blocks = [&](int count) {
#pragma unroll 1
        for (int left = count; left > 0; --left) {
          if (kBlocks == 1 || block == 0) load(to_a, to_b);
#pragma unroll
          for (int step = 0; step < kUnroll; step += 2) {
            add_products(fragment_a, fragment_b, sum, [&](int part) {
              fetch_one(next_a, from_a + (step + 1) * kStepA, next_b, from_b + (step + 1) * kStepB, part);
            });
            if (step + 2 == kUnroll) advance();
            const int next = (step + 2) % kUnroll;
            add_products(next_a, next_b, sum, [&](int part) {
              fetch_one(fragment_a, from_a + next * kStepA, fragment_b, from_b + next * kStepB, part);
            });
          }
          end_blocks(1);
        }
      };
      if constexpr (kSharedTotals) {
        Acc* const totals = reinterpret_cast<Acc*>(static_cast<char*>(shared) + kBytesA + kBytesB);
        bool has_totals = false;
#pragma unroll 1
        for (int blocks = tiles * kBlocks; blocks > 0; blocks -= kSpan) {
          multiply_blocks(blocks < kSpan ? blocks : kSpan);
          if (has_totals) add_totals(totals, sum);
          if (blocks > kSpan) put_totals(totals, sum);
          has_totals = true;
        }
      } else {
        multiply_blocks(tiles * kBlocks);
      }
    }
  }

  // Totals in shared memory, next to those of neighbouring threads. One by one: several at once would have to lie in
  // neighbouring registers, as the columns do that they are sums of, and then a product has two even or two odd ones.
  __device__ static void add_totals(const Acc* totals, Acc (&sum)[kRows][kColumns]) {
#pragma unroll
    for (int i = 0; i < kRows * kColumns; ++i) sum[i / kColumns][i % kColumns] += totals[i * kThreads + threadIdx.x];
  }

  // The sums begin anew.
  __device__ static void put_totals(Acc* totals, Acc (&sum)[kRows][kColumns]) {
#pragma unroll
    for (int i = 0; i < kRows * kColumns; ++i) {
      totals[i * kThreads + threadIdx.x] = sum[i / kColumns][i % kColumns];
      sum[i / kColumns][i % kColumns] = 0;
    }
  }

  __device__ static void promote(Acc (&sum)[kRows][kColumns], Acc (&total)[kRows][kColumns]) {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        total[i][j] += sum[i][j];
        sum[i][j] = 0;
      }
    }
  }

  static constexpr int kFetches = FragmentA::kAccesses + FragmentB::kAccesses;

  // One of the kFetches accesses to shared memory that a step needs.
  __device__ static void fetch_one(FragmentA& a, const typename A::T* from_a, FragmentB& b, const typename B::T* from_b,
                                   int part) {
    constexpr int kFirst = kByColumns ? FragmentB::kAccesses : FragmentA::kAccesses;
    if ((part < kFirst) == kByColumns) {
      b.load(from_b, kByColumns ? part : part - kFirst);
    } else {
      a.load(from_a, kByColumns ? part - kFirst : part);
    }
  }

  __device__ static void fetch(FragmentA& a, const typename A::T* from_a, FragmentB& b, const typename B::T* from_b) {
#pragma unroll
    for (int part = 0; part < kFetches; ++part) fetch_one(a, from_a, b, from_b, part);
  }

  // Among the products of a step, `next(part)` is called for each part of the next one.
  template <class Next>
  __device__ static void add_products(const FragmentA& a, const FragmentB& b, Acc (&sum)[kRows][kColumns],
                                      const Next& next) {
    constexpr int kLines = kByColumns ? kColumns : kRows, kAcross = kByColumns ? kRows : kColumns;
    constexpr int kApart = kByColumns ? kLines / kFetches : 0;  // lines between parts; 0: all before the first one
    if constexpr (kApart == 0) {
#pragma unroll
      for (int part = 0; part < kFetches; ++part) next(part);
    }
#pragma unroll
    for (int line = 0; line < kLines; ++line) {
      if constexpr (kApart > 0) {
        if (line % kApart == 0 && line / kApart < kFetches) next(line / kApart);
      }
#pragma unroll
      for (int at = 0; at < kAcross; ++at) {
        const int across = kThereAndBack && line % 2 ? kAcross - 1 - at : at;
        const int i = kByColumns ? across : line, j = kByColumns ? line : across;
        sum[i][j] = multiply_add(a.at[i], b.at[j], sum[i][j]);
      }
    }
  }

  // What has been loaded since the last commit is one tile.
  __device__ static void commit() {
    if constexpr (kArch >= 800) cp_async_commit();
  }

  // All tiles but the last kPending have arrived, and all threads have read the one before.
  template <int kPending>
  __device__ static void wait() {
    if constexpr (kArch >= 800) cp_async_wait<kPending>();
    __syncthreads();
  }
};

template <class Gemm>
__global__ void __launch_bounds__(Gemm::kThreads, Gemm::kMinCtas)
    gemm_simt(const __grid_constant__ typename Gemm::Params params) {
  extern __shared__ uint4 bytes[];
  Gemm::run(params, bytes);
}

}  // namespace tilewright

using namespace tilewright;  // for the host, which names instantiations as Layout<..>
