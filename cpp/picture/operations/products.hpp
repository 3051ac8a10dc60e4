// The pictures of the products: a block, the layout that repeats it, and the result, a colour for each copy.
#pragma once

#include "core/algebra.hpp"
#include "picture/tables/operands.hpp"

namespace tilewright::picture {

// What repeats a block: a layout, or tilers of its modes.
struct Repeats {
  std::optional<AnyLayout> layout;
  Tiler modes;
};

// One element is followed from the block to its place in a copy; operation: logical_, zipped_, tiled_, flat_, blocked_
// or raked_product.
Picture product_picture(const std::string& operation, const AnyLayout& block, const Repeats& tiler,
                        const AnyLayout& result, const std::optional<IntTuple>& at);

}  // namespace tilewright::picture
