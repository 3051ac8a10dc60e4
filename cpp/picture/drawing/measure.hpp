// Where everything of a picture stands, in pixels: panels level with each other, nothing over anything else.
#pragma once

#include <optional>

#include "picture/model.hpp"

namespace tilewright::picture {

inline constexpr int64_t kRich =
    900;  // cells, up to which they are large; the limit of 200 kB leaves 200 bytes for each
inline constexpr double kLetter = 7.3, kSmall = 6.1;  // pixels that a letter and a small one take at most
inline constexpr double kAdvance = 6.0;               // pixels of a small letter
inline constexpr double kBold = 8.0, kPlain = 7.0;    // of a letter of a title, and of the lines below it
inline constexpr double kMargin = 16.0, kGap = 34.0;
// Heights of a line.
inline constexpr double kTitle = 20.0, kHeading = 17.0, kSubtitle = 15.0, kLevel = 16.0, kLegend = 18.0, kNote = 16.0;

struct Point {
  double x, y;
  friend bool operator==(const Point&, const Point&) = default;
};

struct PlacedEntry {
  Point at;
  const Entry* entry;
};

// A panel with the left upper corner of its heading (x, y) and of its cells (left, top), and the size of a cell.
struct Box {
  const Panel* panel;
  double x, y, left, top, width, height;
  std::vector<std::string> title, subtitle;
  std::vector<PlacedEntry> legend;

  Point middle(int64_t row, int64_t column) const;
  // Where the labels of each level stand: their y above the cells, or their x to the left of them.
  std::vector<double> levels(bool across) const;
};

// The size of a picture, its boxes, whether its cells are too many to be large, and the lines below, from y on. It
// refers to the picture.
struct Sheet {
  double width = 0, height = 0;
  std::vector<Box> boxes;
  bool dense = false;
  std::vector<std::string> title, notes;
  double notes_y = 0;

  void add_note(const std::string& note);  // another line below
};

double level_width(const Level& level);
// Of a panel's title: the first line stands alone where there is no other.
double heading_height(std::size_t lines);
// A title in lines: broken between words, or behind a comma in what is longer than a line, such as a layout.
std::vector<std::string> heading_lines(const std::string& text, int64_t letters);

inline constexpr int64_t kTitleLetters = 120;  // of a picture's title in one line

// Gives everything its place; `dense` makes the cells small or large, whatever their number. A line of the title has at
// most so many letters, and one of a note below a narrow picture.
Sheet measured(const Picture& picture, std::optional<bool> dense = {}, int64_t letters = kTitleLetters);
// Gives everything its place in a window of this size: panels that stand in one row, or one column, in as many as make
// them largest; those of a grid without a gap in one column where that makes them larger.
Sheet fitted(Picture& picture, double width, double height);

}  // namespace tilewright::picture
