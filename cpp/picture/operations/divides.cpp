#include "divides.hpp"

#include <algorithm>

#include "core/function.hpp"

namespace tilewright::picture {

namespace {

constexpr int64_t kSide = 44;                  // rows and columns of each of two large panels
constexpr int64_t kSorted = int64_t{1} << 22;  // elements of one mode that are sorted into tiles

struct Element {
  int64_t index;  // -1 where no tile has it, or past the end of a mode
  int64_t tile;
  Extents places = {};  // in the tile, mode by mode
};

// All modes of a layout, cut; a tiler that is one layout cuts all elements as one mode.
struct Cuts {
  std::vector<Cut> modes;
  std::size_t tiled = 1;  // modes that the tiler has

  // The tile that has an element.
  Element tile_of(int64_t index) const {
    Element found{index, 0};
    int64_t scale = 1;
    for (const Cut& cut : modes) {
      const int64_t place = cut.places[static_cast<std::size_t>(index % cut.extent)];
      index /= cut.extent;
      if (place < 0) found.index = -1;
      found.tile += place / cut.tile * scale;
      scale *= cut.tiles;
      if (found.places.size() < tiled) found.places.push_back(place % cut.tile);
    }
    return found;
  }

  // The element at an index of the result. `by_mode`, of a logical divide: ((place, tile), ..) of each mode. Otherwise
  // the places of all modes and then the tiles.
  Element source_of(int64_t index, bool by_mode) const {
    int64_t tiles = index, step = 1, scale = 1;
    for (const Cut& cut : modes) tiles /= cut.tile;
    Element found{0, 0};
    bool inside = true;
    for (const Cut& cut : modes) {
      const int64_t place = index % cut.tile;
      index /= cut.tile;
      int64_t& rest = by_mode ? index : tiles;
      const int64_t at = rest % cut.tiles;
      rest /= cut.tiles;
      const int64_t element = cut.elements[static_cast<std::size_t>(place + cut.tile * at)];
      inside = inside && element < cut.extent;
      found.index += element * step;
      found.tile += at * scale;
      step *= cut.extent;
      scale *= cut.tiles;
    }
    if (!inside) found.index = -1;
    return found;
  }

  int64_t count() const {
    int64_t found = 1;
    for (const Cut& cut : modes) found *= cut.tiles;
    return found;
  }

  // What is to be said of tiles that reach past the end.
  std::string outside() const {
    std::string found;
    for (std::size_t i = 0; i < modes.size(); ++i) {
      const Cut& cut = modes[i];
      if (cut.tile * cut.tiles <= cut.extent) continue;
      found += concat(found.empty() ? "" : "; ", "mode ", i, " has ", cut.extent, " elements in ", cut.tiles,
                      " tiles of ", cut.tile, ", which reach ", cut.tiles * cut.tile - cut.extent, " past its end");
    }
    return found;
  }
};

Cuts cuts_of(const AnyLayout& layout, const Tiler& tiler) {
  Cuts found;
  if (tiler.kind() != Tiler::Kind::kModes) {
    found.modes.push_back(cut_of(size_of(layout), tiler));
    return found;
  }
  const TupleView shape = shape_of(layout);
  found.tiled = tiler.modes().size();
  const auto rank = shape.is_leaf() ? std::size_t{1} : static_cast<std::size_t>(shape.rank());
  for (std::size_t i = 0; i < rank; ++i) {
    const int64_t extent = product(shape.is_leaf() ? shape : shape.mode(static_cast<int64_t>(i))).value;
    // A mode that the tiler lacks is no part of a tile: each of its elements is in other tiles.
    found.modes.push_back(cut_of(extent, i < found.tiled ? tiler.modes()[i] : Tiler(static_int(1))));
  }
  return found;
}

// Thick lines where a tile ends, for modes whose tiles are runs of neighbours.
void add_rules(Panel& panel, const Cuts& cuts, const Grid& grid) {
  const auto rules = [](const Cut& cut, const Shown& shown) {
    return cut.in_blocks ? ends(cut.tile, shown) : std::vector<Rule>();
  };
  panel.row_rules.clear(), panel.column_rules.clear();
  if (grid.flat()) {
    const Cut& cut = cuts.modes[0];
    const bool whole_lines = grid.rows.size() == 1 || static_cast<int64_t>(grid.columns.size()) % cut.tile == 0;
    if (whole_lines) panel.column_rules = rules(cut, grid.columns);
    return;
  }
  panel.row_rules = rules(cuts.modes[0], grid.rows);
  if (cuts.modes.size() == 2) panel.column_rules = rules(cuts.modes[1], grid.columns);
}

Panel before_panel(const std::string& subtitle, const Operand& layout, const Table& table, const Cuts& cuts,
                   int64_t marked) {
  Looks looks{{}, {marked}};
  for (const int64_t index : table.drawn()) {
    const Element found = cuts.tile_of(index);
    looks.faded.push_back(found.index < 0);
    looks.owners.push_back(found.index < 0 ? Owner() : Owner(found.tile));
    looks.more.emplace_back();
    if (found.index < 0) continue;
    std::string place;
    for (const int64_t i : found.places) place += concat(place.empty() ? "" : ",", i);
    if (found.places.size() > 1) place = "(" + place + ")";
    looks.more.back() = {{"tile", std::to_string(found.tile)}, {"place in it", place}};
  }
  return table.offsets(layout.text(), subtitle, layout, looks);
}

std::string says(const std::string& operation, bool pairs) {
  if (pairs) return "each mode as (place, tile)";
  if (operation == "tiled_divide") return "(place, tile, ..): a column for each tile";
  if (operation == "flat_divide") return "(place, .., tile, ..): a column for each tile";
  return "(place, tile): a column for each tile";
}

}  // namespace

Cut cut_of(int64_t extent, const Tiler& tiler) {
  if (extent > kSorted) {
    throw OptionError(
        concat("a mode of ", extent, " elements is too large to be sorted into tiles, at most ", kSorted));
  }
  const bool whole = tiler.kind() == Tiler::Kind::kNone;
  const Layout mode = make_layout(IntTuple(static_int(extent)));
  const Layout divided = logical_divide(mode, whole ? Tiler(static_int(extent)) : tiler);
  Cut found{
      extent, product(divided.shape().view().mode(0)).value, product(divided.shape().view().mode(1)).value, {}, {},
      true};
  found.elements.resize(static_cast<std::size_t>(size(divided).value));
  write_offsets(divided, found.elements.data());
  found.places.assign(static_cast<std::size_t>(extent), -1);
  for (std::size_t i = found.elements.size(); i-- > 0;) {  // the first place of an element is the one that stays
    if (found.elements[i] < extent) found.places[static_cast<std::size_t>(found.elements[i])] = static_cast<int64_t>(i);
    if (i > 0 && found.elements[i] != found.elements[i - 1] + 1) found.in_blocks = false;
  }
  return found;
}

Picture divide_picture(const std::string& operation, const AnyLayout& given, const Tiler& tiler,
                       const AnyLayout& divided, const std::optional<IntTuple>& at) {
  const Operand layout(given), result(divided);
  const Cuts cuts = cuts_of(given, tiler);
  const bool by_mode = operation == "logical_divide", modes = tiler.kind() == Tiler::Kind::kModes;
  const int64_t down = operation == "flat_divide" ? static_cast<int64_t>(cuts.tiled) : 1;
  const std::vector<Table> tables = tables_of({layout.shape(), result.shape()}, kSide, room_for({&layout}), {1, down});
  const auto place_of = [&](int64_t element) {
    return element < 0 ? std::optional<Place>() : tables[0].place(element, 0);
  };
  const int64_t index = followed(operation, tables[1], at,
                                 [&](int64_t i) { return place_of(cuts.source_of(i, by_mode).index).has_value(); });
  const int64_t element = cuts.source_of(index, by_mode).index;

  Looks looks{{}, {index}};
  looks.picked = true;
  for (const int64_t i : tables[1].drawn()) {
    const Element source = cuts.source_of(i, by_mode);
    const bool outside = source.index < 0;
    looks.faded.push_back(outside);
    looks.owners.push_back(outside ? Owner() : Owner(source.tile));
    looks.more.push_back(
        {{"tile", std::to_string(source.tile)}, {"of", outside ? "outside" : tables[0].coordinate(source.index)}});
  }
  const int64_t tiles = cuts.count();
  Panel before = before_panel(concat(tiles, tiles > 1 ? " tiles" : " tile", ", a colour for each"), layout, tables[0],
                              cuts, element);
  if (modes || tables[0].grid().flat()) add_rules(before, cuts, tables[0].grid());
  Picture picture{concat(operation, "(", layout.text(), ", ", tiler.text(), ") = ", result.text()), {}, {}, {}};
  picture.panels =
      arranged(std::move(before), tables[1].offsets(result.text(), says(operation, by_mode && modes), result, looks));
  add_link(picture, place_of(element), tables[1].place(index, 1));
  if (const std::string note = cuts.outside(); !note.empty()) picture.notes.push_back(note);
  tables[0].add_notes(picture.notes, layout.text());
  tables[1].add_notes(picture.notes, result.text());
  return picture;
}

}  // namespace tilewright::picture
