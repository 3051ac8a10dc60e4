// How coordinates of any shape are laid out on paper: mode 0 down, mode 1 across, a panel for each of the rest.
#pragma once

#include <utility>

#include "picture/tables/axes.hpp"

namespace tilewright::picture {

inline constexpr int64_t kCells = 64 * 64;  // a picture draws about so many

// Where an element is drawn, the index that it has, and the text of its coordinate in the shape's own nesting.
struct Spot {
  int64_t row, column, index;
  std::string name;
};

// One panel's coordinates: `rows` and `columns` are the indices that are drawn, `rest` those of the modes 2, 3, ... Of
// a shape with one mode, a row is a line of as many elements as there are columns.
struct Grid {
  IntTuple shape;
  Extents row_leaves, column_leaves;
  Shown rows, columns;
  Extents rest;

  bool flat() const { return shape.is_leaf() || shape.rank() < 2; }
  // Whether a line ends in the middle of a leaf of the shape.
  bool cut() const;
  // Row and column of the panel at which an index is drawn; none where it is not in this panel.
  std::optional<std::pair<int64_t, int64_t>> place(int64_t index) const;
  std::vector<Spot> spots() const;       // line by line
  std::vector<int64_t> indices() const;  // of the spots
  Axis row_axis() const;                 // none for a single line
  Axis column_axis() const;
  std::optional<CoordinateModes> modes() const;
  std::string title() const;  // which slice of a shape with more than two modes this is

  // A panel with these axes and rules, without cells.
  Panel panel(std::string heading, std::string subtitle) const;
};

struct Grids {
  std::vector<Grid> grids;
  std::vector<std::string> notes;  // what is left out
};
Grids grids_of(TupleView shape, int64_t most = kMost);

}  // namespace tilewright::picture
