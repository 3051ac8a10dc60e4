// C from the sums of parts along K, as kernels/sum_parts.cuh computes it: split-K's second launch.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gemm_problem.hpp"

namespace tilewright::host {

// The sums (m, n, batch) of each part, in elements of the problem's acc.
struct PartSums {
  uint64_t address = 0;
  std::array<int64_t, 2> strides{};
  std::vector<int64_t> batch_strides;
  int64_t count = 0;  // parts
  int64_t step = 0;   // from one part to the next
};

// Adds up the parts in their order, and finishes each sum by the problem's epilogue.
void finish_sums(const GemmProblem& problem, const PartSums& sums);

}  // namespace tilewright::host
