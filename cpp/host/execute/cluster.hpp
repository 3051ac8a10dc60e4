// The CTAs of a cluster, which are executed side by side; without clusters one alone.
#pragma once

#include "block.hpp"

namespace tilewright::execute {

class Cluster {
 public:
  Cluster(const Launch& launch, Shadow* shadow, Profile* profile, Timeline* timeline, FindingTable& findings,
          std::vector<Printed>& printed);

  // The CTAs of a cluster by its number in the grid.
  void begin(uint64_t linear);
  // Whether all came to their end; otherwise other clusters have their turn.
  bool advance(const std::function<bool()>& is_stopped);
  // A warp that loops, where there is one.
  const Warp* looping() const;
  // Whether nothing will change any more by what its CTAs do.
  bool is_stuck();

 private:
  // Each CTA in turn: whether one of them took all of its turn.
  bool advance_each(const std::function<bool()>& is_stopped);
  // Nobody can go on: whether somebody was let go.
  bool find_deadlock();
  // Whether somebody waits for an mbarrier or for the cluster, which ends all; who waits for what is told.
  bool report_waiting();
  std::string text_of(const Warp& warp) const;

  const Launch& launch_;
  ClusterState state_;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace tilewright::execute
