// Executes a plan with a mark on every element, and says what is wrong with it.
//
// Written for clearness, not for speed: thread after thread, value after value, as plan.hpp says it, with tests in
// front of every access. It shares no table with run.hpp, so each is an oracle for the other.
#pragma once

#include <vector>

#include "plan.hpp"

namespace tilewright::host {

struct Finding {
  int64_t count = 0;
  std::vector<Coord> first;  // a few

  void add(const Coord& coord);
};

// Coordinates are those of the problem, of `outside_tile` and `not_contiguous` those of the tile.
struct Report {
  Finding never_written;         // elements of the destination
  Finding written_twice;         // elements of the destination that are written more than once
  Finding wrong;                 // writes of another element than the source's at the same coordinate
  Finding read_before_write;     // phase 2 reads what phase 1 of the CTA did not write
  Finding shared_written_twice;  // phase 1 writes what it has written before: a race
  Finding outside_shared;        // accesses outside of the image, or where smem has no such coordinate
  Finding outside_tile;          // values of threads whose coordinate is outside of the tile
  Finding not_contiguous;        // accesses of a thread whose values are no neighbours
  Finding misaligned_load;       // accesses, whole inside, at no multiple of their bytes
  Finding misaligned_store;
};

// `move`: copy for real, as run() does; else the addresses are only computed with. Raises PlanError or LayoutError for
// plans that say nothing, such as layouts of another rank.
Report check(const CopyPlan& plan, bool move);

}  // namespace tilewright::host
