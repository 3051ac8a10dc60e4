// Slices of swizzled layouts.
#include <algorithm>
#include <optional>

#include "composed.hpp"
#include "law.hpp"
#include "modes.hpp"

namespace tilewright {

Layout projection(const Swizzle& swizzle, bool swizzled) {
  const int64_t distance = swizzle.shift() < 0 ? -swizzle.shift() : swizzle.shift();
  const int64_t block = int64_t{1} << swizzle.bits(), low = int64_t{1} << swizzle.base();
  Modes modes;
  auto field = [&](int64_t extent, int64_t stride, bool belongs) {
    modes.push_back({static_int(extent), static_int(belongs == swizzled ? stride : 0)});
  };
  field(low, 1, false);
  field(block, low, true);
  field(int64_t{1} << (distance - swizzle.bits()), low << swizzle.bits(), false);
  field(block, low << distance, true);
  field(1, swizzle.period(), false);
  return from_modes(modes);
}

namespace {

// Every bit that some offset of the layout has.
int64_t touched_bits(LayoutView layout) {
  int64_t bits = 0;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    const int64_t steps = std::min<int64_t>(extent.value, 1 << 16);
    for (int64_t k = 0; k < steps; ++k) bits |= checked_mul(k, stride.value);
  });
  return bits;
}

// The swizzle seen from a fixed offset, bit by bit: a Z bit counts down where the offset has its Y bit, and a Y bit
// drags its Z bit along, up or down by whether the offset has that one. A stride is static where the bit that decides
// it is.
Layout bits_from(const Swizzle& swizzle, const Node& offset, int64_t dynamic_bits) {
  auto number = [&](int64_t value, int64_t decider) {
    return (dynamic_bits & decider) == 0 ? static_int(value) : dynamic_int(value, 1, offset.is_wide());
  };
  const int64_t distance = swizzle.shift() < 0 ? -swizzle.shift() : swizzle.shift();
  const int64_t y_low = swizzle.base() + std::max<int64_t>(0, swizzle.shift());
  const int64_t z_low = swizzle.base() - std::min<int64_t>(0, swizzle.shift());
  Modes modes;
  modes.push_back({static_int(int64_t{1} << swizzle.base()), static_int(1)});
  auto bits = [&](bool lower) {
    for (int64_t i = 0; i < swizzle.bits(); ++i) {
      const int64_t y = int64_t{1} << (y_low + i);
      const int64_t z = int64_t{1} << (z_low + i);
      const bool is_z = lower == (swizzle.shift() >= 0);
      const int64_t stride = is_z ? ((offset.value & y) != 0 ? -z : z) : y + ((offset.value & z) != 0 ? -z : z);
      modes.push_back({static_int(2), number(stride, is_z ? y : z)});
    }
  };
  bits(true);
  modes.push_back({static_int(int64_t{1} << (distance - swizzle.bits())),
                   static_int(int64_t{1} << (swizzle.base() + swizzle.bits()))});
  bits(false);
  modes.push_back({static_int(1), static_int(swizzle.period())});
  return from_modes(modes);
}

// What dynamic coordinates leave open in the offset of a slice.
struct Varying {
  int64_t bits = 0;
  // A dynamic coordinate of a mode of extent 1 sets no bit, but in CuTe's types the offset depends on it.
  bool degenerate = false;
};

Varying varying_part(TupleView coord, const ComposedLayout& layout) {
  Varying varying;
  if (layout.offset().leaf().is_dynamic()) varying.bits = ~int64_t{0};
  auto visit = [&](auto&& self, TupleView part, LayoutView modes) -> void {
    if (part.is_leaf()) {
      if (!part->is_integer() || part->is_static()) return;
      varying.bits |= touched_bits(modes);
      for_each_leaf(modes, [&](const Node& extent, const Node& stride) {
        varying.degenerate = varying.degenerate || (extent.is(1) && !stride.is(0));
      });
      return;
    }
    for (int64_t i = 0; i < part.rank(); ++i) self(self, part.mode(i), modes.mode(i));
  };
  visit(visit, coord, layout.outer());
  return varying;
}

// The offset inside the swizzle of a slice, and what its coordinate adds outside.
struct Start {
  int64_t inside;
  int64_t outside;
};

// Whether a mode is a field of bits of its own. What CuTe composes with a projection for is masked there.
bool is_field(const Node& extent, const Node& stride) {
  if (extent.is_dynamic() || stride.is_dynamic() || extent.value <= 0 || stride.value < 0) return false;
  return (extent.value & (extent.value - 1)) == 0 && (stride.value & (stride.value - 1)) == 0;
}

bool all_fields(const Modes& modes) {
  return std::all_of(modes.begin(), modes.end(), [](const Mode& mode) { return is_field(mode.extent, mode.stride); });
}

// CuTe joins the swizzled bits of each digit of the coordinate to the offset by XOR, and adds up the others. Nothing
// where it rejects the layout, because a digit is not a field of bits.
std::optional<Start> joined(TupleView coord, const ComposedLayout& layout) {
  const Swizzle& swizzle = *layout.swizzle();
  const Layout fixed = dice(coord, LayoutView(layout.outer()));
  const IntTuple digits = dice(coord, coord);
  Start start{layout.offset().leaf().value, 0};
  if (const Modes modes = modes_of(fixed); all_fields(modes)) {
    const int64_t mask = swizzle.y_mask() | swizzle.z_mask();
    std::size_t k = 0;
    for_each_leaf(idx2crd(digits, fixed.shape()), [&](const Node& digit) {
      const int64_t bits = checked_mul(digit.value, modes[k++].stride.value);
      start.inside ^= bits & mask;
      start.outside = checked_add(start.outside, bits & ~mask);
    });
    return start;
  }
  try {
    const Layout bits = compose(projection(swizzle, true), fixed).layout;
    const Layout others = compose(projection(swizzle, false), fixed).layout;
    for (const Mode& mode : modes_of(bits)) {
      const Node top = mul(mode.extent, mode.stride);
      if (top.is_dynamic() || top.value < 0 || (top.value & (top.value - 1)) != 0) return std::nullopt;
    }
    const IntTuple at = idx2crd(digits, bits.shape());
    std::size_t k = 0;
    const Modes strides = modes_of(bits);
    for_each_leaf(at, [&](const Node& digit) { start.inside ^= checked_mul(digit.value, strides[k++].stride.value); });
    start.outside = crd2idx(digits, others).leaf().value;
  } catch (const LayoutError&) {
    return std::nullopt;
  }
  return start;
}

// Whether the modes that are kept reach a bit of the swizzle and the one it is paired with. CuTe looks at the last of
// their offsets, and takes a dynamic one for neither.
bool collides(const Swizzle& swizzle, const Layout& kept) {
  const int64_t mask = swizzle.y_mask() | swizzle.z_mask();
  int64_t active = 0;
  if (const Modes modes = modes_of(kept); all_fields(modes)) {
    for (const Mode& mode : modes) active += ((mode.extent.value - 1) * mode.stride.value) & mask;
    return (active & ~swizzle(active)) != 0;
  }
  try {
    const Layout bits = compose(projection(swizzle, true), kept).layout;
    const IntTuple last(sub(size(bits), static_int(1)));
    const Node reached = crd2idx(last, bits).leaf();
    if (reached.is_dynamic()) return false;
    active = reached.value;
  } catch (const LayoutError&) {
    active = touched_bits(kept) & mask;
  }
  return (active & ~swizzle(active)) != 0;
}

void require_slice(const SlicedComposed& sliced, const Swizzle& swizzle, int64_t offset, const Layout& kept,
                   const Start& start) {
  if (kept.rank() == 0) {
    const int64_t got = sliced.offset.leaf().value + chain_of(sliced.layout)(0);
    if (got == swizzle(offset)) return;
    throw LayoutError(concat("CuTe gives the offset ", got, ", but the element lies at ", swizzle(offset)),
                      CounterExample{0, got, swizzle(offset)});
  }
  const int64_t count = size(kept).value;
  require_size(sliced.layout, count, "the slice");
  const Chain whole = Chain(modes_of(kept)).plus(offset).then(swizzle);
  const Chain got = chain_of(sliced.layout).plus(sliced.offset.leaf().value);
  require_equal(got, whole, count, "the layout", [&](const CounterExample& at) {
    const std::string cause =
        start.inside + start.outside == offset
            ? concat("the offset ", offset, " of the slice and ", to_string(kept), " carry into each other's bits of ",
                     to_string(swizzle))
            : concat("the coordinate and the offset inside add up to ", offset, ", but CuTe joins the bits of ",
                     to_string(swizzle), " in them by XOR and gets ", start.inside + start.outside);
    return concat(cause, "; at coordinate ", at.coordinate, " CuTe gives ", at.got, ", but the element lies at ",
                  at.expected);
  });
}

}  // namespace

SlicedComposed slice_and_offset(TupleView coord, const ComposedLayout& layout) {
  bool keeps_all = true;
  for_each_leaf(coord, [&](const Node& leaf) { keeps_all = keeps_all && leaf.is_none(); });
  const Sliced sliced = slice_and_offset(coord, LayoutView(layout.outer()));
  size(sliced.layout);  // raises before the work grows with the extents
  if (keeps_all) {
    const bool identity = layout.swizzle() && layout.swizzle()->bits() == 0 && layout.offset().leaf().is(0);
    if (identity) return {sliced.layout, IntTuple(static_int(0))};
    return {layout.with_outer(sliced.layout), IntTuple(static_int(0))};
  }
  const IntTuple whole = add_offset(layout.offset(), sliced.offset);
  const Swizzle* swizzle = layout.swizzle();
  if (swizzle == nullptr) return {ComposedLayout(layout.inner(), whole, sliced.layout), IntTuple(static_int(0))};
  const Node& offset = whole.leaf();
  const Varying varying = varying_part(coord, layout);
  // A number is static where no dynamic coordinate reaches the bits that make it up.
  auto part = [&](int64_t value, bool dynamic) {
    return IntTuple(dynamic ? dynamic_int(value, 1, offset.is_wide()) : static_int(value));
  };
  const Start start = joined(coord, layout).value_or(Start{offset.value, 0});
  const SlicedComposed result = [&]() -> SlicedComposed {
    if (collides(*swizzle, sliced.layout)) {
      const int64_t mask = swizzle->y_mask() | swizzle->z_mask();
      return {ComposedLayout(*swizzle, part(start.inside, (varying.bits & mask) != 0), sliced.layout),
              part(start.outside, varying.degenerate || (varying.bits & ~mask) != 0)};
    }
    Node inside = offset;
    inside.value = start.inside;
    const Composed decayed = compose(bits_from(*swizzle, inside, varying.bits), sliced.layout);
    return {decayed.layout,
            part(checked_add((*swizzle)(start.inside), start.outside), varying.degenerate || varying.bits != 0)};
  }();
  if (checks_enabled()) require_slice(result, *swizzle, offset.value, sliced.layout, start);
  return result;
}

}  // namespace tilewright
