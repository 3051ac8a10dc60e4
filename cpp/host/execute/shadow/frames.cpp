// Frames: what each thread has written of its own memory.
#include <algorithm>
#include <bit>

#include "core/error.hpp"
#include "shadow.hpp"

namespace tilewright::execute {

namespace {

// The part of a frame that an access belongs to.
struct Part {
  uint64_t first, size;
};

Part part_of(const Warp& warp, const AccessCode& access) {
  if (access.allocation < 0) return {0, warp.code->frame_bytes};
  const Allocation& allocation = warp.code->allocations[static_cast<std::size_t>(access.allocation)];
  return {allocation.offset, allocation.bytes};
}

// Whether elements of a fragment are inside of it and aligned.
bool is_inside(const Warp& warp, const AccessCode& access, uint32_t first_element, uint32_t count) {
  const Part part = part_of(warp, access);
  const uint64_t first = part.first, size = part.size;
  if (size < access.bytes) return false;
  const uint64_t start = warp.at<uint64_t>(access.pointer)[0] - first, last = size - access.bytes;
  uint64_t beyond = 0, between = first;
  for (uint32_t e = first_element; e < first_element + count; ++e) {
    const uint64_t at = start + static_cast<uint64_t>(access.offsets[e]);
    beyond |= at | (last - at);
    between |= at;
  }
  return beyond >> 63 == 0 && (between & (access.bytes - 1)) == 0;
}

// f(granule) for all granules of elements.
template <class F>
void each_granule(const Warp& warp, const AccessCode& access, uint32_t first_element, uint32_t count, uint32_t shift,
                  F&& f) {
  const uint64_t start = warp.at<uint64_t>(access.pointer)[0];
  for (uint32_t e = first_element; e < first_element + count; ++e) {
    const uint64_t first = (start + static_cast<uint64_t>(access.offsets[e])) >> shift;
    for (uint64_t g = first; g < first + (access.bytes >> shift); ++g) f(g);
  }
}

}  // namespace

bool Shadow::frame_place(Warp& warp, const Instruction& instruction, const AccessCode& access, Use use,
                         uint64_t address, uint32_t bytes, uint32_t lane, Mask& undefined) {
  const Part part = part_of(warp, access);
  const uint64_t first = part.first, size = part.size;
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
    if (!known.owner.empty()) touch_register(warp, instruction, use, g, lane);
    Mask& written = known.written[g];
    if (is_read(use)) {
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
  const Part part = part_of(warp, access);
  const uint64_t first = part.first, size = part.size;
  const auto lane = static_cast<uint32_t>(std::countr_zero(mask));
  if (address < first || address - first > size || size - (address - first) < access.bytes ||
      address % access.bytes != 0) {
    uint64_t addresses[kLanes];
    std::fill_n(addresses, kLanes, address);
    look(warp, instruction, access, use, addresses, Mask{1} << lane, undefined);
    return false;
  }
  CtaMemory::OfWarp& known = warp.cta->memory->warps[warp.index];
  if (is_read(use)) undefined = 0;
  for (uint64_t g = address >> frame_shift_; g <= (address + access.bytes - 1) >> frame_shift_; ++g) {
    if (!known.owner.empty()) touch_register(warp, instruction, use, g, lane);
    Mask& written = known.written[g];
    if (is_read(use)) {
      undefined |= mask & ~written;
    } else {
      written = (written | mask) & ~(undefined & mask);
    }
  }
  return true;
}

bool Shadow::is_written(const Warp& warp, const AccessCode& access, uint32_t first, uint32_t count, Mask mask) {
  if (!is_inside(warp, access, first, count) || !touch_registers(warp, access, first, count)) return false;
  const Mask* written = warp.cta->memory->warps[warp.index].written.data();
  Mask all = mask;
  each_granule(warp, access, first, count, warp.shadow->frame_shift_, [&](uint64_t g) { all &= written[g]; });
  return all == mask;
}

bool Shadow::write(const Warp& warp, const AccessCode& access, uint32_t first, uint32_t count, Mask mask) {
  if (!is_inside(warp, access, first, count) || !touch_registers(warp, access, first, count)) return false;
  Mask* written = warp.cta->memory->warps[warp.index].written.data();
  each_granule(warp, access, first, count, warp.shadow->frame_shift_, [&](uint64_t g) { written[g] |= mask; });
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

}  // namespace tilewright::execute
