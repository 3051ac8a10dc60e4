// Barriers: sync_threads and named ones.
#include <algorithm>
#include <bit>

#include "handlers.hpp"
#include "host/execute/machine.hpp"
#include "host/execute/profile/timeline.hpp"
#include "host/execute/shadow/shadow.hpp"

namespace tilewright::execute {

namespace {

// The barrier is complete: whoever waits goes on.
void complete(Cta& cta, Barrier& barrier, int id) {
  for (const uint32_t index : barrier.waiting) {
    Warp& warp = cta.warps[index];
    warp.state = State::kReady;
    if (cta.timeline != nullptr) cta.timeline->catch_up(warp, barrier.step, SpanKind::kBarrier, id);
    if (warp.shadow != nullptr) warp.shadow->leave(warp, id);
  }
  if (cta.shadow != nullptr) cta.shadow->reset(cta, id);
  barrier = Barrier{};
}

void arrive(Warp& warp, const Instruction& i, int id, uint32_t threads, bool waits) {
  Cta& cta = *warp.cta;
  if (warp.mask != warp.live) {
    const auto absent = static_cast<int>(std::countr_zero(warp.live & ~warp.mask));
    Finding* finding =
        cta.report(warp, i, FindingKind::kBarrier, std::countr_zero(warp.mask),
                   "the barrier is in divergent code: " + std::to_string(std::popcount(warp.live & ~warp.mask)) +
                       " threads of the warp do not reach it here");
    if (finding != nullptr) finding->other = cta.thread_of(warp, absent);
  }
  if (id < 0 || id >= kBarriers) {
    cta.report(warp, i, FindingKind::kBarrier, std::countr_zero(warp.mask),
               "there is no barrier " + std::to_string(id) + ", only 0 to 15");
    return;
  }
  Barrier& barrier = cta.barriers[id];
  if (threads % kLanes != 0 && threads != cta.threads) {
    cta.report(
        warp, i, FindingKind::kBarrier, std::countr_zero(warp.mask),
        "barrier " + std::to_string(id) + " is for " + std::to_string(threads) + " threads, which are no whole warps");
    threads = (threads + kLanes - 1) / kLanes * kLanes;
  }
  if (barrier.expected != 0 && barrier.expected != threads) {
    Finding* finding = cta.report(warp, i, FindingKind::kBarrier, std::countr_zero(warp.mask),
                                  "barrier " + std::to_string(id) + " is for " + std::to_string(threads) +
                                      " threads here, and for " + std::to_string(barrier.expected) + " elsewhere");
    if (finding != nullptr) finding->other_place = barrier.place;
  }
  barrier.expected = threads;
  barrier.place = i.place;
  barrier.step = std::max(barrier.step, warp.clock);
  // A warp counts as a whole, as its last one does that is not full.
  barrier.arrived += static_cast<uint32_t>(std::popcount(warp.live));
  if (warp.shadow != nullptr) warp.shadow->arrive(warp, i, id);
  if (waits) {
    barrier.waiting.push_back(warp.index);
    warp.state = State::kAtBarrier;
    warp.barrier = id;
    warp.waits = &i;
    warp.running = false;
  }
  if (barrier.arrived >= barrier.expected) complete(cta, barrier, id);
}

void sync_threads(Warp& warp, const Instruction& i) { arrive(warp, i, 0, warp.cta->threads, true); }

template <bool kWaits>
void barrier(Warp& warp, const Instruction& i) {
  const int lane = std::countr_zero(warp.mask);
  const int id = warp.at<int32_t>(i.a)[lane];
  const uint32_t threads = i.b == kNoSlot ? warp.cta->threads : static_cast<uint32_t>(warp.at<int32_t>(i.b)[lane]);
  arrive(warp, i, id, threads, kWaits);
}

void fence(Warp& warp, const Instruction& i) {
  if (warp.shadow != nullptr) warp.shadow->fence(warp, warp.code->operands[i.side].text);
}

void grid_wait(Warp& warp, const Instruction&) { warp.cta->has_waited = true; }

void nothing(Warp&, const Instruction&) {}

}  // namespace

void release_barrier(Cta& cta, int id) { complete(cta, cta.barriers[id], id); }

Handler sync_threads_handler() { return &sync_threads; }
Handler barrier_handler(bool waits) { return waits ? &barrier<true> : &barrier<false>; }
Handler fence_handler() { return &fence; }
Handler grid_wait_handler() { return &grid_wait; }
Handler nothing_handler() { return &nothing; }

}  // namespace tilewright::execute
