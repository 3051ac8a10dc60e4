#include "picture.hpp"

#include <cmath>

#include "json.hpp"
#include "picture/drawing/svg.hpp"
#include "subjects.hpp"

namespace tilewright::page {

namespace {

using picture::Picture;

Picture& last() {
  static Picture picture;
  return picture;
}

void write_cell(Json& json, const picture::Cell& cell) {
  json.open('{').key("row").number(cell.row).key("column").number(cell.column).key("lines").open('[');
  for (const std::string& line : cell.lines) json.text(line);
  json.close(']');
  if (cell.owner) json.key("owner").number(*cell.owner);
  if (cell.faded) json.key("faded").boolean(true);
  if (cell.marked) json.key("marked").boolean(true);
  if (cell.pick) json.key("pick").number(*cell.pick);
  json.close('}');
}

void write_axis(Json& json, const picture::Axis& axis) {
  json.open('[');
  for (const picture::Level& level : axis) {
    json.open('[');
    for (const auto& [text, span] : level) json.open('{').key("text").text(text).key("span").number(span).close('}');
    json.close(']');
  }
  json.close(']');
}

void write_box(Json& json, const picture::Box& box) {
  const picture::Panel& panel = *box.panel;
  json.open('{').key("title").text(panel.title).key("subtitle").text(panel.subtitle);
  json.key("rows").number(panel.rows).key("columns").number(panel.columns);
  json.key("x").real(box.x).key("left").real(box.left).key("top").real(box.top);
  json.key("w").real(box.width).key("h").real(box.height);
  write_axis(json.key("rowAxis"), panel.row_axis);
  write_axis(json.key("columnAxis"), panel.column_axis);
  json.key("cells").open('[');
  for (const picture::Cell& cell : panel.cells) write_cell(json, cell);
  json.close(']').close('}');
}

void write_place(Json& json, const picture::Place& place) {
  json.open('[').number(place.panel).number(place.row).number(place.column).close(']');
}

std::string written(const Picture& picture, const picture::Sheet& sheet) {
  Json json;
  json.open('{').key("svg").text(picture::page_svg(picture, sheet)).key("title").text(picture.title);
  json.key("width").real(std::ceil(sheet.width)).key("height").real(std::ceil(sheet.height)).key("panels").open('[');
  for (const picture::Box& box : sheet.boxes) write_box(json, box);
  json.close(']').key("links").open('[');
  for (const picture::Link& link : picture.links) {
    write_place(json.open('{').key("from"), link.start);
    write_place(json.key("to"), link.end);
    json.key("text").text(link.text).close('}');
  }
  return json.close(']').close('}').str();
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
    const bool fits = request->find("window") != nullptr;
    const IntTuple window = fits ? tuple_of(request->value("window")) : IntTuple(static_int(1));
    const bool checks = request->find("check") != nullptr;
    Picture found = drawn(*request);
    if (checks) return "{}";
    if (!fits) return Json().open('{').key("svg").text(picture::svg(found)).close('}').str();
    last() = std::move(found);
    const auto side = [&](int64_t mode) { return static_cast<double>(product(window.view().mode(mode)).value); };
    const picture::Sheet sheet = picture::fitted(last(), side(0), side(1));
    return written(last(), sheet);
  } catch (const LayoutError& error) {
    return error_answer("LayoutError", error, field());
  } catch (const KindError& error) {
    return error_answer("TypeError", error, field());
  } catch (const std::exception& error) {
    return error_answer("ValueError", error, field());
  }
}

std::string hover_answer(int64_t panel, int64_t cell) {
  Json json;
  json.open('[');
  const auto& panels = last().panels;
  const auto p = static_cast<std::size_t>(panel), c = static_cast<std::size_t>(cell);
  if (p < panels.size() && c < panels[p].panel.cells.size()) {
    for (const auto& [name, text] : panels[p].panel.cells[c].hover) json.open('[').text(name).text(text).close(']');
  }
  return json.close(']').str();
}

}  // namespace tilewright::page
