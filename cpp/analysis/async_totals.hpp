// Totals of cp.async, whose two sides cost each other something.
#pragma once

#include <cstdint>
#include <optional>

#include "kinds.hpp"
#include "totals.hpp"

namespace tilewright::analysis {

// A request of cp.async: its lanes read `source` and write `destination`; those that only write, write zeros.
struct AsyncLanes {
  Lanes source;
  Lanes destination;
  int64_t useful = 0;  // bytes that are read
  bool operator==(const AsyncLanes&) const = default;
};

// Bytes of a lane of a cp.async that may go around L1.
inline constexpr int kAroundL1 = 16;

// What Nsight Compute calls the wavefronts of a cp.async, which around L1 are none of the hardware's.
struct Counted {
  int64_t wavefronts = 0;
  int64_t ideal = 0;
};

struct AsyncRequest {
  Request source;
  Request destination;
  Counted counted;
  int64_t asked = 0;  // sectors that L1 asks L2 for: one for each piece of the destination and line of the source
};

// Through L1 a wavefront takes one access of each group of banks out of the cache, and one of each group into shared
// memory; around L1 32 bytes of L2 go to 32 bytes of shared memory. No two lanes write one place.
// The wavefronts through L1 are what Nsight Compute counts for the instruction: those of the lane that meets the most
// others; around L1 those of a store, and `counted` says what it counts.
// Source: read with Nsight Compute on an H200, as tilewright/analysis/cp_async.py says.
AsyncRequest evaluate(const AsyncLanes& lanes, int width, bool is_around_l1);

struct AsyncTotals {
  std::optional<Totals> source;
  std::optional<Totals> destination;
  Counted counted;
  int64_t asked = 0;
};

// Adds up the requests of one cp.async, as a Tally does; starts are those of the source.
class AsyncTally {
 public:
  explicit AsyncTally(int width) : width_(width) {}

  int width() const { return width_; }
  // `useful`: the bytes that each lane reads; nullptr: all of the width.
  void request(const int64_t* source, const int64_t* destination, uint32_t reads, uint32_t writes,
               const int64_t* useful = nullptr);
  void repeat(const Starts& starts);
  const std::optional<AsyncLanes>& first() const { return first_; }  // as it was given
  AsyncTotals totals() const;

 private:
  int width_;
  Kinds<AsyncLanes> kinds_;
  std::optional<AsyncLanes> pending_;  // the first request since `repeat`
  std::optional<AsyncLanes> first_;
};

}  // namespace tilewright::analysis
