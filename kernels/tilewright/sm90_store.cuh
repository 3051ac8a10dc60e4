// From the accumulators of a warpgroup to C, 64 rows at a time.
//
//   kBoxes    through shared memory, in boxes that the copy engine writes: C contiguous along N, 16-byte aligned rows
//   kPairs    two elements next to each other at once, from the registers
//   kSingles  element by element: any strides
//
// A thread has, of every 8 columns, two next to each other in its row and two in the row 8 below.
#pragma once

#include "tilewright/epilogue.cuh"
#include "tilewright/tma.cuh"
#include "tilewright/vector.cuh"

namespace tilewright {

enum StoreKind { kSingles = 0, kPairs = 1, kBoxes = 2 };

// Four matrices of 8 x 8 elements of 16 bits from the registers of a warp; each lane names a row of 16 bytes.
__device__ inline void stmatrix_x4(void* row, const unsigned (&r)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(shared_address(row)), "r"(r[0]),
               "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");
}

// Four accumulators that lie at the same place in the shared memory of another CTA of the cluster.
template <class Acc>
__device__ void load_from_cta(Acc (&to)[4], const void* from, int cta) {
  unsigned r[4];
  asm volatile(
      "{\n.reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %4, %5;\n"
      "ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [remote];\n}"
      : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
      : "r"(shared_address(from)), "r"(cta));
#pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = __builtin_bit_cast(Acc, r[i]);
}

template <class EpilogueType, int kBatch, int kKind, int kBuffers, int kConsumers>
struct Sm90Store {
  using Epilogue = EpilogueType;
  using Out = typename Epilogue::Out;
  using Compute = typename Epilogue::Compute;
  static constexpr int kOutBytes = sizeof(Out);
  static constexpr int kBoxColumns = 128 / kOutBytes;  // a row of a box: 128 bytes, swizzled
  static constexpr int kBoxBytes = 64 * 128;
  static constexpr int kBytes = kKind == kBoxes ? kConsumers * kBuffers * kBoxBytes : 0;

  struct Params {
    TensorMap map;
    Out* out;
    int64 strides[2 + kBatch];
    typename Epilogue::Params epilogue;
    int m, n;
  };

  const Params& params;
  unsigned char* const buffers;
  const int consumer;
  int next = 0;

  __device__ Sm90Store(const Params& p, unsigned char* shared, int which)
      : params(p), buffers(shared + which * kBuffers * kBoxBytes), consumer(which) {}

  // This thread's first row and column.
  __device__ static int row() { return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4; }
  __device__ static int column() { return threadIdx.x % 4 * 2; }

  __device__ Out* element(int m, int n, const int* batch) const {
    int64 offset = m * params.strides[0] + n * params.strides[1];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) offset += batch[i] * params.strides[2 + i];
    return params.out + offset;
  }

  // C at (m, n) and (m, n + 1), by one access where they lie together; outside of C it is anything.
  __device__ Vector<Out, 2> read(int m, int n, const int* batch) const {
    Vector<Out, 2> c{};
    if (m < params.m && n < params.n) {
      const Out* const from = element(m, n, batch);
      if (kKind != kSingles && n + 1 < params.n) {
        c = *reinterpret_cast<const Vector<Out, 2>*>(from);
      } else {
        c.at[0] = from[0];
        if (n + 1 < params.n) c.at[1] = from[params.strides[1]];
      }
    }
    return c;
  }

  // What is to be stored at (m, n) and (m, n + 1), of the sums a and b.
  template <class Acc>
  __device__ Vector<Compute, 2> finished(Acc a, Acc b, int m, int n, const int* batch) const {
    Vector<Out, 2> c{};
    if constexpr (Epilogue::kReads) c = read(m, n, batch);
    const Acc sum[2] = {a, b};
    Vector<Compute, 2> result;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      Compute bias = 0;
      if constexpr (Epilogue::kHasBias) {
        if (Epilogue::kBiasAlong == 0 ? m < params.m : n + i < params.n) {
          bias = Epilogue::bias_at(params.epilogue, m, n + i);
        }
      }
      result.at[i] = Epilogue::apply(params.epilogue, sum[i], Epilogue::kReads ? convert<Compute>(c.at[i]) : 0, bias);
    }
    return result;
  }

  // The blocks of 64 rows, kStep rows from one to the next, of which the first begins at (m, n).
  template <int kStep, class Acc, int kBlocks, int kCount>
  __device__ void tile(const Acc (&acc)[kBlocks][kCount], int m, int n, const int* batch) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
      if constexpr (kKind == kBoxes) {
        boxes(acc[block], m + kStep * block, n, batch);
      } else {
#pragma unroll
        for (int j = 0; j < kCount / 4; ++j) {
          const Acc part[4] = {acc[block][4 * j], acc[block][4 * j + 1], acc[block][4 * j + 2], acc[block][4 * j + 3]};
          eight_columns(part, m + kStep * block, n + 8 * j, batch);
        }
      }
    }
  }

  template <class Acc>
  __device__ void eight_columns(const Acc (&acc)[4], int m, int n, const int* batch) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at_m = m + row() + 8 * half, at_n = n + column();
      if (at_m >= params.m || at_n >= params.n) continue;
      Out* const to = element(at_m, at_n, batch);
      const auto value = finished(acc[2 * half], acc[2 * half + 1], at_m, at_n, batch);
      const Vector<Out, 2> pair = {convert<Out>(value.at[0]), convert<Out>(value.at[1])};
      if (kKind == kPairs && at_n + 1 < params.n) {
        *reinterpret_cast<Vector<Out, 2>*>(to) = pair;
      } else {
        to[0] = pair.at[0];
        if (at_n + 1 < params.n) to[params.strides[1]] = pair.at[1];
      }
    }
  }

  template <class Acc, int kCount>
  __device__ void boxes(const Acc (&acc)[kCount], int m, int n, const int* batch) {
    constexpr int kGroups = kBoxColumns / 8;  // of 8 columns in a box
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int first = 0; first < kCount / 4; first += kGroups) {
      unsigned char* const buffer = buffers + next * kBoxBytes;
      next = next + 1 == kBuffers ? 0 : next + 1;
      const bool leader = threadIdx.x % 128 == 0;
      if (leader) tma_wait_read<kBuffers - 1>();  // the last box that was in this buffer is gone
      named_barrier_sync(1 + consumer, 128);
      unsigned char* const rows = buffer + threadIdx.x % 128 / 32 * 16 * 128;  // the 16 of this warp
#pragma unroll
      for (int j = 0; j < kGroups; j += kOutBytes == 2 ? 2 : 1) {
        if constexpr (kOutBytes == 2) {
          unsigned packed[4];
#pragma unroll
          for (int i = 0; i < 4; ++i) {  // rows 0 to 7, rows 8 to 15, and the same of the next 8 columns
            const int index = 4 * (first + j + i / 2) + i % 2 * 2;
            const int at_m = m + row() + i % 2 * 8, at_n = n + (first + j + i / 2) * 8 + column();
            const auto value = finished(acc[index], acc[index + 1], at_m, at_n, batch);
            packed[i] = convert_pair<Out>(value.at[0], value.at[1]);
          }
          const int chunk = j + lane / 16;
          stmatrix_x4(rows + (lane % 16) * 128 + ((chunk ^ lane % 8) << 4), packed);
        } else {
#pragma unroll
          for (int half = 0; half < 2; ++half) {
            const int at_m = m + row() + half * 8, at_n = n + (first + j) * 8 + column();
            const int index = 4 * (first + j) + 2 * half;
            const auto value = finished(acc[index], acc[index + 1], at_m, at_n, batch);
            const Vector<Out, 2> pair = {convert<Out>(value.at[0]), convert<Out>(value.at[1])};
            const int own = lane / 4 + half * 8, chunk = 2 * j + lane % 4 / 2;
            store_shared(reinterpret_cast<Out*>(rows + own * 128 + ((chunk ^ own % 8) << 4) + lane % 2 * 8), pair);
          }
        }
      }
      fence_async_proxy();
      named_barrier_sync(1 + consumer, 128);
      if (leader) {
        BoxAt<2 + kBatch> at;
        at.at[0] = n + first * 8;
        at.at[1] = m;
#pragma unroll
        for (int i = 0; i < kBatch; ++i) at.at[2 + i] = batch[i];
        tma_store(params.map, buffer, at);
        tma_commit();
      }
    }
  }

  // Shared memory must stay until the copy engine has read it.
  __device__ void finish() const {
    if constexpr (kKind == kBoxes) {
      if (threadIdx.x % 128 == 0) tma_wait_read<0>();
    }
  }
};

}  // namespace tilewright
