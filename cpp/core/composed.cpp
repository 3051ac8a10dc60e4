#include "composed.hpp"

#include <numeric>

#include <algorithm>
#include <bit>

#include "law.hpp"
#include "modes.hpp"
#include "steps.hpp"
#include "symbolic.hpp"

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
  if (offset.is_symbolic()) {
    // The bits below the ones that change are kept, and so is what of the divisor they hold.
    const int64_t divisor = std::gcd(divisibility(offset), int64_t{1} << swizzle.base());
    return symbolic_int(symbols()->swizzle(offset, swizzle.y_mask(), swizzle.shift()), divisor, offset.is_wide());
  }
  const int64_t value = swizzle(offset.value);
  return offset.is_static() ? static_int(value) : dynamic_int(value, 1, offset.is_wide());
}

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

void note_outer(const ComposedLayout& layout) { note(step::kOnOuter, layout); }

std::string inner_text(const Inner& inner) {
  if (const auto* swizzle = std::get_if<Swizzle>(&inner)) return to_string(*swizzle);
  if (const auto* layout = std::get_if<Layout>(&inner)) return to_string(*layout);
  return std::get<std::shared_ptr<const Function>>(inner)->text();
}

std::string to_string(const ComposedLayout& layout) {
  return concat(inner_text(layout.inner()), " o ", to_string(layout.offset()), " o ", to_string(layout.outer()));
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

AnyLayout composition(const Layout& layout, const Swizzle& swizzle) {
  if (swizzle.bits() == 0) return layout;
  if (has_basis(layout.stride()))
    fail("a layout with basis strides does not carry a swizzle: its offsets are coordinates");
  const Swizzle carried = Swizzle::from_masks(evaluate(layout, swizzle.y_mask()), evaluate(layout, swizzle.z_mask()));
  const AnyLayout result = composition(carried, layout);
  if (checks_enabled()) {
    const Chain expected = Chain::coordinate(layout).then(swizzle).then(layout);
    require_equal(chain_of(result), expected, size(layout).value, "A(B(i))", [&](const CounterExample& at) {
      return concat("the layout does not carry the bits of the swizzle; at ", at.coordinate, " CuTe gives ", at.got,
                    ", but A(B(", at.coordinate, ")) = A(", swizzle(at.coordinate), ") = ", at.expected);
    });
  }
  return result;
}

namespace {

void require_integers(const Layout& layout, const ComposedLayout& composed) {
  const auto* inner = std::get_if<Layout>(&composed.inner());
  const bool from_zero = composed.offset().is_leaf() && composed.offset().leaf().is(0);
  if (!from_zero || (composed.swizzle() == nullptr && inner == nullptr) || (inner && has_basis(inner->stride())) ||
      has_basis(composed.outer().stride())) {
    fail(concat("a layout composes with ", to_string(composed),
                " only where its inner function is a swizzle or a layout, of integers, and its offset is 0"));
  }
  if (has_basis(layout.stride()))
    fail("a layout with basis strides does not compose with a composed layout: its offsets are coordinates");
}

}  // namespace

// CuTe carries the inner function through the layout without asking where the outer one leads. Only the law of the
// whole counts: a layout that does not carry the swizzle everywhere may do so on the image of the outer layout.
AnyLayout composition(const Layout& layout, const ComposedLayout& composed) {
  require_integers(layout, composed);
  const AnyLayout result = [&]() -> AnyLayout {
    const Unchecked scope;
    const Swizzle* swizzle = composed.swizzle();
    if (swizzle == nullptr) {
      const Layout inside = composition(LayoutView(layout), LayoutView(std::get<Layout>(composed.inner())));
      return composition(LayoutView(inside), LayoutView(composed.outer()));
    }
    const AnyLayout carried = composition(layout, *swizzle);
    const Layout inside = composition(LayoutView(layout), LayoutView(composed.outer()));
    if (const auto* behind = std::get_if<ComposedLayout>(&carried)) return behind->with_outer(inside);
    return inside;
  }();
  if (!checks_enabled()) return result;
  const int64_t count = size(composed.outer()).value;
  require_size(result, count, "the right layout");
  const Chain right = chain_of(composed);
  require_equal(chain_of(result), Chain(right).then(layout), count, "A(B(i))", [&](const CounterExample& at) {
    return concat("the layout does not carry the bits of the right one; at ", at.coordinate, " CuTe gives ", at.got,
                  ", but A(B(", at.coordinate, ")) = A(", right(at.coordinate), ") = ", at.expected);
  });
  return result;
}

// CuTe nests the second swizzle, S o c o (S' o 0 o L). Where the two merge behind the offset, one swizzle does it.
AnyLayout composition(const ComposedLayout& composed, const Swizzle& swizzle) {
  if (swizzle.bits() == 0) return composed;
  if (composed.swizzle() == nullptr)
    fail(concat("a swizzle composes with ", to_string(composed), " only where its inner function is a swizzle"));
  const Layout& layout = composed.outer();
  const AnyLayout carried = [&] {
    const Unchecked scope;
    return composition(layout, swizzle);
  }();
  const auto* behind = std::get_if<ComposedLayout>(&carried);
  const Swizzle merged = behind ? composition(*composed.swizzle(), *behind->swizzle()) : *composed.swizzle();
  const bool vanishes = merged.bits() == 0 && composed.offset().leaf().is(0);
  const AnyLayout result = vanishes ? AnyLayout(layout) : ComposedLayout(merged, composed.offset(), layout);
  // The form is not CuTe's, so its law is checked everywhere.
  const Chain expected = Chain::coordinate(layout).then(swizzle).then(layout).inside(composed);
  require_equal(chain_of(result), expected, size(layout).value, "A(B(i))", [&](const CounterExample& at) {
    return concat("no single swizzle does what ", to_string(composed), " and ", to_string(swizzle), " do; ",
                  text_of(result), " gives ", at.got, " at ", at.coordinate, ", but A(B(", at.coordinate, ")) = A(",
                  swizzle(at.coordinate), ") = ", at.expected);
  });
  return result;
}

}  // namespace tilewright
