// Reductions over the lanes of a mask, of integers that the instruction does not take.
#pragma once

namespace tilewright {

// f over what the lanes of the mask have, the first one first; all of them get it.
template <class T, class F>
__device__ inline T reduce_sync(unsigned mask, T value, F f) {
  T result = __shfl_sync(mask, value, __ffs(static_cast<int>(mask)) - 1);
  for (unsigned left = mask & (mask - 1); left != 0; left &= left - 1) {
    result = static_cast<T>(f(result, static_cast<T>(__shfl_sync(mask, value, __ffs(static_cast<int>(left)) - 1))));
  }
  return result;
}

}  // namespace tilewright
