// The operations of the algebra by their names in Python, on operands of any kind.
#pragma once

#include <string_view>

#include "value.hpp"

namespace tilewright::page {

// The result; LayoutError and KindError as the operation throws them, without its name in front.
Value apply(std::string_view operation, const Values& operands);
// `composition(A, B)`: an operation with its operands, as messages name it.
std::string call_text(std::string_view operation, const Values& operands);

}  // namespace tilewright::page
