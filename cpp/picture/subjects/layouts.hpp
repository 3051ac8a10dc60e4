// Pictures of layouts: a grid of coordinates with the offset in each cell.
#pragma once

#include <functional>

#include "picture/tables/grids.hpp"
#include "picture/tables/memory.hpp"
#include "picture/tables/values.hpp"

namespace tilewright::picture {

// What the colour of an element says: its offset, its bank, its coordinate in a mode, or which of the parts of `bytes`
// of memory it lies in, a sector or a line. `text` is what was asked for.
struct Color {
  enum Kind { kValue, kBank, kMode, kPart };
  Kind kind = kValue;
  Extents path;  // of the mode
  std::string text = "'value'";
  int64_t bytes = 0;
};

// A coordinate that is marked: its index, and its text.
struct Mark {
  int64_t index;
  std::string text;
};

// What stands in the cell of an index in place of the offset.
using Content = std::function<std::string(int64_t)>;

struct Style {
  Color color;
  std::optional<Memory> memory;  // adds bank and address to what pointing at a cell shows
  std::optional<Mark> mark;
  int64_t most = kMost;
  Content content;
};

// One panel of a layout, or of another function of coordinates.
Panel layout_panel(const Values& values, const Grid& grid, const std::string& title, const std::string& subtitle,
                   const Style& style);
// A layout: mode 0 down, mode 1 across, a panel for each coordinate of the other modes. `notes` come before those that
// say what is left out.
Picture layout_picture(const AnyLayout& layout, const Style& style);
// The same with a title and a subtitle of one's own, which goes on with what the colours say.
Picture layout_picture(const Values& values, const std::string& title, const std::string& subtitle, const Style& style,
                       std::vector<std::string> notes = {});
std::string layout_subtitle(const Values& values, const std::string& title, const Color& color);
// "the marked coordinate ... is among those that are not drawn", where it is.
void add_mark_note(std::vector<std::string>& notes, const std::vector<Placed>& panels, const Style& style);

}  // namespace tilewright::picture
