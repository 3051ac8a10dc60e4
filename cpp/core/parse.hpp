// The inverse of to_string: `(4,(2,3)):(1,(4,8))`, `(4,_)`, `S<3,4,3>`, `S<3,4,3> o 0 o (8,64):(64,1)`,
// `(8,4):(1@0,1@1)`.
#pragma once

#include <string_view>
#include <variant>

#include "composed.hpp"

namespace tilewright {

using Parsed = std::variant<IntTuple, Layout, Swizzle, ComposedLayout>;
Parsed parse(std::string_view text);

}  // namespace tilewright
