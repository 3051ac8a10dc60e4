// wgmma in kernels written in Python: how operands in shared memory are named, and registers that are kept in place.
#pragma once

#include "tilewright/lang_matrix.cuh"
#include "tilewright/lang_pointer.cuh"

namespace tilewright {

// The descriptor of a matrix that begins at an address; kForm has how it lies from there on.
template <uint64 kForm>
__device__ __forceinline__ uint64 matrix_descriptor(const void* begin) {
  return kForm | (shared_address(begin) & 0x3FFFF) >> 4;
}

// The same so many times 16 bytes further. An address in shared memory does not leave its 14 bits: the compiler, which
// would add 64 bits and keep both halves of each descriptor, sees the lower half alone.
__device__ __forceinline__ uint64 moved(uint64 descriptor, int by) {
  const uint32 lower = static_cast<uint32>(descriptor) + static_cast<uint32>(by);
  uint64 result;
  asm("mov.b64 %0, {%1, %2};" : "=l"(result) : "r"(lower), "r"(static_cast<uint32>(descriptor >> 32)));
  return result;
}

// The compiler may not move what reads or writes these registers to the other side, nor keep the values elsewhere.
template <int kCount>
__device__ __forceinline__ void hold(float (&values)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i]));
}

template <class T, int kCount>
__device__ __forceinline__ void hold(T (&values)[kCount]) {
  constexpr int kTogether = 4 / sizeof(T);
#pragma unroll
  for (int i = 0; i < kCount; i += kTogether) asm volatile("" : "+r"(word(values + i)));
}

}  // namespace tilewright
