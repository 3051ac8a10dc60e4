#include "function.hpp"

#include <algorithm>

#include "modes.hpp"

namespace tilewright {

namespace {

// Questions are answered by looking at every offset only up to here; `offsets()` itself has no limit but memory.
constexpr int64_t kEnumerationLimit = int64_t{1} << 24;

// Modes that move, with positive strides (mirroring a mode changes neither injectivity nor the number of offsets), by
// values.
Modes moving(LayoutView layout, BasisId basis) {
  Modes modes;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    if (extent.value > 1 && stride.basis() == basis)
      modes.push_back({static_int(extent.value), static_int(abs(stride).value)});
  });
  std::sort(modes.begin(), modes.end(), [](const Mode& a, const Mode& b) { return a.stride.value < b.stride.value; });
  return modes;
}

int64_t count_of(LayoutView layout) { return size(layout).value; }

bool injective_by_enumeration(const Modes& modes) {
  FlatFunction function(modes);
  int64_t last = 0;
  for (const Mode& mode : modes) last = checked_add(last, checked_mul(mode.extent.value - 1, mode.stride.value));
  const int64_t count = function.size();
  if (count > last + 1) return false;
  if (last >= kEnumerationLimit) {
    fail(concat("the layout is too large to enumerate (offsets up to ", last, ", limit ", kEnumerationLimit, ")"));
  }
  std::vector<bool> seen(static_cast<std::size_t>(last) + 1, false);
  for (int64_t i = 0; i < count; ++i) {
    const auto offset = static_cast<std::size_t>(function(i));
    if (seen[offset]) return false;
    seen[offset] = true;
  }
  return true;
}

bool injective_along(LayoutView layout, BasisId basis) {
  const Modes modes = moving(layout, basis);
  int64_t reached = 0;  // greatest offset of the modes so far
  for (const Mode& mode : modes) {
    if (mode.stride.value == 0) return false;
    // Strides that jump over everything below them cannot collide; otherwise look at every offset.
    if (mode.stride.value <= reached) return injective_by_enumeration(modes);
    reached = checked_add(reached, checked_mul(mode.extent.value - 1, mode.stride.value));
  }
  return true;
}

bool injective(LayoutView layout) {
  // Modes along different basis elements move different components, so each component is judged alone.
  SmallVector<BasisId, 8> done;
  bool result = true;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    if (extent.value > 1 && stride.value == 0) result = false;
    for (const BasisId basis : done) {
      if (basis == stride.basis()) return;
    }
    done.push_back(stride.basis());
    result = result && injective_along(layout, stride.basis());
  });
  return result;
}

std::vector<int64_t> all_offsets(const AnyLayout& layout, int64_t count) {
  if (count > kEnumerationLimit)
    fail(concat("the layout is too large to enumerate (size ", count, ", limit ", kEnumerationLimit, ")"));
  std::vector<int64_t> offsets(static_cast<std::size_t>(count));
  write_offsets(layout, offsets.data());
  return offsets;
}

const Layout& domain_of(const AnyLayout& layout) {
  if (const auto* composed = std::get_if<ComposedLayout>(&layout)) return composed->outer();
  return std::get<Layout>(layout);
}

bool is_zero(const IntTuple& offset) { return offset.is_leaf() && offset.leaf().value == 0; }

}  // namespace

bool is_injective(const AnyLayout& layout) {
  if (const auto* plain = std::get_if<Layout>(&layout)) return injective(*plain);
  const auto& composed = std::get<ComposedLayout>(layout);
  if (composed.swizzle() != nullptr) return injective(composed.outer());  // a swizzle is a bijection
  std::vector<int64_t> offsets = all_offsets(layout, count_of(composed.outer()));
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end();
}

bool is_bijective(const AnyLayout& layout) {
  const Layout& domain = domain_of(layout);
  const int64_t count = count_of(domain);
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  if (composed == nullptr) {
    if (has_basis(domain.stride())) return injective(domain) && count == cosize(domain).value;
    const Range range = offset_range(domain);
    return range.min == 0 && range.max == count - 1 && injective(domain);
  }
  // A swizzle maps every whole period onto itself.
  const Swizzle* swizzle = composed->swizzle();
  if (swizzle != nullptr && is_zero(composed->offset()) && count % swizzle->period() == 0) return is_bijective(domain);
  std::vector<int64_t> offsets = all_offsets(layout, count);
  std::vector<bool> seen(offsets.size(), false);
  for (const int64_t offset : offsets) {
    if (offset < 0 || offset >= count || seen[static_cast<std::size_t>(offset)]) return false;
    seen[static_cast<std::size_t>(offset)] = true;
  }
  return true;
}

Layout sorted_layout(LayoutView layout) {
  Modes modes = modes_of(layout);
  std::stable_sort(modes.begin(), modes.end(),
                   [](const Mode& a, const Mode& b) { return a.stride.value < b.stride.value; });
  return from_modes(modes);
}

Admissibility is_admissible(LayoutView layout, int64_t cotarget) {
  if (has_basis(layout.stride)) return {false, "basis strides have no order"};
  Modes modes;
  // As complement does: an extent that is 1 at run time counts, because its stride does.
  for (const Mode& mode : modes_of(layout)) {
    if (!mode.extent.is(1)) modes.push_back(mode);
  }
  std::stable_sort(modes.begin(), modes.end(),
                   [](const Mode& a, const Mode& b) { return a.stride.value < b.stride.value; });
  int64_t reached = 1;
  for (const Mode& mode : modes) {
    const int64_t d = mode.stride.value;
    if (d <= 0) return {false, concat("the stride ", d, " is not positive")};
    if (d % reached != 0) {
      return {false, concat("the modes with smaller strides fill ", reached,
                            " offsets, which does not divide the stride ", d)};
    }
    reached = checked_mul(mode.extent.value, d);
  }
  if (cotarget % reached != 0)
    return {false, concat("the layout fills ", reached, " offsets, which does not divide ", cotarget)};
  return {true, ""};
}

namespace {

// The same function with dynamic integers made static, coalesced: a canonical form, since each extent is the length of
// the longest run with its stride.
Modes canonical(const Layout& layout) {
  Modes modes = modes_of(layout);
  for (Mode& mode : modes) {
    mode.extent = static_int(mode.extent.value);
    mode.stride = with_basis(static_int(mode.stride.value), mode.stride.basis());
    if (mode.stride.value == 0) mode.stride = static_int(0);
  }
  return coalesced(modes, LastExtent::kDrop);
}

// The smallest coordinate where two different canonical forms of the same size differ.
int64_t first_difference(const Modes& a, const Modes& b) {
  int64_t position = 1;
  for (std::size_t k = 0;; ++k) {
    if (!(a[k].stride == b[k].stride)) return position;
    const int64_t x = a[k].extent.value, y = b[k].extent.value;
    if (x != y) return position * std::min(x, y);
    position *= x;
  }
}

}  // namespace

Equivalence equivalent(const AnyLayout& a, const AnyLayout& b) {
  const Layout &domain_a = domain_of(a), &domain_b = domain_of(b);
  const int64_t count = count_of(domain_a);
  if (count != count_of(domain_b))
    return {false, concat("the sizes differ: ", count, " and ", count_of(domain_b)), std::nullopt};
  if (count == 0) return {true, "", std::nullopt};
  if (std::holds_alternative<Layout>(a) && std::holds_alternative<Layout>(b)) {
    const Modes x = canonical(domain_a), y = canonical(domain_b);
    const bool same =
        x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [](const Mode& p, const Mode& q) {
          return p.extent == q.extent && p.stride == q.stride;
        });
    if (same) return {true, "", std::nullopt};
    return {false, "the values differ", first_difference(x, y)};
  }
  const std::vector<int64_t> x = all_offsets(a, count), y = all_offsets(b, count);
  const auto [at, other] = std::mismatch(x.begin(), x.end(), y.begin());
  if (at == x.end()) return {true, "", std::nullopt};
  return {false, "the values differ", at - x.begin()};
}

std::vector<int64_t> image(const AnyLayout& layout) {
  std::vector<int64_t> offsets = all_offsets(layout, count_of(domain_of(layout)));
  if (!std::is_sorted(offsets.begin(), offsets.end())) std::sort(offsets.begin(), offsets.end());
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return offsets;
}

}  // namespace tilewright
