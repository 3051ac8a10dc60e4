// What a thread knows of itself, and CUDA C++ has no name for.
#pragma once

namespace tilewright {

__device__ inline int dynamic_smem_size() {
  int result;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(result));
  return result;
}

// True for one thread of a warp that has come together.
__device__ inline bool elect_one() {
  int result;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.s32 %0, 1, 0, p; }" : "=r"(result));
  return result != 0;
}

}  // namespace tilewright
