// Programmatic launches: a kernel may begin before the one before it has ended, which hides what a launch takes and
// what can be computed without memory. Devices before sm_90 have none.
#pragma once

namespace tilewright {

// The next kernel may begin when all CTAs of this one have come here, or ended. It comes as far as
// await_launches_before().
__device__ inline void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// Until the kernels before this one have ended. It stands before all that touches memory.
__device__ inline void await_launches_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace tilewright
