// Arithmetic of integers that C++ lacks or leaves undefined: all of it wraps around, and Python's // and % round down.
#pragma once

#include "tilewright/lang.cuh"

namespace tilewright {

template <class T>
struct UnsignedOf {
  using type = uint32;
};
template <>
struct UnsignedOf<int64> {
  using type = uint64;
};
template <>
struct UnsignedOf<uint64> {
  using type = uint64;
};
template <class T>
using Unsigned = typename UnsignedOf<T>::type;

// The least number keeps its value. ptxas (13.0) takes the sign extension of a negation of 16 bits for the negation of
// the extended number, where the least number becomes 32768: so narrow ones are negated as 32 bits, out of its sight.
template <class T>
__device__ T negated(T x) {
  if constexpr (sizeof(T) < 4) {
    int result;
    asm("neg.s32 %0, %1;" : "=r"(result) : "r"(static_cast<int>(x)));
    return static_cast<T>(result);
  } else {
    return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(x));
  }
}

// The least number has no magnitude, and keeps its value.
template <class T>
__device__ T magnitude(T x) {
  return x < 0 ? negated(x) : x;
}

template <class T>
__device__ T divide(T x, T y) {
  return y == T(-1) ? negated(x) : static_cast<T>(x / y);
}

template <class T>
__device__ T remainder(T x, T y) {
  return y == T(-1) ? T{0} : static_cast<T>(x % y);
}

template <class T>
__device__ T floor_div(T x, T y) {
  const T quotient = divide<T>(x, y), rest = remainder<T>(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(quotient - 1) : quotient;
}

template <class T>
__device__ T floor_mod(T x, T y) {
  const T rest = remainder<T>(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
}

// x to the power of y; of a negative y what rounding towards zero leaves.
template <class T>
__device__ T power(T x, T y) {
  if (y < 0) return x == 1 ? T{1} : x == T(-1) ? (y & 1 ? x : T{1}) : T{0};
  Unsigned<T> result = 1, factor = static_cast<Unsigned<T>>(x);
  for (Unsigned<T> left = static_cast<Unsigned<T>>(y); left != 0; left >>= 1) {
    if (left & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

// By the width or more, which a negative count is too, nothing is left but the sign.
template <class T, class Count>
__device__ T shift_left(T x, Count count) {
  const auto by = static_cast<uint64>(count);
  return by < 8 * sizeof(T) ? static_cast<T>(static_cast<Unsigned<T>>(x) << by) : T{0};
}

template <class T, class Count>
__device__ T shift_right(T x, Count count) {
  const auto by = static_cast<uint64>(count);
  return static_cast<T>(by < 8 * sizeof(T) ? x >> by : x < 0 ? T(-1) : T{0});
}

// As the instruction does it: the fourth bit of a selector asks for the byte's sign, which __byte_perm ignores.
__device__ inline uint32 permuted_bytes(uint32 a, uint32 b, uint32 selector) {
  uint32 result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(selector));
  return result;
}

}  // namespace tilewright
