// Shadow: what a wgmma reads of shared memory, and the registers that it owns until a wait has let it finish.
#include <algorithm>
#include <bit>

#include "core/error.hpp"
#include "host/execute/lanes/address.hpp"
#include "shadow.hpp"

namespace tilewright::execute {

namespace {

constexpr uint32_t kPiece = 16;  // bytes

// f(element, granule) for all granules of a fragment.
template <class F>
void each_granule(const AccessCode& access, uint64_t start, uint32_t shift, F&& f) {
  for (uint32_t e = 0; e < access.count; ++e) {
    const uint64_t first = (start + static_cast<uint64_t>(access.offsets[e])) >> shift;
    for (uint64_t g = first; g < first + std::max(access.bytes >> shift, 1u); ++g) f(e, g);
  }
}

uint64_t begin_of(const Warp& warp, const AccessCode& access) { return warp.at<uint64_t>(access.pointer)[0]; }

uint32_t place_now(const Warp& warp) { return warp.code->instructions[warp.pc - 1].place; }

CtaMemory::OfWarp& known_of(const Warp& warp) { return warp.cta->memory->warps[warp.index]; }

}  // namespace

std::vector<bool> Shadow::look_at_operand(const Warp& warp, const Instruction& instruction, const AccessCode& access,
                                          const std::vector<uint64_t>& pieces) {
  AccessCode piece;
  piece.space = program::Space::kShared;
  piece.scalar = access.scalar;
  piece.bytes = kPiece;
  piece.name = access.name;
  piece.allocation = access.allocation;
  std::vector<bool> never_written(pieces.size());
  uint64_t addresses[kLanes] = {};
  for (std::size_t first = 0; first < pieces.size(); first += kLanes) {
    const std::size_t count = std::min<std::size_t>(kLanes, pieces.size() - first);
    std::copy_n(pieces.begin() + static_cast<std::ptrdiff_t>(first), count, addresses);
    Mask undefined = 0;
    const Mask mask = kAllLanes >> (kLanes - count);
    look(warp, instruction, piece, Use::kProxyRead, addresses, mask, undefined);
    for (Mask left = undefined; left != 0; left &= left - 1) {
      never_written[first + static_cast<std::size_t>(std::countr_zero(left))] = true;
    }
  }
  clocks_.set_wgmma(event(warp, instruction));
  return never_written;
}

void Shadow::finish(const Warp& warp, const PendingWgmma& done, const std::vector<uint64_t>& pieces) {
  const uint32_t now = event(warp, *done.instruction);
  Cells& cells = *warp.cta->memory->shared;
  const auto land_in = [&](Record& record) {
    if ((record & kUnderWay) != 0 && event_of(record) == done.event) record = record_of(now, lane_of(record));
  };
  for (const uint64_t address : pieces) {
    if (address + kPiece > static_cast<uint64_t>(launch_.shared_bytes)) continue;
    for (std::size_t g = address >> shared_shift_; g <= (address + kPiece - 1) >> shared_shift_; ++g) {
      land_in(cells.read[g]);
      land_in(cells.other_read[g]);
      warp.cta->memory->more->each(g, land_in);
    }
  }
}

void Shadow::own(const Warp& warp, const Instruction& instruction, const AccessCode& access,
                 std::vector<Mask>& undefined) {
  CtaMemory::OfWarp& known = known_of(warp);
  undefined.assign(access.count, 0);
  uint32_t touched = 0;
  bool has_touched = false;
  each_granule(access, begin_of(warp, access), warp.shadow->frame_shift_, [&](uint32_t e, uint64_t g) {
    undefined[e] |= warp.mask & ~known.written[g];
    if (known.owner[g] == 0 && known.touched[g] != 0) {
      touched = known.touched[g];
      has_touched = true;
    }
    known.owner[g] = instruction.place;
  });
  if (known.has_fenced && !has_touched) return;
  Finding* finding = warp.cta->count(warp, instruction, FindingKind::kMissingFence, 0, touched);
  if (finding == nullptr) return;
  finding->message = has_touched ? "a wgmma uses registers that were touched since the last warpgroup.fence()"
                                 : "the first wgmma of a kernel comes after a warpgroup.fence()";
  finding->space = "rmem";
  finding->tensor = access.name;
}

void Shadow::define(const Warp& warp, const AccessCode& access, const std::vector<Mask>& undefined) {
  Mask* written = known_of(warp).written.data();
  each_granule(access, begin_of(warp, access), warp.shadow->frame_shift_,
               [&](uint32_t e, uint64_t g) { written[g] = (written[g] | warp.mask) & ~(undefined[e] & warp.mask); });
}

void Shadow::set_owner(const Warp& warp, const AccessCode& access, uint64_t begin, uint32_t place) {
  CtaMemory::OfWarp& known = known_of(warp);
  each_granule(access, begin, warp.shadow->frame_shift_, [&](uint32_t, uint64_t g) { known.owner[g] = place; });
}

void Shadow::fence_registers(const Warp& warp) {
  CtaMemory::OfWarp& known = known_of(warp);
  std::fill(known.touched.begin(), known.touched.end(), 0);
  known.has_fenced = true;
}

bool Shadow::touch_registers(const Warp& warp, const AccessCode& access, uint32_t first, uint32_t elements) {
  CtaMemory::OfWarp& known = known_of(warp);
  if (known.owner.empty()) return true;
  const uint32_t shift = warp.shadow->frame_shift_, place = place_now(warp);
  const uint64_t start = warp.at<uint64_t>(access.pointer)[0];
  bool is_free = true;
  for (uint32_t e = first; e < first + elements; ++e) {
    const uint64_t begin = (start + static_cast<uint64_t>(access.offsets[e])) >> shift;
    for (uint64_t g = begin; g < begin + std::max(access.bytes >> shift, 1u); ++g) {
      is_free = is_free && known.owner[g] == 0;
      known.touched[g] = place;
    }
  }
  return is_free;
}

void Shadow::touch_register(const Warp& warp, const Instruction& instruction, Use use, uint64_t granule,
                            uint32_t lane) {
  CtaMemory::OfWarp& known = known_of(warp);
  known.touched[granule] = instruction.place;
  const uint32_t owner = known.owner[granule];
  if (owner == 0) return;
  Finding* finding = warp.cta->count(warp, instruction, FindingKind::kNotLanded, static_cast<int>(lane), owner);
  if (finding == nullptr) return;
  finding->message = concat("the thread ", is_read(use) ? "reads" : "writes",
                            " registers of a wgmma, before a wait_group has let it finish");
  finding->space = "rmem";
}

}  // namespace tilewright::execute
