// What a picture is: panels of cells on a grid, as data; svg.hpp writes it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright::picture {

// What pointing at a cell shows: (name, text), such as ("offset", "12"); the names of all cells of a panel agree.
using Hover = std::vector<std::pair<std::string, std::string>>;
// The number of a colour (thread, bank, mode, value); none is light grey.
using Owner = std::optional<int64_t>;

// One cell: lines of text, the first one above the others. A faded one is pale, what the picture is not about; a marked
// one has a thick frame, what is traced. `pick`: the index for which it stands where one may be chosen, as on the page.
struct Cell {
  int64_t row = 0, column = 0;
  std::vector<std::string> lines = {};
  Owner owner = {};
  Hover hover = {};
  bool faded = false, marked = false;
  std::optional<int64_t> pick = {};
};

// A label of an axis that stands for `span` rows or columns.
struct Label {
  std::string text;
  int64_t span = 1;
};
using Level = std::vector<Label>;
// Level by level: the outermost first, the last one beside the cells.
using Axis = std::vector<Level>;

// A thick line after so many rows or columns, where a tile ends; its weight, 1 to 3, is that of the level.
struct Rule {
  int64_t after;
  int64_t weight = 1;
};

struct Entry {  // of a legend: a colour and what it stands for
  Owner owner;
  std::string text;
  bool faded = false;
};

// A coordinate in one mode: as one number, and in its shape's nesting; both empty where some are left out.
using InMode = std::pair<std::string, std::string>;
// The coordinates of a panel mode by mode; `rest` of the whole panel in the modes from 2 on.
struct CoordinateModes {
  std::vector<InMode> rows, columns, rest;
};

// A grid of cells with labelled axes, thick rules between tiles, and a legend. A place without a cell stays empty.
struct Panel {
  std::string title, subtitle;
  int64_t rows = 0, columns = 0;
  std::vector<Cell> cells = {};
  Axis row_axis = {}, column_axis = {};
  std::vector<Rule> row_rules = {}, column_rules = {};
  std::vector<Entry> legend = {};
  std::optional<CoordinateModes> modes = {};  // lets a picture of many cells say their coordinates in fewer letters
};

// Panels of one grid row have their cells level, those of one column stand flush left. Free ones are in no column:
// those of a row stand one beside the other, each as wide as it is.
struct Placed {
  int64_t row = 0, column = 0;
  Panel panel;
  bool free = false;
};

struct Place {  // of a cell
  int64_t panel, row, column;
};

// An arrow from a cell to a cell with a text: a traced coordinate.
struct Link {
  Place start, end;
  std::string text;
};

struct Picture {
  std::string title;
  std::vector<Placed> panels;
  std::vector<std::string> notes;
  std::vector<Link> links;
};

}  // namespace tilewright::picture
