// Left inverses that CuTe has not: a layout L with given values at the offsets of a layout. docs/theory.md has the
// proofs, and says why a bound is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "modes.hpp"

namespace tilewright {

// L(i * stride) = i * position for 0 <= i < extent, and L of a sum of these offsets is the sum.
struct Wanted {
  int64_t extent;
  int64_t stride;
  int64_t position;
};

// The smallest coordinate at which L has not its value; none where L is a left inverse.
std::optional<int64_t> first_not_inverted(const Modes& inverse, const std::vector<Wanted>& wanted);

// An L, coalesced, or values that no layout has, as in `L(1) = 1, L(-1) = 3`. LayoutError where the bound does not
// decide.
//
// An L with radices Q_1 | Q_2 | ... is a sum of c_l * floor(x / Q_l), and odd: L(-x) = -L(x).
struct LeftInverseFound {
  std::optional<Modes> modes;
  std::string contradiction;
};
LeftInverseFound find_left_inverse(const std::vector<Wanted>& wanted);

}  // namespace tilewright
