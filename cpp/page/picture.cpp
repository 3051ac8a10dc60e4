#include "picture.hpp"

#include <charconv>

#include "json.hpp"
#include "operations.hpp"
#include "picture/composition.hpp"
#include "picture/svg.hpp"
#include "picture/swizzles.hpp"
#include "picture/tv.hpp"
#include "request.hpp"
#include "value.hpp"

namespace tilewright::page {

namespace {

using picture::Picture;

// The fields of a request, as they are asked for; the last one is what an error is about.
class Request {
 public:
  explicit Request(std::string_view json) : fields_(fields_of(json)) {}

  const std::string& field() const { return field_; }
  void all_read() { field_.clear(); }

  const std::string* find(const char* name) {
    field_ = name;
    const auto found = fields_.find(name);
    return found == fields_.end() ? nullptr : &found->second;
  }
  std::string text(const char* name, const char* usual = nullptr) {
    const std::string* found = find(name);
    if (found == nullptr && usual == nullptr) throw KindError(concat("the field '", name, "' is missing"));
    return found == nullptr ? usual : *found;
  }
  Value value(const char* name) { return parse_value(text(name)); }
  int64_t number(const char* name, int64_t usual) {
    const std::string* found = find(name);
    if (found == nullptr) return usual;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(found->data(), found->data() + found->size(), value);
    if (error != std::errc() || end != found->data() + found->size()) {
      throw KindError(concat("expected '", name, "' to be a whole number, not ", *found));
    }
    return value;
  }
  picture::Memory memory() {
    picture::Memory found;
    if (find("bits") != nullptr) found = {number("bits", 0), 0, false, ""};
    if (found.bits < 1) throw picture::OptionError("an element has at least one bit");
    found.base = number("base", 0);
    return found;
  }
  std::optional<picture::Mark> mark(TupleView shape) {
    if (find("at") == nullptr) return {};
    const Value at = value("at");
    return picture::Mark{picture::index_of(tuple_of(at), picture::static_shape(shape)), to_string(at)};
  }
  picture::Color color(const char* usual) {
    const std::string name = text("color", usual);
    if (name == "value") return {};
    if (name == "bank") return {picture::Color::kBank, {}, name};
    if (name == "mode") return {picture::Color::kMode, {0}, name};
    picture::Color found{picture::Color::kMode, {}, name};
    const Value path = parse_value(name);
    for_each_leaf(tuple_of(path), [&](const Node& leaf) { found.path.push_back(leaf.value); });
    return found;
  }

 private:
  Fields fields_;
  std::string field_;
};

Picture layout_drawn(Request& request) {
  const Value value = request.value("layout");
  const picture::Memory memory = request.memory();
  const int64_t most = request.number("most", picture::kMost);
  if (const auto* swizzle = std::get_if<Swizzle>(&value.variant())) {
    const auto at = request.find("at") ? std::optional(request.number("at", 0)) : std::nullopt;
    return picture::swizzle_picture(*swizzle, memory, at, most);
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
  request.all_read();
  const TupleView of = data ? picture::shape_of(data->layout()) : shape->view();
  return picture::tv_picture(tv, picture::static_shape(of), style);
}

Picture composition_drawn(Request& request) {
  const Value a = request.value("a"), b = request.value("b");
  const AnyLayout by = any_layout_of(b);
  std::optional<IntTuple> at;
  if (request.find("at") != nullptr) at = tuple_of(request.value("at"));
  request.all_read();
  const AnyLayout result = any_layout_of(apply("composition", {a, b}));
  if (const auto* swizzle = std::get_if<Swizzle>(&a.variant())) {
    return picture::composition_picture(*swizzle, by, result, at);
  }
  const AnyLayout of = any_layout_of(a);
  return std::visit([&](const auto& x) { return picture::composition_picture(x, by, result, at); }, of);
}

Picture drawn(Request& request) {
  const std::string subject = request.text("subject");
  if (subject == "layout") return layout_drawn(request);
  if (subject == "tv") return tv_drawn(request);
  if (subject == "composition") return composition_drawn(request);
  throw KindError(concat("there is no picture of '", subject, "'; there are pictures of layout, tv and composition"));
}

std::string error_answer(const char* kind, const std::exception& error, const std::string& field) {
  Json json;
  const std::string_view what = error.what();
  const std::string text = what.starts_with("show(") ? std::string(what) : concat("show: ", std::string(what));
  json.open('{').key("error").open('{').key("kind").text(kind).key("text").text(text);
  if (!field.empty()) json.key("field").text(field);
  return json.close('}').close('}').str();
}

}  // namespace

std::string picture_answer(std::string_view text) {
  std::optional<Request> request;
  const auto field = [&] { return request ? request->field() : std::string(); };
  try {
    request.emplace(text);
    const std::string svg = picture::svg(drawn(*request));
    return Json().open('{').key("svg").text(svg).close('}').str();
  } catch (const LayoutError& error) {
    return error_answer("LayoutError", error, field());
  } catch (const KindError& error) {
    return error_answer("TypeError", error, field());
  } catch (const std::exception& error) {
    return error_answer("ValueError", error, field());
  }
}

}  // namespace tilewright::page
