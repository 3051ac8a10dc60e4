// How an arrow leads from cell to cell: over no text, not along the lines between cells, and through no other panel.
#pragma once

#include "picture/drawing/measure.hpp"

namespace tilewright::picture {

struct Rect {
  double left, top, right, bottom;
};

// Where the texts of a picture are, but those in cells.
std::vector<Rect> texts_of(const Sheet& sheet);
// Where the cells of a panel are.
Rect cells_of(const Box& box);
// The corners of an arrow's line: of all that may be, the one that is short and has few corners.
std::vector<Point> arrow(const Sheet& sheet, const Link& link);
// The middle of an arrow's text: on a long part of it, over no other text and no cell as far as there is room.
Point label_place(const Sheet& sheet, const std::vector<Point>& points, const std::string& text);

}  // namespace tilewright::picture
