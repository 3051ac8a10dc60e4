#include "describe.hpp"

#include <algorithm>

#include "core/function.hpp"

namespace tilewright::page {

namespace {

// `3,(0,1)`: the coordinate of each of the modes [begin, end) at the index `i` of them together.
std::string coordinate_text(TupleView shape, int64_t begin, int64_t end, int64_t i) {
  std::string text;
  for (int64_t mode = begin; mode < end; ++mode) {
    const TupleView part = shape.is_leaf() ? shape : shape.mode(mode);
    const int64_t extent = product(part).value;
    const int64_t digit = mode + 1 < end ? i % extent : i;
    i /= extent;
    text += (text.empty() ? "" : ",") + to_string(idx2crd(IntTuple(static_int(digit)), part).view());
  }
  return text;
}

// The offset of a 1-D coordinate, a number or a coordinate itself.
void write_offset(Json& json, const AnyLayout& layout, int64_t index) {
  const IntTuple at{static_int(index)};
  const auto* plain = std::get_if<Layout>(&layout);
  const IntTuple offset = plain ? crd2idx(at, LayoutView(*plain)) : std::get<ComposedLayout>(layout)(at);
  if (offset.is_leaf() && !offset.leaf().has_basis()) {
    json.number(offset.leaf().value);
  } else {
    json.text(to_string(offset.view()));
  }
}

void write_grid(Json& json, const AnyLayout& layout, const Layout& domain, int64_t rows, int64_t columns) {
  const TupleView shape = domain.shape();
  const bool flat = domain.rank() < 2;
  const int64_t all_rows = flat ? 1 : product(shape.mode(0)).value;
  const int64_t all_columns = size(domain).value / all_rows;
  rows = std::min(rows, all_rows), columns = std::min(columns, all_columns);
  json.key("rows").number(all_rows).key("columns").number(all_columns);
  json.key("row_labels").open('[');
  for (int64_t r = 0; !flat && r < rows; ++r) json.text(coordinate_text(shape, 0, 1, r));
  json.close(']').key("column_labels").open('[');
  for (int64_t c = 0; c < columns; ++c) json.text(coordinate_text(shape, flat ? 0 : 1, domain.rank(), c));
  json.close(']').key("offsets").open('[');
  for (int64_t c = 0; c < columns; ++c) {
    for (int64_t r = 0; r < rows; ++r) write_offset(json, layout, r + c * all_rows);
  }
  json.close(']');
}

void write_answer(Json& json, const AnyLayout& layout, bool (*question)(const AnyLayout&)) {
  try {
    json.boolean(question(layout));
  } catch (const LayoutError&) {  // too large to look at every offset
    json.null();
  }
}

void write_any_layout(Json& json, const AnyLayout& layout, int64_t rows, int64_t columns) {
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  const Layout& domain = composed ? composed->outer() : std::get<Layout>(layout);
  json.key("shape").text(to_string(domain.shape().view())).key("stride").text(to_string(domain.stride().view()));
  json.key("size").number(size(domain).value).key("rank").number(domain.rank());
  json.key("depth").number(depth(domain.shape()));
  if (composed == nullptr) json.key("cosize").text(to_string(IntTuple(cosize(domain)).view()));
  write_answer(json.key("injective"), layout, is_injective);
  write_answer(json.key("bijective"), layout, is_bijective);
  write_grid(json, layout, domain, rows, columns);
}

// A swizzle as what it does to a block of its period: a row for each value of the bits that are XORed in.
AnyLayout block_of(const Swizzle& swizzle) {
  const int64_t rows = int64_t{1} << swizzle.bits();
  const int64_t columns = swizzle.period() / rows;
  LayoutBuilder block;
  block.open();
  block.leaf(static_int(rows), static_int(columns));
  block.leaf(static_int(columns), static_int(1));
  block.close();
  return composition(swizzle, block.take());
}

}  // namespace

void write_parts(Json& json, const Value& value) {
  if (const auto* composed = std::get_if<ComposedLayout>(&value.variant())) {
    json.open('{').key("inner").text(inner_text(composed->inner()));
    json.key("offset").text(to_string(composed->offset().view()));
    json.key("outer").text(to_string(composed->outer().view())).close('}');
  } else if (const auto* parts = std::get_if<Values>(&value.variant())) {
    json.open('[');
    for (const Value& part : *parts) json.text(to_string(part));
    json.close(']');
  } else {
    json.null();
  }
}

void write_description(Json& json, const Value& value, int64_t rows, int64_t columns) {
  json.open('{').key("text").text(to_string(value)).key("kind");
  if (const auto* layout = std::get_if<Layout>(&value.variant())) {
    write_any_layout(json.text("layout"), *layout, rows, columns);
  } else if (const auto* composed = std::get_if<ComposedLayout>(&value.variant())) {
    write_any_layout(json.text("composed"), *composed, rows, columns);
  } else if (const auto* swizzle = std::get_if<Swizzle>(&value.variant())) {
    write_any_layout(json.text("swizzle"), block_of(*swizzle), rows, columns);
  } else if (const auto* parts = std::get_if<Values>(&value.variant())) {
    json.text("list").key("parts").open('[');
    for (const Value& part : *parts) write_description(json, part, rows, columns);
    json.close(']');
  } else {
    json.text("tuple");
  }
  json.close('}');
}

}  // namespace tilewright::page
