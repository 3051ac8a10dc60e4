// One element of each lane, read from memory or written to it, looked at where findings are asked for.
#pragma once

#include "host/execute/shadow/shadow.hpp"

namespace tilewright::execute {

// Whether it is right as a whole to read elements, or to write them with what is defined, so that none needs to be
// looked at. `vector`: bytes that one instruction moves.
bool is_right(const Warp& warp, const Instruction& i, const AccessCode& access, Use use, uint32_t first,
              uint32_t elements, int64_t vector, Mask mask);
// `is_checked`: looks at each lane. What may not be read is 0; the lanes that may be read. `undefined`: those whose
// element was never written.
Mask read_element(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t element, Mask mask,
                  void* to, Mask& undefined, bool is_checked);
void write_element(const Warp& warp, const Instruction& i, const AccessCode& access, uint32_t element, Mask mask,
                   const void* from, Mask undefined, bool is_checked);

}  // namespace tilewright::execute
