// Slices of swizzled layouts.
#include <algorithm>
#include <bit>
#include <numeric>
#include <optional>
#include <vector>

#include "composed.hpp"
#include "law.hpp"
#include "modes.hpp"
#include "symbolic.hpp"

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

// A number of bits. Of one that nobody knows yet, `fixed` has the bits that its known parts give, as long as what is
// not known touches others.
struct Bits {
  Node node;
  int64_t fixed;
};

Bits bits_of(const Node& node) { return {node, node.is_symbolic() ? 0 : node.value}; }

int64_t combined(SymbolicOp op, int64_t a, int64_t b) {
  switch (op) {
    case SymbolicOp::kMul:
      return checked_mul(a, b);
    case SymbolicOp::kAnd:
      return a & b;
    case SymbolicOp::kXor:
      return a ^ b;
    default:
      return checked_add(a, b);
  }
}

Bits combine(SymbolicOp op, const Bits& a, const Bits& b) {
  const int64_t fixed = combined(op, a.fixed, b.fixed);
  if (a.node.is_static() && b.node.is_static()) return {static_int(fixed), fixed};
  if (op == SymbolicOp::kAdd) return {add(a.node, b.node), fixed};
  if (op == SymbolicOp::kMul) return {mul(a.node, b.node), fixed};
  if (op == SymbolicOp::kXor && (a.node.is(0) || b.node.is(0))) return {a.node.is(0) ? b.node : a.node, fixed};
  // Low bits that are 0 in both, of `and` in one of them, are 0 in the result.
  const auto low = [](const Bits& x) {
    const int64_t divisor = divisibility(x.node);
    return divisor == 0 ? int64_t{1} << 31 : divisor & -divisor;
  };
  const int64_t divisor = op == SymbolicOp::kAnd ? std::max(low(a), low(b)) : std::min(low(a), low(b));
  if (!a.node.is_symbolic() && !b.node.is_symbolic())
    return {dynamic_int(fixed, divisor, a.node.is_wide() || b.node.is_wide()), fixed};
  return {symbolic(op, a.node, b.node, divisor), fixed};
}

// Every bit that some offset of the layout has.
int64_t touched_bits(LayoutView layout) {
  int64_t bits = 0;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    if (extent.is_symbolic() || stride.is_symbolic()) {
      bits = ~int64_t{0};
      return;
    }
    const int64_t steps = std::min<int64_t>(extent.value, 1 << 16);
    for (int64_t k = 0; k < steps; ++k) bits |= checked_mul(k, stride.value);
  });
  return bits;
}

// The swizzle seen from a fixed offset, bit by bit: a Z bit counts down where the offset has its Y bit, and a Y bit
// drags its Z bit along, up or down by whether the offset has that one. A stride is static where the bit that decides
// it is.
Layout bits_from(const Swizzle& swizzle, const Bits& offset, bool wide, int64_t dynamic_bits) {
  // base + sign * step, the sign by a bit of the offset
  auto number = [&](int64_t base, int64_t step, int64_t decider) {
    const int64_t value = base + ((offset.fixed & decider) != 0 ? -step : step);
    if ((dynamic_bits & decider) == 0) return static_int(value);
    const int64_t divisor = base == 0 ? step : std::min(base, step);
    if (!offset.node.is_symbolic()) return dynamic_int(value, divisor, wide);
    const Node place = static_int(std::countr_zero(static_cast<uint64_t>(decider)));
    const Node bit = symbolic(SymbolicOp::kAnd, symbolic(SymbolicOp::kShr, offset.node, place, 1), static_int(1), 1);
    return add(static_int(base + step), mul(static_int(-2 * step), bit));
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
      modes.push_back({static_int(2), is_z ? number(0, z, y) : number(y, z, z)});
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
  Bits inside;
  Bits outside;
};

// Whether a mode is a field of bits of its own. What CuTe composes with a projection for is masked there.
bool is_field(const Node& extent, const Node& stride) {
  if (extent.is_dynamic() || stride.is_dynamic() || extent.value <= 0 || stride.value < 0) return false;
  return (extent.value & (extent.value - 1)) == 0 && (stride.value & (stride.value - 1)) == 0;
}

bool all_fields(const Modes& modes) {
  return std::all_of(modes.begin(), modes.end(), [](const Mode& mode) { return is_field(mode.extent, mode.stride); });
}

// The coordinate with 0 for what nobody knows yet.
IntTuple without_unknown(TupleView coord) {
  return map_leaves(coord, [](const Node& leaf) { return leaf.is_symbolic() ? static_int(0) : leaf; });
}

// CuTe joins the swizzled bits of each digit of the coordinate to the offset by XOR, and adds up the others. Nothing
// where it rejects the layout, because a digit is not a field of bits.
std::optional<Start> joined(TupleView coord, const ComposedLayout& layout) {
  const Swizzle& swizzle = *layout.swizzle();
  const Layout fixed = dice(coord, LayoutView(layout.outer()));
  const IntTuple digits = dice(coord, coord);
  const auto times = [](const Node& digit, const Node& stride) {
    return combine(SymbolicOp::kMul, bits_of(digit), bits_of(stride));
  };
  Start start{bits_of(layout.offset().leaf()), bits_of(static_int(0))};
  if (const Modes modes = modes_of(fixed); all_fields(modes)) {
    const int64_t mask = swizzle.y_mask() | swizzle.z_mask();
    std::size_t k = 0;
    for_each_leaf(idx2crd(digits, fixed.shape()), [&](const Node& digit) {
      const Mode& mode = modes[k++];
      const Bits bits = times(digit, mode.stride);
      const int64_t reach = (mode.extent.value - 1) * mode.stride.value;
      const auto part = [&](int64_t kept) {
        if (bits.node.is_dynamic() && (reach & ~kept) == 0) return bits;
        return combine(SymbolicOp::kAnd, bits, bits_of(static_int(kept)));
      };
      if (bits.node.is_static() || (reach & mask) != 0)
        start.inside = combine(SymbolicOp::kXor, start.inside, part(mask));
      if (bits.node.is_static() || (reach & ~mask) != 0)
        start.outside = combine(SymbolicOp::kAdd, start.outside, part(~mask));
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
    for_each_leaf(at, [&](const Node& digit) {
      start.inside = combine(SymbolicOp::kXor, start.inside, times(digit, strides[k++].stride));
    });
    start.outside = {crd2idx(digits, others).leaf(), crd2idx(without_unknown(digits), others).leaf().value};
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
        start.inside.fixed + start.outside.fixed == offset
            ? concat("the offset ", offset, " of the slice and ", to_string(kept), " carry into each other's bits of ",
                     to_string(swizzle))
            : concat("the coordinate and the offset inside add up to ", offset, ", but CuTe joins the bits of ",
                     to_string(swizzle), " in them by XOR and gets ", start.inside.fixed + start.outside.fixed);
    return concat(cause, "; at coordinate ", at.coordinate, " CuTe gives ", at.got, ", but the element lies at ",
                  at.expected);
  });
}

constexpr int64_t kMostTried = int64_t{1} << 14;  // values of a coordinate

// The bits that multiples of a stride have; nothing of one that is negative.
std::optional<int64_t> bits_of_mode(const Mode& mode) {
  if (mode.stride.value < 0) return std::nullopt;
  if (mode.extent.value <= 1 || mode.stride.is(0)) return 0;
  const int64_t last = checked_mul(mode.extent.value - 1, mode.stride.value);
  if (is_field(mode.extent, mode.stride)) return last;
  // Multiples of a number that is no power of two have any bits up to the highest one, but for its low zeros.
  const int64_t up = (int64_t{1} << (63 - std::countl_zero(static_cast<uint64_t>(last)) + 1)) - 1;
  return up & -(mode.stride.value & -mode.stride.value);
}

// Whether no sum of an offset, of what these modes add to it and of what is kept carries from one of them into another:
// then it does not matter to a swizzle which values the coordinates have.
bool never_carries(int64_t offset, const Modes& varying, const Modes& kept) {
  int64_t seen = offset;
  for (const Modes* modes : {&varying, &kept}) {
    for (const Mode& mode : *modes) {
      const std::optional<int64_t> bits = bits_of_mode(mode);
      if (!bits || (seen & *bits) != 0) return false;
      seen |= *bits;
    }
  }
  return true;
}

// The modes, one behind the other, whose coordinate nobody knows yet; how many values each coordinate has.
struct OpenDigits {
  Modes modes;
  std::vector<int64_t> counts;
};

OpenDigits unknown_part(TupleView coord, LayoutView modes) {
  OpenDigits unknown;
  auto visit = [&](auto&& self, TupleView part, LayoutView of) -> void {
    if (part.is_leaf()) {
      if (!part->is_symbolic()) return;
      for (const Mode& mode : modes_of(Layout(of))) unknown.modes.push_back(mode);
      unknown.counts.push_back(size(of).value);
      return;
    }
    for (int64_t i = 0; i < part.rank(); ++i) self(self, part.mode(i), of.mode(i));
  };
  visit(visit, coord, modes);
  return unknown;
}

// A slice at a coordinate that nobody knows yet is right at each of its values, or refused.
void require_at_each_value(TupleView coord, const ComposedLayout& layout, const Layout& kept) {
  const Swizzle& swizzle = *layout.swizzle();
  const Node& offset = layout.offset().leaf();
  if (swizzle.bits() == 0 || kept.rank() == 0 || offset.is_symbolic() || has_symbol(layout.outer())) return;
  const OpenDigits unknown = unknown_part(coord, layout.outer());
  if (unknown.counts.empty()) return;
  const Sliced known = slice_and_offset(without_unknown(coord), LayoutView(layout.outer()));
  const Node start = add_offset(layout.offset(), known.offset).leaf();
  if (start.value >= 0 && never_carries(start.value, unknown.modes, modes_of(kept))) return;
  int64_t all = 1;
  for (const int64_t count : unknown.counts) all = count > kMostTried / all ? kMostTried + 1 : all * count;
  if (all > kMostTried) {
    throw LayoutError(concat("the coordinate is known only at run time, and what it adds to ", to_string(kept),
                             " may carry into the bits of ", to_string(swizzle),
                             "; give the tile extents and strides that are powers of two"));
  }
  const CheckedWhileTracing scope(true);
  for (int64_t i = 0; i < all; ++i) {
    const auto with = [&](auto number) {
      int64_t left = i;
      std::size_t k = 0;
      return map_leaves(coord, [&](const Node& leaf) {
        if (!leaf.is_symbolic()) return leaf;
        const int64_t count = unknown.counts[k++];
        const Node value = number(left % count, leaf);
        left /= count;
        return value;
      });
    };
    const IntTuple at = with([](int64_t value, const Node& leaf) { return dynamic_int(value, 1, leaf.is_wide()); });
    try {
      slice_and_offset(at, layout);
    } catch (const LayoutError& error) {
      const IntTuple shown = with([](int64_t value, const Node&) { return static_int(value); });
      throw LayoutError(concat("the coordinate is known only at run time, and at ", to_string(shown), " ", error.what(),
                               "; put the swizzle on the pointer (make_ptr, allocate_tensor with swizzle=)"
                               " or give the tile extents and strides that are powers of two"));
    }
  }
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
  auto part = [&](const Bits& bits, bool dynamic) {
    if (!dynamic) return IntTuple(static_int(bits.fixed));
    return IntTuple(bits.node.is_dynamic() ? bits.node : dynamic_int(bits.fixed, 1, offset.is_wide()));
  };
  const auto whole_start = [&] {
    const Sliced fixed = slice_and_offset(without_unknown(coord), LayoutView(layout.outer()));
    const IntTuple start = add_offset(without_unknown(layout.offset()), fixed.offset);
    return Start{{offset, start.leaf().is_symbolic() ? 0 : start.leaf().value}, bits_of(static_int(0))};
  };
  const std::optional<Start> parts = joined(coord, layout);
  const Start start = parts ? *parts : whole_start();
  const SlicedComposed result = [&]() -> SlicedComposed {
    if (collides(*swizzle, sliced.layout)) {
      const int64_t mask = swizzle->y_mask() | swizzle->z_mask();
      return {ComposedLayout(*swizzle, part(start.inside, (varying.bits & mask) != 0), sliced.layout),
              part(start.outside, varying.degenerate || (varying.bits & ~mask) != 0)};
    }
    const Composed decayed = compose(bits_from(*swizzle, start.inside, offset.is_wide(), varying.bits), sliced.layout);
    const Bits changed{apply(*swizzle, start.inside.node), (*swizzle)(start.inside.fixed)};
    return {decayed.layout,
            part(combine(SymbolicOp::kAdd, changed, start.outside), varying.degenerate || varying.bits != 0)};
  }();
  if (checks_enabled()) require_slice(result, *swizzle, known(offset), sliced.layout, start);
  if (checks_wanted()) require_at_each_value(coord, layout, sliced.layout);
  return result;
}

}  // namespace tilewright
