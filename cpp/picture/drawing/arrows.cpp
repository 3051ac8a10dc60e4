#include "arrows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <set>
#include <tuple>

#include "picture/drawing/text.hpp"

namespace tilewright::picture {

namespace {

constexpr double kOut = 8.0;    // pixels from a panel to an arrow along its side
constexpr double kTurn = 40.0;  // pixels of a detour that is as bad as another corner
constexpr double kAbove = 3.0;  // pixels from the labels of columns to an arrow between them and what is above them

// What differs where cells are many and small: a way round a panel is long, and the labels leave less room.
struct Room {
  double inside;  // how much worse than outside a way is between cells
  double clear;   // pixels between an arrow's middle and a text
};
constexpr Room kRoomy = {2.0, 2.0}, kTight = {1.5, 0.7};

struct Part {  // of a line
  double low, high;
};
using Parts = std::vector<Part>;

// Of the two coordinates the one across a line, and the one along it; a line of constant y runs across the page.
bool meets(const Rect& rect, bool across, double line) {
  return across ? rect.top <= line && line <= rect.bottom : rect.left <= line && line <= rect.right;
}
Part part_of(const Rect& rect, bool across) {
  return across ? Part{rect.left, rect.right} : Part{rect.top, rect.bottom};
}

// Where the lines of a panel's heading end.
double heading_end(const Box& box) {
  double end = box.x;
  for (const std::string& line : box.title) end = std::max(end, box.x + kBold * static_cast<double>(length(line)));
  for (const std::string& line : box.subtitle) end = std::max(end, box.x + kPlain * static_cast<double>(length(line)));
  return end;
}

struct Way {
  int dx, dy;
  friend bool operator==(const Way&, const Way&) = default;
};
constexpr std::array<Way, 4> kWays = {{{1, 0}, {-1, 0}, {0, 1}, {0, -1}}};

// A crossing of two lines, by their numbers, and the way that led there.
struct State {
  std::size_t column, row;
  Way way;
};

struct End {  // a cell: its lanes down and across, its sides
  std::size_t panel;
  std::array<double, 2> down, across;
  Rect sides;

  bool has_lane(bool runs_across, double line) const {
    const auto& lanes = runs_across ? across : down;
    return lanes[0] == line || lanes[1] == line;
  }
};

// The lines that an arrow may follow, and where it may not: the closed parts of each line. Inside of its two panels it
// keeps to lanes of its cells' row and column, between the texts and the lines.
class Field {
 public:
  Field(const Sheet& sheet, const Link& link) {
    std::set<double> xs{kMargin / 2, sheet.width - kMargin / 2}, ys{sheet.height - kMargin / 2};
    for (const Place& place : {link.start, link.end}) {
      const Box& box = sheet.boxes.at(static_cast<std::size_t>(place.panel));
      const double w = box.width, h = box.height;
      const double left = box.left + static_cast<double>(place.column) * w;
      const double top = box.top + static_cast<double>(place.row) * h;
      const double a = sheet.dense ? 2.0 : 2.8, b = sheet.dense ? 2.2 : 3.5;
      ends_.push_back({static_cast<std::size_t>(place.panel),
                       {left + a, left + w - a},
                       {top + b, top + h - b},
                       {left, top, left + w, top + h}});
      xs.insert({left, left + w, left + a, left + w - a});
      ys.insert({top, top + h, top + b, top + h - b});
    }
    for (const Box& box : sheet.boxes) {
      areas_.push_back(picture::cells_of(box));
      xs.insert({box.x - kOut, areas_.back().right + kOut, heading_end(box) + kOut});
      double lowest = areas_.back().bottom;
      for (const auto& [at, entry] : box.legend) lowest = std::max(lowest, at.y + 12);
      const double labels = kLevel * static_cast<double>(box.panel->column_axis.size());
      ys.insert({box.y - kOut, box.top - labels - kAbove, areas_.back().bottom + kOut, lowest + kOut});
    }
    xs_.assign(xs.begin(), xs.end());
    ys_.assign(ys.begin(), ys.end());
    std::vector<Rect> closed;
    const double clear = (sheet.dense ? kTight : kRoomy).clear;
    for (const Rect& text : texts_of(sheet)) {
      closed.push_back({text.left - clear, text.top - clear, text.right + clear, text.bottom + clear});
    }
    for (const End& end : ends_) {
      const Rect& cell = end.sides;
      closed.push_back({cell.left + 0.1, cell.top + 0.1, cell.right - 0.1, cell.bottom - 0.1});
    }
    for (const double y : ys_) rows_.push_back(closed_parts(closed, true, y));
    for (const double x : xs_) columns_.push_back(closed_parts(closed, false, x));
  }

  const std::vector<double>& xs() const { return xs_; }
  const std::vector<double>& ys() const { return ys_; }
  Point at(const State& state) const { return {xs_[state.column], ys_[state.row]}; }

  // Points on the sides of a cell, in a lane, with the direction that leads out of it.
  std::vector<State> doors(std::size_t which) const {
    const End& end = ends_[which];
    std::vector<State> found;
    for (const double y : end.across) {
      found.push_back(state(end.sides.right, y, kWays[0]));
      found.push_back(state(end.sides.left, y, kWays[1]));
    }
    for (const double x : end.down) {
      found.push_back(state(x, end.sides.bottom, kWays[2]));
      found.push_back(state(x, end.sides.top, kWays[3]));
    }
    return found;
  }

  bool free(const State& from, const State& to) const {
    const bool across = from.row == to.row;
    const Parts& parts = across ? rows_[from.row] : columns_[from.column];
    const Point a = at(from), b = at(to);
    const double low = across ? std::min(a.x, b.x) : std::min(a.y, b.y);
    const double high = across ? std::max(a.x, b.x) : std::max(a.y, b.y);
    return std::all_of(parts.begin(), parts.end(),
                       [&](const Part& part) { return high <= part.low || part.high <= low; });
  }

  bool inside(Point a, Point b) const {
    const double x = (a.x + b.x) / 2, y = (a.y + b.y) / 2;
    return std::any_of(areas_.begin(), areas_.end(), [&](const Rect& area) {
      return area.left < x && x < area.right && area.top < y && y < area.bottom;
    });
  }

 private:
  State state(double x, double y, Way way) const {
    const auto number = [](const std::vector<double>& lines, double line) {
      return static_cast<std::size_t>(std::lower_bound(lines.begin(), lines.end(), line) - lines.begin());
    };
    return {number(xs_, x), number(ys_, y), way};
  }

  Parts closed_parts(const std::vector<Rect>& closed, bool across, double line) const {
    Parts parts;
    for (const Rect& rect : closed) {
      if (meets(rect, across, line)) parts.push_back(part_of(rect, across));
    }
    for (std::size_t panel = 0; panel < areas_.size(); ++panel) {
      const bool lane = std::any_of(ends_.begin(), ends_.end(),
                                    [&](const End& end) { return end.panel == panel && end.has_lane(across, line); });
      if (!lane && meets(areas_[panel], across, line)) parts.push_back(part_of(areas_[panel], across));
    }
    return parts;
  }

  std::vector<double> xs_, ys_;
  std::vector<End> ends_;
  std::vector<Rect> areas_;
  std::vector<Parts> rows_, columns_;  // of each line the closed parts
};

}  // namespace

std::vector<Rect> texts_of(const Sheet& sheet) {
  std::vector<Rect> found;
  const auto line = [&](double x, double y, const std::string& text, double letter) {
    found.push_back({x, y - 11, x + letter * static_cast<double>(length(text)), y + 3});
  };
  for (std::size_t i = 0; i < sheet.title.size(); ++i) {
    line(kMargin, kMargin + 10 + 22 * static_cast<double>(i), sheet.title[i], kBold);
  }
  for (std::size_t i = 0; i < sheet.notes.size(); ++i) {
    line(kMargin, sheet.notes_y + 10 + kNote * static_cast<double>(i), sheet.notes[i], kPlain);
  }
  for (const Box& box : sheet.boxes) {
    for (std::size_t i = 0; i < box.title.size(); ++i) {
      line(box.x, box.y + 13 + kHeading * static_cast<double>(i), box.title[i], kBold);
    }
    const double below = box.y + heading_height(box.title.size());
    for (std::size_t i = 0; i < box.subtitle.size(); ++i) {
      line(box.x, below + 11 + kSubtitle * static_cast<double>(i), box.subtitle[i], kPlain);
    }
    for (const auto& [at, entry] : box.legend) {
      found.push_back({at.x, at.y, at.x + 20 + static_cast<double>(length(entry->text)) * kSmall, at.y + 12});
    }
    for (const bool across : {true, false}) {
      const Axis& axis = across ? box.panel->column_axis : box.panel->row_axis;
      const double begin = across ? box.left : box.top, size = across ? box.width : box.height;
      const std::vector<double> places = box.levels(across);
      for (std::size_t i = 0; i < axis.size(); ++i) {
        int64_t at = 0;
        for (const Label& label : axis[i]) {
          const double middle = begin + (static_cast<double>(at) + static_cast<double>(label.span) / 2) * size;
          const double x = across ? middle : places[i], y = across ? places[i] - 2 : middle;
          const double half = static_cast<double>(length(label.text)) * kSmall / 2;
          if (!label.text.empty()) found.push_back({x - half, y - 5, x + half, y + 5});
          at += label.span;
        }
      }
    }
  }
  return found;
}

Rect cells_of(const Box& box) {
  return {box.left, box.top, box.left + static_cast<double>(box.panel->columns) * box.width,
          box.top + static_cast<double>(box.panel->rows) * box.height};
}

std::vector<Point> arrow(const Sheet& sheet, const Link& link) {
  const Field field(sheet, link);
  const double inside = (sheet.dense ? kTight : kRoomy).inside;
  const std::size_t columns = field.xs().size(), rows = field.ys().size();
  const auto number = [&](const State& state) {
    const auto way = std::find(kWays.begin(), kWays.end(), state.way) - kWays.begin();
    return (state.column * rows + state.row) * kWays.size() + static_cast<std::size_t>(way);
  };
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const std::size_t count = columns * rows * kWays.size();
  std::vector<double> costs(count, kNever);
  std::vector<std::optional<State>> came(count);
  // Of equal costs the point that is further left, then higher up.
  using Item = std::tuple<double, std::size_t, std::size_t, int, int>;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> heap;
  const auto push = [&](double cost, const State& state) {
    costs[number(state)] = cost;
    heap.emplace(cost, state.column, state.row, state.way.dx, state.way.dy);
  };
  for (const State& door : field.doors(0)) push(0.0, door);
  std::vector<bool> goals(count);
  for (State door : field.doors(1)) {
    door.way = {-door.way.dx, -door.way.dy};
    goals[number(door)] = true;
  }
  while (!heap.empty()) {
    const auto [cost, column, row, dx, dy] = heap.top();
    heap.pop();
    State state{column, row, {dx, dy}};
    if (cost > costs[number(state)]) continue;
    if (goals[number(state)]) {
      std::vector<Point> points{field.at(state)};
      while (const std::optional<State>& before = came[number(state)]) {
        if (before->way != state.way || !came[number(*before)]) points.push_back(field.at(*before));
        state = State(*before);
      }
      std::reverse(points.begin(), points.end());
      return points;
    }
    const bool first = !came[number(state)];
    for (const Way& way : kWays) {
      if (first ? way != state.way : way == Way{-dx, -dy}) continue;
      const std::size_t i = column + static_cast<std::size_t>(way.dx), j = row + static_cast<std::size_t>(way.dy);
      if (i >= columns || j >= rows) continue;  // also where the number is below 0
      const State to{i, j, way};
      if (!field.free(state, to)) continue;
      const Point a = field.at(state), b = field.at(to);
      const double far = std::fabs(b.x - a.x) + std::fabs(b.y - a.y);
      const double more = far * (field.inside(a, b) ? inside : 1) + (way == state.way ? 0 : kTurn);
      if (cost + more < costs[number(to)]) {
        push(cost + more, to);
        came[number(to)] = state;
      }
    }
  }
  // There is no way: of a cell to itself, and where texts fill all room.
  const auto middle = [&](const Place& place) {
    return sheet.boxes[static_cast<std::size_t>(place.panel)].middle(place.row, place.column);
  };
  return {middle(link.start), middle(link.end)};
}

Point label_place(const Sheet& sheet, const std::vector<Point>& points, const std::string& text) {
  const double half = static_cast<double>(length(text)) * kPlain / 2 + 2;
  std::vector<Rect> taken;
  if (!text.empty()) {
    taken = texts_of(sheet);
    for (const Box& box : sheet.boxes) taken.push_back(cells_of(box));
  }
  std::vector<std::pair<Point, Point>> parts;
  for (std::size_t i = 1; i < points.size(); ++i) parts.emplace_back(points[i - 1], points[i]);
  const auto size = [](const std::pair<Point, Point>& part) {
    return std::fabs(part.second.x - part.first.x) + std::fabs(part.second.y - part.first.y);
  };
  std::stable_sort(parts.begin(), parts.end(), [&](const auto& a, const auto& b) { return size(a) > size(b); });
  for (const auto& [a, b] : parts) {
    for (int n = 1; n < 20; ++n) {
      // From the middle on to both sides.
      const double at = 0.5 + static_cast<double>(n % 2 == 0 ? n / 2 : -(n / 2)) / 20;
      const double x = a.x + (b.x - a.x) * at, y = a.y + (b.y - a.y) * at;
      if (std::all_of(taken.begin(), taken.end(), [&](const Rect& rect) {
            return x + half <= rect.left || rect.right <= x - half || y + 7 <= rect.top || rect.bottom <= y - 7;
          })) {
        return {x, y};
      }
    }
  }
  const auto& [a, b] = parts[0];
  return {(a.x + b.x) / 2, (a.y + b.y) / 2};
}

}  // namespace tilewright::picture
