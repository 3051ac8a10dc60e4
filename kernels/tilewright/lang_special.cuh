// What a thread knows of itself, and CUDA C++ has no name for.
#pragma once

#include "tilewright/elect_one.cuh"

namespace tilewright {

__device__ inline int dynamic_smem_size() {
  int result;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(result));
  return result;
}

}  // namespace tilewright
