// Conversions between floating-point numbers and integers as the hardware does them: towards zero, numbers that are out
// of range become the nearest one, NaN becomes 0.
#pragma once

#include "tilewright/lang.cuh"

namespace tilewright {

struct Int4;  // as which an Int8 is asked for that has 4 bits

template <class To>
struct ToInteger;

template <>
struct ToInteger<int> {
  __device__ static int of(float x) { return __float2int_rz(x); }
  __device__ static int of(double x) { return x != x ? 0 : __double2int_rz(x); }
};

// By way of int, which has the bounds already: no branch.
template <class To, int kLeast, int kMost>
struct ToNarrow {
  template <class From>
  __device__ static To of(From x) {
    const int whole = ToInteger<int>::of(x);
    return static_cast<To>(whole < kLeast ? kLeast : whole > kMost ? kMost : whole);
  }
};

template <>
struct ToInteger<Int4> : ToNarrow<int8, -8, 7> {};
template <>
struct ToInteger<int8> : ToNarrow<int8, -128, 127> {};
template <>
struct ToInteger<int16> : ToNarrow<int16, -32768, 32767> {};
template <>
struct ToInteger<uint8> : ToNarrow<uint8, 0, 255> {};
template <>
struct ToInteger<uint16> : ToNarrow<uint16, 0, 65535> {};
template <>
struct ToInteger<uint32> {
  __device__ static uint32 of(float x) { return __float2uint_rz(x); }
  __device__ static uint32 of(double x) { return x != x ? 0 : __double2uint_rz(x); }
};
template <>
struct ToInteger<int64> {
  __device__ static int64 of(float x) { return x != x ? 0 : __float2ll_rz(x); }
  __device__ static int64 of(double x) { return x != x ? 0 : __double2ll_rz(x); }
};
template <>
struct ToInteger<uint64> {
  __device__ static uint64 of(float x) { return x != x ? 0 : __float2ull_rz(x); }
  __device__ static uint64 of(double x) { return x != x ? 0 : __double2ull_rz(x); }
};

template <class To, class From>
__device__ To to_integer(From x) {
  return ToInteger<To>::of(x);
}

// A float from which rounding once more gives what rounding the integer would: towards zero, and odd where that is
// inexact.
__device__ inline float to_odd_float(int64 x) {
  const float toward_zero = __ll2float_rz(x);
  const uint32 bits = __builtin_bit_cast(uint32, toward_zero);
  return static_cast<int64>(toward_zero) == x ? toward_zero : __builtin_bit_cast(float, bits | 1);
}

__device__ inline float to_odd_float(uint64 x) {
  const float toward_zero = __ull2float_rz(x);
  const uint32 bits = __builtin_bit_cast(uint32, toward_zero);
  return static_cast<uint64>(toward_zero) == x ? toward_zero : __builtin_bit_cast(float, bits | 1);
}

__device__ inline float to_odd_float(int x) { return to_odd_float(static_cast<int64>(x)); }
__device__ inline float to_odd_float(uint32 x) { return to_odd_float(static_cast<int64>(x)); }

}  // namespace tilewright
