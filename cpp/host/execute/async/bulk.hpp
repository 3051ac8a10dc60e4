// Copies in bulk: boxes of tensors (TMA) and runs of bytes, which are under way until an mbarrier or a group says so.
#pragma once

#include "host/execute/machine.hpp"

namespace tilewright::execute {

// The thread that asks: the first one of the warp, all of which come here.
uint32_t elected(const Warp& warp, const Instruction& i);
// The first lanes of a warp that wait for their copies by cp.async to arrive at an mbarrier do so (mbarriers.cpp).
void arrive_by_copies(Warp& warp);
// One copy to shared memory arrives: the first one, or the one that the seed chooses. Whether there was one.
bool land_one(ClusterState& cluster);
// A CTA comes to its end: what it still reads and what is on its way to it is found.
void finish_bulk_copies(Cta& cta);
// Where no arrivals and no bytes lack any more, the next phase of an mbarrier begins (mbarriers.cpp).
void complete_phases(Cta& cta, uint32_t barrier);

}  // namespace tilewright::execute
