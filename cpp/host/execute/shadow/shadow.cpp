#include "shadow.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "core/error.hpp"
#include "host/execute/lanes/address.hpp"

namespace tilewright::execute {

using program::Space;

namespace {

constexpr Record kLongAgo = record_of(1, 0);

uint32_t shift_of(uint32_t granule) { return static_cast<uint32_t>(std::countr_zero(granule)); }

// The name of a parameter, or what it is a part of: `a` of `a.shape[0]`.
bool is_part_of(const std::string& parameter, const std::string& name) {
  return parameter.compare(0, name.size(), name) == 0 &&
         (parameter.size() == name.size() || parameter[name.size()] == '.' || parameter[name.size()] == '[');
}

}  // namespace

void Cells::clear() {
  for (Zeros<Record>* each : {&write, &read, &other_read}) std::memset(each->get(), 0, count * sizeof(Record));
}

Shadow::Shadow(const Launch& launch)
    : launch_(launch),
      clocks_(launch.events),
      shared_shift_(shift_of(launch.code->shared_granule)),
      global_shift_(shift_of(launch.code->global_granule)),
      frame_shift_(shift_of(launch.code->frame_granule)) {
  std::vector<const MemoryRange*> sorted;
  for (const MemoryRange& range : launch.memory) sorted.push_back(&range);
  std::sort(sorted.begin(), sorted.end(),
            [](const MemoryRange* a, const MemoryRange* b) { return a->address < b->address; });
  const uint64_t granule = uint64_t{1} << global_shift_;
  for (const MemoryRange* range : sorted) {
    const uint64_t first = range->address & ~(granule - 1);
    const uint64_t last = (range->address + range->bytes + granule - 1) & ~(granule - 1);
    if (!segments_.empty() && first < segments_.back().last) {
      segments_.back().last = std::max(segments_.back().last, last);
    } else {
      segments_.push_back({first, last, nullptr, nullptr});
    }
  }
  for (Segment& segment : segments_) {
    segment.cells = std::make_unique<Cells>((segment.last - segment.first) >> global_shift_);
    segment.lines = zeros<Line>(segment.count_lines());
  }
  const program::Function& function = *launch.code->function;
  const std::vector<program::ValueId>& parameters = launch.code->program->blocks[function.body].parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const MemoryRange* best = nullptr;
    if (launch.code->program->type(parameters[i]).is_pointer()) {
      const std::string name = i < function.parameters.size() ? function.parameters[i] : std::string();
      for (const MemoryRange& range : launch.memory) {
        if (!contains(range, launch.arguments[i], 0)) continue;
        if (best == nullptr || (!range.name.empty() && is_part_of(name, range.name))) best = &range;
      }
    }
    parameters_.push_back(best);
    parameter_segments_.push_back(best == nullptr ? nullptr : &segment_of(best->address));
  }
}

void Shadow::begin(Cta& cta) {
  const Code& code = *cta.code;
  cta.has_waited = false;
  if (cta.memory == nullptr) {
    cta.memory = std::make_shared<CtaMemory>();
    ctas_.push_back(cta.memory);
    const auto bytes = static_cast<std::size_t>(launch_.shared_bytes);
    cta.memory->shared = std::make_unique<Cells>((bytes >> shared_shift_) + 1);
    cta.memory->more = std::make_unique<MoreReads>(cta.memory->shared->count);
    cta.memory->warps.resize(cta.warps.size());
    for (CtaMemory::OfWarp& warp : cta.memory->warps) {
      warp.written.resize((code.frame_bytes >> frame_shift_) + 1);
      warp.origin.resize(warp.written.size());
      warp.undefined.resize(code.register_bytes / 32 + 1);
      warp.undefined_at.resize(warp.undefined.size());
      if (!code.has_wgmma) continue;
      warp.owner.resize(warp.written.size());
      warp.touched.resize(warp.written.size());
    }
  } else {
    cta.memory->shared->clear();
    cta.memory->more->clear();
  }
  for (CtaMemory::OfWarp& warp : cta.memory->warps) {
    std::fill(warp.written.begin(), warp.written.end(), 0);
    std::fill(warp.origin.begin(), warp.origin.end(), 0);
    std::fill(warp.undefined.begin(), warp.undefined.end(), 0);
    std::fill(warp.owner.begin(), warp.owner.end(), 0);
    std::fill(warp.touched.begin(), warp.touched.end(), 0);
    warp.has_fenced = false;
  }
  cta.memory->mbarriers.clear();
  cta.memory->cluster = {};
  cta.memory->agents.clear();
  cta.memory->visits.clear();
  for (Warp& warp : cta.warps) warp.has_undefined = false;
  clocks_.begin(cta.memory->clocks, cta.warps.size());
  if (clocks_.is_full()) make_room();
}

// Too many events to be told apart: what happened so far counts as long ago.
void Shadow::make_room() {
  const auto forget = [](Cells& cells, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      if (cells.write[i] != 0) cells.write[i] = kLongAgo;
      cells.read[i] = cells.other_read[i] = 0;
    }
  };
  const std::size_t granules = std::size_t{1} << (kLineShift - global_shift_);
  for (Segment& segment : segments_) {
    for (std::size_t i = 0; i < segment.count_lines(); ++i) {
      Line& line = segment.lines[i];
      if (line.write == kSpread) {
        forget(*segment.cells, i * granules, std::min((i + 1) * granules, segment.cells->count));
      } else if (line.write != 0 || line.read != 0) {
        line = Line{line.write == 0 ? 0 : kLongAgo, 0, 0};
      }
    }
  }
  clocks_.clear();
  for (const std::shared_ptr<CtaMemory>& memory : ctas_) {
    forget(*memory->shared, 0, memory->shared->count);
    memory->more->clear();
    clocks_.begin(memory->clocks, memory->warps.size());
    memory->mbarriers.clear();
    memory->cluster = {};
    memory->visits.clear();
  }
}

const MemoryRange* Shadow::range_of(const AccessCode& access, uint64_t address) const {
  if (access.parameter >= 0) {
    if (const MemoryRange* range = parameters_[static_cast<std::size_t>(access.parameter)]; range != nullptr) {
      return range;
    }
  }
  for (const MemoryRange& range : launch_.memory) {
    if (contains(range, address, 1)) return &range;
  }
  return nullptr;
}

// Where the address is, which lies in one.
const Shadow::Segment& Shadow::segment_of(uint64_t address) const {
  const auto after = std::upper_bound(segments_.begin(), segments_.end(), address,
                                      [](uint64_t at, const Segment& each) { return at < each.first; });
  return *(after - 1);
}

// The address of a finding, and the tensor's coordinate there.
void Shadow::tell(Finding& finding, const Warp& warp, const AccessCode& access, uint64_t address,
                  const MemoryRange* range) {
  Space space = access.space;
  if (space == Space::kGeneric) {
    const uint64_t window = address & kWindowMask;
    space = window == kSharedWindow ? Space::kShared : window == kFrameWindow ? Space::kRegister : Space::kGlobal;
    address &= ~kWindowMask;
    if (space == Space::kShared) address &= ~kRemoteMask;
  }
  finding.space = text_of(space);
  finding.has_address = true;
  finding.address = address;
  finding.tensor = range != nullptr ? range->name : access.name;
  (void)warp;
  if (range == nullptr || range->shape.empty() || range->shape.size() != range->stride.size()) return;
  // Modes with the longest strides first; what is left must be nothing.
  int64_t rest = static_cast<int64_t>(address - range->origin) * 8 / static_cast<int64_t>(range->bits);
  std::vector<std::size_t> order(range->shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(range->stride[a]) > std::abs(range->stride[b]);
  });
  std::vector<int64_t> coordinate(range->shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int64_t stride = range->stride[order[i]];
    if (stride == 0) continue;
    int64_t at = rest / stride;
    // Out of bounds: told by the coordinate that is too large, of the slowest mode.
    if (i != 0) at = std::clamp<int64_t>(at, 0, std::max<int64_t>(0, range->shape[order[i]] - 1));
    coordinate[order[i]] = at;
    rest -= at * stride;
  }
  if (rest == 0) finding.coordinate = std::move(coordinate);
}

bool Shadow::is_aligned(const Warp& warp, const Instruction& instruction, const AccessCode& access, uint64_t address,
                        int64_t bytes, uint32_t lane) {
  if (bytes <= 1 || (address & static_cast<uint64_t>(bytes - 1)) == 0) return true;
  Finding* finding = warp.cta->report(warp, instruction, FindingKind::kMisaligned, static_cast<int>(lane), [&] {
    return concat("an access of ", counted(bytes, "byte"), " is not aligned to them");
  });
  if (finding != nullptr) {
    const bool global = access.space == Space::kGlobal || access.space == Space::kGeneric;
    tell(*finding, warp, access, address, global ? range_of(access, address) : nullptr);
  }
  return false;
}

// The bytes of shared memory that an access may touch, by the allocation that its pointer comes from.
std::pair<uint64_t, uint64_t> Shadow::shared_bounds(const Warp& warp, const AccessCode& access) const {
  if (access.allocation < 0 || access.space != Space::kShared) return {0, launch_.shared_bytes};
  const Allocation& allocation = warp.code->allocations[static_cast<std::size_t>(access.allocation)];
  return {allocation.offset, uint64_t{allocation.offset} + allocation.bytes};
}

std::optional<Shadow::Place> Shadow::shared_place(const Warp& warp, const Instruction& instruction,
                                                  const AccessCode& access, const Cta& of, uint64_t address,
                                                  uint32_t bytes, uint32_t lane) {
  const auto [first, end] = shared_bounds(warp, access);
  if (address < first || address > end || end - address < bytes) {
    Finding* finding = warp.cta->report(warp, instruction, FindingKind::kOutOfBounds, static_cast<int>(lane), [&] {
      const bool is_part = access.allocation >= 0 && access.space == Space::kShared;
      return concat("byte ", static_cast<int64_t>(address - first),
                    is_part ? " of an allocation of " : " of shared memory of ",
                    counted(static_cast<int64_t>(end - first), "byte"), is_part ? " of shared memory" : "");
    });
    if (finding != nullptr) {
      AccessCode here = access;
      here.space = Space::kShared;
      tell(*finding, warp, here, address, nullptr);
    }
    return std::nullopt;
  }
  Place place;
  place.cells = of.memory->shared.get();
  place.first = address >> shared_shift_;
  place.last = (address + bytes - 1) >> shared_shift_;
  place.more = of.memory->more.get();
  return place;
}

std::optional<Shadow::Place> Shadow::global_place(const Warp& warp, const Instruction& instruction,
                                                  const AccessCode& access, Use use, uint64_t address, uint32_t bytes,
                                                  uint32_t lane) {
  Place place;
  if (launch_.memory.empty()) return place;  // nothing is known about memory
  place.range = range_of(access, address);
  const bool is_inside = place.range != nullptr && contains(*place.range, address, bytes);
  const bool is_allowed = is_inside && (is_read(use) || place.range->is_writable);
  if (!is_allowed) {
    const FindingKind kind = is_inside ? FindingKind::kReadOnly : FindingKind::kOutOfBounds;
    Finding* finding = warp.cta->report(warp, instruction, kind, static_cast<int>(lane), [&] {
      if (is_inside) return concat("the memory of ", place.range->name, " may not be written");
      if (place.range == nullptr) {
        return std::string(
            "the address is in the memory of no argument; on_cpu(memory=[..]) names tensors that are reached by "
            "addresses");
      }
      const auto offset = static_cast<int64_t>(address - place.range->address);
      return concat(is_read(use) ? "reads" : "writes", " byte ", offset, " of ", place.range->name, ", which has ",
                    counted(static_cast<int64_t>(place.range->bytes), "byte"));
    });
    if (finding != nullptr) tell(*finding, warp, access, address, place.range);
    return std::nullopt;
  }
  if (is_early(warp) && find_early(warp, instruction, access, use, address, bytes, lane, place.range)) {
    return std::nullopt;
  }
  const Segment& segment = segment_of(address);
  place.segment = &segment;
  place.cells = segment.cells.get();
  place.first = (address - segment.first) >> global_shift_;
  place.last = (address + bytes - 1 - segment.first) >> global_shift_;
  return place;
}

// ---- the launch before ----

// Whether the launch before touches the same, and one of both writes.
bool Shadow::find_early(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                        uint64_t address, uint32_t bytes, uint32_t lane, const MemoryRange* range) {
  auto each = std::upper_bound(launch_.before.begin(), launch_.before.end(), address,
                               [](uint64_t at, const Touched& touched) { return at < touched.last; });
  while (each != launch_.before.end() && each->first < address + bytes && is_read(use) && !each->is_written) ++each;
  if (each == launch_.before.end() || each->first >= address + bytes) return false;
  Finding* finding = warp.cta->report(warp, instruction, FindingKind::kRace, static_cast<int>(lane), [&] {
    return concat("the thread ", is_read(use) ? "reads" : "writes", " what the kernel launched before ",
                  each->is_written ? "writes" : "reads",
                  ", which may not have ended: this one is launched with use_pdl=True; call "
                  "cute.arch.griddepcontrol_wait() before");
  });
  if (finding != nullptr) tell(*finding, warp, access, address, range);
  return true;
}

std::vector<Touched> Shadow::touched() const {
  std::vector<Touched> found;
  const auto add = [&](uint64_t first, uint64_t last, Record write, Record read) {
    if (write == 0 && read == 0) return;
    if (!found.empty() && found.back().last == first && found.back().is_written == (write != 0)) {
      found.back().last = last;
    } else {
      found.push_back({first, last, write != 0});
    }
  };
  for (const Segment& segment : segments_) {
    for (std::size_t i = 0; i < segment.count_lines(); ++i) {
      const uint64_t first = segment.first + (i << kLineShift), last = std::min(first + kLine, segment.last);
      if (const Line& line = segment.lines[i]; line.write != kSpread) {
        add(first, last, line.write, line.read);
        continue;
      }
      for (uint64_t at = first; at < last; at += uint64_t{1} << global_shift_) {
        const std::size_t granule = (at - segment.first) >> global_shift_;
        add(at, at + (uint64_t{1} << global_shift_), segment.cells->write[granule], segment.cells->read[granule]);
      }
    }
  }
  return found;
}

// ---- vectors ----

int64_t Shadow::vector_of(const AccessCode& access) {
  if (access.count < 2 || !access.is_static || access.is_half) return 1;
  for (uint32_t e = 1; e < access.count; ++e) {
    if (access.offsets[e] - access.offsets[e - 1] != access.bytes) return 1;
  }
  return static_cast<int64_t>(
      std::min<uint64_t>({std::bit_floor(uint64_t{access.count} * access.bytes), access.align, 16}));
}

void Shadow::look_at_vector(const Warp& warp, const Instruction& instruction, const AccessCode& access,
                            uint32_t element, int64_t bytes, Mask mask) {
  if (access.space == Space::kRegister || bytes <= 1 || !std::has_single_bit(static_cast<uint64_t>(bytes))) return;
  uint64_t addresses[kLanes];
  row_addresses(warp, access, element, addresses);
  const int half = access.is_half ? 1 : 0;
  uint64_t between = 0;
  for (uint32_t l = 0; l < kLanes; ++l) between |= addresses[l] >> half & -uint64_t{mask >> l & 1};
  if ((between & static_cast<uint64_t>(bytes - 1)) == 0) return;
  for (Mask left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t address = addresses[lane] >> half;
    if (access.space == Space::kGeneric && (address & kWindowMask) == kFrameWindow) continue;
    is_aligned(warp, instruction, access, address, bytes, lane);
  }
}

// ---- order ----

void Shadow::land(const Warp& warp, const PendingCopy& copy, Mask mask) {
  land_as(warp, copy, mask, clocks_.event(warp, *copy.instruction, false));
}

void Shadow::land_for_barrier(const Warp& warp, const PendingCopy& copy, Mask mask, uint32_t barrier) {
  if (clocks_.is_full()) make_room();
  const uint16_t agent = bringer_of(*warp.cta, barrier);
  CtaMemory& memory = *warp.cta->memory;
  const uint32_t event = clocks_.landing(&memory.clocks, warp.cta->linear, agent, warp, copy.instruction->place, false);
  land_as(warp, copy, mask, event);
  tell_of_landing(memory.mbarriers[barrier], warp.cta->linear, agent, event);
}

void Shadow::land_as(const Warp& warp, const PendingCopy& copy, Mask mask, uint32_t event) {
  const MemoryCode& memory = warp.code->memory[copy.instruction->side];
  const AccessCode &from = memory.accesses[0], &to = memory.accesses[1];
  const auto land_in = [&](Record& record, uint32_t lane) {
    if ((record & kUnderWay) == 0 || lane_of(record) != lane) return;
    const Event& before = clocks_[record];
    if (before.warp == warp.index && before.cta == warp.cta->linear) record = record_of(event, lane);
  };
  for (Mask left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t address = (to.is_half ? copy.to[lane] >> 1 : copy.to[lane]) & ~kWindowMask;
    Cells& cells = *warp.cta->memory->shared;
    for (std::size_t g = address >> shared_shift_; g <= (address + to.bytes - 1) >> shared_shift_; ++g) {
      land_in(cells.write[g], lane);
    }
    const uint64_t source = from.is_half ? copy.from[lane] >> 1 : copy.from[lane];
    if ((copy.zeros >> lane & 1) != 0 || range_of(from, source) == nullptr) continue;
    const Segment& segment = segment_of(source);
    const uint64_t first = source - segment.first;
    for (std::size_t g = first >> global_shift_; g <= (first + from.bytes - 1) >> global_shift_; ++g) {
      land_in(segment.cells->read[g], lane);
      land_in(segment.cells->other_read[g], lane);
    }
  }
}

void Shadow::sync_lanes(Warp& warp, Mask among) { clocks_.sync_lanes(warp.cta->memory->clocks, warp, among); }
void Shadow::arrive(Warp& warp, const Instruction& instruction, int barrier) {
  if (clocks_.is_full()) make_room();
  CtaClocks& clocks = warp.cta->memory->clocks;
  const auto lane = static_cast<uint32_t>(std::countr_zero(warp.mask));
  const uint32_t event = clocks_.event(warp, instruction, false);
  // Who does not know that a use by others has ended may be one of those who complete it.
  const std::vector<Record>& last = clocks.last_uses[barrier];
  const bool was_there =
      std::any_of(last.begin(), last.end(), [&](Record before) { return clocks_[before].warp == warp.index; });
  for (const Record before : last) {
    const Event& other = clocks_[before];
    bool is_known = was_there;
    for (Mask left = warp.mask; !is_known && left != 0; left &= left - 1) {
      is_known = clocks_.is_ordered(clocks, warp, static_cast<uint32_t>(std::countr_zero(left)), before);
    }
    if (is_known) continue;
    Finding* finding = warp.cta->count(warp, instruction, FindingKind::kBarrier, static_cast<int>(lane), other.place);
    if (finding != nullptr) {
      finding->message =
          concat("barrier ", barrier, " may still be in its last use, to which warp ", other.warp,
                 " came, and which this warp does not know to have ended: nothing orders it behind that; "
                 "take another barrier_id for other warps");
      finding->other = warp.cta->thread_of(warp.cta->linear, other.warp, static_cast<int>(lane_of(before)));
    }
    break;
  }
  clocks_.arrive(clocks, warp, barrier, record_of(event, lane));
}
void Shadow::leave(Warp& warp, int barrier) { clocks_.leave(warp.cta->memory->clocks, warp, barrier); }
void Shadow::reset(Cta& cta, int barrier) { Clocks::reset(cta.memory->clocks, barrier); }

void Shadow::fence(Warp& warp, const std::string& text) {
  if (text.starts_with("proxy.async")) {
    const bool names_shared = text.find(".shared") != std::string::npos;
    const bool names_global = text.find(".global") != std::string::npos;
    return clocks_.fence_proxy(warp.cta->memory->clocks, warp, !names_global, !names_shared);
  }
  if (text.starts_with("mbarrier_init")) return clocks_.fence_inits(warp.cta->memory->clocks, warp);
  if (text.starts_with("proxy.tensormap")) return clocks_.fence_maps(warp.cta->memory->clocks, warp);
  if (text.starts_with("proxy")) return;
  clocks_.fence(warp.cta->memory->clocks, warp, !text.ends_with(".cta"));
}

bool Shadow::look_at_mbarrier(const Warp& warp, const Instruction& instruction, const AccessCode& access, const Cta& of,
                              uint64_t address, uint32_t lane, Use use) {
  if (clocks_.is_full()) make_room();
  if (!is_aligned(warp, instruction, access, address, access.bytes, lane)) return false;
  const std::optional<Place> place = shared_place(warp, instruction, access, of, address, access.bytes, lane);
  if (!place) return false;
  CtaMemory::Phases& told = of.memory->mbarriers[static_cast<uint32_t>(address)];
  const uint32_t event = clocks_.event(warp, instruction, use == Use::kAtomic);
  const CtaClocks& clocks = warp.cta->memory->clocks;
  if (use == Use::kWrite) {
    told = {};
    told.init = record_of(event, lane);
    told.before = warp.cta->cluster->generation;
  } else if (told.init != 0 && !clocks_.is_ordered(clocks, warp, lane, told.init)) {
    // Where a fence has told the cluster of the initialisation, nothing else has to be in order, but that of lanes of
    // the same warp, which know of the fence, and have to meet.
    const Event& init = clocks_[told.init];
    const bool is_own = init.cta == warp.cta->linear && init.warp == warp.index;
    if ((!is_own || told.before != warp.cta->cluster->generation) &&
        clocks.warps[warp.index].inits.has(init, told.init))
      return true;
    find_race(warp, instruction, access, use, address, *place, lane, told.init, true);
    return true;
  }
  Mask undefined = 0;
  touch(warp, instruction, access, use, address, *place, lane, event, undefined);
  return true;
}

void Shadow::tell(Warp& warp, Mask lanes, Told& to) { clocks_.tell(warp.cta->memory->clocks, warp, lanes, to); }
void Shadow::hear(Warp& warp, Mask lanes, const Told& from) {
  clocks_.hear(warp.cta->memory->clocks, warp, lanes, from);
}
void Shadow::tell_inits(const Warp& warp, Told& to) {
  join(to.inits, warp.cta->memory->clocks.warps[warp.index].inits);
}

// ints of an atomic: 1 acquires, 2 releases, 3 does both; and the scope, of which 1 is the CTA.
void Shadow::synchronize(Warp& warp, const AccessCode& access, const uint64_t* addresses, Mask mask,
                         const std::vector<int64_t>& order) {
  const int64_t meaning = order.empty() ? 0 : order[0];
  const bool for_all = order.size() < 2 || order[1] != 1;
  for (Mask left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    uint64_t variable = addresses[lane];
    if (access.space == Space::kShared) variable = kSharedWindow | warp.cta->linear << 32 | variable;
    clocks_.synchronize(warp.cta->memory->clocks, warp, lane, variable, (meaning & 1) != 0, (meaning & 2) != 0,
                        for_all);
  }
}

}  // namespace tilewright::execute
