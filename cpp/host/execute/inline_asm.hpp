// The few instructions of PTX that programs write as text and the CPU knows.
#pragma once

#include <string>

#include "code.hpp"

namespace tilewright::execute {

// `text`: the PTX, a newline, the constraints. Null: unknown.
Handler inline_asm_handler(const std::string& text);

}  // namespace tilewright::execute
