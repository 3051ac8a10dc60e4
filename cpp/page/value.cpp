#include "value.hpp"

#include "core/parse.hpp"

namespace tilewright::page {

namespace {

constexpr std::size_t kMaxOperandText = 400;

[[noreturn]] void wrong_kind(const Value& value, const char* expected) {
  throw KindError(concat("expected ", expected, ", got ", notation(value)));
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

// The parts between the commas that no bracket encloses.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  int open = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && open == 0)) {
      parts.push_back(text.substr(start, i - start));
      start = i + 1;
    } else if (text[i] == '(' || text[i] == '<') {
      ++open;
    } else if (text[i] == ')' || text[i] == '>') {
      --open;
    }
  }
  return parts;
}

Value parse_at(std::string_view text, int64_t depth) {
  check_depth(depth);
  text = trimmed(text);
  if (!text.starts_with('<')) return std::visit([](auto&& parsed) { return Value(std::move(parsed)); }, parse(text));
  if (text.size() < 2 || !text.ends_with('>')) fail(concat("the tiler ", std::string(text), " has no closing '>'"));
  Values modes;
  for (const std::string_view part : parts_of(text.substr(1, text.size() - 2))) {
    if (modes.size() >= kMaxNodes) too_many_entries();
    modes.push_back(parse_at(part, depth + 1));
  }
  return modes;
}

struct Text {
  std::string operator()(const IntTuple& tuple) const { return tilewright::to_string(tuple.view()); }
  std::string operator()(const Layout& layout) const { return tilewright::to_string(layout.view()); }
  std::string operator()(const Swizzle& swizzle) const { return tilewright::to_string(swizzle); }
  std::string operator()(const ComposedLayout& layout) const { return tilewright::to_string(layout); }
  std::string operator()(const Values& values) const {
    std::string text = "(";
    for (const Value& value : values) text += (text.size() == 1 ? "" : ",") + page::to_string(value);
    return text + ")";
  }
};

}  // namespace

Value parse_value(std::string_view text) { return parse_at(text, 0); }

std::string to_string(const Value& value) { return std::visit(Text(), value.variant()); }

std::string notation(const Value& value) { return shortened(to_string(value)); }

std::string shortened(std::string text) {
  if (text.size() > kMaxOperandText) text = text.substr(0, kMaxOperandText) + "...";
  return text;
}

const Layout& layout_of(const Value& value) {
  if (const auto* layout = std::get_if<Layout>(&value.variant())) return *layout;
  wrong_kind(value, "a layout, such as (4,8):(8,1)");
}

const IntTuple& tuple_of(const Value& value) {
  if (const auto* tuple = std::get_if<IntTuple>(&value.variant())) return *tuple;
  wrong_kind(value, "an integer or a nested tuple, such as (4,8)");
}

int64_t number_of(const Value& value) {
  const auto* tuple = std::get_if<IntTuple>(&value.variant());
  if (tuple == nullptr || !tuple->is_leaf() || !tuple->leaf().is_integer()) wrong_kind(value, "an integer");
  return tuple->leaf().value;
}

AnyLayout any_layout_of(const Value& value) {
  if (const auto* composed = std::get_if<ComposedLayout>(&value.variant())) return *composed;
  return layout_of(value);
}

namespace {

Tiler tiler_of_tuple(TupleView tuple) {
  if (!tuple.is_leaf()) {
    std::vector<Tiler> modes;
    for_each_mode(tuple, [&](TupleView mode) { modes.push_back(tiler_of_tuple(mode)); });
    return Tiler(std::move(modes));
  }
  if (tuple->is_none()) return Tiler();
  if (tuple->value <= 0) fail(concat("the extent ", tuple->value, " of a tiler must be positive"));
  return Tiler(*tuple);
}

}  // namespace

Tiler tiler_of(const Value& value) {
  if (const auto* tuple = std::get_if<IntTuple>(&value.variant())) return tiler_of_tuple(tuple->view());
  if (const auto* layout = std::get_if<Layout>(&value.variant())) return Tiler(*layout);
  const auto* parts = std::get_if<Values>(&value.variant());
  if (parts == nullptr) wrong_kind(value, "a tiler: an integer, a layout, _ or a tuple of them");
  std::vector<Tiler> modes;
  for (const Value& part : *parts) modes.push_back(tiler_of(part));
  return Tiler(std::move(modes));
}

}  // namespace tilewright::page
