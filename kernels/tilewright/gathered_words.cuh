// Words that are put together from elements of shared memory, and stored as a whole or in part.
#pragma once

#include "tilewright/predicated.cuh"
#include "tilewright/vector.cuh"

namespace tilewright {

// An element of shared memory by its address there: to which nothing is added then, once for each element.
template <int kBytes>
__device__ Element<kBytes> element_at(unsigned address) {
  if constexpr (kBytes == 16) {
    uint4 word;
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "r"(address)
                 : "memory");
    return word;
  } else if constexpr (kBytes == 8) {
    uint2 word;
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(word.x), "=r"(word.y) : "r"(address) : "memory");
    return word;
  } else if constexpr (kBytes == 4) {
    unsigned word;
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
    return word;
  } else if constexpr (kBytes == 2) {
    unsigned short word;
    asm volatile("ld.shared.b16 %0, [%1];" : "=h"(word) : "r"(address) : "memory");
    return word;
  } else {
    unsigned word;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
    return static_cast<unsigned char>(word);
  }
}

// A word put there, or not.
template <int kBytes>
__device__ void put_if(bool made, unsigned address, const Element<kBytes>& word) {
  const int made_at_all = made;
  if constexpr (kBytes == 16) {
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.shared.v4.b32 [%1], {%2, %3, %4, %5}; }" ::"r"(made_at_all),
        "r"(address), "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w)
        : "memory");
  } else if constexpr (kBytes == 8) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.shared.v2.b32 [%1], {%2, %3}; }" ::"r"(made_at_all),
                 "r"(address), "r"(word.x), "r"(word.y)
                 : "memory");
  } else {
    static_assert(kBytes == 4);
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.shared.b32 [%1], %2; }" ::"r"(made_at_all), "r"(address),
                 "r"(word)
                 : "memory");
  }
}

// The bytes of words, moved by so many towards lower addresses, and around.
template <int kSize, int kWords>
__device__ Vector<unsigned, kWords> turned(Vector<unsigned, kWords> words, int bytes) {
  Vector<unsigned, kWords> result = words;
  if constexpr (kWords == 4) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) result.at[i] = bytes & 8 ? words.at[(i + 2) % kWords] : words.at[i];
    words = result;
  }
  if constexpr (kWords >= 2 && kSize <= 4) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) result.at[i] = bytes & 4 ? words.at[(i + 1) % kWords] : words.at[i];
    words = result;
  }
  if constexpr (kSize < 4) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      result.at[i] = __funnelshift_r(words.at[i], words.at[(i + 1) % kWords], bytes * 8);  // modulo 32
    }
  }
  return result;
}

// The kBytes bytes that begin `at` bytes behind the first.
template <int kBytes, int kWords>
__device__ Vector<Element<kBytes>, 1> piece(const Vector<unsigned, kWords>& words, int at) {
  if constexpr (kBytes == 8) {
    static_assert(kWords == 4);
    const uint2 word{at & 8 ? words.at[2] : words.at[0], at & 8 ? words.at[3] : words.at[1]};
    return {word};
  } else {
    unsigned word = words.at[0];
    if constexpr (kWords == 2) word = at & 4 ? words.at[1] : words.at[0];
    if constexpr (kWords == 4) {
      const unsigned low = at & 4 ? words.at[1] : words.at[0], high = at & 4 ? words.at[3] : words.at[2];
      word = at & 8 ? high : low;
    }
    return {static_cast<Element<kBytes>>(word >> (at & 3) * 8)};
  }
}

// The `count` bytes at one end of an aligned word of kStore bytes: the first ones, or the last. They are stored by
// accesses of kBytes, half of that, and so on, each of them once at most.
template <int kBytes, int kSize, int kWords>
__device__ void store_end(char* to, const Vector<unsigned, kWords>& words, int count, bool last) {
  const int at = last ? 4 * kWords - (count & -kBytes) : count & (-2 * kBytes);
  store_if((count & kBytes) != 0, reinterpret_cast<Element<kBytes>*>(to + at), piece<kBytes>(words, at));
  if constexpr (kBytes > kSize) store_end<kBytes / 2, kSize>(to, words, count, last);
}

}  // namespace tilewright
