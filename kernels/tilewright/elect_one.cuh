#pragma once

namespace tilewright {

// True for one thread of a warp that has come together, always the same one. What all threads of the warp compute alike
// then stays in uniform registers, where the copy engine wants it: behind `threadIdx.x % 32 == 0` the compiler brings
// each operand there in a loop over the threads, which may differ.
__device__ inline bool elect_one() {
  int result;
  asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.s32 %0, 1, 0, p; }" : "=r"(result));
  return result != 0;
}

}  // namespace tilewright
