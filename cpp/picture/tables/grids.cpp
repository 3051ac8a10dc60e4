#include "grids.hpp"

#include <algorithm>

#include "core/layout.hpp"

namespace tilewright::picture {

namespace {

constexpr int64_t kLine = 32;    // elements on a line, where there is one mode
constexpr int64_t kPanels = 12;  // of a layout with more than two modes

// One mode in lines: the first leaves across as long as they fit, the others down; a long leaf is cut in pieces. Lines
// are as long as the panel is wide where all elements fit in only so.
std::pair<Extents, Extents> lines_of(TupleView shape, int64_t most) {
  const Extents leaves = extents(shape);
  const int64_t size = product_of(leaves);
  if (size <= kLine) return {{1}, leaves};
  const int64_t line = kLine * most < size && size <= most * most ? most : kLine;
  std::ptrdiff_t count = 0;
  int64_t width = 1;
  while (width * leaves[static_cast<std::size_t>(count)] <= line) width *= leaves[static_cast<std::size_t>(count++)];
  if (count > 0) return {{leaves.begin() + count, leaves.end()}, {leaves.begin(), leaves.begin() + count}};
  width = line;
  for (int64_t n = line; n > line / 2; --n) {
    if (leaves[0] % n == 0 && (line == kLine || size <= n * most)) {
      width = n;
      break;
    }
  }
  return {{(size + width - 1) / width}, {width}};
}

int64_t drawn(const Shown& shown) {
  return std::count_if(shown.begin(), shown.end(), [](const auto& i) { return i.has_value(); });
}

std::vector<InMode> names_in(const Shown& shown, TupleView mode) {
  std::vector<InMode> found;
  for (const auto& i : shown) {
    found.push_back(i ? InMode(std::to_string(*i), coordinate_text(*i, mode)) : InMode());
  }
  return found;
}

Extents sizes_of(TupleView shape, int64_t begin) {
  Extents sizes;
  for (int64_t i = begin; !shape.is_leaf() && i < shape.rank(); ++i) sizes.push_back(product(shape.mode(i)).value);
  return sizes;
}

// f(row, column, index) for each element that is drawn, line by line.
template <class F>
void for_each_drawn(const Grid& grid, F&& f) {
  const TupleView shape = grid.shape;
  const int64_t size = product(shape).value;
  const int64_t down = grid.flat() ? product_of(grid.column_leaves) : 1;
  const int64_t across = grid.flat() ? 1 : product(shape.mode(0)).value;
  int64_t first = 0, step = grid.flat() ? 0 : across * product(shape.mode(1)).value;
  for (std::size_t i = 0; i < grid.rest.size(); ++i) {
    first += grid.rest[i] * step;
    step *= product(shape.mode(2 + static_cast<int64_t>(i))).value;
  }
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      if (!grid.rows[r] || !grid.columns[c]) continue;
      const int64_t index = first + *grid.rows[r] * down + *grid.columns[c] * across;
      if (index < size) f(r, c, index);  // the last line of one mode may be shorter
    }
  }
}

std::optional<int64_t> find(const Shown& shown, int64_t i) {
  const auto at = std::find(shown.begin(), shown.end(), std::optional(i));
  return at == shown.end() ? std::nullopt : std::optional<int64_t>(at - shown.begin());
}

}  // namespace

bool Grid::cut() const {
  const Extents leaves = extents(shape);
  return leaves.size() < column_leaves.size() ||
         !std::equal(column_leaves.begin(), column_leaves.end(), leaves.begin());
}

std::optional<std::pair<int64_t, int64_t>> Grid::place(int64_t index) const {
  Extents at;
  if (flat()) {
    const int64_t width = product_of(column_leaves);
    at = {index / width, index % width};
  } else {
    at = digits(index, sizes_of(shape, 0));
    if (!std::equal(at.begin() + 2, at.end(), rest.begin(), rest.end())) return std::nullopt;
  }
  const auto row = find(rows, at[0]), column = find(columns, at[1]);
  if (!row || !column) return std::nullopt;
  return std::pair(*row, *column);
}

std::vector<Spot> Grid::spots() const {
  std::vector<Spot> found;
  found.reserve(rows.size() * columns.size());
  const bool nothing = !shape.is_leaf() && shape.rank() == 0;
  std::string end;
  const std::optional<CoordinateModes> names = modes();
  if (names) {
    for (const InMode& at : names->rest) end += "," + at.second;
    end += ")";
  }
  for_each_drawn(*this, [&](std::size_t r, std::size_t c, int64_t index) {
    std::string name;
    if (names) {
      name.append("(").append(names->rows[r].second).append(",").append(names->columns[c].second).append(end);
    } else if (shape.is_leaf()) {
      name = std::to_string(index);
    } else {
      name = nothing ? "()" : "(" + coordinate_text(index, shape.view().mode(0)) + ")";
    }
    found.push_back({static_cast<int64_t>(r), static_cast<int64_t>(c), index, std::move(name)});
  });
  return found;
}

std::vector<int64_t> Grid::indices() const {
  std::vector<int64_t> found;
  found.reserve(rows.size() * columns.size());
  for_each_drawn(*this, [&](std::size_t, std::size_t, int64_t index) { found.push_back(index); });
  return found;
}

std::optional<CoordinateModes> Grid::modes() const {
  if (flat()) return std::nullopt;
  CoordinateModes found{names_in(rows, shape.view().mode(0)), names_in(columns, shape.view().mode(1)), {}};
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const int64_t mode = 2 + static_cast<int64_t>(i);
    found.rest.push_back(names_in({rest[i]}, shape.view().mode(mode))[0]);
  }
  return found;
}

Axis Grid::row_axis() const {
  if (flat() && rows.size() == 1) return {};
  if (!flat() || !cut()) return axis_of(row_leaves, rows);
  Level level;
  for (const auto& i : rows) level.push_back({i ? std::to_string(*i * product_of(column_leaves)) : kElision});
  return {level};
}

Axis Grid::column_axis() const { return axis_of(column_leaves, columns, flat() && cut() ? "+" : ""); }

std::string Grid::title() const {
  if (rest.empty()) return "";
  std::string text = "(_,_";
  for (const int64_t i : rest) text += "," + std::to_string(i);
  return text + ")";
}

Panel Grid::panel(std::string heading, std::string subtitle) const {
  return {std::move(heading),
          std::move(subtitle),
          static_cast<int64_t>(rows.size()),
          static_cast<int64_t>(columns.size()),
          {},
          row_axis(),
          column_axis(),
          rules_of(row_leaves, rows),
          rules_of(column_leaves, columns),
          {},
          std::nullopt};
}

Grids grids_of(TupleView given, int64_t most) {
  const IntTuple shape = static_shape(given);
  const bool flat = shape.is_leaf() || shape.rank() < 2;
  auto [row_leaves, column_leaves] =
      flat ? lines_of(shape, most) : std::pair(extents(shape.view().mode(0)), extents(shape.view().mode(1)));
  const int64_t rows = product_of(row_leaves), columns = product_of(column_leaves);
  const Shown down = shown_of(rows, most), across = shown_of(columns, most);
  Grids found;
  if (is_cut(down) || is_cut(across)) {
    found.notes.push_back(concat(drawn(down), " x ", drawn(across), " of ", rows, " x ", columns,
                                 " elements are drawn: the first ones and the last"));
  }
  const Extents others = sizes_of(shape, 2);
  const int64_t count = product_of(others);
  const auto cells = static_cast<int64_t>(down.size() * across.size());
  const int64_t panels = std::min({count, kPanels, std::max<int64_t>(1, kCells / cells)});
  if (panels < count) {
    found.notes.push_back(concat(panels, " of ", count, " slices along the modes from 2 on are drawn: the first ones"));
  }
  for (int64_t i = 0; i < panels; ++i) {
    found.grids.push_back(
        {shape, row_leaves, column_leaves, down, across, others.empty() ? Extents() : digits(i, others)});
  }
  return found;
}

}  // namespace tilewright::picture
