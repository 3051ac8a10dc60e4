// Registers that a warpgroup gives back, or takes, while a kernel runs: what some of its warps do not need, others
// have.
#pragma once

namespace tilewright {

template <int kRegisters>
__device__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
__device__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace tilewright
