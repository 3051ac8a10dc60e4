// Tensor maps that kernels change in memory.
#pragma once

#include <optional>

#include "host/execute/machine.hpp"

namespace tilewright::execute {

// The tensor map of a copy of boxes: an argument, or what a thread wrote to global memory; none where that is wrong.
std::optional<TensorMap> map_of(const Warp& warp, const Instruction& i, uint32_t lane);

}  // namespace tilewright::execute
