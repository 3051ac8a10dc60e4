// Elements of 4 bits: two in a byte of memory, the first in its lower half.
#pragma once

#include "tilewright/lang_narrow.cuh"

namespace tilewright {

struct Int4;

template <class T>
struct HalfByte {
  using Value = T;
  __device__ static T value(int bits) { return {static_cast<uint8>(bits)}; }
  __device__ static int bits(T x) { return x.bits & 15; }
};
template <>
struct HalfByte<Int4> {
  using Value = int8;
  __device__ static int8 value(int bits) { return wrap4(bits); }
  __device__ static int bits(int8 x) { return x & 15; }
};

template <class T>
struct SubBytes {
  using Value = typename HalfByte<T>::Value;
  uint8* bytes;
  int64 first = 0;  // in elements

  __device__ SubBytes operator+(int64 offset) const { return {bytes, first + offset}; }
  __device__ uint8* address() const { return bytes + (first >> 1); }

  __device__ Value get(int64 i) const {
    const int64 at = first + i;
    return HalfByte<T>::value(bytes[at >> 1] >> (at & 1) * 4 & 15);
  }
  __device__ void set(int64 i, Value x) const {
    const int64 at = first + i;
    const int shift = (at & 1) * 4;
    bytes[at >> 1] = static_cast<uint8>((bytes[at >> 1] & ~(15 << shift)) | HalfByte<T>::bits(x) << shift);
  }
};

// What memory holds of a vector, and back.
template <class T, class Value, int kCount>
__device__ Vec<uint8, kCount / 2> packed(const Vec<Value, kCount>& values) {
  Vec<uint8, kCount / 2> result;
#pragma unroll
  for (int i = 0; i < kCount; i += 2) {
    result[i / 2] = static_cast<uint8>(HalfByte<T>::bits(values[i]) | HalfByte<T>::bits(values[i + 1]) << 4);
  }
  return result;
}

template <class T, int kCount, class From>
__device__ Vec<typename HalfByte<T>::Value, kCount> unpacked(const From& from) {
  const auto bytes = __builtin_bit_cast(Vec<uint8 , kCount / 2>, from);
  Vec<typename HalfByte<T>::Value, kCount> result;
#pragma unroll
  for (int i = 0; i < kCount; ++i) result[i] = HalfByte<T>::value(bytes[i / 2] >> i % 2 * 4 & 15);
  return result;
}

}  // namespace tilewright
