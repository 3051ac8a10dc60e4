#include "condition.hpp"

#include <algorithm>

#include "codomain.hpp"
#include "condition_chain.hpp"
#include "modes.hpp"
#include "trace.hpp"

namespace tilewright {

namespace {

// The leaves of B along a basis element; those that stay at 0 are left out.
std::vector<Leaf> leaves_along(Unknowns& of, LayoutView b, BasisId basis) {
  std::vector<Leaf> leaves;
  int64_t negative = 0;
  for_each_leaf(b, [&](const Node& extent, const Node& stride) {
    if (stride.basis() != basis || stride.is(0) || extent.is(1)) return;
    if (stride.is_static() && stride.value < 0) ++negative;
    const Node plain = without_basis(stride);
    if (stride.is_dynamic()) of.suppose_positive(stride);
    Monomial begin = stride.is_dynamic() ? of.number(stride) : Monomial(abs(plain).value);
    leaves.push_back({begin, begin * of.number(extent)});
  });
  if (negative != 0 && leaves.size() > 1) fail("strides of both signs, or negative ones, are not covered");
  return leaves;
}

Predicate composed(Unknowns& of, LayoutView a, LayoutView b) {
  std::vector<Predicate> parts;
  for (const BasisId basis : bases_of(b)) {
    ExtentChain chain(of, at_path(a, basis));
    parts.push_back(chain.fits(leaves_along(of, b, basis), Domain::kAll));
  }
  return of.make.all(std::move(parts));
}

// The modes that a complement is made of, by stride, as leaves, and whether each begins where no other is.
struct Gaps {
  std::vector<Leaf> leaves;  // the gaps between them
  Monomial end;
  Predicate apart;
  bool even = true;
};

Gaps gaps_of(Unknowns& of, LayoutView layout) {
  if (has_basis(layout.stride)) fail("basis strides are not covered");
  struct Found {
    Monomial extent;
    Monomial stride;
    int64_t order;
  };
  std::vector<const Node*> extents, strides;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    if (extent.is(1) || stride.is(0)) return;
    if (extent.is_dynamic()) extents.push_back(&extent);
    if (stride.is_dynamic()) strides.push_back(&stride);
  });
  const Modes modes = filtered(layout);
  std::vector<Found> sorted;
  std::size_t extent = 0, stride = 0;
  for (const Mode& mode : modes) {
    if (mode.stride.is(0)) continue;
    if (mode.stride.is_static() && mode.stride.value < 0) fail("a complement needs non-negative strides");
    if (mode.stride.is_dynamic() && modes.size() > 1) fail("a complement needs static strides");
    if (mode.stride.is_dynamic()) of.suppose_positive(*strides[stride]);
    sorted.push_back({mode.extent.is_dynamic() ? of.number(*extents[extent++]) : Monomial(mode.extent.value),
                      mode.stride.is_dynamic() ? of.number(*strides[stride++]) : Monomial(mode.stride.value),
                      mode.stride.value});
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const Found& x, const Found& y) { return x.order < y.order; });
  Gaps gaps{{}, 1, true};
  std::vector<Predicate> apart;
  for (const Found& mode : sorted) {
    apart.push_back(of.make.at_most(gaps.end, mode.stride));
    const Predicate even = of.make.divides(gaps.end, mode.stride);
    gaps.even = gaps.even && even.is_true();
    if (!(gaps.end == mode.stride)) gaps.leaves.push_back({gaps.end, mode.stride});
    gaps.end = mode.stride * mode.extent;
  }
  gaps.apart = of.make.all(std::move(apart));
  return gaps;
}

Predicate divided(Unknowns& of, LayoutView a, LayoutView b) {
  Gaps gaps = gaps_of(of, b);
  if (!gaps.even) fail("the modes of the tile leave gaps that are not even");
  std::vector<Predicate> conditions{gaps.apart};
  std::vector<Leaf> leaves = leaves_along(of, b, 0);
  leaves.insert(leaves.end(), gaps.leaves.begin(), gaps.leaves.end());
  ExtentChain chain(of, a);
  conditions.push_back(chain.fits(leaves, Domain::kInside));
  conditions.push_back(chain.divided_at(gaps.end));
  if (!conditions.back().is_true()) of.provide("A is injective");
  return of.make.all(std::move(conditions));
}

Predicate multiplied(Unknowns& of, LayoutView a, LayoutView b) {
  if (has_basis(b.stride)) fail("basis strides are not covered");
  const Gaps gaps = gaps_of(of, a);
  if (!gaps.even) fail("the modes of the block leave gaps that are not even");
  // A*: the gaps, then what is beyond A, which has room for all copies.
  std::vector<ExtentChain::Mode> places;
  for (const Leaf& gap : gaps.leaves) {
    if (!gap.begin.is_constant() || !gap.end.is_constant()) fail("the places of the copies are dynamic");
    places.push_back({gap.end.coefficient / gap.begin.coefficient, gap.begin, 0});
  }
  places.push_back({1, gaps.end, 0});
  const std::vector<Leaf> leaves = leaves_along(of, b, 0);
  return of.make.all({gaps.apart, ExtentChain(of, std::move(places)).fits(leaves, Domain::kInjective)});
}

// Beyond these, values are not looked at one by one.
constexpr int64_t kMostValues = 256;
constexpr int64_t kMostCoordinates = 1 << 12;

// A with another value in the place of a dynamic extent.
Layout with_extent(LayoutView a, int64_t place, int64_t value) {
  IntTuple shape(a.shape);
  Node& extent = shape.nodes()[static_cast<std::size_t>(place)];
  extent = dynamic_int(value, divisibility(extent), extent.is_wide());
  return Layout::unchecked(std::move(shape), IntTuple(a.stride));
}

bool is_right(LayoutView a, LayoutView b) {
  const auto cute = attempted([&] { return compose(a, b).layout; });
  if (!cute || size(*cute).value != size(b).value) return false;
  const FlatFunction outer(modes_of(a)), inner(modes_of(b)), answer(modes_of(*cute));
  for (int64_t i = 0; i < size(b).value; ++i) {
    if (answer(i) != outer(inner(i))) return false;
  }
  return true;
}

// If one extent of A is all that is dynamic, and no stride of A is 0, an uneven answer may be right only where that
// extent is no greater than some stride of B (theorem 4). These values are tried.
void try_small_values(Condition& condition, LayoutView a, LayoutView b) {
  if (condition.exact() || condition.unknowns.size() != 1 || has_basis(a.stride) || has_basis(b.stride)) return;
  if (!all_static(a.stride) || !all_static(b.shape) || !all_static(b.stride)) return;
  int64_t place = -1, dynamic = 0, greatest = 0;
  bool zero = false, negative = false;
  for (int64_t i = 0; i < a.shape.span(); ++i) {
    if (!a.shape.get()[i].is_dynamic()) continue;
    place = i;
    ++dynamic;
  }
  for_each_leaf(a.stride, [&](const Node& stride) { zero = zero || stride.value == 0; });
  for_each_leaf(b.stride, [&](const Node& stride) {
    greatest = std::max(greatest, stride.value);
    negative = negative || stride.value < 0;
  });
  if (dynamic != 1 || zero || negative || greatest > kMostValues || size(b).value > kMostCoordinates) return;
  std::vector<Predicate> ways{condition.predicate};
  const int64_t divisor = condition.unknowns[0].divisor;
  for (int64_t value = divisor; value <= greatest; value += divisor) {
    if (!condition.predicate.holds({value}) && is_right(with_extent(a, place, value), b))
      ways.push_back(Predicates(condition.unknowns).equal(Monomial::unknown(0), value));
  }
  condition.predicate = Predicates(condition.unknowns).any(std::move(ways));
  condition.provided.clear();
}

using Rule = Predicate (*)(Unknowns&, LayoutView, LayoutView);

// Mode by mode, where the tiler is.
Predicate by_mode(Unknowns& of, LayoutView a, const Tiler& b, Rule rule) {
  if (b.kind() == Tiler::Kind::kNone) return true;
  if (b.kind() == Tiler::Kind::kLayout) return rule(of, a, b.layout());
  if (b.kind() == Tiler::Kind::kExtent) {
    const Node stride = static_int(1);
    return rule(of, a, LayoutView{&b.extent(), &stride});
  }
  std::vector<Predicate> parts;
  const auto count = static_cast<int64_t>(b.modes().size());
  if (count > a.rank()) fail("the tiler has too many modes");
  for (int64_t i = 0; i < count; ++i)
    parts.push_back(by_mode(of, a.mode(i), b.modes()[static_cast<std::size_t>(i)], rule));
  return of.make.all(std::move(parts));
}

std::optional<Condition> derived(LayoutView a, const Tiler& b, Rule rule, bool by_complement) {
  return attempted([&] {
    const Trace::Silence silence;
    Unknowns unknowns;
    unknowns.name(a, "A");
    unknowns.name(b, "B");
    return unknowns.finish(by_mode(unknowns, a, b, rule), by_complement);
  });
}

}  // namespace

std::string Condition::text() const {
  if (predicate.is_true()) return "exact for all values of the dynamic integers";
  const std::string always = exact() ? "exact if and only if " : "exact if ";
  std::string text = predicate.is_false() ? "exact for no values" : always + predicate.text(unknowns);
  for (std::size_t i = 0; i < unknowns.size(); ++i)
    text += concat(i == 0 ? ", where " : ", ", unknowns[i].name, " is ", unknowns[i].meaning, ", here ", values[i]);
  return exact() ? text : concat(text, "; for no other values if ", provided);
}

std::optional<Condition> composition_condition(LayoutView a, const Tiler& b) {
  auto condition = derived(a, b, composed, false);
  if (condition && b.kind() == Tiler::Kind::kLayout) try_small_values(*condition, a, b.layout());
  return condition;
}
std::optional<Condition> divide_condition(LayoutView a, const Tiler& b) { return derived(a, b, divided, true); }
std::optional<Condition> product_condition(LayoutView a, const Tiler& b) { return derived(a, b, multiplied, false); }

std::optional<Condition> complement_condition(LayoutView a) {
  return attempted([&] {
    Unknowns unknowns;
    unknowns.name(a, "A");
    return unknowns.finish(gaps_of(unknowns, a).apart, true);
  });
}

}  // namespace tilewright
