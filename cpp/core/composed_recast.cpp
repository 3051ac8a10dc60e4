// Swizzles and composed layouts over elements of another width.
#include <bit>
#include <numeric>

#include "composed.hpp"
#include "law.hpp"
#include "modes.hpp"

namespace tilewright {

namespace {

int64_t log2_exact(int64_t n) {
  if (n <= 0 || !std::has_single_bit(static_cast<uint64_t>(n)))
    fail(concat("a swizzle is recast by powers of two only, but got ", n));
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

namespace {

void require_recastable(const ComposedLayout& layout) {
  if (std::holds_alternative<std::shared_ptr<const Function>>(layout.inner()) || !layout.offset().is_leaf() ||
      has_basis(layout.outer().stride())) {
    fail(concat("recasting ", to_string(layout),
                " is known only where the inner function is a swizzle or a layout, and the offset is an integer"));
  }
}

// The inner layout takes the offsets of the outer one as coordinates, so both change their width, and the law is that
// of the whole.
template <class Recast>
ComposedLayout recast_parts(const ComposedLayout& layout, const Node& offset, Recast&& recast) {
  const Unchecked scope;
  return {recast(LayoutView(std::get<Layout>(layout.inner()))), IntTuple(offset), recast(LayoutView(layout.outer()))};
}

// Compares by value where the coordinate of the narrow layout is digit by digit that of the wide one times the ratio of
// their extents: every narrow element lies inside the wide one, `n` of them to one where all are there.
void require_same_elements(const ComposedLayout& narrow, const ComposedLayout& wide, int64_t n,
                           const SmallVector<int64_t, 8>& ratios, bool upcast) {
  const Modes modes = modes_of(narrow.outer()), packed = modes_of(wide.outer());
  const Chain small = chain_of(narrow), large = chain_of(wide);
  const int64_t count = size(narrow.outer()).value;
  if (count > kScanLimit) {
    fail(concat("the ", count, " elements were not compared: use unchecked() to take CuTe's answer"));
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at = 0, position = 1, inside = 0, place = 1;
    for (std::size_t k = 0; k < modes.size(); ++k) {
      const int64_t digit = rest % modes[k].extent.value;
      rest /= modes[k].extent.value;
      at += digit / ratios[k] * position;
      position *= packed[k].extent.value;
      inside += digit % ratios[k] * place;
      place *= ratios[k];
    }
    const int64_t element = small(i), first = checked_mul(large(at), n);
    // Downcast, the parts of an element count up; upcast, the first that is packed begins it.
    const bool right =
        upcast ? (inside == 0 ? element == first : element >= first && element - first < n) : element == first + inside;
    if (right) continue;
    if (upcast) {
      throw LayoutError(concat("CuTe answers ", to_string(wide), ", whose element at ", at, " begins at ", first,
                               ", but coordinate ", i, " of it lies at ", element),
                        CounterExample(i, first, element));
    }
    throw LayoutError(concat("CuTe answers ", to_string(narrow), ", which gives ", element, " at ", i, ", but part ",
                             inside, " of coordinate ", at, " lies at ", first + inside),
                      CounterExample(i, element, first + inside));
  }
}

}  // namespace

ComposedLayout upcast(const ComposedLayout& layout, int64_t n) {
  require_recastable(layout);
  if (n <= 0) fail(concat("the factor must be positive, but got ", n));
  const Node& offset = layout.offset().leaf();
  if (layout.swizzle() && offset.value % n != 0 && checks_enabled()) {
    fail(concat("the offset ", offset.value, " lies inside an element ", n, " times as wide"));
  }
  const IntTuple packed(div(offset, static_int(n)));
  if (const Swizzle* swizzle = layout.swizzle()) return {upcast(*swizzle, n), packed, upcast(layout.outer(), n)};
  ComposedLayout result = recast_parts(layout, packed.leaf(), [n](LayoutView part) { return upcast(part, n); });
  if (checks_enabled()) {
    SmallVector<int64_t, 8> ratios;
    for (const Mode& mode : modes_of(layout.outer())) {
      const int64_t width = std::abs(mode.stride.value);
      ratios.push_back(mode.stride.is_dynamic() || width == 0 || width >= n ? 1 : (n + width - 1) / width);
    }
    require_same_elements(layout, result, n, ratios, true);
  }
  return result;
}

ComposedLayout downcast(const ComposedLayout& layout, int64_t n) {
  require_recastable(layout);
  const Node offset = mul(layout.offset().leaf(), static_int(n));
  if (const Swizzle* swizzle = layout.swizzle())
    return {downcast(*swizzle, n), IntTuple(offset), downcast(layout.outer(), n)};
  ComposedLayout result = recast_parts(layout, offset, [n](LayoutView part) { return downcast(part, n); });
  if (checks_enabled()) {
    require_size(AnyLayout(result), checked_mul(size(layout.outer()).value, n), "the layout in parts");
    SmallVector<int64_t, 8> ratios;
    for (const Mode& mode : modes_of(layout.outer())) ratios.push_back(mode.stride.is(1) || mode.stride.is(-1) ? n : 1);
    require_same_elements(result, layout, n, ratios, false);
  }
  return result;
}

ComposedLayout recast(const ComposedLayout& layout, int64_t old_bits, int64_t new_bits) {
  ComposedLayout result = recast_by(
      layout, old_bits, new_bits, [](const ComposedLayout& l, int64_t n) { return upcast(l, n); },
      [](const ComposedLayout& l, int64_t n) { return downcast(l, n); });
  const int64_t common = std::gcd(old_bits, new_bits);
  if (checks_enabled() && old_bits != common && new_bits != common) {
    const int64_t before = checked_mul(size(layout.outer()).value, old_bits);
    const int64_t after = checked_mul(size(result.outer()).value, new_bits);
    if (before != after)
      fail(concat("the layout holds ", before, " bits, but CuTe's answer ", to_string(result), " holds ", after));
  }
  return result;
}

}  // namespace tilewright
