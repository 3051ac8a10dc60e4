// Sums of products of packed operands: the same additions in the same order on every machine.
#pragma once

#include <cstdint>

namespace tilewright::host {

// sums(r, c) += a(k, r) * b(k, c) for k = 0, 1, ..; row-major, rows_a a multiple of kBlockM, rows_b of kBlockN.
void multiply(const float* a, const float* b, float* sums, int64_t k, int64_t rows_a, int64_t rows_b);
void multiply(const double* a, const double* b, double* sums, int64_t k, int64_t rows_a, int64_t rows_b);
void multiply(const int32_t* a, const int32_t* b, int32_t* sums, int64_t k, int64_t rows_a, int64_t rows_b);

}  // namespace tilewright::host
