// All offsets of a layout at once.
//
// The low modes make a pattern that stays in the first-level cache; every block of the output is that pattern plus one
// base, so the work per element is one load, one add and one store, whatever the rank.
#include <algorithm>
#include <array>

#include "function.hpp"
#include "modes.hpp"

namespace tilewright {

namespace {

constexpr int64_t kPattern = 2048;  // elements: 16 KiB

template <class Finish>
void write_blocks(const FlatFunction& layout, int64_t* out, Finish&& finish) {
  std::array<int64_t, kPattern> pattern;
  pattern[0] = 0;
  int64_t filled = 1;
  std::size_t split = 0;  // the first mode that the pattern does not hold whole
  auto extend = [&](int64_t steps, int64_t stride) {
    for (int64_t c = 1; c < steps; ++c) {
      for (int64_t j = 0; j < filled; ++j)
        pattern[static_cast<std::size_t>(c * filled + j)] = pattern[static_cast<std::size_t>(j)] + c * stride;
    }
  };
  const std::size_t rank = layout.extents.size();
  while (split < rank && layout.extents[split] <= kPattern / filled) {
    extend(layout.extents[split], layout.strides[split]);
    filled *= layout.extents[split++];
  }
  // Of the mode at the split the pattern holds `chunk` steps.
  const int64_t extent = split < rank ? layout.extents[split] : 1;
  const int64_t stride = split < rank ? layout.strides[split] : 0;
  const int64_t chunk = std::min(extent, kPattern / filled);
  extend(chunk, stride);
  SmallVector<int64_t, 8> digits;
  for (std::size_t k = split + 1; k < rank; ++k) digits.push_back(0);
  int64_t base = 0;
  for (bool more = true; more;) {
    for (int64_t c = 0; c < extent; c += chunk) {
      const int64_t count = std::min(chunk, extent - c) * filled;
      const int64_t start = base + c * stride;
      for (int64_t j = 0; j < count; ++j) out[j] = finish(pattern[static_cast<std::size_t>(j)] + start);
      out += count;
    }
    more = false;
    for (std::size_t k = 0; k < digits.size() && !more; ++k) {
      const std::size_t mode = split + 1 + k;
      base += layout.strides[mode];
      if (++digits[k] < layout.extents[mode]) {
        more = true;
      } else {
        base -= layout.extents[mode] * layout.strides[mode];
        digits[k] = 0;
      }
    }
  }
}

}  // namespace

void write_offsets(const AnyLayout& layout, int64_t* out) {
  if (const auto* plain = std::get_if<Layout>(&layout)) {
    if (has_basis(plain->stride())) fail("the offsets of a layout with basis strides are coordinates, not numbers");
    if (known(size(*plain)) == 0) return;
    offset_range(*plain);  // raises where an offset does not fit
    write_blocks(FlatFunction(modes_of(*plain)), out, [](int64_t offset) { return offset; });
    return;
  }
  const auto& composed = std::get<ComposedLayout>(layout);
  const int64_t count = known(size(composed.outer()));
  if (count == 0) return;
  if (const Swizzle* swizzle = composed.swizzle()) {
    const Range range = offset_range(composed.outer());
    const int64_t start = known(composed.offset().leaf());
    checked_add(range.max, start), checked_add(range.min, start);
    const int64_t mask = swizzle->y_mask();
    const FlatFunction flat(modes_of(composed.outer()));
    if (swizzle->shift() >= 0) {
      const int64_t shift = swizzle->shift();
      write_blocks(flat, out, [=](int64_t x) { return (x + start) ^ (((x + start) & mask) >> shift); });
    } else {
      const int64_t shift = -swizzle->shift();
      write_blocks(flat, out, [=](int64_t x) { return (x + start) ^ (((x + start) & mask) << shift); });
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    const IntTuple offset = composed(IntTuple(static_int(i)));
    if (!offset.is_leaf() || offset.leaf().has_basis()) fail("the inner function gives coordinates, not numbers");
    out[i] = known(offset.leaf());
  }
}

}  // namespace tilewright
