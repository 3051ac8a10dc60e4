#include "function.hpp"

#include <algorithm>
#include <numeric>

#include "bounded_sum.hpp"
#include "law.hpp"
#include "modes.hpp"
#include "steps.hpp"

namespace tilewright {

namespace {

// Questions are answered by looking at every offset only up to here; `offsets()` itself has no limit but memory.
constexpr int64_t kEnumerationLimit = int64_t{1} << 24;

int64_t count_of(LayoutView layout) { return known(size(layout)); }

// A leaf by values, and the 1-D coordinate of its first step.
struct Leaf {
  int64_t extent;
  int64_t stride;
  BasisId basis;
  int64_t position;
};

std::vector<Leaf> leaves_of(LayoutView layout) {
  std::vector<Leaf> leaves;
  int64_t position = 1;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    if (known(extent) > 1) leaves.push_back({extent.value, known(stride), stride.basis(), position});
    position = checked_mul(position, extent.value);
  });
  return leaves;
}

// The leaves that move one component: those with a plain stride, or along one basis element.
std::vector<std::vector<Leaf>> by_component(const std::vector<Leaf>& leaves) {
  std::vector<std::vector<Leaf>> components;
  for (const Leaf& leaf : leaves) {
    const auto same = [&](const std::vector<Leaf>& c) { return c[0].basis == leaf.basis; };
    const auto found = std::find_if(components.begin(), components.end(), same);
    if (found == components.end()) {
      components.push_back({leaf});
    } else {
      found->push_back(leaf);
    }
  }
  return components;
}

// The answer of solve(most) with digits of at most `most`, for the first power of two that has one: an example that can
// be read. Large powers are few, for there each takes its time. None where there is none for any digits.
template <class Solve>
std::optional<Coordinates> readable(Solve&& solve) {
  const auto any = solve(INT64_MAX);
  for (int64_t most = 1; any && most < INT64_MAX / 16; most *= most < 16 ? 2 : 16) {
    if (const auto found = solve(most)) return found;
  }
  return any;
}

// The sum that two coordinates have with one value, whose last different digit, by stride, is that of leaf k.
struct Collision {
  std::vector<Multiple> terms;
  std::vector<int64_t> middle;
  int64_t target;

  Collision(const std::vector<Leaf>& leaves, std::size_t k, int64_t most) : target(checked_mul(leaves[k].stride, -1)) {
    // Differences from -(s-1) to s-1 are digits from 0 to 2(s-1); that of leaf k is positive in one of the two orders.
    for (std::size_t j = 0; j < k; ++j) {
      middle.push_back(std::min(leaves[j].extent - 1, most));
      terms.push_back({leaves[j].stride, checked_mul(2, middle[j])});
      target = checked_add(target, checked_mul(middle[j], leaves[j].stride));
    }
    terms.push_back({leaves[k].stride, std::min(leaves[k].extent - 1, most) - 1});
  }
};

std::optional<Coordinates> collision_at(const std::vector<Leaf>& leaves, std::size_t k, int64_t most) {
  const Collision sum(leaves, k, most);
  const auto digits = bounded_sum(sum.terms, sum.target);
  if (!digits) return std::nullopt;
  Coordinates found{0, checked_mul((*digits)[k] + 1, leaves[k].position)};
  for (std::size_t j = 0; j < k; ++j) {
    const int64_t difference = (*digits)[j] - sum.middle[j];
    int64_t& side = difference < 0 ? found.first : found.second;
    side += checked_mul(difference < 0 ? -difference : difference, leaves[j].position);
  }
  if (found.first > found.second) std::swap(found.first, found.second);
  return found;
}

// Two coordinates with one value in a component.
std::optional<Coordinates> collision_along(std::vector<Leaf> leaves) {
  const auto magnitude = [](const Leaf& leaf) { return abs(static_int(leaf.stride)).value; };
  std::sort(leaves.begin(), leaves.end(), [&](const Leaf& a, const Leaf& b) { return magnitude(a) < magnitude(b); });
  int64_t reached = 0;  // by the leaves so far
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const int64_t stride = magnitude(leaves[k]);
    const auto mode = [&] { return Layout::leaf(static_int(leaves[k].extent), static_int(leaves[k].stride)); };
    if (stride == 0) return Coordinates{0, leaves[k].position};
    // A stride that jumps over everything below it cannot collide with it.
    if (stride <= reached) {
      if (const auto found = readable([&](int64_t most) { return collision_at(leaves, k, most); })) return found;
      const Collision sum(leaves, k, INT64_MAX);
      note(step::kNoCollision, stride, mode, reached, [&] { return why_no_sum(sum.terms, sum.target); });
    } else {
      note(step::kBeyondBelow, stride, mode, reached);
    }
    reached = checked_add(reached, checked_mul(leaves[k].extent - 1, stride));
  }
  return std::nullopt;
}

std::optional<Coordinates> collision_of(LayoutView layout) {
  // Leaves along different basis elements move different components, so each component is judged alone.
  for (std::vector<Leaf>& component : by_component(leaves_of(layout))) {
    if (component[0].basis != 0) note(step::kComponent, [&] { return basis_suffix(component[0].basis); });
    const auto found = collision_along(std::move(component));
    if (!found) continue;
    note(step::kCollision, found->first, found->second);
    return found;
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

// Whether a composed layout has a function inside that is not of this library.
bool is_foreign(const AnyLayout& layout) {
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  return composed != nullptr && std::holds_alternative<std::shared_ptr<const Function>>(composed->inner());
}

int64_t index_of(const std::vector<int64_t>& digits, std::size_t begin, const std::vector<Leaf>& leaves) {
  int64_t index = 0;
  for (std::size_t k = 0; k < leaves.size(); ++k) index += digits[begin + k] * leaves[k].position;
  return index;
}

std::vector<Multiple> differences(const std::vector<Leaf>& a, const std::vector<Leaf>& b, int64_t most) {
  std::vector<Multiple> terms;
  for (const Leaf& leaf : a) terms.push_back({leaf.stride, std::min(leaf.extent - 1, most)});
  for (const Leaf& leaf : b) terms.push_back({checked_mul(leaf.stride, -1), std::min(leaf.extent - 1, most)});
  return terms;
}

std::optional<Coordinates> meeting_along(const std::vector<Leaf>& a, const std::vector<Leaf>& b, int64_t offset) {
  const auto found = readable([&](int64_t most) -> std::optional<Coordinates> {
    const auto digits = bounded_sum(differences(a, b, most), offset);
    if (!digits) return std::nullopt;
    return Coordinates{index_of(*digits, 0, a), index_of(*digits, a.size(), b)};
  });
  if (!found) note(step::kNoMeeting, [&] { return why_no_sum(differences(a, b, INT64_MAX), offset); });
  return found;
}

// Values are coordinates: two meet where they do in every component.
std::optional<Coordinates> meeting_of_coordinates(LayoutView a, LayoutView b) {
  const auto components = by_component(leaves_of(a));
  auto others = by_component(leaves_of(b));
  Coordinates found{0, 0};
  for (const auto& component : components) {
    const auto same = [&](const std::vector<Leaf>& c) { return c[0].basis == component[0].basis; };
    const auto other = std::find_if(others.begin(), others.end(), same);
    const auto at = meeting_along(component, other == others.end() ? std::vector<Leaf>{} : *other, 0);
    if (!at) return std::nullopt;
    found.first += at->first, found.second += at->second;
  }
  return found;  // components that only b moves have 0 in both
}

std::optional<Coordinates> meeting_of_values(const AnyLayout& a, const AnyLayout& b, int64_t offset) {
  const std::vector<int64_t> x = all_offsets(a, count_of(domain_of(a)));
  const std::vector<int64_t> y = all_offsets(b, count_of(domain_of(b)));
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return x[i] < x[j]; });
  for (std::size_t j = 0; j < y.size(); ++j) {
    const int64_t value = checked_add(offset, y[j]);
    const auto at =
        std::lower_bound(order.begin(), order.end(), value, [&](std::size_t i, int64_t least) { return x[i] < least; });
    if (at != order.end() && x[*at] == value) {
      return Coordinates{static_cast<int64_t>(*at), static_cast<int64_t>(j)};
    }
  }
  return std::nullopt;
}

bool is_zero(const IntTuple& offset) { return offset.is_leaf() && known(offset.leaf()) == 0; }

}  // namespace

std::optional<Coordinates> collision(const AnyLayout& layout) {
  if (const auto* plain = std::get_if<Layout>(&layout)) return collision_of(*plain);
  const auto& composed = std::get<ComposedLayout>(layout);
  if (composed.swizzle() != nullptr) {  // a swizzle is a bijection
    note(step::kInsideDecides, composed.outer());
    return collision_of(composed.outer());
  }
  note(step::kAllCompared, size(composed.outer()));
  const std::vector<int64_t> offsets = all_offsets(layout, count_of(composed.outer()));
  std::vector<int64_t> order(offsets.size());
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](int64_t i) { return offsets[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return value(i) < value(j); });
  const auto same =
      std::adjacent_find(order.begin(), order.end(), [&](int64_t i, int64_t j) { return value(i) == value(j); });
  if (same == order.end()) return std::nullopt;
  return Coordinates{*same, *(same + 1)};
}

bool is_bijective(const AnyLayout& layout) {
  const Layout& domain = domain_of(layout);
  const int64_t count = count_of(domain);
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  if (composed == nullptr) {
    if (has_basis(domain.stride())) {
      note(step::kAsMany, count, cosize(domain));
      return count == known(cosize(domain)) && is_injective(layout);
    }
    const Range range = offset_range(domain);
    note(step::kRange, count, range.min, range.max);
    return range.min == 0 && range.max == count - 1 && is_injective(layout);
  }
  // A swizzle maps every whole period onto itself.
  const Swizzle* swizzle = composed->swizzle();
  if (swizzle != nullptr && is_zero(composed->offset()) && count % swizzle->period() == 0) {
    note(step::kInsideDecides, domain);
    return is_bijective(domain);
  }
  note(step::kAllCompared, count);
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
                   [](const Mode& a, const Mode& b) { return known(a.stride) < known(b.stride); });
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
                   [](const Mode& a, const Mode& b) { return known(a.stride) < known(b.stride); });
  int64_t reached = 1;
  for (const Mode& mode : modes) {
    const int64_t d = known(mode.stride);
    if (d <= 0) return {false, concat("the stride ", d, " is not positive")};
    if (d % reached != 0) {
      return {false, concat("the modes with smaller strides fill ", reached,
                            " offsets, which does not divide the stride ", d)};
    }
    reached = checked_mul(known(mode.extent), d);
  }
  if (cotarget % reached != 0)
    return {false, concat("the layout fills ", reached, " offsets, which does not divide ", cotarget)};
  return {true, ""};
}

Admissibility is_tractable(LayoutView layout) {
  if (has_basis(layout.stride)) return {false, "basis strides have no order"};
  Modes modes;
  for (const Mode& mode : modes_of(layout)) {
    if (known(mode.stride) < 0) return {false, concat("the stride ", mode.stride.value, " is negative")};
    if (mode.stride.value != 0) modes.push_back(mode);
  }
  std::sort(modes.begin(), modes.end(), [](const Mode& a, const Mode& b) {
    return std::pair(a.stride.value, known(a.extent)) < std::pair(b.stride.value, known(b.extent));
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
    mode.extent = static_int(known(mode.extent));
    mode.stride = with_basis(static_int(known(mode.stride)), mode.stride.basis());
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
    note(step::kCanonical, domain_a, x), note(step::kCanonical, domain_b, y);
    const bool same =
        x.size() == y.size() && std::equal(x.begin(), x.end(), y.begin(), [](const Mode& p, const Mode& q) {
          return p.extent == q.extent && p.stride == q.stride;
        });
    if (same) return {true, "", std::nullopt};
    return {false, "the values differ", first_difference(x, y)};
  }
  if (is_foreign(a) || is_foreign(b)) {
    note(step::kAllCompared, count);
    const std::vector<int64_t> x = all_offsets(a, count), y = all_offsets(b, count);
    const auto [at, other] = std::mismatch(x.begin(), x.end(), y.begin());
    if (at == x.end()) return {true, "", std::nullopt};
    return {false, "the values differ", at - x.begin()};
  }
  note(step::kBitsCompared);
  const Verdict verdict = compare(chain_of(a), chain_of(b), count);
  if (verdict.kind == Verdict::Kind::kOpen) {
    fail(concat("the first ", verdict.coordinate, " of ", count,
                " coordinates have the same values, and the bits of the swizzles do not decide about the rest"));
  }
  if (verdict.kind == Verdict::Kind::kHolds) return {true, "", std::nullopt};
  return {false, "the values differ", verdict.coordinate};
}

std::optional<Coordinates> meeting(const AnyLayout& a, const AnyLayout& b, int64_t offset) {
  const auto *x = std::get_if<ComposedLayout>(&a), *y = std::get_if<ComposedLayout>(&b);
  const Layout *first = std::get_if<Layout>(&a), *second = std::get_if<Layout>(&b);
  // A swizzle is a bijection: values are the same where they are the same before it.
  if (x && y && x->swizzle() && y->swizzle() && *x->swizzle() == *y->swizzle() && offset == 0) {
    const int64_t apart = checked_add(known(y->offset().leaf()), -known(x->offset().leaf()));
    note(step::kInsideDecides, [&] { return concat(to_string(x->outer()), " beside ", to_string(y->outer())); });
    return meeting(x->outer(), y->outer(), apart);
  }
  if (x || y) {
    note(step::kAllCompared, checked_add(count_of(domain_of(a)), count_of(domain_of(b))));
    return meeting_of_values(a, b, offset);
  }
  if (!has_basis(first->stride()) && !has_basis(second->stride())) {
    return meeting_along(leaves_of(*first), leaves_of(*second), offset);
  }
  if (!has_basis(first->stride()) || !has_basis(second->stride()))
    fail("the values of one layout are numbers, those of the other are coordinates");
  return meeting_of_coordinates(*first, *second);
}

std::optional<int64_t> outside(const AnyLayout& layout, int64_t begin, int64_t end) {
  const auto* plain = std::get_if<Layout>(&layout);
  if (plain == nullptr) {
    note(step::kAllCompared, count_of(domain_of(layout)));
    const std::vector<int64_t> offsets = all_offsets(layout, count_of(domain_of(layout)));
    const auto found = std::find_if(offsets.begin(), offsets.end(), [&](int64_t x) { return x < begin || x >= end; });
    if (found == offsets.end()) return std::nullopt;
    return found - offsets.begin();
  }
  if (has_basis(plain->stride())) fail("the values are coordinates, which an interval does not order");
  // The least value takes the last digit of each leaf with a negative stride, the greatest of each with a positive one.
  int64_t least = 0, greatest = 0;
  const Range range = offset_range(*plain);
  note(step::kRange, *plain, range.min, range.max);
  for (const Leaf& leaf : leaves_of(*plain)) {
    int64_t& side = leaf.stride < 0 ? least : greatest;
    if (leaf.stride != 0) side += (leaf.extent - 1) * leaf.position;
  }
  if (range.min < begin) return least;
  if (range.max >= end) return greatest;
  return std::nullopt;
}

std::vector<int64_t> image(const AnyLayout& layout) {
  std::vector<int64_t> offsets = all_offsets(layout, count_of(domain_of(layout)));
  if (!std::is_sorted(offsets.begin(), offsets.end())) std::sort(offsets.begin(), offsets.end());
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
  return offsets;
}

}  // namespace tilewright
