// Values that depend on what was never written. Loading such a value is no defect, as a predicate may keep its result
// from being used; that it reaches global memory, a branch or an address is.
#include <bit>

#include "core/error.hpp"
#include "host/execute/ptx/assembly.hpp"
#include "shadow.hpp"

namespace tilewright::execute {

namespace {

CtaMemory::OfWarp& known(const Warp& warp) { return warp.cta->memory->warps[warp.index]; }

std::size_t unit(Slot slot, uint32_t bytes, uint32_t element) { return (slot + element * kLanes * bytes) / 32; }

// What an element of the result depends on.
struct Cause {
  Mask lanes = 0;
  uint32_t origin = 0;
  void add(const Cause& other) {
    lanes |= other.lanes;
    if (origin == 0) origin = other.origin;
  }
};

Cause cause(const Warp& warp, Slot slot, uint32_t bytes, uint32_t element) {
  if (slot == kNoSlot || bytes == 0) return {};
  const std::size_t at = unit(slot, bytes, element);
  const Mask lanes = known(warp).undefined[at];
  return {lanes, lanes == 0 ? 0 : known(warp).undefined_at[at]};
}

void set(Warp& warp, Slot slot, uint32_t bytes, uint32_t element, const Cause& cause) {
  const std::size_t at = unit(slot, bytes, element);
  known(warp).undefined[at] = cause.lanes;
  known(warp).undefined_at[at] = cause.origin;
}

Cause of_all(const Warp& warp, Slot slot, uint32_t bytes, uint32_t count) {
  Cause all;
  for (uint32_t e = 0; e < count; ++e) all.add(cause(warp, slot, bytes, e));
  return all;
}

// A choice depends on the condition and on what is chosen.
Cause chosen(const Warp& warp, const Instruction& i, uint32_t e) {
  const uint32_t at = i.one_a ? 0 : e;
  Cause result = cause(warp, i.a, 1, at);
  const uint8_t* condition = warp.at<uint8_t>(i.a) + at * kLanes;
  Mask first = 0;
  for (uint32_t l = 0; l < kLanes; ++l) first |= Mask{condition[l] != 0} << l;
  Cause x = cause(warp, i.b, i.bytes_b, i.one_b ? 0 : e), y = cause(warp, i.c, i.bytes_c, i.one_c ? 0 : e);
  x.lanes &= first;
  y.lanes &= ~first;
  if (x.lanes != 0) result.add(x);
  if (y.lanes != 0) result.add(y);
  return result;
}

void use(const Warp& warp, const Instruction& i, Slot slot, uint32_t bytes, const char* effect) {
  const Cause found = cause(warp, slot, bytes, 0);
  if ((found.lanes & warp.mask) != 0) Shadow::find_undefined(warp, i, found.lanes & warp.mask, found.origin, effect);
}

void flow_into_addresses(const Warp& warp, const Instruction& i) {
  for (const AccessCode& access : warp.code->memory[i.side].accesses) {
    use(warp, i, access.pointer, 8, "part of an address");
    use(warp, i, access.dynamic, access.dynamic_is_wide ? 8 : 4, "part of an address");
    for (const AccessCode::Mode& mode : access.modes) {
      use(warp, i, mode.dynamic, mode.is_wide ? 8 : 4, "part of an address");
    }
  }
}

}  // namespace

Mask Shadow::undefined(const Warp& warp, Slot slot, uint32_t bytes, uint32_t element) {
  return warp.has_undefined ? cause(warp, slot, bytes, element).lanes : 0;
}

uint32_t Shadow::origin(const Warp& warp, Slot slot, uint32_t bytes, uint32_t element) {
  return cause(warp, slot, bytes, element).origin;
}

void Shadow::set_undefined(Warp& warp, Slot slot, uint32_t bytes, uint32_t element, Mask mask, uint32_t origin) {
  if (mask != 0) warp.has_undefined = true;
  if (warp.has_undefined) set(warp, slot, bytes, element, {mask, origin});
}

void Shadow::find_undefined(const Warp& warp, const Instruction& instruction, Mask mask, uint32_t origin,
                            const char* effect) {
  Cta& cta = *warp.cta;
  Instruction read = instruction;
  read.place = origin == 0 ? instruction.place : origin;
  const uint32_t other = read.place == instruction.place ? 0 : instruction.place;
  Finding* finding = cta.count(warp, read, FindingKind::kNotWritten, std::countr_zero(mask), other);
  if (finding == nullptr) return;
  finding->message = concat("what was never written is read, and ", effect);
}

void Shadow::flow(Warp& warp, const Instruction& i) {
  switch (i.flow) {
    case Flow::kNone:
      return;
    case Flow::kDefined:
      for (uint32_t e = 0; e < i.count; ++e) set(warp, i.to, i.bytes_to, e, {});
      return;
    case Flow::kEach:
      for (uint32_t e = 0; e < i.count; ++e) {
        Cause all = cause(warp, i.a, i.bytes_a, i.one_a ? 0 : e);
        all.add(cause(warp, i.b, i.bytes_b, i.one_b ? 0 : e));
        all.add(cause(warp, i.c, i.bytes_c, i.one_c ? 0 : e));
        set(warp, i.to, i.bytes_to, e, all);
      }
      return;
    case Flow::kSelect:
      for (uint32_t e = 0; e < i.count; ++e) set(warp, i.to, i.bytes_to, e, chosen(warp, i, e));
      return;
    case Flow::kBlend:
      for (uint32_t e = 0; e < i.count; ++e) {
        const Cause from = cause(warp, i.a, i.bytes_a, e), before = cause(warp, i.to, i.bytes_to, e);
        set(warp, i.to, i.bytes_to, e,
            {(from.lanes & warp.mask) | (before.lanes & ~warp.mask), from.origin != 0 ? from.origin : before.origin});
      }
      return;
    case Flow::kSplat:
      for (uint32_t e = 0; e < i.count; ++e) set(warp, i.to, i.bytes_to, e, cause(warp, i.a, i.bytes_a, 0));
      return;
    case Flow::kPack: {
      const std::vector<Slot>& slots = warp.code->operands[i.side].slots;
      for (uint32_t e = 0; e < slots.size(); ++e) set(warp, i.to, i.bytes_to, e, cause(warp, slots[e], i.bytes_to, 0));
      return;
    }
    case Flow::kExtract:
      return set(warp, i.to, i.bytes_to, 0, cause(warp, i.a, i.bytes_a, i.side));
    case Flow::kExtractAt: {
      Cause all = of_all(warp, i.a, i.bytes_a, i.count);
      all.add(cause(warp, i.b, 4, 0));
      return set(warp, i.to, i.bytes_to, 0, all);
    }
    case Flow::kInsert:
      for (uint32_t e = 0; e < i.count; ++e) {
        set(warp, i.to, i.bytes_to, e, e == i.side ? cause(warp, i.b, i.bytes_to, 0) : cause(warp, i.a, i.bytes_a, e));
      }
      return;
    case Flow::kInsertAt: {
      Cause more = cause(warp, i.b, i.bytes_to, 0);
      more.add(cause(warp, i.c, 4, 0));
      for (uint32_t e = 0; e < i.count; ++e) {
        Cause all = cause(warp, i.a, i.bytes_a, e);
        all.add(more);
        set(warp, i.to, i.bytes_to, e, all);
      }
      return;
    }
    case Flow::kShuffle: {
      const std::vector<int64_t>& which = warp.code->operands[i.side].ints;
      for (uint32_t e = 0; e < which.size(); ++e) {
        set(warp, i.to, i.bytes_to, e, cause(warp, i.a, i.bytes_a, static_cast<uint32_t>(which[e])));
      }
      return;
    }
    case Flow::kBitcast: {
      const Cause all = of_all(warp, i.a, i.bytes_a, static_cast<uint32_t>(warp.code->operands[i.side].ints[4]));
      for (uint32_t e = 0; e < i.count; ++e) set(warp, i.to, i.bytes_to, e, all);
      return;
    }
    case Flow::kTogether: {  // of all active lanes
      const Operands& info = warp.code->operands[i.side];
      Cause all = cause(warp, info.slots[0], bytes_of(info.types[0]), 0);
      all.lanes = (all.lanes & warp.mask) != 0 ? kAllLanes : 0;
      return set(warp, i.to, i.bytes_to, 0, all);
    }
    case Flow::kAssembly: {  // the results are the last ones
      const Operands& info = warp.code->operands[i.side];
      const std::size_t given = info.slots.size() - i.count;
      Cause all;
      for (std::size_t o = 0; o < given; ++o) all.add(cause(warp, info.slots[o], bytes_of(info.types[o]), 0));
      if (info.assembly->is_together) all.lanes = (all.lanes & warp.mask) != 0 ? kAllLanes : 0;
      for (std::size_t o = given; o < info.slots.size(); ++o) {
        set(warp, info.slots[o], bytes_of(info.types[o]), 0, all);
      }
      return;
    }
    case Flow::kBranch:
      use(warp, i, i.a, i.bytes_a, "decides a branch");
      use(warp, i, i.b, i.bytes_b, "decides a branch");
      use(warp, i, i.c, i.bytes_c, "decides a branch");
      return;
    case Flow::kPrint: {
      const Operands& info = warp.code->operands[i.side];
      for (std::size_t o = 0; o < info.slots.size(); ++o)
        use(warp, i, info.slots[o], bytes_of(info.types[o]), "printed");
      return;
    }
    case Flow::kAtomic:
      flow_into_addresses(warp, i);
      use(warp, i, i.a, i.bytes_a, "given to an atomic");
      use(warp, i, i.b, i.bytes_b, "given to an atomic");
      return set(warp, i.to, i.bytes_to, 0, {});
    case Flow::kBarrier:
      flow_into_addresses(warp, i);
      use(warp, i, i.a, i.bytes_a, "given to an mbarrier");
      use(warp, i, i.b, i.bytes_b, "given to an mbarrier");
      if (i.to != kNoSlot) set(warp, i.to, i.bytes_to, 0, {});
      return;
    case Flow::kMemory:
      return flow_into_addresses(warp, i);
  }
}

}  // namespace tilewright::execute
