// Where the elements of an access lie, row by row: a row is one element of each lane.
#pragma once

#include "machine.hpp"

namespace tilewright::execute {

inline uint64_t swizzled(const program::ByteSwizzle& s, uint64_t address) {
  const uint64_t ones = (uint64_t{1} << s.bits) - 1;
  if (s.shift >= 0) return address ^ (address >> s.shift & ones << s.base);
  return address ^ (address & ones << s.base) << -s.shift;
}

void dynamic_offsets(const Warp& warp, const AccessCode& access, uint32_t element, uint64_t* to);

// The addresses of element `element`, in address units.
inline void row_addresses(const Warp& warp, const AccessCode& access, uint32_t element, uint64_t* to) {
  const uint64_t* pointer = warp.at<uint64_t>(access.pointer);
  if (access.is_static) {
    const auto offset = static_cast<uint64_t>(access.offsets[element]);
    for (uint32_t l = 0; l < kLanes; ++l) to[l] = pointer[l] + offset;
  } else {
    dynamic_offsets(warp, access, element, to);
    for (uint32_t l = 0; l < kLanes; ++l) to[l] += pointer[l];
  }
  if (access.swizzle.bits != 0) {
    for (uint32_t l = 0; l < kLanes; ++l) to[l] = swizzled(access.swizzle, to[l]);
  }
}

// A row of elements of some bytes, for the lanes of the mask.
void read_row(const Warp& warp, const AccessCode& access, const uint64_t* addresses, Mask mask, void* to);
void write_row(const Warp& warp, const AccessCode& access, const uint64_t* addresses, Mask mask, const void* from);

// Where byte `address` of a lane's frame lies, from the frame's start.
inline uint64_t frame_place(uint64_t address, uint32_t lane) {
  return (address >> 2) * kFrameRow + lane * 4 + (address & 3);
}

}  // namespace tilewright::execute
