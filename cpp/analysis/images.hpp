// An access of a tile in shared memory under many layouts of the tile at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "access.hpp"

namespace tilewright::analysis {

// Threads access `values` neighbours at a time: `at` (threads, count) says which elements of the tile.
struct TileAccess {
  Access access;
  const int64_t* at = nullptr;
  std::size_t threads = 0;
  std::size_t count = 0;
  std::size_t values = 1;
  int64_t element_bits = 8;
  int64_t base = 0;  // byte address of offset 0
};

// The wavefronts of all requests in a tile whose elements have these offsets; -1 where a thread's values are no
// neighbours in it, or a lane would fault.
int64_t wavefronts_in(const int64_t* image, const TileAccess& tile);

}  // namespace tilewright::analysis
