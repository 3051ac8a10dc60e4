// How many elements one instruction of a load or store moves: the CPU's counting of requests follows the same rule.
#pragma once

#include <optional>
#include <vector>

#include "range.hpp"

namespace tilewright::program {

struct Vectorized {
  int64_t count = 1;     // neighbouring elements of one instruction, a power of two
  std::size_t mode = 0;  // the mode of the access along which they lie
};

// The most elements, up to `bytes` bytes, that lie next to each other and at a multiple of their bytes: by the static
// stride 1 of a mode, what divides the other strides and offsets, the pointer's alignment and the swizzles.
Vectorized vectorized(const Program& program, Ranges& ranges, const Access& access, int64_t bytes = 16);

// The elements that one instruction of a copy that is not asynchronous moves: as many as the copy asks for, or 1 where
// they do not lie next to each other, or not at a multiple of their bytes. What is not static is taken for a multiple.
int64_t copied_together(const Program& program, const Operation& copy);

// The modes of a layout whose shape is `extents`, extent by extent; none where modes lie across their borders.
std::optional<std::vector<std::vector<AccessMode>>> split(std::vector<AccessMode> modes,
                                                          const std::vector<int64_t>& extents);

}  // namespace tilewright::program
