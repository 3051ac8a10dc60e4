#include "clocks.hpp"

#include <algorithm>

namespace tilewright::execute {

namespace {

void raise(std::vector<uint32_t>& to, const std::vector<uint32_t>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

void set_all(WarpClock& clock) { clock.all = *std::min_element(clock.known.begin(), clock.known.end()); }

bool below(const Bounds& bounds, const Event& event, uint32_t number) {
  const auto found = bounds.find(event.cta);
  return found != bounds.end() && event.warp < found->second.size() && number < found->second[event.warp];
}

}  // namespace

void join(Bounds& to, const Bounds& from) {
  for (const auto& [cta, known] : from) raise(to[cta], known);
}

Clocks::Clocks(uint32_t most) : most_(std::clamp(most, 3u, kMostEvents)) { clear(); }

void Clocks::clear() {
  events_.assign(2, Event{~uint64_t{0}, 0, 0, false});
  variables_.clear();
  last_ = nullptr;
}

uint32_t Clocks::event(const Warp& warp, const Instruction& instruction, bool is_atomic) {
  if (last_ != &instruction || last_warp_ != &warp) {
    events_.push_back({warp.cta->linear, instruction.place, static_cast<uint16_t>(warp.index), is_atomic});
    last_ = &instruction;
    last_warp_ = &warp;
  }
  return static_cast<uint32_t>(events_.size() - 1);
}

uint32_t Clocks::run(const Warp& warp, const Instruction& instruction, uint32_t lane, uint64_t first, uint32_t bytes) {
  events_.push_back({warp.cta->linear, instruction.place, static_cast<uint16_t>(warp.index), false,
                     static_cast<uint8_t>(lane), bytes, first});
  last_ = nullptr;
  return static_cast<uint32_t>(events_.size() - 1);
}

void Clocks::begin(CtaClocks& cta, std::size_t warps) const {
  cta.warps.assign(warps, WarpClock{});
  // What other CTAs did before is in no order with this one; by the records' CTA that is known.
  for (WarpClock& clock : cta.warps) clock.known.assign(warps, 2);
  for (WarpClock& clock : cta.warps) clock.all = 2;
  for (CtaClocks::Joined& joined : cta.barriers) joined = {};
}

bool Clocks::is_before(const CtaClocks& cta, const Warp& warp, uint32_t number) const {
  if (number <= 1) return true;
  const Event& event = events_[number];
  const WarpClock& clock = cta.warps[warp.index];
  if (event.cta != warp.cta->linear) return !clock.others.empty() && below(clock.others, event, number);
  return number < clock.known[event.warp];
}

bool Clocks::is_ordered(const CtaClocks& cta, const Warp& warp, uint32_t lane, Record record) const {
  const uint32_t number = event_of(record);
  if (is_before(cta, warp, number)) return true;
  const Event& event = events_[number];
  if (event.cta != warp.cta->linear || event.warp != warp.index) return false;
  if (lane_of(record) == lane) return true;
  Mask reached = Mask{1} << lane_of(record);
  for (const WarpClock::Partial& partial : cta.warps[warp.index].partial) {
    if (number < partial.event && (partial.lanes & reached) != 0) reached |= partial.lanes;
  }
  return (reached >> lane & 1) != 0;
}

bool Clocks::lacks_a_fence(const CtaClocks& cta, const Warp& warp, Record record) const {
  return below(cta.warps[warp.index].would_be_known, events_[event_of(record)], event_of(record));
}

void Clocks::sync_lanes(CtaClocks& cta, const Warp& warp, Mask among) {
  last_ = nullptr;
  WarpClock& clock = cta.warps[warp.index];
  const auto now = static_cast<uint32_t>(events_.size());
  if ((warp.live & ~among) == 0) {
    clock.known[warp.index] = now;
    clock.partial.clear();
    set_all(clock);
  } else {
    clock.partial.push_back({now, among});
  }
}

Bounds Clocks::bounds_of(const CtaClocks& cta, const Warp& warp) const {
  const WarpClock& clock = cta.warps[warp.index];
  Bounds bounds = clock.others;
  std::vector<uint32_t>& own = bounds[warp.cta->linear];
  own = clock.known;
  own[warp.index] = static_cast<uint32_t>(events_.size());
  return bounds;
}

void Clocks::learn(CtaClocks& cta, const Warp& warp, const Bounds& bounds) {
  WarpClock& clock = cta.warps[warp.index];
  for (const auto& [linear, known] : bounds) {
    if (linear != warp.cta->linear) {
      raise(clock.others[linear], known);
      continue;
    }
    const uint32_t own = clock.known[warp.index];
    raise(clock.known, known);
    clock.known[warp.index] = own;  // what the warp hears of itself puts its lanes in no order
    set_all(clock);
  }
}

void Clocks::arrive(CtaClocks& cta, const Warp& warp, int barrier) {
  last_ = nullptr;
  WarpClock& clock = cta.warps[warp.index];
  clock.known[warp.index] = static_cast<uint32_t>(events_.size());
  clock.partial.clear();
  set_all(clock);
  CtaClocks::Joined& joined = cta.barriers[barrier];
  raise(joined.known, clock.known);
  join(joined.others, clock.others);
  join(joined.would_be_known, clock.would_be_known);
}

void Clocks::leave(CtaClocks& cta, const Warp& warp, int barrier) const {
  WarpClock& clock = cta.warps[warp.index];
  const CtaClocks::Joined& joined = cta.barriers[barrier];
  raise(clock.known, joined.known);
  set_all(clock);
  join(clock.others, joined.others);
  join(clock.would_be_known, joined.would_be_known);
}

void Clocks::reset(CtaClocks& cta, int barrier) { cta.barriers[barrier] = {}; }

void Clocks::fence(CtaClocks& cta, const Warp& warp, bool for_all) {
  last_ = nullptr;
  WarpClock& clock = cta.warps[warp.index];
  learn(cta, warp, clock.heard_inside);
  clock.heard_inside.clear();
  if (for_all) {
    learn(cta, warp, clock.heard);
    clock.heard.clear();
    clock.fenced = bounds_of(cta, warp);
  }
  clock.fenced_inside = bounds_of(cta, warp);
}

void Clocks::synchronize(CtaClocks& cta, const Warp& warp, uint64_t variable, bool acquires, bool releases) {
  last_ = nullptr;
  WarpClock& clock = cta.warps[warp.index];
  Variable& known = variables_[variable];
  Bounds& inside = known.released_inside[warp.cta->linear];
  join(clock.would_be_known, known.passed);
  if (acquires) {
    learn(cta, warp, known.released);
  } else {
    join(clock.heard, known.released);
    join(clock.heard_inside, inside);
  }
  Bounds passed = bounds_of(cta, warp);
  join(passed, clock.would_be_known);
  join(known.passed, passed);
  if (releases) {
    const Bounds now = bounds_of(cta, warp);
    join(known.released, now);
    join(inside, now);
  } else {
    join(known.released, clock.fenced);
    join(inside, clock.fenced_inside);
  }
}

}  // namespace tilewright::execute
