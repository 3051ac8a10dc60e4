// Basis elements E(m0, m1, ...): unit coordinates of a nested shape, used as strides.
//
// A path lists the modes from the innermost to the outermost, as CuTe prints them: 1@0@1 is E(0, 1), "mode 0 of mode
// 1". A Node has 27 bits for its path. One, two or three modes of 24 bits together are the bits themselves, so that
// they take no memory; a longer path is a number in a table, kept as its last mode and the path before it.
#pragma once

#include <cstdint>
#include <string>

#include "integer.hpp"
#include "small_vector.hpp"

namespace tilewright {

using BasisPath = SmallVector<uint32_t, 8>;  // innermost first

// The id of a path; the empty path is 0, the plain integers. Paths are equal where their ids are.
BasisId basis_id(const BasisPath& path);
BasisPath basis_path(BasisId id);
// The same modes, the outermost first, or back again.
BasisPath reversed(const BasisPath& path);

// `@0@1` for the path (0, 1).
std::string basis_suffix(BasisId id);

}  // namespace tilewright
