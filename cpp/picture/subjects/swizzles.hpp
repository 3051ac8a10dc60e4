// Pictures of swizzles: what lies where before and after, by bank of shared memory.
#pragma once

#include "picture/subjects/layouts.hpp"

namespace tilewright::picture {

// A swizzle on the smallest block that it permutes: a cell stands for 2^m elements in a row, and a row is what the
// shift spans. Without a memory an element is one of which 2^m make 16 bytes; `at` is an offset to mark.
Picture swizzle_picture(const Swizzle& swizzle, const std::optional<Memory>& memory, std::optional<int64_t> at,
                        int64_t most);

enum class Only { kBoth, kBefore, kAfter };
// A swizzled layout before and after the swizzle, R(c) = S(offset + outer(c)).
Picture swizzled_picture(const ComposedLayout& layout, Style style, Only only);

}  // namespace tilewright::picture
