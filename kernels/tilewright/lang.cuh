// What every kernel that is written in Python includes: names of types, vectors in registers, and their way to memory.
//
// What few kernels need has headers of its own (lang_*.cuh), so that the others compile sooner. Accesses to memory stand
// in the kernel's own text, so that tools name the line of Python: these functions compute addresses and values only.
#pragma once

namespace tilewright {

using int8 = signed char;
using int16 = short;
using int64 = long long;
using uint8 = unsigned char;
using uint16 = unsigned short;
using uint32 = unsigned;
using uint64 = unsigned long long;

// The largest power of two up to 16 that divides a number of bytes: a vector is aligned for the widest access.
__device__ constexpr int alignment_of(int bytes) {
  int result = 16;
  while (bytes % result != 0) result /= 2;
  return result;
}

template <class T, int kCount>
struct alignas(alignment_of(sizeof(T) * kCount)) Vec {
  T at[kCount];

  __device__ T& operator[](int i) { return at[i]; }
  __device__ const T& operator[](int i) const { return at[i]; }
};

// kCount neighbours at a multiple of their bytes: one access of up to 16 bytes.
template <int kCount, class T>
__device__ Vec<T, kCount>* vec(T* pointer) {
  return reinterpret_cast<Vec<T, kCount>*>(pointer);
}

// Some elements of a vector, kStep apart.
template <int kCount, int kStep = 1, class T, int kAll>
__device__ Vec<T, kCount> part(const Vec<T, kAll>& vector, int from) {
  Vec<T, kCount> result;
#pragma unroll
  for (int i = 0; i < kCount; ++i) result[i] = vector[from + i * kStep];
  return result;
}

template <int kStep = 1, class T, int kAll, int kCount>
__device__ void put(Vec<T, kAll>& vector, int from, const Vec<T, kCount>& values) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) vector[from + i * kStep] = values[i];
}

// The same with an array in registers.
template <int kCount, int kStep = 1, class T>
__device__ Vec<T, kCount> gather(const T* array) {
  Vec<T, kCount> result;
#pragma unroll
  for (int i = 0; i < kCount; ++i) result[i] = array[i * kStep];
  return result;
}

template <int kStep = 1, class T, int kCount>
__device__ void scatter(T* array, const Vec<T, kCount>& values) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) array[i * kStep] = values[i];
}

// A Boolean takes a byte of memory.
template <int kCount>
__device__ Vec<bool, kCount> is_nonzero(const Vec<uint8, kCount>& bytes) {
  Vec<bool, kCount> result;
#pragma unroll
  for (int i = 0; i < kCount; ++i) result[i] = bytes[i] != 0;
  return result;
}

template <int kCount>
__device__ Vec<uint8, kCount> to_bytes(const Vec<bool, kCount>& values) {
  Vec<uint8, kCount> result;
#pragma unroll
  for (int i = 0; i < kCount; ++i) result[i] = values[i];
  return result;
}

// An Int4 has the type of Int8, in which it wraps around.
__device__ constexpr int8 wrap4(int64 value) { return static_cast<int8>(static_cast<int8>(value << 4) >> 4); }

}  // namespace tilewright
