// Which numbers are bounded sums: x_1*d_1 + ... + x_r*d_r = target with 0 <= x_k <= n_k.
//
// The questions about images (do two coordinates collide? do two images meet?) are questions of this kind. In general
// they are as hard as the knapsack problem, so the search has a budget; beyond it there is an error, never a guess.
// Four facts settle what layouts ask (docs/theory.md proves them):
//
//   merging   d_2 = m*d_1 with m <= n_1 + 1: the two terms are one, of n_1 + m*n_2 steps of d_1
//   interval  the terms below k reach R_(k-1) at most, so x_k lies in [(t - R_(k-1)) / d_k, t / d_k]
//   residue   the terms below k are multiples of g_(k-1) = gcd(d_1, .., d_(k-1)), so x_k*d_k = t modulo g_(k-1)
//   window    from c_k to R_k - c_k every multiple of g_k is a sum
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct Multiple {
  int64_t step;   // d: any sign
  int64_t count;  // n: at least 0
};

// The x of a sum that is `target`, one for each term; none where there is no such sum. LayoutError where the budget
// ends first.
std::optional<std::vector<int64_t>> bounded_sum(const std::vector<Multiple>& terms, int64_t target);

// Why there is none, as far as a sentence says it: `every sum is a multiple of 2`.
std::string why_no_sum(const std::vector<Multiple>& terms, int64_t target);

}  // namespace tilewright
