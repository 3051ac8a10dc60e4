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
// error says so where that was not decided. With an end, only coordinates with sum of d_j * i_j < end count; no stride
// is negative then.
std::optional<Coordinates> carrying(const std::vector<Line>& lines, std::optional<int64_t> end = std::nullopt);
// The colexicographically smallest ones; none where there are none, or where they were not found.
std::optional<Coordinates> first_carrying(const std::vector<Line>& lines, std::optional<int64_t> end = std::nullopt);

// At each level P of the outer layout the greatest residues of the lines modulo P: below P together, nothing carries.
struct Residues {
  int64_t level;
  std::vector<int64_t> greatest;
};
std::vector<Residues> residues_of(const std::vector<Line>& lines);

}  // namespace tilewright
