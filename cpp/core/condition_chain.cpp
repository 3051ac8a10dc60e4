#include "condition_chain.hpp"

#include <algorithm>

#include "modes.hpp"

namespace tilewright {

namespace {

// Beyond these the conditions are not written out.
constexpr std::size_t kMostModes = 16;
constexpr std::size_t kMostCases = 256;

// `1,0`: the modes of a tree that lead to a leaf.
std::string path_to(const Node* leaf, TupleView tree, const std::string& outer) {
  std::string text = mode_text(tree, leaf);  // `mode 1`, `mode (1,0)`
  std::erase_if(text, [](char c) { return c != ',' && (c < '0' || c > '9'); });
  return outer.empty() || text.empty() ? outer + text : concat(outer, ",", text);
}

}  // namespace

void Unknowns::name(LayoutView part, const std::string& operand, const std::string& path) {
  for_each_leaf(part, [&](const Node& extent, const Node& stride) {
    const std::string whole = path_to(&extent, part.shape, path);
    add(extent, "size", whole, operand);
    add(stride, "stride", whole, operand);
  });
}

void Unknowns::name(const Tiler& tiler, const std::string& operand, const std::string& path) {
  if (tiler.kind() == Tiler::Kind::kLayout) return name(tiler.layout().view(), operand, path);
  if (tiler.kind() == Tiler::Kind::kExtent) return add(tiler.extent(), "size", path, operand);
  for (std::size_t i = 0; i < tiler.modes().size(); ++i)
    name(tiler.modes()[i], operand, concat(path, path.empty() ? "" : ",", i));
}

void Unknowns::add(const Node& leaf, const std::string& kind, const std::string& path, const std::string& operand) {
  if (leaf.is_static()) return;
  const std::string meaning = concat(kind, path.empty() ? "" : concat("<", path, ">"), "(", operand, ")");
  unknowns_.push_back({concat("x", unknowns_.size()), meaning, divisibility(leaf), kind == "size"});
  places_.push_back(&leaf);
}

Monomial Unknowns::number(const Node& leaf) const {
  if (leaf.is_static()) return Monomial(leaf.value);
  const auto place = std::find(places_.begin(), places_.end(), &leaf);
  if (place == places_.end()) fail("a dynamic integer is of no operand");
  return Monomial::unknown(static_cast<uint32_t>(place - places_.begin()));
}

void Unknowns::provide(const std::string& assumption) {
  if (std::find(provided_.begin(), provided_.end(), assumption) == provided_.end()) provided_.push_back(assumption);
}

void Unknowns::suppose_positive(const Node& stride) {
  const uint32_t unknown = number(stride).unknowns[0];
  if (unknowns_[unknown].positive) return;
  unknowns_[unknown].positive = true;
  supposed_.push_back(unknown);
}

Condition Unknowns::finish(const Predicate& predicate, bool always_positive) const {
  const auto supposed = [&](uint32_t i) { return std::find(supposed_.begin(), supposed_.end(), i) != supposed_.end(); };
  const auto is_extent = [&](uint32_t i) { return unknowns_[i].positive && !supposed(i); };
  std::vector<Predicate> parts;
  const std::vector<uint32_t> left = predicate.unknowns();
  for (const uint32_t i : supposed_) {
    if (always_positive || std::find(left.begin(), left.end(), i) != left.end())
      parts.emplace_back(Predicate::Kind::kAtMost, 1, Monomial::unknown(i));
  }
  std::vector<std::string> provided = provided_;
  if (!always_positive && !parts.empty()) provided.emplace_back("the strides of B are positive");
  if (predicate.kind() == Predicate::Kind::kAll && !parts.empty()) {
    parts.insert(parts.end(), predicate.parts().begin(), predicate.parts().end());
  } else if (!predicate.is_true() || parts.empty()) {
    parts.push_back(predicate);
  }
  const Predicate whole = parts.size() == 1 ? parts[0] : Predicate(Predicate::Kind::kAll, std::move(parts));

  Condition condition;
  const std::vector<uint32_t> used = whole.unknowns();
  const auto extents = static_cast<std::size_t>(std::count_if(used.begin(), used.end(), is_extent));
  const std::size_t strides = used.size() - extents;
  std::vector<uint32_t> indices(unknowns_.size(), 0);
  std::size_t extent = 0, stride = 0;
  for (const uint32_t i : used) {
    indices[i] = static_cast<uint32_t>(condition.unknowns.size());
    const std::size_t count = is_extent(i) ? extents : strides, k = is_extent(i) ? extent++ : stride++;
    const std::string name = concat(is_extent(i) ? "n" : "d", count == 1 ? "" : std::to_string(k));
    condition.unknowns.push_back({name, unknowns_[i].meaning, unknowns_[i].divisor, is_extent(i)});
    condition.values.push_back(places_[i]->value);
  }
  condition.predicate = whole.renamed(indices);
  if (whole.is_true()) return condition;
  for (const std::string& each : provided) condition.provided += (condition.provided.empty() ? "" : " and ") + each;
  return condition;
}

ExtentChain::ExtentChain(Unknowns& unknowns, LayoutView a) : of_(unknowns), make_(unknowns.make) {
  const Modes merged = coalesced(modes_of(a), LastExtent::kKeep);
  // Coalescing keeps the dynamic integers in their order, but for strides of modes that it drops.
  std::vector<const Node*> extents, strides;
  std::size_t left = modes_of(a).size();
  for_each_leaf(a, [&](const Node& extent, const Node& stride) {
    if (--left != 0 && extent.is(1)) return;
    if (extent.is_dynamic()) extents.push_back(&extent);
    if (stride.is_dynamic()) strides.push_back(&stride);
  });
  std::size_t extent = 0, stride = 0;
  for (const auto& mode : merged) {
    Monomial size(mode.extent.value), step(mode.stride.value);
    if (mode.extent.is_dynamic()) {
      // A mode of stride 0 may have a static factor that it has merged with.
      const Node& at = *extents[extent++];
      size = of_.number(at) * Monomial(mode.extent.value / at.value);
    }
    if (mode.stride.is_dynamic()) step = of_.number(*strides[stride++]);
    modes_.push_back({size, step, mode.stride.basis()});
  }
  if (modes_.empty()) modes_.push_back({1, 0, 0});
  find_ends();
  // A last extent of 1 counts as 2 above, since A goes on beyond its size.
  const bool lengthened = coalesced(modes_of(a), LastExtent::kDrop).size() < modes_.size();
  whole_ = lengthened ? ends_.back() : ends_.back() * modes_.back().extent;
}

ExtentChain::ExtentChain(Unknowns& unknowns, std::vector<Mode> modes)
    : of_(unknowns), make_(unknowns.make), modes_(std::move(modes)) {
  find_ends();
  whole_ = ends_.back() * modes_.back().extent;
}

void ExtentChain::find_ends() {
  if (modes_.size() > kMostModes) fail("the left layout has too many modes");
  ends_.push_back(1);
  for (std::size_t k = 0; k < last(); ++k) ends_.push_back(ends_.back() * modes_[k].extent);
}

Predicate ExtentChain::fits(const std::vector<Leaf>& leaves, Domain domain) {
  std::vector<Predicate> parts;
  for (const Leaf& leaf : leaves) {
    parts.push_back(fits(leaf));
    if (!parts.back().is_true()) assume_no_coincidence(leaf, domain);
  }
  if (leaves.size() > 1) parts.push_back(carries_nowhere(leaves, domain == Domain::kInside));
  return make_.all(std::move(parts));
}

Predicate ExtentChain::divided_at(const Monomial& end) const {
  std::vector<Predicate> places;
  for (std::size_t j = 0; j < modes_.size(); ++j) {
    std::vector<Predicate> ways{trivial_beyond(j)};
    if (j < last()) ways.push_back(make_.divides(end, ends_[j + 1]));
    places.push_back(make_.all({make_.divides(ends_[j], end), make_.any(std::move(ways))}));
  }
  return make_.any(std::move(places));
}

// Whether A ends with mode j, since all modes behind it have one element.
Predicate ExtentChain::trivial_beyond(std::size_t j) const {
  return j == last() ? Predicate(true) : make_.equal(ends_[j + 1], whole_);
}

// The leaf begins in mode j, as its stride is a multiple of P_j, and ends in mode m.
Predicate ExtentChain::fits(const Leaf& leaf) const {
  std::vector<Predicate> ways;
  for (std::size_t j = 0; j < modes_.size(); ++j) {
    const Predicate begins = make_.divides(ends_[j], leaf.begin);
    if (begins.is_false()) continue;
    for (std::size_t m = j; m < modes_.size(); ++m) {
      std::vector<Predicate> way{begins};
      if (m > j) {
        way.push_back(make_.divides(leaf.begin, ends_[j + 1]));
        way.push_back(make_.divides(ends_[m], leaf.end));
      }
      if (m < last()) way.push_back(stays_below(leaf, ends_[m + 1]));
      ways.push_back(make_.all(std::move(way)));
    }
  }
  return make_.any(std::move(ways));
}

// (s - 1)*d < P
Predicate ExtentChain::stays_below(const Leaf& leaf, const Monomial& product) const {
  return make_.at_most(Polynomial(leaf.end) - leaf.begin + 1, product);
}

// No coordinate carries into mode k, or a carry changes nothing.
Predicate ExtentChain::carries_nowhere(const std::vector<Leaf>& leaves, bool inside) {
  std::vector<Predicate> parts;
  for (std::size_t k = 1; k < modes_.size(); ++k) {
    std::vector<Predicate> ways{goes_on(k)};
    if (inside) ways.push_back(trivial_beyond(k - 1));
    sums_below(leaves, ends_[k], 0, 0, {}, ways);
    parts.push_back(make_.any(std::move(ways)));
    const bool between = k < last() && !modes_[k].extent.is_constant();
    if (between && !parts.back().is_true()) of_.provide("no extent of A is 1");
  }
  return make_.all(std::move(parts));
}

// Mode k goes on where mode k-1 ends.
Predicate ExtentChain::goes_on(std::size_t k) const {
  const Mode &mode = modes_[k], &before = modes_[k - 1];
  if (mode.basis != before.basis && !(mode.stride.is(0) && before.stride.is(0))) return false;
  return make_.equal(mode.stride, before.extent * before.stride);
}

// The largest remainders of the leaves by P, which are 0, P - d or (s-1)*d, add up to less than P.
void ExtentChain::sums_below(const std::vector<Leaf>& leaves, const Monomial& product, std::size_t next,
                             const Polynomial& sum, std::vector<Predicate> conditions,
                             std::vector<Predicate>& ways) const {
  if (ways.size() > kMostCases) fail("there are too many cases");
  if (next == leaves.size()) {
    conditions.push_back(make_.at_most(sum + 1, product));
    ways.push_back(make_.all(std::move(conditions)));
    return;
  }
  const Leaf& leaf = leaves[next];
  const auto go_on = [&](const Predicate& where, const Polynomial& remainder) {
    if (where.is_false()) return;
    std::vector<Predicate> more = conditions;
    more.push_back(where);
    sums_below(leaves, product, next + 1, sum + remainder, std::move(more), ways);
  };
  const Predicate above = make_.divides(product, leaf.begin);
  go_on(above, 0);
  if (above.is_true()) return;
  const Predicate full = make_.all({make_.divides(leaf.begin, product), make_.divides(product, leaf.end)});
  go_on(full, Polynomial(product) - leaf.begin);
  if (full.is_true()) return;
  go_on(stays_below(leaf, product), Polynomial(leaf.end) - leaf.begin);
}

// Where a stride is uneven, strides of A may happen to hide it: if one is 0, or two offsets are equal. In a division,
// what is uneven may lie outside of A.
void ExtentChain::assume_no_coincidence(const Leaf& leaf, Domain domain) {
  if (leaf.begin.is(1) || domain == Domain::kInjective) return;
  bool hidden = !leaf.begin.is_constant();
  for (std::size_t k = 0; k < last(); ++k) {
    const Mode& mode = modes_[k];
    hidden = hidden || !mode.extent.is_constant() || !mode.stride.is_constant() || mode.stride.is(0);
  }
  if (hidden) of_.provide("A is injective");
  if (domain == Domain::kInside) {
    of_.provide("no extent of A is 1");
  } else if (hidden) {
    of_.provide("B lies inside A");
  }
}

}  // namespace tilewright
