#include "many.hpp"

#include <algorithm>
#include <cmath>

#include "picture/drawing/dense.hpp"
#include "picture/drawing/text.hpp"

namespace tilewright::picture {

namespace {

using Texts = std::vector<std::string>;

constexpr int64_t kLimit = 144'500;  // bytes of a picture of 64 x 64 cells, of which base64 makes 200 kB
constexpr int64_t kPlaceBytes = 27;  // of <tspan x="1234.5"> </tspan>, a place of some of the cells of a row
constexpr int64_t kLeast = 6;        // bytes that a coordinate takes at least where there is little room
constexpr std::string_view kLength = " textLength=\"1234.5\"";

int64_t bytes(std::string_view text) { return static_cast<int64_t>(text.size()); }

// The texts of the cells of a panel, line by line of each row, each as wide as a cell but for a letter.
struct Lines {
  std::size_t lines = 0;                  // of each row
  std::vector<std::vector<Texts>> texts;  // [line][row][column]
};

Lines lines_of(const Box& box) {
  const Panel& panel = *box.panel;
  Lines found;
  for (const Cell& cell : panel.cells) found.lines = std::max(found.lines, cell.lines.size());
  const auto letters = static_cast<int64_t>(std::nearbyint(box.width / kAdvance)) - 1;
  const std::string blank(static_cast<std::size_t>(letters), ' ');
  const Texts row(static_cast<std::size_t>(panel.columns), blank);
  found.texts.assign(found.lines, std::vector<Texts>(static_cast<std::size_t>(panel.rows), row));
  for (const Cell& cell : panel.cells) {
    for (std::size_t i = 0; i < found.lines; ++i) {
      std::string& text =
          found.texts[i].at(static_cast<std::size_t>(cell.row)).at(static_cast<std::size_t>(cell.column));
      text = i < cell.lines.size() ? escaped(centered(cell.lines[i], letters)) : blank;
    }
  }
  return found;
}

// One of the lines of a row, whose cells have places of their own, as many as there is room for. Between two places
// letters stand by the font's width, which CairoSVG rounds to whole pixels of what it draws. Of a font of another width
// they stand by the length, which there is for texts of one place only.
std::string row_text(const Box& box, std::size_t row, std::size_t line, std::size_t lines, std::string_view content,
                     std::string_view more) {
  const double middle = box.top + (static_cast<double>(row) + 0.5) * box.height;
  const double y = middle + 4 - 6 * (static_cast<double>(lines) - 1) + 12 * static_cast<double>(line);
  std::string found = "<text class=\"c\" x=\"" + number(box.left + kAdvance / 2) + "\" y=\"" + number(y) + '"';
  return found.append(more).append(">").append(content).append("</text>");
}

// What the texts take, but the places in them.
int64_t bytes_of_texts(const Box& box, const Lines& lines) {
  const int64_t around = bytes(row_text(box, 0, 0, lines.lines, "", kLength)) + 4;
  int64_t sum = 0;
  for (const auto& line : lines.texts) {
    for (const Texts& row : line) {
      sum += around + std::max<int64_t>(static_cast<int64_t>(row.size()) - 1, 0);
      for (const std::string& text : row) sum += bytes(text);
    }
  }
  return sum;
}

// What a place takes for every so many cells of each line of a row.
int64_t bytes_of_places(const Box& box, const Lines& lines, int64_t step) {
  const int64_t count = std::max<int64_t>((box.panel->columns + step - 1) / step - 1, 0);
  return kPlaceBytes * count * box.panel->rows * static_cast<int64_t>(lines.lines);
}

// What pointing at the cells shows: of each panel its texts, which of their fields there is room for, and the room that
// is left.
struct Fields {
  std::vector<Titles> titles;
  std::vector<std::size_t> fields;
  int64_t room;
};

// No hover texts, but of each panel those of rows and columns.
Fields no_fields(const Sheet& sheet, int64_t room) {
  Fields found{{}, {}, room};
  for (const Box& box : sheet.boxes) {
    found.titles.push_back(Titles::none(*box.panel));
    if (const auto& place = found.titles.back().place) {
      const bool turned = place->turned;
      found.room -= bytes(joined(turned ? place->columns : place->rows, "||"));
      found.room -= bytes(joined(turned ? place->rows : place->columns, "||"));
    }
  }
  return found;
}

// What the coordinates of all cells take at least; those that have no shorter form do so as they are.
int64_t least(const Panel& panel) {
  const auto count = static_cast<int64_t>(panel.cells.size());
  if (panel.modes) return kLeast * count;
  int64_t letters = -count;  // without the parentheses
  for (const Cell& cell : panel.cells) letters += cell.hover.empty() ? 0 : length(cell.hover[0].second);
  return letters;
}

// The coordinates are as short as all others need them; the index, which says the same again, is needed least.
Fields fields_of(const Sheet& sheet, int64_t room) {
  int64_t around = 0, needed = 0;
  for (const Box& box : sheet.boxes) {
    around += (bytes(" data-hover=\"\"") + box.panel->columns) * box.panel->rows;
    needed += least(*box.panel);
  }
  if (room - around <= needed) return no_fields(sheet, room);
  std::vector<Titles> full;
  for (const Box& box : sheet.boxes) full.push_back(Titles::of(*box.panel));
  Fields found;
  for (int form = 0; form < kForms; ++form) {
    found = {{}, {}, room - around};
    std::size_t count = 0;
    for (std::size_t i = 0; i < full.size(); ++i) {
      found.titles.push_back(full[i].shorter(*sheet.boxes[i].panel, form));
      count = std::max(count, found.titles.back().names.size());
    }
    std::vector<bool> shown(count);
    for (std::size_t field = 0; field < count; ++field) {
      int64_t takes = 0;
      for (const Titles& titles : found.titles) takes += titles.bytes(field);
      if (takes > found.room) continue;
      found.fields.push_back(field);
      shown[field] = true;
      found.room -= takes;
    }
    const bool all = std::all_of(found.titles.begin(), found.titles.end(), [&](const Titles& titles) {
      for (std::size_t i = 0; i < titles.names.size(); ++i) {
        if (!shown[i] && titles.names[i] != "index") return false;
      }
      return true;
    });
    if (all) break;
  }
  if (found.fields.empty() || found.fields[0] != 0) return no_fields(sheet, room);
  return found;
}

// What the short titles say.
std::string key_of(const Fields& fields) {
  Texts shown;
  bool known = false, placed = false;
  for (const Titles& titles : fields.titles) {
    Texts names;
    for (const std::size_t i : fields.fields) {
      if (i < titles.names.size()) names.push_back(titles.names[i]);
    }
    known = known || !titles.names.empty();
    placed = placed || titles.place;
    if (names.empty()) continue;
    std::string said = joined(names, ", ") + (titles.text.empty() ? "" : " of the " + titles.text + " in it");
    if (std::find(shown.begin(), shown.end(), said) == shown.end()) shown.push_back(std::move(said));
  }
  if (!shown.empty()) return "as HTML, pointing at a cell shows " + joined(shown, " or ");
  const std::string missing = "there is no room for what each of so many cells would show when pointed at";
  if (placed) return missing + "; as HTML, the picture shows coordinate and text";
  return known ? missing : "";
}

// Letters of a text in XML.
int64_t letters_of(std::string_view xml) {
  int64_t letters = length(xml);
  for (std::size_t at = xml.find('&'); at < xml.size(); at = xml.find('&', at + 1)) {
    letters -= static_cast<int64_t>(xml.find(';', at) - at);
  }
  return letters;
}

// The attributes of a panel's texts: which fields they show, or how their coordinates are made up.
std::string attributes_of(const Box& box, const Titles& titles, const Texts& names) {
  const Panel& panel = *box.panel;
  std::string found;
  if (!names.empty()) {
    found = " data-names=\"" + escaped(joined(names, "|")) + '"';
    if (!titles.text.empty()) found += " data-text=\"" + escaped(titles.text) + '"';
  } else if (titles.place) {
    found = " data-rows=\"" + escaped(joined(titles.place->rows, "|")) + "\" data-columns=\"" +
            escaped(joined(titles.place->columns, "|")) + '"' + (titles.place->turned ? " data-turned=\"1\"" : "");
  }
  if (found.empty()) return found;
  return found + " data-cells=\"" + number(box.left) + " " + number(box.top) + " " +
         number(static_cast<double>(panel.columns) * box.width) + " " +
         number(static_cast<double>(panel.rows) * box.height) + " " + std::to_string(panel.rows) + " " +
         std::to_string(panel.columns) + '"';
}

// What pointing at the cells of each row shows.
Texts hovers_of(const Panel& panel, const std::vector<const Texts*>& values) {
  const auto rows = static_cast<std::size_t>(panel.rows);
  std::vector<Texts> cells(rows, Texts(static_cast<std::size_t>(panel.columns)));
  for (std::size_t i = 0; i < panel.cells.size(); ++i) {
    const Cell& cell = panel.cells[i];
    if (cell.hover.empty()) continue;
    std::string shown;
    for (std::size_t field = 0; field < values.size(); ++field) {
      if (field != 0) shown += ' ';
      shown += (*values[field])[i];
    }
    while (shown.ends_with(' ')) shown.pop_back();
    cells[static_cast<std::size_t>(cell.row)][static_cast<std::size_t>(cell.column)] = escaped(shown);
  }
  Texts found;
  for (const Texts& row : cells) found.push_back(" data-hover=\"" + joined(row, "|") + '"');
  return found;
}

// The texts, one for each line of a row, with places every so many cells, or none; of a file in a group.
void add_panel_texts(Texts& body, const Box& box, const Lines& lines, const Titles& titles,
                     const std::vector<std::size_t>& fields, std::size_t step, bool file = true) {
  const Panel& panel = *box.panel;
  Texts names;
  std::vector<const Texts*> values;
  for (const std::size_t i : fields) {
    if (i >= titles.names.size()) continue;
    names.push_back(titles.names[i]);
    values.push_back(&titles.values[i]);
  }
  const Texts hovers = names.empty() ? Texts() : hovers_of(panel, values);
  if (step == 0) step = static_cast<std::size_t>(std::max<int64_t>(panel.columns, 1));
  if (file) body.push_back("<g xml:space=\"preserve\"" + attributes_of(box, titles, names) + ">");
  for (std::size_t line = 0; line < lines.lines; ++line) {
    for (std::size_t row = 0; row < lines.texts[line].size(); ++row) {
      const Texts& texts = lines.texts[line][row];
      std::string content;
      bool placed = false;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (i != 0 && i % step == 0) {
          content += (placed ? " </tspan>" : " ") +
                     ("<tspan x=\"" + number(box.left + kAdvance / 2 + static_cast<double>(i) * box.width)) + "\">";
          placed = true;
        } else if (i != 0) {
          content += ' ';
        }
        content += texts[i];
      }
      std::string more = hovers.empty() || line != 0 ? "" : hovers[row];
      if (placed) {
        content += "</tspan>";
      } else {
        while (content.ends_with(' ')) content.pop_back();
        if (file) more = " textLength=\"" + number(static_cast<double>(letters_of(content)) * kAdvance) + '"' + more;
      }
      body.push_back(row_text(box, row, line, lines.lines, content, more));
    }
  }
  if (file) body.emplace_back("</g>");
}

}  // namespace

void add_colors(Texts& body, const Box& box) {
  const Panel& panel = *box.panel;
  const double w = box.width, h = box.height;
  const Strokes rows = strokes_of(colors_of(panel, true)), columns = strokes_of(colors_of(panel, false));
  const bool across = bytes_of(rows) <= bytes_of(columns);
  body.push_back("<g transform=\"translate(" + number(box.left) + " " + number(box.top) + ") scale(" + fixed(w, 2) +
                 " " + fixed(h, 2) + ")\" fill=\"none\">");
  for (const auto& [key, lines] : across ? rows : columns) {
    std::string path;
    int64_t x = 0, y = 0;
    for (const auto& [i, start, end] : lines) {
      const int64_t to = across ? start : i, by = across ? i : start;
      if (path.empty()) {
        path += 'M' + std::to_string(to) + (across ? " " : ".5 ") + std::to_string(by) + (across ? ".5" : "");
      } else {
        path += 'm' + std::to_string(to - x) + " " + std::to_string(by - y);
      }
      path += (across ? 'h' : 'v') + std::to_string(end - start);
      x = across ? end : i;
      y = across ? i : end;
    }
    const auto& [color, dashes] = key;
    const std::string dashed = dashes.empty() ? "" : " stroke-dasharray=\"" + dashes + '"';
    body.push_back("<path d=\"" + path + "\" stroke=\"" + color + '"' + dashed + "/>");
  }
  std::string rules;
  for (int64_t row = 0; row <= panel.rows; ++row) {
    rules += "M" + number(box.left) + " " + number(box.top + static_cast<double>(row) * h) + "h" +
             number(static_cast<double>(panel.columns) * w);
  }
  for (int64_t i = 0; i <= panel.columns; ++i) {
    rules += "M" + number(box.left + static_cast<double>(i) * w) + " " + number(box.top) + "v" +
             number(static_cast<double>(panel.rows) * h);
  }
  body.push_back("</g><path d=\"" + rules + "\" stroke=\"#555\" stroke-opacity=\".45\"/>");
}

void add_plain_texts(Texts& body, const Sheet& sheet) {
  for (const Box& box : sheet.boxes) add_panel_texts(body, box, lines_of(box), {}, {}, 0, false);
}

std::string add_texts(Texts& body, const Sheet& sheet, int64_t taken) {
  std::vector<Lines> lines;
  int64_t room = kLimit - taken, most = sheet.boxes.empty() ? 1 : 0;
  for (const Box& box : sheet.boxes) {
    lines.push_back(lines_of(box));
    room -= bytes_of_texts(box, lines.back());
    most = std::max(most, box.panel->columns);
  }
  const Fields fields = fields_of(sheet, room);
  // Cells from place to place: as few as there is room for.
  std::size_t step = 0;
  for (int64_t apart = 1; apart <= most && step == 0; apart *= 2) {
    int64_t places = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) places += bytes_of_places(sheet.boxes[i], lines[i], apart);
    if (places <= fields.room) step = static_cast<std::size_t>(apart);
  }
  for (std::size_t i = 0; i < lines.size(); ++i) {
    add_panel_texts(body, sheet.boxes[i], lines[i], fields.titles[i], fields.fields, step);
  }
  return key_of(fields);
}

}  // namespace tilewright::picture
