#include "rewritten.hpp"

#include <algorithm>
#include <map>

namespace tilewright::picture {

namespace {

constexpr int64_t kFollowed = int64_t{1} << 16;  // elements
constexpr int64_t kSide = 44;                    // rows and columns of each of two large panels
constexpr int64_t kLine = 32;                    // offsets on a line of a complement
constexpr int64_t kNamed = 12;                   // entries of a legend

// The offsets that a layout and its complement reach: the element of the layout, and the copy.
using Reached = std::map<int64_t, std::pair<int64_t, int64_t>>;

Cell offset_cell(int64_t row, int64_t column, int64_t offset, const Reached& reached) {
  Cell cell{row, column, {std::to_string(offset)}, {}, {{"offset", std::to_string(offset)}}};
  const auto found = reached.find(offset);
  if (found == reached.end()) {
    cell.hover.emplace_back("copy", "none");
    return cell;
  }
  const auto [index, copy] = found->second;
  cell.hover.emplace_back("copy", std::to_string(copy));
  cell.hover.emplace_back("of A", std::to_string(index));
  if (copy != 0) cell.owner = copy - 1;
  cell.faded = copy == 0;
  return cell;
}

// All offsets in order, as many on a line as a mode of the layouts steps over, if that is a readable number.
Panel line_panel(int64_t bound, const Layout& both, const Reached& reached) {
  const int64_t count = std::max(bound, reached.rbegin()->first + 1);
  int64_t width = 0;
  for_each_leaf(both.stride().view(), [&](const Node& stride) {
    const int64_t d = known(stride);
    if (d >= 8 && d <= kLine && bound % d == 0) width = std::max(width, d);
  });
  if (width == 0) width = kLine;
  if (count <= kLine) width = count;
  const int64_t lines = (count + width - 1) / width;
  TupleBuilder shape;
  shape.open();
  shape.leaf(static_int(lines)), shape.leaf(static_int(width));
  shape.close();
  const Table table(shape.take(), kMost);  // row by row, unlike the columns of a layout
  const Grid& grid = table.grid();
  Panel panel = grid.panel(concat("the offsets 0 to ", count - 1, bound == count ? "" : concat(", M = ", bound)),
                           "grey: A; a colour for each copy of it");
  panel.row_axis.clear(), panel.row_rules.clear(), panel.column_rules.clear();
  if (lines > 1) {
    Level starts;
    for (const auto& row : grid.rows) starts.push_back({row ? std::to_string(*row * width) : kElision});
    panel.row_axis = {starts};
  } else if (bound < count) {
    panel.column_rules = {{bound, 2}};
  }
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      if (!grid.rows[r] || !grid.columns[c]) continue;
      const int64_t offset = *grid.rows[r] * width + *grid.columns[c];
      if (offset >= count) continue;
      panel.cells.push_back(offset_cell(static_cast<int64_t>(r), static_cast<int64_t>(c), offset, reached));
    }
  }
  return panel;
}

}  // namespace

Picture coalesce_picture(const AnyLayout& given, const AnyLayout& coalesced, const std::string& operands,
                         const std::optional<IntTuple>& at) {
  const Operand before(given), after(coalesced);
  const std::vector<Table> tables = tables_of({before.shape(), after.shape()}, kSide, room_for({&before}));
  const int64_t index =
      followed("coalesce", tables[0], at, [&](int64_t i) { return tables[1].place(i, 1).has_value(); });
  const auto panel = [&](const Table& table, const char* name, const Operand& x) {
    const auto modes = x.size() > 1 ? extents(x.shape()).size() : 1;
    Looks looks{leaves_of(before.shape(), table.drawn()), {index}};
    looks.picked = true;
    return table.offsets(concat(name, ": ", x.text()),
                         concat(modes, modes > 1 ? " modes" : " mode", " of more than one element"), x, looks);
  };
  Picture picture{concat("coalesce(", operands, ") = ", after.text()), {}, {}, {}};
  picture.panels = arranged(panel(tables[0], "before", before), panel(tables[1], "after", after));
  add_link(picture, tables[0].place(index, 0), tables[1].place(index, 1));
  picture.notes.push_back(concat("index ", index, " gives ", before.text_at(index),
                                 " in both: ", tables[0].coordinate(index), " and ", tables[1].coordinate(index)));
  tables[0].add_notes(picture.notes, "before, " + before.text());
  tables[1].add_notes(picture.notes, "after, " + after.text());
  return picture;
}

Picture complement_picture(const Layout& a, const Layout& rest, int64_t bound, const std::string& operands) {
  LayoutBuilder builder;
  builder.open();
  builder.copy(a.view());
  builder.copy(rest.view());
  builder.close();
  const Layout both = builder.take();
  const Values offsets{AnyLayout(both)}, of_rest{AnyLayout(rest)};
  const int64_t size = tilewright::size(a).value, copies = tilewright::size(rest).value;
  Reached reached;
  for (int64_t copy = 0; copy < std::min(copies, kFollowed / std::max<int64_t>(size, 1) + 1); ++copy) {
    for (int64_t i = 0; i < size; ++i) reached.try_emplace(*offsets.number(i + size * copy), i, copy);
  }
  std::vector<Entry> names{{{}, "A", true}};
  for (int64_t i = 1; i < std::min({copies, kMost, kNamed}); ++i) {
    names.push_back({i - 1, concat("A + ", *of_rest.number(i))});
  }
  if (const auto named = static_cast<int64_t>(names.size()); copies > named) {
    names.push_back({{}, concat("and ", copies - named, " more")});
  }
  const std::string pair = text_of(both);
  const Table table(both.shape().view(), size * copies <= kLine * kMost ? kMost : kSide);
  Panel columns = table.grid().panel("(A, A*) = " + pair, "a column for each copy");
  for (const Spot& spot : table.grid().spots()) {
    columns.cells.push_back(offset_cell(spot.row, spot.column, *offsets.number(spot.index), reached));
  }
  if (copies > 1) columns.legend = names;
  Picture picture{concat("complement(", operands, ") = ", text_of(rest)), {}, {}, {}};
  Panel line = line_panel(bound, both, reached);
  if (line.rows == 1) {
    picture.panels = {{0, 0, std::move(line)}, {1, 0, std::move(columns)}};
  } else {
    picture.panels = arranged(std::move(line), std::move(columns));
  }
  table.add_notes(picture.notes, "(A, A*) = " + pair);
  const auto beyond = std::distance(reached.lower_bound(bound), reached.end());
  const int64_t holes = bound - (static_cast<int64_t>(reached.size()) - beyond);
  if (beyond != 0) {
    picture.notes.push_back(
        concat("the sizes do not divide, so A* rounds up: ", beyond, " offsets from ", bound, " on are reached"));
  }
  if (holes != 0 && copies * size <= kFollowed) {
    picture.notes.push_back(concat(holes, " of the ", bound, " offsets are in no copy of A"));
  }
  if (beyond == 0 && holes == 0) picture.notes.push_back(concat("each of the ", bound, " offsets is reached once"));
  return picture;
}

}  // namespace tilewright::picture
