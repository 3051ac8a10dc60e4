// Basis elements E(m0, m1, ...): unit coordinates of a nested shape, used as strides.
//
// A path lists the modes from the innermost to the outermost, as CuTe prints them: 1@0@1 is E(0, 1), "mode 0 of mode
// 1". A Node names its path by the number it has in one table, so that a stride stays 16 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "integer.hpp"

namespace tilewright {

using BasisPath = std::vector<uint32_t>;  // innermost first

// The id of a path; the empty path is 0, the plain integers.
BasisId basis_id(const BasisPath& path);
const BasisPath& basis_path(BasisId id);

// `@0@1` for the path (0, 1).
std::string basis_suffix(BasisId id);

}  // namespace tilewright
