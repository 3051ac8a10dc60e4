// The few instructions of PTX that programs write as text and the CPU knows.
#pragma once

#include <string>

#include "host/execute/code/code.hpp"

namespace tilewright::execute {

// `text`: the PTX, a newline, the constraints; `operands`: what it is given. Its one result and they have 32 bits each.
// Null: unknown.
Handler inline_asm_handler(const std::string& text, std::size_t operands);

}  // namespace tilewright::execute
