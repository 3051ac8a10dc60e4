#include "swizzles.hpp"

#include <algorithm>

namespace tilewright::picture {

namespace {

constexpr int64_t kCore = 16;    // bytes: what a swizzle of shared memory keeps together
constexpr int64_t kAcross = 12;  // columns of a panel, up to which two of them stand beside each other
constexpr int64_t kPair = 40;    // rows and columns of each of two panels, of which kCells would be too few for all

std::string size_text(const Memory& memory) {
  if (memory.bits % 8 != 0) return concat(memory.bits, " bits");
  return concat(memory.bits / 8, " byte", memory.bits != 8 ? "s" : "");
}

// The memory of the elements that a swizzle permutes, and what is said of them.
std::pair<Memory, std::string> usual_memory(const Swizzle& swizzle, const std::optional<Memory>& given) {
  if (given && !given->assumed) return {*given, "elements of " + size_text(*given)};
  Memory memory{8 * std::max<int64_t>(1, kCore >> swizzle.base()), given ? given->base : 0, false, ""};
  memory.kind = size_text(memory);
  return {memory, "for elements of " + memory.kind};
}

std::string span_text(int64_t x, int64_t run) { return run == 1 ? std::to_string(x) : concat(x, "..", x + run - 1); }

// An arrow from the one marked cell to the other, where there are two.
std::vector<Link> marked_link(const std::vector<Placed>& panels) {
  std::vector<Place> marked;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    for (const Cell& cell : panels[i].panel.cells) {
      if (cell.marked) marked.push_back({static_cast<int64_t>(i), cell.row, cell.column});
    }
  }
  if (marked.size() != 2) return {};
  return {{marked[0], marked[1], ""}};
}

// Labels that say offsets in place of numbers.
Level offsets_of(const Shown& shown, int64_t step, const char* prefix) {
  Level level;
  for (const auto& i : shown) level.push_back({i ? prefix + std::to_string(*i * step) : kElision});
  return level;
}

// The panels of a shape that is drawn so many times, and notes that say what of it is left out.
Grids grids_for(TupleView given, int64_t most, int64_t views) {
  Grids found = grids_of(given, most);
  int64_t cells = 0;
  for (const Grid& grid : found.grids) cells += static_cast<int64_t>(grid.rows.size() * grid.columns.size());
  if (views * cells <= kCells) return found;
  most = std::min(most, kPair);
  found = grids_of(given, most);
  const Grid& first = found.grids[0];
  const auto each = static_cast<int64_t>(first.rows.size() * first.columns.size());
  const auto kept = static_cast<std::size_t>(std::max<int64_t>(1, kCells / views / each));
  found.grids.resize(std::min(found.grids.size(), kept));
  const int64_t count = given.is_leaf() || given.rank() < 3 ? 1 : [&] {
    int64_t product_of_rest = 1;
    for (int64_t i = 2; i < given.rank(); ++i) product_of_rest *= product(given.mode(i)).value;
    return product_of_rest;
  }();
  if (static_cast<int64_t>(found.grids.size()) < count) {
    TupleBuilder front;
    front.open();
    front.copy(given.mode(0));
    front.copy(given.mode(1));
    front.close();
    found.notes = grids_of(front.take(), most).notes;
    found.notes.push_back(
        concat(found.grids.size(), " of ", count, " slices along the modes from 2 on are drawn: the first ones"));
  }
  found.notes.emplace_back("only='after' draws more of what is after the swizzle, alone");
  return found;
}

}  // namespace

Picture swizzle_picture(const Swizzle& swizzle, const std::optional<Memory>& given, std::optional<int64_t> at,
                        int64_t most) {
  const auto [memory, kind] = usual_memory(swizzle, given);
  const int64_t run = int64_t{1} << swizzle.base();
  const int64_t columns = int64_t{1} << std::abs(swizzle.shift());
  const int64_t size = swizzle.period();
  if (at && (*at < 0 || *at >= size)) {
    throw OptionError(
        concat("at=", *at, " lies outside the ", size, " offsets that ", to_string(swizzle), " permutes"));
  }
  const Shown rows_shown = shown_of(size / run / columns, most), columns_shown = shown_of(columns, most);
  Picture picture{to_string(swizzle), {}, {}, {}};
  bool across = true;
  for (const bool after : {false, true}) {
    Panel panel;
    panel.title = after ? "after: S(x)" : "before: x";
    panel.subtitle = after ? "where x is moved to"
                           : concat("offsets 0 to ", size - 1, run > 1 ? concat(", ", run, " in a cell") : "");
    panel.rows = static_cast<int64_t>(rows_shown.size()), panel.columns = static_cast<int64_t>(columns_shown.size());
    std::set<int64_t> groups;
    for (int64_t r = 0; r < panel.rows; ++r) {
      for (int64_t c = 0; c < panel.columns; ++c) {
        const auto row = rows_shown[static_cast<std::size_t>(r)], column = columns_shown[static_cast<std::size_t>(c)];
        if (!row || !column) continue;
        const int64_t x = (*row * columns + *column) * run, offset = after ? swizzle(x) : x;
        Hover hover{{"coordinate", span_text(x, run)}, {"offset", span_text(offset, run)}};
        memory.add_hover(hover, offset);
        groups.insert(memory.group(offset));
        const bool marked = at && x <= *at && *at < x + run;
        panel.cells.push_back({r, c, {std::to_string(offset)}, memory.group(offset), std::move(hover), false, marked});
      }
    }
    panel.row_axis = {offsets_of(rows_shown, columns * run, "")};
    panel.column_axis = {offsets_of(columns_shown, run, "+")};
    if (after) panel.legend = bank_legend(groups);
    across = across && panel.columns <= kAcross;
    picture.panels.push_back({0, 0, std::move(panel)});
  }
  (across ? picture.panels[1].column : picture.panels[1].row) = 1;
  picture.notes = {"coloured by bank, " + kind,
                   concat("S(x) = x ^ ((x & ", swizzle.y_mask(), ") ", swizzle.shift() >= 0 ? ">>" : "<<", " ",
                          std::abs(swizzle.shift()), ")")};
  if (is_cut(rows_shown) || is_cut(columns_shown)) {
    picture.notes.push_back(
        concat(size / run, " cells are too many: the first rows and columns and the last ones are drawn"));
  }
  picture.links = marked_link(picture.panels);
  return picture;
}

Picture swizzled_picture(const ComposedLayout& layout, Style style, Only only) {
  const auto [memory, kind] = usual_memory(*layout.swizzle(), style.memory);
  style.memory = memory;
  const Grids drawn = grids_for(layout.outer().shape(), style.most, only == Only::kBoth ? 2 : 1);
  const int64_t start = known(layout.offset().leaf());
  const Values before(layout.outer(), start), after(layout);
  const std::string name = values_text(AnyLayout(layout));
  const std::string outer = values_text(AnyLayout(layout.outer()));
  Picture picture{name, {}, {}, {}};
  bool across = only == Only::kBoth;
  for (const Grid& grid : drawn.grids) {
    const std::string at = grid.rest.empty() ? "" : " at " + grid.title();
    if (only != Only::kAfter) {
      const std::string title = "before: " + (start == 0 ? outer : concat(start, " + ", outer)) + at;
      Panel panel = layout_panel(before, grid, title, "", style);
      if (only == Only::kBoth) panel.legend.clear();
      picture.panels.push_back({0, 0, std::move(panel)});
    }
    if (only != Only::kBefore) {
      picture.panels.push_back({0, 0, layout_panel(after, grid, "after: " + name + at, "", style)});
    }
    across = across && picture.panels.back().panel.columns <= kAcross;
  }
  for (std::size_t n = 0; n < picture.panels.size(); ++n) {
    const auto i = static_cast<int64_t>(n);
    picture.panels[n].row = across ? i / 2 : i, picture.panels[n].column = across ? i % 2 : 0;
  }
  const bool banks = style.color.kind == Color::kBank;
  picture.notes.push_back(facts_of(after) + (banks ? "; coloured by bank, " + kind : ""));
  picture.notes.insert(picture.notes.end(), drawn.notes.begin(), drawn.notes.end());
  add_mark_note(picture.notes, picture.panels, style);
  picture.links = marked_link(picture.panels);
  return picture;
}

}  // namespace tilewright::picture
