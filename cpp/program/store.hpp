// Programs as bytes, for files that outlive the process.
#pragma once

#include <string>
#include <string_view>

#include "program.hpp"

namespace tilewright::program {

std::string to_bytes(const Program& program);
// The other way round. Operations and scalars go by name, so that later versions may have more of them. Raises
// ProgramError where the bytes are no program: cut off, of another format, or with ids that it does not have.
Program from_bytes(std::string_view bytes);

}  // namespace tilewright::program
