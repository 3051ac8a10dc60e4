#include "tiles.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "access.hpp"

namespace tilewright::analysis {

namespace {

int64_t in_line(int64_t at) { return at & (kLine - 1); }

// Adds up starts, in the order in which each came first.
class Sum {
 public:
  Sum() : place_(kLine * kLine, -1) {}

  void add(int64_t first, int64_t second, int64_t times) {
    first = in_line(first);
    second = in_line(second);
    int32_t& place = place_[static_cast<std::size_t>(first * kLine + second)];
    if (place < 0) {
      place = static_cast<int32_t>(found_.size());
      found_.push_back({{first, second}, 0});
    }
    found_[static_cast<std::size_t>(place)].times += times;
  }

  Starts take() {
    for (const Start& start : found_) place_[static_cast<std::size_t>(start.at[0] * kLine + start.at[1])] = -1;
    return std::exchange(found_, {});
  }

 private:
  std::vector<int32_t> place_;
  Starts found_;
};

// Tiles that are cut alike along a mode: where the tensor begins and ends in them, the first one, and how many.
struct Part {
  int64_t low;
  int64_t high;
  int64_t first;
  int64_t count;
};

std::vector<Part> parts_of(const Mode& mode) {
  const int64_t begin = std::min(mode.tiles, std::max(mode.alone, (mode.back + mode.tile - 1) / mode.tile));
  const int64_t whole = mode.extent - mode.ahead;  // of less than a tile there is none, below 0 neither
  const int64_t end = std::max(begin, std::min(mode.tiles - mode.alone, whole < 0 ? -1 : whole / mode.tile));
  std::vector<Part> parts;
  const auto single = [&](int64_t tile) {
    const int64_t left = mode.extent - tile * mode.tile;
    parts.push_back({std::max(-tile * mode.tile, -mode.back), std::min(left, mode.tile + mode.ahead), tile, 1});
  };
  for (int64_t tile = 0; tile < begin; ++tile) single(tile);
  if (end > begin) parts.push_back({-mode.back, mode.tile + mode.ahead, begin, end - begin});
  for (int64_t tile = end; tile < mode.tiles; ++tile) single(tile);
  return parts;
}

// Where the tiles of a part begin, relative to the first tile of all. The multiples of a step repeat.
Starts starts_of(const Part& part, const std::array<int64_t, 2>& step) {
  const int64_t period = kLine / std::gcd(kLine, std::gcd(step[0], step[1]));
  Starts starts;
  for (int64_t i = 0; i < std::min(period, part.count); ++i) {
    const int64_t tile = part.first + i;
    starts.push_back({{tile * step[0], tile * step[1]}, part.count / period + (i < part.count % period ? 1 : 0)});
  }
  return starts;
}

}  // namespace

std::vector<Group> groups(const std::vector<Mode>& modes, const std::array<int64_t, 2>& base, int64_t times) {
  Sum sum;
  sum.add(base[0], base[1], times);
  std::vector<Group> found{{{}, {}, {}, sum.take()}};
  for (const Mode& mode : modes) {
    const std::vector<Part> parts = parts_of(mode);
    std::vector<Group> next;
    for (const Group& group : found) {
      for (const Part& part : parts) {
        Group& cut = next.emplace_back(Group{group.low, group.high, group.tiles, {}});
        cut.low.push_back(part.low);
        cut.high.push_back(part.high);
        cut.tiles.push_back(part.first);
        const Starts along = starts_of(part, mode.step);
        for (const Start& a : group.starts) {
          for (const Start& b : along) sum.add(a.at[0] + b.at[0], a.at[1] + b.at[1], a.times * b.times);
        }
        cut.starts = sum.take();
      }
    }
    found = std::move(next);
  }
  return found;
}

Starts of_one(const Starts& starts, int which) {
  Sum sum;
  for (const Start& start : starts) sum.add(start.at[static_cast<std::size_t>(which)], 0, start.times);
  return sum.take();
}

}  // namespace tilewright::analysis
