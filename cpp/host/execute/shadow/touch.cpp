// Shadow: every access beside those before it.
#include <bit>
#include <cstring>

#include "asked.hpp"
#include "core/error.hpp"
#include "shadow.hpp"

namespace tilewright::execute {

using program::Space;

namespace {

const char* verb_of(Use use) { return is_read(use) ? "reads" : is_atomic(use) ? "changes atomically" : "writes"; }
// Who does it, at an instruction.
const char* agent_of(const Warp& warp, const Instruction& instruction, Use use) {
  if (!is_of_proxy(use)) return "thread ";
  const program::Program& program = *warp.code->program;
  return program.operations[instruction.operation].code == program::Opcode::kWgmma ? "wgmma " : "copy ";
}

}  // namespace

void Shadow::find_race(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                       uint64_t address, const Place& place, uint32_t lane, Record record, bool record_writes) {
  const Event event = clocks_[record];
  Cta& cta = *warp.cta;
  if ((record & kUnderWay) != 0) {
    Finding* finding = cta.count(warp, instruction, FindingKind::kNotLanded, static_cast<int>(lane), event.place);
    if (finding == nullptr) return;
    finding->message =
        concat("the ", agent_of(warp, instruction, use), verb_of(use),
               event.is_wgmma ? " what a wgmma " : " what an asynchronous copy ", record_writes ? "writes" : "reads",
               ", before a wait", event.is_wgmma ? "_group has let it finish" : " has let the copy land");
    finding->other = cta.thread_of(event.cta, event.warp, static_cast<int>(lane_of(record)));
    return tell(*finding, warp, access, address, place.range);
  }
  const bool is_outside = event.cta != cta.linear;
  const bool fence =
      (is_outside || event.warp != warp.index) && clocks_.lacks_a_fence(cta.memory->clocks, warp, lane, record);
  const bool is_heard = fence && clocks_.is_heard(cta.memory->clocks, record);
  const FindingKind kind = fence ? FindingKind::kMissingFence : FindingKind::kRace;
  const int reach = event.is_landing ? 0 : is_outside ? 2 : event.warp != warp.index ? 1 : 0;
  Finding* finding = cta.count(warp, instruction, kind, static_cast<int>(lane), event.place, reach);
  if (finding == nullptr) return;
  const char* behind = is_outside ? "only an atomic is between, and its thread passed no fence for all CTAs behind it"
                                  : "only an atomic is between, and its thread passed no fence behind it";
  const char* before = is_outside ? "only an atomic is between, and no fence for all CTAs was before it"
                                  : "only an atomic is between, and no fence was before it";
  const char* what = event.is_landing                          ? "its mbarrier or group was not waited for"
                     : fence                                   ? (is_heard ? behind : before)
                     : is_outside                              ? "the CTAs are in no order"
                     : event.warp != warp.index                ? "no barrier is between"
                     : event_of(record) + 1 == clocks_.count() ? "in one instruction"
                                                               : "no sync_warp is between";
  finding->message = concat("the ", agent_of(warp, instruction, use), verb_of(use),
                            event.is_landing ? " what a copy " : " what another one ",
                            event.is_atomic                   ? "changes atomically"
                            : record_writes || event.is_store ? "writes"
                                                              : "reads",
                            ", and ", what);
  finding->other = thread_of(cta, event, record);
  tell(*finding, warp, access, address, place.range);
}

// Looks at the records of the granules, and records the access.
void Shadow::touch(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                   uint64_t address, const Place& place, uint32_t lane, uint32_t event, Mask& undefined, Step step,
                   Record same) {
  const CtaClocks& clocks = warp.cta->memory->clocks;
  const Record mine = record_of(event, lane);
  Cells& cells = *place.cells;
  const bool is_shared = place.range == nullptr;
  // In shared memory all records are of this CTA, but where others of its cluster reach it.
  const bool is_own = is_shared && warp.cta->cluster->ctas.size() == 1;
  const Record safe = is_own ? record_of(clocks.warps[warp.index].all, 0) : 0;
  const auto is_open = [&](Record record) {
    if (step == Step::kLook && event_of(record) == event) return false;
    if (step == Step::kRecord && (event_of(record) != event || same != 0)) return false;
    return record >= safe && record != 0 && record != mine &&
           ((record & kUnderWay) != 0 || !clocks_.is_ordered(clocks, warp, lane, record));
  };
  const Asked of_both(clocks_, warp, clocks);
  MoreReads* const more = place.more;
  const auto race = [&](Record record, bool writes) {
    find_race(warp, instruction, access, use, address, place, lane, record, writes);
  };
  // What the generic proxy wrote, and no fence has shown to the other one.
  const auto lacks_proxy_fence = [&](Record record) {
    return is_of_proxy(use) && event_of(record) > 1 && !clocks_[record].is_of_proxy &&
           !clocks.warps[warp.index].proxied.has(clocks_[record], record, is_shared);
  };
  const auto fence = [&](Record record) {
    find_missing_proxy_fence(warp, instruction, access, use, address, place, lane, record);
  };
  for (std::size_t g = place.first; g <= place.last; ++g) {
    if (!is_shared && place.segment->lines[g >> (kLineShift - global_shift_)].write != kSpread) {
      spread(*place.segment, g >> (kLineShift - global_shift_));
    }
    const Record written = cells.write[g], first = cells.read[g], second = cells.other_read[g];
    const bool is_written_open = is_open(written), is_second_open = is_open(second);
    const bool is_second_atomic = clocks_[second].is_atomic;
    // Who uses the old value that the last atomic found has observed the atomics before it.
    const bool is_second_seen = is_second_atomic && !is_written_open && clocks_[written].has_looked;
    if (is_read(use)) {
      if (is_written_open) race(written, true);
      if (is_second_open && !is_second_seen && (is_second_atomic || clocks_[second].is_store)) race(second, true);
      if (written == 0 && is_shared) undefined |= Mask{1} << lane;
      if (!is_written_open && lacks_proxy_fence(written)) fence(written);
      const Record reads = use == Use::kAsyncRead || use == Use::kProxyRead ? mine | kUnderWay : mine;
      if (!is_open(first)) {
        cells.read[g] = reads;
      } else if (!is_second_open || of_both.is_of_one_other(first, second)) {
        cells.other_read[g] = reads;
      } else if (more == warp.cta->memory->more.get()) {
        more->add(g, warp.index, reads);
      }
      continue;
    }
    if (step != Step::kRecord && !is_written_open && lacks_proxy_fence(written)) fence(written);
    const bool both_atomic = is_atomic(use) && clocks_[written].is_atomic;
    if (is_written_open && !both_atomic) race(written, true);
    const bool is_first_open = is_open(first);
    if (is_first_open) race(first, false);
    if (is_second_open && !is_second_seen && !(is_atomic(use) && is_second_atomic)) race(second, false);
    if (more != nullptr && more->has_any) {
      more->each(g, [&](Record record) {
        if (is_open(record)) race(record, false);
      });
    }
    if (step == Step::kLook) continue;
    if (is_atomic(use) && is_shared && written == 0) undefined |= Mask{1} << lane;
    const bool is_under_way = use == Use::kAsyncWrite || use == Use::kProxyWrite || use == Use::kProxyAtomic;
    cells.write[g] = is_under_way ? mine | kUnderWay : mine;
    if (use == Use::kWrite && is_shared && (undefined >> lane & 1) != 0) cells.write[g] = 0;
    // Another atomic in no order with this one does not race with it, but may with what was done before: what was read
    // since it was written, or else what wrote it.
    if (!is_atomic(use) || is_first_open || (is_written_open && !both_atomic)) {
      cells.read[g] = 0;
      if (more != nullptr && more->has_any) more->warps[g] = 0;
    } else if (first == 0 && !both_atomic) {
      cells.read[g] = written;
    }
    // Of atomics in no order two are known: the last one, and the one that is the least related to it.
    const auto distance = [&](Record record) {
      const Event& event = clocks_[record];
      return event.cta != warp.cta->linear ? 2 : event.warp != warp.index ? 1 : 0;
    };
    const bool keeps_second = is_second_open && is_second_atomic;
    const bool keeps_written = is_written_open && !(keeps_second && distance(second) >= distance(written));
    if (!both_atomic) {
      cells.other_read[g] = same;  // both wrote the same, and either may be in no order with who reads it
    } else if (keeps_written) {
      cells.other_read[g] = written;
    } else if (!keeps_second) {
      cells.other_read[g] = 0;
    }
  }
}

// The record of a lane that writes what this one writes, to the same place and in the same instruction: whichever of
// them the hardware lets win, what stands there is that. None: 0. Vectors are aligned, so that lanes which meet write
// the same element of theirs.
Record Shadow::same_write(const AccessCode& access, const uint64_t* addresses, const Place& place, uint32_t lane,
                          uint32_t event, const void* written) {
  const Record record = place.cells->write[place.first];
  const uint32_t other = lane_of(record);
  if ((record & kUnderWay) != 0 || event_of(record) != event || other == lane) return 0;
  const auto* values = static_cast<const uint8_t*>(written);
  const auto value = [&](uint32_t l) { return values + std::size_t{l} * access.bytes; };
  return addresses[other] == addresses[lane] && std::memcmp(value(other), value(lane), access.bytes) == 0 ? record : 0;
}

Mask Shadow::look(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                  const uint64_t* addresses, Mask mask, Mask& undefined, const void* written) {
  if (clocks_.is_full()) make_room();
  const uint32_t bytes = access.is_half ? 1 : access.bytes;
  const uint32_t event = access.space == Space::kRegister ? 0 : clocks_.event(warp, instruction, use == Use::kAtomic);
  if (use != Use::kWrite) undefined = 0;
  if (use == Use::kAtomic && warp.code->memory[instruction.side].is_result_used) clocks_.note_looked(event);
  changes_ += use == Use::kWrite && access.space != Space::kRegister;
  if (written != nullptr && access.space != Space::kRegister) clocks_.note_store(event);
  Mask admitted = mask;
  mask &= ~touch_row(warp, access, use, addresses, mask, event, undefined);
  // All lanes look at what was there before the first of them is recorded: what it did itself before is in order with
  // it alone.
  const bool are_compared = written != nullptr && !access.is_half;
  std::optional<std::pair<Place, uint64_t>> places[kLanes];
  for (Mask left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    uint64_t address = access.is_half ? addresses[lane] >> 1 : addresses[lane];
    Space space = access.space;
    if (space == Space::kGeneric) {
      const uint64_t window = address & kWindowMask;
      space = window == kSharedWindow ? Space::kShared : window == kFrameWindow ? Space::kRegister : Space::kGlobal;
      if (space != Space::kGlobal) address &= ~kWindowMask;
    }
    const Cta* of = warp.cta;
    if (access.space == Space::kGeneric && space == Space::kShared && (address & kRemoteMask) != 0) {
      of = remote(warp, instruction, address, lane);
      if (of == nullptr) {
        admitted &= ~(Mask{1} << lane);
        continue;
      }
      address &= ~kRemoteMask;
    }
    bool is_right = is_aligned(warp, instruction, access, address, bytes, lane);
    if (is_right && space == Space::kRegister) {
      is_right = frame_place(const_cast<Warp&>(warp), instruction, access, use, address, bytes, lane, undefined);
    } else if (is_right) {
      const std::optional<Place> place = space == Space::kShared
                                             ? shared_place(warp, instruction, access, *of, address, bytes, lane)
                                             : global_place(warp, instruction, access, use, address, bytes, lane);
      is_right = place.has_value();
      if (is_right && place->cells != nullptr) {
        touch(warp, instruction, access, use, address, *place, lane, event, undefined,
              are_compared ? Step::kLook : Step::kAll);
        if (are_compared) places[lane] = {*place, address};
      }
      if (is_right && space == Space::kGlobal && use == Use::kWrite && (undefined >> lane & 1) != 0) {
        find_undefined(warp, instruction, Mask{1} << lane, origin(warp, instruction.a, access.bytes, 0),
                       "stored to global memory");
      }
    }
    if (!is_right) admitted &= ~(Mask{1} << lane);
  }
  for (uint32_t lane = 0; are_compared && mask != 0 && lane < kLanes; ++lane) {
    if (!places[lane]) continue;
    const auto& [place, address] = *places[lane];
    const Record same = same_write(access, addresses, place, lane, event, written);
    touch(warp, instruction, access, use, address, place, lane, event, undefined, Step::kRecord, same);
  }
  return admitted;
}

}  // namespace tilewright::execute
