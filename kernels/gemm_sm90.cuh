// GEMM on Hopper: the copy engine fills shared memory, the tensor cores empty it, and no thread touches A or B.
//
// Of a CTA's warpgroups the first, the producer, asks for boxes of A and B, `stages` tiles ahead; the others, the
// consumers, multiply. Two barriers a stage keep them apart: `full` completes when a stage's bytes have arrived,
// `empty` when all consumers have done with it. CTAs stay and take tile after tile, so that the producer fetches the
// next tile while the consumers still write the last one.
//
//   cooperative   the consumers share a tile of C, each has some of its rows
//   ping-pong     each consumer has tiles of its own; while one writes, the other multiplies
//   cluster       CTAs next to each other along M need the same B: each brings a part of it to all of them (and along
//   N) split         the CTAs of a cluster share a tile of C along K and add up what they have through their shared
//   memory
#pragma once

#include "tilewright/epilogue.cuh"
#include "tilewright/grid.cuh"
#include "tilewright/sm90_operand.cuh"
#include "tilewright/sm90_store.cuh"

namespace tilewright {

template <int kRegisters>
__device__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// A stage and the parity of the phase in which it is.
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
  __device__ void skip(int count) {
    const int sum = index + count;
    parity ^= sum / kStages & 1;
    index = sum % kStages;
  }
};

template <class A_, class B_, class AccType, class EpilogueType, class TileType, int kStages_, int kConsumers_,
          bool kPingPong_, int kClusterM_, int kClusterN_, int kSplit_, int kBatch_, int kStore_, int kStoreBuffers>
struct GemmSm90 {
  using A = A_;
  using B = B_;
  using Acc = AccType;
  using Epilogue = EpilogueType;
  static constexpr int kTileM = TileType::extent(0), kTileN = TileType::extent(1), kTileK = TileType::extent(2);
  static constexpr int kStages = kStages_, kConsumers = kConsumers_, kBatch = kBatch_;
  static constexpr bool kPingPong = kPingPong_;
  static constexpr int kClusterM = kClusterM_, kClusterN = kClusterN_, kSplit = kSplit_;
  static constexpr int kCluster = kClusterM * kClusterN * kSplit;
  static constexpr int kThreads = 128 * (kConsumers + 1);
  static constexpr int kRank = 2 + kBatch;
  static constexpr int kSharing = kPingPong ? 1 : kConsumers;  // consumers that share a tile, block after block of rows
  static constexpr int kBlocks = kTileM / 64 / kSharing;       // of 64 rows, of one consumer
  static constexpr int kBlockRows = 64 * kSharing;             // from one of its blocks to the next
  static constexpr int kStageBytes = A::kStageBytes + B::kStageBytes;
  static constexpr int kSteps = kTileK * static_cast<int>(sizeof(typename A::T)) / 32;
  static constexpr bool kReallocates = kConsumers > 1 && kBlocks* kTileN > 128;
  using Store = Sm90Store<Epilogue, kBatch, kStore_, kStoreBuffers, kConsumers>;

  struct Params {
    TensorMap a, b;
    typename Store::Params store;
    int k_tiles;
    unsigned tiles_m, tiles_n, tiles;  // in clusters; all, batches included
    unsigned group;                    // tiles along M that are taken together before the next ones along N
    unsigned batch[kBatch + 1];        // extents
    unsigned a_has[kBatch + 1], b_has[kBatch + 1];  // 0 where all matrices of the batch are one
  };

  struct Shared {
    alignas(1024) unsigned char stages[kStages][kStageBytes];
    alignas(1024) unsigned char store[Store::kBytes == 0 ? 16 : Store::kBytes];
    Barrier full[kStages], empty[kStages];
  };

  // Where in C a CTA works: the first row and column of its tile, and the batch's coordinate.
  struct Place {
    int m, n;
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
    const unsigned width = params.group * params.tiles_n;
    const unsigned first = tile / width * params.group;
    const unsigned rows = min(params.group, params.tiles_m - first);
    const unsigned within = tile % width;
    place.m = static_cast<int>((first + within % rows) * kClusterM + rank % kClusterM) * kTileM;
    place.n = static_cast<int>(within / rows * kClusterN + rank / kClusterM % kClusterN) * kTileN;
    return place;
  }

  // The tiles along K that this CTA of a split has.
  __device__ static int k_begin(const Params& params, int rank) {
    return kSplit == 1 ? 0 : static_cast<int>(static_cast<int64>(params.k_tiles) * rank / kSplit);
  }

  __device__ static void produce(const Params& params, Shared& shared, int rank) {
    const int m_share = rank % kClusterM, n_share = rank / kClusterM % kClusterN;
    // CTAs of one column of the cluster need the same B, those of one row the same A.
    constexpr unsigned kColumn = (1u << kClusterM) - 1;
    unsigned row = 0;
#pragma unroll
    for (int i = 0; i < kClusterN; ++i) row |= 1u << (i * kClusterM);
    const auto mask_a = static_cast<unsigned short>(row << m_share);
    const auto mask_b = static_cast<unsigned short>(kColumn << (n_share * kClusterM));
    const int begin = k_begin(params, rank), end = kSplit == 1 ? params.k_tiles : k_begin(params, rank + 1);
    Slot<kStages> slot;
    for (unsigned tile = blockIdx.x / kCluster; tile < params.tiles; tile += gridDim.x / kCluster) {
      const Place place = place_of(params, tile, rank);
      BoxAt<kRank> a{}, b{};
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        a.at[2 + i] = place.batch[i] * params.a_has[i];
        b.at[2 + i] = place.batch[i] * params.b_has[i];
      }
#pragma unroll 1
      for (int k = begin; k < end; ++k) {
        barrier_wait(&shared.empty[slot.index], slot.parity ^ 1);
        Barrier* const full = &shared.full[slot.index];
        unsigned char* const stage = shared.stages[slot.index];
        barrier_expect(full, kStageBytes);
        A::template load<kClusterN>(stage, params.a, a, place.m, k * kTileK, full, n_share, mask_a);
        B::template load<kClusterM>(stage + A::kStageBytes, params.b, b, place.n, k * kTileK, full, m_share, mask_b);
        slot.next();
      }
    }
  }

  // A warp has done with a stage: all producers that write into it hear of it.
  __device__ static void release(Shared& shared, int slot) {
    const int lane = threadIdx.x % 32;
    if constexpr (kClusterM * kClusterN == 1) {
      if (lane == 0) barrier_arrive(&shared.empty[slot]);
    } else {
      if (lane < kClusterM * kClusterN) barrier_arrive_at(&shared.empty[slot], lane);
    }
  }

  __device__ static void multiply(const Params& params, Shared& shared, Slot<kStages>& slot, int rank, int consumer,
                                  Acc (&acc)[kBlocks][kTileN / 2]) {
    const int count = k_begin(params, rank + 1) - k_begin(params, rank);
    const int tiles = kSplit == 1 ? params.k_tiles : count;
    const int first_block = kPingPong ? 0 : consumer;
    int last = 0;
    if (kSplit > 1 && tiles == 0) {  // more CTAs than tiles along K
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
        for (int i = 0; i < kTileN / 2; ++i) acc[block][i] = 0;
      }
    }
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) wgmma_hold(acc[block]);
#pragma unroll 1
    for (int k = 0; k < tiles; ++k) {
      barrier_wait(&shared.full[slot.index], slot.parity);
      const unsigned char* const stage = shared.stages[slot.index];
      const unsigned long long a = A::descriptor(stage + first_block * A::kBlockBytes);
      const unsigned long long b = B::descriptor(stage + A::kStageBytes);
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
          wgmma<typename A::T, typename B::T, A::kMajorK ? 0 : 1, B::kMajorK ? 0 : 1, kTileN>(
              acc[block], a + (block * kSharing * A::kBlockBytes + step * A::kStepBytes) / 16,
              b + step * B::kStepBytes / 16, k | step);
        }
      }
      wgmma_commit();
      if (k > 0) {
        wgmma_wait<1>();
        release(shared, last);
      }
      last = slot.index;
      slot.next();
    }
    wgmma_wait<0>();
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) wgmma_hold(acc[block]);
    if (tiles > 0) release(shared, last);
  }

  __device__ static void consume(const Params& params, Shared& shared, int rank, int consumer) {
    Slot<kStages> slot;
    Store store(params.store, shared.store, consumer);
    unsigned tile = blockIdx.x / kCluster;
    const unsigned step = gridDim.x / kCluster;
    if (kPingPong && consumer == 1) {
      slot.skip(params.k_tiles);
      tile += step;
    }
    for (; tile < params.tiles; tile += kPingPong ? 2 * step : step) {
      const Place place = place_of(params, tile, rank);
      Acc acc[kBlocks][kTileN / 2];
      // In ping-pong the consumers multiply in turn: a named barrier for each of the two.
      if constexpr (kPingPong) {
        if (consumer == 1 || tile != blockIdx.x / kCluster) named_barrier_sync(8 + consumer, 256);
      }
      multiply(params, shared, slot, rank, consumer, acc);
      if constexpr (kPingPong) {
        named_barrier_arrive(8 + (consumer ^ 1), 256);
        slot.skip(params.k_tiles);
      }
      const int m = place.m + (kPingPong ? 0 : consumer * 64);
      if constexpr (kSplit > 1) {
        add_up(params, shared, store, rank, consumer, m, place, acc);
      } else {
        store.template tile<kBlockRows>(acc, m, place.n, place.batch);
      }
    }
    // Whoever is ahead has arrived once more than the other waits for.
    if constexpr (kPingPong) {
      const unsigned first = blockIdx.x / kCluster;
      const unsigned own = first < params.tiles ? (params.tiles - first + step - 1) / step : 0;
      if (own > 0 && (own - 1) % 2 != static_cast<unsigned>(consumer)) named_barrier_sync(8 + consumer, 256);
    }
    store.finish();
  }

  // Every CTA of the split shows its sums to the others, and finishes a part of the tile: eight columns of 64 rows at a
  // time, always added in the same order.
  __device__ static void add_up(const Params& params, Shared& shared, Store& store, int rank, int consumer, int m,
                                const Place& place, Acc (&acc)[kBlocks][kTileN / 2]) {
    constexpr int kUnits = kBlocks * kTileN / 8;
    constexpr int kOwn = (kUnits + kSplit - 1) / kSplit;
    constexpr int kUnitBytes = 128 * 16;
    static_assert(kUnits * kUnitBytes * kConsumers <= kStages * kStageBytes);
    unsigned char* const own = shared.stages[0] + consumer * kUnits * kUnitBytes + threadIdx.x % 128 * 16;
    named_barrier_sync(7, 128 * kConsumers);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int j = 0; j < kTileN / 8; ++j) {
        Acc* const to = reinterpret_cast<Acc*>(own + (block * (kTileN / 8) + j) * kUnitBytes);
#pragma unroll
        for (int i = 0; i < 4; ++i) to[i] = acc[block][4 * j + i];
      }
    }
    cluster_arrive();
    cluster_wait();
    Acc part[kOwn][kSplit][4];
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
#pragma unroll
      for (int cta = 0; cta < kSplit; ++cta) {
        const int unit = min(rank * kOwn + i, kUnits - 1);
        load_from_cta(part[i][cta], own + unit * kUnitBytes, cta);
      }
    }
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int unit = rank * kOwn + i;
      if (unit >= kUnits) continue;
      Acc sum[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        sum[j] = part[i][0][j];
#pragma unroll
        for (int cta = 1; cta < kSplit; ++cta) sum[j] += part[i][cta][j];
      }
      store.eight_columns(sum, m + unit / (kTileN / 8) * kBlockRows, place.n + unit % (kTileN / 8) * 8, place.batch);
    }
  }
};

template <class Gemm>
__global__ void __launch_bounds__(Gemm::kThreads, 1) __cluster_dims__(Gemm::kCluster, 1, 1)
    gemm_sm90(const __grid_constant__ typename Gemm::Params params) {
  extern __shared__ __align__(1024) unsigned char bytes[];
  auto& shared = *reinterpret_cast<typename Gemm::Shared*>(bytes);
  // The same in all threads of a warp: the compiler keeps it in a uniform register.
  const int group = __shfl_sync(0xFFFFFFFF, threadIdx.x / 128, 0);
  const int rank = Gemm::kCluster == 1 ? 0 : cluster_rank();
  if (threadIdx.x == 0) {
    prefetch(params.a);
    prefetch(params.b);
    for (int i = 0; i < Gemm::kStages; ++i) {
      barrier_init(&shared.full[i], 1);
      barrier_init(&shared.empty[i], 4 * (Gemm::kPingPong ? 1 : Gemm::kConsumers) * Gemm::kClusterM * Gemm::kClusterN);
    }
    barrier_init_fence();
  }
  __syncwarp();  // the cluster's barrier wants whole warps
  if constexpr (Gemm::kCluster > 1) {
    cluster_arrive();
    cluster_wait();
  } else {
    __syncthreads();
  }
  // With programmatic launches the next kernel may come as far as here, and no memory is touched before the last one
  // ended.
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (group == 0) {
    if constexpr (Gemm::kReallocates) fewer_registers<(Gemm::kConsumers > 2 ? 32 : 40)>();
    if (threadIdx.x == 0) Gemm::produce(params, shared, rank);
    __syncwarp();
    if constexpr (Gemm::kSplit > 1) {
      cluster_arrive();
      cluster_wait();
    }
  } else {
    if constexpr (Gemm::kReallocates) more_registers<(Gemm::kConsumers > 2 ? 160 : 232)>();
    Gemm::consume(params, shared, rank, group - 1);
  }
  // Other CTAs of the cluster may still arrive at this one's barriers or read its shared memory.
  if constexpr (Gemm::kCluster > 1) {
    cluster_arrive();
    cluster_wait();
  }
}

}  // namespace tilewright

using namespace tilewright;  // for the host, which names instantiations as Tile<..>, Sm90Operand<..>
