#include "clocks.hpp"

#include <algorithm>
#include <bit>

namespace tilewright::execute {

namespace {

void raise(std::vector<uint32_t>& to, const std::vector<uint32_t>& from) {
  if (to.size() < from.size()) to.resize(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = std::max(to[i], from[i]);
}

// Below it everything that the CTA's warps and agents did is known.
void set_all(const CtaClocks& cta, WarpClock& clock) {
  const std::size_t warps = cta.warps.size();
  clock.all = *std::min_element(clock.known.begin(), clock.known.begin() + static_cast<std::ptrdiff_t>(warps));
  for (std::size_t agent = 0; agent < cta.landings.size(); ++agent) {
    const std::size_t at = warps + agent;
    const uint32_t known = at < clock.known.size() ? clock.known[at] : 2;
    if (known <= cta.landings[agent]) clock.all = std::min(clock.all, std::max(known, 2u));
  }
}

bool below(const Bounds& bounds, const Event& event, uint32_t number) {
  const auto found = bounds.warps.find(event.cta);
  return found != bounds.warps.end() && event.warp < found->second.size() && number < found->second[event.warp];
}

}  // namespace

bool Bounds::has(const Event& event, Record record) const {
  if (below(*this, event, event_of(record))) return true;
  if (lanes.empty()) return false;
  const auto found = lanes.find({event.cta, event.warp});
  return found != lanes.end() && event_of(record) < found->second[lane_of(record)];
}

void join(Bounds& to, const Bounds& from) {
  for (const auto& [cta, known] : from.warps) raise(to.warps[cta], known);
  for (const auto& [warp, known] : from.lanes) {
    std::array<uint32_t, kLanes>& lanes = to.lanes[warp];
    for (uint32_t l = 0; l < kLanes; ++l) lanes[l] = std::max(lanes[l], known[l]);
  }
}

void join(Proxied& to, const Proxied& from) {
  join(to.shared, from.shared);
  join(to.global, from.global);
}

void join(Told& to, const Told& from) {
  join(to.known, from.known);
  join(to.would_be_known, from.would_be_known);
  join(to.proxied, from.proxied);
  join(to.mapped, from.mapped);
  join(to.inits, from.inits);
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

uint32_t Clocks::another(const Warp& warp, const Instruction& instruction, bool is_atomic) {
  last_ = nullptr;
  const uint32_t number = event(warp, instruction, is_atomic);
  last_ = nullptr;
  return number;
}

uint32_t Clocks::run(const Warp& warp, const Instruction& instruction, uint32_t lane, uint64_t first, uint32_t bytes) {
  events_.push_back({warp.cta->linear, instruction.place, static_cast<uint16_t>(warp.index), false,
                     static_cast<uint8_t>(lane), bytes, false, false, 0, first});
  last_ = nullptr;
  return static_cast<uint32_t>(events_.size() - 1);
}

uint32_t Clocks::landing(CtaClocks* cta, uint64_t linear, uint16_t warp, const Warp& issuer, uint32_t place,
                         bool is_of_proxy) {
  last_ = nullptr;
  events_.push_back({linear, place, warp, false, 0, 0, is_of_proxy, false, static_cast<uint16_t>(issuer.index),
                     issuer.cta->linear, true});
  const auto number = static_cast<uint32_t>(events_.size() - 1);
  if (cta != nullptr) {
    const std::size_t agent = warp - cta->warps.size();
    if (cta->landings.size() <= agent) cta->landings.resize(agent + 1);
    cta->landings[agent] = number;
  }
  return number;
}

void Clocks::begin(CtaClocks& cta, std::size_t warps) const {
  cta.warps.assign(warps, WarpClock{});
  // What other CTAs did before is in no order with this one; by the records' CTA that is known.
  for (WarpClock& clock : cta.warps) clock.known.assign(warps, 2);
  for (WarpClock& clock : cta.warps) clock.all = 2;
  cta.landings.clear();
  for (CtaClocks::Joined& joined : cta.barriers) joined = {};
  for (std::vector<Record>& arrivals : cta.last_uses) arrivals.clear();
}

bool Clocks::is_before(const CtaClocks& cta, const Warp& warp, uint32_t number) const {
  if (number <= 1) return true;
  const Event& event = events_[number];
  const WarpClock& clock = cta.warps[warp.index];
  if (event.cta != warp.cta->linear) return !clock.others.warps.empty() && below(clock.others, event, number);
  return event.warp < clock.known.size() && number < clock.known[event.warp];
}

bool Clocks::is_ordered(const CtaClocks& cta, const Warp& warp, uint32_t lane, Record record) const {
  const uint32_t number = event_of(record);
  if (is_before(cta, warp, number)) return true;
  const Event& event = events_[number];
  const WarpClock& clock = cta.warps[warp.index];
  if (event.cta == warp.cta->linear && event.warp == warp.index) {
    if (lane_of(record) == lane) return true;
    Mask reached = Mask{1} << lane_of(record);
    for (const WarpClock::Partial& partial : clock.partial) {
      if (number < partial.event && (partial.lanes & reached) != 0) reached |= partial.lanes;
    }
    if ((reached >> lane & 1) != 0) return true;
  }
  if (!clock.others.lanes.empty() && clock.others.has(event, record)) return true;
  const auto own = clock.lanes.find(lane);
  return own != clock.lanes.end() && own->second.known.has(event, record);
}

bool Clocks::lacks_a_fence(const CtaClocks& cta, const Warp& warp, uint32_t lane, Record record) const {
  const Event& event = events_[event_of(record)];
  const WarpClock& clock = cta.warps[warp.index];
  if (clock.would_be_known.has(event, record)) return true;
  const auto own = clock.lanes.find(lane);
  return own != clock.lanes.end() && own->second.would_be_known.has(event, record);
}

bool Clocks::knows_of(const CtaClocks& cta, const Warp& warp, uint32_t lane, uint64_t other) {
  const auto has = [&](const Bounds& bounds) {
    return bounds.warps.count(other) != 0 || std::any_of(bounds.lanes.begin(), bounds.lanes.end(),
                                                         [&](const auto& each) { return each.first.first == other; });
  };
  const WarpClock& clock = cta.warps[warp.index];
  if (has(clock.others) || has(clock.would_be_known) || has(clock.inits)) return true;
  const auto own = clock.lanes.find(lane);
  return own != clock.lanes.end() &&
         (has(own->second.known) || has(own->second.heard) || has(own->second.heard_inside));
}

bool Clocks::is_heard(const CtaClocks& cta, Record record) const {
  const Event& event = events_[event_of(record)];
  for (const WarpClock& clock : cta.warps) {
    for (const auto& [lane, own] : clock.lanes) {
      for (const Bounds* bounds : {&own.known, &own.heard, &own.heard_inside}) {
        if (bounds->has(event, record)) return true;
      }
    }
  }
  return false;
}

void Clocks::join_lanes(CtaClocks& cta, const Warp& warp) const {
  WarpClock& clock = cta.warps[warp.index];
  for (auto& [lane, own] : clock.lanes) {
    join(clock.others, own.known);
    join(clock.would_be_known, own.would_be_known);
    own.known = own.would_be_known = {};
  }
  if (const auto inside = clock.others.warps.find(warp.cta->linear); inside != clock.others.warps.end()) {
    raise(clock.known, inside->second);
    clock.others.warps.erase(inside);
  }
  clock.known[warp.index] = static_cast<uint32_t>(events_.size());
  clock.others.lanes.erase({warp.cta->linear, warp.index});
  clock.partial.clear();
  set_all(cta, clock);
}

void Clocks::sync_lanes(CtaClocks& cta, const Warp& warp, Mask among) {
  last_ = nullptr;
  if ((warp.live & ~among) == 0) return join_lanes(cta, warp);
  WarpClock& clock = cta.warps[warp.index];
  clock.partial.push_back({static_cast<uint32_t>(events_.size()), among});
  Bounds known, would_be_known;
  for (const auto& [lane, own] : clock.lanes) {
    if ((among >> lane & 1) == 0) continue;
    join(known, own.known);
    join(would_be_known, own.would_be_known);
  }
  if (known.empty() && would_be_known.empty()) return;
  for (Mask left = among; left != 0; left &= left - 1) {
    LaneClock& own = clock.lanes[static_cast<uint32_t>(std::countr_zero(left))];
    own.known = known;
    own.would_be_known = would_be_known;
  }
}

Bounds Clocks::bounds_of(const CtaClocks& cta, const Warp& warp) const {
  const WarpClock& clock = cta.warps[warp.index];
  Bounds bounds = clock.others;
  std::vector<uint32_t>& own = bounds.warps[warp.cta->linear];
  own = clock.known;
  own[warp.index] = static_cast<uint32_t>(events_.size());
  return bounds;
}

Bounds Clocks::bounds_of(const CtaClocks& cta, const Warp& warp, uint32_t lane) const {
  const WarpClock& clock = cta.warps[warp.index];
  Bounds bounds = clock.others;
  bounds.warps[warp.cta->linear] = clock.known;
  // Of each lane the events that were before: its own all, those of others as far as they were in order since.
  std::array<uint32_t, kLanes>& reached = bounds.lanes[{warp.cta->linear, warp.index}];
  reached[lane] = static_cast<uint32_t>(events_.size());
  for (auto partial = clock.partial.rbegin(); partial != clock.partial.rend(); ++partial) {
    bool is_reached = false;
    for (uint32_t l = 0; l < kLanes; ++l) {
      is_reached |= (partial->lanes >> l & 1) != 0 && reached[l] >= partial->event;
    }
    for (uint32_t l = 0; is_reached && l < kLanes; ++l) {
      if ((partial->lanes >> l & 1) != 0) reached[l] = std::max(reached[l], partial->event);
    }
  }
  const auto own = clock.lanes.find(lane);
  if (own != clock.lanes.end()) join(bounds, own->second.known);
  return bounds;
}

void Clocks::arrive(CtaClocks& cta, const Warp& warp, int barrier, Record mine) {
  last_ = nullptr;
  join_lanes(cta, warp);
  const WarpClock& clock = cta.warps[warp.index];
  CtaClocks::Joined& joined = cta.barriers[barrier];
  joined.arrivals.push_back(mine);
  raise(joined.known, clock.known);
  join(joined.others, clock.others);
  join(joined.proxied, clock.proxied);
  join(joined.mapped, clock.mapped);
  join(joined.inits, clock.inits);
  join(joined.would_be_known, clock.would_be_known);
}

void Clocks::leave(CtaClocks& cta, const Warp& warp, int barrier) const {
  WarpClock& clock = cta.warps[warp.index];
  const CtaClocks::Joined& joined = cta.barriers[barrier];
  raise(clock.known, joined.known);
  set_all(cta, clock);
  join(clock.others, joined.others);
  join(clock.would_be_known, joined.would_be_known);
  join(clock.proxied, joined.proxied);
  join(clock.mapped, joined.mapped);
  join(clock.inits, joined.inits);
}

void Clocks::reset(CtaClocks& cta, int barrier) {
  cta.last_uses[barrier] = std::move(cta.barriers[barrier].arrivals);
  cta.barriers[barrier] = {};
}

void Clocks::fence(CtaClocks& cta, const Warp& warp, bool for_all) {
  last_ = nullptr;
  WarpClock& clock = cta.warps[warp.index];
  for (Mask left = warp.mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    LaneClock& own = clock.lanes[lane];
    join(own.known, own.heard_inside);
    own.heard_inside = {};
    if (for_all) {
      join(own.known, own.heard);
      own.heard = {};
    }
    own.fenced_inside = bounds_of(cta, warp, lane);
    if (for_all) own.fenced = own.fenced_inside;
  }
}

Bounds Clocks::bounds_of_lanes(const CtaClocks& cta, const Warp& warp, Mask lanes) const {
  if (lanes != warp.live) {
    Bounds all;
    for (Mask left = lanes; left != 0; left &= left - 1) {
      join(all, bounds_of(cta, warp, static_cast<uint32_t>(std::countr_zero(left))));
    }
    return all;
  }
  Bounds all = bounds_of(cta, warp);
  for (const auto& [lane, own] : cta.warps[warp.index].lanes) join(all, own.known);
  return all;
}

void Clocks::fence_proxy(CtaClocks& cta, const Warp& warp, bool of_shared, bool of_global) const {
  const Bounds all = bounds_of_lanes(cta, warp, warp.mask);
  Proxied& proxied = cta.warps[warp.index].proxied;
  if (of_shared) join(proxied.shared, all);
  if (of_global) join(proxied.global, all);
}

// It is about what the same thread has initialised.
void Clocks::fence_inits(CtaClocks& cta, const Warp& warp) const {
  Bounds own;
  std::array<uint32_t, kLanes>& lanes = own.lanes[{warp.cta->linear, warp.index}];
  for (Mask left = warp.mask; left != 0; left &= left - 1)
    lanes[static_cast<std::size_t>(std::countr_zero(left))] = count();
  join(cta.warps[warp.index].inits, own);
}

void Clocks::fence_maps(CtaClocks& cta, const Warp& warp) const {
  join(cta.warps[warp.index].mapped, bounds_of_lanes(cta, warp, warp.mask));
}

void Clocks::tell(const CtaClocks& cta, const Warp& warp, Mask lanes, Told& to) {
  last_ = nullptr;
  const WarpClock& clock = cta.warps[warp.index];
  join(to.known, bounds_of_lanes(cta, warp, lanes));
  join(to.would_be_known, clock.would_be_known);
  join(to.proxied, clock.proxied);
  join(to.mapped, clock.mapped);
  join(to.inits, clock.inits);
}

void Clocks::hear(CtaClocks& cta, const Warp& warp, Mask lanes, const Told& from) {
  last_ = nullptr;
  WarpClock& clock = cta.warps[warp.index];
  join(clock.would_be_known, from.would_be_known);
  join(clock.proxied, from.proxied);
  join(clock.mapped, from.mapped);
  join(clock.inits, from.inits);
  if (from.known.empty()) return;
  if (lanes != warp.live) {
    for (Mask left = lanes; left != 0; left &= left - 1) {
      join(clock.lanes[static_cast<uint32_t>(std::countr_zero(left))].known, from.known);
    }
    return;
  }
  for (const auto& [other, known] : from.known.warps) {
    if (other == warp.cta->linear) {
      raise(clock.known, known);
    } else {
      raise(clock.others.warps[other], known);
    }
  }
  join(clock.others, Bounds{{}, from.known.lanes});
  set_all(cta, clock);
}

void Clocks::synchronize(CtaClocks& cta, const Warp& warp, uint32_t lane, uint64_t variable, bool acquires,
                         bool releases, bool for_all) {
  last_ = nullptr;
  WarpClock& clock = cta.warps[warp.index];
  Variable& known = variables_[variable];
  Bounds& inside = known.released_inside[warp.cta->linear];
  // Where all lanes do it, what would be known is told of the warp as a whole, which is less to keep.
  const bool is_alone = warp.mask != warp.live;
  join(is_alone ? clock.lanes[lane].would_be_known : clock.would_be_known, known.passed);
  if (!known.released.empty() || !inside.empty()) {
    LaneClock& own = clock.lanes[lane];
    join(acquires && for_all ? own.known : own.heard, known.released);
    join(acquires ? own.known : own.heard_inside, inside);
  }
  const auto own = clock.lanes.find(lane);
  Bounds passed = is_alone ? bounds_of(cta, warp, lane) : bounds_of(cta, warp);
  join(passed, clock.would_be_known);
  if (is_alone) join(passed, own->second.would_be_known);
  join(known.passed, passed);
  if (releases) {
    const Bounds now = bounds_of(cta, warp, lane);
    if (for_all) join(known.released, now);
    join(inside, now);
  } else if (own != clock.lanes.end()) {
    join(known.released, own->second.fenced);
    join(inside, own->second.fenced_inside);
  }
}

}  // namespace tilewright::execute
