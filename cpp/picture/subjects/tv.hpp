// Pictures of thread-value layouts, both ways: the tile by thread, and the table from (thread, value) to the tile.
#pragma once

#include <map>
#include <set>

#include "picture/subjects/layouts.hpp"

namespace tilewright::picture {

struct Pair {
  int64_t thread, value;
  friend auto operator<=>(const Pair&, const Pair&) = default;
};
// For each index of a tile the pairs that have it, in order of threads.
using Owners = std::map<int64_t, std::vector<Pair>>;

// The indices of the tile to which (thread, value) leads: of thread 0 all values, then of thread 1. LayoutError for a
// layout that has not two modes.
std::vector<int64_t> indices_of(const AnyLayout& tv, TupleView tile);
// Who has each element of a tile, or of those that are asked for. LayoutError where the layout leads out of the tile.
Owners owners_of(const AnyLayout& tv, TupleView tile, const std::set<int64_t>* among = nullptr);
// Whether each element of a tile has one owner.
std::string coverage(const std::vector<int64_t>& indices, int64_t size);

// What stands in the cells of a tile beside thread and value.
struct TileStyle {
  const Values* data = nullptr;  // of the tile's memory, adds the offset
  std::optional<Memory> memory;  // adds bank and address
  std::set<int64_t> marked = {};
  Content element = {};              // an element's text, written above thread and value
  std::optional<int64_t> only = {};  // a thread whose elements stand out
  int64_t threads = 0;               // of the layout of which a cell's (thread, value) may be chosen; 0: none may
};
// A tile, coloured by thread, with thread and value in each cell; what nobody has is empty.
Panel tile_panel(const Grid& grid, const Owners& owners, const std::string& title, const std::string& subtitle,
                 const TileStyle& style = {});

struct TvStyle {
  const Values* data = nullptr;
  std::optional<Memory> memory;
  std::optional<int64_t> at;  // the index of the (thread, value) that is marked in both
  int64_t most = kMost;
  std::optional<int64_t> only = {};  // a thread whose elements stand out
};
// The tile with the thread and value of each element, and the table the other way round.
Picture tv_picture(const AnyLayout& tv, const IntTuple& tile, const TvStyle& style);
// A side of a tiled copy: what it is called, and who has which element of the tile.
struct Side {
  std::string name;
  Owners owners;
};
// The tile of a tiled copy as it is read beside the tile as it is written; one panel where both are the same.
Picture copy_picture(const std::string& title, const IntTuple& tile, const std::vector<Side>& sides,
                     std::optional<int64_t> only = {});

// Of elements in memory those with the thread and value that read each; `element` is the text of what these read.
using Reading = std::function<std::string(const Pair&)>;
Picture values_picture(const AnyLayout& tv, const AnyLayout& data, const std::string& covered, const Reading& element,
                       int64_t most);

}  // namespace tilewright::picture
