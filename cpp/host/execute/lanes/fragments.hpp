// How the lanes of a warp hold matrices: as mma.sync and wgmma have them.
//
// Lane 4 g + t has in each register neighbours along k, or along n of C: those from e t on, e being the elements of a
// register, of row g, or g + 8.
#pragma once

#include <algorithm>
#include <bit>

#include "host/execute/machine.hpp"
#include "numbers.hpp"

namespace tilewright::execute {

inline constexpr uint32_t kRegisterBytes = 4, kMatrixRows = 8, kTogetherOfC = 2;

struct Place {
  uint32_t row, column;
};

// Where element v of a lane's part lies in a matrix of so many rows, A (m, k), B (n, k) or C (m, n), of which the lane
// has `together` neighbours at a time.
inline Place place_of(uint32_t v, uint32_t lane, uint32_t together, uint32_t rows) {
  const uint32_t reg = v / together, halves = rows / kMatrixRows;
  return {lane / 4 + kMatrixRows * (reg % halves),
          together * (lane % 4) + v % together + 4 * together * (reg / halves)};
}

inline uint32_t together_of(const AccessCode& access) { return std::max(kRegisterBytes / access.bytes, 1u); }

// What an instruction reads of an element: of TFloat32 the upper 19 bits.
template <class T>
T number_of(program::Scalar scalar, const uint8_t* from) {
  if (scalar != program::Scalar::kTFloat32) return decode<T>(scalar, from);
  return static_cast<T>(std::bit_cast<float>(host::read_as<uint32_t>(from) & 0xFFFFE000u));
}

// Looks for lanes that do not reach an instruction which the whole warp executes (matrices.cpp).
void look_at_lanes(const Warp& warp, const Instruction& i, const char* name);

}  // namespace tilewright::execute
