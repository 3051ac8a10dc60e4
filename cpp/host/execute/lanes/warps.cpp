// What the lanes of a warp do together, and atomics.
#include <bit>
#include <cstring>

#include "address.hpp"
#include "handlers.hpp"
#include "host/execute/shadow/shadow.hpp"
#include "numbers.hpp"
#include "warps.hpp"

namespace tilewright::execute {

using program::Scalar;

void look_at_mask(Warp& warp, const Instruction& i, Mask active, const int32_t* masks) {
  if (warp.shadow == nullptr || masks == nullptr) return;
  each_lane(active, [&](uint32_t l) {
    const Mask named = static_cast<Mask>(masks[l]), absent = named & ~active & warp.live;
    if ((named >> l & 1) == 0) {
      warp.cta->report(warp, i, FindingKind::kLane, static_cast<int>(l), "the lane is not in its own mask");
    } else if (absent != 0) {
      warp.cta->report(warp, i, FindingKind::kLane, static_cast<int>(l),
                       "the mask names lane " + std::to_string(std::countr_zero(absent)) +
                           ", which does not reach the instruction here");
    }
  });
}

void look_at_source(Warp& warp, const Instruction& i, Mask active, uint32_t lane, uint32_t source) {
  if (warp.shadow == nullptr || (active >> source & 1) != 0) return;
  warp.cta->report(warp, i, FindingKind::kLane, static_cast<int>(lane),
                   "the value of lane " + std::to_string(source) + " is read, which is not active here");
}

std::optional<uint32_t> shuffle_source(const std::string& how, uint32_t lane, uint32_t by, uint32_t clamp_mask) {
  const uint32_t clamp = clamp_mask & 31, segment = clamp_mask >> 8 & 31, amount = by & 31;
  const uint32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment;
  if (how == "up") {
    const auto from = static_cast<int32_t>(lane - amount);
    return from >= static_cast<int32_t>(most) ? std::optional(static_cast<uint32_t>(from)) : std::nullopt;
  }
  const uint32_t from = how == "down" ? lane + amount : how == "bfly" ? lane ^ amount : least | (amount & ~segment);
  return from <= most ? std::optional(from) : std::nullopt;
}

void combine(Scalar scalar, const std::string& how, const uint8_t* x, const uint8_t* y, uint8_t* to) {
  if (program::is_float(scalar)) {
    const auto a = decode<double>(scalar, x), b = decode<double>(scalar, y);
    if (how == "add") {
      // Rounded once: the sum of two numbers of a type fits between a double's bits, or is rounded to odd.
      if (scalar == Scalar::kFloat32)
        return encode(scalar, static_cast<double>(static_cast<float>(a) + static_cast<float>(b)), to);
      if (scalar == Scalar::kFloat64) return encode(scalar, a + b, to);
      return encode(scalar, fma_to_odd(a, 1.0, b), to);
    }
    const double chosen = how == "min" ? std::fmin(a, b) : std::fmax(a, b);
    return encode(scalar, chosen, to);
  }
  const auto a = decode<int64_t>(scalar, x), b = decode<int64_t>(scalar, y);
  const bool less = program::is_signed(scalar) ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
  int64_t result = b;  // exch
  if (how == "add") result = static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  if (how == "min") result = less ? a : b;
  if (how == "max") result = less ? b : a;
  if (how == "and") result = a & b;
  if (how == "or") result = a | b;
  if (how == "xor") result = a ^ b;
  encode(scalar, result, to);
}

namespace {

const int32_t* masks_of(const Warp& warp, const Operands& info, std::size_t at) {
  return at < info.slots.size() ? warp.at<int32_t>(info.slots[at]) : nullptr;
}

// PTX's shfl.sync: lanes outside of the segment keep their own value.
void shuffle_sync(Warp& warp, const Instruction& i) {
  const Operands& info = warp.code->operands[i.side];
  const uint32_t bytes = bytes_of(info.types[0]), elements = info.types[0].lanes;
  const int32_t* by = warp.at<int32_t>(info.slots[1]);
  look_at_mask(warp, i, warp.mask, masks_of(warp, info, 2));
  const auto clamp_mask = static_cast<uint32_t>(info.ints.empty() ? (info.text == "up" ? 0 : 31) : info.ints[0]);
  uint32_t source[kLanes];
  for (uint32_t l = 0; l < kLanes; ++l) {
    source[l] = shuffle_source(info.text, l, static_cast<uint32_t>(by[l]), clamp_mask).value_or(l);
  }
  each_lane(warp.mask, [&](uint32_t l) { look_at_source(warp, i, warp.mask, l, source[l]); });
  uint8_t* to = warp.at<uint8_t>(i.to);
  const uint8_t* from = warp.at<uint8_t>(info.slots[0]);
  for (uint32_t e = 0; e < elements; ++e) {
    if (warp.has_undefined) {
      const Mask before = Shadow::undefined(warp, info.slots[0], bytes, e);
      Mask after = 0;
      for (uint32_t l = 0; l < kLanes; ++l) after |= (before >> source[l] & 1) << l;
      Shadow::set_undefined(warp, i.to, bytes, e, after, Shadow::origin(warp, info.slots[0], bytes, e));
    }
    for (uint32_t l = 0; l < kLanes; ++l) {
      std::memcpy(to + (e * kLanes + l) * bytes, from + (e * kLanes + source[l]) * bytes, bytes);
    }
  }
}

template <class T>
void put_all(Warp& warp, Slot slot, T value) {
  for (uint32_t l = 0; l < kLanes; ++l) warp.at<T>(slot)[l] = value;
}

void vote(Warp& warp, const Instruction& i) {
  const Operands& info = warp.code->operands[i.side];
  const uint8_t* values = warp.at<uint8_t>(info.slots[0]);
  const int32_t* masks = masks_of(warp, info, 1);
  look_at_mask(warp, i, warp.mask, masks);
  Mask yes = 0;
  each_lane(warp.mask, [&](uint32_t l) { yes |= Mask{values[l] != 0} << l; });
  // Lanes with different masks vote apart.
  each_lane(warp.mask, [&](uint32_t l) {
    const Mask among = warp.mask & (masks == nullptr ? kAllLanes : static_cast<Mask>(masks[l]));
    const Mask said = yes & among;
    if (info.text == "ballot") {
      warp.at<uint32_t>(i.to)[l] = said;
    } else {
      const bool result = info.text == "any"   ? said != 0
                          : info.text == "all" ? said == among
                                               : said == 0 || said == among;
      warp.at<uint8_t>(i.to)[l] = result;
    }
  });
}

void match(Warp& warp, const Instruction& i) {
  const Operands& info = warp.code->operands[i.side];
  const uint32_t bytes = bytes_of(info.types[0]);
  const uint8_t* values = warp.at<uint8_t>(info.slots[0]);
  const int32_t* masks = masks_of(warp, info, 1);
  look_at_mask(warp, i, warp.mask, masks);
  each_lane(warp.mask, [&](uint32_t l) {
    const Mask among = warp.mask & (masks == nullptr ? kAllLanes : static_cast<Mask>(masks[l]));
    Mask equal = 0;
    each_lane(among, [&](uint32_t other) {
      equal |= Mask{std::memcmp(values + l * bytes, values + other * bytes, bytes) == 0} << other;
    });
    warp.at<uint32_t>(i.to)[l] = info.text == "all" && equal != among ? 0 : equal;
  });
}

void redux(Warp& warp, const Instruction& i) {
  const Operands& info = warp.code->operands[i.side];
  const Scalar scalar = info.types[0].scalar;
  const uint32_t bytes = bytes_of(scalar);
  const uint8_t* values = warp.at<uint8_t>(info.slots[0]);
  const int32_t* masks = masks_of(warp, info, 1);
  look_at_mask(warp, i, warp.mask, masks);
  Mask left = warp.mask;
  while (left != 0) {  // lanes of one mask reduce together
    const auto first = static_cast<uint32_t>(std::countr_zero(left));
    const Mask among = warp.mask & (masks == nullptr ? kAllLanes : static_cast<Mask>(masks[first]) | Mask{1} << first);
    uint8_t result[8];
    bool started = false;
    each_lane(among, [&](uint32_t l) {
      if (started) {
        combine(scalar, info.text, result, values + l * bytes, result);
      } else {
        std::memcpy(result, values + l * bytes, bytes);
        started = true;
      }
    });
    each_lane(among & left, [&](uint32_t l) { std::memcpy(warp.at<uint8_t>(i.to) + l * bytes, result, bytes); });
    left &= ~among;
  }
}

void elect(Warp& warp, const Instruction& i) {
  const int first = std::countr_zero(warp.mask);
  for (int l = 0; l < static_cast<int>(kLanes); ++l) warp.at<uint8_t>(i.to)[l] = l == first;
}

// Lane 0's value, or that of the first lane that is here.
void make_uniform(Warp& warp, const Instruction& i) {
  const uint32_t bytes = i.side;
  const auto lane = static_cast<uint32_t>(std::countr_zero(warp.mask));
  for (uint32_t e = 0; e < i.count; ++e) {
    const uint8_t* from = warp.at<uint8_t>(i.a) + (e * kLanes + lane) * bytes;
    for (uint32_t l = 0; l < kLanes; ++l) std::memcpy(warp.at<uint8_t>(i.to) + (e * kLanes + l) * bytes, from, bytes);
  }
}

void sync_warp(Warp& warp, const Instruction& i) {
  const int32_t* masks = i.a == kNoSlot ? nullptr : warp.at<int32_t>(i.a);
  look_at_mask(warp, i, warp.mask, masks);
  if (warp.shadow == nullptr) return;
  Mask left = warp.mask;
  while (left != 0) {
    const auto first = static_cast<uint32_t>(std::countr_zero(left));
    const Mask among = (masks == nullptr ? warp.mask : warp.mask & static_cast<Mask>(masks[first])) | Mask{1} << first;
    warp.shadow->sync_lanes(warp, among);
    left &= ~among;
  }
}

// An atomic that changes nothing mostly waits for others: so many jumps of the warp's turn.
constexpr int64_t kPoll = 64;

// Lane after lane, each all at once.
void atomic(Warp& warp, const Instruction& i) {
  const MemoryCode& memory = warp.code->memory[i.side];
  const AccessCode& access = memory.accesses[0];
  const std::string& how = memory.text;
  uint64_t addresses[kLanes];
  alignas(64) uint8_t old[kLanes * 8], next[kLanes * 8];
  row_addresses(warp, access, 0, addresses);
  Mask mask = warp.mask;
  if (warp.shadow != nullptr) {
    Mask undefined = 0;
    mask = warp.shadow->look(warp, i, access, Use::kAtomic, addresses, mask, undefined);
    if (undefined != 0) Shadow::find_undefined(warp, i, undefined, 0, "changed by an atomic");
  }
  std::memset(warp.at<uint8_t>(i.to), 0, kLanes * access.bytes);
  bool has_changed = false;
  each_lane(mask, [&](uint32_t l) {
    const uint32_t at = l * access.bytes;
    read_row(warp, access, addresses, Mask{1} << l, old);
    const uint8_t* value = warp.at<uint8_t>(i.a) + at;
    std::memcpy(next + at, value, access.bytes);
    if (how == "cas") {
      const uint8_t* compare = warp.at<uint8_t>(i.b) + at;
      if (std::memcmp(old + at, compare, access.bytes) != 0) std::memcpy(next + at, old + at, access.bytes);
    } else if (how == "inc" || how == "dec") {
      const auto now = decode<uint64_t>(access.scalar, old + at), most = decode<uint64_t>(access.scalar, value);
      const uint64_t up = now >= most ? 0 : now + 1, down = now == 0 || now > most ? most : now - 1;
      encode(access.scalar, how == "inc" ? up : down, next + at);
    } else if (how != "exch") {
      combine(access.scalar, how, old + at, value, next + at);
    }
    write_row(warp, access, addresses, Mask{1} << l, next);
    has_changed |= std::memcmp(old + at, next + at, access.bytes) != 0;
    std::memcpy(warp.at<uint8_t>(i.to) + at, old + at, access.bytes);
  });
  if (!has_changed) warp.budget -= kPoll;
  if (warp.shadow == nullptr) return;
  if (has_changed) warp.shadow->note_change();
  warp.shadow->synchronize(warp, access, addresses, mask, memory.ints);
  // Others may have their turn now: what they make of it shows whether this warp is ready for that.
  const bool is_seen = has_changed && access.space != program::Space::kShared;
  if (is_seen && warp.cta->random != 0 && warp.cta->next_random() % 2 != 0) {
    warp.running = false;
    warp.yields = true;
  }
}

}  // namespace

Handler shuffle_sync_handler() { return &shuffle_sync; }
Handler vote_handler() { return &vote; }
Handler match_handler() { return &match; }
Handler redux_handler() { return &redux; }
Handler elect_handler() { return &elect; }
Handler uniform_handler() { return &make_uniform; }
Handler sync_warp_handler() { return &sync_warp; }
Handler atomic_handler() { return &atomic; }

}  // namespace tilewright::execute
