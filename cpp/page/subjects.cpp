#include "subjects.hpp"

#include <algorithm>

#include "operations.hpp"
#include "picture/operations/composition.hpp"
#include "picture/operations/divides.hpp"
#include "picture/operations/products.hpp"
#include "picture/operations/rewritten.hpp"
#include "picture/subjects/swizzles.hpp"
#include "picture/subjects/tv.hpp"
#include "predict.hpp"

namespace tilewright::page {

namespace {

using picture::Operand;
using picture::Picture;

Picture layout_drawn(Request& request) {
  const Value value = request.value("layout");
  const picture::Memory memory = request.memory();
  const int64_t most = request.number("most", picture::kMost);
  if (const auto* swizzle = std::get_if<Swizzle>(&value.variant())) {
    return picture::swizzle_picture(*swizzle, memory, request.number("at"), most);
  }
  request.find("layout");
  const AnyLayout layout = any_layout_of(value);
  picture::Style style{{}, memory, request.mark(picture::shape_of(layout)), most, {}};
  const auto* composed = std::get_if<ComposedLayout>(&layout);
  const bool swizzled = composed != nullptr && composed->swizzle() != nullptr;
  style.color = request.color(swizzled ? "bank" : "value");
  const std::string only = swizzled ? request.text("only", "") : "";
  if (!only.empty() && only != "before" && only != "after") {
    throw picture::OptionError(concat("only is 'before' or 'after', but got '", only, "'"));
  }
  request.all_read();
  if (!swizzled) return picture::layout_picture(layout, style);
  const auto views = only.empty()       ? picture::Only::kBoth
                     : only == "before" ? picture::Only::kBefore
                                        : picture::Only::kAfter;
  return picture::swizzled_picture(*composed, style, views);
}

Picture tv_drawn(Request& request) {
  const AnyLayout tv = any_layout_of(request.value("layout"));
  const Value tile = request.value("tile");
  const auto* shape = std::get_if<IntTuple>(&tile.variant());
  std::optional<picture::Values> data;
  if (shape == nullptr) data.emplace(any_layout_of(tile));
  picture::TvStyle style{data ? &*data : nullptr, {}, {}, request.number("most", picture::kMost)};
  if (data || request.find("bits") != nullptr) style.memory = request.memory();
  if (const auto mark = request.mark(picture::shape_of(tv))) style.at = mark->index;
  style.only = request.number("focus");
  request.all_read();
  const TupleView of = data ? picture::shape_of(data->layout()) : shape->view();
  return picture::tv_picture(tv, picture::static_shape(of), style);
}

bool is_layout(const Value& value) {
  return std::holds_alternative<Layout>(value.variant()) || std::holds_alternative<ComposedLayout>(value.variant());
}

picture::Left left_of(const Value& value) {
  if (const auto* swizzle = std::get_if<Swizzle>(&value.variant())) return *swizzle;
  return std::visit([](auto&& x) { return picture::Left(x); }, any_layout_of(value));
}

const char* const kNames[] = {"a", "b", "c"};  // of the operands

Values operands_of(Request& request) {
  Values operands;
  for (const char* name : kNames) {
    if (request.find(name) != nullptr) operands.push_back(request.value(name));
  }
  return operands;
}

// What the operands of an operation are called; of those without a name nothing is drawn.
std::vector<std::string> names_of(std::string_view operation, const Values& operands) {
  if (operation.ends_with("_divide")) return {"the target"};
  if (operation.ends_with("_product")) return {"the block", "the tiler"};
  if (operation == "coalesce") return {"L"};
  const bool one = operation == "complement" || (operation == "composition" && !is_layout(operands[1]));
  if (one) return {"A"};
  return {"A", "B", "C"};
}

// The operands that are layouts, each a table, with some indices of the last one marked.
std::vector<picture::Panel> operand_panels(const std::vector<std::string>& names, const Values& operands,
                                           const std::vector<int64_t>& marked = {}) {
  std::vector<picture::Panel> panels;
  for (std::size_t i = 0; i < std::min(names.size(), operands.size()); ++i) {
    if (!is_layout(operands[i])) continue;
    const bool last = i + 1 == operands.size();
    const Operand operand(any_layout_of(operands[i]));
    panels.push_back(picture::operand_panel(names[i], operand, "", last ? marked : std::vector<int64_t>()));
  }
  return panels;
}

// An integer n stands for the layout n:1.
void read_as_layout(Value& value) {
  const auto* tuple = std::get_if<IntTuple>(&value.variant());
  if (tuple != nullptr && tuple->is_leaf() && tuple->leaf().is_integer() && tuple->leaf().value > 0) {
    value = make_layout(*tuple);
  }
}

// The operands of what has no result; of a composition with the coordinate that shows it.
Picture refused(std::string_view operation, Values operands, const LayoutError& error) {
  if (operation.ends_with("_product")) read_as_layout(operands[1]);
  if (operation == "composition" && is_layout(operands[1]) && !std::holds_alternative<Values>(operands[0].variant())) {
    const auto at = error.example() ? std::optional(error.example()->coordinate) : std::nullopt;
    return picture::no_composition_picture(left_of(operands[0]), any_layout_of(operands[1]), at);
  }
  Picture picture;
  picture.panels = picture::arranged(operand_panels(names_of(operation, operands), operands));
  return picture;
}

// The operands and the result of an operation that has no picture of its own.
Picture plain(const std::string& call, const Values& operands, const Value& result, const std::optional<IntTuple>& at) {
  std::vector<int64_t> marked;
  if (const auto* index = std::get_if<IntTuple>(&result.variant()); index != nullptr && operands.size() == 2) {
    const bool is_coordinate = std::holds_alternative<IntTuple>(operands[0].variant()) && is_layout(operands[1]);
    if (is_coordinate) {
      const TupleView shape = picture::shape_of(any_layout_of(operands[1]));
      marked = {crd2idx(tuple_of(operands[0]), picture::static_shape(shape)).value};
    }
  }
  Picture picture{concat(call, " = ", to_string(result)), {}, {}, {}};
  std::vector<picture::Panel> panels = operand_panels({"A", "B", "C"}, operands, marked);
  if (is_layout(result)) {
    const Operand of(any_layout_of(result));
    const picture::Table table(of.shape(), picture::kMost);
    picture::Looks looks{picture::leaves_of(of.shape(), table.drawn()), {}};
    if (at) looks.marked = {crd2idx(*at, of.shape()).value};
    looks.picked = true;
    panels.push_back(table.offsets("result = " + of.text(), "", of, looks));
    table.add_notes(picture.notes, "result");
  }
  picture.panels = picture::arranged(std::move(panels));
  return picture;
}

Picture operation_drawn(Request& request) {
  const std::string operation = request.text("operation");
  Values operands = operands_of(request);
  if (operation == "composition" && operands.size() > 1) read_as_layout(operands[1]);
  if (operation == "complement" && !operands.empty() && is_layout(operands[0])) {
    operands[0] = Layout(picture::domain_of(any_layout_of(operands[0])));
  }
  std::optional<IntTuple> at;
  if (request.find("at") != nullptr) at = tuple_of(request.value("at"));
  const bool is_file = request.find("window") == nullptr;
  request.all_read();
  const std::string call = call_text(operation, operands);
  Value result;
  try {
    result = page::apply(operation, operands);
  } catch (const LayoutError& error) {
    Picture picture = refused(operation, operands, error);
    if (is_file) picture.title = concat("LayoutError: ", call, ": ", error.what());  // a page says so beside it
    return picture;
  }
  if (const auto* parts = std::get_if<Values>(&result.variant())) {  // of make_layout_tv
    const AnyLayout tv = any_layout_of(parts->at(1));
    picture::TvStyle style;
    if (at) style.at = crd2idx(*at, picture::shape_of(tv)).value;
    return picture::tv_picture(tv, picture::static_shape(tuple_of(parts->at(0))), style);
  }
  if (!is_layout(result)) return plain(call, operands, result, at);
  const AnyLayout made = any_layout_of(result);
  const bool first = is_layout(operands[0]);
  if (operation == "composition" && (is_layout(operands[1]) || !first)) {
    return picture::composition_picture(left_of(operands[0]), any_layout_of(operands[1]), made, at);
  }
  if (!first) return plain(call, operands, result, at);
  const AnyLayout a = any_layout_of(operands[0]);
  if (operation == "composition") return picture::composition_by_mode_picture(a, tiler_of(operands[1]), made);
  if (operation == "coalesce") {
    const std::string inside = call.substr(operation.size() + 1, call.size() - operation.size() - 2);
    return picture::coalesce_picture(a, made, inside, at);
  }
  if (operation == "complement") {
    const Layout& of = std::get<Layout>(a);
    if (operands.size() == 1) {
      return picture::complement_picture(of, std::get<Layout>(made), cosize(filter(of)).value, to_string(of.view()));
    }
    const Value& by = operands[1];
    const IntTuple below = is_layout(by) ? IntTuple(picture::shape_of(any_layout_of(by))) : tuple_of(by);
    const std::string text = concat(to_string(of.view()), ", ", to_string(by));
    return picture::complement_picture(of, std::get<Layout>(made), product(below).value, text);
  }
  if (operation.ends_with("_divide")) return picture::divide_picture(operation, a, tiler_of(operands[1]), made, at);
  if (operation.ends_with("_product")) {
    picture::Repeats tiler;
    const Tiler of = is_layout(operands[1]) ? Tiler() : tiler_of(operands[1]);
    if (is_layout(operands[1])) {
      tiler.layout = any_layout_of(operands[1]);
    } else if (of.kind() == Tiler::Kind::kModes) {
      tiler.modes = of;
    } else {
      tiler.layout = AnyLayout(of.as_layout());
    }
    return picture::product_picture(operation, a, tiler, made, at);
  }
  return plain(call, operands, result, at);
}

// The worst request of a layout over banks or over words of lines.
picture::Panel request_panel(Request& request, const std::string& layout, const char* memory, const char* when = "") {
  const std::string op = request.text("op", "load");
  Asked asked{layout, memory, op, request.number("bits", 32), request.number("width", 0), request.number("base", 0)};
  request.all_read();
  const picture::Lanes lanes = worst_request(asked, when);
  return std::string_view(memory) == "shared" ? picture::banks_panel(lanes) : picture::lines_panel(lanes, 4);
}

Picture request_drawn(Request& request) {
  const std::string layout = request.text("layout"), memory = request.text("memory", "global");
  Picture picture{layout, {}, {}, {}};
  picture.panels.push_back({0, 0, request_panel(request, layout, memory == "shared" ? "shared" : "global")});
  return picture;
}

// A layout before and after a swizzle, by bank, and below them the worst request of each, as far as there is one.
Picture banks_drawn(Request& request) {
  const Layout plain = layout_of(request.value("layout"));
  const Value swizzled = page::apply("composition", {request.value("swizzle"), plain});
  picture::Style style{
      {picture::Color::kBank, {}, "bank"}, request.memory(), request.mark(plain.shape().view()), picture::kMost, {}};
  Picture picture;
  if (const auto* composed = std::get_if<ComposedLayout>(&swizzled.variant())) {
    picture = picture::swizzled_picture(*composed, style, picture::Only::kBoth);
  } else {
    picture = picture::layout_picture(any_layout_of(swizzled), style);
  }
  for (int64_t i = 0; i < static_cast<int64_t>(picture.panels.size()); ++i) {
    picture.panels[static_cast<std::size_t>(i)].row = 0;
    picture.panels[static_cast<std::size_t>(i)].column = i;
  }
  const std::string texts[] = {to_string(Value(plain)), to_string(swizzled)};
  for (int64_t i = 0; i < 2; ++i) {
    try {
      picture.panels.push_back({1, i, request_panel(request, texts[i], "shared", i == 0 ? "before" : "after")});
    } catch (const std::exception&) {  // what is not to be predicted, the tab Access says
    }
  }
  return picture;
}

}  // namespace

Picture drawn(Request& request) {
  const std::string subject = request.text("subject");
  if (subject == "layout") return layout_drawn(request);
  if (subject == "tv") return tv_drawn(request);
  if (subject == "operation") return operation_drawn(request);
  if (subject == "copy") return copy_drawn(request);
  if (subject == "mma") return mma_drawn(request);
  if (subject == "banks") return banks_drawn(request);
  if (subject == "request") return request_drawn(request);
  throw KindError(concat("there is no picture of '", subject,
                         "'; there are pictures of layout, tv, operation, copy, mma, banks and request"));
}

}  // namespace tilewright::page
