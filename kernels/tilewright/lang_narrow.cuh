// Floating-point numbers that kernels store rather than compute with: more formats, and products added with one
// rounding.
#pragma once

#include "tilewright/lang.cuh"
#include "tilewright/numeric.cuh"

namespace tilewright {

// A power of two: 8 bits of exponent, which counts from 127; the largest pattern is NaN.
struct Float8E8M0 {
  uint8 bits;
};
// A sign, 2 bits of exponent and 1 of mantissa, in the lower 4 bits: 0 to 6, nothing infinite and no NaN.
struct Float4E2M1 {
  uint8 bits;
};

__device__ inline float to_float(Float8E8M0 x) {
  const unsigned bits = x.bits == 0 ? 0x00400000u : x.bits == 255 ? 0x7fffffffu : static_cast<unsigned>(x.bits) << 23;
  return __builtin_bit_cast(float, bits);
}

__device__ inline float to_float(Float4E2M1 x) {
  const int code = x.bits & 7, exponent = code >> 1, mantissa = code & 1;
  const int halves = exponent == 0 ? mantissa : (2 + mantissa) << (exponent - 1);
  const float magnitude = 0.5f * static_cast<float>(halves);
  return x.bits & 8 ? -magnitude : magnitude;
}

// Two numbers of 16 bits as one, the first in the low bits.
__device__ inline unsigned joined(unsigned low, unsigned high) {
#ifdef __CUDACC__
  unsigned result;
  const auto l = static_cast<unsigned short>(low), h = static_cast<unsigned short>(high);
  asm("mov.b32 %0, {%1, %2};" : "=r"(result) : "h"(l), "h"(h));
  return result;
#else
  return low | high << 16;
#endif
}

// Numbers of 8 bits by pairs, as cvt gives them; pairs of pairs are words, so that registers of four need no bytes put
// together.
template <class To, int kCount>
__device__ Vec<To, kCount> converted(const Vec<float, kCount>& x) {
  Vec<To, kCount> result;
  constexpr int kTogether = kCount % 4 == 0 ? 4 : 2;
#pragma unroll
  for (int i = 0; i < kCount; i += kTogether) {
    unsigned bits = convert_pair<To>(x[i], x[i + 1]);
    if constexpr (kTogether == 4) bits = joined(bits, convert_pair<To>(x[i + 2], x[i + 3]));
#pragma unroll
    for (int e = 0; e < kTogether; ++e) result[i + e].bits = static_cast<unsigned char>(bits >> 8 * e);
  }
  return result;
}

// To the nearest power of two, ties upwards; there is no negative one and no 0.
template <>
struct Narrow<Float8E8M0> {
  __device__ static Float8E8M0 one(float x) {
    const unsigned bits = __builtin_bit_cast(unsigned, x);
    if (x != x) return {255};
    if (x <= 0) return {0};
    const unsigned exponent = bits >> 23, above = exponent == 0 ? bits > 0x600000u : (bits & 0x7fffffu) >= 0x400000u;
    const unsigned rounded = exponent + above;
    return {static_cast<uint8>(rounded < 254 ? rounded : 254)};
  }
};

template <>
struct Narrow<Float4E2M1> {
  __device__ static Float4E2M1 one(float x) {
    const float size = x < 0 ? -x : x;
    // Ties go to even patterns. NaN, which has no pattern, becomes the largest number.
    const int code = size <= 0.25f   ? 0
                     : size < 0.75f  ? 1
                     : size <= 1.25f ? 2
                     : size < 1.75f  ? 3
                     : size <= 2.5f  ? 4
                     : size < 3.5f   ? 5
                     : size <= 5.0f  ? 6
                                     : 7;
    const unsigned sign = __builtin_bit_cast(unsigned, x) >> 28 & 8;
    return {static_cast<uint8>(code | (x != x ? 0 : sign))};
  }
};

// The nearest, ties away from 0, as cvt.rna rounds.
template <>
struct Narrow<TFloat32> {
  __device__ static TFloat32 one(float x) {
    const unsigned bits = __builtin_bit_cast(unsigned, x);
    const bool is_finite = (bits & 0x7f800000u) != 0x7f800000u;
    return {__builtin_bit_cast(float, is_finite ? (bits + 0x1000u) & ~0x1fffu : bits)};
  }
};

// x + y; where a double doesn't hold it, the odd one of its two neighbours, which rounds on as the sum would.
__device__ inline double sum_to_odd(double x, double y) {
  const double sum = x + y, other = sum - x;
  const double error = (x - (sum - other)) + (y - other);
  const auto bits = __builtin_bit_cast(uint64, sum);
  if (!(error != 0) || bits & 1) return sum;  // an infinite sum has an error that is NaN or 0
  if (error != error) return sum;
  return __builtin_bit_cast(double, (error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

// x * y + z, rounded once: a double holds the product.
template <class T>
__device__ T multiply_add(T x, T y, T z) {
  const double product = static_cast<double>(to_float(x)) * to_float(y);
  return convert<T>(sum_to_odd(product, to_float(z)));
}

#ifdef __CUDACC__
__device__ inline Half multiply_add(Half x, Half y, Half z) {
  Half result;
  asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(result.bits) : "h"(x.bits), "h"(y.bits), "h"(z.bits));
  return result;
}

#if __CUDA_ARCH__ >= 800
__device__ inline BFloat16 multiply_add(BFloat16 x, BFloat16 y, BFloat16 z) {
  BFloat16 result;
  asm("fma.rn.bf16 %0, %1, %2, %3;" : "=h"(result.bits) : "h"(x.bits), "h"(y.bits), "h"(z.bits));
  return result;
}
#endif
#endif

}  // namespace tilewright
