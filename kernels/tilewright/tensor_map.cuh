// Tensor maps in memory, which threads change: 128 bytes that only these instructions understand. Who changes one in
// global memory releases it, and whoever copies by it acquires it; both are fences between the generic proxy and that
// of tensor maps.
#pragma once

#include "tilewright/lang_pointer.cuh"
#include "tilewright/tma.cuh"

namespace tilewright {

#if __CUDACC_VER_MAJOR__ < 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ < 5)
#error "tensor maps are changed on the device by NVRTC 12.5 or newer"
#endif

// A kernel's tensor map as bytes in global or shared memory.
__device__ inline void tensor_map_copy(const TensorMap& map, void* to) {
#pragma unroll
  for (int i = 0; i < 8; ++i) static_cast<ulonglong2*>(to)[i] = reinterpret_cast<const ulonglong2*>(&map)[i];
}

// Where an instruction changes a tensor map: extents count elements, strides bytes, from the second mode on.
#define TILEWRIGHT_TENSOR_MAP(NAME, ADDRESS, SPACE, LETTER)                                                    \
  struct NAME {                                                                                                \
    ADDRESS address;                                                                                           \
    __device__ void set_address(const void* pointer) const {                                                   \
      asm volatile("tensormap.replace.tile.global_address." SPACE ".b1024.b64 [%0], %1;" ::LETTER(address),    \
                   "l"(global_address(pointer))                                                                \
                   : "memory");                                                                                \
    }                                                                                                          \
    template <int kMode>                                                                                       \
    __device__ void set_extent(int64 extent) const {                                                           \
      asm volatile("tensormap.replace.tile.global_dim." SPACE ".b1024.b32 [%0], %1, %2;" ::LETTER(address),    \
                   "n"(kMode), "r"(static_cast<uint32>(extent))                                                \
                   : "memory");                                                                                \
    }                                                                                                          \
    template <int kMode>                                                                                       \
    __device__ void set_stride(int64 bytes) const {                                                            \
      asm volatile("tensormap.replace.tile.global_stride." SPACE ".b1024.b64 [%0], %1, %2;" ::LETTER(address), \
                   "n"(kMode), "l"(bytes)                                                                      \
                   : "memory");                                                                                \
    }                                                                                                          \
  };

TILEWRIGHT_TENSOR_MAP(GlobalTensorMap, uint64, "global", "l")
TILEWRIGHT_TENSOR_MAP(SharedTensorMap, uint32, "shared::cta", "r")

// The whole warp copies one from shared to global memory, and releases it.
__device__ inline void tensor_map_publish(void* to, const void* from) {
  asm volatile(
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(
          global_address(to)),
      "r"(shared_address(from))
      : "memory");
}

// What was released before is seen by the copies that follow.
__device__ inline void tensor_map_acquire(const void* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}

}  // namespace tilewright
