// What operations take and give: every operation is checked when it is added.
#pragma once

#include <string>
#include <vector>

#include "program.hpp"

namespace tilewright::program {

struct Request;

// The types of the results; raises ProgramError where the operands do not fit the operation.
std::vector<Type> result_types_of(const Program& program, const Request& request);
// Why a value cannot be used here.
std::string unseen(const Program& program, ValueId id);

}  // namespace tilewright::program
