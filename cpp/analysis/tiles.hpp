// Where the tiles of a launch begin, modulo a line of 128 bytes, after which every count repeats: tiles that are cut
// alike are counted by that, not visited.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tilewright::analysis {

// So many tiles begin at these bytes of a line: in the source, and in the destination where both matter.
struct Start {
  std::array<int64_t, 2> at{};
  int64_t times = 0;
};
using Starts = std::vector<Start>;

// The tiles along one mode: their number and extent, the tensor's extent, and the bytes from tile to tile in both
// tensors. Accesses of a tile lie from `back` coordinates before it to `ahead` behind it. `alone`: so many of the first
// and of the last tiles are looked at one by one.
struct Mode {
  int64_t tiles = 1;
  int64_t tile = 1;
  int64_t extent = 1;
  std::array<int64_t, 2> step{};
  int64_t back = 0;
  int64_t ahead = 0;
  int64_t alone = 0;
};

// Tiles that are cut alike: where the tensor begins and ends in them, and where they begin. `tiles`: the first tile
// along each mode, the only one where those of the mode are looked at one by one.
struct Group {
  std::vector<int64_t> low;
  std::vector<int64_t> high;
  std::vector<int64_t> tiles;
  Starts starts;
};

// All tiles of a tensor whose first element lies at `base`, each of them `times` times.
std::vector<Group> groups(const std::vector<Mode>& modes, const std::array<int64_t, 2>& base, int64_t times);

// The starts in one of the two tensors alone.
Starts of_one(const Starts& starts, int which);

}  // namespace tilewright::analysis
