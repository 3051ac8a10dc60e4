// cp.async: from global to shared memory without passing through registers (sm_80 and later).
#pragma once

namespace tilewright {

// kBytes is 4, 8 or 16, and both addresses are multiples of it. 16 bytes go past the first-level cache.
template <int kBytes>
__device__ void cp_async(void* to, const void* from) {
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(__cvta_generic_to_global(from))
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared), "l"(__cvta_generic_to_global(from)),
                 "n"(kBytes)
                 : "memory");
  }
}

// If `made`, and without a branch: the first `count` of kBytes bytes, and zeros behind them. With count 0 nothing is
// read, but `from` must be aligned.
template <int kBytes>
__device__ void cp_async_if(bool made, unsigned shared, const void* from, int count) {
  const int made_at_all = made;
  if constexpr (kBytes == 16) {
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %0, 0; @p cp.async.cg.shared.global [%1], [%2], 16, %3; }" ::"r"(made_at_all),
        "r"(shared), "l"(__cvta_generic_to_global(from)), "r"(count)
        : "memory");
  } else {
    asm volatile(
        "{ .reg .pred p; setp.ne.s32 p, %0, 0; @p cp.async.ca.shared.global [%1], [%2], %3, %4; }" ::"r"(made_at_all),
        "r"(shared), "l"(__cvta_generic_to_global(from)), "n"(kBytes), "r"(count)
        : "memory");
  }
}

// Everything that this thread has started has arrived.
__device__ inline void cp_async_wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// What this thread has started since the last commit becomes a group.
__device__ inline void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// All groups of this thread but the last kPending have arrived.
template <int kPending>
__device__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace tilewright
