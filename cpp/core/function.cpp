#include "function.hpp"

#include <algorithm>

#include "codomain.hpp"
#include "law.hpp"
#include "sums.hpp"

namespace tilewright {

namespace {

// Questions are answered by looking at every offset only up to here; `offsets()` itself has no limit but memory.
constexpr int64_t kEnumerationLimit = int64_t{1} << 24;

int64_t count_of(LayoutView layout) { return size(layout).value; }

// A leaf that moves: its stride, and what one step of it is in the 1-D coordinate.
struct Mover {
  int64_t extent;
  int64_t stride;
  int64_t position;
};

std::vector<Mover> movers(LayoutView layout, BasisId basis) {
  std::vector<Mover> found;
  int64_t position = 1;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    if (extent.value > 1 && stride.basis() == basis) found.push_back({extent.value, stride.value, position});
    position = checked_mul(position, extent.value);
  });
  return found;
}

// Differences of coordinates whose offsets cancel: the mode of the greatest stride among them moves up, and the others
// make up for it. Mirroring a mode changes nothing, so strides count by their magnitude.
std::optional<Meeting> collision_along(std::vector<Mover> modes) {
  auto magnitude = [](const Mover& mode) { return mode.stride < 0 ? checked_mul(mode.stride, -1) : mode.stride; };
  std::sort(modes.begin(), modes.end(), [&](const Mover& a, const Mover& b) { return magnitude(a) < magnitude(b); });
  Wide reach = 0;
  std::vector<Multiple> below;
  for (const Mover& mode : modes) {
    const int64_t stride = magnitude(mode);
    if (stride == 0) return Meeting{0, mode.position};
    if (stride <= reach) {
      std::vector<Multiple> multiples = below;
      multiples.push_back({stride, mode.extent - 2});
      if (const auto found = reaching(multiples, reach - stride)) {
        int64_t first = 0, second = 0;
        for (std::size_t k = 0; k < multiples.size(); ++k) {
          const bool own = k + 1 == multiples.size();
          const int64_t moved = own ? (*found)[k] + 1 : (*found)[k] - (modes[k].extent - 1);
          const int64_t up = modes[k].stride < 0 ? -moved : moved;
          (up < 0 ? first : second) += (up < 0 ? -up : up) * modes[k].position;
        }
        return Meeting{std::min(first, second), std::max(first, second)};
      }
    }
    reach = wide_add(reach, Wide{stride} * (mode.extent - 1));
    below.push_back({stride, checked_mul(2, mode.extent - 1)});
  }
  return std::nullopt;
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

std::optional<Meeting> collision(LayoutView layout) {
  // Modes along different basis elements move different components, so each component is judged alone.
  std::vector<BasisId> bases = bases_of(layout);
  if (std::find(bases.begin(), bases.end(), BasisId{0}) == bases.end()) bases.push_back(0);  // of strides 0
  for (const BasisId basis : bases) {
    if (const auto found = collision_along(movers(layout, basis))) return found;
  }
  return std::nullopt;
}

std::optional<Meeting> meeting(LayoutView a, LayoutView b, int64_t offset) {
  if (has_basis(a.stride) || has_basis(b.stride)) fail("basis strides give coordinates: take the modes one by one");
  // a(i) - b(j) = offset; modes that would move down are mirrored.
  std::vector<Mover> modes = movers(a, 0);
  const std::size_t own = modes.size();
  for (const Mover& mode : movers(b, 0)) modes.push_back({mode.extent, checked_mul(mode.stride, -1), mode.position});
  Wide target = offset;
  std::vector<Multiple> multiples;
  for (const Mover& mode : modes) {
    const bool mirrored = mode.stride < 0;
    if (mirrored) target -= Wide{mode.stride} * (mode.extent - 1);
    const int64_t stride = mirrored ? checked_mul(mode.stride, -1) : mode.stride;
    multiples.push_back({std::max<int64_t>(stride, 1), stride == 0 ? 0 : mode.extent - 1});
  }
  const auto found = reaching(multiples, target);
  if (!found) return std::nullopt;
  Meeting at{0, 0};
  for (std::size_t k = 0; k < modes.size(); ++k) {
    const int64_t digit = modes[k].stride < 0 ? modes[k].extent - 1 - (*found)[k] : (*found)[k];
    (k < own ? at.first : at.second) += digit * modes[k].position;
  }
  return at;
}

bool is_injective(const AnyLayout& layout) {
  if (const auto* plain = std::get_if<Layout>(&layout)) return !collision(*plain);
  const auto& composed = std::get<ComposedLayout>(layout);
  if (composed.swizzle() != nullptr) return !collision(composed.outer());  // a swizzle is a bijection
  std::vector<int64_t> offsets = all_offsets(layout, count_of(composed.outer()));
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end();
}

bool is_bijective(const AnyLayout& layout) {
  const Layout& domain = domain_of(layout);
  const int64_t count = count_of(domain);
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  if (composed == nullptr) {
    if (has_basis(domain.stride())) return !collision(domain) && count == cosize(domain).value;
    const Range range = offset_range(domain);
    return range.min == 0 && range.max == count - 1 && !collision(domain);
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

Admissibility is_tractable(LayoutView layout) {
  if (has_basis(layout.stride)) return {false, "basis strides have no order"};
  Modes modes;
  for (const Mode& mode : modes_of(layout)) {
    if (mode.stride.value < 0) return {false, concat("the stride ", mode.stride.value, " is negative")};
    if (mode.stride.value != 0) modes.push_back(mode);
  }
  std::sort(modes.begin(), modes.end(), [](const Mode& a, const Mode& b) {
    return std::pair(a.stride.value, a.extent.value) < std::pair(b.stride.value, b.extent.value);
  });
  for (std::size_t i = 1; i < modes.size(); ++i) {
    const int64_t end = checked_mul(modes[i - 1].extent.value, modes[i - 1].stride.value);
    if (modes[i].stride.value % end == 0) continue;
    return {false, concat("the mode ", modes[i - 1].extent.value, ":", modes[i - 1].stride.value, " ends at ", end,
                          ", which does not divide the stride ", modes[i].stride.value)};
  }
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
  const Verdict verdict = compare(chain_of(a), chain_of(b), count);
  if (verdict.kind == Verdict::Kind::kHolds) return {true, "", std::nullopt};
  if (verdict.kind == Verdict::Kind::kFails) return {false, "the values differ", verdict.coordinate};
  fail(concat("the first ", verdict.coordinate, " of ", count, " coordinates agree, the rest were not compared"));
}

std::vector<int64_t> image(const AnyLayout& layout) {
  std::vector<int64_t> offsets = all_offsets(layout, count_of(domain_of(layout)));
  if (!std::is_sorted(offsets.begin(), offsets.end())) std::sort(offsets.begin(), offsets.end());
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return offsets;
}

}  // namespace tilewright
