// What is written of many cells at once: the lines that colour them, and what pointing at them shows.
#pragma once

#include <map>

#include "picture/drawing/measure.hpp"

namespace tilewright::picture {

// The colour of each place; "" where there is no cell.
using Colors = std::vector<std::vector<std::string>>;
Colors colors_of(const Panel& panel, bool across);

struct Stroke {
  int64_t line, start, end;
  friend auto operator<=>(const Stroke&, const Stroke&) = default;
};
// By (colour, dashes). Neighbours of one colour are one line; runs of one length at one distance are one dashed line,
// and so are runs that enough lines have at the same distances for a path of their own to take less.
using Strokes = std::map<std::pair<std::string, std::string>, std::vector<Stroke>>;
Strokes strokes_of(const Colors& lines);
// About what the paths of these lines take.
int64_t bytes_of(const Strokes& strokes);

// Where the cells of a panel are: a coordinate is rows[row] + columns[column], or the other way round. Where all of
// them are numbers, so is it: their sum.
struct Summands {
  std::vector<std::string> rows, columns;
  bool turned;
};

inline constexpr int kForms = 4;  // of a coordinate

// What pointing at the cells of a panel shows: names, and the texts of each cell, as short as they are written.
struct Titles {
  std::vector<std::string> names;
  std::string text;  // the name of what the text of each cell is, which the titles leave out; "" where it is none
  std::vector<std::vector<std::string>> values;  // of each name those of all cells
  // Of titles for which there is no room: what makes up each cell's coordinate; none where it is not made up so.
  std::optional<Summands> place;

  static Titles of(const Panel& panel);
  // The names of what would be shown of the first cell, without the texts.
  static Titles none(const Panel& panel);
  // With the coordinate as it is (form 0), mode by mode (1), with one number for each mode (2), or as one (3).
  Titles shorter(const Panel& panel, int form) const;
  // What a field of all cells takes, with a blank before each value; 0 where there are not so many fields.
  int64_t bytes(std::size_t field) const;
};

}  // namespace tilewright::picture
