// ldmatrix: a warp reads matrices of 8 rows of 16 bytes from shared memory, each lane a part of every matrix (sm_75 and
// later).
//
// Lane 8 j + r has the address of row r of matrix j. Of a matrix, lane l gets the 4 bytes l % 4 of row l / 4;
// transposed, which counts in elements of 2 bytes, it gets element l / 4 of the rows 2 (l % 4) and 2 (l % 4) + 1.
#pragma once

namespace tilewright {

template <bool kTransposed>
__device__ void ldmatrix(unsigned (&word)[4], unsigned address) {
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                 : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3])
                 : "r"(address));
  }
}

template <bool kTransposed>
__device__ void ldmatrix(unsigned (&word)[2], unsigned address) {
  if constexpr (kTransposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(word[0]), "=r"(word[1])
                 : "r"(address));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(word[0]), "=r"(word[1])
                 : "r"(address));
  }
}

}  // namespace tilewright
