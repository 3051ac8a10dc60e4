// Which instructions of a kernel not every GPU has.
#pragma once

#include "program.hpp"

namespace tilewright::program {

struct Need {
  int architecture = 0;  // the least that has it: 80 of sm_80
  std::string what;      // the instruction, and the user's names of what it reads and writes
  uint32_t place = 0;    // an index into Program::places
};

// The operation of a function that needs the most, the first of those; architecture 0: none needs any.
Need most_needed(const Program& program, const Function& function);

}  // namespace tilewright::program
