// A copy whose tile is packed: it covers whole modes, so that what it reads lies together over several modes of the
// source, and what it writes over several modes of the destination.
//
// Shared memory holds pieces of the source as they lie in memory, a "run" each: with the same gaps between elements,
// and each byte at the same address modulo `put`. So runs that begin anywhere are read by aligned accesses without a
// shift; where that is 16, an access is put in as it was read. What is written together is a run, too: its elements are
// gathered from shared memory into aligned words of kStore bytes. Which elements these are depends on where the run
// begins, and costs nothing.
#pragma once

#include "tilewright/early_launch.cuh"
#include "tilewright/gathered_words.cuh"
#include "tilewright/grid.cuh"
#include "tilewright/layout.cuh"
#include "tilewright/predicated.cuh"
#include "tilewright/vector.cuh"

namespace tilewright {

constexpr int kMostModes = 8;

// n / divisor for n * divisor < 2^31 without a special case: the host chooses reciprocal = ceil(2^31 / divisor).
struct SmallDivisor {
  int divisor;
  unsigned reciprocal;

  __device__ int divide(int n) const { return static_cast<int>(__umulhi(2u * n, reciprocal)); }
};

struct PackedMode {
  int64 extent;
  int64 src, dst;     // bytes from one element to the next
  FastDivisor tiles;  // of mode 0: the number of stretches, by which nothing is divided
  SmallDivisor tile;  // the elements of a tile
  int shared;         // bytes from one element to the next
  int in_src_run;     // whether neighbours lie in one run of the source
  int padding;
};

struct PackedParams {
  const char* src;
  char* dst;
  const char* src_begin;  // the memory of the source's elements
  const char* src_end;
  PackedMode mode[kMostModes];
  FastDivisor stretch;                // tiles along mode 0 that follow each other
  SmallDivisor src_words, dst_words;  // of a run, wherever it begins
  int tiles, tiles_of_cta;
  int rank, dst_run_modes;  // a run of the destination has the first so many modes
  int src_run_count, dst_run_count, column_count;
  int src_runs, dst_runs, columns;  // where these tables begin in shared memory, in bytes,
  int image;                        // and the tile
  int run_mode[kMostModes];         // the modes that count the runs of the source
  int run_modes;
  int put;  // bytes modulo which runs lie in shared memory as in memory: 16, or else kPut
};

// What lies together in memory, and where it lies in shared memory.
struct alignas(16) PackedRun {
  unsigned long long address;
  int shared;
  int count;  // bytes of a source run, elements of a destination run; none where it is outside of the tensor
};

template <int kSize, int kStore>
struct PackedCopy {
  static constexpr int kThreads = 256;
  static constexpr int kCount = kStore / kSize;
  static constexpr int kRead = 16;  // bytes of an access of the source
  static constexpr int kReads = 4;  // accesses of a thread that are under way before it waits for the first
  static constexpr int kPut = kSize > 4 ? kSize : 4;  // bytes that are put into shared memory at once, or all
  static constexpr int kPuts = kRead / kPut;
  static_assert(kStore >= kSize);
  using T = Element<kSize>;
  using Parts = Vector<Element<kPut>, kPuts>;
  using Params = PackedParams;

  const Params& params;
  char* shared;

  __device__ PackedRun* src_runs() const { return reinterpret_cast<PackedRun*>(shared + params.src_runs); }
  __device__ PackedRun* dst_runs() const { return reinterpret_cast<PackedRun*>(shared + params.dst_runs); }
  __device__ int* columns() const { return reinterpret_cast<int*>(shared + params.columns); }
  // Addresses in shared memory, of which the compiler would make the base once more for each access.
  __device__ unsigned at(int offset) const {
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared)) + offset;
    asm volatile("" : "+r"(address));
    return address;
  }

  __device__ static PackedRun run_of(unsigned runs, int index) {
    return __builtin_bit_cast(PackedRun, element_at<16>(runs + index * static_cast<int>(sizeof(PackedRun))));
  }

  __device__ static void put_run(PackedRun* runs, int index, const PackedRun& run) {
    store_shared(reinterpret_cast<uint4*>(runs + index), Vector<uint4, 1>{__builtin_bit_cast(uint4, run)});
  }

  // Where the columns of a destination run begin in shared memory: its elements but for mode 0. One more stands before
  // the first and one behind the last, so that words that reach over an end of the run read something.
  __device__ void place_columns() const {
    for (int i = threadIdx.x; i < params.column_count + 2; i += kThreads) {
      int rest = i == 0 ? 0 : i > params.column_count ? params.column_count - 1 : i - 1, offset = 0;
#pragma unroll 1
      for (int m = 1; m < params.dst_run_modes; ++m) {
        const SmallDivisor tile = params.mode[m].tile;
        const int next = tile.divide(rest);
        offset += (rest - next * tile.divisor) * params.mode[m].shared;
        rest = next;
      }
      columns()[i] = offset;
    }
  }

  // A tile in its tensors: the addresses of its first element, and where the tensor ends in it.
  struct Placed {
    unsigned long long src, dst;
    int end[kMostModes];
  };

  __device__ Placed place(unsigned tile) const {
    Placed placed{
        reinterpret_cast<unsigned long long>(params.src), reinterpret_cast<unsigned long long>(params.dst), {}};
    unsigned rest = params.stretch.divide(tile);
    const unsigned first = tile - rest * params.stretch.divisor;
    const auto put = [&](int m, int64 tiles) {
      const PackedMode& mode = params.mode[m];
      const int64 origin = tiles * mode.tile.divisor, left = mode.extent - origin;
      placed.end[m] = static_cast<int>(left < 0 ? 0 : left < mode.tile.divisor ? left : mode.tile.divisor);
      placed.src += origin * mode.src;
      placed.dst += origin * mode.dst;
    };
#pragma unroll
    for (int m = 1; m < kMostModes; ++m) {
      if (m >= params.rank) break;
      const unsigned next = params.mode[m].tiles.divide(rest);
      put(m, rest - next * params.mode[m].tiles.divisor);
      rest = next;
    }
    put(0, static_cast<int64>(rest) * params.stretch.divisor + first);
    return placed;
  }

  // By a mode that is no constant, without an array in local memory.
  __device__ static int end_of(const Placed& tile, int mode) {
    int result = tile.end[0];
#pragma unroll
    for (int m = 1; m < kMostModes; ++m) result = m == mode ? tile.end[m] : result;
    return result;
  }

  // A run of the source whose accesses would reach over the ends of its memory is marked: it is read by elements.
  static constexpr int kAlone = 1 << 30;

  // Whether one of them is marked.
  __device__ bool place_src_runs(const Placed& tile) const {
    const auto begin = reinterpret_cast<unsigned long long>(params.src_begin);
    const auto end = reinterpret_cast<unsigned long long>(params.src_end);
    int count = kSize;
    bool is_empty = false, is_alone = false;
#pragma unroll
    for (int m = 0; m < kMostModes; ++m) {
      if (m >= params.rank) break;
      is_empty = is_empty || tile.end[m] == 0;
      if (params.mode[m].in_src_run) count += (tile.end[m] - 1) * params.mode[m].shared;
    }
    for (int i = threadIdx.x; i < params.src_run_count; i += kThreads) {
      PackedRun run{tile.src, params.image + static_cast<int>(tile.src & (params.put - 1)) + kRead, count};
      int rest = i;
      bool is_inside = !is_empty;
#pragma unroll 1
      for (int k = 0; k < params.run_modes; ++k) {
        const int m = params.run_mode[k];
        const SmallDivisor extent = params.mode[m].tile;
        const int next = extent.divide(rest), at = rest - next * extent.divisor;
        rest = next;
        is_inside = is_inside && at < end_of(tile, m);
        run.address += at * params.mode[m].src;
        run.shared += at * params.mode[m].shared;
      }
      const auto last = (run.address + count + kRead - 1) & -kRead;
      if (!is_inside) run.count = -kRead;  // its first access begins before it
      if (kSize < kRead && is_inside && ((run.address & -kRead) < begin || last > end)) {
        run.shared |= kAlone;
        is_alone = true;
      }
      put_run(src_runs(), i, run);
    }
    return is_alone;
  }

  __device__ void place_dst_runs(const Placed& tile) const {
    for (int i = threadIdx.x; i < params.dst_run_count; i += kThreads) {
      PackedRun run{tile.dst, params.image + static_cast<int>(tile.src & (params.put - 1)) + kRead, 1};
      int rest = i;
      bool is_inside = true;
#pragma unroll
      for (int m = 0; m < kMostModes; ++m) {
        if (m >= params.rank) break;
        if (m < params.dst_run_modes) {
          run.count *= tile.end[m];
          continue;
        }
        const SmallDivisor extent = params.mode[m].tile;
        const int next = extent.divide(rest), at = rest - next * extent.divisor;
        rest = next;
        is_inside = is_inside && at < tile.end[m];
        run.address += at * params.mode[m].dst;
        run.shared += at * params.mode[m].shared;
      }
      if (!is_inside) run.count = 0;
      put_run(dst_runs(), i, run);
    }
  }

  // kAtEnds: whether some run of the tile is marked; then they are read one after another.
  template <bool kAtEnds>
  __device__ void load() const {
    constexpr int kBatch = kAtEnds ? 1 : kReads;
    const int words = params.src_words.divisor, all = params.src_run_count * words;
    // Lanes begin with different parts of what they have read, so that they do not meet in a bank.
    int turn = static_cast<int>(threadIdx.x / 8) % kPuts * kPut;
    asm volatile("" : "+r"(turn));
    const unsigned runs = at(params.src_runs), image = at(0);
#pragma unroll 1
    for (int begin = threadIdx.x; begin < all; begin += kBatch * kThreads) {
      Vector<unsigned, 4> read[kBatch];
      unsigned to[kBatch];  // 0, where a table lies: nothing is read
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        // Without a branch: beyond the last one, the last one is looked up.
        const int slot = begin + k * kThreads, i = slot < all ? slot : all - 1;
        const int index = params.src_words.divide(i);
        const PackedRun run = run_of(runs, index);
        const int gap = static_cast<int>(run.address) & (kRead - 1);
        const int first = (i - index * words) * kRead - gap;  // bytes from the run's begin
        to[k] = slot < all && first < run.count ? image + run.shared + first : 0;
        if (kAtEnds && run.shared & kAlone) {
          if (to[k] != 0) load_elements(run, first);
          to[k] = 0;
        }
        if (to[k] != 0) read[k] = load_global<unsigned, 4>(reinterpret_cast<const unsigned*>(run.address + first));
      }
      if (params.put == kRead) {
#pragma unroll
        for (int k = 0; k < kBatch; ++k) put_if<kRead>(to[k] != 0, to[k], __builtin_bit_cast(uint4, read[k]));
        continue;
      }
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        const auto parts = __builtin_bit_cast(Parts, turned<kPut>(read[k], turn));
#pragma unroll
        for (int j = 0; j < kPuts; ++j) {
          put_if<kPut>(to[k] != 0, to[k] + ((j * kPut + turn) & (kRead - 1)), parts.at[j]);
        }
      }
    }
  }

  // An access that would reach over an end of the source's memory.
  __device__ void load_elements(const PackedRun& run, int first) const {
#pragma unroll 1
    for (int j = first < 0 ? 0 : first; j < first + kRead && j < run.count; j += kSize) {
      const auto element = load_if<T, 1>(true, reinterpret_cast<const T*>(run.address + j));
      store_shared(reinterpret_cast<T*>(shared + (run.shared & (kAlone - 1)) + j), element);
    }
  }

  __device__ void store() const {
    const int words = params.dst_words.divisor, all = params.dst_run_count * words;
    const int period = params.mode[0].tile.divisor, along = params.mode[0].shared;
    const unsigned image = at(0);
    // Lanes begin with different elements of their words, so that they do not meet in a bank: those that 32 lanes take
    // at once are different modulo 32.
    const int turn = kStore >= 4 ? static_cast<int>(threadIdx.x % 32) * kCount / 32 : 0;
    int step[kCount];
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      step[k] = ((k - turn) & (kCount - 1)) * along;
      asm volatile("" : "+r"(step[k]));  // it is kept, not made once more for each word
    }
#pragma unroll 1
    for (int i = threadIdx.x; i < all; i += kThreads) {
      const int index = params.dst_words.divide(i);
      const PackedRun run = run_of(image + params.dst_runs, index);
      const int gap = (static_cast<int>(run.address) & (kStore - 1)) / kSize;
      const int first = (i - index * words) * kCount - gap;  // elements from the run's begin
      if (first >= run.count) continue;
      Vector<T, kCount> elements;
      if (params.column_count == 1) {
        const unsigned here = image + run.shared + first * along;
#pragma unroll
        for (int k = 0; k < kCount; ++k) elements.at[k] = element_at<kSize>(here + step[k]);
      } else {  // a word has elements of two columns at most
        const int column = params.mode[0].tile.divide(first + period), row = first + period - column * period;
        const unsigned begin = image + run.shared,
                       entry = image + params.columns + column * static_cast<int>(sizeof(int));
        const unsigned here = begin + row * along + element_at<4>(entry);
        const unsigned next = begin + (row - period) * along + element_at<4>(entry + sizeof(int));
        const int end = (period - row) * along;
#pragma unroll
        for (int k = 0; k < kCount; ++k) {
          elements.at[k] = element_at<kSize>((step[k] < end ? here : next) + step[k]);
        }
      }
      char* const to = reinterpret_cast<char*>(run.address + first * kSize);
      store_word(to, elements, turn, first < 0 ? -first : 0, run.count - first);
    }
  }

  // The elements of a word from `first` on and before `last`.
  __device__ static void store_word(char* to, const Vector<T, kCount>& elements, int turn, int first, int last) {
    const bool is_whole = first == 0 && last >= kCount;
    if constexpr (kStore < 4) {
      if (is_whole) {
        store_if(true, reinterpret_cast<T*>(to), elements);
        return;
      }
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        store_if(j >= first && j < last, reinterpret_cast<T*>(to) + j, Vector<T, 1>{elements.at[j]});
      }
    } else {
      using Words = Vector<unsigned, kStore / 4>;
      const Words words = turned<kSize>(__builtin_bit_cast(Words, elements), turn * kSize);
      if (kCount == 1 || is_whole) {
        store_global(reinterpret_cast<unsigned*>(to), words);
      } else if constexpr (kCount > 1) {
        if (first == 0 || last >= kCount) {
          store_end<kStore / 2, kSize>(to, words, (first == 0 ? last : kCount - first) * kSize, first != 0);
          return;
        }
#pragma unroll 1
        for (int j = first; j < last; ++j) {
          store_if(true, reinterpret_cast<T*>(to + j * kSize), piece<kSize>(words, j * kSize));
        }
      }
    }
  }

  __device__ void run() const {
    let_next_begin();
    place_columns();
    await_launches_before();
#pragma unroll 1
    for (int k = 0; k < params.tiles_of_cta; ++k) {
      const int tile = blockIdx.x * params.tiles_of_cta + k;
      if (tile >= params.tiles) break;
      bool is_alone = false;
      if (threadIdx.x < params.src_run_count || threadIdx.x < params.dst_run_count) {
        const Placed placed = place(tile);
        is_alone = place_src_runs(placed);
        place_dst_runs(placed);
      }
      if (__syncthreads_or(is_alone)) {
        load<true>();
      } else {
        load<false>();
      }
      __syncthreads();
      store();
      __syncthreads();
    }
  }
};

template <class Copy>
__global__ void __launch_bounds__(Copy::kThreads, 4) copy_packed(const __grid_constant__ PackedParams params) {
  extern __shared__ uint4 packed_bytes[];
  Copy{params, reinterpret_cast<char*>(packed_bytes)}.run();
}

}  // namespace tilewright
