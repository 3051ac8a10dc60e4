// The swizzles of shared memory that the hardware knows: those of TMA and of wgmma's descriptors, on byte addresses.
#pragma once

#include <bit>
#include <cstdint>

#include "core/composed.hpp"

namespace tilewright::analysis {

inline bool is_swizzle_mode(int64_t mode) { return mode == 0 || mode == 32 || mode == 64 || mode == 128; }

// S8: of a mode of 32, 64 or 128 bytes Swizzle<B,4,3>, B = 1, 2, 3: the number of a 16-byte piece is XORed with that of
// its row of 128 bytes, in as many bits as the mode has pieces. 0: none.
// Source: PTX ISA, "Swizzling Modes"; the canonical layouts of CuTe's SM90 MMA traits.
inline Swizzle swizzle_of_mode(int64_t mode) {
  const auto pieces = static_cast<uint64_t>(mode == 0 ? 1 : mode / 16);
  return {static_cast<int64_t>(std::bit_width(pieces)) - 1, 4, 3};
}

}  // namespace tilewright::analysis
