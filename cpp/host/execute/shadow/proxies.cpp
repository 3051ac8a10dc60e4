// Shadow: copies in bulk, which belong to the asynchronous proxy, and what a CTA has to know before it ends.
#include <algorithm>
#include <bit>

#include "core/error.hpp"
#include "shadow.hpp"

namespace tilewright::execute {

using program::Space;

Thread Shadow::thread_of(const Cta& cta, const Event& event, Record record) {
  const auto lane = static_cast<int>(lane_of(record));
  return event.is_landing ? cta.thread_of(event.first, event.issuer, lane) : cta.thread_of(event.cta, event.warp, lane);
}

void Shadow::find_missing_proxy_fence(const Warp& warp, const Instruction& instruction, const AccessCode& access,
                                      Use use, uint64_t address, const Place& place, uint32_t lane, Record record) {
  const Event& event = clocks_[record];
  Finding* finding =
      warp.cta->count(warp, instruction, FindingKind::kMissingFence, static_cast<int>(lane), event.place);
  if (finding == nullptr) return;
  const bool is_shared = place.range == nullptr;
  finding->message = concat("the asynchronous proxy ", is_read(use) ? "reads" : "writes",
                            " what a thread wrote, and no fence shows it that; the writer calls fence_proxy(",
                            is_shared ? "\"async.shared\", space=\"cta\"" : "\"async.global\"",
                            ") before the barrier that is between");
  finding->other = thread_of(*warp.cta, event, record);
  tell(*finding, warp, access, address, place.range);
}

bool Shadow::touch_bytes(const Warp& warp, const Instruction& instruction, const AccessCode& access, const Cta* of,
                         Use use, uint64_t address, uint32_t bytes, uint32_t lane, uint32_t event) {
  const std::optional<Place> place = of != nullptr ? shared_place(warp, instruction, access, *of, address, bytes, lane)
                                                   : global_place(warp, instruction, access, use, address, bytes, lane);
  if (!place) return false;
  if (place->cells == nullptr) return true;
  Mask undefined = 0;
  touch(warp, instruction, access, use, address, *place, lane, event, undefined);
  if (undefined != 0) find_undefined(warp, instruction, undefined, 0, "copied by the asynchronous proxy");
  return true;
}

bool Shadow::look_at_bulk(BulkCopy& copy, const Cta* of, const AccessCode& barrier) {
  const Warp& warp = *copy.warp;
  const Instruction& i = *copy.instruction;
  const bool is_load = !copy.targets.empty() || of != nullptr;
  if (clocks_.is_full()) make_room();
  copy.event = clocks_.event(warp, i, false);
  AccessCode global = *copy.access;
  global.space = Space::kGlobal;
  global.parameter = -1;
  global.name.clear();
  bool is_right = true;
  copy.added = copy.event;
  if (is_load && of != nullptr) {
    // The mbarrier was made by the generic proxy.
    const Record init = of->memory->mbarriers[copy.barrier].init;
    const WarpClock& clock = warp.cta->memory->clocks.warps[warp.index];
    const Event& event = clocks_[init];
    if (event_of(init) > 1 && !clock.inits.has(event, init) && !clock.proxied.shared.has(event, init)) {
      Finding* finding = warp.cta->count(warp, i, FindingKind::kMissingFence, static_cast<int>(copy.lane), event.place);
      if (finding != nullptr) {
        finding->message =
            of == warp.cta
                ? "the copy counts its bytes at an mbarrier that no fence has shown to it: whoever makes the mbarrier "
                  "calls mbarrier_init_fence() before the barrier that follows"
                : "the copy counts its bytes at an mbarrier of another CTA that is not known to be made: after "
                  "mbarrier_init_fence() all CTAs of the cluster call cluster_arrive() and cluster_wait(), since "
                  "sync_threads() orders one CTA alone";
        finding->other = thread_of(*warp.cta, event, init);
        finding->tensor = barrier.name;
      }
    }
    for (const BulkPiece& piece : copy.pieces) {
      is_right =
          touch_bytes(warp, i, *copy.access, of, Use::kProxyWrite, piece.shared, piece.bytes, copy.lane, copy.event) &&
          is_right;
    }
    return is_right;
  }
  for (const BulkPiece& piece : copy.pieces) {
    is_right = (is_load || touch_bytes(warp, i, *copy.access, warp.cta, Use::kProxyRead, piece.shared, piece.bytes,
                                       copy.lane, copy.event)) &&
               is_right;
  }
  // Reductions of one place are in any order, but not with what else is done there.
  const bool is_reduction = !is_load && !warp.code->memory[i.side].text.empty();
  if (is_reduction) copy.added = clocks_.another(warp, i, true);
  const Use use = is_load ? Use::kProxyRead : is_reduction ? Use::kProxyAtomic : Use::kProxyWrite;
  for (BulkPiece& piece : copy.pieces) {
    if (piece.global == 0) continue;
    if (touch_bytes(warp, i, global, nullptr, use, piece.global, piece.bytes, copy.lane, copy.added)) continue;
    is_right = false;
    piece.global = 0;
  }
  return is_right;
}

bool Shadow::touch_map(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                       uint64_t address, uint32_t lane) {
  if (clocks_.is_full()) make_room();
  const uint32_t event = clocks_.event(warp, instruction, false);
  const bool is_shared = (address & kSharedWindow) != 0;
  AccessCode here = access;
  here.space = is_shared ? Space::kShared : Space::kGlobal;
  address &= ~kSharedWindow;
  const MemoryRange* range = is_shared ? nullptr : range_of(here, address);
  if ((address - (range == nullptr ? 0 : range->address)) % kMapBytes != 0 && (is_shared || range != nullptr)) {
    Finding* finding = warp.cta->report(warp, instruction, FindingKind::kMisaligned, static_cast<int>(lane),
                                        "a tensor map begins at a multiple of 128 bytes");
    if (finding != nullptr) tell(*finding, warp, here, address, range);
  }
  return touch_bytes(warp, instruction, here, is_shared ? warp.cta : nullptr, use, address, kMapBytes, lane, event);
}

bool Shadow::look_at_map(const Warp& warp, const Instruction& instruction, const AccessCode& access, uint64_t address,
                         uint32_t lane) {
  if (!touch_map(warp, instruction, access, Use::kRead, address, lane)) return false;
  if (launch_.memory.empty()) return true;
  const Segment& segment = segment_of(address);
  const WarpClock& clock = warp.cta->memory->clocks.warps[warp.index];
  const auto acquired = clock.acquired.find(address);
  const uint64_t first = address - segment.first;
  for (std::size_t g = first >> global_shift_; g <= (first + kMapBytes - 1) >> global_shift_; ++g) {
    const Record record = segment.cells->write[g];
    if (event_of(record) <= 1) continue;
    const Event& event = clocks_[record];
    if (acquired != clock.acquired.end() && acquired->second.has(event, record)) continue;
    Finding* finding =
        warp.cta->count(warp, instruction, FindingKind::kMissingFence, static_cast<int>(lane), event.place);
    if (finding == nullptr) return true;
    finding->message =
        clock.mapped.has(event, record)
            ? "the tensor map was changed, and this warp has not acquired it since: fence_tma_desc_acquire(pointer)"
            : "the tensor map was changed, and no fence releases that: whoever changes it calls "
              "fence_tma_desc_release(), and whoever copies by it fence_tma_desc_acquire(pointer)";
    finding->other = thread_of(*warp.cta, event, record);
    AccessCode here = access;
    here.space = Space::kGlobal;
    tell(*finding, warp, here, address, range_of(here, address));
    return true;
  }
  return true;
}

void Shadow::acquire_map(Warp& warp, uint64_t address) {
  WarpClock& clock = warp.cta->memory->clocks.warps[warp.index];
  clock.acquired[address] = clock.mapped;
}

bool Shadow::read_by_proxy(const Warp& warp, const Instruction& instruction, const AccessCode& access, uint64_t address,
                           uint32_t bytes, uint32_t lane) {
  if (clocks_.is_full()) make_room();
  const uint32_t event = clocks_.event(warp, instruction, false);
  return touch_bytes(warp, instruction, access, warp.cta, Use::kProxyRead, address, bytes, lane, event);
}

// f(record of a write or read) of all that the copy touches in shared memory, or without it in global memory.
template <class F>
void Shadow::each_cell(const BulkCopy& copy, CtaMemory* of, F&& f) {
  Cells* const shared = of != nullptr ? of->shared.get() : nullptr;
  for (const BulkPiece& piece : copy.pieces) {
    if (shared == nullptr && (piece.global == 0 || launch_.memory.empty())) continue;
    const Segment* segment = shared == nullptr ? &segment_of(piece.global) : nullptr;
    Cells& cells = shared != nullptr ? *shared : *segment->cells;
    const uint64_t first = shared != nullptr ? piece.shared : piece.global - segment->first;
    const uint32_t shift = shared != nullptr ? shared_shift_ : global_shift_;
    for (std::size_t g = first >> shift; g <= (first + piece.bytes - 1) >> shift; ++g) {
      f(cells.write[g]);
      f(cells.read[g]);
      f(cells.other_read[g]);
      if (of != nullptr) of->more->each(g, f);
    }
  }
}

// Who brings what an mbarrier tells of, as a warp behind those of the CTA.
uint16_t Shadow::bringer_of(const Cta& cta, uint32_t barrier) {
  const auto next = static_cast<uint16_t>(cta.warps.size() + cta.memory->agents.size());
  return cta.memory->agents.try_emplace(barrier, next).first->second;
}

void Shadow::tell_of_landing(CtaMemory::Phases& told, uint64_t cta, uint16_t agent, uint32_t event) {
  std::vector<uint32_t>& known = told.arriving.known.warps[cta];
  if (known.size() <= agent) known.resize(agent + std::size_t{1});
  known[agent] = event + 1;
}

void Shadow::land_load(const BulkCopy& copy, Cta& to) {
  CtaMemory& memory = *to.memory;
  const uint16_t agent = bringer_of(to, copy.barrier);
  if (clocks_.is_full()) make_room();
  const uint32_t event = clocks_.landing(&memory.clocks, to.linear, agent, *copy.warp, copy.instruction->place, true);
  const Record before = record_of(copy.event, copy.lane) | kUnderWay, after = record_of(event, copy.lane);
  const auto land = [&](Record& record) {
    if (record == before) record = after;
  };
  each_cell(copy, &memory, land);
  each_cell(copy, nullptr, land);
  tell_of_landing(memory.mbarriers[copy.barrier], to.linear, agent, event);
  memory.visits.push_back({after, copy.instruction, copy.warp});
}

void Shadow::land_store(const BulkCopy& copy, const Instruction& wait, bool is_read) {
  const Warp& warp = *copy.warp;
  if (clocks_.is_full()) make_room();
  const uint32_t event = clocks_.landing(nullptr, warp.cta->linear, static_cast<uint16_t>(warp.index), warp,
                                         copy.instruction->place, true);
  if (copy.added != copy.event && !is_read) clocks_.note_atomic(event);
  const Record before = record_of(is_read ? copy.event : copy.added, copy.lane) | kUnderWay;
  const Record after = record_of(event, copy.lane);
  (void)wait;
  each_cell(copy, is_read ? warp.cta->memory.get() : nullptr, [&](Record& record) {
    if (record == before) record = after;
  });
}

void Shadow::note_visit(const Warp& warp, const Instruction& instruction, Cta& to, uint32_t lane) {
  const uint32_t event = clocks_.event(warp, instruction, true);
  to.memory->visits.push_back({record_of(event, lane), &instruction, &warp});
}

const Cta* Shadow::remote(const Warp& warp, const Instruction& instruction, uint64_t address, uint32_t lane) {
  Cta* const there = cta_of(warp, address);
  if (there == nullptr) {
    warp.cta->report(warp, instruction, FindingKind::kOutOfBounds, static_cast<int>(lane), [&] {
      return concat("there is no CTA ", (address >> kRemoteShift) - 1, " in the cluster, which has ",
                    warp.cta->cluster->ctas.size());
    });
    return nullptr;
  }
  if (there == warp.cta) return there;
  if (there->has_ended) {
    find_early_exit(warp, instruction, *there, lane);
    return nullptr;
  }
  // All warps of the cluster pass its barrier for the first time after all have begun.
  const bool have_begun = warp.cta->cluster->generation != 0;
  if (!have_begun && !Clocks::knows_of(warp.cta->memory->clocks, warp, lane, there->linear)) {
    Finding* finding = warp.cta->report(warp, instruction, FindingKind::kRace, static_cast<int>(lane), [&] {
      return concat("CTA (", there->index[0], ",", there->index[1], ",", there->index[2],
                    ") may not have begun by then, and its shared memory is not there before: all CTAs of the cluster "
                    "call cluster_arrive() and cluster_wait() first");
    });
    if (finding != nullptr) finding->other = there->thread_of(there->linear, 0, 0);
  }
  note_visit(warp, instruction, *there, lane);
  return there;
}

void Shadow::look_at_visits(Cta& cta) {
  const CtaClocks& clocks = cta.memory->clocks;
  const auto is_known = [&](Record record) {
    const Event& event = clocks_[record];
    return std::any_of(cta.warps.begin(), cta.warps.end(), [&](const Warp& warp) {
      if (clocks_.is_before(clocks, warp, event_of(record))) return true;
      const WarpClock& clock = clocks.warps[warp.index];
      return clock.others.has(event, record) ||
             std::any_of(clock.lanes.begin(), clock.lanes.end(),
                         [&](const auto& own) { return own.second.known.has(event, record); });
    });
  };
  for (const CtaMemory::Visit& visit : cta.memory->visits) {
    if (is_known(visit.record)) continue;
    find_early_exit(*visit.warp, *visit.instruction, cta, lane_of(visit.record));
  }
}

void Shadow::find_early_exit(const Warp& warp, const Instruction& instruction, const Cta& gone, uint32_t lane) {
  Finding* finding = warp.cta->report(warp, instruction, FindingKind::kEarlyExit, static_cast<int>(lane), [&] {
    return concat("CTA (", gone.index[0], ",", gone.index[1], ",", gone.index[2],
                  ") may have come to its end by then, and its shared memory is no more; it has to wait for this: for "
                  "the mbarrier's phase, or for the cluster before it ends");
  });
  if (finding != nullptr) finding->other = gone.thread_of(gone.linear, 0, 0);
}

}  // namespace tilewright::execute
