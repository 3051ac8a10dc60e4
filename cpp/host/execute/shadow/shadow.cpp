#include "shadow.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>

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

bool contains(const MemoryRange& range, uint64_t address, uint64_t bytes) {
  return address - range.address <= range.bytes && range.bytes - (address - range.address) >= bytes;
}

}  // namespace

Cells::Cells(std::size_t granules) : count(granules) {
  const auto zeros = [&] {
    auto* records = static_cast<Record*>(std::calloc(std::max<std::size_t>(1, count), sizeof(Record)));
    if (records == nullptr) throw std::bad_alloc();
    return Records(records);
  };
  write = zeros();
  read = zeros();
  other_read = zeros();
}

void Cells::Free::operator()(Record* records) const { std::free(records); }

void Cells::clear() {
  for (Records* each : {&write, &read, &other_read}) std::memset(each->get(), 0, count * sizeof(Record));
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
      segments_.push_back({first, last, nullptr});
    }
  }
  for (Segment& segment : segments_) {
    segment.cells = std::make_unique<Cells>((segment.last - segment.first) >> global_shift_);
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
  }
}

void Shadow::begin(Cta& cta) {
  const Code& code = *cta.code;
  if (cta.memory == nullptr) {
    cta.memory = std::make_shared<CtaMemory>();
    ctas_.push_back(cta.memory);
    const auto bytes = static_cast<std::size_t>(launch_.shared_bytes);
    cta.memory->shared = std::make_unique<Cells>((bytes >> shared_shift_) + 1);
    cta.memory->warps.resize(cta.warps.size());
    for (CtaMemory::OfWarp& warp : cta.memory->warps) {
      warp.written.resize((code.frame_bytes >> frame_shift_) + 1);
      warp.origin.resize(warp.written.size());
      warp.undefined.resize(code.register_bytes / 32 + 1);
      warp.undefined_at.resize(warp.undefined.size());
    }
  } else {
    cta.memory->shared->clear();
  }
  for (CtaMemory::OfWarp& warp : cta.memory->warps) {
    std::fill(warp.written.begin(), warp.written.end(), 0);
    std::fill(warp.origin.begin(), warp.origin.end(), 0);
    std::fill(warp.undefined.begin(), warp.undefined.end(), 0);
  }
  for (Warp& warp : cta.warps) warp.has_undefined = false;
  clocks_.begin(cta.memory->clocks, cta.warps.size());
  if (clocks_.is_full()) make_room();
}

// Too many events to be told apart: what happened so far counts as long ago.
void Shadow::make_room() {
  const auto forget = [](Cells& cells) {
    for (std::size_t i = 0; i < cells.count; ++i) {
      if (cells.write[i] != 0) cells.write[i] = kLongAgo;
      cells.read[i] = cells.other_read[i] = 0;
    }
  };
  for (Segment& segment : segments_) forget(*segment.cells);
  clocks_.clear();
  for (const std::shared_ptr<CtaMemory>& memory : ctas_) {
    forget(*memory->shared);
    clocks_.begin(memory->clocks, memory->warps.size());
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

std::optional<Shadow::Place> Shadow::shared_place(const Warp& warp, const Instruction& instruction,
                                                  const AccessCode& access, uint64_t address, uint32_t bytes,
                                                  uint32_t lane) {
  const auto size = static_cast<uint64_t>(launch_.shared_bytes);
  if (address > size || size - address < bytes) {
    Finding* finding = warp.cta->report(warp, instruction, FindingKind::kOutOfBounds, static_cast<int>(lane), [&] {
      return concat("byte ", static_cast<int64_t>(address), " of shared memory of ",
                    counted(launch_.shared_bytes, "byte"));
    });
    if (finding != nullptr) {
      AccessCode here = access;
      here.space = Space::kShared;
      tell(*finding, warp, here, address, nullptr);
    }
    return std::nullopt;
  }
  Place place;
  place.cells = warp.cta->memory->shared.get();
  place.first = address >> shared_shift_;
  place.last = (address + bytes - 1) >> shared_shift_;
  return place;
}

std::optional<Shadow::Place> Shadow::global_place(const Warp& warp, const Instruction& instruction,
                                                  const AccessCode& access, Use use, uint64_t address, uint32_t bytes,
                                                  uint32_t lane) {
  Place place;
  if (launch_.memory.empty()) return place;  // nothing is known about memory
  place.range = range_of(access, address);
  const bool is_inside = place.range != nullptr && contains(*place.range, address, bytes);
  const bool is_allowed = is_inside && (use == Use::kRead || place.range->is_writable);
  if (!is_allowed) {
    const FindingKind kind = is_inside ? FindingKind::kReadOnly : FindingKind::kOutOfBounds;
    Finding* finding = warp.cta->report(warp, instruction, kind, static_cast<int>(lane), [&] {
      if (is_inside) return concat("the memory of ", place.range->name, " may not be written");
      if (place.range == nullptr) return std::string("the address is in the memory of no argument");
      const auto offset = static_cast<int64_t>(address - place.range->address);
      return concat(use == Use::kRead ? "reads" : "writes", " byte ", offset, " of ", place.range->name, ", which has ",
                    counted(static_cast<int64_t>(place.range->bytes), "byte"));
    });
    if (finding != nullptr) tell(*finding, warp, access, address, place.range);
    return std::nullopt;
  }
  const Segment& segment = segment_of(address);
  place.cells = segment.cells.get();
  place.first = (address - segment.first) >> global_shift_;
  place.last = (address + bytes - 1 - segment.first) >> global_shift_;
  return place;
}

// ---- frames ----

bool Shadow::frame_place(Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                         uint64_t address, uint32_t bytes, uint32_t lane, Mask& undefined) {
  uint64_t first = 0, size = warp.code->frame_bytes;
  if (access.allocation >= 0) {
    const Allocation& allocation = warp.code->allocations[static_cast<std::size_t>(access.allocation)];
    first = allocation.offset;
    size = allocation.bytes;
  }
  if (address < first || address - first > size || size - (address - first) < bytes) {
    Finding* finding = warp.cta->report(warp, instruction, FindingKind::kOutOfBounds, static_cast<int>(lane), [&] {
      return concat("byte ", static_cast<int64_t>(address - first), " of ", counted(static_cast<int64_t>(size), "byte"),
                    " in registers");
    });
    if (finding != nullptr) tell(*finding, warp, access, address, nullptr);
    return false;
  }
  CtaMemory::OfWarp& known = warp.cta->memory->warps[warp.index];
  const Mask bit = Mask{1} << lane;
  for (uint64_t g = address >> frame_shift_; g <= (address + bytes - 1) >> frame_shift_; ++g) {
    Mask& written = known.written[g];
    if (use == Use::kRead) {
      if ((written & bit) == 0) undefined |= bit;
    } else if ((undefined & bit) != 0) {
      written &= ~bit;
      known.origin[g] = origin(warp, instruction.a, access.bytes, 0);
    } else {
      written |= bit;
    }
  }
  return true;
}

bool Shadow::look_at_fragment(const Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                              uint64_t address, Mask mask, Mask& undefined) {
  uint64_t first = 0, size = warp.code->frame_bytes;
  if (access.allocation >= 0) {
    const Allocation& allocation = warp.code->allocations[static_cast<std::size_t>(access.allocation)];
    first = allocation.offset;
    size = allocation.bytes;
  }
  const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
  if (address < first || address - first > size || size - (address - first) < access.bytes ||
      address % access.bytes != 0) {
    uint64_t addresses[kLanes];
    std::fill_n(addresses, kLanes, address);
    look(warp, instruction, access, use, addresses, Mask{1} << lane, undefined);
    return false;
  }
  CtaMemory::OfWarp& known = warp.cta->memory->warps[warp.index];
  if (use == Use::kRead) undefined = 0;
  for (uint64_t g = address >> frame_shift_; g <= (address + access.bytes - 1) >> frame_shift_; ++g) {
    Mask& written = known.written[g];
    if (use == Use::kRead) {
      undefined |= mask & ~written;
    } else {
      written = (written | mask) & ~(undefined & mask);
    }
  }
  return true;
}

void Shadow::forget(Warp& warp, const Allocation& allocation, Mask mask) {
  CtaMemory::OfWarp& known = warp.cta->memory->warps[warp.index];
  const uint64_t end = uint64_t{allocation.offset} + allocation.bytes;
  for (uint64_t g = allocation.offset >> frame_shift_; g << frame_shift_ < end; ++g) {
    known.written[g] &= ~mask;
    known.origin[g] = 0;
  }
}

// ---- vectors ----

void Shadow::look_at_vector(const Warp& warp, const Instruction& instruction, const AccessCode& access,
                            uint32_t element, int64_t bytes, Mask mask) {
  if (access.space == Space::kRegister || bytes <= 1 || !std::has_single_bit(static_cast<uint64_t>(bytes))) return;
  uint64_t addresses[kLanes];
  row_addresses(warp, access, element, addresses);
  for (Mask left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    uint64_t address = access.is_half ? addresses[lane] >> 1 : addresses[lane];
    if (access.space == Space::kGeneric && (address & kWindowMask) == kFrameWindow) continue;
    is_aligned(warp, instruction, access, address, bytes, lane);
  }
}

// The vectors that the GPU takes: as long as the pointer's type promises, where the elements are side by side.
void Shadow::look_at_vector(const Warp& warp, const Instruction& instruction, const AccessCode& access, Mask mask) {
  if (access.count < 2 || !access.is_static || access.is_half) return;
  for (uint32_t e = 1; e < access.count; ++e) {
    if (access.offsets[e] - access.offsets[e - 1] != access.bytes) return;
  }
  const auto bytes = std::min<uint64_t>({std::bit_floor(uint64_t{access.count} * access.bytes), access.align, 16});
  look_at_vector(warp, instruction, access, 0, static_cast<int64_t>(bytes), mask);
}

// ---- order ----

void Shadow::land(const Warp& warp, const Instruction& copy, const AccessCode& access, const uint64_t* addresses,
                  Mask mask) {
  const uint32_t event = clocks_.event(warp, copy, false);
  for (Mask left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t address = (access.is_half ? addresses[lane] >> 1 : addresses[lane]) & ~kWindowMask;
    Cells& cells = *warp.cta->memory->shared;
    for (std::size_t g = address >> shared_shift_; g <= (address + access.bytes - 1) >> shared_shift_; ++g) {
      const Record written = cells.write[g];
      if ((written & kUnderWay) == 0) continue;
      if (lane_of(written) == lane && clocks_[written].warp == warp.index) cells.write[g] = record_of(event, lane);
    }
  }
}

void Shadow::sync_lanes(Warp& warp, Mask among) { clocks_.sync_lanes(warp.cta->memory->clocks, warp, among); }
void Shadow::arrive(Warp& warp, int barrier) { clocks_.arrive(warp.cta->memory->clocks, warp, barrier); }
void Shadow::leave(Warp& warp, int barrier) { clocks_.leave(warp.cta->memory->clocks, warp, barrier); }
void Shadow::reset(Cta& cta, int barrier) { Clocks::reset(cta.memory->clocks, barrier); }

void Shadow::fence(Warp& warp, const std::string& text) {
  if (text.compare(0, 5, "proxy") != 0) clocks_.fence(warp.cta->memory->clocks, warp);
}

// ints[0] of an atomic: 1 acquires, 2 releases, 3 does both.
void Shadow::synchronize(Warp& warp, const AccessCode& access, const uint64_t* addresses, Mask mask,
                         const std::vector<int64_t>& order) {
  const int64_t meaning = order.empty() ? 0 : order[0];
  for (Mask left = mask; left != 0; left &= left - 1) {
    uint64_t variable = addresses[std::countr_zero(left)];
    if (access.space == Space::kShared) variable = kSharedWindow | warp.cta->linear << 32 | variable;
    clocks_.synchronize(warp.cta->memory->clocks, warp, variable, (meaning & 1) != 0, (meaning & 2) != 0);
  }
}

}  // namespace tilewright::execute
