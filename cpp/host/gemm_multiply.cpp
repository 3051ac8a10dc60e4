#include "gemm_multiply.hpp"

#include <type_traits>

#include "core/portable.hpp"
#include "gemm_program.hpp"

// Products are rounded before they are added, with and without wider vectors, so that both give the same bits.
#if defined(__x86_64__) && defined(__GNUC__)
#define TILEWRIGHT_AVX2 __attribute__((target("avx2")))
#endif

namespace tilewright::host {

namespace {

// One block of sums, held in registers over all k.
template <class T>
TILEWRIGHT_INLINE void multiply_blocks(const T* a, const T* b, T* sums, int64_t k, int64_t rows_a, int64_t rows_b) {
  // Integers wrap around.
  using Number = std::conditional_t<std::is_integral_v<T>, uint32_t, T>;
  for (int64_t r = 0; r < rows_a; r += kBlockM) {
    for (int64_t c = 0; c < rows_b; c += kBlockN) {
      Number block[kBlockM][kBlockN];
      for (int64_t i = 0; i < kBlockM; ++i) {
        for (int64_t j = 0; j < kBlockN; ++j) block[i][j] = static_cast<Number>(sums[(r + i) * rows_b + c + j]);
      }
      for (int64_t step = 0; step < k; ++step) {
        const T* const x = a + step * rows_a + r;
        const T* const y = b + step * rows_b + c;
        for (int64_t i = 0; i < kBlockM; ++i) {
          const auto factor = static_cast<Number>(x[i]);
          for (int64_t j = 0; j < kBlockN; ++j) block[i][j] += factor * static_cast<Number>(y[j]);
        }
      }
      for (int64_t i = 0; i < kBlockM; ++i) {
        for (int64_t j = 0; j < kBlockN; ++j) sums[(r + i) * rows_b + c + j] = static_cast<T>(block[i][j]);
      }
    }
  }
}

#ifdef TILEWRIGHT_AVX2
template <class T>
TILEWRIGHT_AVX2 void multiply_wide(const T* a, const T* b, T* sums, int64_t k, int64_t rows_a, int64_t rows_b) {
  multiply_blocks(a, b, sums, k, rows_a, rows_b);
}
#endif

template <class T>
void multiply_any(const T* a, const T* b, T* sums, int64_t k, int64_t rows_a, int64_t rows_b) {
#ifdef TILEWRIGHT_AVX2
  static const bool is_wide = __builtin_cpu_supports("avx2");
  if (is_wide) return multiply_wide(a, b, sums, k, rows_a, rows_b);
#endif
  multiply_blocks(a, b, sums, k, rows_a, rows_b);
}

}  // namespace

void multiply(const float* a, const float* b, float* sums, int64_t k, int64_t rows_a, int64_t rows_b) {
  multiply_any(a, b, sums, k, rows_a, rows_b);
}
void multiply(const double* a, const double* b, double* sums, int64_t k, int64_t rows_a, int64_t rows_b) {
  multiply_any(a, b, sums, k, rows_a, rows_b);
}
void multiply(const int32_t* a, const int32_t* b, int32_t* sums, int64_t k, int64_t rows_a, int64_t rows_b) {
  multiply_any(a, b, sums, k, rows_a, rows_b);
}

}  // namespace tilewright::host
