// Addresses: of shared and global memory as PTX takes them, and swizzled ones.
#pragma once

#include "tilewright/lang.cuh"
#include "tilewright/shared_address.cuh"

namespace tilewright {

__device__ inline void* shared_pointer(uint32 address) { return __cvta_shared_to_generic(address); }

__device__ inline uint64 global_address(const void* pointer) { return __cvta_generic_to_global(pointer); }

// kBits bits from kBase + kShift on are added without carry to those from kBase on; a negative shift reads from below.
template <int kBits, int kBase, int kShift, class Offset>
__device__ constexpr Offset swizzle(Offset offset) {
  constexpr Offset kMask = ((Offset{1} << kBits) - 1) << kBase;
  if constexpr (kShift >= 0) {
    return offset ^ ((offset >> kShift) & kMask);
  } else {
    return offset ^ ((offset & kMask) << -kShift);
  }
}

// The pointer whose byte address is swizzled.
template <int kBits, int kBase, int kShift, class T>
__device__ T* swizzled(T* pointer) {
  return reinterpret_cast<T*>(swizzle<kBits, kBase, kShift>(reinterpret_cast<uint64>(pointer)));
}

// The same, where the address counts from a beginning.
template <int kBits, int kBase, int kShift, class T>
__device__ T* swizzled(T* pointer, uint8* begin) {
  const auto offset = static_cast<int>(reinterpret_cast<uint8*>(pointer) - begin);
  return reinterpret_cast<T*>(begin + swizzle<kBits, kBase, kShift>(offset));
}

}  // namespace tilewright
