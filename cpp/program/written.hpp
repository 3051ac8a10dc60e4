// Which parameters of a function memory is written through.
#pragma once

#include <vector>

#include "program.hpp"

namespace tilewright::program {

struct Written {
  std::size_t parameter;  // an index into the parameters of the function
  uint32_t place;         // an index into Program::places: the first operation that writes through it
};

// Of a host function what its kernels write through, in order of the parameters. A pointer may be one of several, as
// after a branch: then each counts. Addresses that lie in memory or registers, and what inline PTX does, are not
// followed.
std::vector<Written> written_parameters(const Program& program, const Function& function);

}  // namespace tilewright::program
