// Weighted sums of floors, h(i) = sum of w * floor(i * a / b): what the difference of two layouts along a line is.
//
// docs/theory.md has the proofs. Their numbers are products of two 64-bit integers; where even these overflow, an error
// says so.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "small_vector.hpp"
#include "wide.hpp"

namespace tilewright {

// weight * floor(i * numerator / denominator), where 0 <= numerator < denominator
struct Floor {
  int64_t numerator;
  int64_t denominator;
  Wide weight;
};
using Floors = SmallVector<Floor, 8>;

// The smallest i with 1 <= i < end and h(i) != 0.
std::optional<int64_t> first_nonzero(const Floors& floors, int64_t end);

// The greatest `step * i mod modulus` for 0 <= i < count, and an i that has it.
std::pair<int64_t, int64_t> max_residue(int64_t step, int64_t modulus, int64_t count);

}  // namespace tilewright
