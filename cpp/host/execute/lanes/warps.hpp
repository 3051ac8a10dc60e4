// What instructions of several lanes share.
#pragma once

#include <bit>
#include <optional>
#include <string>

#include "host/execute/machine.hpp"

namespace tilewright::execute {

template <class F>
void each_lane(Mask mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<uint32_t>(std::countr_zero(mask)));
}

// A finding where lanes that the mask of an active lane names are not there; of no masks none.
void look_at_mask(Warp& warp, const Instruction& instruction, Mask active, const int32_t* masks);

// Whose value a lane gets from PTX's shfl.sync; none outside of the segment, where it keeps its own.
std::optional<uint32_t> shuffle_source(const std::string& how, uint32_t lane, uint32_t by, uint32_t clamp_mask);
// A finding where that lane is not active.
void look_at_source(Warp& warp, const Instruction& instruction, Mask active, uint32_t lane, uint32_t source);

// One step of a reduction or an atomic: patterns of a scalar.
void combine(program::Scalar scalar, const std::string& how, const uint8_t* x, const uint8_t* y, uint8_t* to);

}  // namespace tilewright::execute
