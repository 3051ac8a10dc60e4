// Requests that differ, and how often each of them begins at which byte of a line.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "access.hpp"
#include "tiles.hpp"

namespace tilewright::analysis {

// Requests are found by a sum of their addresses with these, which few that differ have in common, and then compared.
inline constexpr std::array<uint64_t, kWarp + 4> kWeights = [] {
  std::array<uint64_t, kWarp + 4> weights{};
  for (uint64_t i = 0; i < weights.size(); ++i) weights[i] = ((2 * i + 1) * 0x9E3779B97F4A7C15 & INT64_MAX) | 1;
  return weights;
}();

// The sum over lanes of value(lane) with the weights of the `which`-th table.
template <class F>
uint64_t weighed(std::size_t which, F&& value) {
  uint64_t sum = 0;
  for (std::size_t lane = 0; lane < kWarp; ++lane) sum += static_cast<uint64_t>(value(lane)) * kWeights[lane + which];
  return sum;
}

// The order in which requests count as the first of equals: by when they were added, then by something that does not
// depend on the table.
struct Rank {
  int32_t turn = 0;
  int64_t key = 0;
  std::size_t place = 0;
  auto operator<=>(const Rank&) const = default;
};

template <class Kind>
class Kinds {
 public:
  // A request that begins at this byte of a line; `key` is the same for kinds that are equal.
  void add(const Kind& kind, uint64_t key, int64_t begin) {
    const std::size_t found = find(kind, key);
    const std::size_t place = begin & (kLine - 1);
    if (counted_[found].begins[place]++ == 0) begun_.emplace_back(found, place);
  }

  // What was added since the last time is made in tiles that begin so.
  void repeat(const Starts& starts, std::size_t which, int64_t shift) {
    for (const auto& [kind, begin] : begun_) {
      Counted& counted = counted_[kind];
      const int64_t requests = counted.begins[begin];
      counted.begins[begin] = 0;
      for (const Start& start : starts) {
        const std::size_t place = (static_cast<int64_t>(begin) + start.at[which] - shift) & (kLine - 1);
        if (counted.times[place] == 0) counted.turn[place] = turn_;
        counted.times[place] += requests * start.times;
      }
    }
    begun_.clear();
    ++turn_;
  }

  // f(kind, place, times, rank) for each place in a line at which a kind begins.
  template <class F>
  void for_each(F&& f) const {
    for (const Counted& counted : counted_) {
      for (std::size_t place = 0; place < kLine; ++place) {
        if (counted.times[place] == 0) continue;
        f(counted.kind, static_cast<int64_t>(place), counted.times[place],
          Rank{counted.turn[place], static_cast<int64_t>(counted.key), place});
      }
    }
  }

 private:
  struct Counted {
    Kind kind;
    uint64_t key;
    std::array<int64_t, kLine> times{};
    std::array<int32_t, kLine> turn{};    // the first repeat that made them
    std::array<int32_t, kLine> begins{};  // since the last repeat
  };

  std::size_t find(const Kind& kind, uint64_t key) {
    if (2 * (counted_.size() + 1) > table_.size()) grow();
    std::size_t place = place_of(key);
    for (; table_[place] >= 0; place = (place + 1) & (table_.size() - 1)) {
      const auto index = static_cast<std::size_t>(table_[place]);
      if (counted_[index].key == key && counted_[index].kind == kind) return index;
    }
    table_[place] = static_cast<int32_t>(counted_.size());
    counted_.push_back({kind, key});
    return counted_.size() - 1;
  }

  void grow() {
    table_.assign(table_.empty() ? 64 : 4 * table_.size(), -1);
    for (std::size_t index = 0; index < counted_.size(); ++index) {
      std::size_t place = place_of(counted_[index].key);
      while (table_[place] >= 0) place = (place + 1) & (table_.size() - 1);
      table_[place] = static_cast<int32_t>(index);
    }
  }

  std::size_t place_of(uint64_t key) const { return (key * 0x9E3779B97F4A7C15 >> 32) & (table_.size() - 1); }

  std::vector<Counted> counted_;
  std::vector<int32_t> table_;  // indices of counted_, -1: free; at most half full, a power of 2
  std::vector<std::pair<std::size_t, std::size_t>> begun_;
  int32_t turn_ = 0;
};

}  // namespace tilewright::analysis
