// The operations of the algebra by their names in Python, on operands of any kind.
#pragma once

#include <string_view>

#include "core/trace.hpp"
#include "value.hpp"

namespace tilewright::page {

// The result; LayoutError and KindError as the operation throws them, without its name in front.
Value apply(std::string_view operation, const Values& operands);
// Whether the steps that it has recorded derive its outcome: what works on anything but plain layouts records none,
// unless it works on the outer layout.
bool is_explained(std::string_view operation, const Values& operands, const Trace& trace);
// `composition(A, B)`: an operation with its operands, as messages name it.
std::string call_text(std::string_view operation, const Values& operands);

}  // namespace tilewright::page
