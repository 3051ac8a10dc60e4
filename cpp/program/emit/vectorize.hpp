// How many elements one instruction of a load or store moves: the CPU's counting of requests follows the same rule.
#pragma once

#include "range.hpp"

namespace tilewright::program {

struct Vectorized {
  int64_t count = 1;     // neighbouring elements of one instruction, a power of two
  std::size_t mode = 0;  // the mode of the access along which they lie
};

// The most elements, up to `bytes` bytes, that lie next to each other and at a multiple of their bytes: by the static
// stride 1 of a mode, what divides the other strides and offsets, the pointer's alignment and the swizzles.
Vectorized vectorized(const Program& program, Ranges& ranges, const Access& access, int64_t bytes = 16);

// Whether the first `count` elements of an access, and all those that follow by as many, can be moved by one
// instruction each, as a copy asks for. It answers for strides that are not static.
bool moves_together(const Program& program, const Access& access, int64_t count);

}  // namespace tilewright::program
