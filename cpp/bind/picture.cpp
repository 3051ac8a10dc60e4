// Pictures as SVG: the submodule _core.picture. tilewright.show is what users see of it.
#include "picture.hpp"

#include <pybind11/stl.h>

#include "convert.hpp"
#include "module.hpp"
#include "picture/drawing/arrows.hpp"
#include "picture/drawing/dense.hpp"
#include "picture/drawing/palette.hpp"
#include "picture/drawing/svg.hpp"
#include "picture/drawing/text.hpp"
#include "picture/tables/axes.hpp"

namespace tilewright::bind {

namespace {

using namespace picture;

constexpr const char* kSvg = R"doc(The SVG of a picture: of what has title, panels, notes and links.

Examples:
    >>> from tilewright._core import picture
    >>> from tilewright.show import Picture
    >>> picture.svg(Picture("nothing", ()))[:4]
    '<svg')doc";

constexpr const char* kMeasure = R"doc(Where everything of a picture stands, in pixels.

Args: dense: whether its cells are small; None: where they are more than 900.
Returns: (width, height, dense, title, notes, notes_y, boxes), boxes: for each panel (x, y, left, top, (width, height) of
    a cell, title, subtitle, legend, column_levels, row_levels): legend: the place of each entry; levels: of the labels
    of each level where they stand and how wide, or high, it is.

Examples:
    >>> from tilewright._core import picture
    >>> from tilewright.show import Picture
    >>> picture.measure(Picture("nothing", ()))[:2]
    (88.0, 54.0))doc";

constexpr const char* kArrows = R"doc(The corners of each arrow of a picture, and the middle of its text.

Args: dense: as of measure.

Examples:
    >>> from tilewright._core import picture
    >>> from tilewright.show import Cell, Link, Panel, Picture, beside
    >>> panel = Panel("", "", 1, 2, (Cell(0, 0), Cell(0, 1)))
    >>> drawn = Picture("", beside(panel, panel), links=[Link((0, 0, 1), (1, 0, 0))])
    >>> [len(points) for points, _ in picture.arrows(drawn)]
    [2])doc";

constexpr const char* kTexts =
    R"doc(Where the texts of a picture are, but those in cells: left, top, right and bottom of each.

Args: dense: as of measure.

Examples:
    >>> from tilewright._core import picture
    >>> from tilewright.show import Panel, Picture, below
    >>> picture.texts(Picture("ab", below(Panel("", "", 0, 0, ()))))
    [(16.0, 15.0, 32.0, 29.0)])doc";

constexpr const char* kEscape = R"doc(A text as it stands in SVG and HTML; a control character becomes U+FFFD.

Examples:
    >>> from tilewright._core import picture
    >>> picture.escape("a < b"), picture.escape("\x01") == "\ufffd"
    ('a &lt; b', True))doc";

constexpr const char* kColor =
    R"doc(The colour of a thread: eight hues, then the same ones lighter; it repeats after 24.

Examples:
    >>> from tilewright._core import picture
    >>> picture.thread_color(0), picture.thread_color(8), picture.thread_color(24)
    ('#77aadd', '#a7c8e9', '#77aadd'))doc";

constexpr const char* kFill =
    R"doc(What a cell is filled with: the colour of its owner, light grey without one; greyish, or darker grey, if faded.

Examples:
    >>> from tilewright._core.picture import fill
    >>> fill(0), fill(None), fill(None, faded=True), fill(0, faded=True)
    ('#77aadd', '#cbd0d5', '#b4bac1', '#b3c5d7'))doc";

constexpr const char* kStrokes = R"doc((line, start, end) of the neighbours of one colour, by (colour, dashes).

Equal runs at equal distances are one line. Other runs are one where enough lines have the same for a path of their own
to take less.

Examples:
    >>> from tilewright._core.picture import strokes
    >>> sorted(strokes([("red", "blue", "red", "blue", "red"), ("", "red", "red", "", "")]).items())
    [(('blue', '1 1'), [(0, 1, 4)]), (('red', ''), [(1, 1, 3)]), (('red', '1 1'), [(0, 0, 5)])]
    >>> list(strokes([("red", "", "red", "red")] * 4)), list(strokes([("red", "", "red", "red")] * 9))
    ([('red', '')], [('red', '1 1 2')]))doc";

using Lines = std::vector<std::string>;
using Spot = std::pair<double, double>;
using Levels = std::vector<Spot>;
using Placement =
    std::tuple<double, double, double, double, Spot, py::tuple, py::tuple, std::vector<Spot>, Levels, Levels>;
using Measures = std::tuple<double, double, bool, py::tuple, py::tuple, double, std::vector<Placement>>;

Spot spot(Point point) { return {point.x, point.y}; }

py::tuple texts_of_lines(const Lines& lines) {
  py::tuple found(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) found[i] = from_text(lines[i]);
  return found;
}

Levels levels_of(const Box& box, bool across) {
  const Axis& axis = across ? box.panel->column_axis : box.panel->row_axis;
  const std::vector<double> places = box.levels(across);
  Levels found;
  for (std::size_t i = 0; i < axis.size(); ++i) found.emplace_back(places[i], across ? kLevel : level_width(axis[i]));
  return found;
}

Measures measure(const Arg& drawn, std::optional<bool> dense) {
  const Picture picture = to_picture(drawn.handle);
  const Sheet sheet = measured(picture, dense);
  std::vector<Placement> boxes;
  for (const Box& box : sheet.boxes) {
    std::vector<Spot> legend;
    for (const auto& [at, entry] : box.legend) legend.push_back(spot(at));
    boxes.emplace_back(box.x, box.y, box.left, box.top, Spot(box.width, box.height), texts_of_lines(box.title),
                       texts_of_lines(box.subtitle), legend, levels_of(box, true), levels_of(box, false));
  }
  return {sheet.width,   sheet.height, sheet.dense, texts_of_lines(sheet.title), texts_of_lines(sheet.notes),
          sheet.notes_y, boxes};
}

using Arrow = std::pair<std::vector<Spot>, Spot>;

std::vector<Arrow> arrows(const Arg& drawn, std::optional<bool> dense) {
  const Picture picture = to_picture(drawn.handle);
  const Sheet sheet = measured(picture, dense);
  std::vector<Arrow> found;
  for (const Link& link : picture.links) {
    const std::vector<Point> points = arrow(sheet, link);
    std::vector<Spot> corners;
    for (const Point& point : points) corners.push_back(spot(point));
    found.emplace_back(std::move(corners), spot(label_place(sheet, points, link.text)));
  }
  return found;
}

using Sides = std::tuple<double, double, double, double>;

std::vector<Sides> texts(const Arg& drawn, std::optional<bool> dense) {
  const Picture picture = to_picture(drawn.handle);
  std::vector<Sides> found;
  for (const Rect& rect : texts_of(measured(picture, dense))) {
    found.emplace_back(rect.left, rect.top, rect.right, rect.bottom);
  }
  return found;
}

using Ends = std::tuple<int64_t, int64_t, int64_t>;

std::map<std::pair<std::string, std::string>, std::vector<Ends>> strokes(const Colors& lines) {
  std::map<std::pair<std::string, std::string>, std::vector<Ends>> found;
  for (const auto& [key, parts] : strokes_of(lines)) {
    for (const auto& [line, start, end] : parts) found[key].emplace_back(line, start, end);
  }
  return found;
}

}  // namespace

void bind_picture(py::module_& core) {
  py::module_ m = core.def_submodule("picture", "Pictures as SVG: of what has title, panels, notes and links.");
  m.attr("STYLE") = std::string(style());
  m.attr("MARGIN") = kMargin;
  m.attr("TITLE") = kTitle;
  m.attr("SUBTITLE") = kSubtitle;
  m.attr("NOTE") = kNote;
  m.attr("RICH") = kRich;
  m.attr("MOST") = kMost;
  m.def("svg", [](const Arg& picture) { return from_text(svg(to_picture(picture.handle))); }, py::arg("picture"), kSvg);
  m.def("measure", measure, py::arg("picture"), py::arg("dense") = py::none(), kMeasure);
  m.def("arrows", arrows, py::arg("picture"), py::arg("dense") = py::none(), kArrows);
  m.def("texts", texts, py::arg("picture"), py::arg("dense") = py::none(), kTexts);
  m.def(
      "escape", [](const StrArg& text) { return from_text(escaped(to_text(text.handle))); }, py::arg("text"), kEscape);
  m.def("thread_color", [](int64_t thread) { return thread_color(thread); }, py::arg("thread"), kColor);
  m.def(
      "fill", [](std::optional<int64_t> owner, bool faded) { return fill(owner, faded); }, py::arg("owner"),
      py::arg("faded") = false, kFill);
  m.def("strokes", strokes, py::arg("lines"), kStrokes);
  bind_picture_grids(m);
  bind_picture_subjects(m);
  bind_picture_tv(m);
  bind_picture_operations(m);
}

}  // namespace tilewright::bind
