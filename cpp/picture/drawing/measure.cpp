#include "measure.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "picture/drawing/text.hpp"

namespace tilewright::picture {

namespace {

constexpr int64_t kNoteLetters = 84;              // which a note may take below a narrow picture
constexpr int64_t kNarrowest = 46;                // letters, which a heading may take beside a narrow panel
constexpr std::size_t kFew = 300;                 // cells of a page that are large
constexpr double kLargest = 1.5, kBetter = 1.15;  // scales of a picture in a window, and by which one is better
constexpr int64_t kLongest = 90;                  // letters of a panel's title in one line

using Texts = std::vector<std::string>;

double letters_of(const std::string& text) { return static_cast<double>(length(text)); }

// Letters of the longest label of a column, of which a label of several has a part in each; `more` of each label.
double label_letters(const Axis& axis, double more) {
  double most = 0;
  for (const Level& level : axis) {
    for (const Label& label : level) {
      if (label.span > 0) most = std::max(most, (letters_of(label.text) + more) / static_cast<double>(label.span));
    }
  }
  return most;
}

Point cell_size(const Panel& panel, bool dense) {
  int64_t first = -1, rest = -1, count = -1;
  for (const Cell& cell : panel.cells) {
    count = std::max(count, static_cast<int64_t>(cell.lines.size()));
    for (std::size_t i = 0; i < cell.lines.size(); ++i) {
      int64_t& most = i == 0 ? first : rest;
      most = std::max(most, length(cell.lines[i]));
    }
  }
  const auto lines = static_cast<double>(std::max<int64_t>(count < 0 ? 1 : count, 1));
  if (first < 0) first = 1;
  if (dense) {
    const double letters =
        std::max(static_cast<double>(std::max(first, rest) + 1), label_letters(panel.column_axis, 1));
    return {std::ceil(letters) * kAdvance, 4.0 + 12 * lines};
  }
  const double wide = std::max(static_cast<double>(first) * kLetter, static_cast<double>(rest) * kSmall) + 10;
  return {std::max({28.0, wide, label_letters(panel.column_axis, 0.5) * kSmall}), 12.0 + 14 * lines};
}

// The places of a legend's entries, in columns, as many as there is room for; its height.
std::pair<std::vector<PlacedEntry>, double> legend_of(const Panel& panel, double width) {
  double longest = 0;
  for (const Entry& entry : panel.legend) longest = std::max(longest, letters_of(entry.text));
  const double size = 20 + longest * kSmall + 14;
  const std::size_t count = std::max<std::size_t>(static_cast<std::size_t>(width / size), 1);
  std::vector<PlacedEntry> places;
  for (std::size_t i = 0; i < panel.legend.size(); ++i) {
    const Point at{static_cast<double>(i % count) * size, static_cast<double>(i / count) * kLegend};
    places.push_back({at, &panel.legend[i]});
  }
  return {places, static_cast<double>((places.size() + count - 1) / count) * kLegend};
}

Texts note_lines(const std::string& note, double width, int64_t least = kNoteLetters) {
  const std::size_t begin = std::min(note.find_first_not_of(" \t\n\r\f\v"), note.size());
  const int64_t letters = std::max(static_cast<int64_t>(width / kPlain), least);
  return wrapped(note, letters, note.starts_with(' ') ? std::string(begin + 2, ' ') : "");
}

// The largest value for each row, or column, of the picture's grid.
using Largest = std::map<int64_t, double>;
void enlarge(Largest& found, int64_t place, double value) {
  const auto [at, added] = found.try_emplace(place, value);
  if (!added) at->second = std::max(at->second, value);
}

// What is measured of a panel by itself.
struct Measured {
  int64_t row, column;  // free: a column of its own
  Point cell;
  double body;
  Texts title, subtitle;
  std::vector<PlacedEntry> legend;
  double legend_height, head;

  double width() const {
    double found = std::max(body, 0.0);
    for (const std::string& line : title) found = std::max(found, kBold * letters_of(line));
    for (const std::string& line : subtitle) found = std::max(found, kPlain * letters_of(line));
    for (const auto& [at, entry] : legend) found = std::max(found, at.x + 20 + letters_of(entry->text) * kSmall);
    return found;
  }
};

}  // namespace

double level_width(const Level& level) {
  int64_t most = 0;
  for (const Label& label : level) most = std::max(most, length(label.text));
  return static_cast<double>(most) * kSmall + 10;
}

double heading_height(std::size_t lines) {
  return lines == 0 ? 0.0 : kTitle + kHeading * static_cast<double>(lines - 1);
}

Texts heading_lines(const std::string& text, int64_t letters) {
  Texts found;
  for (const std::string& line : wrapped(text, letters, "", false)) {
    if (length(line) <= letters) {
      found.push_back(line);
      continue;
    }
    Texts parts{""};
    const Texts pieces = split(line, ',');
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::string piece = pieces[i] + (i + 1 < pieces.size() ? "," : "");
      if (!parts.back().empty() && length(parts.back()) + length(piece) > letters) parts.emplace_back();
      parts.back() += piece;
    }
    found.insert(found.end(), parts.begin(), parts.end());
  }
  return found;
}

Point Box::middle(int64_t row, int64_t column) const {
  return {left + (static_cast<double>(column) + 0.5) * width, top + (static_cast<double>(row) + 0.5) * height};
}

std::vector<double> Box::levels(bool across) const {
  const Axis& axis = across ? panel->column_axis : panel->row_axis;
  std::vector<double> places(axis.size());
  double at = across ? top : left;
  for (std::size_t i = axis.size(); i-- > 0;) {
    const double size = across ? kLevel : level_width(axis[i]);
    places[i] = at - size / 2;
    at -= size;
  }
  return places;
}

void Sheet::add_note(const std::string& note) {
  for (std::string& line : note_lines(note, width - 2 * kMargin)) {
    width = std::max(width, 2 * kMargin + kPlain * letters_of(line));
    notes.push_back(std::move(line));
  }
  height = notes_y + kNote * static_cast<double>(notes.size()) + 4 + kMargin;
}

Sheet measured(const Picture& picture, std::optional<bool> asked, int64_t letters) {
  int64_t cells = 0;
  for (const Placed& placed : picture.panels) cells += static_cast<int64_t>(placed.panel.cells.size());
  Sheet sheet;
  sheet.dense = asked.value_or(cells > kRich);
  std::vector<Measured> all;
  Largest wide, high, side, widths, heads, depths;
  std::set<int64_t> columns, rows;
  for (std::size_t i = 0; i < picture.panels.size(); ++i) {
    const Placed& placed = picture.panels[i];
    Measured one{placed.row, placed.free ? -1 - static_cast<int64_t>(i) : placed.column, {}, 0, {}, {}, {}, 0, 0};
    one.cell = cell_size(placed.panel, sheet.dense);
    double labels = 0;
    for (const Level& level : placed.panel.row_axis) labels += level_width(level);
    enlarge(wide, one.column, one.cell.x);
    enlarge(high, one.row, one.cell.y);
    enlarge(side, one.column, labels);
    rows.insert(placed.row);
    if (!placed.free) columns.insert(placed.column);
    all.push_back(std::move(one));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Panel& panel = picture.panels[i].panel;
    Measured& one = all[i];
    one.body = side[one.column] + static_cast<double>(panel.columns) * wide[one.column];
    one.title = heading_lines(panel.title, std::max(kLongest, static_cast<int64_t>(one.body / kBold)));
    one.subtitle = wrapped(panel.subtitle, std::max(static_cast<int64_t>(one.body / kPlain), kNarrowest));
    std::tie(one.legend, one.legend_height) = legend_of(panel, std::max(one.body, kNarrowest * kPlain));
    one.head = heading_height(one.title.size()) + kSubtitle * static_cast<double>(one.subtitle.size()) +
               kLevel * static_cast<double>(panel.column_axis.size()) + 6;
    enlarge(widths, one.column, one.width());
    enlarge(heads, one.row, one.head);
    const double below = panel.legend.empty() ? 0.0 : one.legend_height + 8;
    enlarge(depths, one.row, static_cast<double>(panel.rows) * high[one.row] + below);
  }
  sheet.title = heading_lines(picture.title, letters);
  double x = kMargin, right = kMargin;
  std::map<int64_t, double> lefts, tops;
  for (const int64_t c : columns) {
    lefts[c] = x;
    x += widths[c] + kGap;
    right = x - kGap;
  }
  for (const int64_t r : rows) {
    x = kMargin;
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].row == r && all[i].column < 0) free.push_back(i);
    }
    std::stable_sort(free.begin(), free.end(),
                     [&](std::size_t a, std::size_t b) { return picture.panels[a].column < picture.panels[b].column; });
    for (const std::size_t i : free) {
      lefts[all[i].column] = x;
      x += widths[all[i].column] + kGap;
      right = std::max(right, x - kGap);
    }
  }
  double y = kMargin + 22 * static_cast<double>(sheet.title.size());
  for (const int64_t r : rows) {
    tops[r] = y + heads[r];
    y = tops[r] + depths[r] + kGap - 8;
  }
  const double bottom = rows.empty() ? y : y - kGap + 8;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Measured& one = all[i];
    const Panel& panel = picture.panels[i].panel;
    Box box{&panel, lefts[one.column], 0, 0, tops[one.row], wide[one.column], high[one.row], {}, {}, {}};
    box.left = box.x + side[one.column];
    box.y = box.top - one.head;
    const double below = box.top + static_cast<double>(panel.rows) * box.height + 10;
    for (const auto& [at, entry] : one.legend) box.legend.push_back({{box.x + at.x, below + at.y}, entry});
    box.title = std::move(one.title);
    box.subtitle = std::move(one.subtitle);
    sheet.boxes.push_back(std::move(box));
  }
  for (const std::string& line : sheet.title) right = std::max(right, kMargin + kBold * letters_of(line));
  for (const std::string& note : picture.notes) {
    for (std::string& line : note_lines(note, right - kMargin, std::min(letters, kNoteLetters)))
      sheet.notes.push_back(std::move(line));
  }
  for (const std::string& line : sheet.notes) right = std::max(right, kMargin + kPlain * letters_of(line));
  sheet.notes_y = bottom + (picture.links.empty() ? 12 : 24);  // an arrow below the panels has a text of its own
  const double notes = sheet.notes_y + kNote * static_cast<double>(sheet.notes.size()) + 4;
  sheet.width = right + kMargin;
  sheet.height = (sheet.notes.empty() ? bottom : notes) + kMargin;
  return sheet;
}

Sheet fitted(Picture& picture, double width, double height) {
  std::set<int64_t> rows, columns;
  std::size_t cells = 0;
  bool free = false;
  for (const Placed& placed : picture.panels) {
    rows.insert(placed.row), columns.insert(placed.column);
    cells += placed.panel.cells.size();
    free = free || placed.free;
  }
  const bool dense = cells > kFew;
  const auto letters = std::clamp(static_cast<int64_t>(width / kBold), kNarrowest, kTitleLetters);
  const auto count = static_cast<int64_t>(picture.panels.size());
  const bool grid = rows.size() > 1 && columns.size() > 1;
  // A grid without a gap may be one column; where panels stand in the others, as of A, B and C, says something.
  if (free || count < 2 || (grid && picture.panels.size() != rows.size() * columns.size())) {
    return measured(picture, dense, letters);
  }
  std::vector<std::size_t> order(picture.panels.size());  // row by row
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto position = [&](std::size_t i) { return std::pair(picture.panels[i].row, picture.panels[i].column); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return position(a) < position(b); });
  const auto place = [&](int64_t across) {
    for (int64_t i = 0; i < count; ++i) {
      Placed& placed = picture.panels[order[static_cast<std::size_t>(i)]];
      placed.row = i / across, placed.column = i % across;
    }
  };
  const auto scale = [&](const Sheet& sheet) {
    return std::min({width / sheet.width, height / sheet.height, kLargest});
  };
  const int64_t most = grid ? static_cast<int64_t>(columns.size()) : count;
  int64_t best = most;
  double largest = 0;
  for (int64_t across = most; across > 0; --across) {
    const bool arrows = !picture.links.empty();  // they go to the right, or down
    if ((grid || arrows) && across != most && across != 1) continue;
    place(across);
    const double found = scale(measured(picture, dense, letters));
    if (found > largest * kBetter) best = across, largest = found;
  }
  place(best);
  return measured(picture, dense, letters);
}

}  // namespace tilewright::picture
