// The parts of an SVG for many cells.
#pragma once

#include "picture/drawing/measure.hpp"

namespace tilewright::picture {

// Paths for each colour, of lines as thick as a cell is high, or wide, and one for the lines between cells.
void add_colors(std::vector<std::string>& body, const Box& box);
// The texts of all cells, and what pointing at them shows as far as there is room beside the bytes that are taken; what
// a note has to say of it.
// The texts alone, a run for each line of a row and not stretched: what is laid out soonest. The page spaces its
// letters.
void add_plain_texts(std::vector<std::string>& body, const Sheet& sheet);
std::string add_texts(std::vector<std::string>& body, const Sheet& sheet, int64_t taken);

}  // namespace tilewright::picture
