// Rows of C that the copy engine cannot store, since they do not begin or end at multiples of 16 bytes: by lines.
//
// The sums of a warp have 16 whole rows of a block. They go through shared memory, where the warp has two boxes of 128
// bytes of each of these rows, one behind the other, swizzled: byte q of a row lies there modulo 256. In global memory
// every row begins at a place of its own. When box i has been filled, the warp writes line i of each row: the 128 bytes
// from a multiple of 128 on that end in this box. So it writes whole lines, in words of 16 bytes, four rows at a time.
// A word's bytes lie in shared memory at any place: they are joined from the two words there that have them.
//
// What of a row lies before its first whole word and behind its last one is written element by element.
#pragma once

#include "tilewright/layout.cuh"
#include "tilewright/shared_access.cuh"

namespace tilewright {

// A run of rows: `rows` of C from `out` on, `pitch` bytes from one to the next, `bytes` of each.
template <class T>
struct Sm90Lines {
  static constexpr int kLine = 128;           // bytes
  static constexpr int kBoxBytes = 64 * 128;  // of all warps of a consumer
  static constexpr int kSize = sizeof(T);
  static constexpr int kEnd = 16 / kSize;  // lanes for a row's first or last elements, which are fewer
  static_assert(kSize == 1 || kSize == 2 || kSize == 4);

  unsigned char* out;
  int64 pitch;
  int rows, bytes;
  unsigned boxes;  // in shared memory

  // Whether a row of the warp has a whole word in line i: rows end in different lines.
  __device__ bool reach(int i) const {
    const int row = row_of(threadIdx.x % 16);
    const int end = static_cast<int>(address(begin(row)) % kLine) + bytes;
    return __any_sync(0xFFFFFFFF, row < rows && end >= i * kLine + 16);
  }

  // Line i of each row; what is read for lanes that write nothing lies somewhere in the boxes.
  __device__ void write(int i) const {
    const int lane = threadIdx.x % 32;
    Joined words[4];
#pragma unroll
    for (int turn = 0; turn < 4; ++turn) {
      const int row = row_of(turn * 4 + lane / 8), q = first_of(i, row);
      words[turn] = {load_word(place(row, q)), load_word(place(row, q + 15)), q % 16u};
    }
#pragma unroll
    for (int turn = 0; turn < 4; ++turn) {
      const int row = row_of(turn * 4 + lane / 8), q = first_of(i, row);
      if (row < rows && q >= 0 && q + 16 <= bytes) {
        store_word(begin(row) + q, words[turn].template joined<unsigned, 4>());
      }
    }
  }

  // The elements before the first whole word of each row; or those behind the last one.
  template <bool kLast>
  __device__ void write_ends() const {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int turn = 0; turn < kEnd / 2; ++turn) {
      const int row = row_of(turn * (32 / kEnd) + lane / kEnd);
      const int first = min(static_cast<int>(-address(begin(row)) % 16), bytes);
      const int last = first + (bytes - first) / 16 * 16;
      const int q = (kLast ? last : 0) + lane % kEnd * kSize;
      if (row < rows && q < (kLast ? bytes : first)) {
        *reinterpret_cast<T*>(begin(row) + q) = load_shared_at<T, 1>(place(row, q) + q % 16).at[0];
      }
    }
  }

  // Brings box i of C to where it is read: words that lie in the rows, joined from those of global memory.
  __device__ void bring(int i) const {
    bring_half(i, 0);
    bring_half(i, 2);
  }

 private:
  using Joined = UnalignedWords<16>;

  // Two turns at a time: with more of them registers do not suffice for the sums.
  __device__ void bring_half(int i, int turns) const {
    const int lane = threadIdx.x % 32, q = i * kLine + lane % 8 * 16;
    Joined words[2];
    bool whole[2];
#pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
      const int row = row_of((turns + turn) * 4 + lane / 8);
      const unsigned gap = address(begin(row) + q) % 16;
      const int from = q - static_cast<int>(gap);
      whole[turn] = row < rows && from >= 0 && from + (gap == 0 ? 16 : 32) <= bytes;
      words[turn].gap = gap;
      if (whole[turn]) {
        const auto* const at = reinterpret_cast<const uint4*>(begin(row) + from);
        words[turn].both.a = at[0], words[turn].both.b = at[gap != 0];
      }
    }
#pragma unroll
    for (int turn = 0; turn < 2; ++turn) {
      const int row = row_of((turns + turn) * 4 + lane / 8);
      if (whole[turn]) {
        store_shared_at(place(row, q), words[turn].template joined<unsigned, 4>());
      } else if (row < rows) {
#pragma unroll
        for (int j = 0; j < 16; j += kSize) {
          if (q + j >= bytes) continue;
          store_shared_at(place(row, q) + j, Vector<T, 1>{*reinterpret_cast<const T*>(begin(row) + q + j)});
        }
      }
    }
  }

  // Of the warp's rows the i-th one, in the block.
  __device__ static int row_of(int i) { return static_cast<int>(threadIdx.x) % 128 / 32 * 16 + i; }

  __device__ unsigned char* begin(int row) const { return out + row * pitch; }

  // The byte of a row with which the lane's word of line i begins.
  __device__ int first_of(int i, int row) const {
    return i * kLine - static_cast<int>(address(begin(row)) % kLine) + static_cast<int>(threadIdx.x) % 8 * 16;
  }

  __device__ static unsigned address(const void* at) {
    return static_cast<unsigned>(reinterpret_cast<unsigned long long>(at));
  }

  // The word of shared memory that has byte q of a row of the block.
  __device__ unsigned place(int row, unsigned q) const {
    return boxes + q / kLine % 2 * kBoxBytes + row * kLine + ((q / 16 % 8 ^ row % 8) << 4);
  }

  __device__ static uint4 load_word(unsigned at) { return __builtin_bit_cast(uint4, load_shared_at<unsigned, 4>(at)); }

  __device__ static void store_word(void* to, const Vector<unsigned, 4>& word) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(word.at[0]),
                 "r"(word.at[1]), "r"(word.at[2]), "r"(word.at[3])
                 : "memory");
  }
};

}  // namespace tilewright
