// What many warps' accesses to shared memory cost under many swizzles.
//
// A swizzle is linear: S(x ^ c) = S(x) ^ S(c). And a constant added (by XOR) to all addresses of a request only renames
// its banks. So requests whose offsets differ by such a constant cost the same under every swizzle; of each such class
// one is evaluated. A tile of 128x64 elements has hundreds of requests, and a handful of classes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "access.hpp"
#include "core/composed.hpp"

namespace tilewright::analysis {

// Requests of one kind: the element offsets of 32 lanes each before the swizzle, of elements of `element_bits` bits, of
// which the addresses are counted from `base` on. `active`: a bit for each lane of a request. No lane faults.
struct Offsets {
  Access access;
  const int64_t* offsets;
  const uint32_t* active;
  int64_t count;
  int element_bits;
  int64_t base;
};

// The wavefronts of all requests for each swizzle of the offsets; -1 where it takes neighbours that a lane accesses
// together apart, or exchanges them.
std::vector<int64_t> wavefronts_under(const std::vector<Swizzle>& swizzles, const Offsets& requests);

// Every swizzle that stays inside of a tile of so many elements, the simplest first: that with the fewest bits, then
// the smallest shift, then those that leave the most neighbours together, as CuTe's own do.
std::vector<Swizzle> all_swizzles(int64_t elements);

struct BestSwizzle {
  Swizzle swizzle;
  int64_t wavefronts;
};

// The first of all swizzles of the offsets with the fewest wavefronts; none where there is no offset, or a negative
// one.
std::optional<BestSwizzle> best_swizzle(const Offsets& requests);

}  // namespace tilewright::analysis
