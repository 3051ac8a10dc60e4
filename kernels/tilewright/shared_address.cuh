// Addresses of shared memory as PTX takes them.
#pragma once

namespace tilewright {

__device__ inline unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}
__device__ inline unsigned shared_address(unsigned address) { return address; }

}  // namespace tilewright
