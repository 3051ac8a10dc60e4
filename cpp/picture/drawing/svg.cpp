#include "svg.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "picture/drawing/arrows.hpp"
#include "picture/drawing/many.hpp"
#include "picture/drawing/palette.hpp"
#include "picture/drawing/text.hpp"

namespace tilewright::picture {

namespace {

using Texts = std::vector<std::string>;
enum class Where { kFile, kPage };

// Sizes of letters by the width of one of them, 6, 7 and 8 pixels: CairoSVG rounds widths to whole pixels, and looks
// for the first family only.
#define SMALL_SIZE "font-size:9.966px"
#define PLAIN_SIZE "font-size:11.627px"
#define BOLD_SIZE "font-size:13.288px"
#define INK "fill:#777"
// A notebook applies it to the whole page.
constexpr std::string_view kStyle = ".tw-show text{font-family:DejaVu Sans Mono,Menlo,Consolas,monospace;" PLAIN_SIZE
                                    ";fill:#111;text-anchor:middle;white-space:pre}"
                                    ".tw-show .s{" SMALL_SIZE
                                    "}"
                                    ".tw-show .c{text-anchor:start;" SMALL_SIZE
                                    "}"
                                    ".tw-show .g{" SMALL_SIZE ";" INK
                                    "}"
                                    ".tw-show .f{fill:#444}"
                                    ".tw-show .u{text-anchor:start;" PLAIN_SIZE ";" INK
                                    "}"
                                    ".tw-show .h{text-anchor:start;" BOLD_SIZE ";font-weight:bold;" INK
                                    "}"
                                    ".tw-show .t{text-anchor:start;" BOLD_SIZE ";font-weight:bold;" INK
                                    "}"
                                    ".tw-show .l{text-anchor:start;" SMALL_SIZE ";" INK
                                    "}"
                                    ".tw-show rect{stroke:#555;stroke-width:.8}"
                                    ".tw-show .b{fill:none;stroke:#999}"
                                    ".tw-show .m{fill:none;stroke:#111;stroke-width:3}"
                                    ".tw-show .k{fill:none;stroke:#d63346;stroke-width:1.8;stroke-linejoin:round}"
                                    ".tw-show .a{fill:#d63346}"
                                    ".tw-show .w{" PLAIN_SIZE
                                    ";font-weight:bold;stroke:#fff;stroke-width:4}"  // a white ground for what follows
                                    ".tw-show .n{" PLAIN_SIZE ";font-weight:bold;fill:#d63346}";
#undef SMALL_SIZE
#undef PLAIN_SIZE
#undef BOLD_SIZE
#undef INK

std::string text_at(double x, double y, std::string_view text, std::string_view kind = "") {
  std::string found = "<text x=\"" + number(x) + "\" y=\"" + number(y) + '"';
  if (!kind.empty()) found.append(" class=\"").append(kind).append("\"");
  return found.append(">").append(escaped(text)).append("</text>");
}

std::string move(double x, double y) { return "M" + number(x) + " " + number(y); }

// The labels of an axis; those of several rows or columns with a line along what they stand for.
void add_labels(Texts& body, const Box& box, bool across) {
  const Axis& axis = across ? box.panel->column_axis : box.panel->row_axis;
  const double size = across ? box.width : box.height, begin = across ? box.left : box.top;
  const std::vector<double> places = box.levels(across);
  std::string lines;
  for (std::size_t i = 0; i < axis.size(); ++i) {
    const double edge = places[i] + (across ? kLevel : level_width(axis[i])) / 2 - 2;
    int64_t at = 0;
    for (const Label& label : axis[i]) {
      const auto start = static_cast<double>(at), span = static_cast<double>(label.span);
      const double middle = begin + (start + span / 2) * size;
      at += label.span;
      if (label.text.empty()) continue;
      body.push_back(across ? text_at(middle, places[i] + 2, label.text, "g")
                            : text_at(places[i], middle + 3.5, label.text, "g"));
      if (i + 1 == axis.size()) continue;
      const double from = begin + start * size + 3, length = span * size - 6;
      lines += across ? move(from, edge) + "h" + number(length) : move(edge, from) + "v" + number(length);
    }
  }
  if (!lines.empty()) body.push_back("<path d=\"" + lines + "\" class=\"b\"/>");
}

// The parts of a page are one element each, on a line of its own: it makes those anew that are not what they were.
std::string one(const Texts& parts) { return "<g>" + joined(parts, "") + "</g>"; }

// Each cell as a rectangle with its text and, in a file, with what shows on hover.
void add_rich(Texts& body, const Box& box, Where where) {
  std::vector<const Cell*> cells;
  for (const Cell& cell : box.panel->cells) cells.push_back(&cell);
  std::stable_sort(cells.begin(), cells.end(), [](const Cell* a, const Cell* b) {
    return std::pair(a->row, a->column) < std::pair(b->row, b->column);
  });
  const double w = box.width, h = box.height;
  const std::string size = "\" width=\"" + number(w) + "\" height=\"" + number(h) + "\" fill=\"";
  Texts found;
  for (const Cell* cell : cells) {
    const double x = box.left + static_cast<double>(cell->column) * w, y = box.top + static_cast<double>(cell->row) * h;
    std::string& all = found.emplace_back("<g>");
    if (where == Where::kFile && !cell->hover.empty()) {
      std::string title;
      for (const auto& [name, text] : cell->hover) title += (title.empty() ? "" : "\n") + name + " " + text;
      all += "<title>" + escaped(title) + "</title>";
    }
    all += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + size + fill(cell->owner, cell->faded) + "\"/>";
    const double top = y + h / 2 + 4 - 7 * (static_cast<double>(cell->lines.size()) - 1);
    for (std::size_t i = 0; i < cell->lines.size(); ++i) {
      const char* kind = i == 0 ? (cell->faded ? "f" : "") : (cell->faded ? "s f" : "s");
      all += text_at(x + w / 2, top + 14 * static_cast<double>(i), cell->lines[i], kind);
    }
    all += "</g>";
  }
  if (where == Where::kFile) found = {joined(found, "")};
  body.insert(body.end(), found.begin(), found.end());
}

void add_rules(Texts& body, const Box& box, bool across) {
  const Panel& panel = *box.panel;
  const std::vector<Rule>& rules = across ? panel.row_rules : panel.column_rules;
  std::set<int64_t> weights;
  for (const Rule& rule : rules) weights.insert(rule.weight);
  for (const int64_t weight : weights) {
    std::string path;
    for (const Rule& rule : rules) {
      if (rule.weight != weight) continue;
      const auto after = static_cast<double>(rule.after);
      path += across ? move(box.left, box.top + after * box.height) + "h" +
                           number(static_cast<double>(panel.columns) * box.width)
                     : move(box.left + after * box.width, box.top) + "v" +
                           number(static_cast<double>(panel.rows) * box.height);
    }
    body.push_back("<path d=\"" + path + "\" stroke=\"#111\" stroke-width=\"" +
                   number(0.8 + 0.9 * static_cast<double>(weight)) + "\"/>");
  }
}

void add_marks(Texts& body, const Box& box) {
  const double w = box.width, h = box.height;
  std::string path;
  for (const Cell& cell : box.panel->cells) {
    if (!cell.marked) continue;
    path +=
        move(box.left + static_cast<double>(cell.column) * w + 1.5, box.top + static_cast<double>(cell.row) * h + 1.5) +
        "h" + number(w - 3) + "v" + number(h - 3) + "h" + number(3 - w) + "z";
  }
  if (!path.empty()) body.push_back("<path d=\"" + path + "\" class=\"m\"/>");
}

void add_panel(Texts& body, const Box& box, bool dense, Where where) {
  for (std::size_t i = 0; i < box.title.size(); ++i) {
    body.push_back(text_at(box.x, box.y + 13 + kHeading * static_cast<double>(i), box.title[i], "h"));
  }
  const double below = box.y + heading_height(box.title.size());
  for (std::size_t i = 0; i < box.subtitle.size(); ++i) {
    body.push_back(text_at(box.x, below + 11 + kSubtitle * static_cast<double>(i), box.subtitle[i], "u"));
  }
  add_labels(body, box, true);
  add_labels(body, box, false);
  if (!dense) {
    add_rich(body, box, where);
  } else if (where == Where::kFile) {
    add_colors(body, box);
  } else {
    Texts colors;
    add_colors(colors, box);
    body.push_back(one(colors));
  }
  add_rules(body, box, true);
  add_rules(body, box, false);
  add_marks(body, box);
  for (const auto& [at, entry] : box.legend) {
    body.push_back("<rect x=\"" + number(at.x) + "\" y=\"" + number(at.y) + "\" width=\"14\" height=\"12\" fill=\"" +
                   fill(entry->owner, entry->faded) + "\"/>");
    body.push_back(text_at(at.x + 20, at.y + 10, entry->text, "l"));
  }
}

// A line with its head, and a text at its place.
void add_arrow(Texts& body, const Sheet& sheet, const Link& link) {
  const std::vector<Point> points = arrow(sheet, link);
  const Point before = points[points.size() - 2], end = points.back();
  double far = std::hypot(end.x - before.x, end.y - before.y);
  if (far == 0) far = 1;
  const double dx = (end.x - before.x) / far, dy = (end.y - before.y) / far;
  const std::vector<Point> head = {
      end, {end.x - 8 * dx - 3 * dy, end.y - 8 * dy + 3 * dx}, {end.x - 8 * dx + 3 * dy, end.y - 8 * dy - 3 * dx}};
  const auto line = [](const std::vector<Point>& corners) {
    std::string text;
    for (const Point& corner : corners) text += (text.empty() ? "" : "L") + number(corner.x) + " " + number(corner.y);
    return text;
  };
  body.push_back("<path d=\"M" + line(points) + "\" class=\"k\"/><path d=\"M" + line(head) + "z\" class=\"a\"/>");
  if (link.text.empty()) return;
  const Point place = label_place(sheet, points, link.text);
  for (const char* kind : {"w", "n"}) body.push_back(text_at(place.x, place.y + 4, link.text, kind));
}

Texts titles_and_panels(const Sheet& sheet, Where where) {
  Texts body;
  for (std::size_t i = 0; i < sheet.title.size(); ++i) {
    body.push_back(text_at(kMargin, kMargin + 10 + 22 * static_cast<double>(i), sheet.title[i], "t"));
  }
  for (const Box& box : sheet.boxes) add_panel(body, box, sheet.dense, where);
  return body;
}

std::string finished(const Picture& picture, const Sheet& sheet, Texts body, Where where) {
  Texts arrows;
  for (const Link& link : picture.links) add_arrow(arrows, sheet, link);
  if (where == Where::kPage && !arrows.empty()) arrows = {one(arrows)};
  body.insert(body.end(), arrows.begin(), arrows.end());
  for (std::size_t i = 0; i < sheet.notes.size(); ++i) {
    body.push_back(text_at(kMargin, sheet.notes_y + 10 + kNote * static_cast<double>(i), sheet.notes[i], "u"));
  }
  const std::string w = number(std::ceil(sheet.width)), h = number(std::ceil(sheet.height));
  std::string found = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + w + " " + h + "\" width=\"" + w +
                      "\" height=\"" + h + "\" class=\"tw-show\" role=\"img\">\n<title>" + escaped(picture.title) +
                      "</title>\n";
  if (where == Where::kFile) found.append("<style>").append(kStyle).append("</style>\n");
  for (const std::string& part : body) found.append(part).append("\n");
  return found + "</svg>\n";
}

}  // namespace

std::string_view style() { return kStyle; }

std::string page_svg(const Picture& picture, const Sheet& sheet) {
  Texts body = titles_and_panels(sheet, Where::kPage);
  if (sheet.dense) add_plain_texts(body, sheet);
  return finished(picture, sheet, std::move(body), Where::kPage);
}

std::string svg(const Picture& picture) {
  Sheet sheet = measured(picture);
  Texts body = titles_and_panels(sheet, Where::kFile);
  if (sheet.dense) {
    const auto bytes = [](const Texts& lines) {
      int64_t sum = 0;
      for (const std::string& line : lines) sum += static_cast<int64_t>(line.size()) + 1;
      return sum;
    };
    const auto title = static_cast<int64_t>(picture.title.size());  // a page has another one
    const int64_t taken = static_cast<int64_t>(kStyle.size()) + bytes(body) + bytes(sheet.notes) + 2 * title + 3;
    const std::string note = add_texts(body, sheet, taken);
    if (!note.empty()) sheet.add_note(note);
  }
  return finished(picture, sheet, std::move(body), Where::kFile);
}

}  // namespace tilewright::picture
