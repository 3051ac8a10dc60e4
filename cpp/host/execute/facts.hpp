// What holds for the values of a kernel whatever its arguments are.
#pragma once

#include <cstdint>
#include <vector>

#include "program/program.hpp"

namespace tilewright::execute {

struct ValueFacts {
  static constexpr int32_t kNone = -1;     // none
  static constexpr int32_t kSeveral = -2;  // one or the other

  bool is_uniform = false;     // all 32 lanes of its slot are equal, active or not
  int32_t parameter = kNone;   // of a pointer: the kernel's parameter that it comes from
  int64_t allocation = kNone;  // or the operation frame or shared
  bool is_live = false;        // something depends on it
};

std::vector<ValueFacts> facts_of(const program::Program& program, const program::Function& function);

}  // namespace tilewright::execute
