// The picture of a composition: B, A and A o B, one coordinate followed through all three.
#pragma once

#include "operands.hpp"

namespace tilewright::picture {

using Left = std::variant<Layout, ComposedLayout, Swizzle>;  // the operand A

// R(i) = A(B(i)), where `result` is R. `at`: a coordinate of B, or none for one in the middle.
Picture composition_picture(const Left& a, const AnyLayout& b, const AnyLayout& result,
                            const std::optional<IntTuple>& at);

}  // namespace tilewright::picture
