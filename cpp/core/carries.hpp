// Carries between modes of B: whether A(sum of d_j * i_j) is the sum of the A(d_j * i_j) in a box of coordinates.
// docs/theory.md has the proofs, and says why a bound is needed.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "line.hpp"

namespace tilewright {

using Coordinates = std::vector<int64_t>;

// The lines read the same outer layout. Some coordinates at which the two sides differ, or none if there are none. An
// error says so where that was not decided.
std::optional<Coordinates> carrying(const std::vector<Line>& lines);
// The colexicographically smallest ones below `ends`; none where there are none, or where they were not found.
std::optional<Coordinates> first_carrying(const std::vector<Line>& lines, const Coordinates& ends);

}  // namespace tilewright
