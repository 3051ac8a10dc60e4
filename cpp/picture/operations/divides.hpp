// The pictures of the divides: a layout cut into tiles, and the same elements with one tile in each column.
#pragma once

#include "core/algebra.hpp"
#include "picture/tables/operands.hpp"

namespace tilewright::picture {

// How a mode is cut into `tiles` tiles of `tile` elements. Element place + tile * number is `elements` at that index,
// and `places` gives the index of an element, -1 where no tile has it.
struct Cut {
  int64_t extent, tile, tiles;
  std::vector<int64_t> elements, places;
  bool in_blocks;  // whether each tile is a run of neighbours
};
// A mode of `extent` elements, cut by an extent or a layout; a tiler that is none leaves it whole.
Cut cut_of(int64_t extent, const Tiler& tiler);

// A layout, coloured by tile, beside the result of a divide (logical_, zipped_, tiled_ or flat_divide), in which one
// element is followed. Elements past the end of a mode, which ragged tiles reach, are grey.
Picture divide_picture(const std::string& operation, const AnyLayout& layout, const Tiler& tiler,
                       const AnyLayout& result, const std::optional<IntTuple>& at);

}  // namespace tilewright::picture
