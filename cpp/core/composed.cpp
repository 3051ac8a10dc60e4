#include "composed.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "modes.hpp"

namespace tilewright {

Swizzle::Swizzle(int64_t bits, int64_t base, int64_t shift) : bits_(bits), base_(base), shift_(shift) {
  const std::string text = concat("S<", bits, ",", base, ",", shift, ">: ");
  if (bits < 0) fail(text + "the number of bits must not be negative");
  if (base < 0) fail(text + "the base must not be negative");
  if (bits > 62 || base > 62 || shift > 62 || shift < -62 || bits + base + std::abs(shift) > 62) {
    fail(text + "the bits reach too far (needs bits + base + |shift| <= 62)");
  }
  if (std::abs(shift) < bits) fail(text + "the bits that are read and changed overlap (needs |shift| >= bits)");
}

Swizzle Swizzle::from_masks(int64_t y, int64_t z) {
  const auto contiguous = [](uint64_t mask) {
    return mask == 0 || std::has_single_bit((mask >> std::countr_zero(mask)) + 1);
  };
  const auto uy = static_cast<uint64_t>(y), uz = static_cast<uint64_t>(z);
  if (y < 0 || z < 0 || std::popcount(uy) != std::popcount(uz)) {
    fail(concat("the masks Y = ", y, " and Z = ", z, " must be non-negative and have the same number of bits"));
  }
  if (!contiguous(uy) || !contiguous(uz))
    fail(concat("the bits of the masks Y = ", y, " and Z = ", z, " must be contiguous"));
  if (y == 0) return {0, 0, 0};
  const int64_t low_y = std::countr_zero(uy), low_z = std::countr_zero(uz);
  return {std::popcount(uy), std::min(low_y, low_z), low_y - low_z};
}

std::string to_string(const Swizzle& swizzle) {
  return concat("S<", swizzle.bits(), ",", swizzle.base(), ",", swizzle.shift(), ">");
}

ComposedLayout::ComposedLayout(Inner inner, IntTuple offset, Layout outer)
    : inner_(std::move(inner)), offset_(std::move(offset)), outer_(std::move(outer)) {
  if (std::holds_alternative<Swizzle>(inner_) && (!offset_.is_leaf() || has_basis(outer_.stride()))) {
    fail(concat("a swizzle takes integers, but the offset is ", to_string(offset_), " and the outer layout ",
                to_string(outer_)));
  }
}

namespace {

IntTuple add_offset(const IntTuple& offset, const IntTuple& value) {
  if (offset.is_leaf() && offset.leaf().is(0)) return value;
  if (offset.is_leaf() && value.is_leaf()) return IntTuple(add(offset.leaf(), value.leaf()));
  if (!congruent(offset, value)) {
    fail(concat("the offset ", to_string(offset), " and the value ", to_string(value),
                " of the outer layout have different profiles"));
  }
  Nodes nodes = value.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!nodes[i].is_tuple()) nodes[i] = add(offset.nodes()[i], nodes[i]);
  }
  return IntTuple(std::move(nodes));
}

Node apply(const Swizzle& swizzle, const Node& offset) {
  const int64_t value = swizzle(offset.value);
  return offset.is_static() ? static_int(value) : dynamic_int(value, 1, offset.is_wide());
}

}  // namespace

IntTuple ComposedLayout::operator()(TupleView coord) const {
  const IntTuple argument = add_offset(offset_, crd2idx(coord, outer_));
  if (const Swizzle* s = swizzle()) return IntTuple(apply(*s, argument.leaf()));
  if (const Layout* layout = std::get_if<Layout>(&inner_)) return crd2idx(argument, *layout);
  return std::get<std::shared_ptr<const Function>>(inner_)->call(argument);
}

bool operator==(const ComposedLayout& a, const ComposedLayout& b) {
  if (a.inner_.index() != b.inner_.index() || !(a.offset_ == b.offset_) || !(a.outer_ == b.outer_)) return false;
  if (const auto* function = std::get_if<std::shared_ptr<const Function>>(&a.inner_)) {
    return (*function)->equals(*std::get<std::shared_ptr<const Function>>(b.inner_));
  }
  if (const Swizzle* swizzle = a.swizzle()) return *swizzle == *b.swizzle();
  return std::get<Layout>(a.inner_) == std::get<Layout>(b.inner_);
}

namespace {

std::string inner_text(const Inner& inner) {
  if (const auto* swizzle = std::get_if<Swizzle>(&inner)) return to_string(*swizzle);
  if (const auto* layout = std::get_if<Layout>(&inner)) return to_string(*layout);
  return std::get<std::shared_ptr<const Function>>(inner)->text();
}

// A tuple offset is printed with spaces, as CuTeDSL does.
std::string offset_text(const IntTuple& offset) {
  std::string text;
  for (const char c : to_string(offset)) {
    text += c;
    if (c == ',') text += ' ';
  }
  return text;
}

}  // namespace

std::string to_string(const ComposedLayout& layout) {
  return concat(inner_text(layout.inner()), " o ", offset_text(layout.offset()), " o ", to_string(layout.outer()));
}

std::size_t hash_value(const ComposedLayout& layout) {
  const auto* function = std::get_if<std::shared_ptr<const Function>>(&layout.inner());
  std::size_t hash = function ? (*function)->hash() : std::hash<std::string>{}(inner_text(layout.inner()));
  for (const std::size_t part :
       {hash_value(layout.offset()), hash_value(layout.outer().shape()), hash_value(layout.outer().stride())}) {
    hash = hash * 1000003u ^ part;
  }
  return hash;
}

// ---- composition
// ------------------------------------------------------------------------------------------------------------

Swizzle composition(const Swizzle& a, const Swizzle& b) {
  if (a.bits() == 0) return b;
  if (b.bits() == 0) return a;
  if (a.shift() != b.shift()) {
    fail(concat("only swizzles of the same shift merge into one, but the shifts are ", a.shift(), " and ", b.shift()));
  }
  const Swizzle merged = Swizzle::from_masks(a.y_mask() ^ b.y_mask(), a.z_mask() ^ b.z_mask());
  if (checks_enabled()) {
    // Linear over F2: equal on every single bit means equal everywhere.
    for (int bit = 0; bit < 62; ++bit) {
      const int64_t x = int64_t{1} << bit;
      if (merged(x) != a(b(x))) {
        throw LayoutError(concat("the Z bits of one feed the Y bits of the other; at ", x, " CuTe gives ",
                                 to_string(merged), "(", x, ") = ", merged(x), ", but A(B(", x, ")) = ", a(b(x))),
                          CounterExample{x, merged(x), a(b(x))});
      }
    }
  }
  return merged;
}

AnyLayout composition(const Swizzle& swizzle, const Layout& layout) {
  if (swizzle.bits() == 0) return layout;
  return ComposedLayout(swizzle, IntTuple(static_int(0)), layout);
}

namespace {

bool is_power_of_two(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

// Whether a layout copies each bit of its coordinate to a bit of its offset, no two to the same: then a law that is
// linear over F2 holds everywhere once it holds on single bits.
bool permutes_bits(const Modes& modes) {
  int64_t used = 0;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const Mode& mode = modes[i];
    const bool last = i + 1 == modes.size();
    if (mode.extent.value == 1 && !last) continue;
    if (!is_power_of_two(mode.extent.value) || !is_power_of_two(mode.stride.value)) return false;
    // A swizzle may leave the layout's domain, where the last mode goes on: its bits must lie above all others.
    if (last && used >= mode.stride.value) return false;
    if (mode.extent.value > (int64_t{1} << 61) / mode.stride.value) return false;
    const int64_t bits = (mode.extent.value - 1) * mode.stride.value;
    if ((used & bits) != 0) return false;
    used |= bits;
  }
  return true;
}

}  // namespace

AnyLayout composition(const Layout& layout, const Swizzle& swizzle) {
  if (swizzle.bits() == 0) return layout;
  if (has_basis(layout.stride()))
    fail("a layout with basis strides does not carry a swizzle: its offsets are coordinates");
  const Swizzle carried = Swizzle::from_masks(evaluate(layout, swizzle.y_mask()), evaluate(layout, swizzle.z_mask()));
  if (checks_enabled()) {
    const Modes modes = modes_of(layout);
    const FlatFunction function(modes);
    auto test = [&](int64_t i) {
      const int64_t got = carried(function(i));
      const int64_t expected = function(swizzle(i));
      if (got == expected) return;
      throw LayoutError(concat("the layout does not carry the bits of the swizzle; at ", i, " CuTe gives ", got,
                               ", but A(B(", i, ")) = A(", swizzle(i), ") = ", expected),
                        CounterExample{i, got, expected});
    };
    const int64_t count = function.size();
    if (permutes_bits(modes)) {
      for (int64_t bit = 1; bit < count; bit *= 2) test(bit);
    } else {
      for (int64_t i = 0; i < std::min(count, kScanLimit); ++i) test(i);
    }
  }
  return ComposedLayout(carried, IntTuple(static_int(0)), layout);
}

AnyLayout composition(const Layout& layout, const ComposedLayout& composed) {
  const bool from_zero = composed.offset().is_leaf() && composed.offset().leaf().is(0);
  if (composed.swizzle() == nullptr || !from_zero) {
    fail(concat("a layout composes with ", to_string(composed),
                " only where its inner function is a swizzle and its offset is 0"));
  }
  const AnyLayout outer = composition(layout, *composed.swizzle());
  const Layout inside = composition(layout, composed.outer());
  if (const auto* carried = std::get_if<ComposedLayout>(&outer)) return carried->with_outer(inside);
  return inside;
}

// ---- inverses
// ---------------------------------------------------------------------------------------------------------------

namespace {

const Swizzle& require_swizzle(const ComposedLayout& layout, const char* what) {
  const bool from_zero = layout.offset().is_leaf() && layout.offset().leaf().is(0);
  if (layout.swizzle() == nullptr || !from_zero) {
    fail(concat("the ", what, " of ", to_string(layout),
                " is known only where the inner function is a swizzle and the offset is 0"));
  }
  return *layout.swizzle();
}

// The inverse of swizzle o outer is inverse o swizzle; its law is checked as a whole, so the carrying is not checked by
// itself.
ComposedLayout carry_inverse(const Layout& inverse, const Swizzle& swizzle) {
  const Unchecked scope;
  const AnyLayout carried = composition(inverse, swizzle);
  if (const auto* composed = std::get_if<ComposedLayout>(&carried)) return *composed;
  return {swizzle, IntTuple(static_int(0)), std::get<Layout>(carried)};
}

void verify_identity(const ComposedLayout& outer, const ComposedLayout& inner, const char* law) {
  const int64_t count = std::min(size(inner.outer()).value, kScanLimit);
  const FlatFunction f(modes_of(outer.outer())), g(modes_of(inner.outer()));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t got = (*outer.swizzle())(f((*inner.swizzle())(g(i))));
    if (got != i) {
      throw LayoutError(concat(law, " fails for CuTe's answer: at ", i, " it gives ", got), CounterExample{i, got, i});
    }
  }
}

}  // namespace

ComposedLayout right_inverse(const ComposedLayout& layout) {
  const Swizzle& swizzle = require_swizzle(layout, "right inverse");
  ComposedLayout inverse = carry_inverse(right_inverse(layout.outer()), swizzle);
  if (checks_enabled()) verify_identity(layout, inverse, "A(R(i)) = i");
  return inverse;
}

ComposedLayout left_inverse(const ComposedLayout& layout) {
  const Swizzle& swizzle = require_swizzle(layout, "left inverse");
  ComposedLayout inverse = carry_inverse(left_inverse(layout.outer()), swizzle);
  if (checks_enabled()) verify_identity(inverse, layout, "L(A(i)) = i");
  return inverse;
}

Layout max_common_layout(const AnyLayout& a, const AnyLayout& b) {
  const auto* plain_a = std::get_if<Layout>(&a);
  const auto* plain_b = std::get_if<Layout>(&b);
  if (plain_a && plain_b) return max_common_layout(LayoutView(*plain_a), LayoutView(*plain_b));
  const auto* composed_a = std::get_if<ComposedLayout>(&a);
  const auto* composed_b = std::get_if<ComposedLayout>(&b);
  for (const ComposedLayout* composed : {composed_a, composed_b}) {
    if (composed && composed->swizzle() == nullptr)
      fail(concat("the common vector of ", to_string(*composed), " is known only for swizzles"));
  }
  const Layout& outer_a = composed_a ? composed_a->outer() : *plain_a;
  const Layout& outer_b = composed_b ? composed_b->outer() : *plain_b;
  const Layout vector = max_common_layout(LayoutView(outer_a), LayoutView(outer_b));
  if (composed_a && composed_b && *composed_a->swizzle() == *composed_b->swizzle()) return vector;
  // A swizzle keeps runs of 2^M together.
  int64_t run = size(vector).value;
  for (const ComposedLayout* composed : {composed_a, composed_b}) {
    if (composed && composed->swizzle()->bits() > 0) run = std::min(run, int64_t{1} << composed->swizzle()->base());
  }
  return composition(vector, Layout::leaf(static_int(run), static_int(1)));
}

// ---- recast
// -----------------------------------------------------------------------------------------------------------------

namespace {

int64_t log2_exact(int64_t n) {
  if (!is_power_of_two(n)) fail(concat("a swizzle is recast by powers of two only, but got ", n));
  return std::countr_zero(static_cast<uint64_t>(n));
}

}  // namespace

Swizzle upcast(const Swizzle& swizzle, int64_t n) {
  const int64_t down = log2_exact(n);
  if (swizzle.base() >= down) return {swizzle.bits(), swizzle.base() - down, swizzle.shift()};
  const int64_t lost = std::min(down - swizzle.base(), swizzle.bits());
  if (checks_enabled() && swizzle.bits() > 0) {
    fail(concat(to_string(swizzle), " permutes offsets inside an element ", n, " times as wide: 2^", swizzle.base(),
                " offsets stay together, ", n, " are needed; CuTe drops those bits"));
  }
  return {swizzle.bits() - lost, 0, swizzle.shift()};
}

Swizzle downcast(const Swizzle& swizzle, int64_t n) {
  return {swizzle.bits(), swizzle.base() + log2_exact(n), swizzle.shift()};
}

namespace {

template <class T, class Up, class Down>
T recast_by(const T& value, int64_t old_bits, int64_t new_bits, Up&& up, Down&& down) {
  if (old_bits <= 0 || new_bits <= 0)
    fail(concat("widths must be positive, but got ", old_bits, " and ", new_bits, " bits"));
  const int64_t common = std::gcd(old_bits, new_bits);
  const int64_t wider = new_bits / common;
  const int64_t narrower = old_bits / common;
  if (wider == 1) return narrower == 1 ? value : down(value, narrower);
  if (narrower == 1) return up(value, wider);
  return down(up(value, wider), narrower);
}

}  // namespace

Swizzle recast(const Swizzle& swizzle, int64_t old_bits, int64_t new_bits) {
  return recast_by(
      swizzle, old_bits, new_bits, [](const Swizzle& s, int64_t n) { return upcast(s, n); },
      [](const Swizzle& s, int64_t n) { return downcast(s, n); });
}

ComposedLayout upcast(const ComposedLayout& layout, int64_t n) {
  if (layout.swizzle() == nullptr)
    fail(concat("recasting ", to_string(layout), " is known only where the inner function is a swizzle"));
  const Node& offset = layout.offset().leaf();
  if (n > 0 && offset.value % n != 0 && checks_enabled()) {
    fail(concat("the offset ", offset.value, " lies inside an element ", n, " times as wide"));
  }
  return {upcast(*layout.swizzle(), n), IntTuple(div(offset, static_int(n))), upcast(layout.outer(), n)};
}

ComposedLayout downcast(const ComposedLayout& layout, int64_t n) {
  if (layout.swizzle() == nullptr)
    fail(concat("recasting ", to_string(layout), " is known only where the inner function is a swizzle"));
  return {downcast(*layout.swizzle(), n), IntTuple(mul(layout.offset().leaf(), static_int(n))),
          downcast(layout.outer(), n)};
}

ComposedLayout recast(const ComposedLayout& layout, int64_t old_bits, int64_t new_bits) {
  return recast_by(
      layout, old_bits, new_bits, [](const ComposedLayout& l, int64_t n) { return upcast(l, n); },
      [](const ComposedLayout& l, int64_t n) { return downcast(l, n); });
}

// ---- slices
// -----------------------------------------------------------------------------------------------------------------

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

void verify_slice(const SlicedComposed& sliced, const Swizzle& swizzle, const Node& offset, const Layout& kept) {
  const auto* composed = std::get_if<ComposedLayout>(&sliced.layout);
  const Layout& outer = composed ? composed->outer() : std::get<Layout>(sliced.layout);
  const FlatFunction whole(modes_of(kept)), part(modes_of(outer));
  const int64_t count = std::min(whole.size(), kScanLimit);
  for (int64_t i = 0; i < count && kept.rank() > 0; ++i) {
    const int64_t inside = composed ? (*composed->swizzle())(composed->offset().leaf().value + part(i)) : part(i);
    const int64_t got = sliced.offset.leaf().value + inside;
    const int64_t expected = swizzle(offset.value + whole(i));
    if (got != expected) {
      throw LayoutError(concat("the offset ", offset.value, " of the slice and ", to_string(kept),
                               " carry into each other's bits of ", to_string(swizzle), "; at coordinate ", i,
                               " CuTe gives ", got, ", but the element lies at ", expected),
                        CounterExample{i, got, expected});
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
  const IntTuple start = add_offset(layout.offset(), sliced.offset);
  const Swizzle* swizzle = layout.swizzle();
  if (swizzle == nullptr) return {ComposedLayout(layout.inner(), start, sliced.layout), IntTuple(static_int(0))};
  const Node offset = start.leaf();
  const int64_t active = touched_bits(sliced.layout) & (swizzle->y_mask() | swizzle->z_mask());
  const bool collides = (active & ~(*swizzle)(active)) != 0;
  const Varying varying = varying_part(coord, layout);
  // A number is static where no dynamic coordinate reaches the bits that make it up.
  auto part = [&](int64_t value, bool dynamic) {
    return dynamic ? dynamic_int(value, 1, offset.is_wide()) : static_int(value);
  };
  auto make = [&]() -> SlicedComposed {
    if (collides) {
      // Of what the slice consumes, the bits that the swizzle sees stay inside.
      const int64_t mask = swizzle->y_mask() | swizzle->z_mask();
      const int64_t consumed = sliced.offset.leaf().value;
      const IntTuple inside(
          part(checked_add(layout.offset().leaf().value, consumed & mask), (varying.bits & mask) != 0));
      return {ComposedLayout(*swizzle, inside, sliced.layout),
              IntTuple(part(consumed & ~mask, varying.degenerate || (varying.bits & ~mask) != 0))};
    }
    const Composed decayed = compose(bits_from(*swizzle, offset, varying.bits), sliced.layout);
    return {decayed.layout, IntTuple(part((*swizzle)(offset.value), varying.degenerate || varying.bits != 0))};
  };
  SlicedComposed result = make();
  if (checks_enabled()) verify_slice(result, *swizzle, offset, sliced.layout);
  return result;
}

}  // namespace tilewright
