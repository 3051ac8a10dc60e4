// What to change about an access, as a sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search.hpp"

namespace tilewright::analysis {

// What an instruction costs over all of its requests. `ways` and `addresses`, those of the active lanes, are of the
// worst request; `widest` are the bytes of the widest legal access.
struct Cost {
  bool shared = false;
  bool of_matrices = false;
  int64_t width = 0;
  int64_t widest = 0;
  int64_t requests = 0;
  int64_t lanes = 0;
  int64_t sectors = 0;
  int64_t ideal_sectors = 0;
  int64_t wavefronts = 0;
  int64_t ideal_wavefronts = 0;
  int64_t ways = 1;
  int64_t base = 0;
  std::vector<int64_t> addresses;
  // What takes a search is found when it is asked for: the sectors where every address is so many bytes lower, and the
  // best swizzle.
  std::function<int64_t(int64_t)> sectors_lower;
  std::function<std::optional<BestSwizzle>()> best_swizzle;
};

// Empty where nothing has to be changed.
std::string advice(const Cost& cost);

// `0x1c`, `-0x4`
std::string hexadecimal(int64_t value);

}  // namespace tilewright::analysis
