#include "tv.hpp"

#include <algorithm>

#include "core/function.hpp"
#include "picture/drawing/measure.hpp"
#include "picture/tables/operands.hpp"

namespace tilewright::picture {

namespace {

constexpr int64_t kOwned = int64_t{1} << 20;       // threads times values, beyond which nobody looks for the owners
constexpr int64_t kOwnedBasis = int64_t{1} << 14;  // of a layout with basis strides
constexpr std::size_t kNamed = 4;                  // of several owners, those that hovering names
constexpr int64_t kRows = 32, kFew = 8;            // threads of a table, and of one beside a large tile
constexpr int64_t kBeside = 24;                    // columns of a tile, beyond which the table stands below it

[[noreturn]] void refuse(const AnyLayout& tv, TupleView tile, const std::string& why) {
  fail(concat("show(", text_of(tv), ", tile=", to_string(tile), "): ", why));
}

void check_modes(const AnyLayout& tv, TupleView tile) {
  const int64_t rank = shape_of(tv).rank();
  if (shape_of(tv).is_leaf() || rank != 2) {
    refuse(tv, tile, concat("a thread-value layout has two modes, thread and value, but this has ", rank));
  }
}

bool has_basis_strides(const AnyLayout& tv) { return has_basis(domain_of(tv).stride()); }

// Threads and values.
struct Size {
  int64_t threads, values;
  int64_t count() const { return checked_mul(threads, values); }
};
Size size_of_tv(const AnyLayout& tv) {
  return {product(shape_of(tv).mode(0)).value, product(shape_of(tv).mode(1)).value};
}

void append_coordinate(TupleBuilder& builder, TupleView given) {
  if (!given.is_leaf()) {
    builder.open();
    for_each_mode(given, [&](TupleView mode) { append_coordinate(builder, mode); });
    builder.close();
    return;
  }
  const BasisPath path = reversed(basis_path(given->basis()));
  for (const uint32_t mode : path) {
    builder.open();
    for (uint32_t i = 0; i < mode; ++i) builder.leaf(static_int(0));
  }
  builder.leaf(static_int(known(*given)));
  for (std::size_t i = 0; i < path.size(); ++i) builder.close();
}

// The index in a tile of what a layout gives at an index: an index itself, or a coordinate.
int64_t index_in(const Layout& tile, const AnyLayout& tv, int64_t index) {
  const IntTuple at{static_int(index)};
  const auto* composed = std::get_if<ComposedLayout>(&tv);
  const IntTuple place = composed ? (*composed)(at) : crd2idx(at, LayoutView(std::get<Layout>(tv)));
  if (place.is_leaf() && !place.leaf().has_basis()) return known(place.leaf());
  TupleBuilder builder;
  append_coordinate(builder, place);
  return crd2idx(builder.take(), tile).leaf().value;
}

std::string counted(int64_t count, const char* what) { return concat(count, " ", what, count != 1 ? "s" : ""); }

std::string pair_text(const Pair& pair) { return concat("T", pair.thread, "V", pair.value); }

void add_tile_hover(Hover& hover, const std::vector<Pair>& pairs, const TileStyle& style, int64_t index) {
  std::optional<int64_t> number = index;
  if (style.data != nullptr) {
    const Offset offset = style.data->at(index);
    hover.emplace_back("offset", offset.text);
    number = offset.number;
  }
  hover.emplace_back("thread", pairs.empty() ? "none" : std::to_string(pairs[0].thread));
  hover.emplace_back("value", pairs.empty() ? "none" : std::to_string(pairs[0].value));
  if (style.memory && number) style.memory->add_hover(hover, *number);
  hover.emplace_back("index", std::to_string(index));
  if (pairs.size() < 2) return;
  std::string others;
  for (std::size_t i = 1; i < std::min(pairs.size(), 1 + kNamed); ++i)
    others += (i > 1 ? "," : "") + pair_text(pairs[i]);
  hover.emplace_back("also", others + (pairs.size() > 1 + kNamed ? kElision : ""));
}

// The table of a thread-value layout: a row for each thread, a column for each value, the tile's index in the cell. Of
// a tile with several modes, the coordinate stands below the index.
Panel table_panel(const AnyLayout& tv, const IntTuple& tile, const std::string& title, const std::string& subtitle,
                  const TvStyle& style) {
  const auto [threads, values] = size_of_tv(tv);
  const Shown rows = shown_of(threads, style.most), columns = shown_of(values, style.most);
  TupleBuilder modes;
  modes.open();
  int64_t long_modes = 0;
  for_each_mode(tile.view(), [&](TupleView mode) {
    modes.leaf(static_int(product(mode).value));
    long_modes += product(mode).value > 1;
  });
  modes.close();
  const IntTuple sizes = modes.take();
  const bool several = !tile.is_leaf() && long_modes > 1 && static_cast<int64_t>(rows.size() * columns.size()) <= kRich;
  const Layout compact = make_layout(tile);
  const Values indices(tv);
  Panel panel{
      title, subtitle, static_cast<int64_t>(rows.size()), static_cast<int64_t>(columns.size()), {}, {}, {}, {}, {},
      {},    {}};
  for (int64_t r = 0; r < panel.rows; ++r) {
    for (int64_t c = 0; c < panel.columns; ++c) {
      const auto thread = rows[static_cast<std::size_t>(r)], value = columns[static_cast<std::size_t>(c)];
      if (!thread || !value) continue;
      const int64_t pair = *thread + threads * *value;
      const auto i = static_cast<std::size_t>(pair);
      const int64_t index = i < indices.known().size() ? indices.known()[i] : index_in(compact, tv, pair);
      Cell cell{r,
                c,
                {std::to_string(index)},
                *thread,
                {},
                style.only && *style.only != *thread,
                style.at && *style.at == pair,
                pair};
      cell.hover.reserve(7);
      cell.hover.emplace_back("thread", std::to_string(*thread));
      cell.hover.emplace_back("value", std::to_string(*value));
      cell.hover.emplace_back("coordinate", coordinate_text(index, tile));
      std::optional<int64_t> number = index;
      if (style.data != nullptr) {
        const Offset offset = style.data->at(index);
        cell.hover.emplace_back("offset", offset.text);
        number = offset.number;
      }
      if (style.memory && number) style.memory->add_hover(cell.hover, *number);
      cell.hover.emplace_back("index", std::to_string(index));
      if (several) cell.lines.push_back(coordinate_text(index, sizes));
      panel.cells.push_back(std::move(cell));
    }
  }
  panel.row_axis = axis_of({threads}, rows, "T"), panel.column_axis = axis_of({values}, columns, "V");
  panel.row_rules = rules_of(extents(shape_of(tv).mode(0)), rows);
  panel.column_rules = rules_of(extents(shape_of(tv).mode(1)), columns);
  return panel;
}

std::set<int64_t> indices_drawn(const std::vector<Grid>& grids) {
  std::set<int64_t> found;
  for (const Grid& grid : grids) {
    for (const int64_t index : grid.indices()) found.insert(index);
  }
  return found;
}

// The panels of the tile, and beside them or below them the table.
std::vector<Placed> placed(std::vector<Panel> panels, Panel table, int64_t beside) {
  const bool aside = panels.size() == 1 && panels[0].columns <= beside;
  std::vector<Placed> found;
  for (Panel& panel : panels) found.push_back({0, static_cast<int64_t>(found.size()), std::move(panel)});
  found.push_back({aside ? 0 : 1, aside ? 1 : 0, std::move(table)});
  return found;
}

// A shape that is drawn line by line where one mode alone has more than one element: (24,1) as 24.
IntTuple line_or_more(TupleView shape) {
  std::vector<TupleView> modes;
  if (shape.is_leaf()) modes.push_back(shape);
  for (int64_t i = 0; !shape.is_leaf() && i < shape.rank(); ++i) {
    if (product(shape.mode(i)).value > 1) modes.push_back(shape.mode(i));
  }
  if (modes.size() > 1) return IntTuple(shape);
  return modes.empty() ? IntTuple(static_int(1)) : IntTuple(modes[0]);
}

}  // namespace

std::vector<int64_t> indices_of(const AnyLayout& tv, TupleView tile) {
  check_modes(tv, tile);
  const Size size = size_of_tv(tv);
  std::vector<int64_t> offsets(static_cast<std::size_t>(size.count()));
  if (has_basis_strides(tv)) {
    const Layout compact = make_layout(tile);
    for (int64_t i = 0; i < size.count(); ++i) offsets[static_cast<std::size_t>(i)] = index_in(compact, tv, i);
  } else {
    write_offsets(tv, offsets.data());
  }
  std::vector<int64_t> found;
  found.reserve(offsets.size());
  for (int64_t thread = 0; thread < size.threads; ++thread) {
    for (int64_t value = 0; value < size.values; ++value) {
      found.push_back(offsets[static_cast<std::size_t>(thread + size.threads * value)]);
    }
  }
  return found;
}

Owners owners_of(const AnyLayout& tv, TupleView tile, const std::set<int64_t>* among) {
  const std::vector<int64_t> indices = indices_of(tv, tile);
  const int64_t size = product(tile).value, values = size_of_tv(tv).values;
  const auto outside = [&](int64_t index) { return index < 0 || index >= size; };
  if (const auto out = std::find_if(indices.begin(), indices.end(), outside); out != indices.end()) {
    const int64_t i = out - indices.begin();
    refuse(tv, tile,
           concat("thread ", i / values, ", value ", i % values, " leads to index ", *out,
                  ", but the tile has the elements 0 to ", size - 1, "; the layout's cosize is to be at most that"));
  }
  Owners found;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (among != nullptr && !among->contains(indices[i])) continue;
    const auto at = static_cast<int64_t>(i);
    found[indices[i]].push_back({at / values, at % values});
  }
  return found;
}

std::string coverage(const std::vector<int64_t>& indices, int64_t size) {
  std::vector<int64_t> sorted = indices;
  std::sort(sorted.begin(), sorted.end());
  int64_t nobody = size, several = 0;
  for (std::size_t start = 0; start < sorted.size();) {
    std::size_t end = start + 1;
    while (end < sorted.size() && sorted[end] == sorted[start]) ++end;
    --nobody;
    several += end - start > 1;
    start = end;
  }
  if (nobody == 0 && several == 0) return "each element once";
  std::string found = nobody != 0 ? concat(nobody, " of ", size, " elements with nobody") : "";
  if (several == 0) return found;
  return nobody != 0 ? concat(found, ", ", several, " with several")
                     : concat(several, " of ", size, " elements with several");
}

Panel tile_panel(const Grid& grid, const Owners& owners, const std::string& title, const std::string& subtitle,
                 const TileStyle& style) {
  const bool single = std::all_of(owners.begin(), owners.end(), [](const auto& owned) {
    return std::all_of(owned.second.begin(), owned.second.end(), [](const Pair& pair) { return pair.value == 0; });
  });
  const bool dense = static_cast<int64_t>(grid.rows.size() * grid.columns.size()) > kRich;
  static const std::vector<Pair> nobody;
  Panel panel = grid.panel(title, subtitle);
  for (Spot& spot : grid.spots()) {
    const auto known = owners.find(spot.index);
    std::vector<Pair> own;
    if (style.only && known != owners.end()) {
      std::copy_if(known->second.begin(), known->second.end(), std::back_inserter(own),
                   [&](const Pair& pair) { return pair.thread == *style.only; });
    }
    const std::vector<Pair>& pairs = known == owners.end() ? nobody : own.empty() ? known->second : own;
    Cell cell{spot.row, spot.column, {""}, {}, {}, false, style.marked.contains(spot.index)};
    if (style.only) cell.faded = own.empty(), cell.marked = !own.empty();
    if (style.threads != 0 && !pairs.empty()) cell.pick = pairs[0].thread + style.threads * pairs[0].value;
    if (!pairs.empty()) {
      const std::string more = pairs.size() > 1 ? concat("+", pairs.size() - 1) : "";
      cell.owner = pairs[0].thread;
      if (single) {
        cell.lines = {concat("T", pairs[0].thread, more)};
      } else if (dense || style.element) {
        cell.lines = {pair_text(pairs[0]) + more};
      } else {
        cell.lines = {concat("T", pairs[0].thread), concat("V", pairs[0].value, more)};
      }
    }
    cell.hover.reserve(8);
    cell.hover.emplace_back("coordinate", std::move(spot.name));
    if (style.element) {
      const std::string shown = style.element(spot.index);
      cell.hover.emplace_back("element", shown);
      cell.lines.insert(cell.lines.begin(), shown);
    }
    add_tile_hover(cell.hover, pairs, style, spot.index);
    panel.cells.push_back(std::move(cell));
  }
  return panel;
}

Picture tv_picture(const AnyLayout& tv, const IntTuple& tile, const TvStyle& given) {
  for (const int64_t extent : extents(tile)) {
    if (extent < 1) refuse(tv, tile, "the extents of a tile must be at least 1");
  }
  check_modes(tv, tile);
  TvStyle style = given;
  const Size size = size_of_tv(tv);
  TileStyle of_tile{style.data, style.memory};
  of_tile.only = style.only, of_tile.threads = size.threads;
  if (style.at) of_tile.marked = {index_in(make_layout(tile), tv, *style.at)};
  Grids drawn = grids_of(tile, style.most);
  std::string subtitle = counted(size.threads, "thread") + ", " + counted(size.values, "value") + " each";
  Owners owners;
  if (size.count() > (has_basis_strides(tv) ? kOwnedBasis : kOwned)) {
    drawn = {
        {},
        {concat("the tile is not drawn: ", size.count(), " threads and values are too many to look for the owners")}};
  } else {
    const std::set<int64_t> among = indices_drawn(drawn.grids);
    owners = owners_of(tv, tile, &among);
    subtitle += "; " + coverage(indices_of(tv, tile), product(tile).value);
  }
  const std::string of = style.data != nullptr ? values_text(style.data->layout()) : to_string(tile.view());
  std::vector<Panel> panels;
  int64_t cells = 0;
  for (const Grid& grid : drawn.grids) {
    const std::string at = grid.rest.empty() ? "" : " at " + grid.title();
    panels.push_back(tile_panel(grid, owners, "tile " + of + at, subtitle, of_tile));
    cells += static_cast<int64_t>(panels.back().cells.size());
  }
  style.most = std::min(style.most, cells < kCells / 2 ? kRows : kFew);  // what is left of the room for a picture
  const bool modes = !tile.is_leaf() && tile.rank() > 1;
  Panel table = table_panel(tv, tile, "from (thread, value) to the tile",
                            concat("the index in the tile", modes ? ", below it the coordinate" : ""), style);
  Picture picture{values_text(tv), placed(std::move(panels), std::move(table), kBeside), drawn.notes, {}};
  if (size.threads > style.most || size.values > style.most) {
    picture.notes.push_back(concat("of ", size.threads, " threads and ", size.values,
                                   " values the first and the last ones are in the table"));
  }
  // From the marked cell of the table, the last panel, to that of the tile.
  std::vector<Place> marked;
  for (std::size_t i = 0; i < picture.panels.size(); ++i) {
    for (const Cell& cell : picture.panels[i].panel.cells) {
      if (cell.marked) marked.push_back({static_cast<int64_t>(i), cell.row, cell.column});
    }
  }
  if (marked.size() == 2) picture.links = {{marked[1], marked[0], ""}};
  return picture;
}

Picture copy_picture(const std::string& title, const IntTuple& tile, const std::vector<Side>& sides,
                     std::optional<int64_t> only) {
  const Grids drawn = grids_of(tile);
  const std::string subtitle = concat("the tile ", to_string(tile.view()), ": thread and value of each element");
  Picture picture{title, {}, drawn.notes, {}};
  std::vector<Panel> panels;
  for (const Grid& grid : drawn.grids) {
    const std::string part = grid.title();
    for (const Side& side : sides) {
      TileStyle style;
      style.only = only;
      panels.push_back(
          tile_panel(grid, side.owners, side.name, part.empty() ? subtitle : subtitle + ", " + part, style));
    }
  }
  if (drawn.grids.size() == 1) {
    picture.panels = arranged(std::move(panels));
    return picture;
  }
  const auto across = static_cast<int64_t>(sides.size());
  for (Panel& panel : panels) {
    const auto i = static_cast<int64_t>(picture.panels.size());
    picture.panels.push_back({i / across, i % across, std::move(panel)});
  }
  return picture;
}

Picture values_picture(const AnyLayout& tv, const AnyLayout& data, const std::string& covered, const Reading& element,
                       int64_t most) {
  const IntTuple shape = line_or_more(static_shape(shape_of(data)));
  const Grids drawn = grids_of(shape, most);
  const std::set<int64_t> among = indices_drawn(drawn.grids);
  const Owners owners = owners_of(tv, shape, &among);
  const Values values(data);
  const TileStyle style{&values, {}, {}, [&](int64_t index) {
                          const auto owned = owners.find(index);
                          return owned == owners.end() ? "-" : element(owned->second[0]);
                        }};
  std::vector<Panel> panels;
  for (const Grid& grid : drawn.grids) {
    panels.push_back(
        tile_panel(grid, owners, "tensor " + values_text(data), "element over thread and value; " + covered, style));
  }
  Panel table = table_panel(tv, shape, "TV " + values_text(tv), "the index in the tensor of each thread and value",
                            {&values, {}, {}, kRows});
  return {"values by thread: " + values_text(tv),
          placed(std::move(panels), std::move(table), kBeside / 2),
          drawn.notes,
          {}};
}

}  // namespace tilewright::picture
