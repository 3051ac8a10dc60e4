// mbarriers, and the barrier of all threads of a cluster.
#include <algorithm>
#include <bit>
#include <utility>

#include "bulk.hpp"
#include "core/error.hpp"
#include "host/execute/lanes/address.hpp"
#include "host/execute/lanes/handlers.hpp"
#include "host/execute/machine.hpp"
#include "host/execute/profile/timeline.hpp"
#include "host/execute/shadow/shadow.hpp"

namespace tilewright::execute {

namespace {

constexpr int64_t kMostArrivals = (int64_t{1} << 20) - 1, kMostBytes = (int64_t{1} << 20) - 1;

const MemoryCode& memory_of(const Warp& warp, const Instruction& i) { return warp.code->memory[i.side]; }

CtaMemory::Phases& told_by(Cta& cta, uint32_t barrier) { return cta.memory->mbarriers[barrier]; }

// Whoever waits for a phase that is complete goes on.
void wake(Cta& cta) {
  for (Warp& warp : cta.warps) {
    if (warp.state != State::kAtMbarrier) continue;
    const bool all = std::all_of(warp.phases.begin(), warp.phases.end(), [&](const PhaseWait& wait) {
      return cta.mbarriers.at(wait.barrier).is_complete(wait.parity);
    });
    if (!all) continue;
    if (warp.shadow != nullptr) {
      for (const PhaseWait& wait : warp.phases) {
        warp.shadow->hear(warp, wait.lanes, told_by(cta, wait.barrier).complete);
      }
    }
    if (cta.timeline != nullptr) {
      for (const PhaseWait& wait : warp.phases) {
        cta.timeline->pass(warp, wait.barrier, cta.mbarriers.at(wait.barrier));
      }
    }
    warp.phases.clear();
    warp.state = State::kReady;
  }
}

}  // namespace

void complete_phases(Cta& cta, uint32_t at) {
  Mbarrier& barrier = cta.mbarriers.at(at);
  ++cta.cluster->changes;
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.pending = barrier.count;
  barrier.expected = 0;
  barrier.expected_at = 0;
  ++barrier.phase;
  barrier.complete = std::exchange(barrier.arriving, 0);
  barrier.landed = std::exchange(barrier.landing, {});
  if (cta.shadow != nullptr) {
    CtaMemory::Phases& told = told_by(cta, at);
    join(told.complete, told.arriving);
    told.arriving = {};
  }
  wake(cta);
}

namespace {

// One lane's barrier, where that is right.
struct Found {
  Cta* cta = nullptr;
  uint32_t at = 0;
  Mbarrier* barrier = nullptr;
};

Found find(Warp& warp, const Instruction& i, uint64_t address, uint32_t rank, uint32_t lane) {
  const AccessCode& access = memory_of(warp, i).accesses[0];
  const ClusterState& cluster = *warp.cta->cluster;
  const auto report = [&](auto&& message) {
    warp.cta->report(warp, i, FindingKind::kBarrier, static_cast<int>(lane), message);
    return Found{};
  };
  if (rank >= cluster.ctas.size()) {
    return report([&] { return concat("there is no CTA ", rank, " in the cluster, which has ", cluster.ctas.size()); });
  }
  Cta& cta = *cluster.ctas[rank];
  if (cta.has_ended) {
    if (warp.shadow != nullptr) warp.shadow->find_early_exit(warp, i, cta, lane);
    return {};
  }
  if (warp.shadow != nullptr && !warp.shadow->look_at_mbarrier(warp, i, access, cta, address, lane, Use::kAtomic)) {
    return {};
  }
  const auto at = static_cast<uint32_t>(address);
  const auto found = cta.mbarriers.find(at);
  if (found == cta.mbarriers.end()) {
    return report([&] {
      return concat("the mbarrier at byte ", at, " of shared memory was never initialised; call mbarrier_init before");
    });
  }
  return {&cta, at, &found->second};
}

template <class F>
void each_lane(Mask mask, F&& f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<uint32_t>(std::countr_zero(mask)));
}

void init(Warp& warp, const Instruction& i) {
  const AccessCode& access = memory_of(warp, i).accesses[0];
  uint64_t addresses[kLanes];
  row_addresses(warp, access, 0, addresses);
  each_lane(warp.mask, [&](uint32_t lane) {
    const int64_t count = warp.at<int32_t>(i.a)[lane];
    if (count < 1 || count > kMostArrivals) {
      warp.cta->report(warp, i, FindingKind::kBarrier, static_cast<int>(lane),
                       [&] { return concat("an mbarrier for ", count, " arrivals; it takes 1 to ", kMostArrivals); });
      return;
    }
    if (warp.shadow != nullptr &&
        !warp.shadow->look_at_mbarrier(warp, i, access, *warp.cta, addresses[lane], lane, Use::kWrite)) {
      return;
    }
    Mbarrier barrier;
    barrier.count = barrier.pending = static_cast<uint32_t>(count);
    barrier.place = i.place;
    barrier.name = access.name;
    const auto at = static_cast<uint32_t>(addresses[lane]);
    warp.cta->mbarriers[at] = barrier;
  });
}

void arrive(Warp& warp, const Instruction& i) {
  const MemoryCode& memory = memory_of(warp, i);
  const auto arrivals = static_cast<uint32_t>(memory.ints[0]);
  const bool expects = memory.ints[1] != 0;
  uint64_t addresses[kLanes];
  row_addresses(warp, memory.accesses[0], 0, addresses);
  each_lane(warp.mask, [&](uint32_t lane) {
    const uint32_t rank = i.b == kNoSlot ? warp.cta->rank : warp.at<uint32_t>(i.b)[lane];
    const Found found = find(warp, i, addresses[lane], rank, lane);
    if (found.barrier == nullptr) return;
    Mbarrier& barrier = *found.barrier;
    const auto report = [&](auto&& message) {
      warp.cta->report(warp, i, FindingKind::kBarrier, static_cast<int>(lane), message);
    };
    if (expects) {
      const int64_t bytes = warp.at<int32_t>(i.a)[lane];
      if (bytes < 0 || barrier.bytes + bytes > kMostBytes) {
        return report([&] {
          return concat("phase ", barrier.phase, " of the mbarrier is to expect ", barrier.bytes + bytes,
                        " bytes; it counts up to ", kMostBytes);
        });
      }
      barrier.bytes += bytes;
      barrier.expected += bytes;
      barrier.expected_at = i.place;
    }
    if (barrier.pending < arrivals) {
      return report([&] {
        return concat("phase ", barrier.phase, " of the mbarrier at byte ", found.at, " is for ",
                      counted(barrier.count, "arrival"), ", of which ", barrier.pending, " lack, and ", arrivals,
                      " come at once");
      });
    }
    barrier.pending -= arrivals;
    barrier.arriving = std::max(barrier.arriving, warp.clock);
    if (warp.shadow != nullptr && arrivals != 0) {
      // Who waits for the phase knows of the visit, too.
      if (found.cta != warp.cta) warp.shadow->note_visit(warp, i, *found.cta, lane);
      warp.shadow->tell(warp, Mask{1} << lane, told_by(*found.cta, found.at).arriving);
    }
    complete_phases(*found.cta, found.at);
  });
  // Whoever is woken may come before what this warp does next.
  if (warp.cta->random != 0 && warp.cta->next_random() % 2 != 0) warp.running = false;
}

// The lanes arrive when what they have copied so far has landed.
void arrive_async(Warp& warp, const Instruction& i) {
  PendingArrival arrival{&i, 0, warp.copies, {}, kNoSpan};
  if (warp.cta->timeline != nullptr) arrival.span = warp.cta->timeline->take_copies(warp);
  uint64_t addresses[kLanes];
  row_addresses(warp, memory_of(warp, i).accesses[0], 0, addresses);
  each_lane(warp.mask, [&](uint32_t lane) {
    const Found found = find(warp, i, addresses[lane], warp.cta->rank, lane);
    if (found.barrier == nullptr) return;
    arrival.lanes |= Mask{1} << lane;
    arrival.barrier[lane] = found.at;
  });
  if (arrival.lanes == 0) return;
  warp.arrivals.push_back(arrival);
  if (warp.cta->random != 0 && warp.cta->next_random() % 2 != 0) land_one(*warp.cta->cluster);
}

// Of each active lane the phase that it waits for; the lanes for which it is complete.
Mask phases_of(Warp& warp, const Instruction& i, Mask mask, std::vector<PhaseWait>& phases) {
  uint64_t addresses[kLanes];
  row_addresses(warp, memory_of(warp, i).accesses[0], 0, addresses);
  Mask complete = 0;
  each_lane(mask, [&](uint32_t lane) {
    const Mask bit = Mask{1} << lane;
    const int32_t parity = warp.at<int32_t>(i.a)[lane];
    if (parity != 0 && parity != 1) {
      warp.cta->report(warp, i, FindingKind::kBarrier, static_cast<int>(lane), [&] {
        return concat("the phase that is waited for is ", parity, "; it is told by its parity, 0 or 1");
      });
    }
    const Found found = find(warp, i, addresses[lane], warp.cta->rank, lane);
    if (found.barrier == nullptr) {
      complete |= bit;
      return;
    }
    const auto wanted = static_cast<uint32_t>(parity & 1);
    if (found.barrier->is_complete(wanted)) complete |= bit;
    for (PhaseWait& phase : phases) {
      if (phase.barrier == found.at && phase.parity == wanted) {
        phase.lanes |= bit;
        return;
      }
    }
    phases.push_back({found.at, wanted, bit});
  });
  return complete;
}

void hear(Warp& warp, const std::vector<PhaseWait>& phases, Mask complete) {
  Cta& cta = *warp.cta;
  for (const PhaseWait& phase : phases) {
    const bool is_heard = (phase.lanes & complete) != 0;
    if (cta.timeline != nullptr && is_heard) {
      cta.timeline->pass(warp, phase.barrier, cta.mbarriers.at(phase.barrier));
    }
  }
  if (warp.shadow == nullptr) return;
  for (const PhaseWait& phase : phases) {
    const Mask lanes = phase.lanes & complete;
    if (lanes != 0) warp.shadow->hear(warp, lanes, told_by(*warp.cta, phase.barrier).complete);
  }
}

void wait(Warp& warp, const Instruction& i) {
  std::vector<PhaseWait> phases;
  const Mask complete = phases_of(warp, i, warp.mask, phases);
  if (complete == warp.mask) return hear(warp, phases, complete);
  warp.phases = std::move(phases);
  warp.state = State::kAtMbarrier;
  warp.waits = &i;
  warp.running = false;
}

void test(Warp& warp, const Instruction& i) {
  Mask asking = warp.mask;
  for (uint32_t l = 0; i.b != kNoSlot && l < kLanes; ++l) {
    if (warp.at<uint8_t>(i.b)[l] == 0) asking &= ~(Mask{1} << l);
  }
  std::vector<PhaseWait> phases;
  const Mask complete = phases_of(warp, i, asking, phases);
  hear(warp, phases, complete);
  for (uint32_t l = 0; l < kLanes; ++l) warp.at<uint8_t>(i.to)[l] = ((complete | ~asking) >> l & 1) != 0;
  if (complete == asking) {
    warp.spins = 0;
    warp.phases.clear();
    return;
  }
  land_one(*warp.cta->cluster);
  // Others have their turn, so that it can become complete.
  const uint64_t changes = warp.cta->cluster->changes;
  warp.spins = changes == warp.seen ? warp.spins + 1 : 0;
  warp.seen = changes;
  warp.phases = std::move(phases);
  warp.waits = &i;
  warp.running = false;
}

// ---- clusters ----

Told& told_in(const ClusterState& cluster, bool is_complete) {
  CtaMemory::Phases& told = cluster.ctas[0]->memory->cluster;
  return is_complete ? told.complete : told.arriving;
}

bool is_whole(Warp& warp, const Instruction& i, const char* what) {
  if (warp.mask == warp.live) return true;
  const auto absent = static_cast<int>(std::countr_zero(warp.live & ~warp.mask));
  Finding* finding = warp.cta->report(warp, i, FindingKind::kBarrier, std::countr_zero(warp.mask), [&] {
    return concat(what, " is executed by all threads of a warp together, and ",
                  counted(std::popcount(warp.live & ~warp.mask), "thread"), " do not reach it here");
  });
  if (finding != nullptr) finding->other = warp.cta->thread_of(warp, absent);
  return false;
}

template <bool kReleases>
void cluster_arrive(Warp& warp, const Instruction& i) {
  ClusterState& cluster = *warp.cta->cluster;
  is_whole(warp, i, "cluster_arrive");
  if (warp.has_arrived && warp.generation == cluster.generation) {
    warp.cta->report(warp, i, FindingKind::kBarrier, std::countr_zero(warp.mask),
                     "the thread has arrived at the cluster's barrier, and has not waited since: call cluster_wait");
    return;
  }
  warp.has_arrived = true;
  cluster.arriving = std::max(cluster.arriving, warp.clock);
  warp.generation = cluster.generation;
  if (warp.shadow != nullptr) {
    Told& told = told_in(cluster, false);
    if (kReleases) warp.shadow->tell(warp, warp.live, told);
    Shadow::tell_inits(warp, told);
  }
  complete_cluster_barrier(cluster);
}

void cluster_wait(Warp& warp, const Instruction& i) {
  ClusterState& cluster = *warp.cta->cluster;
  is_whole(warp, i, "cluster_wait");
  if (!warp.has_arrived) {
    warp.cta->report(warp, i, FindingKind::kBarrier, std::countr_zero(warp.mask),
                     "the thread waits at the cluster's barrier, and has not arrived: call cluster_arrive before");
    return;
  }
  if (warp.generation != cluster.generation) {
    warp.has_arrived = false;
    if (Timeline* const timeline = warp.cta->timeline; timeline != nullptr) {
      timeline->catch_up(warp, cluster.complete, SpanKind::kClusterBarrier, -1);
    }
    if (warp.shadow != nullptr) warp.shadow->hear(warp, warp.live, told_in(cluster, true));
    return;
  }
  warp.state = State::kAtClusterBarrier;
  warp.waits = &i;
  warp.running = false;
}

}  // namespace

void arrive_by_copies(Warp& warp) {
  const PendingArrival arrival = warp.arrivals.front();
  warp.arrivals.pop_front();
  Cta& cta = *warp.cta;
  for (Mask left = arrival.lanes; left != 0;) {
    const uint32_t at = arrival.barrier[std::countr_zero(left)];
    Mask together = 0;
    each_lane(left, [&](uint32_t lane) { together |= Mask{arrival.barrier[lane] == at} << lane; });
    left &= ~together;
    land_for_barrier(warp, together, arrival.before, at);
    const auto found = cta.mbarriers.find(at);
    if (found == cta.mbarriers.end()) continue;
    Mbarrier& barrier = found->second;
    if (arrival.span != kNoSpan) barrier.landing.push_back(arrival.span);
    each_lane(together, [&](uint32_t lane) {
      if (barrier.pending == 0) {
        cta.report(warp, *arrival.instruction, FindingKind::kBarrier, static_cast<int>(lane), [&] {
          return concat("phase ", barrier.phase, " of the mbarrier at byte ", at, " is for ",
                        counted(barrier.count, "arrival"), ", all of which have come, and another comes");
        });
        return;
      }
      --barrier.pending;
      barrier.arriving = std::max(barrier.arriving, warp.clock);
      complete_phases(cta, at);
    });
  }
}

void complete_cluster_barrier(ClusterState& cluster) {
  for (const Cta* cta : cluster.ctas) {
    for (const Warp& warp : cta->warps) {
      const bool is_here = warp.has_arrived && warp.generation == cluster.generation;
      if (!is_here && warp.state != State::kDone) return;
    }
  }
  ++cluster.generation;
  cluster.complete = std::exchange(cluster.arriving, 0);
  ++cluster.changes;
  Shadow* const shadow = cluster.ctas[0]->shadow;
  if (shadow != nullptr) {
    CtaMemory::Phases& told = cluster.ctas[0]->memory->cluster;
    told.complete = std::move(told.arriving);
    told.arriving = {};
  }
  for (Cta* cta : cluster.ctas) {
    for (Warp& warp : cta->warps) {
      if (warp.state != State::kAtClusterBarrier) continue;
      warp.state = State::kReady;
      warp.has_arrived = false;
      if (cta->timeline != nullptr) cta->timeline->catch_up(warp, cluster.complete, SpanKind::kClusterBarrier, -1);
      if (shadow != nullptr) shadow->hear(warp, warp.live, cluster.ctas[0]->memory->cluster.complete);
    }
  }
}

Handler mbarrier_init_handler() { return &init; }
Handler mbarrier_arrive_handler() { return &arrive; }
Handler async_arrive_handler() { return &arrive_async; }
Handler mbarrier_wait_handler() { return &wait; }
Handler mbarrier_test_handler() { return &test; }
Handler cluster_arrive_handler(bool releases) { return releases ? &cluster_arrive<true> : &cluster_arrive<false>; }
Handler cluster_wait_handler() { return &cluster_wait; }

}  // namespace tilewright::execute
