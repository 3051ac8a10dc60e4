// The pictures of coalesce and of complement: a layout, and what it becomes.
#pragma once

#include "core/algebra.hpp"
#include "picture/tables/operands.hpp"

namespace tilewright::picture {

// A layout before and after coalesce: the same offset at the same index. `operands`: their text.
Picture coalesce_picture(const AnyLayout& before, const AnyLayout& after, const std::string& operands,
                         const std::optional<IntTuple>& at);

// A layout in grey and the copies of it that its complement makes in colours: all offsets below `bound`, and a column
// for each copy.
Picture complement_picture(const Layout& layout, const Layout& complement, int64_t bound, const std::string& operands);

}  // namespace tilewright::picture
