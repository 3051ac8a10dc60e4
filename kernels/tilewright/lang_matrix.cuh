// Fragments as the registers that mma.sync, ldmatrix and stmatrix name.
#pragma once

#include "tilewright/lang.cuh"

namespace tilewright {

// The register that holds the elements from one on, which fill it.
template <class T>
__device__ uint32& word(T* element) {
  return *reinterpret_cast<uint32*>(element);
}

}  // namespace tilewright
