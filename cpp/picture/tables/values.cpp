#include "values.hpp"

#include <algorithm>

#include "core/function.hpp"
#include "picture/tables/axes.hpp"

namespace tilewright::picture {

namespace {

// v@i@j as the coordinate with v at [j][i] and 0 before it.
std::string leaf_text(const Node& leaf) {
  std::string text = std::to_string(known(leaf));
  for (const uint32_t mode : basis_path(leaf.basis())) {
    std::string zeros;
    for (uint32_t i = 0; i < mode; ++i) zeros += "0,";
    text = "(" + zeros + text + ")";
  }
  return text;
}

std::string coordinate_of(TupleView given) {
  if (given.is_leaf()) return given->is_none() ? "_" : leaf_text(*given);
  std::string text;
  for_each_mode(given, [&](TupleView mode) { text += (text.empty() ? "" : ",") + coordinate_of(mode); });
  return "(" + text + ")";
}

Owner first_of(TupleView given) {
  while (!given.is_leaf() && given.rank() > 0) given = given.mode(0);
  if (!given.is_leaf() || !given->is_integer()) return {};
  const BasisPath path = basis_path(given->basis());
  const bool zero = std::any_of(path.begin(), path.end(), [](uint32_t mode) { return mode != 0; });
  return zero ? 0 : known(*given);
}

IntTuple value_at(const AnyLayout& layout, int64_t index) {
  const IntTuple at{static_int(index)};
  if (const auto* composed = std::get_if<ComposedLayout>(&layout)) return (*composed)(at);
  return crd2idx(at, LayoutView(std::get<Layout>(layout)));
}

}  // namespace

Offset offset_of(TupleView given) {
  Offset found{coordinate_of(given), {}, first_of(given)};
  if (given.is_leaf() && given->is_integer() && !given->has_basis()) found.number = given->value;
  return found;
}

Values::Values(AnyLayout layout, int64_t start) : layout_(std::move(layout)), start_(start) {
  const int64_t size = size_of(layout_);
  if (size > kCounted) return;
  known_.resize(static_cast<std::size_t>(size));
  try {
    write_offsets(layout_, known_.data());
  } catch (const LayoutError&) {  // they are coordinates
    known_.clear();
  }
  for (int64_t& offset : known_) offset = checked_add(offset, start_);
}

Offset Values::at(int64_t index) const {
  if (const auto i = static_cast<std::size_t>(index); index >= 0 && i < known_.size()) {
    return {std::to_string(known_[i]), known_[i], known_[i]};
  }
  const IntTuple found = value_at(layout_, index);
  return offset_of(start_ == 0 ? found : add_offset(IntTuple(static_int(start_)), found));
}

std::optional<int64_t> Values::number(int64_t index) const {
  if (const auto i = static_cast<std::size_t>(index); index >= 0 && i < known_.size()) return known_[i];
  return at(index).number;
}

const Layout& domain_of(const AnyLayout& layout) {
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  return composed != nullptr ? composed->outer() : std::get<Layout>(layout);
}

std::string text_of(const AnyLayout& layout) {
  if (const auto* composed = std::get_if<ComposedLayout>(&layout)) return to_string(*composed);
  return to_string(std::get<Layout>(layout).view());
}

std::string values_text(const AnyLayout& layout) {
  const auto plain = [](const Layout& x) {
    return tilewright::values_text(x.shape()) + ":" + tilewright::values_text(x.stride());
  };
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  if (composed == nullptr) return plain(std::get<Layout>(layout));
  const Inner& inner = composed->inner();
  std::string first = "<inner>";
  if (const auto* of = std::get_if<Layout>(&inner)) first = plain(*of);
  if (composed->swizzle() != nullptr) first = inner_text(inner);
  return first + " o " + tilewright::values_text(composed->offset()) + " o " + plain(composed->outer());
}

std::string facts_of(const Values& values) {
  const Layout& domain = domain_of(values.layout());
  const TupleView shape = domain.shape();
  const int64_t size = product(shape).value;
  std::string found;
  for_each_mode(shape, [&](TupleView mode) { found += concat(found.empty() ? "" : " x ", product(mode).value); });
  found = concat(found.empty() ? "1" : found, " element", size != 1 ? "s" : "");
  if (has_basis(domain.stride())) return found;
  std::optional<bool> once;
  Range range{0, 0};
  if (size <= kCounted) {
    if (values.known().empty()) return found;
    std::vector<int64_t> offsets = values.known();
    std::sort(offsets.begin(), offsets.end());
    range = {offsets.front(), offsets.back()};
    once = std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end();
  } else if (std::holds_alternative<Layout>(values.layout())) {
    range = offset_range(domain);
    try {
      once = is_injective(values.layout());
    } catch (const LayoutError&) {  // too many offsets to look at
    }
  } else {
    return found;
  }
  if (size == 1) return concat(found, ", offset ", range.min);
  found = concat(found, ", offsets ", range.min, " to ", range.max);
  if (!once) return found;
  if (!*once) return found + ", some more than once";
  return found + (range.max - range.min + 1 == size ? ", each once" : ", none twice");
}

}  // namespace tilewright::picture
