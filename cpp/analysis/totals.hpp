// Totals over a launch without visiting every tile of it.
//
// How many sectors, lines and wavefronts a request takes depends on its lanes' addresses modulo 128 bytes alone. So of
// a tile's requests those that are one another's translation are one kind, of which is counted how often it begins at
// each byte of a line; each of these is evaluated once. Nothing is sampled: the totals are exact.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "access.hpp"
#include "kinds.hpp"
#include "tiles.hpp"

namespace tilewright::analysis {

// What the lanes of a request address.
struct Lanes {
  std::array<int64_t, kWarp> at{};
  uint32_t active = 0;
  bool operator==(const Lanes&) const = default;
};

// An active lane whose address is no multiple of the width.
struct Fault {
  int lane = 0;
  int64_t address = 0;
};

struct Totals {
  void add(const Request& request, int64_t times);
  void compare(const Request& request, const Lanes& lanes_of, const Rank& rank);  // with the worst one so far

  int64_t requests = 0;
  Request sum;
  Request first;  // of the first request that was given
  Request worst;  // of the one that is farthest from its ideal, and its lanes
  Lanes lanes;
  std::optional<Fault> fault;  // where there is one, the counts say nothing

 private:
  int64_t most_ = -1;
  Rank rank_;  // of the worst one
};

// The same lanes further on by so many bytes, by whole lines more where an address would be negative.
Lanes moved(const Lanes& lanes, int64_t by);

// Adds up the requests of one instruction: those of a tile, one by one, and then in how many tiles they are made. Of
// addresses what is not in the starts, such as the tile's own place, has to be a multiple of 128 bytes.
class Tally {
 public:
  explicit Tally(const Access& access) : access_(access) {}

  const Access& access() const { return access_; }
  void request(const int64_t* addresses, uint32_t active);              // one without active lanes is none
  void repeat(const Starts& starts, int which = 0, int64_t shift = 0);  // from `shift` before the starts on
  std::optional<Lanes> first() const { return first_; }
  std::optional<Totals> totals() const;

 private:
  Access access_;
  Kinds<Lanes> kinds_;
  std::optional<Lanes> pending_;  // the first request since `repeat`
  std::optional<Lanes> first_;
};

}  // namespace tilewright::analysis
