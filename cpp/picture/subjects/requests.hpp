// Pictures of one request of a warp: its lanes over the banks of shared memory, or over lines of global memory.
#pragma once

#include "analysis/access.hpp"
#include "picture/model.hpp"

namespace tilewright::picture {

inline constexpr int64_t kSector = 32;  // bytes

struct Lanes {
  std::string name;                                // of the instruction
  std::string op;                                  // load, store, cp.async, ldmatrix or stmatrix
  int64_t width;                                   // bytes of a lane's access
  std::vector<std::pair<int64_t, int64_t>> lanes;  // each that is active, and its address; of a matrix, its rows
  std::optional<analysis::Request> cost;
};

// Which lanes each bank serves in each wavefront, pass after pass.
Panel banks_panel(const Lanes& request);
// Which lanes want each part of `unit` bytes, 4 or a sector's 32, of the lines that they touch. Of a sector that is
// fetched, the parts that nobody wants are dark.
Panel lines_panel(const Lanes& request, int64_t unit);

}  // namespace tilewright::picture
