// stmatrix: a warp writes matrices of 8 rows of 16 bytes to shared memory (sm_90 and later); see ldmatrix.cuh.
#pragma once

namespace tilewright {

// Four matrices of 8 x 8 elements of 16 bits from the registers of a warp; each lane names a row of 16 bytes. The lanes
// have of them what ldmatrix would give.
template <bool kTransposed>
__device__ void stmatrix(unsigned row, const unsigned (&r)[4]) {
  if constexpr (kTransposed) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  } else {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(r[0]), "r"(r[1]),
                 "r"(r[2]), "r"(r[3])
                 : "memory");
  }
}

}  // namespace tilewright
