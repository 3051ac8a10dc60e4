// Accesses of global memory that are made or not, without a branch: where many values are kept in registers, a branch
// for each access is what makes a kernel slow to compile.
#pragma once

#include "tilewright/vector.cuh"

namespace tilewright {

// Zeros where it is not made.
template <class T, int kCount>
__device__ Vector<T, kCount> load_if(bool made, const T* from) {
  using Access = typename Word<sizeof(T) * kCount>::type;
  const auto address = __cvta_generic_to_global(from);
  const int made_at_all = made;
  if constexpr (sizeof(Access) == 16) {
    uint4 word{};
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %4, 0; @p ld.global.v4.b32 {%0, %1, %2, %3}, [%5]; }"
                 : "+r"(word.x), "+r"(word.y), "+r"(word.z), "+r"(word.w)
                 : "r"(made_at_all), "l"(address)
                 : "memory");
    return __builtin_bit_cast(Vector<T, kCount>, word);
  } else if constexpr (sizeof(Access) == 8) {
    uint2 word{};
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.v2.b32 {%0, %1}, [%3]; }"
                 : "+r"(word.x), "+r"(word.y)
                 : "r"(made_at_all), "l"(address)
                 : "memory");
    return __builtin_bit_cast(Vector<T, kCount>, word);
  } else if constexpr (sizeof(Access) == 4) {
    unsigned word = 0;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p ld.global.b32 %0, [%2]; }"
                 : "+r"(word)
                 : "r"(made_at_all), "l"(address)
                 : "memory");
    return __builtin_bit_cast(Vector<T, kCount>, word);
  } else if constexpr (sizeof(Access) == 2) {
    unsigned short word = 0;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p ld.global.b16 %0, [%2]; }"
                 : "+h"(word)
                 : "r"(made_at_all), "l"(address)
                 : "memory");
    return __builtin_bit_cast(Vector<T, kCount>, word);
  } else {
    unsigned word = 0;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p ld.global.u8 %0, [%2]; }"
                 : "+r"(word)
                 : "r"(made_at_all), "l"(address)
                 : "memory");
    return __builtin_bit_cast(Vector<T, kCount>, static_cast<unsigned char>(word));
  }
}

template <class T, int kCount>
__device__ void store_if(bool made, T* to, const Vector<T, kCount>& vector) {
  using Access = typename Word<sizeof(T) * kCount>::type;
  const auto address = __cvta_generic_to_global(to);
  const auto word = __builtin_bit_cast(Access, vector);
  const int made_at_all = made;
  if constexpr (sizeof(Access) == 16) {
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.v4.b32 [%1], {%2, %3, %4, %5}; }" ::"r"(made_at_all),
        "l"(address), "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w)
        : "memory");
  } else if constexpr (sizeof(Access) == 8) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.v2.b32 [%1], {%2, %3}; }" ::"r"(made_at_all),
                 "l"(address), "r"(word.x), "r"(word.y)
                 : "memory");
  } else if constexpr (sizeof(Access) == 4) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.b32 [%1], %2; }" ::"r"(made_at_all), "l"(address),
                 "r"(word)
                 : "memory");
  } else if constexpr (sizeof(Access) == 2) {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.b16 [%1], %2; }" ::"r"(made_at_all), "l"(address),
                 "h"(word)
                 : "memory");
  } else {
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %0, 0; @p st.global.u8 [%1], %2; }" ::"r"(made_at_all), "l"(address),
                 "r"(static_cast<unsigned>(word))
                 : "memory");
  }
}

}  // namespace tilewright
