// The picture of a composition: B, A and A o B, one coordinate followed through all three.
#pragma once

#include "core/algebra.hpp"
#include "picture/tables/operands.hpp"

namespace tilewright::picture {

using Left = std::variant<Layout, ComposedLayout, Swizzle>;  // the operand A

// R(i) = A(B(i)), where `result` is R. `at`: a coordinate of B, or none for one in the middle.
Picture composition_picture(const Left& a, const AnyLayout& b, const AnyLayout& result,
                            const std::optional<IntTuple>& at);

// The same where B is a tiler with a tuple of modes: A, and what is taken of it.
Picture composition_by_mode_picture(const AnyLayout& a, const Tiler& tiler, const AnyLayout& result);
// The operands of a composition without a result: the coordinate of B at which CuTe's answer is wrong is marked, and
// the element of A to which it leads.
Picture no_composition_picture(const Left& a, const AnyLayout& b, std::optional<int64_t> at);

}  // namespace tilewright::picture
