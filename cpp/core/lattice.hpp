// Integer points of a box on a hyperplane: x_1*d_1 + ... + x_r*d_r = target with 0 <= x_k <= n_k, for any d_k > 0.
//
// The solutions of the equation are x_0 + L, where L is the lattice of the sums that are 0. A reduced basis of L (LLL,
// in the norm in which the box is a cube) makes the search short: the coordinates along its last vectors have few
// possible values in the box, each of which is tried. Floating-point numbers choose the basis and the directions. Every
// bound that excludes a value is computed in integers, so an answer of "none" is a proof.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wide.hpp"

namespace tilewright {

struct Side {
  int64_t step;  // d
  Wide count;    // n
};

// A point, or none where there is none. LayoutError where the budget ends first, or a bound does not fit into 128 bits.
std::optional<std::vector<Wide>> lattice_point(std::vector<Side> sides, Wide target);

}  // namespace tilewright
