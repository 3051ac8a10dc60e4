// GEMM on Hopper: the copy engine fills shared memory, the tensor cores empty it, and no thread touches A or B; but for
// tf32 along M, which they do not read, and get from registers.
//
// Of a CTA's warpgroups the first, the producer, asks for boxes of A and B, `stages` tiles ahead; the others, the
// consumers, multiply. Two barriers a stage keep them apart: `full` completes when a stage's bytes have arrived,
// `empty` when all consumers have done with it. CTAs stay and take tile after tile, so that the producer fetches the
// next tile while the consumers still write the last one.
//
//   cooperative   the consumers share a tile of C, each has some of its rows
//   ping-pong     each consumer has tiles of its own; while one writes, the other multiplies
//   cluster       CTAs next to each other along M (or N) need the same B (or A): each brings a part of it to all
//   split         the CTAs of a cluster share a tile of C along K, and send each other their sums
//   stream-K      clusters share the first tiles along K, where rounds of whole ones leave some; sums go through memory
//   held B        all tiles of a CTA need the same B: it comes once, and stages have A alone
#pragma once

#include "tilewright/early_launch.cuh"
#include "tilewright/elect_one.cuh"
#include "tilewright/epilogue.cuh"
#include "tilewright/grid.cuh"
#include "tilewright/registers.cuh"
#include "tilewright/sm90_multiply.cuh"
#include "tilewright/sm90_operand.cuh"
#include "tilewright/sm90_split.cuh"
#include "tilewright/sm90_stage.cuh"
#include "tilewright/sm90_store.cuh"
#include "tilewright/sm90_stream_k.cuh"

namespace tilewright {

template <class A_, class B_, class AccType, class EpilogueType, class TileType, int kStages_, int kConsumers_,
          bool kPingPong_, int kClusterM_, int kClusterN_, int kSplit_, int kBatch_, int kStore_, int kStoreBuffers,
          int kPromote_ = 0, bool kStreamK_ = false, int kHeldB_ = 0>
struct GemmSm90 {
  using A = A_;
  using B = B_;
  using Acc = AccType;
  using Epilogue = EpilogueType;
  static constexpr int kTileM = TileType::extent(0), kTileN = TileType::extent(1), kTileK = TileType::extent(2);
  static constexpr int kStages = kStages_, kConsumers = kConsumers_, kBatch = kBatch_;
  static constexpr bool kPingPong = kPingPong_;
  // After so many steps along K sums are added to totals and begin anew, so that none has many terms; 0: never.
  static constexpr int kPromote = kPromote_;
  static constexpr bool kStreamK = kStreamK_;
  // C is one tile wide, and its B has at most so many steps along K, which stay in shared memory; 0: B is in the
  // stages. If each tile brought it anew, all multiprocessors would ask for the same few lines of the L2 all the time:
  // on an H200 83136x24x128 took 31 ns a tile, whatever its rows were.
  static constexpr int kHeldB = kHeldB_;
  static constexpr int kClusterM = kClusterM_, kClusterN = kClusterN_, kSplit = kSplit_;
  static constexpr int kCluster = kClusterM * kClusterN * kSplit;
  static constexpr bool kShares = kClusterM * kClusterN > 1;  // CTAs bring A or B to each other
  static_assert(!kShares || kSplit == 1);
  static constexpr int kRank = 2 + kBatch;
  static constexpr int kSharing = kPingPong ? 1 : kConsumers;  // consumers that share a tile, block after block of rows
  static constexpr int kBlocks = kTileM / 64 / kSharing;       // of 64 rows, of one consumer
  static constexpr int kBlockRows = 64 * kSharing;             // from one of its blocks to the next
  static constexpr int kStageBytes = A::kStageBytes + (kHeldB > 0 ? 0 : B::kStageBytes);
  static constexpr int kSteps = kTileK * static_cast<int>(sizeof(typename A::T)) / 32;
  static constexpr bool kReallocates = kConsumers > 1 && kBlocks* kTileN > 128;
  // Of three consumers those with A in registers need more than others. Their producer does with less, since they are
  // in no cluster; in clusters with tiles that reach over both ends it spills with 32.
  static constexpr int kProducerRegisters = kConsumers < 3 ? 40 : A::kFromRegisters ? 32 : 56;
  static constexpr int kConsumerRegisters = kConsumers < 3 ? 232 : A::kFromRegisters ? 160 : 152;
  // The producer is one warp; only whole warpgroups may change their registers.
  static constexpr int kThreads = 128 * kConsumers + (kReallocates ? 128 : 32);
  // The operand that each CTA of a cluster brings for itself alone, and stages of it that are asked for before the
  // other CTAs are there. With two, 1000^3 took 1 % less on an H200 than with none; with all of them, and the shared
  // operand behind, up to 6 % more.
  static constexpr bool kEarlyA = kShares && kClusterN == 1;
  static constexpr bool kEarlyB = kShares && kClusterM == 1;
  static constexpr int kEarly = kEarlyA || kEarlyB ? 2 : 0;
  static_assert(kEarly <= kStages);
  static constexpr int kUnits = kBlocks * kTileN / 8;  // of 8 columns by 64 rows, of a consumer
  using Split = Sm90Split<Acc, (kSplit > 1 ? kSplit : 2), kConsumers, kUnits>;
  using Store = Sm90Store<Epilogue, kBatch, kStore_, kStoreBuffers, kConsumers, kTileN, kBlocks, kBlockRows,
                          (kSplit > 1 ? Split::kOwn : kUnits), A::kFromRegisters>;
  static_assert(kSplit == 1 || Split::kBytes <= kStageBytes);
  using StreamK = Sm90StreamK<Acc, kCluster, kConsumers, kUnits>;
  using Work = typename EitherType<kStreamK, typename StreamK::Work, Sm90FirstTile<kCluster>>::Type;
  static_assert(!kStreamK || (kSplit == 1 && !kPingPong));
  static_assert(kHeldB == 0 || (kCluster == 1 && kBatch == 0 && !kStreamK));

  struct Whole {
    typename A::Params a;
    typename B::Params b;
    typename Store::Params store;
    int k_tiles;
    unsigned tiles_m, tiles_n, tiles;  // in clusters; all, batches included
    unsigned group;                    // tiles along M that are taken together before the next ones along N
    int part;  // elements of K from one matrix of the last batch mode to the next, where these are parts of K; else 0
    unsigned batch[kBatch + 1];                     // extents
    unsigned a_has[kBatch + 1], b_has[kBatch + 1];  // 0 where all matrices of the batch are one
  };
  struct WithStreamK : Whole {
    alignas(64) StreamK stream_k;
  };
  using Params = typename EitherType<kStreamK, WithStreamK, Whole>::Type;

  struct Held {
    alignas(1024) unsigned char held[kHeldB > 0 ? kHeldB : 1][B::kStageBytes];
  };
  struct Nothing {};
  struct Shared : EitherType<(kHeldB > 0), Held, Nothing>::Type {
    alignas(1024) unsigned char stages[kStages][kStageBytes];
    alignas(1024) unsigned char boxes[Store::kBytes];
    Barrier full[kStages + (kHeldB > 0)], empty[kStages];  // behind those of the stages `full` of what is held
    typename Split::Barriers split;
    typename Store::Shared store;
  };

  using Stage = Sm90Stage<GemmSm90>;

  // Where in C a CTA works: the first row and column of its tile, and the batch's coordinate; and where its K begins.
  // The last part of K may have less: behind its end there are zeros.
  struct Place {
    int m, n, k;
    int batch[kBatch + 1];
  };

  __device__ static Place place_of(const Params& params, unsigned tile, int rank) {
    Place place;
    const unsigned matrix = params.tiles_m * params.tiles_n;
    unsigned index = kBatch > 0 ? tile / matrix : 0;
    tile -= index * matrix;
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      place.batch[i] = index % params.batch[i];
      index /= params.batch[i];
    }
    place.k = kBatch > 0 ? place.batch[kBatch - (kBatch > 0)] * params.part : 0;
    const unsigned width = params.group * params.tiles_n;
    const unsigned first = tile / width * params.group;
    const unsigned rows = min(params.group, params.tiles_m - first);
    const unsigned within = tile % width;
    place.m = static_cast<int>((first + within % rows) * kClusterM + rank % kClusterM) * kTileM;
    place.n = static_cast<int>(within / rows * kClusterN + rank / kClusterM % kClusterN) * kTileN;
    return place;
  }

  // What one thread of a warp has computed, for all of them: the compiler keeps it in uniform registers. Divisions
  // there are a longer chain of instructions than in a thread's own.
  __device__ static Place shared_by_warp(Place place) {
    constexpr unsigned kAll = 0xFFFFFFFF;
    place.m = __shfl_sync(kAll, place.m, 0);
    place.n = __shfl_sync(kAll, place.n, 0);
    place.k = __shfl_sync(kAll, place.k, 0);
#pragma unroll
    for (int i = 0; i < kBatch; ++i) place.batch[i] = __shfl_sync(kAll, place.batch[i], 0);
    return place;
  }

  // The tiles along K that this CTA of a split has.
  __device__ static int k_begin(const Params& params, int rank) {
    return kSplit == 1 ? 0 : static_cast<int>(static_cast<int64>(params.k_tiles) * rank / kSplit);
  }

  // One thread makes all barriers, which other CTAs of the cluster use, too.
  __device__ static void make_barriers(Shared& shared, int rank) {
#pragma unroll
    for (int i = 0; i < kStages; ++i) {
      barrier_init(&shared.full[i], 1);
      barrier_init(&shared.empty[i], 4 * kSharing * kClusterM * kClusterN);
    }
    if constexpr (kHeldB > 0) barrier_init(&shared.full[kStages], 1);
    Store::make_barriers(shared.store);
    if constexpr (kSplit > 1) Split::init(shared.split, rank);
    barrier_init_fence();
  }

  // Where a tile's boxes of A and B are in the batch.
  __device__ static void enter_batch(const Params& params, const Place& place, BoxAt<kRank>& a, BoxAt<kRank>& b) {
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      a.at[2 + i] = place.batch[i] * params.a_has[i];
      b.at[2 + i] = place.batch[i] * params.b_has[i];
    }
  }

  // The producer of a cluster's CTA, as soon as it has made its own barriers: what goes from memory into this CTA's
  // stages and to its barriers alone, so that the other CTAs need not have begun. These stages are empty yet. `full`
  // expects the shared operand's bytes, too; those may even come before they are expected, since without the arrival
  // here the phase does not end.
  __device__ static void ask_early(const Params& params, Shared& shared, const Place& place) {
    BoxAt<kRank> a{}, b{};
    enter_batch(params, place, a, b);
    const auto boxes_a = A::boxes(params.a, place.m, params.store.m);
    const auto boxes_b = B::boxes(params.b, place.n, params.store.n);
    const Work work(params);
    const int steps = min(work.end - work.begin, kEarly);
    Stage to(shared);
    await_launches_before();
#pragma unroll 1
    for (int k = 0; k < steps; ++k, to.next()) {
      if (!elect_one()) continue;
      barrier_expect(to.full, boxes_a.bytes() + boxes_b.bytes());
      const int at = place.k + (work.begin + k) * kTileK;
      if constexpr (kEarlyA) A::template load<1>(to.bytes, boxes_a, a, at, to.full, 0, 0);
      if constexpr (kEarlyB) B::template load<1>(to.bytes + A::kStageBytes, boxes_b, b, at, to.full, 0, 0);
    }
  }

  // B of all tiles of this CTA.
  __device__ static void hold(const Params& params, Shared& shared, const Place& place) {
    BoxAt<kRank> at{};
    const auto boxes = B::boxes(params.b, place.n, params.store.n);
    const unsigned full = shared_address(&shared.full[kStages]);
    unsigned held = shared_address(shared.held);
    if (elect_one()) barrier_expect(full, params.k_tiles * boxes.bytes());
#pragma unroll 1
    for (int k = 0; k < params.k_tiles; ++k, held += B::kStageBytes) {
      if (elect_one()) B::template load<1>(held, boxes, at, k * kTileK, full, 0, 0);
    }
  }

  // All threads of the producer's warp. `place`: that of the first tile, of which ask_early() has asked for a part.
  __device__ static void produce(const Params& params, Shared& shared, int rank, Place place) {
    const int m_share = rank % kClusterM, n_share = rank / kClusterM % kClusterN;
    // CTAs of one column of the cluster need the same B, those of one row the same A.
    constexpr unsigned kColumn = (1u << kClusterM) - 1;
    unsigned row = 0;
#pragma unroll
    for (int i = 0; i < kClusterN; ++i) row |= 1u << (i * kClusterM);
    const auto mask_a = static_cast<unsigned short>(row << m_share);
    const auto mask_b = static_cast<unsigned short>(kColumn << (n_share * kClusterM));
    int begin = k_begin(params, rank), end = kSplit == 1 ? params.k_tiles : k_begin(params, rank + 1);
    Stage to(shared);
    int early = min(params.k_tiles, kEarly);
    unsigned tile = blockIdx.x / kCluster;
    Work work(params);
    if constexpr (kStreamK) {
      begin = work.begin, end = work.end, tile = work.tile;
      early = min(end - begin, kEarly);
    }
    if constexpr (kHeldB > 0) {
      await_launches_before();
      hold(params, shared, place);
    }
    bool is_first = kEarly == 0 && kHeldB == 0;
    while (tile < params.tiles) {
      BoxAt<kRank> a{}, b{};
      enter_batch(params, place, a, b);
      const auto boxes_a = A::boxes(params.a, place.m, params.store.m);
      const auto boxes_b = B::boxes(params.b, place.n, params.store.n);
      const unsigned bytes = boxes_a.bytes() + (kHeldB > 0 ? 0 : boxes_b.bytes());
      if (is_first) await_launches_before();
      is_first = false;
#pragma unroll 1
      for (int k = begin; k < end; ++k, to.next()) {
        const bool asked = kEarly > 0 && early > 0;
        if (asked) {
          --early;
        } else {
          barrier_wait(to.empty(), to.parity() ^ 1);
        }
        const int at = place.k + k * kTileK;
        if (elect_one()) {
          if (!asked) barrier_expect(to.full, bytes);
          if (!kEarlyA || !asked) A::template load<kClusterN>(to.bytes, boxes_a, a, at, to.full, n_share, mask_a);
          if (kHeldB == 0 && (!kEarlyB || !asked))
            B::template load<kClusterM>(to.bytes + A::kStageBytes, boxes_b, b, at, to.full, m_share, mask_b);
        }
      }
      if constexpr (kStreamK) {
        work.next(params);
        begin = work.begin, end = work.end, tile = work.tile;
      } else {
        tile += gridDim.x / kCluster;
      }
      if (threadIdx.x % 32 == 0 && tile < params.tiles) place = place_of(params, tile, rank);
      place = shared_by_warp(place);
    }
  }

  // The producer of a split has brought everything: the others may send their sums where no stage is in use any more.
  __device__ static void open_inbox(const Params& params, Shared& shared, int rank) {
    const Stage stage = inbox(params, shared);
    barrier_wait(stage.empty(), stage.parity() ^ 1);
    if (elect_one()) Split::open(shared.split, rank);
  }

  __device__ __forceinline__ static void consume(const Params& params, Shared& shared, int rank, int consumer) {
    Stage stage(shared);
    Store store(params.store, shared.boxes, shared.store, consumer);
    unsigned tile = blockIdx.x / kCluster;
    const unsigned step = gridDim.x / kCluster;
    if constexpr (kHeldB > 0) barrier_wait(&shared.full[kStages], 0);
    if (kPingPong && consumer == 1) {
      stage.skip(params.k_tiles);
      tile += step;
    }
    for (; tile < params.tiles; tile += kPingPong ? 2 * step : step) {
      const Place place = place_of(params, tile, rank);
      const typename Store::Part part = {place.m + (kPingPong ? 0 : consumer * 64), place.n, place.batch, 0, kUnits};
      store.begin(part);
      Acc acc[4 * kUnits];
      // In ping-pong the consumers multiply in turn: a named barrier for each of the two.
      if constexpr (kPingPong) {
        if (consumer == 1 || tile != blockIdx.x / kCluster) named_barrier_sync(8 + consumer, 256);
      }
      // More tiles than stages make no difference. In ping-pong those of the other consumer count, too.
      const unsigned later = min((params.tiles - 1 - tile) / step, static_cast<unsigned>(kStages));
      const int behind = static_cast<int>(later) * params.k_tiles;
      Sm90Multiply<GemmSm90>{shared, stage, kPingPong ? 0 : consumer, params.k_tiles, behind}.run(acc);
      if constexpr (kPingPong) {
        named_barrier_arrive(8 + (consumer ^ 1), 256);
        stage.skip(params.k_tiles);
      }
      store.store(acc, part);
    }
    // Whoever is ahead has arrived once more than the other waits for.
    if constexpr (kPingPong) {
      const unsigned first = blockIdx.x / kCluster;
      const unsigned own = first < params.tiles ? (params.tiles - first + step - 1) / step : 0;
      if (own > 0 && (own - 1) % 2 != static_cast<unsigned>(consumer)) named_barrier_sync(8 + consumer, 256);
    }
    store.finish();
  }

  // With stream-K: parts of tiles along K, and whole ones.
  __device__ __forceinline__ static void consume_shared(const Params& params, Shared& shared, int rank, int consumer) {
    Stage stage(shared);
    Store store(params.store, shared.boxes, shared.store, consumer);
#pragma unroll 1
    for (Work work(params); work.more(params); work.next(params)) {
      const Place place = place_of(params, work.tile, rank);
      const typename Store::Part part = {place.m + consumer * 64, place.n, place.batch, 0, kUnits};
      if (work.begin == 0) store.begin(part);
      Acc acc[4 * kUnits];
      const int steps = work.end - work.begin;
      Sm90Multiply<GemmSm90>{shared, stage, consumer, steps, work.behind(params, kStages)}.run(acc);
      if (work.begin > 0) {
        params.stream_k.put(work, rank, consumer, acc);
      } else {
        if (work.end < params.k_tiles) params.stream_k.add(work, rank, consumer, acc);
        store.store(acc, part);
      }
    }
    store.finish();
  }

  // The stage in which the sums of the other CTAs of a split arrive: the one behind the last that any of them uses.
  __device__ static Stage inbox(const Params& params, Shared& shared) {
    Stage stage(shared);
    stage.skip((params.k_tiles + kSplit - 1) / kSplit);
    return stage;
  }

  // A split's cluster has one tile, of which each CTA finishes a part.
  __device__ __forceinline__ static void consume_split(const Params& params, Shared& shared, int rank, int consumer) {
    Stage stage(shared);
    Store store(params.store, shared.boxes, shared.store, consumer);
    const Place place = place_of(params, blockIdx.x / kCluster, rank);
    const typename Store::Part part = {place.m + consumer * 64, place.n, place.batch, rank * Split::kOwn,
                                       Split::owned(rank)};
    store.begin(part);
    Acc acc[4 * kUnits];
    const int steps = k_begin(params, rank + 1) - k_begin(params, rank);
    Sm90Multiply<GemmSm90>{shared, stage, consumer, steps, 0}.run(acc);
    cluster_wait();  // the other CTAs have begun and made their barriers
    Acc own[4 * Split::kOwn];
    Split::exchange(acc, own, shared.stages[inbox(params, shared).index()], shared.split, rank, consumer);
    store.store(own, part);
    store.finish();
  }
};

template <class Gemm>
__global__ void __launch_bounds__(Gemm::kThreads, 1) __cluster_dims__(Gemm::kCluster, 1, 1)
    gemm_sm90(const __grid_constant__ typename Gemm::Params params) {
  Sm90Multiply<Gemm>::Sums::declare();  // here, where nothing makes the compiler write it twice
  extern __shared__ __align__(1024) unsigned char bytes[];
  auto& shared = *reinterpret_cast<typename Gemm::Shared*>(bytes);
  // The same in all threads of a warp: the compiler keeps it in a uniform register.
  const int warp = __shfl_sync(0xFFFFFFFF, threadIdx.x / 32, 0);
  const int rank = Gemm::kCluster == 1 ? 0 : cluster_rank();
  const bool producer = warp == 4 * Gemm::kConsumers;
  typename Gemm::Place first{};
  if (producer && threadIdx.x % 32 == 0) {
    prefetch(params.a.whole);
    prefetch(params.b.whole);
    Gemm::make_barriers(shared, rank);
    first = Gemm::place_of(params, typename Gemm::Work(params).tile, rank);
    asm volatile("" : "+r"(first.m), "+r"(first.n));  // it divides, for which there is time before other launches end
  }
  let_next_begin();
  __syncwarp();  // the cluster's barrier wants whole warps
  if constexpr (Gemm::kCluster > 1) cluster_arrive();
  if constexpr (Gemm::kEarly > 0) {
    if (producer) Gemm::ask_early(params, shared, Gemm::shared_by_warp(first));
    __syncwarp();
  }
  if constexpr (Gemm::kShares) {
    cluster_wait();
  } else {
    __syncthreads();  // CTAs of a split meet when they have sums
  }
  if (warp >= 4 * Gemm::kConsumers) {
    if constexpr (Gemm::kReallocates) fewer_registers<Gemm::kProducerRegisters>();
    if (producer) Gemm::produce(params, shared, rank, Gemm::shared_by_warp(first));
    __syncwarp();
    if constexpr (Gemm::kSplit > 1) {
      cluster_wait();
      if (producer) Gemm::open_inbox(params, shared, rank);
    }
  } else {
    await_launches_before();
    if constexpr (Gemm::kReallocates) more_registers<Gemm::kConsumerRegisters>();
    if constexpr (Gemm::kSplit > 1) {
      Gemm::consume_split(params, shared, rank, warp / 4);
    } else if constexpr (Gemm::kStreamK) {
      Gemm::consume_shared(params, shared, rank, warp / 4);
    } else {
      Gemm::consume(params, shared, rank, warp / 4);
    }
  }
}

}  // namespace tilewright

using namespace tilewright;  // for the host, which names instantiations as Tile<..>, Sm90Operand<..>
