// From the accumulators of a warpgroup to C, 64 rows at a time.
//
//   kBoxes        through shared memory, in boxes that the copy engine writes: C contiguous along N, rows aligned
//   kBoxesAlongM  the same for C contiguous along M: elements of 2 bytes; of 4 for paired rows (sm90_rows.cuh)
//   kLines        through shared memory, by the warps themselves, in lines (sm90_lines.cuh): C contiguous along N
//   kPairs        two elements next to each other at once, from the registers
//   kSingles      element by element: any strides
//
// A thread has, of every 8 columns, two next to each other in each of two rows: a unit. What a consumer finishes are
// `kUnits` of them one after the other, block by block of 64 rows; all of its part of the tile, or a share of it.
//
// Where C is read, too, the copy engine brings the first boxes of it while the consumer still multiplies; each is
// finished where it lies, and stored from there.
#pragma once

#include "tilewright/epilogue.cuh"
#include "tilewright/ldmatrix.cuh"
#include "tilewright/shared_access.cuh"
#include "tilewright/sm90_bias.cuh"
#include "tilewright/sm90_box.cuh"
#include "tilewright/sm90_lines.cuh"
#include "tilewright/sm90_rows.cuh"
#include "tilewright/stmatrix.cuh"
#include "tilewright/tma.cuh"
#include "tilewright/vector.cuh"

namespace tilewright {

// Tiles of kColumns columns and of kBlocks blocks of rows of a consumer, kStep rows from one block to the next.
template <class EpilogueType, int kBatch, int kKind, int kBuffers, int kConsumers, int kColumns, int kBlocks, int kStep,
          int kUnits, bool kPaired>
struct Sm90Store {
  using Epilogue = EpilogueType;
  using Out = typename Epilogue::Out;
  using Compute = typename Epilogue::Compute;
  using Rows = Sm90Rows<kPaired>;
  using Bias = Sm90Bias<Epilogue, kColumns, kBlocks, kStep, Rows::kNext>;
  static constexpr int kOutBytes = sizeof(Out);
  static constexpr bool kByBoxes = kKind == kBoxes || kKind == kBoxesAlongM;
  static_assert(kPaired ? kKind != kLines && (kOutBytes == 4 || !kByBoxes) : kKind != kBoxesAlongM || kOutBytes == 2);
  static constexpr int kUnitsOfBlock = kColumns / 8;
  using Box = Sm90Box<kKind, kOutBytes, (kUnits < kUnitsOfBlock ? kUnits : kUnitsOfBlock)>;
  static constexpr int kBoxBytes = Box::kBytes, kParts = Box::kParts;
  static constexpr int kHeld = kKind == kLines ? 2 : kByBoxes ? kBuffers : 0;  // boxes of a consumer
  static constexpr int kBytes = kHeld > 0 ? kConsumers * kHeld * kBoxBytes : 16;
  static constexpr int kGroups = Box::kGroups;     // units of a box
  static constexpr int kCount = kUnits / kGroups;  // boxes
  static constexpr bool kBrings = kByBoxes && Epilogue::kReads;
  static constexpr bool kHasC = kHeld > 0 && Epilogue::kReads;  // boxes have C before they are filled

  struct Params {
    TensorMap map;
    Out* out;
    int64 strides[2 + kBatch];
    typename Epilogue::Params epilogue;
    int m, n;
  };

  // Beside boxes[kBytes], which begin at a multiple of 1024 bytes.
  struct Shared {
    Barrier brought[kConsumers][kBuffers];
    alignas(16) unsigned char bias[kConsumers][Bias::kBytes == 0 ? 16 : Bias::kBytes];
  };

  // The place of what a consumer finishes: its tile begins at (m, n) of C, its part with the unit `first`.
  struct Part {
    int m, n;
    const int* batch;
    int first, count;
  };

  const Params& params;
  unsigned char* const buffers;
  Barrier* const brought;
  const int consumer;
  const bool leader;
  Bias bias;
  Slot<kBuffers> slot;

  __device__ Sm90Store(const Params& p, unsigned char* boxes, Shared& shared, int which)
      : params(p),
        buffers(boxes + which * kHeld * kBoxBytes),
        brought(shared.brought[which]),
        consumer(which),
        leader(threadIdx.x % 128 == 0),
        bias(shared.bias[which]) {}

  __device__ static void make_barriers(Shared& shared) {
#pragma unroll
    for (int i = 0; kBrings && i < kConsumers * kBuffers; ++i) barrier_init(&shared.brought[0][i], 1);
  }

  // This thread's first row and column.
  __device__ static int row() { return Rows::first(); }
  __device__ static int column() { return threadIdx.x % 4 * 2; }

  // Before the sums are there: ask for what has to be read.
  __device__ void begin(const Part& part) {
    bias.fetch(params.epilogue, part.m + row(), part.n, params.m, params.n);
    if constexpr (kBrings) {
      if (leader) {
        tma_wait_read<0>();  // the last boxes are gone
#pragma unroll
        for (int i = 0; i < kBuffers && i < kCount; ++i) {
          bring(part, i, slot.index + i < kBuffers ? slot.index + i : slot.index + i - kBuffers);
        }
      }
    }
  }

  template <class Acc, int kAcc>
  __device__ void store(const Acc (&acc)[kAcc], const Part& part) {
    static_assert(kAcc == 4 * kUnits);
    bias.share(consumer);
    if constexpr (kByBoxes) {
      static_assert(kUnits % kGroups == 0 && (kUnitsOfBlock % kUnits == 0 || kUnits % kUnitsOfBlock == 0));
#pragma unroll
      for (int i = 0; i < kCount; ++i) box(acc, part, i);
    } else if constexpr (kKind == kLines) {
      static_assert(kUnitsOfBlock % kUnits == 0 || kUnits % kUnitsOfBlock == 0);
      constexpr int kRun = kUnits < kUnitsOfBlock ? kUnits : kUnitsOfBlock;
#pragma unroll
      for (int i = 0; i < kUnits; i += kRun) run<kRun>(acc, part, i);
    } else {
#pragma unroll
      for (int i = 0; i < kUnits; ++i) {
        if (i < part.count) unit(acc, part, i);
      }
    }
  }

  // Shared memory must stay until the copy engine has read it.
  __device__ void finish() const {
    if constexpr (kByBoxes) {
      if (leader) tma_wait_read<0>();
    }
  }

 private:
  // The first row and column of C of a unit.
  __device__ static int row_of(const Part& part, int i) { return part.m + (part.first + i) / kUnitsOfBlock * kStep; }
  __device__ static int column_of(const Part& part, int i) { return part.n + (part.first + i) % kUnitsOfBlock * 8; }

  __device__ int64 offset_of(const Part& part, int m, int n) const {
    int64 offset = m * params.strides[0] + n * params.strides[1];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) offset += part.batch[i] * params.strides[2 + i];
    return offset;
  }

  // Part `half` of box i in C.
  __device__ static BoxAt<2 + kBatch> place(const Part& part, int i, int half) {
    BoxAt<2 + kBatch> at;
    at.at[kKind == kBoxesAlongM ? 1 : 0] = column_of(part, i * kGroups);
    at.at[kKind == kBoxesAlongM ? 0 : 1] = row_of(part, i * kGroups) + half * 32;
#pragma unroll
    for (int j = 0; j < kBatch; ++j) at.at[2 + j] = part.batch[j];
    return at;
  }

  __device__ void bring(const Part& part, int i, int buffer) {
    barrier_expect(&brought[buffer], kBoxBytes);
#pragma unroll
    for (int half = 0; half < kParts; ++half) {
      tma_load<false>(buffers + buffer * kBoxBytes + half * Box::kPartBytes, params.map, place(part, i, half),
                      &brought[buffer], 0);
    }
  }

  // What is to be stored for two sums next to each other, with what C has there.
  template <class Acc>
  __device__ Vector<Compute, 2> finished(Acc a, Acc b, Vector<Out, 2> c, Vector<Compute, 2> bias_of) const {
    const Acc sums[2] = {a, b};
    Compute read[2] = {};
#pragma unroll
    for (int i = 0; Epilogue::kReads && i < 2; ++i) read[i] = convert<Compute>(c.at[i]);
    Vector<Compute, 2> result;
    Epilogue::apply_pair(params.epilogue, sums, read, bias_of.at, result.at);
    return result;
  }

  // What follows puts units, kFilled from `first` on, into a box. Their first column of the thread in the tile is
  // `left`.
  template <int kFilled, class Acc, int kAcc>
  __device__ void fill(const Acc (&acc)[kAcc], unsigned buffer, int first, int block, int left) const {
    if constexpr (kOutBytes == 1) {
      fill_bytes<kFilled>(acc, buffer, first, block, left);
    } else if constexpr (kOutBytes == 2) {
      fill_by_matrices<kFilled>(acc, buffer, first, block, left);
    } else if constexpr (kKind == kBoxesAlongM) {
      fill_along_m(acc, buffer, first, block, left);
    } else {
      fill_by_words<kFilled>(acc, buffer, first, block, left);
    }
  }

  // Where there is an odd number, the last one once more behind it.
  template <int kFilled, class Acc, int kAcc>
  __device__ void fill_by_matrices(const Acc (&acc)[kAcc], unsigned buffer, int first, int block, int left) const {
#pragma unroll
    for (int j = 0; j < kFilled; j += 2) {
      const unsigned at = Box::template matrices<kFilled>(buffer, j);
      unsigned packed[4] = {};
      if constexpr (kHasC) ldmatrix<Box::kAlongM>(packed, at);
#pragma unroll
      for (int k = 0; k < 4; ++k) {  // rows 0 to 7, rows 8 to 15, and the same of the next 8 columns
        const int unit = j + k / 2 < kFilled ? j + k / 2 : j;
        const int sum = 4 * (first + unit) + k % 2 * 2;
        if constexpr (Epilogue::kPlain) {  // finished() would do the same, but takes longer to compile
          packed[k] = convert_pair<Out>(convert<Compute>(acc[sum]), convert<Compute>(acc[sum + 1]));
        } else {
          static_assert(sizeof(Vector<Out, 2>) == 4);  // for NVRTC 12 it has no size before it is asked for
          const auto c = __builtin_bit_cast(Vector<Out, 2>, packed[k]);
          const auto value = finished(acc[sum], acc[sum + 1], c, bias.at(block, k % 2, left + unit * 8));
          packed[k] = convert_pair<Out>(value.at[0], value.at[1]);
        }
      }
      stmatrix<Box::kAlongM>(at, packed);
    }
  }

  // Two columns at once. Of the four rows of half a warp two and two are in the same banks, which are rows next to each
  // other, or paired 16 apart: there one of the lanes is two units ahead.
  template <int kFilled, class Acc, int kAcc>
  __device__ void fill_by_words(const Acc (&acc)[kAcc], unsigned buffer, int first, int block, int left) const {
    const int lane = threadIdx.x % 32, own = row();
    const bool is_ahead = lane / (kPaired ? 8 : 4) % 2 != 0;
    // Of the unit j of a row the 16 bytes are 2 j + lane % 4 / 2, swizzled: j changes bits 5 and 6 of the address.
    const unsigned chunk = lane % 4 / 2 ^ own % 8 ^ (is_ahead ? 4 : 0);
    const unsigned upper = buffer + own * 128 + (chunk << 4) + lane % 2 * 8;
    const unsigned lower = kPaired ? (upper + 128) ^ 16 : upper + 1024;  // its second row
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
      // Behind the last unit, the first once more.
      const int here = j < kFilled ? j : 0, there = (j ^ 2) < kFilled ? j ^ 2 : 0;
      const int left_of = left + (is_ahead ? there : here) * 8;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int sum = 4 * (first + here) + 2 * half, other = 4 * (first + there) + 2 * half;
        const unsigned at = (half == 0 ? upper : lower) ^ j * 32;
        Vector<Out, 2> c{};
        if constexpr (kHasC) c = load_shared_at<Out, 2>(at);
        const auto value = finished(is_ahead ? acc[other] : acc[sum], is_ahead ? acc[other + 1] : acc[sum + 1], c,
                                    bias.at(block, half, left_of));
        store_shared_at(at, Vector<Out, 2>{convert<Out>(value.at[0]), convert<Out>(value.at[1])});
      }
    }
  }

  // Two bytes at once: the eight rows lie in different banks.
  template <int kFilled, class Acc, int kAcc>
  __device__ void fill_bytes(const Acc (&acc)[kAcc], unsigned buffer, int first, int block, int left) const {
    const int own = row();
    const unsigned upper = buffer + own * 128 + (own % 8 << 4) + column();
#pragma unroll
    for (int j = 0; j < kFilled; ++j) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int sum = 4 * (first + j) + 2 * half;
        const unsigned at = (upper + half * 1024) ^ (j / 2 << 4) ^ (j % 2 << 3);
        Vector<Out, 2> c{};
        if constexpr (kHasC) c = load_shared_at<Out, 2>(at);
        const auto value = finished(acc[sum], acc[sum + 1], c, bias.at(block, half, left + j * 8));
        store_shared_at(at, Vector<Out, 2>{convert<Out>(value.at[0]), convert<Out>(value.at[1])});
      }
    }
  }

  // The thread's two rows at once, of its first or its second column: half of the lanes begin with the second one, so
  // that no two of them are in the same banks.
  template <class Acc, int kAcc>
  __device__ void fill_along_m(const Acc (&acc)[kAcc], unsigned buffer, int first, int block, int left) const {
    const int lane = threadIdx.x % 32, swaps = lane % 4 / 2;
    const int own = row() % 32, column = lane % 4 * 2;
    const unsigned part = buffer + row() / 32 * (kBoxBytes / 2) + own % 4 * kOutBytes;
    unsigned at[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) at[i] = part + (column + (i ^ swaps)) * 128 + ((own / 4 ^ (column + (i ^ swaps))) << 4);
#pragma unroll
    for (int j = 0; j < kGroups; ++j) {
      const int sum = 4 * (first + j);
      Vector<Out, 2> c[2] = {}, rows[2];
#pragma unroll
      for (int i = 0; kBrings && i < 2; ++i) rows[i] = load_shared_at<Out, 2>(at[i] + j * 1024);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        if constexpr (kBrings) {
          c[half].at[0] = swaps ? rows[1].at[half] : rows[0].at[half];
          c[half].at[1] = swaps ? rows[0].at[half] : rows[1].at[half];
        }
        const auto value =
            finished(acc[sum + 2 * half], acc[sum + 2 * half + 1], c[half], bias.at(block, half, left + j * 8));
        rows[0].at[half] = convert<Out>(swaps ? value.at[1] : value.at[0]);
        rows[1].at[half] = convert<Out>(swaps ? value.at[0] : value.at[1]);
      }
      store_shared_at(at[0] + j * 1024, rows[0]);
      store_shared_at(at[1] + j * 1024, rows[1]);
    }
  }

  template <class Acc, int kAcc>
  __device__ void box(const Acc (&acc)[kAcc], const Part& part, int i) {
    const int index = slot.index;
    unsigned char* const buffer = buffers + index * kBoxBytes;
    if constexpr (kBrings) {
      barrier_wait(&brought[index], slot.parity);
    } else {
      if (leader) tma_wait_read<kBuffers - 1>();  // the last box that was in this buffer is gone
      named_barrier_sync(1 + consumer, 128);
    }
    const int first = i * kGroups, block = (part.first + first) / kUnitsOfBlock;
    const int left = column_of(part, first) - part.n + column();  // in the tile
    fill<kGroups>(acc, shared_address(buffer), first, block, left);
    fence_async_proxy();
    named_barrier_sync(1 + consumer, 128);
    if (leader) {
      if (kBrings && kBuffers > 1 && i > 0 && i - 1 + kBuffers < kCount) {
        tma_wait_read<0>();
        bring(part, i - 1 + kBuffers, index == 0 ? kBuffers - 1 : index - 1);
      }
#pragma unroll
      for (int half = 0; half < kParts; ++half) {
        tma_store(params.map, buffer + half * Box::kPartBytes, place(part, i, half));
      }
      tma_commit();
      if (kBrings && kBuffers == 1 && i + 1 < kCount) {
        tma_wait_read<0>();
        bring(part, i + 1, 0);
      }
    }
    slot.next();
  }

  // Units of a block of rows, kRun from `first` on: box by box, each followed by the lines that end in it.
  template <int kRun, class Acc, int kAcc>
  __device__ void run(const Acc (&acc)[kAcc], const Part& part, int first) const {
    constexpr int kBoxesOfRun = (kRun + kGroups - 1) / kGroups, kLast = kRun - (kBoxesOfRun - 1) * kGroups;
    const int m = row_of(part, first), n = column_of(part, first), left = n - part.n + column();
    const unsigned boxes = shared_address(buffers);
    int64 offset = offset_of(part, m, n);
    asm volatile("" : "+l"(offset));  // nothing of it is computed before the sums, which need the registers
    const Sm90Lines<Out> lines{reinterpret_cast<unsigned char*>(params.out + offset), params.strides[0] * kOutBytes,
                               params.m - m, min(params.n - n, 8 * kRun) * kOutBytes, boxes};
    if (first >= part.count || lines.rows <= 0 || lines.bytes <= 0) return;
#pragma unroll
    for (int i = 0; i <= kBoxesOfRun; ++i) {
      if (i < kBoxesOfRun && i * 128 < lines.bytes) {
        const int at = first + i * kGroups, block = (part.first + at) / kUnitsOfBlock;
        const unsigned box = boxes + i % 2 * kBoxBytes;
        __syncwarp();  // what was here has been read
        if constexpr (kHasC) lines.bring(i);
        if constexpr (kHasC) __syncwarp();
        if (i + 1 < kBoxesOfRun) fill<kGroups>(acc, box, at, block, left + i * Box::kColumns);
        if (i + 1 == kBoxesOfRun) fill<kLast>(acc, box, at, block, left + i * Box::kColumns);
        __syncwarp();
        if (i == 0) lines.template write_ends<false>();
      }
      if (i * 128 < lines.bytes || lines.reach(i)) lines.write(i);
    }
    lines.template write_ends<true>();
  }

  template <class Acc, int kAcc>
  __device__ void unit(const Acc (&acc)[kAcc], const Part& part, int i) const {
    const int n = column_of(part, i) + column();
    if (n >= params.n) return;
    const bool both = n + 1 < params.n;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int m = row_of(part, i) + row() + Rows::kNext * half;
      if (m >= params.m) continue;
      Out* const to = params.out + offset_of(part, m, n);
      Vector<Out, 2> c{};
      if constexpr (Epilogue::kReads) {
        if (kKind == kPairs && both) {
          c = *reinterpret_cast<const Vector<Out, 2>*>(to);
        } else {
          c.at[0] = to[0];
          if (both) c.at[1] = to[params.strides[1]];
        }
      }
      const auto bias_of = bias.at((part.first + i) / kUnitsOfBlock, half, n - part.n);
      const auto value = finished(acc[4 * i + 2 * half], acc[4 * i + 2 * half + 1], c, bias_of);
      const Vector<Out, 2> pair = {convert<Out>(value.at[0]), convert<Out>(value.at[1])};
      if (kKind == kPairs && both) {
        *reinterpret_cast<Vector<Out, 2>*>(to) = pair;
      } else {
        to[0] = pair.at[0];
        if (both) to[params.strides[1]] = pair.at[1];
      }
    }
  }
};

}  // namespace tilewright
