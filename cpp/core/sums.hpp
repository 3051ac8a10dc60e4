// Which sums of multiples reach a number: what the images of layouts share. docs/theory.md says how far this is
// decided.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "floors.hpp"

namespace tilewright {

// factor * x with 0 <= x <= most; the factor is positive.
struct Multiple {
  int64_t factor;
  int64_t most;
};

// Some x_k with sum of factor_k * x_k = target, or none where there are none. An error says so where that was not
// decided.
std::optional<std::vector<int64_t>> reaching(const std::vector<Multiple>& multiples, Wide target);

}  // namespace tilewright
