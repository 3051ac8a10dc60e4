// The same counts by linear algebra over F2, as an independent check, and as a proof for all warps at once.
//
// Where extents are powers of two and no addition carries, a layout sends the XOR of coordinates to the XOR of their
// offsets: it is a matrix over F2, a column for each bit of the coordinate. A swizzle is one too. 2^rank is how many
// values a linear map takes, each equally often. So a pass takes
//
//     wavefronts = words / banks = 2^rank(word o L) / 2^rank(bank o L) = 2^(dim ker(bank o L) - dim ker(word o L))
//
// over the bits of its lanes, and so on for sectors and lines. A constant added (by XOR) changes none of that.
#pragma once

#include <cstdint>
#include <vector>

#include "access.hpp"
#include "core/composed.hpp"

namespace tilewright::analysis {

// The offset of each bit of a coordinate, from the lowest on. Fails where the layout is not linear over F2.
std::vector<int64_t> columns_of(const AnyLayout& layout);

// The counts for 2^bits lanes, whose byte addresses are XORs of the columns: those of the bits of the lane, or of the
// row of a matrix. The columns are aligned to the width.
Request by_rank(const Access& access, const int64_t* columns, int bits);

}  // namespace tilewright::analysis
