// Accesses to shared memory by its own 32-bit addresses, in bytes.
#pragma once

#include "tilewright/shared_address.cuh"
#include "tilewright/vector.cuh"

namespace tilewright {

template <class T, int kCount>
__device__ Vector<T, kCount> load_shared_at(unsigned address) {
  using Access = typename Word<sizeof(T) * kCount>::type;
  Access word;
  if constexpr (sizeof(Access) == 16) {
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "r"(address));
  } else if constexpr (sizeof(Access) == 8) {
    asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(word.x), "=r"(word.y) : "r"(address));
  } else if constexpr (sizeof(Access) == 4) {
    asm volatile("ld.shared.b32 %0, [%1];" : "=r"(word) : "r"(address));
  } else if constexpr (sizeof(Access) == 2) {
    asm volatile("ld.shared.b16 %0, [%1];" : "=h"(word) : "r"(address));
  } else {
    unsigned byte;
    asm volatile("ld.shared.u8 %0, [%1];" : "=r"(byte) : "r"(address));
    word = static_cast<Access>(byte);
  }
  return __builtin_bit_cast(Vector<T, kCount>, word);
}

template <class T, int kCount>
__device__ void store_shared_at(unsigned address, const Vector<T, kCount>& vector) {
  using Access = typename Word<sizeof(T) * kCount>::type;
  const auto word = __builtin_bit_cast(Access, vector);
  if constexpr (sizeof(Access) == 16) {
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(word.x), "r"(word.y), "r"(word.z),
                 "r"(word.w)
                 : "memory");
  } else if constexpr (sizeof(Access) == 8) {
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(word.x), "r"(word.y) : "memory");
  } else if constexpr (sizeof(Access) == 4) {
    asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
  } else if constexpr (sizeof(Access) == 2) {
    asm volatile("st.shared.b16 [%0], %1;" ::"r"(address), "h"(word) : "memory");
  } else {
    asm volatile("st.shared.u8 [%0], %1;" ::"r"(address), "r"(static_cast<unsigned>(word)) : "memory");
  }
}

}  // namespace tilewright
