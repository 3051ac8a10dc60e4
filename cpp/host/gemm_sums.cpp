#include "gemm_sums.hpp"

#include <type_traits>

#include "gemm_epilogue.hpp"

namespace tilewright::host {

namespace {

template <class T, class Compute>
void finish_all(const GemmProblem& problem, const PartSums& sums) {
  for (int64_t batch = 0; batch < problem.batches(); ++batch) {
    const Finish<T, Compute> finish(problem, batch);
    int64_t index = batch;
    const T* matrix = reinterpret_cast<const T*>(sums.address);
    for (std::size_t mode = 0; mode < problem.batch.size(); ++mode) {
      matrix += index % problem.batch[mode] * sums.batch_strides[mode];
      index /= problem.batch[mode];
    }
    for (int64_t m = 0; m < problem.m; ++m) {
      for (int64_t n = 0; n < problem.n; ++n) {
        const T* const at = matrix + m * sums.strides[0] + n * sums.strides[1];
        T sum = *at;
        for (int64_t part = 1; part < sums.count; ++part) {
          if constexpr (std::is_integral_v<T>) {  // integers wrap around
            sum = static_cast<T>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(at[part * sums.step]));
          } else {
            sum += at[part * sums.step];
          }
        }
        finish(sum, m, n);
      }
    }
  }
}

}  // namespace

void finish_sums(const GemmProblem& problem, const PartSums& sums) {
  if (problem.empty() || sums.count == 0) return;
  if (problem.acc == Type::f64) return finish_all<double, double>(problem, sums);
  if (problem.acc == Type::f32) return finish_all<float, float>(problem, sums);
  if (problem.compute == Type::i32) return finish_all<int32_t, int32_t>(problem, sums);
  finish_all<int32_t, float>(problem, sums);
}

}  // namespace tilewright::host
